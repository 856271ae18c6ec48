//! Ends a run, or stops it for now.

use super::answers::Ended;
use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::state::{LastResults, Phase};
use super::verify;
use super::views::{commit_of, progress};
use serde_json::json;
use tm_config::Verify;
use tm_scheduler::autopilot::{
    Action, IllegalStep, Order, Stage, TestCounts, Verdict, judge_final,
};
use tm_scheduler::{RunId, Status, TaskId};
use tm_worktrees::BranchName;

/// How the whole suite went.
#[derive(Clone, Debug, Default)]
pub struct FinalizeRequest {
    /// The run; the current one where it is not said.
    pub run: Option<RunId>,
    /// The counts of the whole suite; where they are not said, tm runs it.
    pub counts: Option<TestCounts>,
    /// The coverage in percent.
    pub coverage: Option<f64>,
}

/// Closes a run of which everything is committed, and sets its task done.
///
/// # Errors
/// Something is not committed, or the whole suite does not pass.
pub async fn finalize(project: &Project, request: &FinalizeRequest) -> Result<Ended, Error> {
    let mut session = Session::open(project, request.run.as_ref())?;
    let next = session.open.state.machine.next();
    if next != Action::Finalize {
        return Err(IllegalStep {
            wanted: "finalize the run".to_owned(),
            next,
        }
        .into());
    }
    session.assert_on_branch()?;
    let paths = project.checkout.changed_paths(&project.never_commit()?)?;
    if !paths.is_empty() {
        return Err(Error::Uncommitted { paths });
    }
    session.open.assert_nothing_on_top()?;
    let (counts, verdict) = judge(&session, request).await?;
    let results = LastResults {
        counts,
        coverage: request.coverage,
        phase: Phase::Finalize,
    };
    session.open.state.last_test_results = Some(results);
    session.open.run.set_final_results(&json!({"results": results, "validated": verdict.is_accepted(),
                                                "message": verdict.message, "warnings": verdict.warnings}))?;
    if !verdict.is_accepted() {
        session
            .save(&[json!({"event": "error", "phase": "finalize", "error": verdict.message, "recoverable": true})])?;
        let (subtask, next) = (
            session.open.state.task_id.clone(),
            Action::Finalize.command(),
        );
        let verdict = Box::new(verdict);
        return Err(Error::Refused {
            phase: "the run",
            subtask,
            verdict,
            is_paused: false,
            next,
        });
    }
    let mut warnings = verdict.warnings;
    warnings.extend(set_task_done(&session)?);
    session.open.state.machine.handle(&Order::Finalized)?;
    session.save(&[
        json!({"event": "phase:complete", "phase": "finalize", "status": "success"}),
        json!({"event": "run:ended", "status": "completed", "commits": session.open.state.commits().len()}),
    ])?;
    let note = format!(
        "the work is on `{}`; review it and merge it",
        session.open.state.branch
    );
    Ok(ended(&session, verdict.message, warnings, note))
}

async fn judge(
    session: &Session<'_>,
    request: &FinalizeRequest,
) -> Result<(TestCounts, Verdict), Error> {
    let threshold = session.open.state.machine.rules().coverage_threshold;
    match (session.project().settings.autopilot.verify, request.counts) {
        (Verify::Reported, Some(counts)) => {
            Ok((counts, judge_final(&counts, request.coverage, threshold)))
        }
        (Verify::Run, _) | (Verify::Reported, None) => {
            verify::suite(session, request.coverage, threshold).await
        }
    }
}

/// Sets the task done when all of it is; otherwise says what is left.
fn set_task_done(session: &Session<'_>) -> Result<Option<String>, Error> {
    let task = session.open.task();
    let left = task
        .subtasks
        .iter()
        .filter(|subtask| !subtask.status.satisfies_dependants());
    let left: Vec<String> = left.map(|subtask| format!("`{}`", subtask.id)).collect();
    if left.is_empty() {
        session.set_statuses(&[(task.id, Status::Done)])?;
        return Ok(None);
    }
    Ok(Some(format!(
        "the task is not set done: {} are not",
        left.join(", ")
    )))
}

/// Stops a run until it is resumed.
///
/// # Errors
/// There is no such run, or it is paused or over.
pub fn pause(project: &Project, id: Option<&RunId>) -> Result<Ended, Error> {
    let mut session = Session::open(project, id)?;
    session.open.state.machine.handle(&Order::Pause)?;
    session.save(&[
        json!({"event": "run:paused", "why": "asked", "subtaskId": session.open.state.current()}),
    ])?;
    let message = format!("paused `{}`", session.open.state.run_id);
    Ok(ended(
        &session,
        message,
        Vec::new(),
        "`tm autopilot resume` goes on".to_owned(),
    ))
}

