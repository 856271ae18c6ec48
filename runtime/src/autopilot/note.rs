//! The note of a run: where its files lie, what decides on it, and which `state.json` is tm's own.
//!
//! It lies in tm's home as the user alone names it, so that nothing in the checkout, its settings neither, says where a
//! run is or by what it is judged. It is there from the beginning of a run to its end; a state without one is nobody's.

use super::error::Error;
use itertools::Itertools as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tm_scheduler::{BranchName, CommitId, RunId};
use tm_store::autopilot::{AutopilotFolder, AutopilotLock, CurrentRun, PointerStatus};
use tm_store::run::{read_json_if_there, write_json};

/// The version of the format; keys may be added without a new one.
const VERSION: u32 = 1;

/// Digests of what decides, by its names: values of settings may be secrets.
pub(super) type Decides = BTreeMap<String, String>;

/// Where a run works and where its checkout was before, as it was when it began.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Began {
    /// Its branch.
    pub(super) branch: BranchName,
    /// Where the checkout was before; no branch where its HEAD was detached.
    pub(super) start_branch: Option<String>,
    /// What the run started from.
    pub(super) base_commit: CommitId,
}

/// What tm keeps of a run where only its user says that it does.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    version: u32,
    /// What it is and how far, as its pointer in the checkout has it.
    pub(super) current: CurrentRun,
    /// Whether its state has been written, so that one that is gone was taken away.
    pub(super) has_begun: bool,
    /// Where the run's own files lie.
    pub(super) folder: AutopilotFolder,
    /// Its branch, and what giving it up goes back to.
    pub(super) began: Began,
    /// What decides on it, as it was when it began.
    pub(super) decides: Decides,
    /// Digests of the state as tm has written it: of one, but while another one is being written.
    states: Vec<String>,
}

impl Note {
    /// Returns the note of a run that begins.
    pub(super) const fn new(
        current: CurrentRun,
        folder: AutopilotFolder,
        began: Began,
        decides: Decides,
    ) -> Self {
        Self {
            version: VERSION,
            current,
            has_begun: false,
            folder,
            began,
            decides,
            states: Vec::new(),
        }
    }

    /// Whether tm itself wrote a state with this digest; before the first one there is none.
    pub(super) fn vouches_for(&self, state: Option<&String>) -> bool {
        state.map_or(self.states.is_empty(), |state| self.states.contains(state))
    }

    /// Returns the note for states with these digests.
    fn of_states(&self, states: impl IntoIterator<Item = String>) -> Self {
        Self {
            states: states.into_iter().collect(),
            ..self.clone()
        }
    }

    /// Returns the run.
    pub(super) const fn run(&self) -> &RunId {
        &self.current.run_id
    }

    /// Refuses a note of another version, or one that lies in the place of another run's.
    fn checked(self, run: &RunId) -> Result<Self, Error> {
        if self.version != VERSION {
            return Err(Error::Version {
                run: self.current.run_id,
                found: self.version,
                supported: VERSION,
            });
        }
        if self.current.run_id != *run {
            return Err(Error::NobodysRun(run.clone()));
        }
        Ok(self)
    }
}

/// The notes of the runs of one checkout.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    folder: AutopilotFolder,
}

impl Notes {
    /// Takes the checkout's folder in the home of its user.
    pub(super) const fn in_folder(folder: AutopilotFolder) -> Self {
        Self { folder }
    }

    /// Whether this is the folder in which they lie.
    pub(super) fn lie_in(&self, folder: &AutopilotFolder) -> bool {
        self.folder == *folder
    }

    /// Takes the lock of the checkout, which nothing in it leads away from.
    pub(super) fn lock(&self, patience: std::time::Duration) -> Result<AutopilotLock, Error> {
        Ok(AutopilotLock::acquire(&self.folder, patience)?)
    }

    /// Returns the note of a run.
    pub(super) fn of(&self, run: &RunId) -> Result<Option<Note>, Error> {
        // A name that is none of a run's has no note.
        let Ok(file) = self.folder.note(run) else {
            return Ok(None);
        };
        let note: Option<Note> = read_json_if_there(&file)?;
        note.map(|note| note.checked(run)).transpose()
    }

    /// Returns all notes.
    pub(super) fn all(&self) -> Result<Vec<Note>, Error> {
        let notes = self.folder.noted()?.into_iter();
        let notes = notes.map(|run| self.of(&run));
        notes.filter_map(Result::transpose).collect()
    }

