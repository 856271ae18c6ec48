//! `tm autopilot`: its arguments, and what they ask for; what is done with them is in `perform`.

mod perform;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use std::num::NonZeroU32;
use std::path::PathBuf;
use tm_app::BrokenBase;
use tm_runtime::autopilot::{
    Cleanup, CommitRequest, CompleteRequest, Error, FinalizeRequest, Force, StartRequest,
    parse_counts,
};
use tm_scheduler::TddHalf;

/// `tm autopilot`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct AutopilotArguments {
    /// Print one JSON document, also for an error.
    #[arg(long, global = true)]
    json: bool,
    /// The folder of the project, instead of the current one.
    #[arg(long, short, global = true, value_name = "DIR")]
    project_root: Option<PathBuf>,
    /// The backlog, instead of the one that is found.
    #[arg(long, global = true, value_name = "PATH")]
    backlog: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    command: AutopilotCommand,
}

/// What autopilot can be asked for.
#[derive(Subcommand)]
enum AutopilotCommand {
    /// Begin a run of a task: a branch of its own, then RED, GREEN and COMMIT of each subtask.
    Start(StartArguments),
    /// Tell what is to be done next.
    Next(RunOfAutopilot),
    /// Report how the tests went, and have the phase judged.
    Complete(CompleteArguments),
    /// Commit the subtask, set it done, go on to the next one.
    Commit(CommitArguments),
    /// Close a run of which everything is committed.
    Finalize(FinalizeArguments),
    /// Go on with a run that is paused or was cut off.
    Resume(ResumeAutopilot),
    /// Tell how a run stands.
    Status(RunOfAutopilot),
    /// Follow what happens in a run, one event a line, until it ends.
    Watch(RunOfAutopilot),
    /// Stop a run until it is resumed.
    Pause(RunOfAutopilot),
    /// Give a run up.
    Abort(AbortArguments),
    /// Print the prompt for the step under way.
    Prompt(RunOfAutopilot),
    /// Print instructions for agents, for CLAUDE.md, AGENTS.md or rules of an editor.
    Guide,
}

impl AutopilotCommand {
    /// Returns the run that is named.
    fn run(&self) -> Option<&str> {
        let run = match self {
            Self::Start(_) | Self::Guide => &None,
            Self::Next(of)
            | Self::Status(of)
            | Self::Watch(of)
            | Self::Pause(of)
            | Self::Prompt(of) => &of.run_id,
            Self::Complete(complete) => &complete.of.run_id,
            Self::Commit(commit) => &commit.of.run_id,
            Self::Finalize(finalize) => &finalize.of.run_id,
            Self::Resume(resume) if resume.run.is_some() => &resume.run,
            Self::Resume(resume) => &resume.run_id,
            Self::Abort(abort) => &abort.of.run_id,
        };
        run.as_deref()
    }
}

/// `tm autopilot start`.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each one is a flag of the command line"
)]
struct StartArguments {
    /// The task.
    task: String,
    /// The tag; the current one when not given.
    #[arg(long, short)]
    tag: Option<String>,
    /// The branch, instead of the one from `git.branch`.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Ask nothing.
    #[arg(long, visible_alias = "yes", short = 'y')]
    no_confirm: bool,
    /// Tries at GREEN before the run is paused, instead of `autopilot.max_green_attempts`.
    #[arg(long, value_name = "N")]
    max_attempts: Option<NonZeroU32>,
    /// Start over an unfinished run, which is paused, and over open dependencies.
    #[arg(long, short)]
    force: bool,
    /// Start although the tests can't be run there, so that nothing can be proven.
    #[arg(long)]
    allow_broken_base: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Go on with the unfinished run of this task where there is one.
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// Show each piece of work, and ask for what came of it.
    #[arg(long, conflicts_with = "dry_run", conflicts_with = "json")]
    interactive: bool,
}

/// `tm autopilot resume`.
#[derive(Args)]
struct ResumeAutopilot {
    /// The run; the current one when not given.
    run: Option<String>,
    /// The run, under its other name.
    #[arg(long, value_name = "RUN", conflicts_with = "run")]
    run_id: Option<String>,
    /// Show each piece of work, and ask for what came of it.
    #[arg(long, conflicts_with = "json")]
    interactive: bool,
}

