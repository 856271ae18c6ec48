//! Brings tests back that a person keeps: the first attempt of a RED takes them over as they were, and no agent is asked.
//! They are proven as any other RED. Where that fails, the next attempt is an agent's.

use super::blocking;
use super::context::StepContext;
use crate::now;
use crate::step_error::StepError;
use tm_scheduler::{AgentReport, Claim, ClaimStatus, Ended, Phase, ResultFile};
use tm_worktrees::{Error, TakenBackTree, Worktree};

/// What stands in place of an agent's name.
const NOBODY: &str = "kept tests";

/// Puts kept tests into the worktree; `None` where there are none for this attempt, or where they conflict with what has
/// landed since.
pub(super) async fn taken_over(
    context: &StepContext,
    worktree: &Worktree,
) -> Result<Option<AgentReport>, StepError> {
    let is_first = context.phase() == Phase::Red && context.earlier.is_empty();
    let Some(kept) = context
        .setup
        .kept_tests
        .get(context.id())
        .filter(|_| is_first)
        .cloned()
    else {
        return Ok(None);
    };
    let (repository, base) = (context.setup.repository.clone(), worktree.base().clone());
    let begun = now();
    let found = blocking(move || match repository.brought_again(&base, &kept)? {
        TakenBackTree::Clean(tree) => repository
            .commit_tree(&tree, &[&base], "tm: tests that are kept\n")
            .map(Some),
        TakenBackTree::Conflict { .. } => Ok::<_, Error>(None),
    });
    let commit = match found.await {
        Ok(Some(commit)) => commit,
        Ok(None) => return Ok(None),
        // The commit is not here any more: somebody has to write the tests anew.
        Err(trouble) if trouble.is_of_collected_objects() => return Ok(None),
        Err(trouble) => return Err(trouble),
    };
    tokio::task::block_in_place(|| worktree.go_back_to(&commit))?;
    context.tell_output("the tests are kept as they are; no agent is asked".to_owned());
    let report = AgentReport::new(NOBODY.to_owned(), begun, now(), Ended::Exited(Some(0)));
    Ok(Some(AgentReport {
        result: ResultFile::Claimed(Claim::of(ClaimStatus::Pass)),
        ..report
    }))
}
