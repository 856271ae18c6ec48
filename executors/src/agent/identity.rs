//! Who the agent of an attempt is, written down so that another tm can find it, and end it.

use crate::engine::{Executor, JobHandle, end_all};
use crate::environment::{AgentHome, HomeNeeds};
use crate::{Error, json_file};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No such file is longer.
const MOST_BYTES: u64 = 4 * 1024;

/// The content of `agent.json`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentIdentity {
    version: u32,
    /// Milliseconds since the epoch.
    pub(crate) started_at: u64,
    #[serde(flatten)]
    pub(crate) handle: JobHandle,
}

impl AgentIdentity {
    pub(crate) const fn new(handle: JobHandle, started_at: u64) -> Self {
        Self {
            version: 1,
            started_at,
            handle,
        }
    }

    /// Writes it; renamed into place, so that it is there whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Error> {
        json_file::write(path, self, "agent: rename")
    }

    /// Reads it; `None` when the agent was never started, or nobody can tell.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&tm_untrusted::read(path, MOST_BYTES).ok()?).ok()
    }
}

/// Ends the agent that `identity_file` names, with everything that its marks tell to be its own; returns how many
/// processes that were. A process that has its number by now and is another is left alone. What it kept up to date in a
/// home of its own is brought back from there.
pub async fn end_abandoned(
    executor: &Executor,
    (identity_file, home): (&Path, PathBuf),
    env_markers: &[(String, String)],
) -> u32 {
    let identity = AgentIdentity::read(identity_file);
    let handle = identity.as_ref().map(|identity| &identity.handle);
    let ended = end_all(executor.adopt(handle, env_markers).await, Duration::ZERO).await;
    AgentHome::new(home, HomeNeeds::default()).settle(&[]);
    ended
}
