//! Puts proven work together with what has landed where merging lines alone does not: one way after the other, and what
//! comes of each is proven by whoever asked.
//!
//! Here no agent is asked (`mending.rs` is for the attempt that one makes), and nothing lands by its own word. The merge
//! program that the user named, and package managers for their lock files, run as tests do, in an environment that is
//! built; what they leave is taken only where they were to write.

use crate::checkouts::preparation::CommandPlace;
use crate::step_error::{StepError, briefly, describe};
use crate::waves::steps::StepContext;
use std::path::Path;
use tm_config::CommandLine;
use tm_scheduler::merging::{Resolution, lock_file};
use tm_worktrees::{Conflict, ConflictedText, Error, MergedFile, TreeId};

mod mending;

pub(crate) use mending::{Mending, carried_over, mending};

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

/// What came of a rung.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Climbed {
    /// It is none for this conflict.
    No,
    /// A tree, which nobody has tested yet.
    Tree(TreeId, Resolution),
    /// It failed; in words.
    Failed(String),
}

/// Tries one rung on a conflict.
pub(crate) async fn climb(
    context: &StepContext,
    conflict: &Conflict,
    rung: Rung,
) -> Result<Climbed, StepError> {
    let Some(texts) = &conflict.texts else {
        return Ok(Climbed::No);
    };
    let driver = context.setup.settings.git.merge_driver.as_deref();
    let (locks, others): (Vec<&ConflictedText>, Vec<&ConflictedText>) = texts
        .iter()
        .partition(|of| is_lock(context, &of.path.to_string_lossy()));
    if rung == Rung::Driver && others.is_empty() {
        return Ok(Climbed::No);
    }
    let repository = context.repository();
    let mut merged = Vec::new();
    for of in others {
        let content = match (rung, driver) {
            (Rung::Union, _) => briefly(|| repository.united_text(of))?,
            (Rung::Driver, Some(driver)) => match driven(context, of, driver).await? {
                Ok(content) => Some(content),
                Err(why) => return Ok(Climbed::Failed(why)),
            },
            (Rung::Driver, None) => None,
        };
        let Some(content) = content else {
            return Ok(Climbed::No);
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
        return Ok(Climbed::Tree(tree, how));
    }
    let locked = locked_again(context, &tree, &conflict.files, &locks).await?;
    Ok(locked.map_or_else(Climbed::Failed, |tree| Climbed::Tree(tree, how)))
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

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
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

/// Has a file merged by the user's program; the inner error says why there is nothing of it.
pub(super) async fn driven(
    context: &StepContext,
    of: &ConflictedText,
    driver: &str,
) -> Result<Result<Vec<u8>, String>, StepError> {
    let (repository, path) = (context.repository(), of.path.display());
    let (files, versions) = briefly(|| {
        let files = repository.version_files(of)?;
        Ok::<_, Error>((files, repository.versions(of)?))
    })?;
    let command = command_line(driver, &of.path.to_string_lossy());
    if let Err(why) = run(context, &command, files.path(), "merge-program").await? {
        return Ok(Err(format!(
            "`git.merge_driver` did not merge `{path}`: {why}"
        )));
    }
    let merged = match tm_untrusted::read(&files.path().join("ours"), MOST_BYTES) {
        Ok(merged) => merged,
        Err(error) => {
            return Ok(Err(format!(
                "what `git.merge_driver` left can't be read: {error}"
            )));
        }
    };
    let is_marked = |version: &[u8]| {
        version
            .split(|&byte| byte == b'\n')
            .any(|line| line.starts_with(b"<<<<<<< "))
    };
    if is_marked(&merged) && !versions.iter().any(|version| is_marked(version)) {
        return Ok(Err(format!(
            "`git.merge_driver` left a conflict in `{path}`"
        )));
    }
    Ok(Ok(merged))
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

/// Makes lock files again from the manifests of a tree in which they are as they have landed; the inner error says why not.
async fn locked_again(
    context: &StepContext,
    before: &TreeId,
    in_conflict: &[String],
    locks: &[&ConflictedText],
) -> Result<Result<TreeId, String>, StepError> {
    let repository = context.repository();
    let on = context.integration_tip()?;
    let commit = briefly(|| repository.commit_to_test(before, &on))?;
    let mut checkout = context.setup.checkouts.unprepared(&commit).await?;
    for lock in locks {
        let path = lock.path.to_string_lossy().into_owned();
        let Some(command) = lock_command(context, &path) else {
            return Ok(Err(format!("`git.lock_files` leaves `{path}` alone")));
        };
        let folder = lock.path.parent().unwrap_or(Path::new(""));
        let folder = checkout.path().join(folder);
        if let Err(why) = run(context, &command, &folder, "lock-file").await? {
            return Ok(Err(format!("`{path}` could not be made again: {why}")));
        }
    }
    let tree = briefly(|| checkout.tree())?;
    let mut others = briefly(|| repository.changed_between(before, &tree))?;
    others.retain(|path| !(in_conflict.contains(path) && is_lock(context, path)));
    Ok(if others.is_empty() {
        Ok(tree)
    } else {
        Err(format!(
            "making lock files again changed other files, too: {}",
            others.join(", ")
        ))
    })
}

/// Runs a command for `sh`; the inner error says how it failed.
async fn run(
    context: &StepContext,
    command: &str,
    folder: &Path,
    name: &str,
) -> Result<Result<(), String>, StepError> {
    let settings = &context.setup.settings;
    let place = CommandPlace {
        folder,
        log: &context.directory.path().join(format!("{name}.log")),
        limit: settings.worktree.setup_timeout,
        environment: &crate::environment(&settings.test),
        executor: &context.setup.executor,
        variables: &[],
    };
    match place
        .run_all(&[CommandLine::Shell(command.to_owned())])
        .await
    {
        Ok(()) => Ok(Ok(())),
        Err(error @ crate::checkouts::preparation::Error::Setup(_)) => Ok(Err(describe(&error))),
        Err(error) => Err(StepError::of(&error)),
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
