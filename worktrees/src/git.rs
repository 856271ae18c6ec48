//! Runs the `git` program: one place for its arguments, its environment and its failures.
//!
//! Knows nothing of what the calls are for. Never uses a shell, and but for what a person is shown, never asks, never
//! reads the terminal, and runs git in a process group of its own, so that a Ctrl-C meant for tm can't cut a commit in
//! half.

mod answer;
mod bounded;
mod doubted;
mod staying;

pub(crate) use answer::{
    Answer, are_few_words, entry, exclusion, fields, is_object_id, joined, pairs, path_of,
    unexpected,
};
pub use bounded::end_gits;
pub(crate) use bounded::{LONGEST_OF_MERGE, LONGEST_OF_NETWORK, LONGEST_OF_WORK, gits_are_ending};
pub(crate) use staying::StayingGit;
pub use staying::staying_processes;

use crate::environment::UNATTENDED;
use crate::error::says_passing_trouble;
use crate::left_locks::names_left_lock;
use crate::said::without_wrapping;
use crate::{Environment, Error, OrFailedTo as _, Result, Treeish};
use answer::stumbled;
use bounded::LONGEST;
use doubted::Tried;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a call is repeated that stumbled over a worktree which somebody else was just making.
const RETRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);
/// A call that the disk or a lock of another git refused is repeated after these pauses (milliseconds), some four
/// seconds in all.
const PATIENCE: [u64; 5] = [30, 90, 270, 810, 2_430];

/// Returns the pauses after which is tried again what another git's lock refused.
pub(crate) fn patience() -> impl Iterator<Item = Duration> {
    PATIENCE.into_iter().map(Duration::from_millis)
}

/// Where a call works.
#[derive(Debug)]
pub(crate) struct GitPlace {
    /// git's own folder.
    pub(crate) git_dir: PathBuf,
    /// The top of the files; `None` for a call that needs none.
    pub(crate) work_tree: Option<PathBuf>,
    /// The index, where it is not the one in git's own folder.
    pub(crate) index: Option<PathBuf>,
}

impl GitPlace {
    /// A place without files, by git's own folder.
    pub(crate) fn of(git_dir: impl Into<PathBuf>) -> Self {
        Self {
            git_dir: git_dir.into(),
            work_tree: None,
            index: None,
        }
    }

    /// The same with the top of the files.
    pub(crate) fn with_files(self, work_tree: impl Into<PathBuf>) -> Self {
        Self {
            work_tree: Some(work_tree.into()),
            ..self
        }
    }

    /// Begins a call there that runs no hook.
    pub(crate) fn git(&self, environment: &Environment) -> Git {
        let folder = self.work_tree.as_ref().unwrap_or(&self.git_dir);
        Git::new(environment, folder).at(self)
    }
}

/// Whether the user's hooks are run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunHooks {
    /// As the user's git does.
    Yes,
    /// None is.
    No,
}

/// What a call reads from stdin.
enum Input {
    Bytes(Vec<u8>),
    File(PathBuf),
}

/// One call of git, before it is run.
pub(crate) struct Git {
    command: Command,
    folder: PathBuf,
    words: Vec<String>,
    input: Option<Input>,
    output: Option<PathBuf>,
    retries: u32,
    longest: Option<Duration>,
    /// When it has ended at the latest, however long it may take.
    until: Option<Instant>,
    most_memory: Option<u64>,
    /// The lock that nobody but this call takes.
    own_lock: Option<PathBuf>,
    refused: Option<Error>,
}

/// Settings of every call: nothing that goes on in the background, and patience with the locks of other gits, which
/// hold them for a moment (milliseconds).
///
/// Files are compared with what git knows of them by all that the system says, the time of change of the inode
/// included, which a program can't set; and nothing lets git leave a file out of sight. Parents are what commits say:
/// the file that says it again for all of them can be written by anybody.
///
/// Who takes away thousands of files and makes others has git compare each with each, for minutes: beyond so many it finds
/// renames by content and name alone. As many as `diff` took until 2021; of files of any length that is less than
/// `LONGEST_OF_MERGE`. A merge that is previewed, tested, landed and audited has to be the same one.
const SETTINGS: &str = "gc.auto=0 maintenance.auto=false core.fsmonitor=false core.commitGraph=false advice.detachedHead=false \
    core.filesRefLockTimeout=1000 core.packedRefsTimeout=2000 core.trustctime=true core.checkStat=default \
    core.ignoreStat=false core.sparseCheckout=false core.untrackedCache=false core.splitIndex=false \
    index.sparse=false index.version=2 index.threads=1 submodule.recurse=false log.showSignature=false \
    merge.renameLimit=400 diff.renameLimit=400";

