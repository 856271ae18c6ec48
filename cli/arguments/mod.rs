//! The command line, as clap reads it. Knows names and help texts; decides nothing.

mod acp;
mod agents;
mod audit;
mod autopilot;
mod backlog;
mod doctor;
mod edits;
mod landing;
mod loops;
mod manuals;
mod mcp;
mod presets;
mod pull;
mod reports;
mod review;
mod steering;
mod tasks;
mod tdd;
mod verify;
mod waves;
mod worktrees;

pub(crate) use acp::{AcpAgentArguments, AllowArgument};
pub(crate) use agents::{Agents, CheckAgents};
pub(crate) use audit::AuditArguments;
pub(crate) use autopilot::{
    AbortArguments, AutopilotArguments, AutopilotCommand, CommitArguments, CompleteArguments,
    FinalizeArguments, PhaseArgument, StartArguments,
};
pub(crate) use backlog::{
    BacklogChoice, CheckArguments, ListArguments, NextArguments, OutputArgument,
    SetStatusArguments, ShowArguments,
};
pub(crate) use doctor::DoctorArguments;
pub(crate) use edits::{
    AddSubtask, AddTask, Dependency, EditChoice, FixDependencies, MoveTask, NewTask, RemoveTask,
    TagsArguments, TagsCommand,
};
pub(crate) use landing::LandArguments;
pub(crate) use loops::LoopArguments;
pub(crate) use manuals::{CompletionsArguments, ManArguments};
pub(crate) use mcp::{
    DetachedArguments, InstallArguments, InstallScope, McpArguments, McpClient, McpCommand,
};
pub(crate) use presets::{NewPreset, Presets};
pub(crate) use pull::PullArguments;
pub(crate) use reports::{AfterArguments, CiSystem, ReportArguments, ReportForm};
pub(crate) use review::{ReviewArguments, ReviewCommand};
pub(crate) use steering::{SkipArguments, SteeredTask, StopArguments};
pub(crate) use tasks::{TasksCheck, TasksCommand, TasksConvert, TasksFix, TasksStats};
pub(crate) use tdd::{PairArguments, TddCommand};
pub(crate) use verify::VerifyArguments;
pub(crate) use waves::{
    LogsArguments, NotificationArguments, OnInterrupted, PlanArguments, PlanChoice, PlanFormat,
    ResumeArguments, RunArguments, RunOnly, StrictnessArgument, Waves,
};
pub(crate) use worktrees::{
    MergeArguments, OpenArguments, SalvageArguments, ShowBranch, TaskOfRun, Worktrees,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Runs a backlog of programming tasks with many coding agents at once, and proves the work before it lands.
#[derive(Debug, Parser)]
#[command(
    name = "tm",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
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
    /// List the tasks of the backlog.
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Show the task to work on next.
    Next(NextArguments),
    /// Show tasks with all that the backlog says of them.
    Show(ShowArguments),
    /// Set the status of tasks: all of them, or none.
    #[command(visible_alias = "status")]
    SetStatus(SetStatusArguments),
    /// Tell all that is wrong with the dependencies of the backlog; exit code 3 when something is.
    ValidateDependencies(CheckArguments),
    /// Remove dependencies that can't be: on what is not there, on oneself, repeated, or closing a cycle.
    FixDependencies(FixDependencies),
    /// Add a task.
    AddTask(AddTask),
    /// Add a subtask to a task.
    AddSubtask(AddSubtask),
    /// Remove tasks or subtasks, and the dependencies on them.
    RemoveTask(RemoveTask),
    /// Give tasks or subtasks another id, place or tag; dependencies on them follow.
    Move(MoveTask),
    /// Make a task depend on another one.
    AddDependency(Dependency),
    /// Remove a dependency.
    RemoveDependency(Dependency),
    /// List, add, choose, remove, rename and copy tags.
    Tags(TagsArguments),
    /// Check, repair, count and convert a backlog.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// See and write pairs of a test task and its implementation.
    #[command(subcommand)]
    Tdd(TddCommand),
    /// Judge work by hand, as a run judges it.
    Verify(VerifyArguments),
    /// Do the proof of a history again, from its commits alone; exit code 3 when something can't be shown.
    Audit(AuditArguments),
    /// Review the work of a run, branch after branch in the order in which it landed.
    Review(ReviewArguments),
    /// Push the work of a run and open pull requests for it with `gh`, or print the commands that do.
    #[command(visible_alias = "pull-request")]
    Pr(PullArguments),
    /// See, open, merge and clean up the branches and worktrees of runs.
    #[command(subcommand)]
    Worktrees(Worktrees),
    /// Lead one agent through RED, GREEN and COMMIT of each subtask of a task.
    #[command(visible_alias = "ap")]
    Autopilot(AutopilotArguments),
    /// Serve tm's operations over MCP, for agents.
    Mcp(McpArguments),
    /// Run one agent after the other, each with a fresh context, until there is nothing left to do.
    Loop(Box<LoopArguments>),
    /// See and make the presets of `tm loop`.
    #[command(subcommand)]
    Presets(Presets),
    /// See the agents, how each is started, and whether it can be.
    #[command(subcommand)]
    Agents(Agents),
    /// Show settings and where each comes from.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make a small repository with a backlog and run it with recorded agents.
    Demo(Demo),
    /// Give a repository a backlog and a settings file to start from.
    Init,
    /// Check everything that a run needs, with a hint for each finding.
    Doctor(DoctorArguments),
    /// Print the completions of a shell.
    Completions(CompletionsArguments),
    /// Print the manual page, or write one for each command.
    Man(ManArguments),
    /// Write a result file: the last thing that an agent does.
    Result(ResultArguments),
    /// Apply the recorded patch of the attempt under way: the `replay` agent.
    Replay(Replay),
    /// Speak the Agent Client Protocol with a program: what recipes with `output: acp` start.
    #[command(hide = true)]
    AcpAgent(AcpAgentArguments),
    /// Carry out a run of waves that a client of `tm mcp` asked for.
    #[command(hide = true)]
    DetachedRun(DetachedArguments),
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
