//! Where a tag's loop stands.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tm_scheduler::iteration::LoopStatus;
use tm_scheduler::{CommitId, RunId, Tag};
use tm_store::run::{LoopDirectory, write_json};

/// Where a tag's loop stands: `state-<tag>.json`, replaced before each agent is started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoopState {
    /// The version of this format.
    pub version: u32,
    /// The loop.
    pub id: RunId,
    /// The tag.
    #[serde(rename = "lane")]
    pub tag: Tag,
    /// The progress file.
    pub progress_file: PathBuf,
    /// The iteration that was begun last, 0 before the first.
    pub iteration: u32,
    /// Whether it is under way.
    pub is_under_way: bool,
    /// The try at it.
    pub attempt: u32,
    /// The worktree, its branch and where that began, when the loop works in one.
    pub worktree: Option<(PathBuf, String, CommitId)>,
    /// How its agents are held, in words.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// How it ended; nothing while it goes on.
    pub ended: Option<LoopStatus>,
}

impl LoopState {
    pub(super) fn write(&self, directory: &LoopDirectory) -> Result<(), Error> {
        Ok(write_json(&directory.state(self.tag.as_str()), self)?)
    }
}
