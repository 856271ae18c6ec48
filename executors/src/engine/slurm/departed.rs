//! Jobs that Slurm's queue does not show any more: asks where Slurm keeps them a little longer.

use super::commands::{ask, states};
use super::queue::{self, QueuedJob};
use crate::engine::node::{Loss, Standing};

/// Looks for a job that left the queue where Slurm keeps them a little longer.
pub(super) async fn state_elsewhere(id: Option<&str>) -> Standing {
    let Some(id) = id else {
        let words = "Slurm has no such job: it was never sent, or is long gone";
        return Standing::Gone(Loss::Lost(words.to_owned()));
    };
    for line in states(id) {
        let Ok(said) = ask(line).await else {
            continue;
        };
        if let Some(state) = queue::state_of(&said.stdout).filter(|_| said.has_succeeded()) {
            let job = QueuedJob {
                id: id.to_owned(),
                state: state.to_owned(),
                reason: String::new(),
                nodes: String::new(),
                name: String::new(),
            };
            return queue::standing(&job, false);
        }
    }
    let words = format!("Slurm knows nothing of job {id} any more");
    Standing::Gone(Loss::Lost(words))
}
