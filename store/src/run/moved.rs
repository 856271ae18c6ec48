//! The project of a repository that was moved: found again by its runs, and taken along.
//!
//! A project's folder is named after the place of its repository. `repository.json` in it says where that is, where it
//! was before, and which repository it is: one that is deleted and cloned again is another one in the same place.

use super::home::ProjectDirectory;
use super::name::project_name;
use super::{read_json_if_there, write_json};
use crate::Error;
use crate::atomic::{self, folder_of, unless_missing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// What moves with a repository; the runs come last, because they tell that it is done.
const MOVED: [&str; 4] = ["notes", "worktrees", "live", "runs"];

/// The file that tells a repository from any other, in the folder that all its worktrees share: so it moves with it, is
/// copied with it, and is not cloned.
const IDENTITY: &str = "tm-identity";
/// No identity is longer.
const IDENTITY_BYTES: u64 = 1024;

/// Where a project's repository is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Whereabouts {
    version: u32,
    /// The folder that all worktrees of the repository share.
    pub common_dir: PathBuf,
    /// Where that was before, the oldest first.
    pub before: Vec<PathBuf>,
    /// Which repository it is; nothing where an earlier tm wrote it down.
    pub identity: Option<String>,
}

impl ProjectDirectory {
    fn repository_file(&self) -> PathBuf {
        self.path().join("repository.json")
    }

    /// Returns what may be projects in whose folders of worktrees a folder lies, by its real path and the names alone, the
    /// outermost first: what lies within a worktree is written by those who work there.
    pub fn around_worktree(folder: &Path) -> Vec<Self> {
        let Ok(folder) = folder.canonicalize() else {
            return Vec::new();
        };
        let above: Vec<&Path> = folder.ancestors().collect();
        let projects = above.windows(3).rev().filter_map(|path| match path {
            [worktrees, project, projects] if worktrees.ends_with("worktrees") => {
                projects.ends_with("projects").then_some(project)
            }
            _ => None,
        });
        projects
            .map(|project| Self::at(project.to_path_buf()))
            .collect()
    }

    /// Tells whether this is what tm calls the project of the repository with this common git dir. A repository that moves
    /// takes what it has along to the folder that is called after its new place.
    pub fn is_called_after(&self, common_dir: &Path) -> bool {
        common_dir.is_absolute()
            && self.path().file_name() == Some(project_name(common_dir).as_ref())
    }

    /// Writes down where the repository is where nobody has yet: its worktrees are to be told from checkouts of people's.
    pub fn remember_first_place(&self, common_dir: &Path) -> Result<(), Error> {
        match self.whereabouts()? {
            Some(_) => Ok(()),
            None => self.remember_place(common_dir, &[]),
        }
    }

    /// Returns where the repository is; `None` when nobody has written that down.
    pub fn whereabouts(&self) -> Result<Option<Whereabouts>, Error> {
        read_json_if_there(&self.repository_file())
    }

    fn identity_file(&self) -> Option<PathBuf> {
        Some(self.repository()?.join(IDENTITY))
    }

