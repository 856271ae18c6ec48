//! Everything that a run is carried out with, put together by the caller before the loop begins.

use crate::JournalHeader;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tm_config::Settings;
use tm_executors::testing::TestCommand;
use tm_presets::Recipe;
use tm_scheduler::{Phase, PlanOptions, Task, TaskId, verdict::Rules};
use tm_store::backlog::BacklogSource;
use tm_store::run::{Rejection, RunDirectory};
use tm_worktrees::{PathPatterns, Repository, WorktreePool};

/// The agents of a run, by phase.
#[derive(Clone, Debug)]
pub struct AgentChoice {
    /// Writes failing tests.
    pub red: Recipe,
    /// Makes them pass.
    pub green: Recipe,
    /// Does everything else.
    pub plain: Recipe,
    /// The model for agents that take one.
    pub model: Option<String>,
}

impl AgentChoice {
    pub(crate) const fn for_phase(&self, phase: Phase) -> &Recipe {
        match phase {
            Phase::Red => &self.red,
            Phase::Green => &self.green,
            Phase::None => &self.plain,
        }
    }
}

/// What a run is carried out with.
#[derive(Debug)]
pub struct RunSetup {
    /// What the run was started with.
    pub header: JournalHeader,
    /// The settings.
    pub settings: Settings,
    /// The repository.
    pub repository: Repository,
    /// The worktrees of the run.
    pub pool: WorktreePool,
    /// Where test results are kept from run to run.
    pub kept_results: PathBuf,
    /// The run's folder.
    pub directory: RunDirectory,
    /// The backlog.
    pub backlog: BacklogSource,
    /// The tasks of the backlog by id, of the unit of the run.
    pub tasks: BTreeMap<TaskId, Task>,
    /// How tasks that join the run are planned.
    pub planning: PlanOptions,
    /// Earlier work that people rejected, by the backlog id of its task.
    pub rejections: BTreeMap<TaskId, Vec<Rejection>>,
    /// The agents.
    pub agents: AgentChoice,
    /// The command that runs the tests, when there is one.
    pub test_command: Option<TestCommand>,
    /// What is asked of RED and GREEN.
    pub rules: Rules,
    /// Paths that are never committed.
    pub never_commit: PathPatterns,
    /// Files in the user's checkout that tm itself writes.
    pub own_files: Vec<PathBuf>,
    /// This program.
    pub tm_program: PathBuf,
    /// The limit without output and without file changes.
    pub stall: Option<Duration>,
    /// The time to end after the result, or when the run stops.
    pub grace: Duration,
}

/// The setup as all steps share it.
pub(crate) type Shared = Arc<RunSetup>;
