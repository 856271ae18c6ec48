//! Gives a worktree back, keeping work that is on no branch.

use super::describe;
use crate::waves::run_setup::RunSetup;
use tm_scheduler::{AttemptNumber, Keep, TaskId};
use tm_store::run::safe_name;
use tm_worktrees::Worktree;

/// Returns what people should know when it did not go well; the worktree is left as it is then.
pub(crate) fn release(
    setup: &RunSetup,
    task: &TaskId,
    attempt: AttemptNumber,
    worktree: Worktree,
    keep: Keep,
) -> Option<String> {
    if keep == Keep::Salvage {
        let reference = format!(
            "refs/tm/salvage/{}/{}/{attempt}",
            setup.header.run_id,
            safe_name(task)
        );
        let message = format!("tm: work of attempt {attempt} at task {task} that did not land");
        if let Err(error) = worktree.salvage(&reference, &message) {
            return Some(describe(&error));
        }
    }
    worktree.release().err().map(|error| describe(&error))
}
