//! What a lane leaves for whoever comes after a crash, and what is done with it then.

use super::ProgressFile;
use super::setup::env_markers;
use crate::{Error, now};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tm_executors::agent::end_abandoned;
use tm_scheduler::iteration::LoopStatus;
use tm_scheduler::{CommitId, RunId, Tag};
use tm_store::run::{LoopDirectory, ProjectDirectory, read_json, write_json};

/// Where a lane stands: `state-<lane>.json`, replaced before each agent is started.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct LoopState {
    /// The version of this format.
    pub version: u32,
    /// The loop.
    pub id: RunId,
    /// The lane.
    pub lane: Tag,
    /// The progress file.
    pub progress_file: PathBuf,
    /// The iteration that was begun last, 0 before the first.
    pub iteration: u32,
    /// Whether it is under way.
    pub is_under_way: bool,
    /// The try at it.
    pub attempt: u32,
    /// The worktree, its branch and where that began, when the lane works in one.
    pub worktree: Option<(PathBuf, String, CommitId)>,
    /// How it ended; nothing while it goes on.
    pub ended: Option<LoopStatus>,
}

impl LoopState {
    pub(super) fn write(&self, directory: &LoopDirectory) -> Result<(), Error> {
        Ok(write_json(&directory.state(self.lane.as_str()), self)?)
    }
}

/// A lane that was cut off: tm was killed, or the machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CutOff {
    /// Where it stood.
    pub state: LoopState,
    /// Processes of its agent that were still there, and have been ended.
    pub ended_processes: u32,
}

/// Finds lanes that were cut off, ends what their agents left running, and notes it in their progress files.
///
/// For whoever holds the run lock: nobody else can be working on them.
///
/// # Errors
/// A state can't be read or written.
pub async fn clean_up(project: &ProjectDirectory) -> Result<Vec<CutOff>, Error> {
    let mut found = Vec::new();
    // Whoever took the lock since has cleaned up what was before, so only the last loop can be unfinished.
    let Some(last) = project.loops()?.pop() else {
        return Ok(found);
    };
    let directory = project.loop_directory(&last)?;
    for mut state in states(&directory)? {
        if state.ended.is_some() {
            continue;
        }
        let cut_off = state.clone();
        let attempt = directory.attempt(state.lane.as_str(), state.iteration, state.attempt);
        let env_markers = env_markers(&state.id, &state.lane, state.iteration, state.attempt);
        let ended_processes =
            end_abandoned(&crate::executor(project), &attempt.agent(), &env_markers).await;
        if let Err(error) = ProgressFile::new(state.progress_file.clone()).cut_off(&state, now()) {
            // A progress file that somebody has removed with its folder needs no note.
            tracing::warn!(%error, "the progress file can't be written");
        }
        state.ended = Some(LoopStatus::Interrupted);
        state.write(&directory)?;
        found.push(CutOff {
            state: cut_off,
            ended_processes,
        });
    }
    Ok(found)
}

fn states(directory: &LoopDirectory) -> Result<Vec<LoopState>, Error> {
    let entries = std::fs::read_dir(directory.path())
        .into_iter()
        .flatten()
        .flatten();
    let is_state = |name: &str| {
        name.strip_suffix(".json")
            .is_some_and(|name| name.starts_with("state-"))
    };
    let files = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_state));
    files.map(|entry| Ok(read_json(&entry.path())?)).collect()
}
