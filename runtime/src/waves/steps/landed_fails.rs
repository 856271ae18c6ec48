//! What has landed passed before, and fails by itself now: tells whether what the run began with fails as well, and else
//! with which landing that begins. Takes nothing back, and blames nobody: the words are for people.

use super::context::StepContext;
use crate::trailers::Claims;
use crate::{StepError, briefly};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{Blame, FirstFailing, blame};
use tm_scheduler::{CommitId, Proof, TestReport};
use tm_worktrees::{Error, Repository};

/// So many commits at the most lie between what an attempt begins with and what has landed: one for each of those on which it
/// depends, and a RED.
const MOST_ABOVE: usize = 1_000;

/// What fails by now.
pub(super) struct FailsByNow<'a> {
    /// What has landed.
    pub(super) head: &'a CommitId,
    pub(super) command: &'a TestCommand,
    /// What is wrong with what was to land on it.
    pub(super) proof: &'a Proof,
}

/// Since when it fails.
enum Since {
    /// That landing, the first with which the same tests fail.
    Landing(CommitId),
    /// It fails at what the run began with as well.
    Always,
    /// It can't be told, for this reason.
    Unknown(String),
}

/// Returns why nothing can land: no attempt at the task that was about to mends that.
pub(super) async fn why_nothing_lands(context: &StepContext, failing: FailsByNow<'_>) -> StepError {
    let since = match since(context, &failing).await {
        Ok(Since::Landing(landing)) => words_of(context, &landing),
        Ok(Since::Always) => "something around them is not as it was".to_owned(),
        Ok(Since::Unknown(why)) => untold(&why),
        Err(trouble) => untold(&format!("tm {trouble}")),
    };
    StepError::of_surroundings(format!(
        "failed to judge `{}`: its tests fail with what has landed, and now without it, too, where they passed before; \
         {since}: {}",
        context.id(),
        failing.proof.evidence.trim_end()
    ))
}

fn untold(why: &str) -> String {
    format!(
        "something around them is not as it was, or what landed is to blame: it can't be told, since {why}"
    )
}

async fn since(context: &StepContext, failing: &FailsByNow<'_>) -> Result<Since, StepError> {
    let base = &context.setup.header.base_commit;
    let Some(landings) = briefly(|| landings(context.repository(), base, failing.head))? else {
        let why = "what the run began with is not where its landings begin";
        return Ok(Since::Unknown(why.to_owned()));
    };
    let base_now = measured(context, failing, (base, "landing-base")).await?;
    if landings.is_empty() || !base_now.could_be_run() {
        return Ok(Since::Always);
    }
    let mut proof = failing.proof.clone();
    if proof.is_of_old_tests() {
        // A test that came later says nothing of what was before it.
        let is_there = |name: &String| base_now.tests.contains_key(name);
        proof.regressions.retain(is_there);
        if proof.regressions.is_empty() {
            let why = "the tests that fail came with what has landed";
            return Ok(Since::Unknown(why.to_owned()));
        }
    }
    if blame(&proof, &base_now) == Blame::Base {
        return Ok(Since::Always);
    }
    let mut search = FirstFailing::among(landings.len());
    while let Some(number) = search.next() {
        let name = format!("landing-only-{number}");
        let now = measured(context, failing, (&landings[number - 1], &name)).await?;
        search = search.with(number, blame(&proof, &now) == Blame::Base);
    }
    Ok(Since::Landing(landings[search.number() - 1].clone()))
}

async fn measured(
    context: &StepContext,
    failing: &FailsByNow<'_>,
    (commit, name): (&CommitId, &str),
) -> Result<TestReport, StepError> {
    let scratch = context.directory.path();
    (context.result_cache())
        .measure(commit, failing.command, (scratch, name))
        .await
}

/// Returns what had landed at some moment and is nearest below a commit, by first parents; what tm made for an attempt to begin
/// with, and a RED, are above it. `None` where nothing of the run's is near.
pub(super) fn landed_below(
    repository: &Repository,
    commit: &CommitId,
    (began_with, tip): (&CommitId, &CommitId),
) -> Result<Option<CommitId>, Error> {
    let Some(mut landed) = landings(repository, began_with, tip)? else {
        return Ok(None);
    };
    landed.push(began_with.clone());
    let mut at = commit.clone();
    for _ in 0..MOST_ABOVE {
        if landed.contains(&at) {
            return Ok(Some(at));
        }
        let Some(before) = repository.first_parent(&at)? else {
            return Ok(None);
        };
        at = before;
    }
    Ok(None)
}

/// What landed on top of `base`, the oldest first; `None` where it is not where the line of first parents leads.
fn landings(
    repository: &Repository,
    base: &CommitId,
    head: &CommitId,
) -> Result<Option<Vec<CommitId>>, Error> {
    let (mut landings, mut at) = (Vec::new(), head.clone());
    while at != *base {
        let Some(before) = repository.first_parent(&at)? else {
            return Ok(None);
        };
        landings.push(std::mem::replace(&mut at, before));
    }
    landings.reverse();
    Ok(Some(landings))
}

fn words_of(context: &StepContext, landing: &CommitId) -> String {
    let past = briefly(|| context.repository().past(landing)).ok();
    let task = past.and_then(|past| Claims::of(&past.trailers).ok()?.task);
    let (whose, set_status) = task.map_or_else(Default::default, |task| {
        let set_status = format!(" and `tm set-status --id={task} --status=pending`");
        (format!(" of `{task}`"), set_status)
    });
    format!(
        "they begin to fail with the landed work{whose} (`{landing}`) and pass where the run began, by now as well, so either \
         that work is to blame, or something around the tests that it brought. `git revert -m 1 {landing}` on \
         `{}`{set_status} take it back, `tm waves run --on-interrupted fresh` does what is left then",
        context.setup.header.integration_branch
    )
}
