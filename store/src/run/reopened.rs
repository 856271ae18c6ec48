//! Tasks that a person opened again although their work has landed: they are to be done once more, whatever the history
//! says. A file each, until work on the task lands again.

use super::home::ProjectDirectory;
use super::name::{encode, safe_name};
use super::review::{read_versioned, write_versioned};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use tm_scheduler::{Tag, TaskId};

#[derive(Debug, Serialize, Deserialize)]
struct Reopened {
    task: TaskId,
}

impl ProjectDirectory {
    fn reopened_folder(&self, tag: &Tag) -> PathBuf {
        self.path().join("reopened").join(encode(tag.as_str()))
    }

    fn reopened_file(&self, tag: &Tag, task: &TaskId) -> PathBuf {
        self.reopened_folder(tag)
            .join(format!("{}.json", safe_name(task)))
    }

    /// Returns the tasks of a tag that are to be done once more.
    ///
    /// # Errors
    /// A file can't be read, or a newer version wrote it.
    pub fn reopened(&self, tag: &Tag) -> Result<BTreeSet<TaskId>, Error> {
        let folder = self.reopened_folder(tag);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(Error::read(&folder))?,
        };
        let mut tasks = BTreeSet::new();
        for entry in entries {
            let path = entry.map_err(Error::read(&folder))?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                tasks.extend(read_versioned::<Reopened>(&path)?.map(|reopened| reopened.task));
            }
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
        let path = self.reopened_file(tag, task);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::write(&path)(error)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::home::project;
    use super::*;

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
