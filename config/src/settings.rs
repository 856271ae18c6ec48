//! Every setting as a typed value: the one list of what can be configured.
//!
//! Names, types and documentation of `tm config schema` come from here; defaults come from `default.yaml` alone.

use crate::agent::{Agent, AgentRecipe};
use crate::breaker::Breaker;
use crate::command::{CommandLine, Commands};
use crate::duration;
use crate::engines::{RunsOn, Slurm};
use crate::kubernetes::Kubernetes;
use crate::sandbox::{Sandbox, Secret};
use crate::scalar::{self, CoverageThreshold};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;
use tm_scheduler::verdict::{Canary, Strictness};
use tm_scheduler::{Bring, Dispatch, Landing, Overlap, ResultFormat, TddMode, TestHome, Unit};

/// Makes sections: maps that are read, written and described in the schema, and in which every other name is a mistake.
macro_rules! sections {
    ($($(#[$about:meta])* pub struct $name:ident $fields:tt)*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name $fields
    )*};
}

/// Makes settings that are one of a few words.
macro_rules! choices {
    ($($(#[$about:meta])* pub enum $name:ident $words:tt)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum $name $words
    )*};
}

sections! {
    /// Everything that can be configured.
    pub struct Settings {
        /// How many tasks run at once, and when each may start.
        pub waves: Waves,
        /// How tests are paired with implementations, and how strictly the pairs are judged.
        pub tdd: Tdd,
        /// How tm runs the project's tests.
        pub test: Test,
        /// How a worktree is made ready before it is used.
        pub worktree: Worktree,
        /// Which agents work, and within which limits.
        pub agent: Agent,
        /// Agents of your own, and changes to the built-in ones, by name.
        pub agents: BTreeMap<String, AgentRecipe>,
        /// Checks beside the tests, in the order in which they are run.
        pub gates: Vec<Gate>,
        /// What tm names, commits and lands.
        pub git: Git,
        /// How agents, set-ups and tests are held to what is theirs.
        pub sandbox: Sandbox,
        /// Variables whose values commands tell, by name.
        pub secrets: BTreeMap<String, Secret>,
        /// What jobs ask Slurm for, where they run there.
        pub slurm: Slurm,
        /// What jobs ask Kubernetes for, where they run there.
        pub kubernetes: Kubernetes,
        /// Where run directories and worktrees are kept.
        pub storage: Storage,
        /// The loop in which one agent works through the subtasks of one task.
        pub autopilot: Autopilot,
        /// Settings files of other programs that are read too.
        pub compat: Compat,
    }

    /// How many tasks run at once, and when each may start.
    pub struct Waves {
        /// Agents at the same time.
        pub max_parallel: NonZeroU32,
        /// Where set-ups, agents and tests of runs run.
        pub on: RunsOn,
        /// Further attempts at a task after the first that fails.
        pub retries: u32,
        /// When a task may start.
        pub dispatch: Dispatch,
        /// What one agent is given at a time.
        pub unit: Unit,
        /// So many conflicts of a task with what has landed are not charged.
        pub conflict_rounds: u32,
        /// Whether tasks that will touch the same files work side by side.
        pub overlap: Overlap,
        /// How long after its start the run starts nothing more; without one it goes on to the end.
        #[serde(with = "duration::OptionalPositive")]
        pub deadline: Option<Duration>,
        /// How long what is merged of a run is kept; the end of each run removes what is older. Without it all is kept.
        #[serde(with = "duration::OptionalAny")]
        pub keep: Option<Duration>,
        /// After so many tasks, or attempts, in a row that end alike nothing more is started: a map of both, or `off`.
        pub breaker: Breaker,
    }

    /// How tests are paired with implementations, and how strictly the pairs are judged.
    pub struct Tdd {
        /// Which tasks become a RED and a GREEN task.
        pub mode: TddMode,
        /// What follows from RED tests that pass, or that GREEN changed.
        pub strictness: Strictness,
        /// The coverage in percent below which GREEN fails, when there is a coverage report.
        pub coverage_threshold: Option<CoverageThreshold>,
        /// Whether GREEN is followed by a commit that tidies up and changes no test.
        pub refactor: bool,
        /// Whether RED tasks depend on nothing and go first, all of them.
        pub red_early: bool,
        /// Whether RED's tests are changed so that they can't pass, to see whether the results tell of it.
        pub canary: Canary,
    }

    /// How tm runs the project's tests.
    pub struct Test {
        /// The command: a text for `sh`, or a list; without one it is found by looking at the project.
        pub command: Option<CommandLine>,
        /// How its results are written.
        pub format: ResultFormat,
        /// How long one run of the tests may take.
        #[serde(with = "duration::Positive")]
        pub timeout: Duration,
        /// So many set-ups and runs of tests at the same time; without it one a processor.
        pub parallel: Option<NonZeroU32>,
        /// The file that the command writes its results to, from the worktree; without one its output is read.
        pub results: Option<String>,
        /// Variables for the command besides those of tm's list; without a value, the one that tm was started with.
        pub env: BTreeMap<String, Option<scalar::Text>>,
        /// Whose home folder and variables the command has.
        pub home: TestHome,
        /// Parts of the project with a test command of their own; `command` is for what lies in none of them.
        pub parts: Vec<TestPart>,
    }

    /// A part of the project that has a test command of its own.
    pub struct TestPart {
        /// The files that belong to it, as patterns of `.gitignore` from the top of the project.
        pub paths: Vec<String>,
        /// The command, run at the top of the project, for work that touches any of them.
        pub command: CommandLine,
    }

    /// How a worktree is made ready before it is used.
    pub struct Worktree {
        /// The commands that are run in each new worktree before its first use.
        pub setup: Option<Commands>,
        /// The files with which a changed tree has them run again, as patterns of `.gitignore`.
        pub setup_when: Vec<String>,
        /// How long all of them may take together.
        #[serde(with = "duration::Positive")]
        pub setup_timeout: Duration,
        /// The commands that are run before a worktree is removed.
        pub teardown: Option<Commands>,
        /// Ignored paths of the checkout that each worktree gets a copy of, as patterns of `.gitignore`.
        pub copy: Vec<String>,
        /// Ignored paths of the checkout that the worktrees of agents get as symbolic links, and all others as copies.
        pub link: Vec<String>,
        /// Ignored paths that stay in a worktree from one task to the next, whoever wrote there.
        pub cache: Vec<String>,
        /// Whether submodules are brought into worktrees.
        pub submodules: Bring,
        /// Whether files that Git LFS keeps are.
        pub lfs: Bring,
    }

    /// What tm names, commits and lands.
    pub struct Git {
        /// The name of a task's branch, from `{tag}`, `{id}` and `{slug}`.
        pub branch: String,
        /// The name of the integration branch, from `{tag}` and `{run}`.
        pub integration: String,
        /// Whether proven work is merged into the integration branch.
        pub land: Landing,
        /// So much proven work is tested at once before it lands, within `test.parallel`; without it as much as that.
        pub land_batch: Option<NonZeroU32>,
        /// Where the statuses of what has landed are committed.
        pub commit_backlog: CommitBacklog,
        /// Paths that are never committed, as patterns of `.gitignore`.
        pub never_commit: Vec<String>,
        /// The message of tm's commits, without its trailers; without one tm's own wording.
        pub commit_template: Option<String>,
        /// Whether the commits that an agent made itself are kept as the history of the task's commit.
        pub keep_agent_commits: bool,
        /// For which of tm's commits the hooks of the repository are run.
        pub hooks: CommitHooks,
        /// The program that merges files whose lines conflict: `mergiraf`, `weave`, or a command with `%O %A %B %P`.
        pub merge_driver: Option<String>,
        /// The commands that make lock files in conflict again, by the name of the file; `null` leaves one alone.
        pub lock_files: BTreeMap<String, Option<String>>,
        /// What follows when the checkout of the user changed while an agent worked.
        pub escape: Escape,
        /// Where it is stated what was proven of a task that landed.
        pub attest: Attest,
    }

    /// Where run directories and worktrees are kept.
    pub struct Storage {
        /// Whether they are kept outside the project.
        pub location: StorageLocation,
        /// The folder for `global`, when `TM_HOME` is not set; without one `~/.taskmaster`.
        pub base_path: Option<String>,
    }

    /// The loop in which one agent works through the subtasks of one task.
    pub struct Autopilot {
        /// Whether it may be started in this project.
        pub enabled: bool,
        /// Whether it refuses to start over uncommitted changes.
        pub require_clean_working_tree: bool,
        /// Tries at GREEN before the subtask has failed.
        pub max_green_attempts: NonZeroU32,
        /// Whose test results count.
        pub verify: Verify,
        /// The subject of its commits, from `{type}`, `{scope}`, `{msg}` and `{taskId}`.
        pub commit_template: String,
        /// The `{type}` of its commits.
        pub default_commit_type: String,
    }

    /// Settings files of other programs that are read too.
    pub struct Compat {
        /// Whether the front matter of `.claude/agent-alchemy.local.md` counts.
        pub agent_alchemy: bool,
    }

    /// A check beside the tests: a command, or another agent that reads the work.
    pub struct Gate {
        /// Its name, in reports and in names of files.
        pub name: String,
        /// The command; without one an agent judges.
        pub command: Option<CommandLine>,
        /// The agent that judges, by its name.
        pub agent: Option<String>,
        /// What the agent is told besides what every reviewer is told.
        pub prompt: Option<String>,
        /// What it is asked for; without any, all but RED, and for an agent all but RED and landing.
        #[serde(default)]
        pub phases: Vec<GatePhase>,
        /// Whether a finding that was there before does not count.
        #[serde(default = "yes")]
        pub new_only: bool,
        /// The file that the command writes its findings to, from the worktree: SARIF or checkstyle.
        pub results: Option<String>,
        /// Which of the lines that the command prints are findings, as a regular expression; without one, each is.
        pub lines: Option<String>,
        /// How long one run may take; without it ten minutes.
        #[serde(default, with = "duration::OptionalPositive")]
        pub timeout: Option<Duration>,
        /// The tokens, read and written, after which the agent is ended.
        pub max_tokens: Option<u64>,
    }
}

choices! {
    /// For which of tm's commits the hooks of the repository are run.
    pub enum CommitHooks {
        /// For all of them.
        On,
        /// For all but those of a RED, whose tests fail.
        Commit,
        /// For none.
        Off,
    }

    /// Where it is stated what was proven of a task that landed.
    pub enum Attest {
        /// Nowhere.
        Off,
        /// In a file in the run's folder.
        File,
        /// There, and in a git note beside the merge.
        Notes,
    }

    /// Where the statuses of what has landed are committed.
    pub enum CommitBacklog {
        /// Nowhere.
        Off,
        /// Where the user has the work landed, and in the pull request of a run.
        Land,
        /// At the end of each run, too.
        Each,
    }

    /// What follows when the checkout of the user changed while an agent worked.
    pub enum Escape {
        /// The attempt fails where git itself tells that it was the agent, or where git's settings changed; else a warning.
        Traced,
        /// The attempt fails, whoever it was.
        Fail,
        /// A warning, whoever it was.
        Warn,
    }

    /// Whether run directories and worktrees are kept outside the project.
    pub enum StorageLocation {
        /// In one folder for all projects of the user.
        Global,
        /// In `.taskmaster/` of the project.
        Project,
    }

    /// Whose test results count.
    pub enum Verify {
        /// The agent's, held against what is there.
        Reported,
        /// Those of a run of the tests by tm.
        Run,
    }

    /// What a gate is asked for.
    pub enum GatePhase {
        /// Tests that fail.
        Red,
        /// What makes them pass.
        Green,
        /// What tidies up afterwards.
        Refactor,
        /// Tasks outside of pairs.
        Other,
        /// The merged tree.
        Landing,
    }
}

const fn yes() -> bool {
    true
}

impl Gate {
    /// Tells whether it is asked for this.
    pub fn is_asked_for(&self, phase: GatePhase) -> bool {
        match (self.phases.as_slice(), self.agent.is_some()) {
            ([], false) => phase != GatePhase::Red,
            ([], true) => matches!(phase, GatePhase::Green | GatePhase::Other),
            (phases, _) => phases.contains(&phase),
        }
    }

    /// Returns how long one run may take.
    pub fn limit(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_mins(10))
    }
}
