//! Runs the hooks of a commit on a tree, in a checkout of exactly that tree, as the user's own commit would.
//!
//! The hooks are those that were there when the run began, or those of the tree where the configuration names a folder in
//! it. They may refuse, change the message, or stage something else: what they make is another tree, and nobody has
//! seen it yet.

use crate::files::{beginning, replace};
use crate::git::Hooks;
use crate::owned::OwnedFolder;
use crate::{Error, Repository, TreeId};
use std::path::Path;
use tm_scheduler::CommitId;

/// A message is no longer than this.
const MESSAGE_BYTES: usize = 1024 * 1024;
/// The variable by which the processes of a commit are known.
const COMMITS_IN: &str = "TM_COMMITS_IN";
/// The variable that keeps what a commit leaves behind on purpose, such as the agent that holds the key for signing,
/// from being taken for what an agent left behind.
const SPARED: &str = "TM_SPARED";

/// The hooks that may refuse or change a commit.
pub(crate) const OF_COMMIT: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

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
/// A hook refused (`CommitRefused`, with its words), or git did.
pub(crate) fn run(folder: &OwnedFolder, message: &str) -> Result<Hooked, Error> {
    let file = folder.message_file();
    replace(&file, message.as_bytes())?;
    call(folder, "pre-commit", &[])?;
    call(folder, "prepare-commit-msg", &[file.as_os_str(), "message".as_ref()])?;
    call(folder, "commit-msg", &[file.as_os_str()])?;
    let message = String::from_utf8_lossy(&beginning(&file, MESSAGE_BYTES)?).into_owned();
    Ok(Hooked { tree: folder.write_tree()?, message })
}

fn call(folder: &OwnedFolder, hook: &str, arguments: &[&std::ffi::OsStr]) -> Result<(), Error> {
    if !folder.may_have_hook(hook) {
        return Ok(());
    }
    let (name, value) = mark(folder.path());
    let git = folder.git(Hooks::Configured).variable(name, value).variable(SPARED, "1").variable("GIT_EDITOR", ":");
    let index = folder.index_file();
    let git = git.variable("GIT_INDEX_FILE", index).args(["hook", "run", "--ignore-missing", hook, "--"]);
    let answer = git.args(arguments).once().answer()?;
    if answer.code == 0 {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&answer.stdout).into_owned();
    let output = format!("{printed}{}", answer.stderr).trim().to_owned();
    let output = if output.is_empty() { format!("the hook `{hook}` refused and said nothing") } else { output };
    Err(Error::CommitRefused { output })
}

impl Repository {
    /// Makes a commit on no branch of a tree, signed where the user's commits are.
    ///
    /// # Errors
    /// Signing failed (`CommitRefused`, with its words), or git refused.
    pub fn commit_as_user(&self, tree: &TreeId, parents: &[&CommitId], message: &str) -> Result<CommitId, Error> {
        let signs = self.git().args(["config", "--type=bool", "--get", "commit.gpgsign"]).text_if_any()?;
        let mut git = self.git_on_objects().args(["commit-tree", &tree.0]).variable(SPARED, "1").once();
        if signs.as_deref() == Some("true") {
            git = git.arg("-S");
        }
        for parent in parents {
            git = git.arg("-p").commit(parent);
        }
        let answer = git.args(["-F", "-"]).input(message).answer()?;
        let commit = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        if answer.code == 0 && crate::git::is_object_id(&commit) {
            return Ok(CommitId::new(commit));
        }
        Err(Error::CommitRefused { output: answer.stderr })
    }
}
