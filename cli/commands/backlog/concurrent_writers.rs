//! Task Master's own program at work on the same file: it reads the file before it takes the lock and writes what it
//! had read, so a status of ours that was written in between would be lost.
//!
//! Only where such a process runs, statuses are looked at until it has ended, and written again where it undid them.

use std::path::{Path, PathBuf};
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
pub(super) struct ConcurrentWriters {
    writers: Vec<RunningProgram>,
    has_server: bool,
}

impl ConcurrentWriters {
    /// Looks for those that may write this file; to be asked before it is written.
    pub(super) fn of(file: &Path) -> Self {
        let project = project_of(file);
        let is_writer = |program: &RunningProgram| {
            program.name == PROGRAM
                && program
                    .arguments
                    .first()
                    .is_some_and(|command| WRITERS.contains(&command.as_str()))
                && may_work_in(program, &project)
        };
        let (writers, others): (Vec<_>, Vec<_>) = running(&[PROGRAM, SERVERS[0], SERVERS[1]])
            .into_iter()
            .partition(is_writer);
        let has_server = others
            .iter()
            .any(|other| SERVERS.contains(&other.name.as_str()));
        Self {
            writers,
            has_server,
        }
    }

    /// Returns when nobody is left who could undo these statuses.
    pub(super) fn wait_and_restore(
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
            let is_over = !is_served
                && self
                    .writers
                    .iter()
                    .all(|writer| !writer.identity.is_alive());
            // What one of them wrote last is looked at after it has ended.
            source.restore_statuses(options, written, stamp)?;
            if is_over || begun.elapsed() > PATIENCE {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The folder from which, or from below which, the file is found without being named.
fn project_of(file: &Path) -> PathBuf {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(&file);
    folder
        .ancestors()
        .find(|folder| folder.ends_with(".taskmaster"))
        .and_then(Path::parent)
        .unwrap_or(folder)
        .to_owned()
}

/// Tells whether a program works in a project, or in one that its command line or nothing names.
fn may_work_in(program: &RunningProgram, project: &Path) -> bool {
    let names_a_place = ["-f", "--file", "-p", "--project"];
    let is_sent_elsewhere = program.arguments.iter().any(|argument| {
        let option = argument.split('=').next().unwrap_or_default();
        names_a_place.contains(&option)
    });
    is_sent_elsewhere
        || program
            .working_folder
            .as_ref()
            .is_none_or(|folder| folder.starts_with(project))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_executors::process::ProcessIdentity;

    #[test]
    fn only_who_may_write_the_same_file_is_a_rival() {
        let project = project_of(Path::new("/a/b/.taskmaster/tasks/tasks.json"));
        assert_eq!(
            (project.as_path(), project_of(Path::new("/a/b.json"))),
            (Path::new("/a/b"), PathBuf::from("/a"))
        );
        let program = |arguments: &[&str], folder: Option<&str>| RunningProgram {
            name: PROGRAM.to_owned(),
            identity: ProcessIdentity::of(std::process::id()).expect("this process"),
            arguments: arguments
                .iter()
                .map(|&argument| argument.to_owned())
                .collect(),
            working_folder: folder.map(PathBuf::from),
        };
        let may = |arguments: &[&str], folder| may_work_in(&program(arguments, folder), &project);
        assert!(
            may(&["set-status"], Some("/a/b"))
                && may(&["set-status"], Some("/a/b/c"))
                && may(&["expand"], None)
        );
        assert!(!may(&["set-status"], Some("/a/bc")) && !may(&["set-status"], Some("/a")));
        assert!(
            may(&["set-status", "--file=../b/x"], Some("/a"))
                && may(&["expand", "-p", "b"], Some("/a"))
        );
    }
}
