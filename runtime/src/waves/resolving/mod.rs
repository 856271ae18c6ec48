//! Puts proven work together with what has landed where merging lines alone does not: one way after the other, and what
//! comes of each is proven by whoever asked.
//!
//! Here no agent is asked (`mending.rs` is for the attempt that one makes), and nothing lands by its own word.

mod commands;
mod mending;

pub(crate) use mending::{Mending, carried_over, mending};

use crate::step_error::{StepError, blocking};
use crate::waves::steps::StepContext;
use tm_scheduler::merging::{Resolution, lock_file};
use tm_worktrees::{Conflict, ConflictedText, Error, MergedFile, TreeId};

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
    let mut merged = Vec::new();
    for of in &others {
        let content = match (rung, driver) {
            (Rung::Union, _) => united(context, of).await?,
            (Rung::Driver, Some(driver)) => match commands::driven(context, of, driver).await? {
                Ok(content) => Some(content),
                Err(why) => return Ok(Climbed::Failed(why)),
            },
            (Rung::Driver, None) => None,
        };
        let Some(content) = content else {
            return Ok(Climbed::No);
        };
        merged.push((*of, content));
    }
    if rung == Rung::Driver && others.is_empty() {
        return Ok(Climbed::No);
    }
    let tree = with(context, conflict, &merged, &locks).await?;
    if locks.is_empty() {
        let how = if rung == Rung::Union {
            Resolution::Union
        } else {
            Resolution::Driver
        };
        return Ok(Climbed::Tree(tree, how));
    }
    let how = if rung == Rung::Union {
        Resolution::LockFile
    } else {
        Resolution::Driver
    };
    Ok(
        match commands::locked_again(context, &tree, &conflict.files, &locks).await? {
            Ok(tree) => Climbed::Tree(tree, how),
            Err(why) => Climbed::Failed(why),
        },
    )
}

/// Whether a path is a lock file, by the settings or the table of known ones.
fn is_lock(context: &StepContext, path: &str) -> bool {
    context
        .setup
        .settings
        .git
        .lock_files
        .contains_key(file_name(path))
        || lock_file(path).is_some()
}

/// Returns the command that makes a lock file again; `None` where it is left alone.
fn lock_command(context: &StepContext, path: &str) -> Option<String> {
    match context.setup.settings.git.lock_files.get(file_name(path)) {
        Some(own) => own.clone(),
        None => lock_file(path).map(|known| known.command.to_owned()),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

async fn united(context: &StepContext, of: &ConflictedText) -> Result<Option<Vec<u8>>, StepError> {
    let (repository, of) = (context.setup.repository.clone(), of.clone());
    blocking(move || repository.united_text(&of)).await
}

/// The merged tree with these files settled, and lock files as they have landed.
async fn with(
    context: &StepContext,
    conflict: &Conflict,
    merged: &[(&ConflictedText, Vec<u8>)],
    locks: &[&ConflictedText],
) -> Result<TreeId, StepError> {
    let (repository, marked) = (context.setup.repository.clone(), conflict.marked.clone());
    let merged: Vec<(ConflictedText, Vec<u8>)> = merged
        .iter()
        .map(|(of, content)| ((*of).clone(), content.clone()))
        .collect();
    let locks: Vec<ConflictedText> = locks.iter().map(|lock| (*lock).clone()).collect();
    blocking(move || {
        let files: Vec<MergedFile<'_>> = merged
            .iter()
            .map(|(of, content)| MergedFile {
                of,
                content: content.clone(),
            })
            .collect();
        let tree = repository.with_merged(&marked, &files)?;
        let tree = repository.with_ours(&tree, &locks.iter().collect::<Vec<_>>())?;
        Ok::<_, Error>(tree)
    })
    .await
}
