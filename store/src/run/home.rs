//! Where everything of a project lies: `projects/<project>/` under tm's home folder.
//!
//! Knows names and places; what a run writes is the business of its own directory.

use super::directory::{LoopDirectory, RunDirectory};
use super::name::{check_run_id, is_autopilot_run, project_name};
use crate::file_system::{create_durable, entries_if_there, ids_in, ignore_all};
use crate::{Error, atomic};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// The name of a run is no longer.
const LIVE_BYTES: u64 = 4 * 1024;
/// The folder of a run that is being removed begins with it; no run does.
const GONE: &str = ".gone-";

/// The folder that holds the runs of all projects, usually `~/.taskmaster`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Takes the folder, which need not exist yet.
    pub const fn new(taskmaster_home: PathBuf) -> Self {
        Self {
            path: taskmaster_home,
        }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the place of the repository with this common git dir, which all its worktrees share.
    pub fn project(&self, common_git_dir: &Path) -> Result<ProjectDirectory, Error> {
        let canonical = fs::canonicalize(common_git_dir).map_err(Error::read(common_git_dir))?;
        let path = self.path.join("projects").join(project_name(&canonical));
        Ok(ProjectDirectory {
            path,
            repository: Some(canonical),
        })
    }
}

/// The folder of one project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProjectDirectory {
    path: PathBuf,
    /// The folder that all worktrees of its repository share; nothing for a project whose repository is gone.
    repository: Option<PathBuf>,
}

impl ProjectDirectory {
    pub(super) const fn at(path: PathBuf) -> Self {
        Self {
            path,
            repository: None,
        }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder that all worktrees of the repository share, and whose lock means that a run is live.
    pub fn repository(&self) -> Option<&Path> {
        self.repository.as_deref()
    }

    files! {
        /// Returns the file of this home that is locked while a run is live.
        lock_file = "run.lock";
        /// Returns the file that names the live run, or the last one.
        live_file = "live";
        /// Returns the folder with what leads to the socket of the live run.
        control_folder = "control";
        /// Returns the folder with one folder per run.
        runs_folder = "runs";
        /// Returns the folder with the worktrees of all runs.
        worktrees_folder = "worktrees";
        /// Returns the folder with one folder per loop.
        loops_folder = "loops";
        /// Returns the folder that names the tests and commits under way, for whoever comes after a crash.
        under_way = "under-way";
        /// Returns the folder with one folder per job that runs on another machine.
        jobs_folder = "jobs";
        /// Returns the folder for temporary files of such jobs.
        temporary_folder = "tmp";
    }

    /// Returns the file of the repository that is locked while a run is live, for all homes to see.
    pub fn shared_lock_file(&self) -> Option<PathBuf> {
        self.repository().map(shared_lock_file)
    }

    /// Creates the folders, open to their owner alone.
    pub fn create(&self) -> Result<(), Error> {
        create_durable(&self.runs_folder())?;
        create_durable(&self.worktrees_folder())
    }

    /// Returns the folder of all projects.
    pub fn of_all(&self) -> &Path {
        atomic::folder_of(&self.path)
    }

    /// Makes git ignore everything below `projects/`, for a home inside the project; an own `.gitignore` stays.
    pub fn ignore_itself(&self) -> Result<(), Error> {
        create_durable(self.of_all())?;
        ignore_all(self.of_all())
    }

    /// Returns the run that was started last, nothing before the first.
    pub fn live(&self) -> Result<Option<RunId>, Error> {
        let file = self.live_file();
        let bytes = match tm_untrusted::read(&file, LIVE_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(Error::read(&file))?,
        };
        let run_id = RunId::new(String::from_utf8_lossy(&bytes).trim_end());
        check_run_id(&run_id).map(|()| Some(run_id))
    }

    /// Records the run as the one that was started last.
    pub fn set_live(&self, run_id: &RunId) -> Result<(), Error> {
        check_run_id(run_id)?;
        let file = self.live_file();
        atomic::replace_own(&file, format!("{run_id}\n").as_bytes()).map_err(Error::write(&file))
    }

    /// Returns all runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunId>, Error> {
        // Anything else may lie there, too.
        let is_run = |id: &RunId, path: &Path| {
            check_run_id(id).is_ok() && path.is_dir() && !is_autopilot_run(id)
        };
        ids_in(&self.runs_folder(), is_run)
    }

    /// Returns the directory of a run, which need not exist.
    pub fn run(&self, run_id: &RunId) -> Result<RunDirectory, Error> {
        check_run_id(run_id)?;
        let path = self.runs_folder().join(run_id.as_str());
        Ok(RunDirectory { path })
    }

    /// Removes the folder of a run: it is none any more before anything in it goes.
    pub fn remove_run(&self, run_id: &RunId) -> Result<(), Error> {
        self.put_away(self.run(run_id)?.path(), run_id)
    }

    /// Removes the folder of a loop in the same way.
    pub fn remove_loop(&self, id: &RunId) -> Result<(), Error> {
        self.put_away(self.loop_directory(id)?.path(), id)
    }

    fn put_away(&self, folder: &Path, id: &RunId) -> Result<(), Error> {
        let gone = folder.with_file_name(format!("{GONE}{id}"));
        tm_faults::check("run: put away")
            .and_then(|()| fs::rename(folder, &gone))
            .map_err(Error::write(folder))?;
        self.remove_rests()
    }

