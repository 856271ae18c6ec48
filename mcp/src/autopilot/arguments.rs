//! What the tools of autopilot are called with.

use crate::arguments::Id;
use schemars::JsonSchema;
use serde::Deserialize;
use tm_scheduler::autopilot::TestCounts;
use tm_scheduler::{RunId, TddHalf};

/// A project, and one of its runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Where {
    /// The folder of the project; the server's own when not given.
    pub(crate) project_root: Option<String>,
    /// The run; the one under way, else the last one, when not given.
    pub(crate) run_id: Option<String>,
}

impl Where {
    pub(crate) fn run(&self) -> Option<RunId> {
        self.run_id.as_deref().map(RunId::from)
    }
}

/// What to begin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    /// The task, such as `1`; its subtasks are worked on in order.
    pub(super) task_id: Id,
    /// The folder of the project; the server's own when not given.
    pub(super) project_root: Option<String>,
    /// The tag; the current one when not given.
    pub(super) tag: Option<String>,
    /// The branch; one by the project's pattern when not given.
    pub(super) branch: Option<String>,
    /// Tries at GREEN before the run is paused.
    pub(super) max_attempts: Option<u32>,
    /// Start over an unfinished run, which is paused, and over open dependencies.
    #[serde(default)]
    pub(super) force: bool,
    /// Start although the tests can't be run there, so that nothing can be proven.
    #[serde(default)]
    pub(super) allow_broken_base: bool,
    /// Say what would be done, and do nothing.
    #[serde(default)]
    pub(super) dry_run: bool,
    /// Branch and tries, in another place.
    pub(super) options: Option<StartOptions>,
}

/// Branch and tries.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StartOptions {
    /// The branch.
    pub(super) branch: Option<String>,
    /// Tries at GREEN before the run is paused.
    pub(super) max_attempts: Option<u32>,
}

/// Counts of tests as they are reported.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Counts {
    /// Tests that passed.
    pub(super) passed: u64,
    /// Tests that failed.
    pub(super) failed: u64,
    /// Tests that were skipped.
    pub(super) skipped: u64,
    /// Tests in all; the sum when not given.
    pub(super) total: Option<u64>,
}

impl From<Counts> for TestCounts {
    fn from(counts: Counts) -> Self {
        let sum = Self::of(counts.passed, counts.failed, counts.skipped);
        Self {
            total: counts.total.unwrap_or(sum.total),
            ..sum
        }
    }
}

/// A report.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct CompletePhase {
    #[serde(flatten)]
    pub(super) place: Where,
    /// The phase; the one under way when not given.
    pub(super) phase: Option<TddHalf>,
    /// The subtask; the one under way when not given.
    pub(super) subtask_id: Option<Id>,
    /// The counts that the test command printed.
    pub(super) test_results: Option<Counts>,
    /// The coverage in percent.
    pub(super) coverage: Option<f64>,
    /// Files that were changed; looked up when not given.
    pub(super) files: Vec<String>,
}

/// A commit.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Commit {
    #[serde(flatten)]
    pub(super) place: Where,
    /// The subtask; the one under way when not given.
    pub(super) subtask_id: Option<Id>,
    /// Commit these files alone.
    pub(super) files: Vec<String>,
    /// The words of the message; trailers are added.
    #[serde(alias = "customMessage")]
    pub(super) message: Option<String>,
}

/// The end of a run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Finalize {
    #[serde(flatten)]
    pub(super) place: Where,
    /// The counts of the whole suite; tm runs it when they are not given.
    pub(super) test_results: Option<Counts>,
    /// The coverage in percent.
    pub(super) coverage: Option<f64>,
}

/// A run that is given up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Abort {
    #[serde(flatten)]
    pub(super) place: Where,
    /// Remove branch and state as well; the commits stay under `refs/tm/salvage/`.
    pub(super) cleanup: bool,
}
