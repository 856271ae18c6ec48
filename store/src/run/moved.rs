//! The project of a repository that was moved: found again by its runs, and taken along.
//!
//! A project's folder is named after the place of its repository. `repository.json` in it says where that is, and where
//! it was before.

use super::home::ProjectDirectory;
use super::{read_json_if_there, write_json};
use crate::Error;
use crate::atomic::{folder_of, unless_missing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// What moves with a repository; the runs come last, because they tell that it is done.
const MOVED: [&str; 4] = ["notes", "worktrees", "live", "runs"];

/// Where a project's repository is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Whereabouts {
    version: u32,
    /// The folder that all worktrees of the repository share.
    pub common_dir: PathBuf,
    /// Where that was before, the oldest first.
    pub before: Vec<PathBuf>,
}

impl ProjectDirectory {
    fn repository_file(&self) -> PathBuf {
        self.path().join("repository.json")
    }

    /// Returns where the repository is; `None` when nobody has written that down.
    pub fn whereabouts(&self) -> Result<Option<Whereabouts>, Error> {
        read_json_if_there(&self.repository_file())
    }

    /// Writes down where the repository is.
    pub fn remember_place(&self, common_dir: &Path, before: &[PathBuf]) -> Result<(), Error> {
        let is_known = |known: Whereabouts| known.common_dir == common_dir;
        if before.is_empty() && self.whereabouts()?.is_some_and(is_known) {
            return Ok(());
        }
        let whereabouts = Whereabouts {
            version: 1,
            common_dir: common_dir.to_owned(),
            before: before.to_vec(),
        };
        write_json(&self.repository_file(), &whereabouts)
    }

    /// Returns the project of a repository that is not any more where it was, and one of whose runs is of this
    /// repository.
    pub fn moved_from(
        &self,
        is_of_this: impl Fn(&RunId) -> bool,
    ) -> Result<Option<(Self, Whereabouts)>, Error> {
        let projects = folder_of(self.path());
        let entries = fs::read_dir(projects).map_err(Error::read(projects))?;
        let paths = entries.flatten().map(|entry| entry.path());
        for other in paths.filter(|path| path != self.path()).map(Self::at) {
            // What is no project of tm's is none that was moved.
            let Ok(Some(whereabouts)) = other.whereabouts() else {
                continue;
            };
            if !whereabouts.common_dir.exists() && other.runs()?.iter().any(&is_of_this) {
                return Ok(Some((other, whereabouts)));
            }
        }
        Ok(None)
    }

    /// Takes over the runs and worktrees of another project; both have to be locked. What is done in part is done
    /// again.
    pub fn take_along(&self, other: &Self) -> Result<(), Error> {
        for name in MOVED {
            let to = self.path().join(name);
            let moved = fs::rename(other.path().join(name), &to);
            unless_missing(moved).map_err(Error::write(&to))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Home;
    use tempfile::TempDir;

    fn project(root: &TempDir, name: &str) -> (ProjectDirectory, PathBuf) {
        let git_dir = root.path().join(name).join(".git");
        fs::create_dir_all(&git_dir).unwrap();
        let project = Home::new(root.path().join("home"))
            .project(&git_dir)
            .unwrap();
        project.create().unwrap();
        project.remember_place(&git_dir, &[]).unwrap();
        (project, git_dir)
    }

    #[test]
    fn runs_of_a_moved_repository_are_found_and_taken_along_again_and_again() {
        let root = tempfile::tempdir().unwrap();
        let (old, git_dir) = project(&root, "old");
        let run = RunId::from("20261121-014512-3fa9");
        old.run(&run).unwrap().create().unwrap();
        old.set_live(&run).unwrap();
        fs::create_dir_all(old.worktrees_folder().join("20261121-014512-3fa9/1")).unwrap();
        let (new, _) = project(&root, "new");
        assert_eq!(
            new.moved_from(|id| *id == run).unwrap(),
            None,
            "the repository is where it was"
        );
        fs::remove_dir(&git_dir).unwrap();
        assert_eq!(
            new.moved_from(|_| false).unwrap(),
            None,
            "the runs are of another repository"
        );
        let (found, whereabouts) = new.moved_from(|id| *id == run).unwrap().unwrap();
        assert_eq!(
            (found.path(), &whereabouts.common_dir),
            (old.path(), &git_dir)
        );
        new.take_along(&found).unwrap();
        new.take_along(&found).unwrap();
        assert_eq!(
            (new.runs().unwrap(), new.live().unwrap()),
            (vec![run.clone()], Some(run))
        );
        assert!(
            new.worktrees_folder()
                .join("20261121-014512-3fa9/1")
                .is_dir()
        );
        assert_eq!(old.runs().unwrap(), []);
    }
}
