//! Pieces of work that are reported back under the id with which they were handed out.

use super::answers::NextAction;
use super::commit::{CommitRequest, commit};
use super::complete::{CompleteRequest, complete};
use super::error::Error;
use super::project::Project;
use super::session::OpenRun;
use schemars::JsonSchema;
use serde::Deserialize;
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
