//! The files of one run of autopilot.

use crate::run::{ActivityLog, create_durable, encode, read_json, write_json};
use crate::{Error, atomic};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tm_scheduler::{CommitId, TaskId, Timestamp};

/// No file that is read back is longer.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// How the log of events is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Log {
    /// `activity.jsonl`.
    Activity,
    /// `log.jsonl`.
    Log,
}

/// The folder of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AutopilotRun {
    path: PathBuf,
    log: Log,
}

impl AutopilotRun {
    pub(super) const fn new(path: PathBuf, log: Log) -> Self {
        Self { path, log }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
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
        self.path.join(match self.log {
            Log::Activity => "activity.jsonl",
            Log::Log => "log.jsonl",
        })
    }

    /// Returns the file with the state.
    pub fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// Reads the state.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn state<T: DeserializeOwned>(&self) -> Result<T, Error> {
        read_json(&self.state_file())
    }

    /// Replaces the state.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_state(&self, state: &impl Serialize) -> Result<(), Error> {
        write_json(&self.state_file(), state)
    }

    /// Replaces what the run is.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_manifest(&self, manifest: &impl Serialize) -> Result<(), Error> {
        write_json(&self.path.join("manifest.json"), manifest)
    }

    /// Returns the pieces of work as they were kept last; none where they can't be read.
    pub fn work_units(&self) -> Vec<Value> {
        read_json(&self.path.join("work-units.json")).unwrap_or_default()
    }

    /// Replaces the pieces of work that were handed out.
    ///
    /// # Errors
    /// They can't be written.
    pub fn set_work_units(&self, units: &impl Serialize) -> Result<(), Error> {
        write_json(&self.path.join("work-units.json"), units)
    }

    /// Replaces the list of commits, one a line.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_commits(&self, commits: &[CommitId]) -> Result<(), Error> {
        let path = self.path.join("commits.txt");
        let text: String = commits
            .iter()
            .flat_map(|commit| [commit.as_str(), "\n"])
            .collect();
        if tm_untrusted::read(&path, MOST_BYTES).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        atomic::replace_own(&path, text.as_bytes()).map_err(Error::write(&path))
    }

    /// Keeps what was reported of a phase of a subtask; the last report wins.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_test_results(
        &self,
        subtask: &TaskId,
        phase: &str,
        results: &impl Serialize,
    ) -> Result<(), Error> {
        write_json(&self.results_file(subtask, phase), results)
    }

    /// Returns what was reported last of a phase of a subtask; `None` where nothing was, or where it can't be read.
    pub fn test_results(&self, subtask: &TaskId, phase: &str) -> Option<Value> {
        read_json(&self.results_file(subtask, phase)).ok()
    }

    fn results_file(&self, subtask: &TaskId, phase: &str) -> PathBuf {
        let name = format!(
            "subtask-{}-{}.json",
            encode(subtask.as_str()),
            encode(phase)
        );
        self.path.join("test-results").join(name)
    }

    /// Replaces the report for people.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_report(&self, text: &str) -> Result<(), Error> {
        let path = self.path.join("report.md");
        atomic::replace_own(&path, text.as_bytes()).map_err(Error::write(&path))
    }

    /// Keeps what the whole suite said at the end.
    ///
    /// # Errors
    /// It can't be written.
    pub fn set_final_results(&self, results: &impl Serialize) -> Result<(), Error> {
        write_json(&self.path.join("test-results/final-suite.json"), results)
    }

    /// Appends events that carry their number as `seq`; those that are in the log already are left out.
    ///
    /// # Errors
    /// The log can't be written.
    pub fn append(&self, at: Timestamp, events: &[Value]) -> Result<(), Error> {
        let last = self.last_event();
        let mut log = ActivityLog::open(&self.activity())?;
        for event in events
            .iter()
            .filter(|event| event["seq"].as_u64().is_none_or(|number| number > last))
        {
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
    use serde_json::json;

    #[test]
    fn an_event_is_in_the_log_once_however_often_it_is_appended() {
        let root = tempfile::tempdir().unwrap();
        let run = AutopilotRun::new(root.path().into(), Log::Activity);
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
    fn files_have_the_names_that_others_rely_on_and_the_last_report_wins() {
        let root = tempfile::tempdir().unwrap();
        let run = AutopilotRun::new(root.path().join("run"), Log::Activity);
        run.create().unwrap();
        run.set_state(&json!({"a": 1})).unwrap();
        run.set_manifest(&json!({})).unwrap();
        run.set_work_units(&json!([])).unwrap();
        run.set_commits(&["a".into(), "b".into()]).unwrap();
        run.set_test_results(&"../1.1".into(), "red", &json!(1))
            .unwrap();
        run.set_test_results(&"../1.1".into(), "red", &json!(2))
            .unwrap();
        run.set_final_results(&json!(3)).unwrap();
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
            std::fs::read_to_string(run.path().join("commits.txt")).unwrap(),
            "a\nb\n"
        );
        assert_eq!(
            AutopilotRun::new(root.path().into(), Log::Log).activity(),
            root.path().join("log.jsonl")
        );
    }
}
