//! What people decided about the work of a run, and what the next run is to know of it.
//!
//! A decision about a branch is a file of its own in the run's folder, so that two people who review at the same time
//! can't undo each other's. What was rejected is kept in the project's folder until work on that task lands again.

use super::directory::RunDirectory;
use super::home::ProjectDirectory;
use super::json::{read_json, read_json_if_there, write_json};
use super::name::{encode, safe_name};
use crate::Error;
use crate::file_system::{create_durable, entries_if_there, remove_if_there};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tm_scheduler::{CommitId, RunId, Tag, TaskId};

/// The version of both formats.
const VERSION: u32 = 1;

/// What a person decided about the work of a task.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "kebab-case")]
pub enum Decision {
    /// It is good.
    Approved,
    /// It is to be done again.
    Rejected {
        /// Why, for the next attempt.
        reason: String,
    },
}

/// A decision about the work of one task of a run.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The task, within the run.
    pub task: TaskId,
    /// The commit that was looked at.
    pub commit: CommitId,
    /// When, RFC 3339.
    pub at: String,
    /// What was decided.
    #[serde(flatten)]
    pub decision: Decision,
}

/// Work that was rejected, as evidence for whoever does the task next.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// The run that did the work.
    pub run: RunId,
    /// The task, within that run.
    pub task: TaskId,
    /// Its branch.
    pub branch: String,
    /// Its commit.
    pub commit: CommitId,
    /// Why it was rejected.
    pub reason: String,
    /// When, RFC 3339.
    pub at: String,
}

/// A file with its version, as it is written.
#[derive(Debug, Serialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// All rejections of one task of the backlog, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Rejections {
    rejections: Vec<Rejection>,
}

impl RunDirectory {
    fn review_file(&self, task: &TaskId) -> PathBuf {
        of_task(&self.path().join("reviews"), task)
    }

    /// Returns what was decided about a task last; nothing while nobody has.
    ///
    /// # Errors
    /// The file can't be read, or a newer version wrote it.
    pub fn review(&self, task: &TaskId) -> Result<Option<Review>, Error> {
        read_versioned(&self.review_file(task))
    }

    /// Keeps a decision, in place of the one before.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn set_review(&self, review: &Review) -> Result<(), Error> {
        write_versioned(&self.review_file(&review.task), review)
    }
}

impl ProjectDirectory {
    fn rejections_file(&self, tag: &Tag, task: &TaskId) -> PathBuf {
        of_task(&self.folder_of("rejections", tag), task)
    }

    fn folder_of(&self, what: &str, tag: &Tag) -> PathBuf {
        self.path().join(what).join(encode(tag.as_str()))
    }

    /// Returns what was rejected of a task of the backlog and has not been done again since, the oldest first.
    ///
    /// # Errors
    /// The file can't be read, or a newer version wrote it.
    pub fn rejections(&self, tag: &Tag, task: &TaskId) -> Result<Vec<Rejection>, Error> {
        let found: Option<Rejections> = read_versioned(&self.rejections_file(tag, task))?;
        Ok(found.unwrap_or_default().rejections)
    }

    /// Adds a rejection, in place of one of the same work. The caller holds the run lock.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn add_rejection(
        &self,
        tag: &Tag,
        task: &TaskId,
        rejection: Rejection,
    ) -> Result<(), Error> {
        let mut rejections = self.rejections(tag, task)?;
        rejections.retain(|old| old.run != rejection.run || old.task != rejection.task);
        rejections.push(rejection);
        self.keep_rejections(tag, task, rejections)
    }

    /// Forgets the rejections for which `is_settled` holds. The caller holds the run lock.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn forget_rejections(
        &self,
        tag: &Tag,
        task: &TaskId,
        is_settled: impl Fn(&Rejection) -> bool,
    ) -> Result<(), Error> {
        let mut rejections = self.rejections(tag, task)?;
        if !rejections.iter().any(&is_settled) {
            return Ok(());
        }
        rejections.retain(|rejection| !is_settled(rejection));
        self.keep_rejections(tag, task, rejections)
    }

    fn keep_rejections(
        &self,
        tag: &Tag,
        task: &TaskId,
        rejections: Vec<Rejection>,
    ) -> Result<(), Error> {
        let path = self.rejections_file(tag, task);
        if rejections.is_empty() {
            return remove_if_there(&path);
        }
        write_versioned(&path, &Rejections { rejections })
    }
}

/// A task that a person opened again although its work has landed: it is to be done once more, whatever the history says,
/// until work on it lands again.
#[derive(Debug, Serialize, Deserialize)]
struct Reopened {
    task: TaskId,
}

impl ProjectDirectory {
    fn reopened_file(&self, tag: &Tag, task: &TaskId) -> PathBuf {
        of_task(&self.folder_of("reopened", tag), task)
    }

    /// Returns the tasks of a tag that are to be done once more.
    ///
    /// # Errors
    /// A file can't be read, or a newer version wrote it.
    pub fn reopened(&self, tag: &Tag) -> Result<BTreeSet<TaskId>, Error> {
        let files = entries_if_there(&self.folder_of("reopened", tag))?;
        let is_json = |path: &&PathBuf| path.extension().is_some_and(|end| end == "json");
        let mut tasks = BTreeSet::new();
        for path in files.iter().filter(is_json) {
            tasks.extend(read_versioned::<Reopened>(path)?.map(|reopened| reopened.task));
        }
        Ok(tasks)
    }

