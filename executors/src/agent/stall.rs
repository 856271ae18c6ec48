//! Signs of life: when something in the worktree, or in a log, changed last.
//!
//! Nobody looks before the moment in which an agent would have been still for too long; what changed last says then from
//! when on it has been. The worktree is looked at down to a number of entries, build and dependency folders left out: an
//! agent that works changes something that is near the top, or prints.

use super::AgentCommand;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

const MOST_ENTRIES: usize = 4_000;
const LEFT_OUT: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Knows whether an agent lives.
pub(super) struct LifeWatch {
    /// So long it may be still.
    limit: Option<Duration>,
    /// When it was last seen to live.
    alive_at: Instant,
}

impl LifeWatch {
    pub(super) fn new(command: &AgentCommand, now: Instant) -> Self {
        Self {
            limit: command.limits.stall,
            alive_at: now,
        }
    }

    /// Notes a sign that somebody else saw.
    pub(super) fn seen_alive(&mut self, now: Instant) {
        self.alive_at = now;
    }

    /// Returns when it has to be looked at, unless there is a sign before; `None` when it may be still for ever.
    pub(super) fn due(&self) -> Option<Instant> {
        self.limit.map(|limit| self.alive_at + limit)
    }

    /// Tells whether there was no sign for as long as the agent may be still. The moment is told by both clocks.
    pub(super) fn has_stalled(
        &mut self,
        command: &AgentCommand,
        (now, time): (Instant, SystemTime),
    ) -> bool {
        let Some(limit) = self.limit.filter(|limit| now >= self.alive_at + *limit) else {
            return false;
        };
        let logs = [&command.tree.stdout, &command.tree.stderr];
        let changes = logs.map(|log| log.symlink_metadata().and_then(|log| log.modified()).ok());
        let credible = time.checked_add(limit).unwrap_or(time);
        let changes = changes.into_iter().flatten().filter(|at| *at <= credible);
        if let Some(last) = changes
            .chain(latest_change(&command.tree.working_folder, credible))
            .max()
        {
            // One that another clock puts a little ahead has just been.
            let ago = time.duration_since(last).unwrap_or_default();
            self.alive_at = now.checked_sub(ago).unwrap_or(now).max(self.alive_at);
        }
        now >= self.alive_at + limit
    }
}

/// Returns when something in a folder changed last; what says that it changes later than is credible says nothing.
fn latest_change(folder: &Path, credible: SystemTime) -> Option<SystemTime> {
    let mut folders = vec![folder.to_owned()];
    let mut latest = None;
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        for entry in tm_untrusted::entries(&folder) {
            entries += 1;
            if entries > MOST_ENTRIES {
                return latest;
            }
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            latest = latest.max(metadata.modified().ok().filter(|at| *at <= credible));
            let is_left_out = LEFT_OUT.iter().any(|name| entry.file_name() == *name);
            if metadata.is_dir() && !is_left_out {
                folders.push(entry.path());
            }
        }
    }
    latest
}
