//! Makes the base of an attempt and gives it a worktree on it, with the tests that a person keeps; takes the worktree back,
//! and keeps work that is on no branch.
//!
//! Kept tests are what the first attempt of a RED takes over as they were, and no agent is asked. They are proven as any
//! other RED. Where that fails, the next attempt is an agent's.

use super::context::StepContext;
use crate::waves::run_setup::RunSetup;
use crate::waves::step_message::StepDone;
use crate::{StepError, briefly, describe, now};
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, BranchName, Claim, ClaimStatus, CommitId, Ended, Keep,
    Phase, Place, PrepareRefusal, ResultFile, TaskId, branch_from_pattern, slug,
};
use tm_worktrees::{Conflict, Conflicts, Error, Worktree};

/// So often a step is done again whose new objects were collected by another git before anything held them.
const TRIES: u32 = 3;

/// So often the base is made again because something has landed meanwhile.
const LOOKS: u32 = 3;

pub(crate) async fn prepare(
    context: StepContext,
    on_top_of: Vec<CommitId>,
    must_contain: Vec<CommitId>,
) -> StepDone {
    let mut tries = 0;
    let prepared = loop {
        tries += 1;
        match base_and_worktree(&context, &on_top_of, &must_contain).await {
            // The base is made again.
            Err(trouble) if trouble.is_of_collected_objects() && tries < TRIES => {
                tokio::task::block_in_place(|| context.repository().put_back_collected());
            }
            prepared => break prepared,
        }
    };
    let worktree = match prepared {
        Ok(Ok(worktree)) => worktree,
        Ok(Err(refusal)) => return context.done(Answer::PrepareRefused(refusal), None),
        Err(trouble) => {
            let refused = |why| Answer::PrepareRefused(PrepareRefusal::Failed(why));
            return context.done(trouble.answer(refused), None);
        }
    };
    let place = Place {
        branch: worktree.branch().clone(),
        base: worktree.base().clone(),
        worktree: worktree.path().display().to_string(),
    };
    context.done(Answer::Prepared(place), Some(worktree))
}

/// The inner error is a conflict of what the task builds on.
async fn base_and_worktree(
    context: &StepContext,
    on_top_of: &[CommitId],
    must_contain: &[CommitId],
) -> Result<Result<Worktree, PrepareRefusal>, StepError> {
    let checkouts = &context.setup.checkouts;
    // Others may land until there is a worktree.
    checkouts.when_one_is_idle().await?;
    let (mut tip, outcome) = look(context, on_top_of)?;
    let base = match outcome {
        Ok(base) => base,
        Err(conflict) => {
            let files = conflict.files;
            return Ok(Err(PrepareRefusal::Conflict { files }));
        }
    };
    measure_ahead(context, &base);
    let (branch, start) = briefly(|| branch(context, &base))?;
    let mut worktree = checkouts
        .worktree(&branch, start.as_ref(), &base, must_contain, context.turn())
        .await?;
    // Making it ready takes its time, and others land meanwhile: the agent is to start from what there is when it starts.
    for _ in 0..LOOKS {
        if context.integration_tip()? == tip {
            break;
        }
        let (now, outcome) = look(context, on_top_of)?;
        let Ok(base) = outcome else {
            break;
        };
        tip = now;
        measure_ahead(context, &base);
        worktree = checkouts
            .moved_to_base(worktree, &base, context.turn())
            .await?;
    }
    lay_out_carried_work(context, &worktree)?;
    Ok(Ok(worktree))
}

/// Begins to measure what the work will be compared with, while its worktree is made and its agent works.
fn measure_ahead(context: &StepContext, base: &CommitId) {
    if let Some(command) = context.test_command() {
        context.result_cache().begin(base.clone(), command);
    }
}

/// Lays out the proven work that the attempt is to put together with what has landed, marks of conflicts included.
fn lay_out_carried_work(context: &StepContext, worktree: &Worktree) -> Result<(), StepError> {
    let Some(mending) = context.mending(worktree.base())? else {
        return Ok(());
    };
    let repository = context.repository();
    briefly(|| worktree.go_back_to(&repository.commit_to_test(&mending.tree, worktree.base())?))
}

