//! Runs the hooks of a commit or a merge on a tree, in a checkout of exactly that tree, as the user's own commit would.
//!
//! The hooks are those that were there when the run began, or those of the tree where the configuration names a folder in
//! it. They may refuse, change the message, or stage something else: what they make is another tree, and nobody has
//! seen it yet. They are also looked at without running them.

use crate::files::{beginning, replace};
use crate::owned::OwnedFolder;
use crate::{Error, Repository, Result, TreeId};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A message is no longer than this.
const MESSAGE_BYTES: usize = 1024 * 1024;
/// The variable by which the processes of a commit are known.
const COMMITS_IN: &str = "TM_COMMITS_IN";
/// The variable that keeps what a commit leaves behind on purpose, such as the agent that holds the key for signing,
/// from being taken for what an agent left behind.
pub(crate) const SPARED: &str = "TM_SPARED";

/// What is made, which decides the hooks that git runs.
#[derive(Clone, Copy, Debug)]
pub enum HookedWork {
    /// A commit of one task's work.
    Commit,
    /// A merge.
    Merge,
}

impl HookedWork {
    /// Returns the hooks that may refuse or change it, in the order in which git runs them.
    pub const fn hooks(self) -> [&'static str; 3] {
        match self {
            Self::Commit => ["pre-commit", "prepare-commit-msg", "commit-msg"],
            Self::Merge => ["pre-merge-commit", "prepare-commit-msg", "commit-msg"],
        }
    }

    /// What `prepare-commit-msg` is told of where the message comes from.
    const fn source(self) -> &'static str {
        match self {
            Self::Commit => "message",
            Self::Merge => "merge",
        }
    }
}

/// What the hooks made of a commit.
#[derive(Debug)]
pub struct Hooked {
    /// The tree that is to be committed.
    pub tree: TreeId,
    /// The message.
    pub message: String,
}

/// Returns the variable, and its value, that git and the hooks have in their environment while they commit here.
pub(crate) fn mark(folder: &Path) -> (&'static str, String) {
    (COMMITS_IN, folder.display().to_string())
}

/// Runs the hooks in a folder whose index and files are the tree.
///
/// # Errors
/// A hook refused (`HookRefused`, with its words), or git did.
pub(crate) fn run(folder: &OwnedFolder, work: HookedWork, message: &str) -> Result<Hooked> {
    let file = folder.own.join("COMMIT_EDITMSG");
    replace(&file, message.as_bytes())?;
    let [checks, prepares, judges] = work.hooks();
    call(folder, checks, &[])?;
    call(
        folder,
        prepares,
        &[file.as_os_str(), work.source().as_ref()],
    )?;
    call(folder, judges, &[file.as_os_str()])?;
    let message = String::from_utf8_lossy(&beginning(&file, MESSAGE_BYTES)?).into_owned();
    Ok(Hooked {
        tree: folder.write_tree()?,
        message,
    })
}

fn call(folder: &OwnedFolder, hook: &'static str, arguments: &[&OsStr]) -> Result<()> {
    if !folder.own_git().may_have_hook(hook) {
        return Ok(());
    }
    let (name, value) = mark(&folder.path);
    let git = folder
        .git_with_hooks("hook run --ignore-missing")
        .variable(name, value)
        .variable(SPARED, "1")
        .variable("GIT_EDITOR", ":");
    let index = folder.index_file();
    let git = git.variable("GIT_INDEX_FILE", index).args([hook, "--"]);
    match git.args(arguments).once().answer()?.refusal() {
        None => Ok(()),
        Some((why, output)) => Err(Error::HookRefused { hook, why, output }),
    }
}

/// A script's first line is no longer than this.
const FIRST_LINE: u64 = 512;

/// A hook that is there.
#[derive(Clone, Debug)]
pub struct FoundHook {
    /// Its name, such as `pre-commit`.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Whether it can run.
    pub state: HookState,
}

/// Whether a hook can run.
#[derive(Clone, Debug)]
pub enum HookState {
    /// It can, as far as one sees without running it.
    Ready,
    /// It is not executable, so git leaves it out.
    NotExecutable,
    /// The program that runs it is not there.
    NoInterpreter(String),
}

impl Repository {
    /// Tells whether a commit, or a merge, may run a hook.
    pub fn may_have_hooks(&self, work: HookedWork) -> bool {
        work.hooks()
            .iter()
            .any(|hook| self.own().is_none_or(|own| own.may_have_hook(hook)))
    }

    /// Returns the hooks that commits and merges run, in the order of their names in git's own.
    ///
    /// # Errors
    /// git refused.
    pub fn hooks_of_commits(&self) -> Result<Vec<FoundHook>> {
        let folder = self
            .git_with_hooks("rev-parse --path-format=absolute --git-path hooks")
            .path()?;
        let mut names: Vec<&'static str> = HookedWork::Commit.hooks().to_vec();
        names.extend(HookedWork::Merge.hooks());
        names.sort_unstable();
        names.dedup();
        let found = names
            .into_iter()
            .map(|name| (name, folder.join(name)))
            .filter(|(_, path)| path.is_file());
        Ok(found
            .map(|(name, path)| FoundHook {
                name,
                state: self.state_of(&path),
                path,
            })
            .collect())
    }

    fn state_of(&self, path: &Path) -> HookState {
        use std::os::unix::fs::PermissionsExt as _;
        if !path
            .metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
        {
            return HookState::NotExecutable;
        }
        let beginning = tm_untrusted::read_beginning(path, FIRST_LINE).unwrap_or_default();
        let text = String::from_utf8_lossy(&beginning);
        let Some(words) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else {
            return HookState::Ready;
        };
        match self.missing_interpreter(words) {
            Some(program) => HookState::NoInterpreter(program),
            None => HookState::Ready,
        }
    }

    /// The program of a `#!` line that is not there; `env` looks for the first word that is none of its own.
    fn missing_interpreter(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let program = words.next()?;
        if !Path::new(program).is_file() {
            return Some(program.to_owned());
        }
        if !program.ends_with("/env") {
            return None;
        }
        let looked_for = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        let is_there = Path::new(looked_for).is_file() || self.environment.finds(looked_for);
        (!is_there).then(|| looked_for.to_owned())
    }
}
