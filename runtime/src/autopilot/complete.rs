//! Takes reports on RED and GREEN; where the settings say so, tm runs the tests itself and judges what it sees.

use super::answers::{Completed, TestResultsView};
use super::error::Error;
use super::ledger::{UnitRecord, UnitStatus, record as record_unit};
use super::project::Project;
use super::session::Session;
use super::state::{LastResults, Phase};
use super::verify;
use super::views::results_view;
use serde_json::json;
use tm_config::Verify;
use tm_scheduler::autopilot::{
    PhaseReport, Stage, Step, TddPhase, TestCounts, Verdict, VerdictKind,
};
use tm_scheduler::{RunId, TaskId};
use tm_worktrees::TreeId;

/// What an agent reports.
#[derive(Clone, Debug, Default)]
pub struct CompleteRequest {
    /// The run; the current one where it is not said.
    pub run: Option<RunId>,
    /// The phase; the one under way where it is not said.
    pub phase: Option<TddPhase>,
    /// The subtask; the one under way where it is not said.
    pub subtask: Option<TaskId>,
    /// The counts.
    pub counts: Option<TestCounts>,
    /// The coverage in percent.
    pub coverage: Option<f64>,
    /// The files that were changed, for the log; looked up where they are not said.
    pub files: Vec<String>,
    /// What went wrong, where the agent itself gives up this try.
    pub failure: Option<String>,
}

/// Takes a report.
///
/// # Errors
/// It is not time for that, or the report does not allow the next step.
pub async fn complete(project: &Project, request: &CompleteRequest) -> Result<Completed, Error> {
    let mut session = Session::open(project, request.run.as_ref())?;
    let mut report = PhaseReport {
        phase: request.phase,
        subtask: request.subtask.clone(),
        counts: request.counts.unwrap_or_default(),
        coverage: request.coverage,
        proven: request
            .failure
            .as_deref()
            .map(|why| Verdict::refused(why, "try again")),
    };
    // Whether it is time for the report is asked of a copy, before any test is run.
    session.open.state.machine.clone().report(&report)?;
    session.assert_on_branch()?;
    session.open.assert_holds_its_commits()?;
    let (phase, subtask) = under_way(&session);
    let tree = session.open.tree()?;
    match (
        project.settings.autopilot.verify,
        report.proven.is_some(),
        request.counts,
    ) {
        (Verify::Run, false, _) => verify::measure(&mut session, phase, &tree, &mut report).await?,
        (Verify::Reported, false, None) => return Err(Error::NoResults),
        (Verify::Reported, false, Some(_)) => {
            look(&session, phase, &tree, &mut report, &request.files)?;
        }
        (_, true, _) => {}
    }
    let unit = session.open.unit_id(&session.open.state.machine.next());
    let verdict = session.open.state.machine.report(&report)?;
    remember_unit(&mut session, unit, &verdict);
    match phase {
        // What tm has proven is kept already.
        TddPhase::Red if verdict.is_accepted() && session.open.state.red_kept.is_none() => {
            drop(session.keep_red(&tree)?);
        }
        TddPhase::Green if verdict.is_accepted() => {
            session.open.state.green_kept = Some(tree.to_string());
        }
        TddPhase::Red | TddPhase::Green => {}
    }
    let files = changed(project, &request.files)?;
    record(&mut session, phase, &subtask, &report, &verdict, &files)?;
    answer(&session, phase, &subtask, verdict)
}

/// A report that would be taken is held against what is there.
fn look(
    session: &Session<'_>,
    phase: TddPhase,
    tree: &TreeId,
    report: &mut PhaseReport,
    named: &[String],
) -> Result<(), Error> {
    if !session
        .open
        .state
        .machine
        .clone()
        .report(report)?
        .is_accepted()
    {
        return Ok(());
    }
    report.proven = match phase {
        TddPhase::Red => session.open.against_red(tree, named)?,
        TddPhase::Green => session.open.against_green(tree)?,
    };
    Ok(())
}

fn under_way(session: &Session<'_>) -> (TddPhase, TaskId) {
    let machine = &session.open.state.machine;
    let phase = match machine.step() {
        Some(Step::Green { .. }) => TddPhase::Green,
        _ => TddPhase::Red,
    };
    (
        phase,
        machine
            .current()
            .map_or_else(|| machine.task().clone(), |item| item.id.clone()),
    )
}

