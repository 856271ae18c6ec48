//! Where the loops of a project lie: `loops/<loop>/` beside its runs.
//!
//! Knows names only: each file's content belongs to whoever writes it.

use super::directory::AttemptDirectory;
use super::folder::create_durable;
use super::home::ProjectDirectory;
use super::name::{check_run_id, encode};
use crate::Error;
use crate::file_system::ids_in;
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// The folder of one loop.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoopDirectory {
    path: PathBuf,
}

impl ProjectDirectory {
    /// Returns the directory of a loop, which need not exist.
    ///
    /// # Errors
    /// The id could lead elsewhere.
    pub fn loop_directory(&self, id: &RunId) -> Result<LoopDirectory, Error> {
        check_run_id(id)?;
        Ok(LoopDirectory {
            path: self.loops_folder().join(id.as_str()),
        })
    }

    fn loops_folder(&self) -> PathBuf {
        self.path().join("loops")
    }

    /// Returns all loops, oldest first.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn loops(&self) -> Result<Vec<RunId>, Error> {
        ids_in(&self.loops_folder(), |id, _| check_run_id(id).is_ok())
    }
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

    /// Returns the file that says where a lane of the loop stands, for whoever comes after a crash.
    pub fn state(&self, lane: &str) -> PathBuf {
        self.path.join(format!("state-{}.json", encode(lane)))
    }

    files! {
        /// Returns the file that tells every event, for people and programs.
        activity = "activity.jsonl";
        /// Returns the summary for programs.
        summary_json = "summary.json";
    }

    /// Returns the folder of one try at an iteration, which need not exist.
    pub fn attempt(&self, lane: &str, iteration: u32, attempt: u32) -> AttemptDirectory {
        let iteration = format!("iteration-{iteration}");
        AttemptDirectory::new(
            self.path
                .join("lanes")
                .join(encode(lane))
                .join(iteration)
                .join(format!("attempt-{attempt}")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Home;

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
