//! What has landed passed before, and fails by itself now: tells whether what the run began with fails as well, and else
//! with which landing that begins. Takes nothing back, and blames nobody: the words are for people.

use super::context::StepContext;
use crate::trailers::Claims;
use crate::{StepError, briefly};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{Blame, FirstFailing, blame};
use tm_scheduler::{CommitId, Proof, TaskId};
use tm_worktrees::{Error, Repository};

/// What fails by now.
pub(super) struct FailsByNow<'a> {
    /// What has landed.
    pub(super) head: &'a CommitId,
    pub(super) command: &'a TestCommand,
    /// What is wrong with what was to land on it.
    pub(super) proof: &'a Proof,
}

/// Returns why nothing can land: no attempt at the task that was about to mends that.
pub(super) async fn why_nothing_lands(context: &StepContext, failing: FailsByNow<'_>) -> StepError {
    let since = match begins_with(context, &failing).await {
        Ok(Some(landing)) => words_of(context, &landing),
        Ok(None) => "something around them is not as it was".to_owned(),
        Err(trouble) => format!(
            "something around them is not as it was, or what landed is to blame: it can't be told, since tm {trouble}"
        ),
    };
    StepError::of_surroundings(format!(
        "failed to land `{}`: its tests fail with what has landed, and now without it, too, where they passed before; \
         {since}: {}",
        context.id(),
        failing.proof.evidence.trim_end()
    ))
}

/// The landing with which the same tests begin to fail; `None` where they fail at what the run began with.
async fn begins_with(
    context: &StepContext,
    failing: &FailsByNow<'_>,
) -> Result<Option<CommitId>, StepError> {
    let base = &context.setup.header.base_commit;
    let landings = briefly(|| landings(context.repository(), base, failing.head))?;
    if landings.is_empty() || fails(context, failing, (base, "landing-base")).await? {
        return Ok(None);
    }
    let mut search = FirstFailing::among(landings.len());
    while let Some(number) = search.next() {
        let name = format!("landing-only-{number}");
        let do_fail = fails(context, failing, (&landings[number - 1], &name)).await?;
        search = search.with(number, do_fail);
    }
    Ok(landings.get(search.number() - 1).cloned())
}

/// Whether what was seen fails at a commit by now as well.
async fn fails(
    context: &StepContext,
    failing: &FailsByNow<'_>,
    (commit, name): (&CommitId, &str),
) -> Result<bool, StepError> {
    let scratch = context.directory.path();
    let measured = (context.result_cache()).measure(commit, failing.command, (scratch, name));
    Ok(blame(failing.proof, &measured.await?) == Blame::Base)
}

/// What landed on top of `base`, the oldest first.
fn landings(
    repository: &Repository,
    base: &CommitId,
    head: &CommitId,
) -> Result<Vec<CommitId>, Error> {
    let (mut landings, mut at) = (Vec::new(), head.clone());
    while at != *base {
        let before = repository.first_parent(&at)?;
        landings.push(at);
        match before {
            Some(before) => at = before,
            None => break,
        }
    }
    landings.reverse();
    Ok(landings)
}

fn words_of(context: &StepContext, landing: &CommitId) -> String {
    let past = briefly(|| context.repository().past(landing)).ok();
    let task = past.and_then(|past| Claims::of(&past.trailers).ok()?.task);
    let task = task.as_ref().map_or("ID", TaskId::as_str);
    format!(
        "they begin to fail with the landed work of `{task}` and pass where the run began, by now as well, so either that \
         work is to blame, or something around the tests that it brought. `git revert -m 1 {landing}` on `{}` and `tm \
         set-status --id={task} --status=pending` take it back, `tm waves run --on-interrupted fresh` does what is left then",
        context.setup.header.integration_branch
    )
}
