//! Where autopilot's files of one checkout lie, which run of a tag is the current one, and who may change them.
//!
//! Every worktree has a place of its own, named after its whole git folder, so two paths never share one.

use super::run::AutopilotRun;
use crate::file_system::{
    create_durable, entries_if_there, ids_in, ignore_all, remove_if_there, try_lock,
};
use crate::run::{Home, check_autopilot_run_id, encode, read_json, read_json_if_there, write_json};
use crate::{Error, atomic};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_scheduler::{RunId, Tag, TaskId};
use tm_untrusted::unguessable_name;

/// The folder with the runs of one checkout.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
pub struct AutopilotFolder {
    path: PathBuf,
    lies: Lies,
}

/// Whose folder it is in.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lies {
    InHome,
    InProject,
}

impl Lies {
    /// Returns the name of a run's log of events.
    const fn log(self) -> &'static str {
        match self {
            Self::InHome => "activity.jsonl",
            Self::InProject => "log.jsonl",
        }
    }
}

impl AutopilotFolder {
    /// Returns the place under the home folder of the worktree with this git folder.
    ///
    /// # Errors
    /// There is no such git folder.
    pub fn in_home(home: &Home, git_dir: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: home.project(git_dir)?.path().to_owned(),
            lies: Lies::InHome,
        })
    }

    /// Returns the place within a checkout: `.taskmaster/reports`.
    pub fn in_project(checkout: &Path) -> Self {
        Self {
            path: checkout.join(".taskmaster/reports"),
            lies: Lies::InProject,
        }
    }

    /// Creates the folders, and makes git ignore them where they lie in a checkout.
    ///
    /// # Errors
    /// They can't be written.
    pub fn create(&self) -> Result<(), Error> {
        for folder in [self.runs_folder(), self.tags_folder()] {
            create_durable(&folder)?;
            if self.lies == Lies::InProject {
                ignore_all(&folder)?;
            }
        }
        Ok(())
    }

    /// Moves what lies in the place of the folders and is none aside; returns where that is now.
    ///
    /// # Errors
    /// It can't be moved.
    pub fn make_way(&self) -> Result<Vec<PathBuf>, Error> {
        let mut moved = Vec::new();
        for folder in [self.path.clone(), self.runs_folder(), self.tags_folder()] {
            if folder.symlink_metadata().is_ok() && !folder.is_dir() {
                let aside = atomic::folder_of(&folder).join(unguessable_name("moved-"));
                std::fs::rename(&folder, &aside).map_err(Error::write(&folder))?;
                moved.push(aside);
            }
        }
        Ok(moved)
    }

    fn runs_folder(&self) -> PathBuf {
        self.path.join("runs")
    }

    fn tags_folder(&self) -> PathBuf {
        self.path.join("tags")
    }

    /// Returns the file that says of what the tests were seen to run before a run began.
    pub fn good_look(&self) -> PathBuf {
        self.tags_folder().join(".preflight.json")
    }

    fn notes_folder(&self) -> PathBuf {
        self.path.join("begun")
    }

    /// Returns the file with the note of a run that has begun, wherever its own folder lies.
    ///
    /// # Errors
    /// The id is none of autopilot's.
    pub fn note(&self, id: &RunId) -> Result<PathBuf, Error> {
        check_autopilot_run_id(id)?;
        Ok(self.notes_folder().join(id.as_str()))
    }

    /// Creates the folder of notes, open to its owner alone.
    ///
    /// # Errors
    /// It can't be written.
    pub fn create_notes(&self) -> Result<(), Error> {
        create_durable(&self.notes_folder())
    }

    /// Removes the note of a run; one that is gone already is as good.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn remove_note(&self, id: &RunId) -> Result<(), Error> {
        remove_if_there(&self.note(id)?)
    }

    /// Returns the runs of which there is a note.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn noted(&self) -> Result<Vec<RunId>, Error> {
        ids_in(&self.notes_folder(), |id, _| {
            check_autopilot_run_id(id).is_ok()
        })
    }

    fn pointer(&self, current: &CurrentRun) -> PathBuf {
        let tag = self.tags_folder().join(encode(current.tag.as_str()));
        tag.join("current-run.json")
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        // Beside the pointers, which git ignores in a checkout.
        self.tags_folder().join(".lock")
    }

    /// Returns a run, which need not exist.
    ///
    /// # Errors
    /// The id is none of autopilot's.
    pub fn run(&self, id: &RunId) -> Result<AutopilotRun, Error> {
        check_autopilot_run_id(id)?;
        Ok(AutopilotRun::new(
            self.runs_folder().join(id.as_str()),
            self.lies.log(),
        ))
    }

    /// Tells whether something lies where the state of a run is.
    pub fn has_state(&self, id: &RunId) -> bool {
        self.run(id).is_ok_and(|run| run.state().exists())
    }

    /// Records a run as the current one of its tag, and of no other: a tag can be renamed.
    ///
    /// # Errors
    /// The pointer can't be written.
    pub fn point(&self, current: &CurrentRun) -> Result<(), Error> {
        check_autopilot_run_id(&current.run_id)?;
        let file = self.pointer(current);
        create_durable(atomic::folder_of(&file))?;
        if read_json::<CurrentRun>(&file).is_ok_and(|known| known == *current) {
            return Ok(());
        }
        write_json(&file, current)?;
        for other in self.current_runs().0 {
            if other.run_id == current.run_id && other.tag != current.tag {
                self.forget(&other)?;
            }
        }
        Ok(())
    }

    /// Removes the pointer to a run where it is the current one of its tag.
    ///
    /// # Errors
    /// The pointer can't be removed.
    pub fn forget(&self, current: &CurrentRun) -> Result<(), Error> {
        let file = self.pointer(current);
        if read_json::<CurrentRun>(&file).is_ok_and(|known| known.run_id == current.run_id) {
            std::fs::remove_file(&file).map_err(Error::write(&file))?;
        }
        Ok(())
    }

    /// Returns the current run of each tag, the one to go on with first: unfinished before finished, then the latest; and why
    /// pointers can't be read, which keep nobody from the others.
    pub fn current_runs(&self) -> (Vec<CurrentRun>, Vec<Error>) {
        let folders = match entries_if_there(&self.tags_folder()) {
            Ok(folders) => folders,
            Err(error) => return (Vec::new(), vec![error]),
        };
        let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
        for read in folders.iter().filter_map(|folder| read_pointer(folder)) {
            match read {
                Ok(run) => runs.push(run),
                Err(error) => unreadable.push(error),
            }
        }
        runs.sort_by_cached_key(|run| {
            let latest_first = Reverse(run.start_time.clone());
            (run.status, latest_first, run.run_id.clone())
        });
        (runs, unreadable)
    }

    /// Removes the pointers to a run, of whatever tags they are; one that can't be read points nowhere.
    ///
    /// # Errors
    /// A pointer can't be removed.
    pub fn forget_run(&self, id: &RunId) -> Result<(), Error> {
        let (runs, _) = self.current_runs();
        let mut of_run = runs.iter().filter(|run| run.run_id == *id);
        of_run.try_for_each(|run| self.forget(run))
    }

    /// Returns all runs, oldest first within a tag and task.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn runs(&self) -> Result<Vec<RunId>, Error> {
        ids_in(&self.runs_folder(), |id, _| {
            check_autopilot_run_id(id).is_ok()
        })
    }
}

