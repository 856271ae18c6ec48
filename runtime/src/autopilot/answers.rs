//! What the operations answer: one shape for the command line and for MCP.

use serde::{Deserialize, Serialize};
use tm_scheduler::BranchName;
use tm_scheduler::autopilot::TestCounts;

/// How far a run is.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressView {
    /// Subtasks that are committed or were finished before.
    pub completed: Vec<String>,
    /// The subtask under way.
    pub current: Option<String>,
    /// Subtasks that are left, with the current one.
    pub remaining: Vec<String>,
    /// Subtasks in all.
    pub total: usize,
    /// Finished subtasks in percent.
    pub percentage: usize,
}

/// A subtask.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubtaskView {
    /// Its id with that of its task, such as `1.2`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// How it is to be done.
    pub details: String,
    /// How it is to be tested.
    pub test_strategy: String,
    /// What must be true at the end.
    pub acceptance_criteria: Vec<String>,
    /// The number of the try under way.
    pub attempts: u32,
    /// The last try before the run is paused, in GREEN.
    pub max_attempts: Option<u32>,
}

/// Counts of tests; the state of a run keeps the last ones.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResultsView {
    /// Tests in all.
    pub total: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were skipped.
    pub skipped: u64,
    /// The coverage in percent.
    pub coverage: Option<f64>,
    /// The phase: RED, GREEN or FINALIZE.
    pub phase: String,
}

impl TestResultsView {
    pub(super) fn of(counts: TestCounts, coverage: Option<f64>, phase: &str) -> Self {
        Self {
            total: counts.total,
            passed: counts.passed,
            failed: counts.failed,
            skipped: counts.skipped,
            coverage,
            phase: phase.to_owned(),
        }
    }
}

/// Something that must hold before a piece of work is begun.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Precondition {
    /// Its name.
    pub name: String,
    /// What it says.
    pub description: String,
    /// Whether it holds now.
    pub met: bool,
}

/// Where a test goes, and by what it is judged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedContext {
    /// Where the tests could go.
    pub test_file: String,
    /// The framework, as far as the project shows one.
    pub test_framework: String,
    /// What must be true at the end.
    pub acceptance_criteria: Vec<String>,
}

/// What has to pass, and where the work probably is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GreenContext {
    /// The tests that have to pass.
    pub test_file: String,
    /// What the subtask says about the work.
    pub implementation_hints: Vec<String>,
    /// Files that are probably touched.
    pub expected_files: Vec<String>,
}

/// What will be committed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitContext {
    /// The message that tm would write.
    pub commit_message: String,
    /// Everything that is changed.
    pub files_to_commit: Vec<String>,
}

/// Everything that is needed for a piece of work.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkUnitContext {
    /// The task.
    pub task_id: String,
    /// Its title.
    pub task_title: String,
    /// The subtask's title.
    pub subtask_title: String,
    /// What is to be done.
    pub subtask_description: String,
    /// Finished subtasks that this one builds on.
    pub dependencies: Vec<String>,
    /// The command that runs the tests.
    pub test_command: Option<String>,
    /// The top of the checkout.
    pub project_root: String,
    /// A pattern that the project's tests follow.
    pub test_pattern: String,
    /// Test files that are there.
    pub existing_tests: Vec<String>,
    /// In RED.
    pub red_phase: Option<RedContext>,
    /// In GREEN.
    pub green_phase: Option<GreenContext>,
    /// In COMMIT.
    pub commit_phase: Option<CommitContext>,
}

/// A piece of work.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkUnit {
    /// Its id, such as `workUnit-1.2-RED`.
    pub id: String,
    /// RED, GREEN or COMMIT.
    pub phase: String,
    /// The subtask.
    pub subtask_id: String,
    /// What is to be done, for people.
    pub action: String,
    /// Everything that is needed.
    pub context: WorkUnitContext,
    /// What must hold before it is begun.
    pub preconditions: Vec<Precondition>,
}