/// Commands that change refs, index, worktrees or files; around each there is a point at which tests let tm die.
const CHANGING: &str = "read-tree update-ref symbolic-ref branch worktree reset clean checkout add write-tree commit commit-tree \
    merge-tree hash-object apply pack-objects index-pack unpack-objects";

impl Git {
    /// Begins a call in a folder that runs no hook.
    pub(crate) fn new(environment: &Environment, folder: &Path) -> Self {
        Self::unattended(environment, folder, RunHooks::No)
    }

    /// Begins a call in a folder that nobody follows.
    pub(crate) fn unattended(environment: &Environment, folder: &Path, hooks: RunHooks) -> Self {
        let mut git = Self::begin(environment, &UNATTENDED, folder, hooks);
        git.command.process_group(0);
        git
    }

    /// Begins a call whose output a person reads at the terminal; only `shown` runs it.
    pub(crate) fn in_terminal(environment: &Environment, folder: &Path, hooks: RunHooks) -> Self {
        Self::begin(environment, &[], folder, hooks)
    }

    fn begin(
        environment: &Environment,
        besides: &[(&str, &str)],
        folder: &Path,
        hooks: RunHooks,
    ) -> Self {
        let mut command = environment.git(besides);
        command.current_dir(folder);
        let settings = SETTINGS.split_whitespace();
        command.args(settings.flat_map(|setting| ["-c", setting]));
        if hooks == RunHooks::No {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        Self {
            command,
            folder: folder.to_owned(),
            words: Vec::new(),
            input: None,
            output: None,
            retries: RETRIES,
            // A hook of the user's takes what it takes.
            longest: (hooks == RunHooks::No).then_some(LONGEST),
            until: environment.until(),
            most_memory: None,
            own_lock: None,
            refused: None,
        }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        let word = argument.as_ref();
        self.words.push(word.to_string_lossy().into_owned());
        self.command.arg(word);
        self
    }

    /// Adds several arguments.
    pub(crate) fn args<T: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = T>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Adds the words of a line; no argument in it holds a space.
    pub(crate) fn line(self, line: &str) -> Self {
        self.args(line.split_whitespace())
    }

    /// Adds the id of a commit or a tree; a text that is no id refuses the whole call, so it can't become an option.
    pub(crate) fn commit<T: Treeish + ?Sized>(mut self, commit: &T) -> Self {
        let id = commit.to_string();
        if !is_object_id(&id) {
            self.refused = Some(Error::unknown(&id));
        }
        self.arg(id)
    }

    /// Returns a call that is not run, because of what went wrong before.
    pub(crate) fn refused(mut self, error: Error) -> Self {
        self.refused = Some(error);
        self
    }

    /// Adds a setting for this call, which is no word of it.
    pub(crate) fn setting(mut self, setting: &str) -> Self {
        self.command.args(["-c", setting]);
        self
    }

    /// Sets a variable for this call.
    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Names git's own folder, and the files, so that nothing is looked for and nothing that lies about decides.
    pub(crate) fn at(self, place: &GitPlace) -> Self {
        let parts = [
            ("GIT_DIR", Some(&place.git_dir)),
            ("GIT_WORK_TREE", place.work_tree.as_ref()),
            ("GIT_INDEX_FILE", place.index.as_ref()),
        ];
        parts
            .into_iter()
            .fold(self, |git, (name, path)| match path {
                Some(path) => git.variable(name, path),
                None => git,
            })
    }

    /// Promises that the call only reads, so git takes no lock for its own comfort.
    pub(crate) fn reading(self) -> Self {
        self.variable("GIT_OPTIONAL_LOCKS", "0")
    }

    /// Sets what the call reads from stdin.
    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(Input::Bytes(bytes.into()));
        self
    }