/// A run to look at.
#[derive(Args)]
struct RunOfAutopilot {
    /// The run; the current one when not given.
    #[arg(long, value_name = "RUN")]
    run_id: Option<String>,
}

/// `tm autopilot complete`.
#[derive(Args)]
struct CompleteArguments {
    /// The phase; the one under way when not given.
    #[arg(ignore_case = true, value_parser = half())]
    phase: Option<TddHalf>,
    /// The subtask; the one under way when not given.
    subtask: Option<String>,
    /// The counts: `failed:3,passed:0`, or JSON.
    #[arg(long, short, value_name = "COUNTS")]
    results: Option<String>,
    /// The coverage in percent.
    #[arg(long, short, value_name = "PERCENT")]
    coverage: Option<f64>,
    /// Files that were changed; looked up when not given.
    #[arg(long, value_delimiter = ',')]
    files: Vec<String>,
    /// The run.
    #[command(flatten)]
    of: RunOfAutopilot,
}

/// A half that is reported on.
fn half() -> impl TypedValueParser<Value = TddHalf> {
    let words = [
        PossibleValue::new("red").help("Tests were written that fail"),
        PossibleValue::new("green").help("They were made to pass"),
    ];
    PossibleValuesParser::new(words)
        .map(|word| TddHalf::of(&word.to_lowercase()).expect("one of the words"))
}

/// `tm autopilot commit`.
#[derive(Args)]
struct CommitArguments {
    /// The subtask; the one under way when not given.
    subtask: Option<String>,
    /// The words of the message; trailers are added.
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Commit these files alone.
    #[arg(long, value_delimiter = ',')]
    files: Vec<String>,
    /// The run.
    #[command(flatten)]
    of: RunOfAutopilot,
}

/// `tm autopilot finalize`.
#[derive(Args)]
struct FinalizeArguments {
    /// The counts of the whole suite: `passed:30,failed:0`, or JSON.
    #[arg(long, short, value_name = "COUNTS")]
    results: Option<String>,
    /// The coverage in percent.
    #[arg(long, short, value_name = "PERCENT")]
    coverage: Option<f64>,
    /// The run.
    #[command(flatten)]
    of: RunOfAutopilot,
}

/// `tm autopilot abort`.
#[derive(Args)]
struct AbortArguments {
    /// Remove branch and state as well; the commits stay under `refs/tm/salvage/`.
    #[arg(long)]
    cleanup: bool,
    /// Ask nothing.
    #[arg(long, short, visible_alias = "no-confirm", visible_alias = "yes")]
    force: bool,
    /// The run.
    #[command(flatten)]
    of: RunOfAutopilot,
}

impl StartArguments {
    /// Returns what is asked for.
    fn request(&self) -> StartRequest {
        StartRequest {
            task: self.task.clone(),
            tag: self.tag.as_deref().map(Into::into),
            branch: self.branch.clone(),
            max_attempts: self.max_attempts.map(Into::into),
            broken: BrokenBase::allowed_if(self.allow_broken_base),
            force: if self.force { Force::Yes } else { Force::No },
        }
    }
}

impl CompleteArguments {
    /// Returns what is asked for.
    fn request(self) -> Result<CompleteRequest, Error> {
        Ok(CompleteRequest {
            phase: self.phase,
            subtask: self.subtask.as_deref().map(Into::into),
            counts: self.results.as_deref().map(parse_counts).transpose()?,
            coverage: self.coverage,
            files: self.files,
        })
    }
}

impl CommitArguments {
    /// Returns what is asked for.
    fn request(self) -> CommitRequest {
        CommitRequest {
            subtask: self.subtask.as_deref().map(Into::into),
            message: self.message,
            files: self.files,
        }
    }
}

impl FinalizeArguments {
    /// Returns what is asked for.
    fn request(self) -> Result<FinalizeRequest, Error> {
        Ok(FinalizeRequest {
            counts: self.results.as_deref().map(parse_counts).transpose()?,
            coverage: self.coverage,
        })
    }
}

impl AbortArguments {
    /// Returns what becomes of branch and state.
    const fn cleanup(&self) -> Cleanup {
        if self.cleanup {
            Cleanup::Remove
        } else {
            Cleanup::Keep
        }
    }
}
