//! Pieces of work: what was handed out is reported back under its id, and what came of each is kept.
//!
//! The state keeps the short records; `work-units.json` adds what each piece was handed out with.

use super::answers::{NextAction, WorkUnit};
use super::commit::{CommitRequest, commit};
use super::complete::{CompleteRequest, complete};
use super::error::Error;
use super::project::Project;
use super::session::OpenRun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tm_scheduler::CommitId;
use tm_scheduler::autopilot::{IllegalStep, TddPhase, TestCounts};

/// The phase of a piece of work.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum UnitPhase {
    /// Tests were written.
    Red,
    /// They were made to pass.
    Green,
    /// The work was or is to be committed.
    Commit,
}

/// What came of a piece of work.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnitResult {
    /// Whether it was done.
    pub success: bool,
    /// Its phase.
    pub phase: UnitPhase,
    /// RED: the test files that were written.
    #[serde(default)]
    pub tests_created: Vec<String>,
    /// Tests that failed.
    #[serde(default)]
    pub tests_failed: u64,
    /// Tests that passed.
    #[serde(default)]
    pub tests_passed: u64,
    /// Tests that were skipped.
    #[serde(default)]
    pub tests_skipped: u64,
    /// GREEN: the coverage in percent.
    #[serde(default)]
    pub coverage: Option<f64>,
    /// GREEN: the files that were changed.
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// GREEN: how often it was tried; tm counts itself.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// COMMIT: the commit, where it was made already; without one tm commits.
    #[serde(default)]
    pub commit_sha: Option<String>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// What the tests printed; kept nowhere.
    #[serde(default)]
    pub logs: Option<String>,
}

/// Takes what came of the piece of work that is under way.
///
/// # Errors
/// Another piece is under way, or the result does not allow the next step.
pub async fn complete_unit(
    project: &Project,
    unit: &str,
    result: &UnitResult,
) -> Result<NextAction, Error> {
    expect(project, unit, result.phase)?;
    let phase = match result.phase {
        UnitPhase::Red => TddPhase::Red,
        UnitPhase::Green => TddPhase::Green,
        UnitPhase::Commit => return commit_unit(project, result).await,
    };
    let counts = TestCounts::of(
        result.tests_passed,
        result.tests_failed,
        result.tests_skipped,
    );
    let why = result.error.as_deref().unwrap_or("it was not done");
    let request = CompleteRequest {
        phase: Some(phase),
        subtask: None,
        counts: Some(counts),
        coverage: result.coverage,
        files: [&*result.tests_created, &result.files_modified].concat(),
        failure: (!result.success).then(|| why.to_owned()),
    };
    Ok(complete(project, &request).await?.next_action)
}

async fn commit_unit(project: &Project, result: &UnitResult) -> Result<NextAction, Error> {
    if !result.success {
        // Nothing has changed: the commit is still what comes next.
        return OpenRun::open(project)?.next_action();
    }
    let request = CommitRequest {
        made: result.commit_sha.clone(),
        ..CommitRequest::default()
    };
    Ok(commit(project, &request).await?.next_action)
}

fn expect(project: &Project, unit: &str, phase: UnitPhase) -> Result<(), Error> {
    let open = OpenRun::open(project)?;
    let next = open.state.machine.next();
    let word = match phase {
        UnitPhase::Red => "RED",
        UnitPhase::Green => "GREEN",
        UnitPhase::Commit => "COMMIT",
    };
    if open.unit_id(&next).as_deref() == Some(unit) && open.state.tdd_phase() == Some(word) {
        return Ok(());
    }
    Err(IllegalStep {
        wanted: format!("complete `{unit}`"),
        next,
    }
    .into())
}

/// One piece of work.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnitRecord {
    /// Such as `workUnit-1.2-RED`.
    pub(super) id: String,
    pub(super) status: UnitStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) commit_sha: Option<CommitId>,
}

impl UnitRecord {
    pub(super) const fn new(id: String, status: UnitStatus) -> Self {
        Self {
            id,
            status,
            message: None,
            commit_sha: None,
        }
    }
}

/// How far a piece of work is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnitStatus {
    /// It is handed out.
    InProgress,
    /// What was reported was accepted.
    Done,
    /// What was reported was refused.
    Failed,
}

/// Records that a piece of work is handed out or has ended; the last word on each piece counts.
pub(super) fn record(records: &mut Vec<UnitRecord>, record: UnitRecord) {
    match records.iter_mut().find(|known| known.id == record.id) {
        Some(known) => *known = record,
        None => records.push(record),
    }
}

/// Records the piece of work that comes next, unless it was handed out before.
pub(super) fn hand_out(records: &mut Vec<UnitRecord>, unit: &WorkUnit) {
    if !records
        .iter()
        .any(|known| known.id == unit.id && known.status == UnitStatus::InProgress)
    {
        record(
            records,
            UnitRecord::new(unit.id.clone(), UnitStatus::InProgress),
        );
    }
}

/// Returns the content of `work-units.json`: each record, with what it was handed out with as far as that is known.
pub(super) fn file(
    records: &[UnitRecord],
    under_way: Option<&WorkUnit>,
    before: &[Value],
) -> Value {
    let entry = |record: &UnitRecord| {
        let fresh = under_way
            .filter(|unit| unit.id == record.id)
            .map(|unit| json!(unit));
        let known = || {
            before
                .iter()
                .find(|unit| unit["id"] == record.id.as_str())
                .cloned()
        };
        let mut entry = fresh.or_else(known).unwrap_or_else(|| json!({}));
        if let (Some(entry), Value::Object(own)) = (entry.as_object_mut(), json!(record)) {
            entry.extend(own);
        }
        entry
    };
    records.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(id: &str, status: UnitStatus) -> UnitRecord {
        UnitRecord {
            id: id.to_owned(),
            status,
            message: None,
            commit_sha: None,
        }
    }

    #[test]
    fn the_last_word_on_a_piece_counts_and_its_context_stays() {
        let mut records = vec![unit("a", UnitStatus::InProgress)];
        record(&mut records, unit("a", UnitStatus::Done));
        record(&mut records, unit("b", UnitStatus::InProgress));
        let before = [
            json!({"id": "a", "status": "in-progress", "action": "RED"}),
            json!({"id": "gone"}),
        ];
        assert_eq!(
            file(&records, None, &before),
            json!([{"id": "a", "status": "done", "action": "RED"}, {"id": "b", "status": "in-progress"}])
        );
    }
}
