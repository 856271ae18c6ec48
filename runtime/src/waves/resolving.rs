//! Puts proven work together with what has landed where merging lines alone does not: one way after the other, and what
//! comes of each is proven by whoever asked.
//!
//! In these ways no agent is asked (`Mending` is for the attempt that one makes), and nothing lands by its own word. The
//! merge program that the user named, and package managers for their lock files, run as tests do, in an environment that is
//! built; what they leave is taken only where they were to write.

use super::steps::StepContext;
use crate::checkouts::preparation::{self, CommandPlace};
use crate::conventional::file_name;
use crate::holding::git_of;
use crate::{StepError, briefly, describe};
use std::io;
use std::path::Path;
use tm_config::CommandLine;
use tm_scheduler::first_files;
use tm_scheduler::merging::{Resolution, lock_file};
use tm_worktrees::{Conflict, ConflictedText, MergedFile, TreeId};

/// A way to deal with a conflict; lock files are made again in each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rung {
    /// What both sides only added is taken from both.
    Union,
    /// The merge program that the user named does it.
    Driver,
}

impl Rung {
    /// Every one, in the order in which they are tried.
    pub(crate) const ALL: [Self; 2] = [Self::Union, Self::Driver];

    /// What was done, in words.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Union => "with the added lines of both",
            Self::Driver => "merged by `git.merge_driver`",
        }
    }
}

/// Why a rung that was tried gave no tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotResolved {
    /// The user's program failed.
    #[error("`git.merge_driver` did not merge `{path}`: {why}")]
    NotMerged { path: String, why: String },
    /// What the user's program left is no file.
    #[error("what `git.merge_driver` left can't be read: {0}")]
    Unreadable(io::Error),
    /// The user's program left marks.
    #[error("`git.merge_driver` left a conflict in `{0}`")]
    StillMarked(String),
    /// The settings have a lock file left as it is.
    #[error("`git.lock_files` leaves `{0}` alone")]
    LeftAlone(String),
    /// The command for a lock file failed.
    #[error("`{path}` could not be made again: {why}")]
    NotMadeAgain { path: String, why: String },
    /// The command for a lock file wrote elsewhere, too.
    #[error("making lock files again changed other files, too: {}", first_files(.0))]
    ChangedMore(Vec<String>),
    /// The step itself could not be done: nothing is known of the conflict.
    #[error("{0}")]
    Undone(StepError),
}

impl From<StepError> for NotResolved {
    fn from(trouble: StepError) -> Self {
        Self::Undone(trouble)
    }
}

/// Tries one rung on a conflict; returns a tree, which nobody has tested yet, and `None` where it is none for this one.
pub(crate) async fn climb(
    context: &StepContext,
    conflict: &Conflict,
    rung: Rung,
) -> Result<Option<(TreeId, Resolution)>, NotResolved> {
    let Some(texts) = &conflict.texts else {
        return Ok(None);
    };
    let driver = context.setup.settings.git.merge_driver.as_deref();
    let (locks, others): (Vec<&ConflictedText>, Vec<&ConflictedText>) = texts
        .iter()
        .partition(|of| is_lock(context, &of.path.to_string_lossy()));
    if rung == Rung::Driver && others.is_empty() {
        return Ok(None);
    }
    let repository = context.repository();
    let mut merged = Vec::new();
    for of in others {
        let content = match (rung, driver) {
            (Rung::Union, _) => briefly(|| repository.united_text(of))?,
            (Rung::Driver, Some(driver)) => Some(driven(context, of, driver).await?),
            (Rung::Driver, None) => None,
        };
        let Some(content) = content else {
            return Ok(None);
        };
        merged.push(MergedFile { of, content });
    }
    // The merged tree with these files settled, and lock files as they have landed.
    let tree = briefly(|| {
        let tree = repository.with_merged(&conflict.marked, &merged)?;
        repository.with_ours(&tree, &locks)
    })?;
    let how = match rung {
        Rung::Driver => Resolution::Driver,
        Rung::Union if locks.is_empty() => Resolution::Union,
        Rung::Union => Resolution::LockFile,
    };
    if locks.is_empty() {
        return Ok(Some((tree, how)));
    }
    let locked = locked_again(context, &tree, &conflict.files, &locks).await?;
    Ok(Some((locked, how)))
}

/// Whether a path is a lock file, by the settings or the table of known ones.
fn is_lock(context: &StepContext, path: &str) -> bool {
    let named = &context.setup.settings.git.lock_files;
    named.contains_key(file_name(path)) || lock_file(path).is_some()
}

/// Returns the command that makes a lock file again; `None` where it is left alone.
fn lock_command(context: &StepContext, path: &str) -> Option<String> {
    match context.setup.settings.git.lock_files.get(file_name(path)) {
        Some(own) => own.clone(),
        None => lock_file(path).map(ToOwned::to_owned),
    }
}