/// What is to become of branch and files of a run that is given up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cleanup {
    /// They stay.
    Keep,
    /// They are removed; the commits stay under `refs/tm/salvage/`.
    Remove,
}

/// Gives a run up: statuses go back to what they were, but for subtasks that are committed and stay so.
///
/// # Errors
/// There is no such run, it is over, or its branch can't be left.
pub fn abort(project: &Project, id: Option<&RunId>, cleanup: Cleanup) -> Result<Ended, Error> {
    let mut session = Session::open(project, id)?;
    let kept = match cleanup {
        // Leaving the branch can fail over uncommitted work, so it comes before anything is written.
        Cleanup::Remove => Some(retire(&session)?),
        Cleanup::Keep => None,
    };
    // What was given up before can still be cleaned up; its statuses are somebody else's by now.
    if !(cleanup == Cleanup::Remove && *session.open.state.machine.stage() == Stage::Aborted) {
        session.open.state.machine.handle(&Order::Abort)?;
        restore_statuses(&session, cleanup)?;
        session.save(&[json!({"event": "run:ended", "status": "aborted", "kept": kept})])?;
    }
    let state = &session.open.state;
    let note = match &kept {
        Some(name) => format!("the branch is removed; its commits are kept as `{name}`"),
        None => format!("the branch `{}` stays", state.branch),
    };
    let answer = ended(
        &session,
        format!("aborted `{}`", state.run_id),
        Vec::new(),
        note,
    );
    if cleanup == Cleanup::Remove {
        project.folder.forget(&session.open.state.pointer())?;
        session.open.run.remove()?;
    }
    Ok(answer)
}

/// Leaves the branch and removes it; its commits stay under a name of tm's own.
fn retire(session: &Session<'_>) -> Result<String, Error> {
    let (project, state) = (session.project(), &session.open.state);
    if *state.machine.stage() == Stage::Complete {
        let next = state.machine.next();
        return Err(IllegalStep {
            wanted: "abort the run".to_owned(),
            next,
        }
        .into());
    }
    let branch = BranchName::new(state.branch.clone())?;
    let name = format!(
        "refs/tm/salvage/autopilot/{}",
        tm_store::run::safe_name(&state.run_id.as_str().into())
    );
    let was_there = state.start_branch.as_deref() == Some(branch.as_str());
    if was_there {
        return Err(Error::NotOurs(state.branch.clone()));
    }
    if project.checkout.assert_on(&branch).is_ok() {
        let paths = project.checkout.changed_paths(&project.never_commit()?)?;
        if !paths.is_empty() {
            return Err(Error::Uncommitted { paths });
        }
        project
            .checkout
            .switch_to(state.start_branch.as_deref(), &state.base_commit)?;
    }
    project.checkout.retire_branch(&branch, &name)?;
    Ok(name)
}

fn restore_statuses(session: &Session<'_>, cleanup: Cleanup) -> Result<(), Error> {
    let state = &session.open.state;
    let stays = |id: &TaskId| {
        let item = state.machine.items().iter().find(|item| item.id == *id);
        let is_committed = item.is_some_and(|item| commit_of(&item.progress).is_some());
        is_committed && cleanup == Cleanup::Keep && *id != state.task_id
    };
    let task = session.open.task();
    let all = std::iter::once(&task).chain(&task.subtasks);
    let back: Vec<(TaskId, Status)> = all
        .filter(|task| !stays(&task.id))
        .filter(|task| {
            state.machine.items().iter().any(|item| item.id == task.id) || task.id == state.task_id
        })
        .filter_map(|task| {
            state
                .statuses_before
                .get(&task.id)
                .map(|status| (task.id.clone(), status.clone()))
        })
        .collect();
    session.set_statuses(&back)
}

fn ended(session: &Session<'_>, message: String, warnings: Vec<String>, note: String) -> Ended {
    let state = &session.open.state;
    Ended {
        success: true,
        message,
        run_id: state.run_id.to_string(),
        task_id: state.task_id.to_string(),
        branch_name: state.branch.clone(),
        phase: state.phase().to_owned(),
        progress: progress(state),
        warnings,
        note,
    }
}