/// Reads the pointer in the folder of a tag; `None` where there is none.
fn read_pointer(folder: &Path) -> Option<Result<CurrentRun, Error>> {
    // Beside the folders of tags are files.
    let file = folder.is_dir().then(|| folder.join("current-run.json"))?;
    let read = read_json_if_there::<CurrentRun>(&file).transpose()?;
    let checked = |run: CurrentRun| check_autopilot_run_id(&run.run_id).map(|()| run);
    Some(read.and_then(checked))
}

/// The content of `current-run.json`.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentRun {
    /// The run.
    pub run_id: RunId,
    /// Its task.
    pub task_id: TaskId,
    /// Its tag.
    pub tag: Tag,
    /// When it began, as in RFC 3339, in UTC.
    pub start_time: String,
    /// How far it is.
    pub status: PointerStatus,
    /// What tells its repository from one that comes into its place; nothing where an earlier tm began the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

tm_scheduler::words! {
    /// How far a run is; unfinished ones come first.
    pub enum PointerStatus {
        /// It goes on with the next call.
        InProgress = "in-progress",
        /// It goes on when it is resumed.
        Paused = "paused",
        /// Everything is committed and checked.
        Completed = "completed",
        /// It was given up.
        Aborted = "aborted",
    }
}

const PAUSE: Duration = Duration::from_millis(20);

/// The right to change the runs of a checkout; ends when dropped, or with the process.
#[derive(Debug)]
pub struct AutopilotLock {
    _file: File,
}

