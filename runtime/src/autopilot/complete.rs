//! Takes reports on RED and GREEN, as `failed:3,passed:0` or JSON; where the settings say so, tm runs the tests itself and
//! judges what it sees.

use super::answers::{Completed, TestResultsView};
use super::error::{Error, NoCounts};
use super::project::Project;
use super::session::Session;
use super::state::RunState;
use super::units::{UnitRecord, UnitStatus, record};
use super::verify;
use serde::Deserialize;
use serde_json::{Value, json};
use tm_config::Verify;
use tm_scheduler::autopilot::{PhaseReport, Stage, Step, TestCounts, Verdict, VerdictKind};
use tm_scheduler::{Proof, TaskId, TddHalf};
use tm_store::run::write_json;
use tm_worktrees::TreeId;

/// What an agent reports.
#[derive(Debug, Default)]
pub struct CompleteRequest {
    /// The phase; the one under way where it is not said.
    pub phase: Option<TddHalf>,
    /// The subtask; the one under way where it is not said.
    pub subtask: Option<TaskId>,
    /// The counts.
    pub counts: Option<TestCounts>,
    /// The coverage in percent.
    pub coverage: Option<f64>,
    /// The files that were changed, for the log; looked up where they are not said.
    pub files: Vec<String>,
}

/// Takes a report.
///
/// # Errors
/// It is not time for that, or the report does not allow the next step.
pub async fn complete(project: &Project, request: &CompleteRequest) -> Result<Completed, Error> {
    let mut session = Session::open(project)?;
    let mut report = PhaseReport {
        phase: request.phase,
        subtask: request.subtask.clone(),
        counts: request.counts.unwrap_or_default(),
        coverage: request.coverage,
        proven: None,
    };
    // Whether it is time for the report is asked of a copy, before any test is run.
    session.state.machine.clone().report(&report)?;
    session.assert_on_branch()?;
    session.assert_holds_its_commits()?;
    let (phase, subtask) = under_way(&session);
    let tree = session.tree()?;
    let mut proof = None;
    match (project.settings.autopilot.verify, request.counts) {
        (Verify::Run, _) => {
            let seen = verify::measure(&mut session, phase, &tree).await?;
            report.counts = seen.counts;
            report.coverage = seen.coverage.or(report.coverage);
            report.proven = Some(seen.verdict);
            proof = Some(seen.proof);
        }
        (Verify::Reported, None) => return Err(Error::NoResults),
        (Verify::Reported, Some(_)) => {
            // A report that would be taken is held against what is there.
            if session.state.machine.clone().report(&report)?.is_accepted() {
                report.proven = match phase {
                    TddHalf::Red => session.against_red(&tree, &request.files)?,
                    TddHalf::Green => session.against_green(&tree)?,
                };
            }
        }
    }
    let unit = session.unit_id(&session.state.machine.next());
    let verdict = session.state.machine.report(&report)?;
    remember_unit(&mut session, unit, &verdict);
    if verdict.is_accepted() {
        keep(&mut session, phase, &tree)?;
    }
    let taken = Taken {
        phase,
        subtask,
        report,
        verdict,
        proof,
        files: if request.files.is_empty() {
            project.changed_files()?
        } else {
            request.files.clone()
        },
    };
    taken.record(&mut session)?;
    taken.answer(&session)
}

/// Keeps what held, so that what follows can be held against it.
fn keep(session: &mut Session<'_>, phase: TddHalf, tree: &TreeId) -> Result<(), Error> {
    if phase == TddHalf::Green {
        session.state.green_kept = Some(tree.to_string());
    } else if session.state.red_kept.is_none() {
        // What tm has proven is kept already.
        session.keep_red(tree)?;
    }
    Ok(())
}

fn under_way(session: &Session<'_>) -> (TddHalf, TaskId) {
    let machine = &session.state.machine;
    let phase = match machine.step() {
        Some(Step::Green { .. }) => TddHalf::Green,
        _ => TddHalf::Red,
    };
    let item = machine.current().map(|item| &item.id);
    (phase, item.unwrap_or_else(|| machine.task()).clone())
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
            message: Some(verdict.message.clone()),
            ..UnitRecord::new(id, status)
        };
        record(&mut session.state.work_units, ended);
    }
}

/// A report that was taken, whatever was said of it.
struct Taken {
    phase: TddHalf,
    subtask: TaskId,
    report: PhaseReport,
    verdict: Verdict,
    /// What tm measured, where it ran the tests itself.
    proof: Option<Proof>,
    /// What was changed.
    files: Vec<String>,
}

impl Taken {
    /// Keeps the results, the new state and what happened.
    fn record(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let (report, verdict) = (&self.report, &self.verdict);
        let (counts, word) = (report.counts, self.phase.as_str().to_lowercase());
        let results = json!({
            "subtaskId": self.subtask, "phase": word, "passed": counts.passed, "failed": counts.failed,
            "skipped": counts.skipped, "total": counts.total, "coverage": report.coverage, "files": self.files,
            "validated": verdict.is_accepted(), "message": verdict.message, "warnings": verdict.warnings,
            "proof": self.proof,
        });
        write_json(&session.run.test_results(&self.subtask, &word), &results)?;
        if verdict.kind != VerdictKind::Malformed {
            let seen = TestResultsView::of(counts, report.coverage, self.phase.as_str());
            session.state.last_test_results = Some(seen);
        }
        let events = self.events(&session.state, &word);
        session.save(&events)
    }