    /// Returns what tells the repository from any other; `None` until it is identified.
    pub fn identity(&self) -> Result<Option<String>, Error> {
        let Some(file) = self.identity_file() else {
            return Ok(None);
        };
        match tm_untrusted::read(&file, IDENTITY_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => {
                let bytes = read.map_err(Error::read(&file))?;
                Ok(Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()))
            }
        }
    }

    /// Returns what tells the repository from any other: the first run that tm had in it, which is this one where there
    /// has been none. The project has to be locked.
    pub fn identify(&self, run: &RunId) -> Result<String, Error> {
        if let Some(known) = self.identity()? {
            return Ok(known);
        }
        if let Some(file) = self.identity_file() {
            atomic::replace_own(&file, format!("{run}\n").as_bytes())
                .map_err(Error::write(&file))?;
        }
        Ok(run.to_string())
    }

    /// Tells whether what lies here is of a repository that was in the place of this one.
    pub fn is_of_another(&self) -> Result<bool, Error> {
        let known = self.whereabouts()?.and_then(|known| known.identity);
        Ok(known.is_some() && known != self.identity()?)
    }

    /// Writes down where the repository is, and which one it is.
    pub fn remember_place(&self, common_dir: &Path, before: &[PathBuf]) -> Result<(), Error> {
        let identity = self.identity()?;
        let known = self.whereabouts()?;
        let known = known.filter(|known| known.common_dir == common_dir && before.is_empty());
        if known
            .as_ref()
            .is_some_and(|known| known.identity == identity)
        {
            return Ok(());
        }
        let whereabouts = Whereabouts {
            version: 1,
            common_dir: common_dir.to_owned(),
            before: known.map_or_else(|| before.to_vec(), |known| known.before),
            identity,
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

    #[test]
    fn the_outermost_folder_of_worktrees_comes_first_whatever_is_made_in_a_worktree() {
        let root = tempfile::tempdir().unwrap();
        let (project, git_dir) = project(&root, "app");
        let worktree = project.worktrees_folder().join("20261121-014512-3fa9/1");
        let forged = worktree.join("projects/app-1/worktrees/2");
        fs::create_dir_all(&forged).unwrap();
        std::os::unix::fs::symlink(&worktree, root.path().join("link")).unwrap();
        let around = |folder: &Path| -> Vec<PathBuf> {
            let found = ProjectDirectory::around_worktree(folder);
            found.iter().map(|found| found.path().to_owned()).collect()
        };
        let real = project.path().canonicalize().unwrap();
        for folder in [&worktree, &root.path().join("link")] {
            assert_eq!(around(folder), std::slice::from_ref(&real));
        }
        assert_eq!(around(&forged).first(), Some(&real));
        assert_eq!(around(&forged).len(), 2);
        for folder in [&project.runs_folder(), &git_dir] {
            assert!(around(folder).is_empty(), "{}", folder.display());
        }
    }

    #[test]
    fn a_project_is_called_after_the_whole_place_of_its_repository_and_no_other() {
        let root = tempfile::tempdir().unwrap();
        let (project, git_dir) = project(&root, "app");
        let git_dir = git_dir.canonicalize().unwrap();
        assert!(project.is_called_after(&git_dir));
        assert!(!project.is_called_after(&root.path().join("other/app/.git")));
        let relative = Path::new("app/.git");
        let of_relative = ProjectDirectory::at(root.path().join(project_name(relative)));
        assert!(!of_relative.is_called_after(relative));
    }

    #[test]
    fn where_a_repository_is_is_written_down_once_for_its_worktrees() {
        let root = tempfile::tempdir().unwrap();
        let (project, git_dir) = project(&root, "app");
        let before = [root.path().join("before")];
        project.remember_place(&git_dir, &before).unwrap();
        project.remember_first_place(&git_dir).unwrap();
        assert_eq!(project.whereabouts().unwrap().unwrap().before, before);
        fs::remove_file(project.repository_file()).unwrap();
        project.remember_first_place(&git_dir).unwrap();
        assert_eq!(project.whereabouts().unwrap().unwrap().common_dir, git_dir);
    }

    #[test]
    fn what_lies_in_the_place_of_another_repository_is_known_as_such_until_that_is_remembered() {
        let root = tempfile::tempdir().unwrap();
        let (project, git_dir) = project(&root, "app");
        let run = |id: &str| RunId::from(id);
        assert!(!project.is_of_another().unwrap(), "an earlier tm wrote it");
        let (first, second) = (run("20261121-014512-3fa9"), run("20261121-014513-0001"));
        assert_eq!(project.identify(&first).unwrap(), first.as_str());
        assert_eq!(project.identify(&second).unwrap(), first.as_str());
        let elsewhere = [root.path().join("before")];
        project.remember_place(&git_dir, &elsewhere).unwrap();
        project.remember_place(&git_dir, &[]).unwrap();
        assert!(!project.is_of_another().unwrap());
        assert_eq!(project.whereabouts().unwrap().unwrap().before, elsewhere);
        fs::rename(&git_dir, root.path().join("away")).unwrap();
        fs::create_dir(&git_dir).unwrap();
        assert!(project.is_of_another().unwrap());
        assert_eq!(project.identify(&second).unwrap(), second.as_str());
        assert!(project.is_of_another().unwrap());
        project.remember_place(&git_dir, &[]).unwrap();
        assert!(!project.is_of_another().unwrap());
    }
}