fn changed(project: &Project, named: &[String]) -> Result<Vec<String>, Error> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let paths = project.checkout.changed_paths(&project.never_commit()?)?;
    Ok(paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect())
}

/// Keeps the results, the new state and what happened.
fn record(
    session: &mut Session<'_>,
    phase: TddPhase,
    subtask: &TaskId,
    report: &PhaseReport,
    verdict: &Verdict,
    files: &[String],
) -> Result<(), Error> {
    let (counts, word) = (report.counts, phase.as_str().to_lowercase());
    let results = json!({
        "subtaskId": subtask, "phase": word, "passed": counts.passed, "failed": counts.failed,
        "skipped": counts.skipped, "total": counts.total, "coverage": report.coverage, "files": files,
        "validated": verdict.is_accepted(), "message": verdict.message, "warnings": verdict.warnings,
    });
    session
        .open
        .run
        .set_test_results(subtask, &word, &results)?;
    if verdict.kind != VerdictKind::Malformed {
        let phase = if phase == TddPhase::Red {
            Phase::Red
        } else {
            Phase::Green
        };
        session.open.state.last_test_results = Some(LastResults {
            counts,
            coverage: report.coverage,
            phase,
        });
    }
    let status = match (verdict.is_accepted(), phase) {
        (true, TddPhase::Red) => "expected",
        (true, TddPhase::Green) => "success",
        (false, _) => "refused",
    };
    let mut events = vec![
        json!({"event": "test:run", "subtaskId": subtask, "phase": word, "passed": counts.passed,
                                 "failed": counts.failed, "skipped": counts.skipped, "coverage": report.coverage,
                                 "status": status, "message": verdict.message}),
    ];
    let changed = if phase == TddPhase::Red {
        "test:generated"
    } else {
        "code:modified"
    };
    if verdict.is_accepted() {
        events.insert(
            0,
            json!({"event": changed, "subtaskId": subtask, "files": files}),
        );
        let next = session.open.state.current_phase();
        events.push(
            json!({"event": "phase:transition", "subtaskId": subtask, "from": word, "to": next}),
        );
    } else {
        events.push(
            json!({"event": "error", "phase": word, "subtaskId": subtask, "error": verdict.message,
                           "recoverable": true}),
        );
    }
    if matches!(session.open.state.machine.stage(), Stage::Paused { .. }) {
        events
            .push(json!({"event": "run:paused", "subtaskId": subtask, "why": "attempts-used-up"}));
    }
    session.save(&events)
}

/// Records what came of the piece of work that was under way; a report that contradicts itself ends none.
fn remember_unit(session: &mut Session<'_>, unit: Option<String>, verdict: &Verdict) {
    let status = match verdict.kind {
        VerdictKind::Accepted => UnitStatus::Done,
        VerdictKind::Refused => UnitStatus::Failed,
        VerdictKind::Malformed => return,
    };
    if let Some(id) = unit {
        let ended = UnitRecord {
            id,
            status,
            message: Some(verdict.message.clone()),
            commit_sha: None,
        };
        record_unit(&mut session.open.state.work_units, ended);
    }
}

fn answer(
    session: &Session<'_>,
    phase: TddPhase,
    subtask: &TaskId,
    verdict: Verdict,
) -> Result<Completed, Error> {
    let state = &session.open.state;
    if !verdict.is_accepted() {
        let is_paused = matches!(state.machine.stage(), Stage::Paused { .. });
        let next = state.machine.next().command();
        return Err(Error::Refused {
            phase: phase.as_str(),
            subtask: subtask.clone(),
            verdict: Box::new(verdict),
            is_paused,
            next,
        });
    }
    let test_results: TestResultsView = state
        .last_test_results
        .map(results_view)
        .expect("an accepted report has been kept");
    Ok(Completed {
        success: true,
        validated: true,
        message: verdict.message,
        warnings: verdict.warnings,
        subtask: subtask.to_string(),
        next_phase: state.tdd_phase().map(ToOwned::to_owned),
        test_results,
        next_action: session.open.next_action()?,
    })
}
