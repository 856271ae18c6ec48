//! The files of one run of autopilot.

use crate::Error;
use crate::file_system::create_durable;
use crate::run::{ActivityLog, RunDirectory, encode};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tm_scheduler::{TaskId, Timestamp};

/// No file that is read back is longer.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The folder of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AutopilotRun {
    path: PathBuf,
    /// The name of the log of events.
    log: &'static str,
}

impl AutopilotRun {
    pub(super) const fn new(path: PathBuf, log: &'static str) -> Self {
        Self { path, log }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder as one of a run of waves, for what both have.
    pub fn as_run(&self) -> RunDirectory {
        RunDirectory {
            path: self.path.clone(),
        }
    }

    /// Creates the folders, open to their owner alone.
    ///
    /// # Errors
    /// They can't be written.
    pub fn create(&self) -> Result<(), Error> {
        create_durable(&self.path.join("test-results"))
    }

    /// Returns the log of events.
    pub fn activity(&self) -> PathBuf {
        self.path.join(self.log)
    }

    files! {
        /// Returns the file with the state, which is the truth of the run.
        state = "state.json";
        /// Returns the file that says what the run is.
        manifest = "manifest.json";
        /// Returns the file with the pieces of work that were handed out.
        work_units = "work-units.json";
        /// Returns the list of commits, one a line.
        commits = "commits.txt";
        /// Returns the report for people.
        report = "report.md";
        /// Returns what the whole suite said at the end.
        final_results = "test-results/final-suite.json";
    }

    /// Returns the file with what was reported last of a phase of a subtask.
    pub fn test_results(&self, subtask: &TaskId, phase: &str) -> PathBuf {
        let (subtask, phase) = (encode(subtask.as_str()), encode(phase));
        let results = self.path.join("test-results");
        results.join(format!("subtask-{subtask}-{phase}.json"))
    }

    /// Appends events that carry their number as `seq`; those that are in the log already are left out.
    ///
    /// # Errors
    /// The log can't be written.
    pub fn append(&self, at: Timestamp, events: &[Value]) -> Result<(), Error> {
        let last = self.last_event();
        let mut log = ActivityLog::open(&self.activity())?;
        let is_new = |event: &&Value| event["seq"].as_u64().is_none_or(|number| number > last);
        for event in events.iter().filter(is_new) {
            log.append(at, event)?;
        }
        log.flush()
    }

    /// Returns the number of the last whole event in the log; 0 where there is none.
    pub fn last_event(&self) -> u64 {
        let text = tm_untrusted::read_end(&self.activity(), MOST_BYTES).unwrap_or_default();
        let whole = text.rsplit(|byte| *byte == b'\n').skip(1);
        let mut events = whole.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        events.find_map(|event| event["seq"].as_u64()).unwrap_or(0)
    }

    /// Removes the run's folder.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove(&self) -> Result<(), Error> {
        std::fs::remove_dir_all(&self.path).map_err(Error::write(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::write_text;
    use serde_json::json;

    #[test]
    fn an_event_is_in_the_log_once_however_often_it_is_appended() {
        let root = tempfile::tempdir().unwrap();
        let run = AutopilotRun::new(root.path().into(), "activity.jsonl");
        assert_eq!(run.last_event(), 0);
        let events = [
            json!({"event": "a", "seq": 1}),
            json!({"event": "b", "seq": 2}),
        ];
        run.append(Timestamp(0), &events[..1]).unwrap();
        // As a crash in the middle of a line leaves it.
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(run.activity())
            .unwrap();
        std::io::Write::write_all(&mut file, b"{\"event\":\"b\",\"se").unwrap();
        assert_eq!(run.last_event(), 1);
        run.append(Timestamp(0), &events).unwrap();
        run.append(Timestamp(0), &events).unwrap();
        assert_eq!(run.last_event(), 2);
        assert_eq!(
            std::fs::read_to_string(run.activity())
                .unwrap()
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn files_have_the_names_that_others_rely_on() {
        let root = tempfile::tempdir().unwrap();
        let run = AutopilotRun::new(root.path().join("run"), "activity.jsonl");
        run.create().unwrap();
        for file in [
            run.state(),
            run.manifest(),
            run.work_units(),
            run.commits(),
            run.test_results(&"../1.1".into(), "red"),
            run.final_results(),
        ] {
            write_text(&file, "1\n").unwrap();
        }
        run.append(Timestamp(0), &[json!({"event": "phase:start"})])
            .unwrap();
        let mut names: Vec<String> = [run.path().to_owned(), run.path().join("test-results")]
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "activity.jsonl",
                "commits.txt",
                "final-suite.json",
                "manifest.json",
                "state.json",
                "subtask-%2e.%2f1.1-red.json",
                "test-results",
                "work-units.json",
            ]
        );
        assert_eq!(
            AutopilotRun::new(root.path().into(), "log.jsonl").activity(),
            root.path().join("log.jsonl")
        );
    }
}