/// What is to be done next.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextAction {
    /// red, green, commit, finalize, complete, resume or start.
    pub action: String,
    /// The same in words.
    pub description: String,
    /// The command that does it, or ends it.
    pub command: Option<String>,
    /// What to do, step by step.
    pub instructions: String,
    /// The same in one sentence.
    pub next_steps: String,
    /// The stage: `PREFLIGHT`, `BRANCH_SETUP`, `SUBTASK_LOOP`, `FINALIZE`, `COMPLETE` or `ABORTED`.
    pub phase: String,
    /// The step: RED, GREEN or COMMIT.
    pub tdd_phase: Option<String>,
    /// The run.
    pub run_id: String,
    /// Its task.
    pub task_id: String,
    /// Its branch.
    pub branch_name: BranchName,
    /// The subtask under way.
    pub subtask: Option<SubtaskView>,
    /// Everything that is needed for it.
    pub context: Option<WorkUnitContext>,
    /// The same as a piece of work with preconditions.
    pub work_unit: Option<WorkUnit>,
    /// The last report that counted.
    pub last_test_results: Option<TestResultsView>,
}

/// A run that has begun or goes on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Always true.
    pub success: bool,
    /// What happened.
    pub message: String,
    /// The run; none where nothing was begun.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Its title.
    pub title: String,
    /// The branch.
    pub branch: BranchName,
    /// The branch, under its other name.
    pub branch_name: BranchName,
    /// The stage.
    pub phase: String,
    /// The step.
    pub tdd_phase: Option<String>,
    /// The subtasks in the order in which they are worked on.
    pub subtasks: Vec<String>,
    /// How far the run is.
    pub progress: ProgressView,
    /// What was seen of the tests where the run starts.
    pub base: Vec<String>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What is to be done next; none where nothing was begun.
    pub next_action: Option<NextAction>,
}

/// A phase that was accepted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completed {
    /// Always true; a refusal is an error.
    pub success: bool,
    /// Always true.
    pub validated: bool,
    /// What was seen.
    pub message: String,
    /// What is odd.
    pub warnings: Vec<String>,
    /// The subtask.
    pub subtask: String,
    /// The step that follows.
    pub next_phase: Option<String>,
    /// The counts that counted.
    pub test_results: TestResultsView,
    /// What is to be done next.
    pub next_action: NextAction,
}

/// A commit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Committed {
    /// Always true.
    pub success: bool,
    /// The commit.
    pub commit_sha: String,
    /// Its first digits.
    pub commit_hash: String,
    /// The first line of its message.
    pub message: String,
    /// The subtask.
    pub subtask: String,
    /// Whether every subtask is finished.
    pub is_complete: bool,
    /// How far the run is.
    pub progress: ProgressView,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What is to be done next.
    pub next_action: NextAction,
}

/// How a subtask stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubtaskStatus {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// pending, in-progress, completed or skipped.
    pub status: String,
    /// Its commit.
    pub commit: Option<String>,
}

/// How a run stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// Whether a run is under way or was the last one.
    pub active: bool,
    /// The run.
    pub run_id: String,
    /// Its task.
    pub task_id: String,
    /// The task's title.
    pub task_title: String,
    /// in-progress, paused, completed or aborted.
    pub status: String,
    /// The tag.
    pub tag: String,
    /// The branch.
    pub branch_name: BranchName,
    /// The stage.
    pub phase: String,
    /// The step.
    pub tdd_phase: Option<String>,
    /// The subtask under way.
    pub current_subtask: Option<String>,
    /// The step, or the stage, in lower case.
    pub current_phase: String,
    /// The number of the try under way.
    pub attempt_number: u32,
    /// Tries at GREEN before the run is paused.
    pub max_attempts: u32,
    /// How far the run is.
    pub progress: ProgressView,
    /// All subtasks.
    pub subtasks: Vec<SubtaskStatus>,
    /// Commits of this run.
    pub commits: usize,
    /// When it began.
    pub start_time: String,
    /// When it ended.
    pub end_time: Option<String>,
    /// How long it has taken, such as `5m 30s`.
    pub duration: String,
    /// The last report that counted.
    pub last_test_results: Option<TestResultsView>,
    /// Where its files are.
    pub run_directory: String,
    /// The command that goes on.
    pub next_command: Option<String>,
}

/// The end of a run, or a stop.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Always true.
    pub success: bool,
    /// What happened.
    pub message: String,
    /// The run.
    pub run_id: String,
    /// Its task.
    pub task_id: String,
    /// Its branch; nothing where nobody can vouch for one.
    pub branch_name: Option<BranchName>,
    /// The stage.
    pub phase: String,
    /// How far it got.
    pub progress: ProgressView,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What stays, or how to go on.
    pub note: String,
}
