//! Runs the hooks of a commit or a merge on a tree, in a checkout of exactly that tree, as the user's own commit would.
//!
//! The hooks are those that were there when the run began, or those of the tree where the configuration names a folder in
//! it. They may refuse, change the message, or stage something else: what they make is another tree, and nobody has
//! seen it yet.

use crate::files::{beginning, replace};
use crate::git::Hooks;
use crate::owned::OwnedFolder;
use crate::{Error, TreeId};
use std::ffi::OsStr;
use std::path::Path;

/// A message is no longer than this.
const MESSAGE_BYTES: usize = 1024 * 1024;
/// The variable by which the processes of a commit are known.
const COMMITS_IN: &str = "TM_COMMITS_IN";
/// The variable that keeps what a commit leaves behind on purpose, such as the agent that holds the key for signing,
/// from being taken for what an agent left behind.
pub(crate) const SPARED: &str = "TM_SPARED";

/// What is made, which decides the hooks that git runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
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
#[derive(Clone, Debug, Eq, PartialEq)]
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
pub(crate) fn run(folder: &OwnedFolder, work: HookedWork, message: &str) -> Result<Hooked, Error> {
    let file = folder.message_file();
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

fn call(folder: &OwnedFolder, hook: &'static str, arguments: &[&OsStr]) -> Result<(), Error> {
    if !folder.may_have_hook(hook) {
        return Ok(());
    }
    let (name, value) = mark(&folder.path);
    let git = folder
        .git(Hooks::Configured)
        .variable(name, value)
        .variable(SPARED, "1")
        .variable("GIT_EDITOR", ":");
    let index = folder.index_file();
    let git =
        git.variable("GIT_INDEX_FILE", index)
            .args(["hook", "run", "--ignore-missing", hook, "--"]);
    match git.args(arguments).once().answer()?.refusal() {
        None => Ok(()),
        Some((why, output)) => Err(Error::HookRefused { hook, why, output }),
    }
}