/// So much of a merged file is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How long the markers of conflicts are that the program may write.
const MARKER_SIZE: &str = "7";

/// How programs that are known by name are called.
const KNOWN: [(&str, &str); 2] = [
    ("mergiraf", "mergiraf merge --git %O %A %B -p %P -l %L"),
    ("weave", "weave-driver %O %A %B %L %P"),
];

/// Has a file merged by the user's program.
async fn driven(
    context: &StepContext,
    of: &ConflictedText,
    driver: &str,
) -> Result<Vec<u8>, NotResolved> {
    let (repository, path) = (context.repository(), of.path.display().to_string());
    let files = briefly(|| repository.version_files(of))?;
    let command = command_line(driver, &of.path.to_string_lossy());
    if let Some(why) = run(context, &command, files.path(), "merge-program").await? {
        return Err(NotResolved::NotMerged { path, why });
    }
    let merged = tm_untrusted::read(&files.path().join("ours"), MOST_BYTES);
    let merged = merged.map_err(NotResolved::Unreadable)?;
    let versions = briefly(|| repository.versions(of))?;
    if is_marked(&merged) && !versions.iter().any(|version| is_marked(version)) {
        return Err(NotResolved::StillMarked(path));
    }
    Ok(merged)
}

/// Tells whether a text has the mark at which a conflict begins.
fn is_marked(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.any(|line| line.starts_with(b"<<<<<<< "))
}

/// The command with its placeholders filled in: the files, the size of markers, the path.
fn command_line(driver: &str, path: &str) -> String {
    let command = KNOWN
        .iter()
        .find(|(name, _)| *name == driver)
        .map_or(driver, |(_, command)| command);
    let values = [
        ("%O", "base"),
        ("%A", "ours"),
        ("%B", "theirs"),
        ("%L", MARKER_SIZE),
    ];
    let filled = values
        .iter()
        .fold(command.to_owned(), |filled, (name, value)| {
            filled.replace(name, value)
        });
    filled.replace("%P", &tm_presets::shell_word(path))
}

/// Makes lock files again from the manifests of a tree in which they are as they have landed.
async fn locked_again(
    context: &StepContext,
    before: &TreeId,
    in_conflict: &[String],
    locks: &[&ConflictedText],
) -> Result<TreeId, NotResolved> {
    let repository = context.repository();
    let on = context.integration_tip()?;
    let commit = briefly(|| repository.commit_to_test(before, &on))?;
    let mut checkout = context.setup.checkouts.unprepared(&commit).await?;
    for lock in locks {
        let path = lock.path.to_string_lossy().into_owned();
        let Some(command) = lock_command(context, &path) else {
            return Err(NotResolved::LeftAlone(path));
        };
        let folder = lock.path.parent().unwrap_or(Path::new(""));
        let folder = checkout.path().join(folder);
        if let Some(why) = run(context, &command, &folder, "lock-file").await? {
            return Err(NotResolved::NotMadeAgain { path, why });
        }
    }
    let tree = briefly(|| checkout.tree())?;
    let mut others = briefly(|| repository.changed_between(before, &tree))?;
    others.retain(|path| !(in_conflict.contains(path) && is_lock(context, path)));
    if others.is_empty() {
        Ok(tree)
    } else {
        Err(NotResolved::ChangedMore(others))
    }
}

/// Runs a command for `sh`; returns how it failed, if it did.
async fn run(
    context: &StepContext,
    command: &str,
    folder: &Path,
    name: &str,
) -> Result<Option<String>, StepError> {
    let settings = &context.setup.settings;
    let besides = git_of(folder);
    let place = CommandPlace {
        folder,
        log: &context.directory.path().join(format!("{name}.log")),
        limit: settings.worktree.setup_timeout,
        environment: &crate::environment(&settings.test),
        executor: &context.setup.executor,
        variables: &[],
        besides: &besides,
    };
    let command = CommandLine::Shell(command.to_owned());
    let _admission = context.setup.checkouts.tests().admit(context.turn()).await;
    match place.run_all(&[command]).await {
        Err(error @ preparation::Error::Setup(_)) => Ok(Some(describe(&error))),
        ran => Ok(ran.map(|()| None)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_its_name_or_as_the_user_says() {
        assert_eq!(
            command_line("mergiraf", "a/b.rs"),
            "mergiraf merge --git base ours theirs -p a/b.rs -l 7"
        );
        assert_eq!(
            command_line("mine %O %A %B --name=%P", "a b.rs"),
            "mine base ours theirs --name='a b.rs'"
        );
        assert_eq!(
            command_line("mine %A", "$(x)%O"),
            "mine ours",
            "a path is never filled in twice"
        );
        assert_eq!(command_line("mine %P", "$(x)%O"), "mine '$(x)%O'");
    }
}
