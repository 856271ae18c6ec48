//! Signs of life: how large the logs are, and when something in the worktree changed last.
//!
//! The worktree is looked at down to a number of entries, build and dependency folders left out: an agent that works
//! changes something that is near the top, or prints.

use super::AgentCommand;
use std::path::Path;
use std::time::SystemTime;

const MOST_ENTRIES: usize = 4_000;
const LEFT_OUT: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// What is compared: sizes of the logs, and the latest change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct SignsOfLife {
    logs: u64,
    changed: Option<SystemTime>,
}

pub(super) fn signs_of_life(command: &AgentCommand) -> SignsOfLife {
    SignsOfLife {
        logs: tm_untrusted::size(&command.tree.stdout) + tm_untrusted::size(&command.tree.stderr),
        changed: latest_change(&command.watched_folder),
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
