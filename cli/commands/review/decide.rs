//! What becomes of a decision: it is kept, a rejected task is open again, and whoever does it next is told why.

use super::branch::{ReviewedRun, TaskBranch};
use crate::commands::holding::{Waiting, lock};
use crate::failure::{CommandFailure, ExitCode};
use tm_runtime::now;
use tm_scheduler::{Phase, RunStatus, Status, TaskId};
use tm_store::backlog::{BacklogSource, RollUp, StatusChange, stamp};
use tm_store::run::{Decision, Rejection, Review};

/// Approves the work of a task; returns the tasks that this decides.
pub(crate) fn approve(run: &ReviewedRun, branch: &TaskBranch) -> Result<Vec<TaskBranch>, CommandFailure> {
    if branch.is_rejected() {
        take_back(run, branch)?;
        return decide(run, both_halves(run, branch)?, &Decision::Approved);
    }
    let decided = if branch.task.phase == Phase::Green { both_halves(run, branch)? } else { vec![branch.clone()] };
    decide(run, decided, &Decision::Approved)
}

/// Rejects the work of a task: with a pair both halves, since both are to be done again. Returns what this decides.
pub(crate) fn reject(run: &ReviewedRun, branch: &TaskBranch, reason: &str) -> Result<Vec<TaskBranch>, CommandFailure> {
    let reason = reason.trim();
    if reason.is_empty() {
        let failure = CommandFailure::new("reject work without a reason").code(ExitCode::Usage);
        return Err(failure.hint("say what is wrong: whoever does the task next is told nothing else"));
    }
    let _lock = lock(&run.project, Waiting::Refuse)?;
    refuse_unfinished(run)?;
    let header = &run.replayed.header;
    let backlog_id = backlog_id(run, branch);
    let rejection = Rejection {
        run: header.run_id.clone(),
        task: branch.id(),
        branch: branch.branch.to_string(),
        commit: branch.commit.clone(),
        reason: reason.to_owned(),
        at: stamp(now()),
    };
    // The reason is kept before the task is open again: nobody can begin it without being told.
    run.project.directory.add_rejection(&header.tag, &backlog_id, rejection)?;
    set_status(run, &backlog_id, Status::Pending)?;
    decide(run, both_halves(run, branch)?, &Decision::Rejected { reason: reason.to_owned() })
}

/// A run that can be taken up owns the statuses of its tasks, and would not do a task again that has landed.
fn refuse_unfinished(run: &ReviewedRun) -> Result<(), CommandFailure> {
    let id = &run.replayed.header.run_id;
    let is_over = matches!(run.replayed.scheduler.ended(), Some(RunStatus::Completed | RunStatus::Failed));
    if is_over || run.project.directory.live()?.as_ref() != Some(id) {
        return Ok(());
    }
    Err(CommandFailure::new(format!("reject work of the run {id}, which can still be taken up"))
        .code(ExitCode::Refused)
        .hint("`tm waves resume` takes it up, `tm waves run --on-interrupted fresh` leaves it as it is"))
}

/// Takes a rejection back.
fn take_back(run: &ReviewedRun, branch: &TaskBranch) -> Result<(), CommandFailure> {
    let _lock = lock(&run.project, Waiting::Refuse)?;
    let header = &run.replayed.header;
    let backlog_id = backlog_id(run, branch);
    run.project.directory.forget_rejections(&header.tag, &backlog_id, |kept| kept.run == header.run_id)?;
    if branch.task.landed { set_status(run, &backlog_id, Status::Done) } else { Ok(()) }
}

fn backlog_id(run: &ReviewedRun, branch: &TaskBranch) -> TaskId {
    let view = run.replayed.scheduler.task(&branch.id());
    view.map_or_else(|| branch.id(), |view| view.placed.task.backlog_id.clone())
}

fn set_status(run: &ReviewedRun, task: &TaskId, status: Status) -> Result<(), CommandFailure> {
    let header = &run.replayed.header;
    let source = BacklogSource::at(std::path::Path::new(&header.backlog))?;
    let change = StatusChange { id: task.clone(), status };
    source.set_statuses(&header.tag, &[change], RollUp::Parents, Some(&stamp(now())))?;
    Ok(())
}

/// The task, and the other half of its pair as far as there is work of it.
fn both_halves(run: &ReviewedRun, branch: &TaskBranch) -> Result<Vec<TaskBranch>, CommandFailure> {
    let other = branch.task.pair.as_ref();
    let others = run.branches()?.into_iter().filter(|candidate| Some(&candidate.task.id) == other);
    Ok(std::iter::once(branch.clone()).chain(others).collect())
}

fn decide(
    run: &ReviewedRun,
    branches: Vec<TaskBranch>,
    decision: &Decision,
) -> Result<Vec<TaskBranch>, CommandFailure> {
    let decided = branches.into_iter().map(|branch| {
        let review =
            Review { task: branch.id(), commit: branch.commit.clone(), at: stamp(now()), decision: decision.clone() };
        run.directory.set_review(&review)?;
        Ok(TaskBranch { review: Some(review), ..branch })
    });
    decided.collect()
}
