//! Task Master's own program at work on the same file: it reads the file before it takes the lock and writes what it
//! had read, so a status of ours that was written in between would be lost.
//!
//! Only where such a process runs, statuses are looked at until it has ended, and written again where it undid them.

use std::time::{Duration, Instant};
use tm_executors::process::{RunningProgram, running};
use tm_store::backlog::{BacklogError, BacklogSource, ReadOptions, StatusOutcome};

const PROGRAM: &str = "task-master";
const SERVERS: [&str; 2] = ["task-master-ai", "task-master-mcp"];
/// The commands that write the file.
const WRITERS: [&str; 16] = [
    "set-status",
    "status",
    "start",
    "move",
    "expand",
    "update",
    "update-task",
    "update-subtask",
    "add-task",
    "add-subtask",
    "remove-task",
    "remove-subtask",
    "clear-subtasks",
    "add-dependency",
    "remove-dependency",
    "fix-dependencies",
];
/// Nobody is waited for longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A server reads and writes within one call.
const SERVER_PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(50);

/// The processes that may undo what is written now.
pub(super) struct Rivals {
    writers: Vec<RunningProgram>,
    has_server: bool,
}

impl Rivals {
    /// Looks for them; to be asked before the file is written.
    pub(super) fn now() -> Self {
        let is_writer = |program: &RunningProgram| {
            program.name == PROGRAM
                && program.arguments.first().is_some_and(|command| WRITERS.contains(&command.as_str()))
        };
        let (writers, others): (Vec<_>, Vec<_>) =
            running(&[PROGRAM, SERVERS[0], SERVERS[1]]).into_iter().partition(is_writer);
        let has_server = others.iter().any(|other| SERVERS.contains(&other.name.as_str()));
        Self { writers, has_server }
    }

    /// Returns when nobody is left who could undo these statuses.
    pub(super) fn outlast(
        &self,
        source: &BacklogSource,
        options: &ReadOptions,
        written: &[StatusOutcome],
        stamp: &str,
    ) -> Result<(), BacklogError> {
        if self.writers.is_empty() && !self.has_server {
            return Ok(());
        }
        let begun = Instant::now();
        loop {
            let is_served = self.has_server && begun.elapsed() < SERVER_PATIENCE;
            let is_over = !is_served && self.writers.iter().all(|writer| !writer.identity.is_alive());
            // What one of them wrote last is looked at after it has ended.
            source.restore_statuses(options, written, stamp)?;
            if is_over || begun.elapsed() > PATIENCE {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
}
