//! What the git commands of an agent worked on, as git itself writes it down (trace2).
//!
//! That tells a commit of an agent's in the user's checkout from one of the user's. It knows nothing of files that were
//! written without git, and of commands that were started without their variables.

use crate::{Repository, Result};
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tm_untrusted::entries;

/// The commands that change the checkout which they work in.
const CHANGING: [&str; 20] = [
    "add",
    "am",
    "apply",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "clean",
    "commit",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "update-index",
];
/// The commands that can move a branch from anywhere, and what has them do it: letters of options, or words; nothing where
/// they always do.
const MOVING: [(&str, &str, &[&str]); 6] = [
    ("branch", "fdDmMC", &["--force", "--delete", "--move"]),
    ("checkout", "B", &[]),
    ("fetch", "", &["."]),
    ("push", "", &["."]),
    ("switch", "C", &["--force-create"]),
    ("update-ref", "", &[]),
];
/// git writes down no more commands than these in one folder.
const MOST_COMMANDS: usize = 2000;
/// What is looked for stands at the beginning.
const MOST_BYTES: u64 = 64 * 1024;

/// A folder in which git writes down the commands of an agent; dropping this removes it, so that a process which dies
/// leaves it to whoever takes the agent over.
#[derive(Debug)]
pub struct TracedCommands(PathBuf);

/// A line of what git writes; all others have none of these.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    argv: Vec<String>,
    worktree: Option<PathBuf>,
    name: Option<String>,
    event: String,
}

impl TracedCommands {
    /// Takes a folder, which need not be there.
    pub const fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Makes the folder, and returns the variables by which git writes there.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn begin(&self) -> std::io::Result<[(OsString, OsString); 3]> {
        std::fs::create_dir_all(&self.0)?;
        Ok([
            ("GIT_TRACE2_EVENT".into(), self.0.clone().into()),
            ("GIT_TRACE2_EVENT_BRIEF".into(), "1".into()),
            (
                "GIT_TRACE2_MAX_FILES".into(),
                MOST_COMMANDS.to_string().into(),
            ),
        ])
    }

    /// Returns a command that changes the user's checkout or moves the default branch, if there is one.
    ///
    /// # Errors
    /// git refused.
    pub fn on_the_users(&self, repository: &Repository) -> Result<Option<String>> {
        let default = repository.default_branch()?.unwrap_or_default();
        // git names it by its real path.
        let checkout = repository.checkout_root();
        let checkout = checkout
            .canonicalize()
            .unwrap_or_else(|_| checkout.to_owned());
        let mut files = entries(&self.0).take(2 * MOST_COMMANDS);
        Ok(files.find_map(|file| {
            let text = tm_untrusted::read_beginning(&file.path(), MOST_BYTES).ok()?;
            changing(&String::from_utf8_lossy(&text), &checkout, &default)
        }))
    }
}

impl Drop for TracedCommands {
    fn drop(&mut self) {
        // What stays goes with the run's folder.
        let _stays = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the command of a trace, if it changes this checkout or moves this branch.
fn changing(trace: &str, checkout: &Path, branch: &str) -> Option<String> {
    let (mut argv, mut is_there, mut name) = (Vec::new(), false, String::new());
    for line in trace.lines() {
        let line: Line = serde_json::from_str(line).unwrap_or_default();
        match line.event.as_str() {
            "start" => argv = line.argv,
            "def_repo" => is_there |= line.worktree.as_deref() == Some(checkout),
            "cmd_name" => name = line.name.unwrap_or_default(),
            _ => {}
        }
    }
    let changes_it = moves(&name, &argv, branch) || (is_there && CHANGING.contains(&name.as_str()));
    changes_it.then(|| argv.join(" "))
}

/// Whether a command may move a branch, wherever it works.
fn moves(name: &str, argv: &[String], branch: &str) -> bool {
    let Some((_, letters, words)) = MOVING.iter().find(|(command, ..)| *command == name) else {
        return false;
    };
    let arguments: Vec<&str> = argv.iter().map(String::as_str).collect();
    // What stands before is git's own.
    let from = arguments.iter().position(|word| *word == name);
    let arguments = arguments
        .get(from.map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    let is_told = |word: &&str| {
        let option = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        words.contains(word)
            || option.is_some_and(|option| option.contains(|of| letters.contains(of)))
    };
    let names_it = |word: &&str| {
        let to = word.rsplit(':').next().unwrap_or_default();
        let to = to.trim_start_matches('+').trim_start_matches("refs/");
        to.strip_prefix("heads/").unwrap_or(to) == branch
    };
    let does_always = letters.is_empty() && words.is_empty();
    let may_move = does_always || arguments.iter().any(is_told);
    // What git reads then is not written down.
    may_move && (arguments.iter().any(names_it) || arguments.contains(&"--stdin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_counts_where_it_works_in_the_checkout_or_moves_the_branch() {
        let trace = |argv: &str, worktree: &str, name: &str| {
            let argv: Vec<&str> = argv.split(' ').collect();
            [
                serde_json::json!({"event": "version"}).to_string(),
                serde_json::json!({"event": "start", "argv": argv}).to_string(),
                serde_json::json!({"event": "def_repo", "repo": 1, "worktree": worktree})
                    .to_string(),
                serde_json::json!({"event": "cmd_name", "name": name}).to_string(),
                "{\"event\":\"half".to_owned(),
            ]
            .join("\n")
        };
        for (argv, worktree, name, counts) in [
            ("git -C /user commit -m x", "/user", "commit", true),
            ("git -C /user log", "/user", "log", false),
            ("git commit -m x", "/own", "commit", false),
            ("git rebase main", "/own", "rebase", false),
            (
                "git update-ref refs/heads/main a",
                "/own",
                "update-ref",
                true,
            ),
            (
                "git update-ref refs/heads/mine a",
                "/own",
                "update-ref",
                false,
            ),
            ("git update-ref --stdin", "/own", "update-ref", true),
            ("git branch -f main HEAD", "/own", "branch", true),
            ("git branch -qf main", "/own", "branch", true),
            ("git branch --force mine main~1", "/own", "branch", false),
            ("git -f branch main", "/own", "branch", false),
            ("git branch --list main", "/own", "branch", false),
            ("git push . +HEAD:main", "/own", "push", true),
            ("git push . HEAD:refs/heads/main", "/own", "push", true),
            ("git push origin HEAD:main", "/own", "push", false),
            ("git push . HEAD:mine", "/own", "push", false),
            ("git fetch . HEAD:main", "/own", "fetch", true),
            ("git checkout -B main", "/own", "checkout", true),
            ("git -C /own checkout main", "/own", "checkout", false),
            ("git switch -C main HEAD", "/own", "switch", true),
            ("git -C /own switch main", "/own", "switch", false),
        ] {
            let found = changing(&trace(argv, worktree, name), Path::new("/user"), "main");
            assert_eq!(found.as_deref(), counts.then_some(argv), "{argv}");
        }
    }
}
