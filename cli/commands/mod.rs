//! The commands: arguments as clap reads them, and beside them what each does. A command is its type in a file here, and
//! a row in its group.

mod agent;
mod agent_findings;
mod agents;
mod autopilot;
mod backlog;
mod budget;
mod ci;
mod configuration;
mod decisions;
mod demo;
mod doctor;
mod init;
mod inspect;
mod landing;
mod logs;
mod loop_command;
mod loops;
mod manuals;
mod mcp;
mod next_steps;
mod node;
mod notes;
mod plan;
mod presets;
mod project_findings;
mod prune;
mod review;
mod run;
mod steering;
mod tasks;
mod verify;
mod watch;
mod worktrees;

use crate::environment::ColourChoice;
use crate::failure::Result;
use agent::{AcpAgentArguments, Replay, ResultArguments};
use agents::Agents;
use autopilot::AutopilotArguments;
pub(crate) use backlog::source_of;
use backlog::{
    AddSubtask, AddTag, AddTask, Alone, CheckArguments, ClearSubtasks, CopyTag, DependencyCommand,
    EditTask, FixDependencies, Generate, ListArguments, MoveTask, NextArguments, RemoveSubtask,
    RemoveTag, RemoveTask, RenameTag, SetStatusArguments, ShowArguments, TagsArguments, TddCommand,
    UpdateSubtask, UpdateTask, UseTag,
};
use clap::Parser;
use configuration::ConfigCommand;
use demo::Demo;
use doctor::DoctorArguments;
use init::Init;
use inspect::{ListRuns, MetricsArguments, ReportArguments, StatusArguments};
use landing::{LandArguments, PullArguments};
use logs::LogsArguments;
use loop_command::LoopArguments;
use manuals::{CompletionsArguments, ManArguments};
use mcp::{DetachedArguments, McpArguments};
use node::NodeArguments;
use notes::NotesArguments;
use plan::PlanArguments;
use presets::Presets;
use prune::PruneRuns;
use review::ReviewArguments;
use run::{ResumeArguments, RunArguments};
use std::path::{Path, PathBuf};
use steering::SteeringCommand;
use tasks::TasksCommand;
use verify::{AuditArguments, VerifyArguments};
use watch::WatchArguments;
use worktrees::Worktrees;

/// What a command does with its arguments.
pub(crate) trait Perform {
    /// Carries it out in a folder and returns the exit code.
    async fn perform(self, start: &Path) -> Result;
}

/// Runs a backlog of programming tasks with many coding agents at once, and proves the work before it lands.
#[derive(Parser)]
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
    /// When colours are shown.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColourChoice,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

commands! {
    /// The commands.
    Command {
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
        /// Change what a task says, or add a note to it.
        UpdateTask(UpdateTask),
        /// Change what a subtask says, or add a note with its time: `--append`.
        UpdateSubtask(UpdateSubtask),
        /// Open a task as a form in `$VISUAL` or `$EDITOR`.
        Edit(EditTask),
        /// Remove subtasks, or make tasks of them.
        RemoveSubtask(RemoveSubtask),
        /// Remove all subtasks of tasks.
        ClearSubtasks(ClearSubtasks),
        /// Remove tasks or subtasks, and the dependencies on them.
        RemoveTask(RemoveTask),
        /// Give tasks or subtasks another id, place or tag; dependencies on them follow.
        Move(MoveTask),
        /// Write a file of text for each task, as Task Master does it.
        Generate(Generate),
        /// What a task depends on.
        #[command(flatten)]
        Dependency(DependencyCommand),
        /// List, add, choose, remove, rename and copy tags.
        Tags(TagsArguments),
        /// Add a tag: `tm tags add`.
        #[command(hide = true)]
        AddTag(Alone<AddTag>),
        /// Make a tag the current one: `tm tags use`.
        #[command(hide = true)]
        UseTag(Alone<UseTag>),
        /// Remove a tag with its tasks: `tm tags remove`.
        #[command(hide = true)]
        DeleteTag(Alone<RemoveTag>),
        /// Give a tag another name: `tm tags rename`.
        #[command(hide = true)]
        RenameTag(Alone<RenameTag>),
        /// Copy a tag with its tasks: `tm tags copy`.
        #[command(hide = true)]
        CopyTag(Alone<CopyTag>),
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
        Init(Init),
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
        /// Run a job that tm has ordered on this machine: what engines of other machines start.
        #[command(hide = true)]
        Node(NodeArguments),
        /// Carry out a run of waves that a client of `tm mcp` asked for.
        #[command(hide = true)]
        DetachedRun(DetachedArguments),
    }
}

commands! {
    /// Commands on waves.
    Waves {
        /// Show what a run would do, and run nothing.
        Plan(PlanArguments),
        /// Run the backlog.
        Run(Box<RunArguments>),
        /// Let a paused run go on, or take up the last run where it stopped.
        Resume(ResumeArguments),
        /// Show where a run stands.
        Status(StatusArguments),
        /// Watch a run on the whole terminal, and steer it while it is live.
        Watch(WatchArguments),
        /// List the runs of this repository.
        List(ListRuns),
        /// Show the summary of a run.
        Report(ReportArguments),
        /// Show where a run stands, in the text format of Prometheus.
        Metrics(MetricsArguments),
        /// Merge the work of a run into the branch that you are on, after asking.
        Land(LandArguments),
        /// Remove what is merged of runs that are over, branches, kept work, folders; says why the rest stays.
        Prune(PruneRuns),
        /// Show what the agent of a task said, what it complained about, and why its attempt failed.
        Logs(LogsArguments),
        /// Show what agents found out over all runs of a tag; edit it, forget it, or propose it for `AGENTS.md`.
        Notes(NotesArguments),
        /// What the live run can be asked for.
        #[command(flatten)]
        Steering(SteeringCommand),
    }
}
