//! Ends a run, or stops it for now.

use super::answers::{Ended, TestResultsView};
use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::state::{RunState, commit_of};
use super::verify;
use serde_json::json;
use tm_config::Verify;
use tm_scheduler::autopilot::{
    Action, CalledBy, IllegalStep, Order, Stage, TestCounts, Verdict, judge_final,
};
use tm_scheduler::{Status, Task, TaskId, quoted};
use tm_store::run::write_json;

/// How the whole suite went.
#[derive(Debug, Default)]
pub struct FinalizeRequest {
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
    let mut session = Session::open(project)?;
    let next = session.state.machine.next();
    if next != Action::Finalize {
        let wanted = "finalize the run".to_owned();
        return Err(IllegalStep { wanted, next }.into());
    }
    session.assert_on_branch()?;
    project.assert_committed()?;
    session.assert_nothing_on_top()?;
    let (counts, verdict) = judge(&session, request).await?;
    let results = TestResultsView::of(counts, request.coverage, "FINALIZE");
    let judged = json!({"results": results, "validated": verdict.is_accepted(),
                        "message": verdict.message, "warnings": verdict.warnings});
    write_json(&session.run.final_results(), &judged)?;
    session.state.last_test_results = Some(results);
    if !verdict.is_accepted() {
        let error = json!({"event": "error", "phase": "finalize", "error": verdict.message, "recoverable": true});
        session.save(&[error])?;
        return Err(Error::Refused {
            phase: "the run",
            subtask: session.state.task_id.clone(),
            verdict: Box::new(verdict),
            is_paused: false,
            next: session.project.call(&Action::Finalize),
        });
    }
    let mut warnings = verdict.warnings;
    warnings.extend(set_task_done(&session)?);
    session.state.machine.handle(&Order::Finalized)?;
    let commits = session.state.commits().len();
    session.save(&[
        json!({"event": "phase:complete", "phase": "finalize", "status": "success"}),
        json!({"event": "run:ended", "status": "completed", "commits": commits}),
    ])?;
    let branch = &session.state.branch;
    let how = match project.environment.called_by {
        CalledBy::Command => {
            "`tm review` shows it, `tm pr` opens a pull request, and `tm waves land` brings it into the branch that you are on"
        }
        CalledBy::Tool => "review it and merge it",
    };
    let note = format!("the work is on `{branch}`; {how}");
    Ok(ended(&session.state, verdict.message, warnings, note))
}

async fn judge(
    session: &Session<'_>,
    request: &FinalizeRequest,
) -> Result<(TestCounts, Verdict), Error> {
    let threshold = session.state.machine.rules().coverage_threshold;
    match (session.project.settings.autopilot.verify, request.counts) {
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
    let Task { id, subtasks, .. } = session.task();
    let left = subtasks
        .iter()
        .filter(|subtask| !subtask.status.satisfies_dependants());
    let left = quoted(left.map(|subtask| &subtask.id));
    if left.is_empty() {
        session.set_statuses(&[(id, Status::Done)])?;
        return Ok(None);
    }
    Ok(Some(format!("the task is not set done: {left} are not")))
}

/// Stops a run until it is resumed.
///
/// # Errors
/// There is no such run, or it is paused or over.
pub fn pause(project: &Project) -> Result<Ended, Error> {
    let mut session = Session::open_to_end(project)?;
    session.state.machine.handle(&Order::Pause)?;
    session.save(&[
        json!({"event": "run:paused", "why": "asked", "subtaskId": session.state.current()}),
    ])?;
    let state = &session.state;
    let message = format!("paused `{}`", state.run_id);
    let resume = project.call(&Action::Resume).unwrap_or_default();
    let note = format!("`{resume}` goes on");
    Ok(ended(state, message, Vec::new(), note))
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
pub fn abort(project: &Project, cleanup: Cleanup) -> Result<Ended, Error> {
    let mut session = Session::open_to_end(project)?;
    let kept = match cleanup {
        // Leaving the branch can fail over uncommitted work, so it comes before anything is written.
        Cleanup::Remove => Some(retire(&session)?),
        Cleanup::Keep => None,
    };
    // What was given up before can still be cleaned up; its statuses are somebody else's by now.
    if !(cleanup == Cleanup::Remove && *session.state.machine.stage() == Stage::Aborted) {
        session.state.machine.handle(&Order::Abort)?;
        restore_statuses(&session, cleanup)?;
        session.save(&[json!({"event": "run:ended", "status": "aborted", "kept": kept})])?;
    }
    let state = &session.state;
    let note = match &kept {
        Some(name) => format!("the branch is removed; its commits are kept as `{name}`"),
        None => format!("the branch `{}` stays", state.branch),
    };
    let message = format!("aborted `{}`", state.run_id);
    let answer = ended(state, message, Vec::new(), note);
    if cleanup == Cleanup::Remove {
        session.folder.forget(&session.state.pointer())?;
        session.run.remove()?;
    }
    Ok(answer)
}

/// Leaves the branch and removes it; its commits stay under a name of tm's own.
fn retire(session: &Session<'_>) -> Result<String, Error> {
    let (project, state) = (session.project, &session.state);
    if *state.machine.stage() == Stage::Complete {
        let (wanted, next) = ("abort the run".to_owned(), state.machine.next());
        return Err(IllegalStep { wanted, next }.into());
    }
    let branch = &state.branch;
    if state.start_branch.as_deref() == Some(branch.as_str()) {
        return Err(Error::NotOurs(branch.to_string()));
    }
    if project.repository.assert_on(branch).is_ok() {
        project.assert_committed()?;
        project
            .repository
            .switch_to(state.start_branch.as_deref(), &state.base_commit)?;
    }
    let name = format!("refs/tm/salvage/autopilot/{}", state.safe_run_id());
    project.repository.retire_branch(branch, &name)?;
    Ok(name)
}

fn restore_statuses(session: &Session<'_>, cleanup: Cleanup) -> Result<(), Error> {
    let state = &session.state;
    let item = |id: &TaskId| state.machine.items().iter().find(|item| item.id == *id);
    let is_of_run = |id: &TaskId| *id == state.task_id || item(id).is_some();
    let stays = |id: &TaskId| {
        let is_committed = item(id).is_some_and(|item| commit_of(&item.progress).is_some());
        is_committed && cleanup == Cleanup::Keep && *id != state.task_id
    };
    let tasks = [session.task()];
    let back: Vec<(TaskId, Status)> = Task::with_subtasks(&tasks)
        .map(|task| &task.id)
        .filter(|id| is_of_run(id) && !stays(id))
        .filter_map(|id| Some((id.clone(), state.statuses_before.get(id)?.clone())))
        .collect();
    session.set_statuses(&back)
}

fn ended(state: &RunState, message: String, warnings: Vec<String>, note: String) -> Ended {
    Ended {
        success: true,
        message,
        run_id: state.run_id.to_string(),
        task_id: state.task_id.to_string(),
        branch_name: state.branch.clone(),
        phase: state.phase().to_owned(),
        progress: state.progress(),
        warnings,
        note,
    }
}