    fn events(&self, state: &RunState, word: &str) -> Vec<Value> {
        let Self {
            subtask,
            report,
            verdict,
            ..
        } = self;
        let (status, changed) = match self.phase {
            TddHalf::Red => ("expected", "test:generated"),
            TddHalf::Green => ("success", "code:modified"),
        };
        let tested = |status| {
            json!({"event": "test:run", "subtaskId": subtask, "phase": word, "passed": report.counts.passed,
                   "failed": report.counts.failed, "skipped": report.counts.skipped,
                   "coverage": report.coverage, "status": status, "message": verdict.message})
        };
        let mut events = if verdict.is_accepted() {
            let next = state.current_phase();
            vec![
                json!({"event": changed, "subtaskId": subtask, "files": self.files}),
                tested(status),
                json!({"event": "phase:transition", "subtaskId": subtask, "from": word, "to": next}),
            ]
        } else {
            vec![
                tested("refused"),
                json!({"event": "error", "phase": word, "subtaskId": subtask, "error": verdict.message,
                       "recoverable": true}),
            ]
        };
        if matches!(state.machine.stage(), Stage::Paused { .. }) {
            events.push(
                json!({"event": "run:paused", "subtaskId": subtask, "why": "attempts-used-up"}),
            );
        }
        events
    }

    fn answer(self, session: &Session<'_>) -> Result<Completed, Error> {
        let (state, verdict) = (&session.state, self.verdict);
        if !verdict.is_accepted() {
            return Err(Error::Refused {
                phase: self.phase.as_str(),
                subtask: self.subtask,
                verdict: Box::new(verdict),
                is_paused: matches!(state.machine.stage(), Stage::Paused { .. }),
                next: session.project.call(&state.machine.next()),
            });
        }
        let test_results = state.last_test_results.clone();
        Ok(Completed {
            success: true,
            validated: true,
            message: verdict.message,
            warnings: verdict.warnings,
            subtask: self.subtask.to_string(),
            next_phase: state.tdd_phase().map(ToOwned::to_owned),
            test_results: test_results.expect("an accepted report has been kept"),
            next_action: session.next_action()?,
        })
    }
}

/// Counts as they are written: what is missing is 0, a missing total is the sum.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
    total: Option<u64>,
}

/// Reads counts.
///
/// # Errors
/// The text is in neither form, or says neither how many passed nor how many failed.
pub fn parse_counts(text: &str) -> Result<TestCounts, Error> {
    let written = counts(text).map_err(|why| Error::Results {
        text: text.to_owned(),
        why,
    })?;
    let counts = TestCounts::of(
        written.passed.unwrap_or(0),
        written.failed.unwrap_or(0),
        written.skipped.unwrap_or(0),
    );
    Ok(TestCounts {
        total: written.total.unwrap_or(counts.total),
        ..counts
    })
}

fn counts(text: &str) -> Result<Written, NoCounts> {
    let written: Written = if text.trim_start().starts_with('{') {
        serde_json::from_str(text)?
    } else {
        pairs(text)?
    };
    if (written.passed, written.failed) == (None, None) {
        return Err(NoCounts::Nothing);
    }
    Ok(written)
}

fn pairs(text: &str) -> Result<Written, NoCounts> {
    let mut written = Written::default();
    let parts = text.split(',').map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        let Some((name, number)) = part.split_once([':', '=']) else {
            return Err(NoCounts::NoPair(part.to_owned()));
        };
        let (name, number) = (name.trim(), number.trim());
        let no_number = |_| NoCounts::NoNumber(number.to_owned());
        let count = number.parse().map_err(no_number)?;
        let place = match name {
            "passed" => &mut written.passed,
            "failed" => &mut written.failed,
            "skipped" => &mut written.skipped,
            "total" => &mut written.total,
            other => return Err(NoCounts::NoName(other.to_owned())),
        };
        if place.replace(count).is_some() {
            return Err(NoCounts::Twice(name.to_owned()));
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        for text in [
            "failed:3,passed:0",
            " passed : 0 , failed=3 ",
            r#"{"failed":3}"#,
            r#"{"total":3,"failed":3}"#,
        ] {
            assert_eq!(
                parse_counts(text).unwrap(),
                TestCounts::of(0, 3, 0),
                "{text}"
            );
        }
        let counts = parse_counts(r#"{"total":10,"passed":9,"failed":1,"skipped":0}"#).unwrap();
        assert_eq!(counts, TestCounts::of(9, 1, 0));
        assert_eq!(
            parse_counts("total:9,failed:1").unwrap().total,
            9,
            "whether it adds up is judged elsewhere"
        );
    }

    #[test]
    fn rubbish_says_what_is_wrong_with_it() {
        for (text, part) in [
            ("", "neither"),
            ("skipped:1", "neither"),
            ("{}", "neither"),
            ("failed", "`failed` is not"),
            ("failed:-1", "`-1` is no number"),
            ("failed:1.5", "no number"),
            ("failed:1,failed:2", "twice"),
            ("errors:1", "none of"),
            ("{\"failed\":\"x\"}", "invalid type"),
            ("{\"fialed\":1}", "unknown field"),
            ("{", "EOF"),
        ] {
            let error = parse_counts(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