    /// Sets the file that the call reads from stdin: it may be more than fits into memory.
    pub(crate) fn input_from(mut self, path: PathBuf) -> Self {
        self.input = Some(Input::File(path));
        self
    }

    /// Writes what it prints into a file instead of returning it: it may be more than fits into memory.
    pub(crate) fn output_to(mut self, path: PathBuf) -> Self {
        self.output = Some(path);
        self
    }

    /// Has the call end when it takes longer than this.
    pub(crate) const fn at_most(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Says that nobody else works with an index: what stays of its lock when a call was killed is that call's.
    pub(crate) fn alone_with(mut self, index: &Path) -> Self {
        self.own_lock = Some(index.with_extension("lock"));
        self
    }

    /// Forbids repeating, for what must not be done twice.
    pub(crate) fn once(mut self) -> Self {
        self.retries = 0;
        self
    }

    /// Runs the call and returns its answer, whatever the exit code.
    pub(crate) fn answer(mut self) -> Result<Answer> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let mut stumbles = 0;
        let mut patience = patience().take(self.retries as usize);
        loop {
            let answer = self.run_once()?;
            if answer.code == 0 {
                return Ok(answer);
            }
            let pause = if stumbled(&answer.stderr) {
                stumbles += 1;
                (stumbles <= self.retries).then_some(PAUSE)
            } else if says_passing_trouble(&answer.stderr)
                && !names_left_lock(&answer.stderr, &self.folder)
            {
                patience.next()
            } else {
                None
            };
            let Some(pause) = pause else {
                return Ok(answer.doubted(|| Tried::of(&self.command, &self.folder)));
            };
            crate::pause::pause(pause);
        }
    }

    /// Runs the call with the terminal of this process as its own, a pager included.
    pub(crate) fn shown(mut self) -> Result<()> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        let status = self
            .command
            .status()
            .map_err(|source| Error::GitMissing { source })?;
        // Whoever leaves the pager early closes the pipe.
        match status.code() {
            Some(0 | 141) | None => Ok(()),
            Some(code) => Err(Error::Git {
                command: self.words.join(" "),
                message: format!("it exited with code {code}"),
            }),
        }
    }

    /// Says why a call could not be started: the folder is named instead of the program where it is what is missing.
    fn not_started(&self, source: io::Error) -> Error {
        if source.kind() == io::ErrorKind::ArgumentListTooLong {
            // Of this call, and of no other.
            return Error::Git {
                command: self.words.join(" "),
                message: source.to_string(),
            };
        }
        if self.folder.is_dir() {
            Error::GitMissing { source }
        } else {
            Error::FolderGone(self.folder.clone())
        }
    }

    fn run_once(&mut self) -> Result<Answer> {
        match &self.input {
            Some(Input::Bytes(bytes)) => self.command.stdin(file_with(bytes)?),
            Some(Input::File(path)) => self
                .command
                .stdin(File::open(path).or_failed_to("read", path)?),
            None => self.command.stdin(Stdio::null()),
        };
        if let Some(path) = &self.output {
            self.command
                .stdout(File::create(path).or_failed_to("write", path)?);
        }
        let changes = self
            .words
            .iter()
            .any(|word| CHANGING.split_whitespace().any(|changing| changing == word));
        if changes && let Err(error) = tm_faults::check("git: before") {
            // As git itself says it, so that what is made of git's words is tried as well.
            return Ok(Answer {
                code: 128,
                stdout: Vec::new(),
                stderr: format!("fatal: unable to write: {error}"),
            });
        }
        if self.output.is_none() {
            self.command.stdout(Stdio::piped());
        }
        let output = self.output_in_time()?;
        if changes {
            tm_faults::point("git: after");
        }
        Ok(Answer {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: without_wrapping(&String::from_utf8_lossy(&output.stderr)),
        })
    }
}

/// Puts bytes into a file without a name: unlike a pipe it can't fill up and block both sides.
fn file_with(bytes: &[u8]) -> Result<File> {
    let written = tempfile::tempfile().and_then(|mut file| {
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    });
    written.or_failed_to(
        "write the input of git to a temporary file in",
        std::env::temp_dir(),
    )
}
