//! A checkout that is to be made ready, why it could not be, and the commands of its set-up: one after the other, as tests
//! are run, a process tree with a limit, written down while it goes on, of which nothing is left afterwards.

use super::folder::Folder;
use crate::Turn;
use itertools::Itertools as _;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tm_config::CommandLine;
use tm_executors::engine::{Executor, JobEnd};
use tm_executors::environment::{CommandEnvironment, EnvironmentRules};
use tm_executors::process::{Besides, JobKind, Stdin, TreeCommand};
use tokio::time::Instant;

/// So much of the end of what a command printed is looked at.
const TAIL_BYTES: u64 = 8 * 1024;
/// So many lines of it are shown.
const TAIL_LINES: usize = 12;

/// Keeps what is installed from setting hooks for all checkouts, the user's included.
pub(crate) const NO_HOOKS: [(&str, &str); 5] = [
    ("HUSKY", "0"),
    ("HUSKY_SKIP_INSTALL", "1"),
    ("LEFTHOOK", "0"),
    ("OVERCOMMIT_DISABLE", "1"),
    ("SKIP_INSTALL_SIMPLE_GIT_HOOKS", "1"),
];

/// What keeps installers from asking, from running the user's hooks, and from leaving bytecode that outlives the sources
/// it was made of.
const VARIABLES: [(&str, &str); 8] = [
    ("CI", "1"),
    ("SKIP_SIMPLE_GIT_HOOKS", "1"),
    ("PRE_COMMIT_ALLOW_NO_CONFIG", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Where and how commands are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandPlace<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) limit: Duration,
    pub(crate) environment: &'a EnvironmentRules,
    pub(crate) executor: &'a Executor,
    pub(crate) variables: &'a [(OsString, OsString)],
    /// What the commands are given besides.
    pub(crate) besides: &'a Besides,
}

impl CommandPlace<'_> {
    /// Runs the commands until one fails.
    pub(crate) async fn run_all(self, commands: &[CommandLine]) -> Result<(), Error> {
        self.executor.end_abandoned().await?;
        // What an earlier, interrupted set-up printed is no part of this one.
        match std::fs::remove_file(self.log) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(Error::file("remove", self.log))?,
        }
        let deadline = Instant::now() + self.limit;
        for command in commands {
            if let Some(failed) = self.run(command, deadline).await? {
                return Err(failed.into());
            }
        }
        Ok(())
    }

    /// Runs one command; returns how it failed.
    async fn run(
        self,
        line: &CommandLine,
        deadline: Instant,
    ) -> Result<Option<SetupFailed>, Error> {
        let temporary = self.executor.temporary_folder();
        let environment = CommandEnvironment::fresh_in(&temporary, self.environment)
            .map_err(Error::file("make an environment for", self.folder))?;
        let command = self.tree_command(line, &environment);
        let end = match self.executor.run(&command, deadline - Instant::now()).await {
            Ok(Some(JobEnd::Exited(0))) => return Ok(None),
            Ok(None) => SetupEnd::TimedOut(self.limit),
            Ok(Some(JobEnd::Exited(code))) => SetupEnd::Exited(code),
            Ok(Some(JobEnd::Killed | JobEnd::TimedOut | JobEnd::Unknown)) => SetupEnd::Killed,
            Err(error @ tm_executors::Error::Start { .. }) => {
                SetupEnd::NotStarted(error.with_causes())
            }
            Err(error) => return Err(error.into()),
        };
        let mut last_lines = last_lines(self.log).unwrap_or_default();
        last_lines.extend(self.executor.refused(&command, ""));
        Ok(Some(SetupFailed {
            command: describe(line),
            end,
            last_lines,
            log: self.log.to_owned(),
        }))
    }

    fn tree_command(self, command: &CommandLine, environment: &CommandEnvironment) -> TreeCommand {
        let mut arguments = command.arguments().into_iter().map(OsString::from);
        let own = NO_HOOKS.into_iter().chain(VARIABLES);
        TreeCommand {
            program: arguments.next().unwrap_or_default(),
            arguments: arguments.collect(),
            working_folder: self.folder.to_owned(),
            inherited: environment.inherited(),
            environment: environment
                .variables()
                .into_iter()
                .chain(own.map(|(name, value)| (name.into(), value.into())))
                .chain(self.variables.iter().cloned())
                .collect(),
            stdin: Stdin::Closed,
            stdout: self.log.to_owned(),
            stderr: self.log.to_owned(),
            env_markers: vec![("TM_SETUP_LOG".to_owned(), self.log.display().to_string())],
            needs: Some(environment.needs(JobKind::Setup, self.besides.clone())),
            ..TreeCommand::default()
        }
    }
}

