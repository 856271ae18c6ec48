//! What a node is told to run: the command with all its variables, and how it is held. Knows nothing of who runs it.

use super::VariablesOf;
use crate::engine::Holding;
use crate::environment::of_surroundings;
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
    /// Whether the node has what the command is to have of its surroundings.
    #[serde(default)]
    has_own: bool,
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
            has_own: variables == VariablesOf::Node,
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
            has_own,
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
        if has_own {
            let passes = command.needs.as_ref().map(|needs| needs.passes.clone());
            let environment = &command.environment;
            let is_set = |name: &OsStr| environment.iter().any(|(known, _)| known == name);
            let passed = passes.map(|passes| of_surroundings(&passes, is_set));
            command.environment.extend(passed.into_iter().flatten());
        }
        Ok((command, holding.map(Holding::here)))
    }
}

/// Returns a command without the variables that it has as this process has them, and their names.
fn without_own(command: &TreeCommand) -> (TreeCommand, Vec<OsString>) {
    let is_own =
        |name: &OsStr, value: &OsStr| std::env::var_os(name).is_some_and(|own| own == value);
    let found = command.needs.iter().flat_map(|needs| &needs.passes.found);
    let found: Vec<&str> = found.map(String::as_str).collect();
    // What lies where on this machine says nothing of a node.
    let is_of_node = |name: &OsStr, value: &OsStr| {
        is_own(name, value) || found.iter().any(|found| name == *found)
    };
    let (own, said): (Vec<_>, Vec<_>) =
        (command.environment.iter().cloned()).partition(|(name, value)| is_of_node(name, value));
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

    #[test]
    fn a_place_with_variables_of_its_own_gives_those_that_the_command_is_to_have_of_its_surroundings()
     {
        use crate::process::{Besides, JobKind, Needs, Passes};
        let needs = |named: &[&str]| Needs {
            kind: JobKind::Agent,
            own_folder: "/x".into(),
            besides: Besides::default(),
            network: None,
            passes: Passes {
                named: named.iter().map(|name| (*name).to_owned()).collect(),
                but: vec!["CARGO_PKG_VERSION*".to_owned()],
                found: vec!["CARGO_HOME".to_owned()],
            },
        };
        let command = TreeCommand {
            environment: vec![("CARGO_HOME".into(), "/of/this/machine".into())],
            needs: Some(needs(&["CARGO_PKG_*", "CARGO_HOME"])),
            ..TreeCommand::default()
        };
        let order = Order::new(&command, None, VariablesOf::Node);
        assert_eq!(order.command.environment, []);
        // This process stands for the node.
        let (here, _) = order.here().expect("the same version");
        let has = |name: &str| here.environment.iter().any(|(known, _)| known == name);
        assert!(has("CARGO_PKG_NAME") && !has("CARGO_PKG_VERSION"));
        let found = here
            .environment
            .iter()
            .find(|(name, _)| name == "CARGO_HOME");
        let own = std::env::var_os("CARGO_HOME");
        assert_eq!(found.map(|(_, value)| value), own.as_ref());
    }
}
