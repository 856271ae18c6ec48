//! Makes the base of an attempt and gives it a worktree on it.

use super::blocking;
use super::context::{StepContext, StepDone};
use crate::step_error::StepError;
use crate::waves::resolving::carried_over;
use tm_scheduler::{Answer, AttemptNumber, CommitId, Phase, Place, PrepareRefusal};
use tm_worktrees::{
    BranchName, BranchStart, Conflicts, Error, MergeOutcome, Worktree, branch_from_pattern, slug,
};

/// So often a step is done again whose new objects were collected by another git before anything held them.
pub(super) const TRIES: u32 = 3;

/// So often the base is made again because something has landed meanwhile.
const LOOKS: u32 = 3;

/// What preparing comes to, before it is put into an answer.
enum Prepared {
    Ready(Box<Worktree>),
    Conflict(Vec<String>),
}

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
            Err(trouble) if trouble.is_of_collected_objects() && tries < TRIES => {}
            prepared => break prepared,
        }
    };
    match prepared {
        Ok(Prepared::Ready(worktree)) => {
            let place = Place {
                branch: worktree.branch().to_string(),
                base: worktree.base().clone(),
                worktree: worktree.path().display().to_string(),
            };
            context.done(Answer::Prepared(place), Some(*worktree))
        }
        Ok(Prepared::Conflict(files)) => context.done(
            Answer::PrepareRefused(PrepareRefusal::Conflict { files }),
            None,
        ),
        Err(trouble) => context.done(
            trouble.answer(|why| Answer::PrepareRefused(PrepareRefusal::Failed(why))),
            None,
        ),
    }
}

async fn base_and_worktree(
    context: &StepContext,
    on_top_of: &[CommitId],
    must_contain: &[CommitId],
) -> Result<Prepared, StepError> {
    let (mut tip, outcome) = look(context, on_top_of).await?;
    let base = match outcome {
        MergeOutcome::Merged(base) => base,
        MergeOutcome::Conflict(conflict) => return Ok(Prepared::Conflict(conflict.files)),
    };
    measure_ahead(context, &base);
    let (inner, on) = (context.clone(), base.clone());
    let (branch, start) = blocking(move || branch(&inner, &on)).await?;
    let mut worktree = context
        .setup
        .checkouts
        .worktree(&branch, &start, &base, must_contain)
        .await?;
    // Making it ready takes its time, and others land meanwhile: the agent is to start from what there is when it starts.
    for _ in 0..LOOKS {
        let inner = context.clone();
        if blocking(move || inner.integration_tip()).await? == tip {
            break;
        }
        let (now, outcome) = look(context, on_top_of).await?;
        let MergeOutcome::Merged(base) = outcome else {
            break;
        };
        tip = now;
        measure_ahead(context, &base);
        worktree = context
            .setup
            .checkouts
            .moved_to_base(worktree, &base)
            .await?;
    }
    let worktree = with_carried_work(context, worktree).await?;
    Ok(Prepared::Ready(Box::new(worktree)))
}

/// Begins to measure what the work will be compared with, while its worktree is made and its agent works.
fn measure_ahead(context: &StepContext, base: &CommitId) {
    if let Some(command) = context.test_command() {
        context.setup.result_cache.begin(base.clone(), command);
    }
}

/// Lays out the proven work that the attempt is to put together with what has landed, marks of conflicts included.
async fn with_carried_work(
    context: &StepContext,
    worktree: Worktree,
) -> Result<Worktree, StepError> {
    let Some(proven) = context.carried_over().cloned() else {
        return Ok(worktree);
    };
    let repository = context.setup.repository.clone();
    blocking(move || {
        let Some(mending) = carried_over(&repository, worktree.base(), &proven)? else {
            return Ok(worktree);
        };
        let laid_out = repository.commit_to_test(&mending.tree, worktree.base())?;
        worktree.go_back_to(&laid_out)?;
        Ok::<_, Error>(worktree)
    })
    .await
}

/// Returns where the integration branch is, and what the task starts from there.
async fn look(
    context: &StepContext,
    on_top_of: &[CommitId],
) -> Result<(CommitId, MergeOutcome), StepError> {
    let (context, on_top_of) = (context.clone(), on_top_of.to_vec());
    blocking(move || {
        let tip = context.integration_tip()?;
        let outcome = base_on(&context, &tip, &on_top_of)?;
        Ok::<_, crate::Error>((tip, outcome))
    })
    .await
}

fn base_on(
    context: &StepContext,
    tip: &CommitId,
    on_top_of: &[CommitId],
) -> Result<MergeOutcome, Error> {
    let commits: Vec<CommitId> = std::iter::once(tip).chain(on_top_of).cloned().collect();
    context.setup.repository.combine_as_user(
        &commits,
        &format!("Base of task {}", context.id()),
        Conflicts::United,
    )
}

/// The branch of an earlier attempt is taken again, its commits kept elsewhere; otherwise a free name is found.
fn branch(context: &StepContext, base: &CommitId) -> Result<(BranchName, BranchStart), Error> {
    let repository = &context.setup.repository;
    let earlier = context
        .earlier
        .iter()
        .rev()
        .chain(&context.record)
        .find_map(|record| record.place());
    if let Some(place) = earlier {
        let branch = BranchName::new(place.branch.clone())?;
        if let Some(tip) = repository.branch_tip(&branch)? {
            if !repository.is_ancestor(&tip, base)? {
                let before = AttemptNumber(context.attempt.0.saturating_sub(1));
                repository.keep(&context.salvage_name(before), &tip)?;
            }
            return Ok((branch, BranchStart::Reuse { expected: tip }));
        }
        return Ok((branch, BranchStart::New));
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
    Ok((repository.free_branch(&wanted)?, BranchStart::New))
}

/// Opens the worktree of an attempt that another process prepared.
pub(super) async fn taken_over(context: &StepContext) -> Result<Worktree, StepError> {
    let Some(place) = context.place.clone() else {
        return Err(StepError::of_task("its worktree was never made"));
    };
    let checkouts = context.setup.checkouts.clone();
    blocking(move || {
        checkouts.take_over(
            place.worktree.as_ref(),
            &BranchName::new(place.branch)?,
            &place.base,
        )
    })
    .await
}

/// Returns the worktree of a step, wherever it comes from, or the answer that it is lost.
pub(super) async fn worktree_or_lost(
    context: &StepContext,
    worktree: Option<Worktree>,
) -> Result<Worktree, Answer> {
    match worktree {
        Some(worktree) => Ok(worktree),
        None => taken_over(context)
            .await
            .map_err(|trouble| trouble.answer(Answer::WorkLost)),
    }
}

/// The answer to a step whose work can't be got at: lost, or out of reach for now.
pub(super) fn lost(error: &(dyn std::error::Error + 'static)) -> Answer {
    StepError::of(error).answer(Answer::WorkLost)
}
