//! The arguments of `tm waves`.

use super::{
    AfterArguments, JsonOutput, LandArguments, ReportArguments, RunChoice, SkipArguments,
    SteeredTask, StopArguments,
};
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Commands on waves.
#[derive(Debug, Subcommand)]
pub(crate) enum Waves {
    /// Show what a run would do, and run nothing.
    Plan(PlanArguments),
    /// Run the backlog.
    Run(Box<RunArguments>),
    /// Let a paused run go on, or take up the last run where it stopped.
    Resume(ResumeArguments),
    /// Show where a run stands.
    Status(RunChoice),
    /// Watch a run on the whole terminal, and steer it while it is live.
    Watch(RunOnly),
    /// List the runs of this repository.
    List(JsonOutput),
    /// Show the summary of a run.
    Report(ReportArguments),
    /// Show where a run stands, in the text format of Prometheus.
    Metrics(RunOnly),
    /// Merge the work of a run into the branch that you are on, after asking.
    Land(LandArguments),
    /// Show what the agent of a task printed.
    Logs(LogsArguments),
    /// Stop the live run, or one of its tasks; twice, or with --now, at once.
    Stop(StopArguments),
    /// Start nothing more in the live run until it is resumed; agents that work go on.
    Pause(JsonOutput),
    /// Give a task of the live run a fresh attempt.
    Retry(SteeredTask),
    /// Leave a task out of the live run.
    Skip(SkipArguments),
    /// Take a task of the backlog into the live run.
    Add(SteeredTask),
}

/// A run.
#[derive(Args, Debug)]
pub(crate) struct RunOnly {
    /// The run; the live or last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
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
    /// Do these tasks once more, although the history has their work.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) again: Vec<String>,
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
    /// End what it has left running, keep its work in progress, leave it as it is with all its branches, and start anew.
    Fresh,
    /// Stop with an error.
    Fail,
}

/// What is told of a run, while it goes on and when it is over.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct NotificationArguments {
    /// Log more of what tm does on stderr; twice and three times for still more. `TM_LOG` chooses more finely.
    #[arg(short = 'v', long, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// What is done when the run is over.
    #[command(flatten)]
    pub(crate) after: AfterArguments,
    /// One event a line on stdout, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm waves run`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
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
    /// Start nothing more once the agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_cost: Option<f64>,
    /// Start nothing more once the agents have reported this many tokens, read and written together.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Start no further attempt at a task once its agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_cost_per_task: Option<f64>,
    /// Start no further attempt at a task once its agents have reported this many tokens, read and written together.
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens_per_task: Option<u64>,
    /// What agents may do without asking: a mode that each of them has.
    #[arg(long, value_name = "MODE")]
    pub(crate) permissions: Option<String>,
    /// Leave every task on its own branch; nothing lands.
    #[arg(long)]
    pub(crate) no_land: bool,
    /// Start from this commit instead of HEAD, or of the last run's integration branch where that is ahead of HEAD.
    #[arg(long, value_name = "COMMIT")]
    pub(crate) base: Option<String>,
    /// Go on although the tests can't be run at the base, or something else there makes work worth nothing; the run says so.
    #[arg(long)]
    pub(crate) allow_broken_base: bool,
    /// What to do when the last run was interrupted.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_interrupted: OnInterrupted,
    /// After an unclean end, don't run the tests again of what the journal says has landed; that journal and git agree is
    /// looked at in any case.
    #[arg(long)]
    pub(crate) trust_journal: bool,
    /// Wait while another run is live.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// What is told of it.
    #[command(flatten)]
    pub(crate) notifications: NotificationArguments,
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
    /// After an unclean end, don't run the tests again of what the journal says has landed; that journal and git agree is
    /// looked at in any case.
    #[arg(long)]
    pub(crate) trust_journal: bool,
    /// What is told of it.
    #[command(flatten)]
    pub(crate) notifications: NotificationArguments,
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