/// The command as people know it.
fn describe(command: &CommandLine) -> String {
    match command {
        CommandLine::Shell(line) => line.clone(),
        CommandLine::Arguments(words) => words.join(" "),
    }
}

fn last_lines(log: &Path) -> io::Result<Vec<String>> {
    let end = tm_untrusted::read_end(log, TAIL_BYTES)?;
    let text = tm_untrusted::clean(&String::from_utf8_lossy(&end));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.tail(TAIL_LINES).map(str::to_owned).collect())
}

/// Who works in a checkout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// An agent: it finds links where the settings say so.
    Agent,
    /// tm, which judges: everything is a copy.
    Judge,
}

/// Whose tree is checked out when a checkout is made ready.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TreeOf {
    /// The user's: the one that the run began with.
    User,
    /// Agents wrote it, or a part of it.
    Agents,
}

/// Lists what in a checkout is in no commit, ignored or not, from its root; a folder of which nothing is tracked is one
/// path.
pub type Untracked = Arc<dyn Fn() -> Result<Vec<PathBuf>, tm_worktrees::Error> + Send + Sync>;

/// A checkout of tm's own that is to be made ready. Everything in it that is untracked is tm's to throw away.
#[derive(Clone)]
pub struct PreparedPlace {
    /// Its root.
    pub folder: PathBuf,
    /// Who works there.
    pub role: Role,
    /// The file for what the commands print.
    pub log: PathBuf,
    /// What is untracked there.
    pub untracked: Untracked,
    /// Variables of the place, for the commands.
    pub variables: Vec<(OsString, OsString)>,
    /// When it is the turn of the commands.
    pub turn: Turn,
    /// Where what set-ups of agents' trees write to the caches of tools is kept, for who works there.
    pub layers: PathBuf,
}

impl PreparedPlace {
    pub(super) fn open(&self) -> Result<Folder, Error> {
        Folder::open(&self.folder).map_err(self.failed_to("open"))
    }

    /// Returns the folder in which the checkout lies.
    pub(super) fn beside(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Wraps what the system says about it.
    pub(super) fn failed_to(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        Error::file(action, &self.folder)
    }
}

impl fmt::Debug for PreparedPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PreparedPlace")
            .field("folder", &self.folder)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Why a worktree could not be made ready; the texts follow "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command of the set-up failed: the fault of nobody's work.
    #[error(transparent)]
    Setup(#[from] SetupFailed),
    /// A file or folder can't be read or changed.
    #[error("{action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copies that were made when the run began are not what they were.
    #[error(
        "use the copies of ignored files in `{}`: `{}` was changed since the run began, so they prove nothing any more; \
         start a new run",
        folder.display(),
        changed.display()
    )]
    CopiesChanged {
        /// Where the copies are.
        folder: PathBuf,
        /// What was changed.
        changed: PathBuf,
    },
    /// A pattern can't be read, or git refused.
    #[error(transparent)]
    Git(#[from] tm_worktrees::Error),
    /// A program could not be written down or watched.
    #[error(transparent)]
    Process(#[from] tm_executors::Error),
    /// What was copied could not be written down or read.
    #[error(transparent)]
    Store(#[from] tm_store::Error),
    /// git or the disk refused, or tm itself broke off.
    #[error("make a worktree ready: {why}")]
    BrokenOff {
        /// What happened.
        why: String,
    },
}

/// A command that is to make a worktree ready, or to clear up after it, and failed.
#[derive(Debug, thiserror::Error)]
#[error("set up a worktree: `{command}` {end}; all it printed is in `{}`{}", log.display(), quoted(last_lines))]
pub struct SetupFailed {
    /// The command.
    pub command: String,
    /// How it ended.
    pub end: SetupEnd,
    /// The last lines that it printed.
    pub last_lines: Vec<String>,
    /// The file with all that it printed.
    pub log: PathBuf,
}

/// How a command ended.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub enum SetupEnd {
    /// With this exit code.
    #[error("exited with code {0}")]
    Exited(i32),
    /// By a signal.
    #[error("was killed by a signal")]
    Killed,
    /// It was ended when the time for all commands was over.
    #[error("was ended after {} seconds, which is `worktree.setup_timeout`", .0.as_secs())]
    TimedOut(Duration),
    /// It could not be started.
    #[error("could not be started: {0}")]
    NotStarted(String),
}

impl Error {
    /// Wraps what the system says about a file.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

fn quoted(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n  ", line]).collect()
}
