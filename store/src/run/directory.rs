//! What one run leaves behind, file by file, and one loop: `loops/<loop>/` beside the runs.
//!
//! Knows names only: each file's content belongs to whoever writes it.

use super::name::{encode, safe_name};
use crate::Error;
use crate::file_system::{create_durable, create_private, joined};
use std::path::{Path, PathBuf};
use tm_scheduler::{AttemptNumber, TaskId};

/// The folder of the folders of tasks within that of a run.
pub(super) const TASKS: &str = "tasks";

/// The folder of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunDirectory {
    pub(crate) path: PathBuf,
}

impl RunDirectory {
    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, open to its owner alone.
    pub fn create(&self) -> Result<(), Error> {
        create_durable(&self.path.join(TASKS))
    }

    files! {
        /// Returns the file that says what was asked for: settings, versions, command line.
        manifest = "manifest.json";
        /// Returns the file that says what was seen of the base before any agent was started.
        preflight = "preflight.json";
        /// Returns the file that holds every input of the scheduler.
        journal = "journal.jsonl";
        /// Returns the file that tells every event, for people and programs.
        activity = "activity.jsonl";
        /// Returns the plan as it was shown before the start.
        plan = "plan.md";
        /// Returns what the agents learnt, all tasks together.
        context = "context.md";
        /// Returns how much of that has been noted for later runs.
        noted = "noted.json";
        /// Returns how far the run has come.
        progress = "progress.md";
        /// Returns the summary for people.
        summary = "summary.md";
        /// Returns the summary for programs.
        summary_json = "summary.json";
        /// Returns the summary for CI systems.
        junit = "junit.xml";
        /// Returns the report in one page.
        report = "report.html";
        /// Returns tm's own log.
        log = "tm.log";
        /// Returns what of the run's landings could not be shown when it was to be taken up; it need not exist.
        doubts = "doubts.json";
        /// Returns the folder with git's settings as they were when the run began.
        kept_settings = "git";
    }

    /// Returns the file that states what was proven of a task that landed; its folder is made.
    pub fn create_attestation(&self, task: &TaskId) -> Result<PathBuf, Error> {
        let folder = self.path.join("attestations");
        create_private(&folder)?;
        Ok(folder.join(format!("{}.intoto.json", safe_name(task))))
    }

    /// Returns the folder of one attempt, which need not exist.
    pub fn attempt(&self, task: &TaskId, attempt: AttemptNumber) -> AttemptDirectory {
        let within = format!("{TASKS}/{}/attempt-{attempt}", safe_name(task));
        AttemptDirectory {
            path: joined(&self.path, &within),
        }
    }
}

/// The folder of one attempt at one task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AttemptDirectory {
    path: PathBuf,
}

impl AttemptDirectory {
    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, open to its owner alone.
    pub fn create(&self) -> Result<(), Error> {
        create_private(&self.path)
    }

    files! {
        /// Returns what the agent is asked.
        prompt = "prompt.md";
        /// Returns what the agent claims in the end.
        result = "result.md";
        /// Returns what the agent learnt.
        context = "context.md";
        /// Returns what the agent printed.
        stdout = "stdout.log";
        /// Returns what the agent complained about.
        stderr = "stderr.log";
        /// Returns how to find the agent's process again.
        agent = "agent.json";
    }

    /// Returns the folder that is the agent's own where it is held: what it leaves for tm is written there.
    #[must_use]
    pub fn own(&self) -> Self {
        Self {
            path: joined(&self.path, "own"),
        }
    }

    /// Returns the folder of the further agent that may improve the attempt's code.
    #[must_use]
    pub fn refactor(&self) -> Self {
        Self {
            path: self.path.join("refactor"),
        }
    }

    /// Returns the folder of one start of a reviewer who judges the attempt's work.
    #[must_use]
    pub fn review(&self, gate: &str, number: u32) -> Self {
        Self {
            path: self.path.join(format!("review-{}-{number}", encode(gate))),
        }
    }

    /// Returns the results of one test run of the attempt.
    pub fn tests(&self, name: &str) -> PathBuf {
        self.path.join(format!("tests-{}.json", encode(name)))
    }
}

