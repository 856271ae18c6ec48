//! Why there is no checkout, and whose fault that is.

use super::preparation::{Error, SetupFailed};
use crate::{StepError, describe};

/// Why there is no checkout.
#[derive(Debug)]
pub(crate) enum NotReady {
    /// The set-up fails on this tree, and not on the one that the run began with; in words.
    OfTree(String),
    /// The set-up fails on the tree that the run began with: nobody's work is at fault.
    Setup(SetupFailed),
    /// git, or the disk.
    StepError(StepError),
}

impl From<StepError> for NotReady {
    fn from(trouble: StepError) -> Self {
        Self::StepError(trouble)
    }
}

impl From<NotReady> for Error {
    fn from(error: NotReady) -> Self {
        match error {
            NotReady::Setup(failed) => Self::Setup(failed),
            other => StepError::from(other).into(),
        }
    }
}

impl From<StepError> for Error {
    fn from(trouble: StepError) -> Self {
        Self::BrokenOff {
            why: trouble.into(),
        }
    }
}

impl From<NotReady> for StepError {
    fn from(error: NotReady) -> Self {
        match error {
            NotReady::OfTree(why) => Self::of_task(why),
            NotReady::Setup(failed) => Self::of_surroundings(format!("failed to {failed}")),
            NotReady::StepError(trouble) => trouble,
        }
    }
}

/// Whose fault it is that what belongs to a tree can't be brought: that of whoever changed it since the run began.
pub(super) fn of_content(error: &tm_worktrees::Error, is_of_base: bool) -> NotReady {
    let is_of_tree =
        error.is_of_content() && !is_of_base && !matches!(error, tm_worktrees::Error::LfsMissing);
    if is_of_tree {
        NotReady::OfTree(describe(error))
    } else {
        NotReady::StepError(StepError::of(error))
    }
}

/// Whose fault it is that a set-up fails: nobody's where the files that it follows are those of the start.
pub(super) fn not_ready(error: Error, is_as_at_start: bool) -> NotReady {
    match error {
        Error::Setup(failed) if is_as_at_start => NotReady::Setup(failed),
        Error::Setup(failed) => NotReady::OfTree(format!("failed to {failed}")),
        error => StepError::from(error).into(),
    }
}
