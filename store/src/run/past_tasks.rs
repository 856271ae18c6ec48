//! What the last runs of a project tell of how long tasks take: some lines of their summaries.
//!
//! It orders tasks and decides nothing else, so whatever can't be read, or says something odd, is left out in silence.

use super::ProjectDirectory;
use serde::Deserialize;
use tm_scheduler::{Complexity, PastTask, Phase, Tag, TaskId};

/// So many of the newest runs are looked at.
const RUNS: usize = 20;

/// The summaries that are read are no longer together; a longer one is passed over.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// So many tasks tell enough.
const MOST_TASKS: usize = 2_000;

/// Of each task, so many files.
const MOST_FILES: usize = 24;

/// No agent works longer: 30 days.
const LONGEST_MS: u64 = 30 * 24 * 3_600_000;

#[derive(Deserialize)]
struct PastRun {
    tag: Tag,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    id: TaskId,
    title: String,
    phase: Phase,
    #[serde(default)]
    complexity: Option<Complexity>,
    #[serde(default)]
    touched: Vec<String>,
    #[serde(default)]
    worked_ms: Option<u64>,
}

impl Task {
    fn of_run(mut self, tag: &Tag) -> Option<PastTask> {
        self.touched.truncate(MOST_FILES);
        Some(PastTask {
            tag: tag.clone(),
            id: self.id,
            title: self.title,
            phase: self.phase,
            complexity: self.complexity,
            touched: self.touched,
            worked_ms: self.worked_ms.filter(|&worked| worked <= LONGEST_MS)?,
        })
    }
}

impl ProjectDirectory {
    /// Returns the tasks that the newest runs have proven, those of the newest run first.
    pub fn past_tasks(&self) -> Vec<PastTask> {
        let runs = self.runs().unwrap_or_default();
        let (mut past, mut left) = (Vec::new(), MOST_BYTES);
        for run in runs.iter().rev().take(RUNS) {
            let Ok(directory) = self.run(run) else {
                continue;
            };
            let Ok(bytes) = tm_untrusted::read(&directory.summary_json(), left) else {
                continue;
            };
            left = left.saturating_sub(bytes.len() as u64);
            let Ok(run) = serde_json::from_slice::<PastRun>(&bytes) else {
                continue;
            };
            let tasks = run.tasks.into_iter();
            past.extend(tasks.filter_map(|task| task.of_run(&run.tag)));
            if past.len() >= MOST_TASKS {
                past.truncate(MOST_TASKS);
                break;
            }
        }
        past
    }
}

#[cfg(test)]
mod tests {
    use super::super::home::project;
    use super::*;
    use crate::atomic;
    use serde_json::json;

    fn summary(id: &str, worked_ms: u64) -> String {
        json!({
            "version": 1, "tag": "master", "unknown": {},
            "tasks": [
                {"id": id, "title": "Build", "phase": "none", "worked_ms": worked_ms, "complexity": "L",
                 "touched": vec!["a"; 100], "attempts": []},
                {"id": "9", "title": "Not proven", "phase": "none", "worked_ms": null},
                {"id": "8", "title": "Of a tm of before", "phase": "red"},
            ],
        })
        .to_string()
    }

    #[test]
    fn the_newest_runs_are_read_and_what_is_damaged_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.create().unwrap();
        assert_eq!(project.past_tasks(), []);
        let far_too_long = format!("{{\"tag\": \"{}\"}}", "x".repeat(9_000_000));
        let runs = [
            summary("1", 10),
            summary("2", 20),
            "{\"tag\": \"master\", \"tasks\": [{\"id\":".to_owned(),
            "{\"tag\": 7, \"tasks\": []}".to_owned(),
            far_too_long,
            summary("3", u64::MAX),
        ];
        for (number, text) in runs.iter().enumerate() {
            let id = format!("20260101-00000{number}-0000").as_str().into();
            let run = project.run(&id).unwrap();
            run.create().unwrap();
            atomic::replace(&run.summary_json(), text.as_bytes()).unwrap();
        }
        let empty = project.run(&"20260101-000007-0000".into()).unwrap();
        empty.create().unwrap();
        let past = project.past_tasks();
        let told: Vec<(&str, u64, usize)> = past
            .iter()
            .map(|task| (task.id.as_str(), task.worked_ms, task.touched.len()))
            .collect();
        assert_eq!(told, [("2", 20, MOST_FILES), ("1", 10, MOST_FILES)]);
        assert_eq!(past[0].complexity, Some(Complexity::L));
    }

    #[test]
    fn no_more_runs_are_read_than_tell_enough() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.create().unwrap();
        for number in 10..40 {
            let id = format!("20260101-0000{number}-0000").as_str().into();
            let run = project.run(&id).unwrap();
            run.create().unwrap();
            let text = summary(&number.to_string(), 1);
            atomic::replace(&run.summary_json(), text.as_bytes()).unwrap();
        }
        let past = project.past_tasks();
        assert_eq!(past.len(), RUNS);
        assert_eq!(past[0].id.as_str(), "39");
    }
}