/// The folder of one loop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoopDirectory {
    pub(super) path: PathBuf,
}

impl LoopDirectory {
    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder, open to its owner alone.
    ///
    /// # Errors
    /// It can't be created.
    pub fn create(&self) -> Result<(), Error> {
        create_durable(&self.path)
    }

    /// Returns the file that says where the loop of a tag stands, for whoever comes after a crash.
    pub fn state(&self, tag: &str) -> PathBuf {
        self.path.join(format!("state-{}.json", encode(tag)))
    }

    files! {
        /// Returns the file that tells every event, for people and programs.
        activity = "activity.jsonl";
        /// Returns the summary for programs.
        summary_json = "summary.json";
        /// Returns the folder with git's settings as they were when the loop began, where its agents can write them.
        kept_settings = "git";
    }

    /// Returns the folder of one try at an iteration, which need not exist.
    pub fn attempt(&self, tag: &str, iteration: u32, attempt: u32) -> AttemptDirectory {
        let iteration = format!("iteration-{iteration}");
        let of_tag = self.path.join("lanes").join(encode(tag));
        let path = of_tag.join(iteration).join(format!("attempt-{attempt}"));
        AttemptDirectory { path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Home;
    use std::collections::BTreeSet;
    use std::fs;
    use tm_scheduler::RunId;

    #[test]
    fn hostile_task_stays_inside_the_run() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory {
            path: root.path().join("run"),
        };
        run.create().unwrap();
        let attempt = run.attempt(&"../../outside".into(), AttemptNumber(1));
        attempt.create().unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        assert_eq!(
            attempt.path().parent().unwrap().parent().unwrap(),
            run.path().join("tasks")
        );
        assert_eq!(attempt.tests("../x").parent().unwrap(), attempt.path());
    }

    #[test]
    fn attempts_of_all_tasks_have_folders_of_their_own() {
        let run = RunDirectory {
            path: PathBuf::from("run"),
        };
        let attempts = ["1", "1:red", "1.1"].map(TaskId::from);
        let folders: BTreeSet<PathBuf> = attempts
            .iter()
            .flat_map(|task| {
                [1, 2].map(|number| {
                    run.attempt(task, AttemptNumber(number))
                        .path()
                        .to_path_buf()
                })
            })
            .collect();
        assert_eq!(folders.len(), 6);
        assert!(folders.contains(Path::new("run/tasks/1+red/attempt-2")));
    }

    #[test]
    fn files_have_the_names_that_others_rely_on() {
        let run = RunDirectory {
            path: PathBuf::from("run"),
        };
        assert_eq!(run.journal(), Path::new("run/journal.jsonl"));
        assert_eq!(run.summary_json(), Path::new("run/summary.json"));
        let attempt = run.attempt(&"7".into(), AttemptNumber(3));
        assert_eq!(
            attempt.result(),
            Path::new("run/tasks/7/attempt-3/result.md")
        );
        assert_eq!(
            attempt.tests("baseline"),
            Path::new("run/tasks/7/attempt-3/tests-baseline.json")
        );
    }

    #[test]
    fn loops_are_listed_by_age_and_hostile_names_stay_inside() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("app/.git")).unwrap();
        let project = Home::new(root.path().join("home"))
            .project(&root.path().join("app/.git"))
            .unwrap();
        assert_eq!(project.loops().unwrap(), []);
        for id in ["20261121-014513-0001", "20261121-014512-3fa9"] {
            project
                .loop_directory(&id.into())
                .unwrap()
                .create()
                .unwrap();
        }
        let ids = project.loops().unwrap();
        assert_eq!(
            ids,
            ["20261121-014512-3fa9", "20261121-014513-0001"].map(RunId::from)
        );
        let directory = project.loop_directory(&ids[0]).unwrap();
        for path in [
            directory.attempt("../../x", 1, 2).path().to_owned(),
            directory.state("../x"),
        ] {
            assert!(
                path.starts_with(directory.path()) && !path.display().to_string().contains("/.."),
                "{path:?}"
            );
        }
        assert!(project.loop_directory(&"../x".into()).is_err());
    }
}