/// Returns where the integration branch is, and what the task starts from there.
fn look(
    context: &StepContext,
    on_top_of: &[CommitId],
) -> Result<(CommitId, Result<CommitId, Conflict>), StepError> {
    let tip = context.integration_tip()?;
    let commits: Vec<CommitId> = std::iter::once(&tip).chain(on_top_of).cloned().collect();
    let message = format!("Base of task {}", context.id());
    let united = Conflicts::United;
    let outcome = briefly(|| context.repository().combine(&commits, &message, united))?;
    Ok((tip, outcome))
}

/// Takes the branch of an earlier attempt again, its commits kept elsewhere, or else finds a free name. Returns its
/// commit, too, where it exists.
fn branch(context: &StepContext, base: &CommitId) -> Result<(BranchName, Option<CommitId>), Error> {
    let repository = &context.setup.repository;
    let earlier = context
        .earlier
        .iter()
        .rev()
        .chain(&context.record)
        .find_map(|record| record.place());
    if let Some(place) = earlier {
        let branch = place.branch.clone();
        if let Some(tip) = repository.branch_tip(&branch)? {
            let before = AttemptNumber(context.attempt.0.saturating_sub(1));
            repository.keep_unless_in(base, &tip, &context.salvage_name(before))?;
            return Ok((branch, Some(tip)));
        }
        return Ok((branch, None));
    }
    let header = &context.setup.header;
    let id = context.planned.backlog_id.to_string();
    let values = [
        ("tag", header.tag.as_str()),
        ("id", &id),
        ("slug", &slug(&context.planned.title)),
        ("run", header.run_id.as_str()),
    ];
    let wanted = branch_from_pattern(&context.setup.settings.git.branch, &values)?;
    let wanted = match context.phase() {
        Phase::Red => BranchName::new(format!("{wanted}-red"))?,
        Phase::Green | Phase::None => wanted,
    };
    Ok((repository.free_branch(&wanted)?, None))
}

/// Opens the worktree of an attempt that another process prepared.
pub(super) fn taken_over(context: &StepContext) -> Result<Worktree, StepError> {
    let never_made = || StepError::of_task("its worktree was never made");
    let place = context.place.as_ref().ok_or_else(never_made)?;
    briefly(|| {
        let folder = place.worktree.as_ref();
        (context.setup.checkouts).take_over(folder, &place.branch, &place.base)
    })
}

/// What stands in place of an agent's name.
const NOBODY: &str = "kept tests";

/// Puts kept tests into the worktree; `None` where there are none for this attempt, or where they conflict with what has
/// landed since.
pub(super) fn with_kept_tests(
    context: &StepContext,
    worktree: &Worktree,
) -> Result<Option<AgentReport>, StepError> {
    let is_first = context.phase() == Phase::Red && context.earlier.is_empty();
    let kept = context.setup.kept_tests.get(context.id());
    let Some(kept) = kept.filter(|_| is_first) else {
        return Ok(None);
    };
    let (repository, base, begun) = (context.repository(), worktree.base(), now());
    let found = briefly(|| match repository.brought_again(base, kept)? {
        Ok(tree) => repository
            .commit_tree(&tree, &[base], "tm: tests that are kept\n")
            .map(Some),
        Err(_) => Ok::<_, Error>(None),
    });
    let commit = match found {
        Ok(Some(commit)) => commit,
        Ok(None) => return Ok(None),
        // The commit is not here any more: somebody has to write the tests anew.
        Err(trouble) if trouble.is_of_collected_objects() => return Ok(None),
        Err(trouble) => return Err(trouble),
    };
    briefly(|| worktree.go_back_to(&commit))?;
    context.tell_output("the tests are kept as they are; no agent is asked".to_owned());
    let report = AgentReport::new(NOBODY.to_owned(), begun, now(), Ended::Exited(Some(0)));
    Ok(Some(AgentReport {
        result: ResultFile::Claimed(Claim::of(ClaimStatus::Pass)),
        ..report
    }))
}

/// Returns what people should know when it did not go well; the worktree is left as it is then.
pub(crate) fn release(
    setup: &RunSetup,
    task: &TaskId,
    attempt: AttemptNumber,
    worktree: Worktree,
    keep: Keep,
) -> Option<String> {
    let released = || {
        if keep == Keep::Salvage {
            let reference = setup.salvage_name(task, attempt);
            let message = format!("tm: work of attempt {attempt} at task {task} that did not land");
            worktree.salvage(&reference, &message)?;
        }
        worktree.release()
    };
    released().err().map(|error| describe(&error))
}
