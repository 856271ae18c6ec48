//! What a node is told to run: the command with all its variables, and how it is held. Knows nothing of who runs it.

use super::VariablesOf;
use crate::engine::Holding;
use crate::environment::{Variables, of_surroundings};
use crate::process::TreeCommand;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

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
        if let Some(needs) = command.needs.as_ref().filter(|_| has_own) {
            let here = std::env::vars_os().collect();
            let mut environment = of_surroundings(needs.kind, &needs.pass, &here);
            environment.extend(command.environment);
            command.environment = environment.into_iter().collect();
        }
        Ok((command, holding.map(Holding::here)))
    }
}

/// Returns a command without the variables that it has as this process or this machine gives them, and their names: what
/// lies where here says nothing of a node.
fn without_own(command: &TreeCommand) -> (TreeCommand, Vec<OsString>) {
    let own: Variables = std::env::vars_os().collect();
    let held = command.needs.as_ref();
    let found = held.map(|needs| of_surroundings(needs.kind, &needs.pass, &own));
    let is_own = |(name, value): &(OsString, OsString)| {
        let given = [Some(&own), found.as_ref()].into_iter().flatten();
        given
            .filter_map(|given| given.get(name))
            .any(|given| given == value)
    };
    let (own, said): (Vec<_>, Vec<_>) = command.environment.iter().cloned().partition(is_own);
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
        use crate::process::{Besides, JobKind, Needs};
        let pass = ["CARGO_PKG_*", "TM_*"].map(str::to_owned).to_vec();
        let own: Variables = std::env::vars_os().collect();
        // With what was found here where nothing said it.
        let of_machine = of_surroundings(JobKind::Agent, &pass, &own);
        let said = ("CARGO_PKG_VERSION".into(), "said".into());
        let command = TreeCommand {
            environment: of_machine.into_iter().chain([said.clone()]).collect(),
            needs: Some(Needs {
                kind: JobKind::Agent,
                own_folder: "/x".into(),
                besides: Besides::default(),
                hosts: None,
                network: None,
                only_reads: false,
                said_by_others: Vec::new(),
                pass,
            }),
            ..TreeCommand::default()
        };
        let order = Order::new(&command, None, VariablesOf::Node);
        assert_eq!(order.command.environment, std::slice::from_ref(&said));
        // This process stands for the node, which has variables that tm knew nothing of.
        let unknown_to_tm = Order {
            of_node: Vec::new(),
            ..order
        };
        let (here, _) = unknown_to_tm.here().expect("the same version");
        let value = |name: &str| {
            let mut all = here.environment.iter().filter(|(known, _)| known == name);
            all.next_back().map(|(_, value)| value.clone())
        };
        assert_eq!(
            value("CARGO_PKG_NAME"),
            own.get("CARGO_PKG_NAME".as_ref() as &std::ffi::OsStr)
                .cloned()
        );
        assert_eq!(value("CARGO_PKG_VERSION"), Some(said.1));
        assert_eq!(value("PATH"), std::env::var_os("PATH"));
    }
}
