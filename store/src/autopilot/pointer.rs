//! Which run of a tag is the current one.

use serde::{Deserialize, Serialize};
use tm_scheduler::{RunId, Tag, TaskId};

/// The content of `current-run.json`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentRun {
    /// The run.
    pub run_id: RunId,
    /// Its task.
    pub task_id: TaskId,
    /// Its tag.
    pub tag: Tag,
    /// When it began, as in RFC 3339, in UTC.
    pub start_time: String,
    /// How far it is.
    pub status: PointerStatus,
}

/// How far a run is; unfinished ones come first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointerStatus {
    /// It goes on with the next call.
    InProgress,
    /// It goes on when it is resumed.
    Paused,
    /// Everything is committed and checked.
    Completed,
    /// It was given up.
    Aborted,
}

impl PointerStatus {
    /// Returns the word in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
        }
    }
}
