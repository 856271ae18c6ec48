//! Closes a run, or stops it for now.

use super::answers::{Ended, TestResultsView};
use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::state::RunState;
use super::verify;
use serde_json::json;
use tm_config::Verify;
use tm_scheduler::autopilot::{
    Action, CalledBy, IllegalStep, Order, TestCounts, Verdict, judge_final,
};
use tm_scheduler::{Status, Task, quoted};
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

pub(super) fn ended(
    state: &RunState,
    message: String,
    warnings: Vec<String>,
    note: String,
) -> Ended {
    Ended {
        success: true,
        message,
        run_id: state.run_id.to_string(),
        task_id: state.task_id.to_string(),
        branch_name: Some(state.branch.clone()),
        phase: state.phase().to_owned(),
        progress: state.progress(),
        warnings,
        note,
    }
}