impl AutopilotLock {
    /// Takes the lock and waits for it as long as `patience`.
    ///
    /// # Errors
    /// Somebody else holds it all that time, or it can't be written.
    pub fn acquire(folder: &AutopilotFolder, patience: Duration) -> Result<Self, Error> {
        folder.create()?;
        let path = folder.lock_file();
        let open = tm_untrusted::append_private(&path);
        let file = open.map_err(Error::lock(&path))?;
        let tries = patience.as_millis() / PAUSE.as_millis() + 1;
        for _ in 0..tries {
            if try_lock(&file).map_err(Error::lock(&path))? {
                return Ok(Self { _file: file });
            }
            std::thread::sleep(PAUSE);
        }
        Err(Error::Busy { path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current(tag: &str, status: PointerStatus, second: u8) -> CurrentRun {
        CurrentRun {
            run_id: RunId::new(format!("{tag}__task-1__2026-01-01T00-00-0{second}-000Z")),
            task_id: "1".into(),
            tag: tag.into(),
            start_time: format!("2026-01-01T00:00:0{second}.000Z"),
            status,
            repository: None,
        }
    }

    #[test]
    fn paths_that_differ_in_one_byte_have_places_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::new(root.path().join("home"));
        let mut places = std::collections::BTreeSet::new();
        for path in ["a/b-c", "a/b/c", "a/b c", "a-b/c", "A/b-c"] {
            let git_dir = root.path().join(path).join(".git");
            std::fs::create_dir_all(&git_dir).unwrap();
            places.insert(AutopilotFolder::in_home(&home, &git_dir).unwrap().path);
        }
        assert_eq!(places.len(), 5);
    }

    #[test]
    fn the_unfinished_run_comes_first_and_then_the_latest() {
        let root = tempfile::tempdir().unwrap();
        let folder = AutopilotFolder::in_project(root.path());
        folder.create().unwrap();
        assert_eq!(folder.current_runs().0, []);
        let runs = [
            current("a", PointerStatus::Completed, 9),
            current("b", PointerStatus::Paused, 1),
            current("c/..", PointerStatus::Paused, 2).with_safe_id(),
            current("d", PointerStatus::InProgress, 0),
        ];
        for run in &runs {
            folder.point(run).unwrap();
        }
        let tags: Vec<String> = folder
            .current_runs()
            .0
            .iter()
            .map(|run| run.tag.to_string())
            .collect();
        assert_eq!(tags, ["d", "c/..", "b", "a"]);
        assert!(
            root.path()
                .join(".taskmaster/reports/tags/.gitignore")
                .exists()
        );
    }

    impl CurrentRun {
        fn with_safe_id(self) -> Self {
            Self {
                run_id: "c__task-1__x".into(),
                ..self
            }
        }
    }

    #[test]
    fn a_run_whose_tag_is_renamed_is_current_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = AutopilotFolder::in_project(root.path());
        let run = current("a", PointerStatus::InProgress, 1);
        folder.point(&run).unwrap();
        folder
            .point(&CurrentRun {
                tag: "b".into(),
                ..run.clone()
            })
            .unwrap();
        let tags: Vec<String> = folder
            .current_runs()
            .0
            .iter()
            .map(|run| run.tag.to_string())
            .collect();
        assert_eq!(tags, ["b"]);
    }

    #[test]
    fn a_pointer_that_leads_elsewhere_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = AutopilotFolder::in_project(root.path());
        folder.create().unwrap();
        let hostile = CurrentRun {
            run_id: "../../x__task-1__y".into(),
            ..current("a", PointerStatus::Paused, 1)
        };
        assert!(folder.point(&hostile).is_err());
        let file = root
            .path()
            .join(".taskmaster/reports/tags/a/current-run.json");
        create_durable(file.parent().unwrap()).unwrap();
        write_json(&file, &hostile).unwrap();
        let (runs, unreadable) = folder.current_runs();
        assert_eq!((runs.len(), unreadable.len()), (0, 1));
    }

    #[test]
    fn one_command_at_a_time_changes_a_checkout() {
        let root = tempfile::tempdir().unwrap();
        let folder = AutopilotFolder::in_project(root.path());
        let held = AutopilotLock::acquire(&folder, Duration::ZERO).unwrap();
        assert!(matches!(
            AutopilotLock::acquire(&folder, Duration::ZERO),
            Err(Error::Busy { .. })
        ));
        drop(held);
        AutopilotLock::acquire(&folder, Duration::ZERO).unwrap();
    }
}
