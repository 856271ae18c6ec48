//! The command line, as clap reads it. Knows names and help texts; decides nothing.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Runs a backlog of programming tasks with many coding agents at once, and proves the work before it lands.
#[derive(Debug, Parser)]
#[command(name = "tm", version, about, propagate_version = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Work as if started in this folder.
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan, run and watch waves of tasks.
    #[command(subcommand)]
    Waves(Waves),
    /// See and clean up the worktrees of runs.
    #[command(subcommand)]
    Worktrees(Worktrees),
    /// Show settings and where each comes from.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make a small repository with a backlog and run it with recorded agents.
    Demo(Demo),
    /// Give a repository a backlog and a settings file to start from.
    Init,
    /// Check everything that a run needs, with a hint for each finding.
    Doctor(JsonOutput),
    /// Write a result file: the last thing that an agent does.
    Result(ResultArguments),
    /// Apply the recorded patch of the attempt under way: the `replay` agent.
    Replay(Replay),
}

/// Commands on waves.
#[derive(Debug, Subcommand)]
pub(crate) enum Waves {
    /// Show what a run would do, and run nothing.
    Plan(PlanArguments),
    /// Run the backlog.
    Run(Box<RunArguments>),
    /// Take up the last run where it stopped.
    Resume(ResumeArguments),
    /// Show where a run stands.
    Status(RunChoice),
    /// List the runs of this repository.
    List(JsonOutput),
    /// Show the summary of a run.
    Report(RunChoice),
    /// Show what the agent of a task printed.
    Logs(LogsArguments),
    /// Stop the live run; twice, or with --now, at once.
    Stop(StopArguments),
}

/// Which tasks are read, and how they are planned.
#[derive(Args, Debug, Default)]
pub(crate) struct PlanChoice {
    /// The backlog: a file, or a folder of a Claude Code task list.
    #[arg(long, value_name = "PATH")]
    pub(crate) backlog: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// Only tasks whose `metadata.task_group` is this.
    #[arg(long, value_name = "GROUP")]
    pub(crate) task_group: Option<String>,
    /// What counts as one task.
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<UnitArgument>,
    /// Only these tasks, and the open ones that they depend on.
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    pub(crate) ids: Vec<String>,
    /// Agents at the same time.
    #[arg(long, short = 'j', value_name = "N")]
    pub(crate) max_parallel: Option<NonZeroU32>,
    /// Open a wave only when the one before has settled.
    #[arg(long)]
    pub(crate) barrier: bool,
    /// Which tasks become a RED and a GREEN task.
    #[arg(long, value_name = "MODE")]
    pub(crate) tdd: Option<TddArgument>,
    /// Start all RED tasks first, whatever they depend on.
    #[arg(long)]
    pub(crate) red_early: bool,
    /// Cut the dependency with the least meaning out of each cycle, instead of refusing.
    #[arg(long)]
    pub(crate) break_cycles: bool,
}

/// `tm waves plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArguments {
    /// The choice of tasks.
    #[command(flatten)]
    pub(crate) choice: PlanChoice,
    /// The form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PlanFormat,
}

/// Forms of a plan.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
    /// For Markdown pages.
    Mermaid,
}

/// What counts as one task.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UnitArgument {
    /// A task.
    Task,
    /// A subtask.
    Subtask,
}

/// Which tasks become pairs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TddArgument {
    /// All eligible tasks.
    Auto,
    /// Those that the backlog marks.
    Explicit,
    /// None.
    Off,
}

/// How strictly RED and GREEN are judged.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StrictnessArgument {
    /// A new test that passes in RED fails the attempt.
    Strict,
    /// Some may pass, not all.
    Normal,
    /// Noted only.
    Relaxed,
}

/// What to do with a run that was interrupted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum OnInterrupted {
    /// Take it up.
    #[default]
    Resume,
    /// Leave it as it is, with all its branches, and start anew.
    Fresh,
    /// Stop with an error.
    Fail,
}