    /// Removes what is left of folders of runs and loops where a process died while it removed them.
    pub fn remove_rests(&self) -> Result<(), Error> {
        let folders = [self.runs_folder(), self.loops_folder()].into_iter();
        let entries: Vec<_> = folders
            .map(|folder| entries_if_there(&folder))
            .collect::<Result<_, _>>()?;
        for path in entries.concat() {
            let name = path.file_name().unwrap_or_default();
            if name.to_string_lossy().starts_with(GONE) {
                tm_faults::check("run: remove")
                    .and_then(|()| tm_untrusted::remove_folder(&path))
                    .map_err(Error::write(&path))?;
            }
        }
        Ok(())
    }

    /// Returns all loops, oldest first.
    pub fn loops(&self) -> Result<Vec<RunId>, Error> {
        ids_in(&self.loops_folder(), |id, _| check_run_id(id).is_ok())
    }

    /// Returns the directory of a loop, which need not exist.
    pub fn loop_directory(&self, id: &RunId) -> Result<LoopDirectory, Error> {
        check_run_id(id)?;
        let path = self.loops_folder().join(id.as_str());
        Ok(LoopDirectory { path })
    }
}

/// The lock file in the folder that all worktrees of a repository share.
pub(super) fn shared_lock_file(common_git_dir: &Path) -> PathBuf {
    common_git_dir.join("tm-run.lock")
}

/// The project of a repository and a home below one folder, for tests.
#[cfg(test)]
pub(super) fn project(root: &Path) -> ProjectDirectory {
    let git_dir = root.join("app/.git");
    fs::create_dir_all(&git_dir).expect("a folder");
    Home::new(root.join("home"))
        .project(&git_dir)
        .expect("a project")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn two_ways_to_one_repository_are_one_project() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        symlink("app", root.path().join("link")).unwrap();
        let home = Home::new(root.path().join("home"));
        assert_eq!(
            home.project(&root.path().join("link/.git")).unwrap(),
            project
        );
        assert_eq!(
            home.project(&root.path().join("app/../app/.git")).unwrap(),
            project
        );
        assert!(
            project
                .path()
                .starts_with(root.path().join("home/projects"))
        );
    }

    #[test]
    fn repository_that_is_not_there_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::new(root.path().to_path_buf());
        assert!(matches!(
            home.project(&root.path().join("none")),
            Err(Error::Read { .. })
        ));
    }

    #[test]
    fn folders_are_open_to_their_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.create().unwrap();
        for folder in [
            project.path().to_path_buf(),
            project.runs_folder(),
            project.worktrees_folder(),
        ] {
            assert_eq!(
                fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
                0o700,
                "{}",
                folder.display()
            );
        }
    }

    #[test]
    fn live_run_is_the_one_that_was_set_last() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.create().unwrap();
        assert_eq!(project.live().unwrap(), None);
        for run_id in ["20261121-014512-3fa9", "20261121-014513-0001"].map(RunId::from) {
            project.set_live(&run_id).unwrap();
            assert_eq!(project.live().unwrap(), Some(run_id));
        }
    }

    #[test]
    fn run_id_that_leads_elsewhere_is_refused_everywhere() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.create().unwrap();
        let outside = RunId::from("../../../etc");
        assert!(matches!(
            project.set_live(&outside),
            Err(Error::UnsafeRunId { .. })
        ));
        assert!(matches!(
            project.run(&outside),
            Err(Error::UnsafeRunId { .. })
        ));
        atomic::replace(&project.live_file(), b"../../../etc\n").unwrap();
        assert!(matches!(project.live(), Err(Error::UnsafeRunId { .. })));
    }

    #[test]
    fn runs_are_listed_by_age_and_strangers_left_out() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        assert_eq!(project.runs().unwrap(), []);
        project.create().unwrap();
        let ids = ["20261121-014513-0001", "20261121-014512-3fa9"].map(RunId::from);
        for id in &ids {
            project.run(id).unwrap().create().unwrap();
        }
        fs::create_dir(project.runs_folder().join(".trash")).unwrap();
        fs::create_dir(
            project
                .runs_folder()
                .join("master__task-1__2026-11-21T01-45-12-000Z"),
        )
        .unwrap();
        atomic::replace(&project.runs_folder().join("notes"), b"").unwrap();
        assert_eq!(project.runs().unwrap(), [ids[1].clone(), ids[0].clone()]);
    }

    #[test]
    fn run_that_is_removed_in_part_is_none_and_its_rest_goes_with_the_next() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.remove_rests().unwrap();
        project.create().unwrap();
        let ids = ["20261121-014512-3fa9", "20261121-014513-0001"].map(RunId::from);
        for id in &ids {
            project.run(id).unwrap().create().unwrap();
        }
        let runs = project.runs_folder();
        fs::rename(
            runs.join(ids[0].as_str()),
            runs.join(".gone-20261121-014512-3fa9"),
        )
        .unwrap();
        assert_eq!(project.runs().unwrap(), [ids[1].clone()]);
        project.remove_run(&ids[1]).unwrap();
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
        assert!(project.remove_run(&ids[1]).is_err());
        assert!(project.remove_run(&"../runs".into()).is_err());
    }

    #[test]
    fn home_inside_the_project_is_ignored_by_git() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        project.ignore_itself().unwrap();
        let gitignore = root.path().join("home/projects/.gitignore");
        assert_eq!(fs::read(&gitignore).unwrap(), b"*\n");
        atomic::replace(&gitignore, b"mine\n").unwrap();
        project.ignore_itself().unwrap();
        assert_eq!(fs::read(&gitignore).unwrap(), b"mine\n");
    }
}
