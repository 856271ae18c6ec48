//! What a node is told to run: the command with all its variables, and how it is held. Knows nothing of who runs it.

use crate::engine::Holding;
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
}

impl Order {
    pub(super) fn new(command: &TreeCommand, holding: Option<&Holding>) -> Self {
        Self {
            version: VERSION,
            command: command.with_all_variables(&OF_PLACE),
            holding: holding.cloned(),
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
        } = self;
        if version != VERSION {
            return Err(format!(
                "the order has version {version}, and tm of this node knows {VERSION}: install the same one on all nodes"
            ));
        }
        let is_set = |name: &OsString| command.environment.iter().any(|(known, _)| known == name);
        let of_node: Vec<_> = std::env::vars_os()
            .filter(|(name, _)| crate::process::is_named(&OF_NODE, name) && !is_set(name))
            .collect();
        command.environment.extend(of_node);
        Ok((command, holding.map(Holding::here)))
    }
}
