//! Programs that put files together: the merge program that the user named, and package managers for their lock files.
//!
//! They run as tests do, in an environment that is built; what they leave is taken only where they were to write.

use super::{is_lock, lock_command};
use crate::checkouts::preparation::CommandPlace;
use crate::step_error::blocking;
use crate::step_error::{StepError, describe};
use crate::waves::steps::StepContext;
use std::path::Path;
use tm_config::CommandLine;
use tm_worktrees::{ConflictedText, Error, TreeId};

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
    let (repository, file) = (context.setup.repository.clone(), of.clone());
    let (files, versions) = blocking(move || {
        let files = repository.version_files(&file)?;
        Ok::<_, Error>((files, repository.versions(&file)?))
    })
    .await?;
    let command = command_line(driver, &of.path.to_string_lossy());
    if let Err(why) = run(context, &command, files.path(), "merge-program").await? {
        return Ok(Err(format!(
            "`git.merge_driver` did not merge `{}`: {why}",
            of.path.display()
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
            "`git.merge_driver` left a conflict in `{}`",
            of.path.display()
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
pub(super) async fn locked_again(
    context: &StepContext,
    tree: &TreeId,
    in_conflict: &[String],
    locks: &[&ConflictedText],
) -> Result<Result<TreeId, String>, StepError> {
    let (repository, to_lock, on) = (
        context.setup.repository.clone(),
        tree.clone(),
        context.integration_tip(),
    );
    let on = on?;
    let commit = blocking(move || repository.commit_to_test(&to_lock, &on)).await?;
    let mut checkout = context.setup.checkouts.unprepared(&commit).await?;
    let mut wrong = None;
    for lock in locks {
        let path = lock.path.to_string_lossy().into_owned();
        let Some(command) = lock_command(context, &path) else {
            wrong = Some(format!("`git.lock_files` leaves `{path}` alone"));
            break;
        };
        let folder = checkout
            .path()
            .join(lock.path.parent().unwrap_or(Path::new("")));
        if let Err(why) = run(context, &command, &folder, "lock-file").await? {
            wrong = Some(format!("`{path}` could not be made again: {why}"));
            break;
        }
    }
    let (repository, before) = (context.setup.repository.clone(), tree.clone());
    let left = blocking(move || {
        let tree = checkout.tree()?;
        let changed = repository.changed_between(&before, &tree)?;
        Ok::<_, Error>((tree, changed))
    })
    .await?;
    let (tree, changed) = left;
    let is_lock_in_conflict = |path: &&String| in_conflict.contains(path) && is_lock(context, path);
    let others: Vec<&str> = changed
        .iter()
        .filter(|path| !is_lock_in_conflict(path))
        .map(String::as_str)
        .collect();
    Ok(match wrong {
        Some(why) => Err(why),
        None if others.is_empty() => Ok(tree),
        None => Err(format!(
            "making lock files again changed other files, too: {}",
            others.join(", ")
        )),
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
