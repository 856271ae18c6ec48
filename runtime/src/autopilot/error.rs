//! What can go wrong when autopilot is asked for something; what to do about it is for the caller to say.

use crate::preflight::BrokenTests;
use std::fmt;
use std::path::PathBuf;
use tm_scheduler::autopilot::{IllegalStep, Unstartable, Verdict};
use tm_scheduler::{CommitId, RunId, TaskId, quoted};
use tm_store::run::Holder;

/// Why a call came to nothing; texts follow "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not time for that.
    #[error(transparent)]
    Illegal(#[from] IllegalStep),
    /// The task can't be worked on.
    #[error(transparent)]
    Unstartable(#[from] Unstartable),
    /// What was reported does not allow the next step.
    #[error("complete {phase} of `{subtask}`: {}", verdict.message)]
    Refused {
        /// `RED`, `GREEN` or `the run`.
        phase: &'static str,
        /// The subtask.
        subtask: TaskId,
        /// Why, and what to do.
        verdict: Box<Verdict>,
        /// Whether the run is paused now, since no try is left.
        is_paused: bool,
        /// The next command.
        next: Option<String>,
    },
    /// There is nothing to commit.
    #[error(
        "commit `{0}`: nothing has changed since the subtask began, so neither RED nor GREEN can have happened"
    )]
    NothingChanged(TaskId),
    /// Nothing is under way in this checkout.
    #[error("find a run of autopilot in this checkout: none is under way")]
    NoRun,
    /// What is there is of a repository that was in the place of this one.
    #[error(
        "find a run of autopilot in this checkout: `{run}` is of another repository that was in this place; its files \
         stay in `{}`", folder.display()
    )]
    OfAnother {
        /// The run.
        run: RunId,
        /// Its folder.
        folder: PathBuf,
    },
    /// There is no such run.
    #[error("find the run `{0}` of autopilot in this checkout")]
    UnknownRun(RunId),
    /// Something else lies where the state of a run was, or nothing.
    #[error("use the files of the run `{run}`")]
    Unusable {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: Box<Self>,
    },
    /// Another run of this checkout is unfinished.
    #[error("start a run: `{run}` of task `{task}` is {status} in this checkout")]
    Unfinished {
        /// The run.
        run: RunId,
        /// Its task.
        task: TaskId,
        /// How far it is.
        status: &'static str,
    },
    /// Waves of agents are at work in this repository.
    #[error("{wanted}: tm is at work on this repository, {holder}")]
    WavesLive {
        /// What was wanted.
        wanted: &'static str,
        /// Who runs it.
        holder: Box<Holder>,
    },
    /// The settings don't allow it.
    #[error("start a run: `autopilot.enabled` is false")]
    Disabled,
    /// Files are not committed.
    #[error("start over uncommitted changes: {}", named(.0))]
    Unclean(Vec<PathBuf>),
    /// Files are not committed that the run does not know of.
    #[error("leave the run's branch over uncommitted changes: {}", named(.0))]
    Uncommitted(Vec<PathBuf>),
    /// The branch was there before the run.
    #[error("remove the branch `{0}`: it was there before the run")]
    NotOurs(String),
    /// Nothing tells how tests are run.
    #[error("find a test command: none is set, and the project shows none")]
    NoTestCommand,
    /// No work could be proven on what the run would start from.
    #[error("start a run: no work could be proven on this base{0}")]
    BrokenBase(BrokenTests),
    /// A file was named that commits never take.
    #[error("commit `{0}`: it is never committed")]
    NeverCommitted(String),
    /// Somebody rewrote the branch.
    #[error(
        "go on: the branch does not hold `{}` any more, which the run has committed",
        short(.0)
    )]
    Rewritten(CommitId),
    /// Something else decides than when the run began.
    #[error("go on: the run began with other values of {}", listed(.0.iter()))]
    DecidedOtherwise(Vec<String>),
    /// No note tells of its beginning: an earlier tm began the run, or it came with the checkout.
    #[error("go on with the run `{0}`: tm keeps no note of its beginning")]
    NobodysRun(RunId),
    /// The state is none that tm has written.
    #[error("go on with the run `{run}`: `{}` is not as tm left it", file.display())]
    StateOtherwise {
        /// The run.
        run: RunId,
        /// The file.
        file: PathBuf,
    },
    /// Commits are on the branch that no step took.
    #[error(
        "finalize the run: there are commits after `{}` that nobody has judged",
        short(.0)
    )]
    Unjudged(CommitId),
    /// What is to be committed is not what held.
    #[error(
        "commit `{subtask}`: this was changed since GREEN held: {}",
        listed(files.iter())
    )]
    ChangedSince {
        /// The subtask.
        subtask: TaskId,
        /// The files.
        files: Vec<String>,
    },
    /// Only a part of what held is to be committed.
    #[error("commit a part of what GREEN held with, without {}", named(.0))]
    LeftOut(Vec<PathBuf>),
    /// A report can't be read.
    #[error("`{text}` is no report of results: {why}")]
    Results {
        /// The report.
        text: String,
        /// What is wrong with it.
        why: NoCounts,
    },
    /// A report names no results.
    #[error("no results are given")]
    NoResults,
    /// The pattern of commit subjects can't be filled.
    #[error("word a commit: {0}")]
    Template(#[from] tm_scheduler::NoValue),
    /// tm could not run the tests.
    #[error("run the tests: {0}")]
    Measuring(String),
    /// The state was written by a version of tm that this one can't read.
    #[error(
        "read the run `{run}`: its state has version {found}, this tm reads version {supported}"
    )]
    Version {
        /// The run.
        run: RunId,
        /// The version in the file.
        found: u32,
        /// The version that this tm reads and writes.
        supported: u32,
    },
    /// The person at the terminal said no.
    #[error("{0}: it was not confirmed")]
    NotConfirmed(&'static str),
    /// There is no home folder.
    #[error("find your home folder")]
    NoHome,
    /// A durable file could not be read or written.
    #[error(transparent)]
    Store(#[from] tm_store::Error),
    /// The backlog could not be read or written.
    #[error(transparent)]
    Backlog(#[from] tm_store::backlog::BacklogError),
    /// git refused.
    #[error(transparent)]
    Git(#[from] tm_worktrees::Error),
    /// The template of commit messages can't be filled in.
    #[error(transparent)]
    CommitTemplate(#[from] tm_presets::Error),
    /// Settings can't be read.
    #[error(transparent)]
    Settings(#[from] tm_config::Error),
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorKind {
    /// tm, its settings or its surroundings.
    StepError,
    /// The call makes no sense.
    Usage,
    /// The work does not allow the next step.
    Refused,
    /// The task can't be worked on.
    Unstartable,
    /// Somebody else is at work.
    Busy,
}

/// Returns the first digits of a commit.
pub(super) fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or_default()
}

/// So many files are named.
const SHOWN: usize = 5;

/// Some names, and how many more there are.
pub(super) fn listed(names: impl ExactSizeIterator<Item = impl fmt::Display>) -> String {
    let more = names.len().saturating_sub(SHOWN);
    let shown = quoted(names.take(SHOWN));
    if more == 0 {
        shown
    } else {
        format!("{shown}, and {more} more")
    }
}

fn named(paths: &[PathBuf]) -> String {
    listed(paths.iter().map(|path| path.display()))
}

impl Error {
    /// Whether files are not there, or not what they have to be.
    pub(super) const fn is_of_files(&self) -> bool {
        use tm_store::Error as Store;
        matches!(
            self,
            Self::Unusable { .. }
                | Self::Store(Store::Read { .. } | Store::Write { .. } | Store::Json { .. })
        )
    }

    /// Returns the kind.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Results { .. } | Self::NoResults => ErrorKind::Usage,
            Self::Refused { .. }
            | Self::NothingChanged(_)
            | Self::ChangedSince { .. }
            | Self::LeftOut(_)
            | Self::Unjudged(_)
            | Self::DecidedOtherwise(_)
            | Self::NobodysRun(_)
            | Self::StateOtherwise { .. } => ErrorKind::Refused,
            Self::Unstartable(_) => ErrorKind::Unstartable,
            Self::Unfinished { .. }
            | Self::WavesLive { .. }
            | Self::Store(tm_store::Error::Busy { .. }) => ErrorKind::Busy,
            _ => ErrorKind::StepError,
        }
    }
}

/// What is wrong with counts.
#[derive(Debug, thiserror::Error)]
pub enum NoCounts {
    /// They are no JSON, or other JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Something is no pair.
    #[error("`{0}` is not `<name>:<number>`")]
    NoPair(String),
    /// A number is none.
    #[error("`{0}` is no number of tests")]
    NoNumber(String),
    /// A name is none.
    #[error("`{0}` is none of passed, failed, skipped, total")]
    NoName(String),
    /// A name is there twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// Nothing is said.
    #[error("it says neither how many tests passed nor how many failed")]
    Nothing,
}