    /// Returns those of runs that began: their state has been written, whatever became of it.
    pub(super) fn begun(&self) -> Result<Vec<Note>, Error> {
        let mut notes = self.all()?;
        notes.retain(|note| note.has_begun || note.folder.has_state(note.run()));
        Ok(notes)
    }

    /// Writes a state by `write`, so that what lies there at any moment, also after a kill, is one that a note vouches
    /// for: the note first names both states, the one that is there and the one that comes, and the new one alone once
    /// that is written. Whoever comes after a kill finds either of them, and goes on from it.
    pub(super) fn around(
        &self,
        note: &Note,
        current: CurrentRun,
        (known, next): (Option<&String>, &String),
        write: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Note, Error> {
        self.folder.create_notes()?;
        self.write(&note.of_states(known.into_iter().chain([next]).cloned().unique()))?;
        write()?;
        let note = Note {
            current,
            has_begun: true,
            ..note.of_states([next.clone()])
        };
        self.write(&note)?;
        Ok(note)
    }

    /// Keeps how far a run is of which nothing else is believed.
    pub(super) fn mark(&self, note: &Note, status: PointerStatus) -> Result<Note, Error> {
        let mut note = note.clone();
        note.current.status = status;
        self.write(&note)?;
        Ok(note)
    }

    fn write(&self, note: &Note) -> Result<(), Error> {
        Ok(write_json(&self.folder.note(note.run())?, note)?)
    }

    /// Removes the note of a run that is over, or never was.
    pub(super) fn remove(&self, run: &RunId) -> Result<(), Error> {
        Ok(self.folder.remove_note(run)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_store::run::Home;

    fn notes(root: &std::path::Path) -> Notes {
        let git_dir = root.join("app/.git");
        std::fs::create_dir_all(&git_dir).unwrap();
        let home = Home::new(root.join("home"));
        Notes::in_folder(AutopilotFolder::in_home(&home, &git_dir).unwrap())
    }

    fn current(run: &str) -> CurrentRun {
        CurrentRun {
            run_id: run.into(),
            task_id: "1".into(),
            tag: "master".into(),
            start_time: String::new(),
            status: PointerStatus::InProgress,
            repository: None,
        }
    }

    fn note(root: &std::path::Path, run: &str) -> Note {
        Note::new(
            current(run),
            AutopilotFolder::in_project(root),
            Began {
                branch: BranchName::new("work").unwrap(),
                start_branch: None,
                base_commit: "1".repeat(40).into(),
            },
            Decides::default(),
        )
    }

    #[test]
    fn a_note_vouches_for_both_states_while_one_replaces_the_other_and_then_for_one() {
        let root = tempfile::tempdir().unwrap();
        let (notes, run) = (notes(root.path()), "master__task-1__a");
        let (first, second, forged) = ("1".to_owned(), "2".to_owned(), "3".to_owned());
        let begun = note(root.path(), run);
        assert!(begun.vouches_for(None) && !begun.vouches_for(Some(&first)));
        let vouches = |state| notes.of(&run.into()).unwrap().unwrap().vouches_for(state);
        let begun = notes
            .around(&begun, current(run), (None, &first), || {
                assert!(vouches(Some(&first)) && !vouches(None));
                Ok(())
            })
            .unwrap();
        notes
            .around(&begun, current(run), (Some(&first), &second), || {
                assert!(vouches(Some(&first)) && vouches(Some(&second)));
                assert!(!vouches(Some(&forged)));
                Ok(())
            })
            .unwrap();
        assert!(vouches(Some(&second)) && !vouches(Some(&first)));
        notes.remove(&run.into()).unwrap();
        notes.remove(&run.into()).unwrap();
        assert!(notes.of(&run.into()).unwrap().is_none());
    }

    #[test]
    fn a_note_in_the_place_of_another_runs_is_none_of_it() {
        let root = tempfile::tempdir().unwrap();
        let notes = notes(root.path());
        let (one, other) = ("master__task-1__a", "master__task-1__b");
        let state = "1".to_owned();
        let of_one = note(root.path(), one);
        notes
            .around(&of_one, current(one), (None, &state), || Ok(()))
            .unwrap();
        assert_eq!(notes.all().unwrap().len(), 1);
        let file = |run: &str| notes.folder.note(&run.into()).unwrap();
        std::fs::copy(file(one), file(other)).unwrap();
        assert!(matches!(
            notes.of(&other.into()),
            Err(Error::NobodysRun(run)) if run.as_str() == other
        ));
        assert!(notes.of(&"../../x".into()).unwrap().is_none());
    }
}
