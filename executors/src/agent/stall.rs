//! Signs of life: how large the logs are, and when something in the worktree changed last.
//!
//! The worktree is looked at down to a number of entries, build and dependency folders left out: an agent that works
//! changes something that is near the top, or prints.

use super::AgentCommand;
use std::path::Path;
use std::time::SystemTime;
use tokio::time::Instant;

const MOST_ENTRIES: usize = 4_000;
const LEFT_OUT: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// So often within the limit it is looked for signs: a stall is noticed so much later than it has lasted that long.
const LOOKS: u32 = 10;

/// Looks whether an agent lives.
pub(super) struct LifeWatch {
    signs: SignsOfLife,
    looked_at: Instant,
    /// When it was last seen to live.
    alive_at: Instant,
}

impl LifeWatch {
    pub(super) fn new(command: &AgentCommand, now: Instant) -> Self {
        Self {
            signs: SignsOfLife::of(command),
            looked_at: now,
            alive_at: now,
        }
    }

    /// Notes a sign that somebody else saw.
    pub(super) fn seen_alive(&mut self, now: Instant) {
        self.alive_at = now;
    }

    /// Tells whether there was no sign for as long as the agent may be still.
    pub(super) fn has_stalled(&mut self, command: &AgentCommand, now: Instant) -> bool {
        let Some(limit) = command.limits.stall else {
            return false;
        };
        // One who prints is not looked at besides; before the last word one more look is due.
        let since_look = (now - self.looked_at).min(now - self.alive_at);
        if since_look >= limit / LOOKS || now - self.alive_at >= limit {
            self.looked_at = now;
            let before = std::mem::replace(&mut self.signs, SignsOfLife::of(command));
            if before != self.signs {
                self.seen_alive(now);
            }
        }
        now - self.alive_at >= limit
    }
}

/// What is compared: sizes of the logs, and the latest change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct SignsOfLife {
    logs: u64,
    changed: Option<SystemTime>,
}

impl SignsOfLife {
    fn of(command: &AgentCommand) -> Self {
        let logs = [&command.tree.stdout, &command.tree.stderr];
        Self {
            logs: logs.map(|log| tm_untrusted::size(log)).iter().sum(),
            changed: latest_change(&command.watched_folder),
        }
    }
}

fn latest_change(folder: &Path) -> Option<SystemTime> {
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
            latest = latest.max(metadata.modified().ok());
            let is_left_out = LEFT_OUT.iter().any(|name| entry.file_name() == *name);
            if metadata.is_dir() && !is_left_out {
                folders.push(entry.path());
            }
        }
    }
    latest
}