    /// Has a task done once more.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn reopen(&self, tag: &Tag, task: &TaskId) -> Result<(), Error> {
        write_versioned(
            &self.reopened_file(tag, task),
            &Reopened { task: task.clone() },
        )
    }

    /// Forgets that a task is to be done once more.
    ///
    /// # Errors
    /// The file can't be removed.
    pub fn close_again(&self, tag: &Tag, task: &TaskId) -> Result<(), Error> {
        remove_if_there(&self.reopened_file(tag, task))
    }
}

/// The file of a task.
fn of_task(folder: &Path, task: &TaskId) -> PathBuf {
    folder.join(format!("{}.json", safe_name(task)))
}

fn read_versioned<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u32,
    }
    match read_json_if_there(path)? {
        None => Ok(None),
        Some(VersionOnly { version }) if version > VERSION => Err(Error::NewerFile {
            path: path.to_owned(),
            found: version,
            supported: VERSION,
        }),
        Some(_) => read_json(path).map(Some),
    }
}

fn write_versioned<T: Serialize>(path: &Path, content: &T) -> Result<(), Error> {
    create_durable(crate::atomic::folder_of(path))?;
    write_json(
        path,
        &Versioned {
            version: VERSION,
            content,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::home::project;
    use super::*;

    fn rejection(run: &str, reason: &str) -> Rejection {
        Rejection {
            run: run.into(),
            task: "1".into(),
            branch: "tm/master/task-1".into(),
            commit: "0".repeat(40).as_str().into(),
            reason: reason.to_owned(),
            at: "2026-11-21T01:45:12Z".to_owned(),
        }
    }

    #[test]
    fn last_decision_about_a_task_counts() {
        let root = tempfile::tempdir().unwrap();
        let run = project(root.path()).run(&"r".into()).unwrap();
        let task = TaskId::from("../1:red");
        assert_eq!(run.review(&task).unwrap(), None);
        for decision in [
            Decision::Approved,
            Decision::Rejected {
                reason: "too slow".to_owned(),
            },
        ] {
            let review = Review {
                task: task.clone(),
                commit: "c".into(),
                at: String::new(),
                decision,
            };
            run.set_review(&review).unwrap();
            assert_eq!(run.review(&task).unwrap(), Some(review));
        }
        assert_eq!(
            std::fs::read_dir(run.path().join("reviews"))
                .unwrap()
                .count(),
            1
        );
    }

    #[test]
    fn rejections_stay_until_they_are_settled() {
        let root = tempfile::tempdir().unwrap();
        let (project, tag, task) = (project(root.path()), Tag::from("a/b"), TaskId::from("1"));
        project
            .add_rejection(&tag, &task, rejection("r1", "wrong name"))
            .unwrap();
        project
            .add_rejection(&tag, &task, rejection("r2", "too slow"))
            .unwrap();
        project
            .add_rejection(&tag, &task, rejection("r1", "wrong word"))
            .unwrap();
        let reasons = || {
            let kept = project.rejections(&tag, &task).unwrap();
            kept.into_iter()
                .map(|rejection| rejection.reason)
                .collect::<Vec<_>>()
        };
        assert_eq!(reasons(), ["too slow", "wrong word"]);
        assert_eq!(project.rejections(&Tag::from("other"), &task).unwrap(), []);
        project
            .forget_rejections(&tag, &task, |rejection| rejection.run != "r2".into())
            .unwrap();
        assert_eq!(reasons(), ["too slow"]);
        project.forget_rejections(&tag, &task, |_| true).unwrap();
        assert_eq!(reasons(), Vec::<String>::new());
        assert!(!project.rejections_file(&tag, &task).exists());
    }

    #[test]
    fn file_of_a_newer_version_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let run = project(root.path()).run(&"r".into()).unwrap();
        let path = run.review_file(&"1".into());
        create_durable(crate::atomic::folder_of(&path)).unwrap();
        crate::atomic::replace(&path, b"{\"version\": 2, \"other\": 1}").unwrap();
        assert!(matches!(
            run.review(&"1".into()),
            Err(Error::NewerFile { found: 2, .. })
        ));
    }

    #[test]
    fn tasks_stay_open_again_until_they_are_done() {
        let root = tempfile::tempdir().unwrap();
        let (project, tag) = (project(root.path()), Tag::from("a/b"));
        assert!(project.reopened(&tag).unwrap().is_empty());
        for task in ["1", "1.2"] {
            project.reopen(&tag, &task.into()).unwrap();
        }
        project.close_again(&tag, &"1".into()).unwrap();
        project.close_again(&tag, &"7".into()).unwrap();
        assert_eq!(
            project.reopened(&tag).unwrap(),
            BTreeSet::from(["1.2".into()])
        );
        assert!(project.reopened(&"other".into()).unwrap().is_empty());
    }
}
