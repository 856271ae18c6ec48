//! What a node is told to run: the command with all its variables, and how it is held. Knows nothing of who runs it.

use super::VariablesOf;
use crate::engine::Holding;
use crate::process::TreeCommand;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};

/// The form of orders; a node that knows another one refuses.
const VERSION: u32 = 1;

/// Variables of the place that tm itself runs in, which are wrong on a node.
const OF_PLACE: [&str; 3] = ["SLURM_*", "SLURMD_*", "SLURM_CONF"];
/// Variables by which engines say which devices a job has.
const OF_NODE: [&str; 6] = [
    "SLURM_*",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
];

/// What a node is told to run.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Order {
    version: u32,
    command: TreeCommand,
    holding: Option<Holding>,
    /// Variables that the command has as they are on the node.
    #[serde(default)]
    of_node: Vec<OsString>,
}

impl Order {
    pub(super) fn new(
        command: &TreeCommand,
        holding: Option<&Holding>,
        variables: VariablesOf,
    ) -> Self {
        let (command, of_node) = match variables {
            VariablesOf::Tm => (command.with_all_variables(&OF_PLACE), Vec::new()),
            VariablesOf::Node => without_own(command),
        };
        Self {
            version: VERSION,
            command,
            holding: holding.cloned(),
            of_node,
        }
    }

    /// Returns the command as it is to be started on this node, and how it is held here.
    ///
    /// # Errors
    /// The order is in another form, in words.
    pub(super) fn here(self) -> Result<(TreeCommand, Option<Holding>), String> {
        let Self {
            version,
            mut command,
            holding,
            of_node,
        } = self;
        if version != VERSION {
            return Err(format!(
                "the order has version {version}, and tm of this node knows {VERSION}: install the same one on all nodes"
            ));
        }
        let is_set = |name: &OsString| command.environment.iter().any(|(known, _)| known == name);
        let is_of_node =
            |name: &OsString| of_node.contains(name) || crate::process::is_named(&OF_NODE, name);
        let of_node: Vec<_> = std::env::vars_os()
            .filter(|(name, _)| is_of_node(name) && !is_set(name))
            .collect();
        command.environment.extend(of_node);
        Ok((command, holding.map(Holding::here)))
    }
}

/// Returns a command without the variables that it has as this process has them, and their names.
fn without_own(command: &TreeCommand) -> (TreeCommand, Vec<OsString>) {
    let is_own =
        |name: &OsStr, value: &OsStr| std::env::var_os(name).is_some_and(|own| own == value);
    let (own, said): (Vec<_>, Vec<_>) =
        (command.environment.iter().cloned()).partition(|(name, value)| is_own(name, value));
    let command = TreeCommand {
        environment: said,
        ..command.clone()
    };
    (command, own.into_iter().map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tm_itself_has_is_in_no_order_for_a_place_with_variables_of_its_own() {
        let path = std::env::var_os("PATH").expect("a path");
        let command = TreeCommand {
            environment: vec![
                ("PATH".into(), path),
                ("CARGO_PKG_NAME".into(), "said".into()),
            ],
            ..TreeCommand::default()
        };
        let order = Order::new(&command, None, VariablesOf::Node);
        assert_eq!(order.of_node, ["PATH"]);
        assert_eq!(order.command.inherited, command.inherited);
        assert_eq!(order.command.environment, [command.environment[1].clone()]);
        // This process stands for the node.
        let (here, _) = order.here().expect("the same version");
        assert!(
            here.environment.contains(&command.environment[0]),
            "{here:?}"
        );
    }
}