/// `tm waves run`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Args, Debug, Default)]
pub(crate) struct RunArguments {
    /// The choice of tasks.
    #[command(flatten)]
    pub(crate) choice: PlanChoice,
    /// Further attempts after the first that fails.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// The agent to use.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The command of the agent `custom`, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) agent_command: Option<String>,
    /// The model for agents that take one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The time limit of one attempt, such as `20m`.
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) strictness: Option<StrictnessArgument>,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// Leave every task on its own branch; nothing lands.
    #[arg(long)]
    pub(crate) no_land: bool,
    /// Start from this commit instead of HEAD, or of the last run's integration branch where that is ahead of HEAD.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) base: Option<String>,
    /// What to do when the last run was interrupted.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_interrupted: OnInterrupted,
    /// Wait while another run is live.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// One event a line on stdout, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm waves resume`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArguments {
    /// The run; the last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Agents at the same time, instead of as before.
    #[arg(long, short = 'j', value_name = "N")]
    pub(crate) max_parallel: Option<NonZeroU32>,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// One event a line on stdout, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A run to look at.
#[derive(Args, Debug)]
pub(crate) struct RunChoice {
    /// The run; the live or last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// For programs or for people.
#[derive(Args, Debug)]
pub(crate) struct JsonOutput {
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm waves logs`.
#[derive(Args, Debug)]
pub(crate) struct LogsArguments {
    /// The task.
    #[arg(value_name = "ID")]
    pub(crate) task: String,
    /// The attempt; the last one when not given.
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Go on until the attempt is over.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
}

/// `tm waves stop`.
#[derive(Args, Debug)]
pub(crate) struct StopArguments {
    /// Don't give agents the grace period.
    #[arg(long)]
    pub(crate) now: bool,
}

/// Commands on worktrees and branches.
#[derive(Debug, Subcommand)]
pub(crate) enum Worktrees {
    /// List the branches of a run with what became of them.
    List(RunChoice),
    /// Show what a task changed.
    Diff(TaskOfRun),
    /// Remove worktrees whose work is safe on a branch; says for each what it did and why.
    Prune(JsonOutput),
}

/// A task of a run.
#[derive(Args, Debug)]
pub(crate) struct TaskOfRun {
    /// The task.
    #[arg(value_name = "ID")]
    pub(crate) task: String,
    /// The run; the live or last one when not given.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

/// Commands on settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting with where it comes from.
    Show(JsonOutput),
    /// Print the JSON schema of the settings file.
    Schema,
}

/// `tm demo`.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The folder to make; a temporary one when not given.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Agents at the same time.
    #[arg(long, short = 'j', value_name = "N", default_value = "5")]
    pub(crate) max_parallel: NonZeroU32,
}

/// `tm result`.
#[derive(Args, Debug)]
pub(crate) struct ResultArguments {
    /// What you claim.
    #[arg(long, value_enum)]
    pub(crate) status: ClaimArgument,
    /// Tests that passed.
    #[arg(long, value_name = "N")]
    pub(crate) tests_passed: Option<u64>,
    /// Tests that failed.
    #[arg(long, value_name = "N")]
    pub(crate) tests_failed: Option<u64>,
    /// A file that you changed; may be given several times.
    #[arg(long = "file", value_name = "PATH")]
    pub(crate) files: Vec<String>,
    /// An open point; may be given several times.
    #[arg(long = "issue", value_name = "TEXT")]
    pub(crate) issues: Vec<String>,
    /// Where to write it; `$TM_RESULT_FILE` when not given.
    #[arg(long, env = "TM_RESULT_FILE", value_name = "PATH")]
    pub(crate) output: PathBuf,
}

/// What an agent claims.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ClaimArgument {
    /// Everything is there.
    Pass,
    /// The work stands, some points are open.
    Partial,
    /// The work is not done.
    Fail,
}

/// `tm replay`.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The folder of recordings, `<task>.<attempt>.patch` each.
    #[arg(long, env = "TM_REPLAY_DIR", value_name = "DIR")]
    pub(crate) recordings: PathBuf,
}
