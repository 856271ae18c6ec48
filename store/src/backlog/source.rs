//! Where a backlog is: found by looking, or named; read whole, written under a lock.

mod current_tag;

use super::change::{self, FieldNames};
use super::document::{Document, Tree};
use super::file_lock::FileLock;
use super::{
    Backlog, BacklogError, Change, Changed, MOST_BYTES, ReadOptions, Refusal, RollUp, StatusChange,
    StatusOutcome, claude, task_master, yaml,
};
use crate::atomic;
use std::path::{Path, PathBuf};
use tm_scheduler::Tag;

/// So often a file that changes while it is being written is read again.
const TRIES: u32 = 20;

/// Where backlogs are looked for in each folder, upwards.
const PLACES: [(&str, SourceKind); 6] = [
    (".taskmaster/tasks/tasks.json", SourceKind::TaskMaster),
    (".taskmaster/backlog.yaml", SourceKind::Yaml),
    ("backlog.yaml", SourceKind::Yaml),
    ("backlog.yml", SourceKind::Yaml),
    ("tasks/tasks.json", SourceKind::TaskMaster),
    ("tasks.json", SourceKind::TaskMaster),
];

/// The kinds of backlogs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceKind {
    /// Task Master's file.
    TaskMaster,
    /// tm's own file.
    Yaml,
    /// A folder of Claude Code tasks.
    ClaudeTasks,
}

/// A backlog's place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BacklogSource {
    kind: SourceKind,
    path: PathBuf,
}

impl BacklogSource {
    /// Finds the backlog of a folder, looking upwards to the top of the repository.
    ///
    /// # Errors
    /// There is none.
    pub fn find(start: &Path) -> Result<Self, BacklogError> {
        for folder in start.ancestors() {
            for (name, kind) in PLACES {
                let path = folder.join(name);
                if path.is_file() {
                    return Ok(Self { kind, path });
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        let names: Vec<String> = PLACES.iter().map(|(name, _)| format!("`{name}`")).collect();
        Err(BacklogError::NotFound {
            start: start.to_owned(),
            looked_for: names.join(", "),
        })
    }

    /// Returns the backlog at a path; a folder is a Claude Code task list, or a project.
    ///
    /// # Errors
    /// There is nothing.
    pub fn at(path: &Path) -> Result<Self, BacklogError> {
        let metadata = std::fs::metadata(path).map_err(|source| BacklogError::Read {
            path: path.to_owned(),
            source,
        })?;
        if metadata.is_dir() && !claude::is_list(path) {
            return Self::find(path);
        }
        let is_yaml = path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml");
        let kind = match (metadata.is_dir(), is_yaml) {
            (true, _) => SourceKind::ClaudeTasks,
            (false, true) => SourceKind::Yaml,
            (false, false) => SourceKind::TaskMaster,
        };
        Ok(Self {
            kind,
            path: path.to_owned(),
        })
    }

    /// Returns the file, or the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind.
    pub const fn kind(&self) -> SourceKind {
        self.kind
    }

    /// Reads the tasks of a tag.
    ///
    /// # Errors
    /// The file can't be read, is not in its format, or does not have the tag that was asked for.
    pub fn read(&self, options: &ReadOptions) -> Result<Backlog, BacklogError> {
        match self.kind {
            SourceKind::ClaudeTasks => claude::read(&self.path, options),
            SourceKind::TaskMaster | SourceKind::Yaml => {
                let text = self.text()?;
                self.read_document(&self.document(&text)?, &text, options)
            }
        }
    }

    pub(super) fn read_document(
        &self,
        document: &Document,
        text: &str,
        options: &ReadOptions,
    ) -> Result<Backlog, BacklogError> {
        let yaml = (self.kind == SourceKind::Yaml).then_some(text);
        task_master::read(&self.path, document, yaml, options, self.current_tag())
    }

    pub(super) fn text(&self) -> Result<String, BacklogError> {
        let bytes = tm_untrusted::read_own(&self.path, MOST_BYTES).map_err(|source| {
            BacklogError::Read {
                path: self.path.clone(),
                source,
            }
        })?;
        String::from_utf8(bytes).map_err(|_| BacklogError::syntax(&self.path, "it is not UTF-8"))
    }

    pub(super) fn document(&self, text: &str) -> Result<Document, BacklogError> {
        if self.kind == SourceKind::Yaml {
            return yaml::document(&self.path, text);
        }
        Document::parse(text.to_owned()).map_err(|error| error.of_file(&self.path))
    }

    /// Writes statuses, all or none, and touches nothing else but `updatedAt` where a stamp is given.
    ///
    /// # Errors
    /// A task is not there, the file can't be written, or somebody else holds its lock for half a minute.
    pub fn set_statuses(
        &self,
        tag: &Tag,
        changes: &[StatusChange],
        roll_up: RollUp,
        stamp: Option<&str>,
    ) -> Result<Vec<StatusOutcome>, BacklogError> {
        let options = ReadOptions {
            tag: Some(tag.clone()),
            ..ReadOptions::default()
        };
        self.choose_statuses(&options, |_| changes.to_vec(), roll_up, stamp)
    }

    /// Reads the backlog under its lock, lets `choose` say which statuses are to change, and writes them: what was
    /// chosen can't have been chosen by anybody else meanwhile.
    ///
    /// # Errors
    /// As `read` and `set_statuses`.
    pub fn choose_statuses(
        &self,
        options: &ReadOptions,
        choose: impl Fn(&Backlog) -> Vec<StatusChange>,
        roll_up: RollUp,
        stamp: Option<&str>,
    ) -> Result<Vec<StatusOutcome>, BacklogError> {
        if self.kind == SourceKind::ClaudeTasks {
            let _lock = FileLock::acquire(&self.path)?;
            return self.set_in_folder(&choose(&claude::read(&self.path, options)?));
        }
        self.transact(|text| {
            let document = self.document(text)?;
            let backlog = self.read_document(&document, text, options)?;
            let changes = choose(&backlog);
            if self.kind == SourceKind::Yaml {
                return yaml::set_statuses(&self.path, text, &backlog.tag, &changes, roll_up);
            }
            task_master::set_statuses(
                &self.path,
                &document,
                &backlog.tag,
                &changes,
                roll_up,
                stamp,
            )
        })
    }

    /// Writes statuses again that somebody undid without knowing of them, and returns how many those were.
    ///
    /// Task Master's program reads its file before it takes the lock, and writes what it read: a status that was
    /// written in between is then as it was, older stamp included. A status that was set since has a newer stamp and
    /// stays. Other kinds of backlogs have no such writer.
    ///
    /// # Errors
    /// As `set_statuses`.
    pub fn restore_statuses(
        &self,
        options: &ReadOptions,
        written: &[StatusOutcome],
        stamp: &str,
    ) -> Result<usize, BacklogError> {
        if self.kind != SourceKind::TaskMaster {
            return Ok(0);
        }
        let undone = |text: &str| -> Result<(Document, Tag, Vec<StatusChange>), BacklogError> {
            let document = self.document(text)?;
            let tag = self.read_document(&document, text, options)?.tag;
            let changes = task_master::undone(&document, &tag, written, stamp);
            Ok((document, tag, changes))
        };
        if undone(&self.text()?)?.2.is_empty() {
            return Ok(0);
        }
        self.transact(|text| {
            let (document, tag, changes) = undone(text)?;
            let (changed, _) = task_master::set_statuses(
                &self.path,
                &document,
                &tag,
                &changes,
                RollUp::None,
                Some(stamp),
            )?;
            Ok((changed, changes.len()))
        })
    }

    /// Changes the file's text under its lock; an edit that answers `None` leaves the file alone.
    pub(super) fn transact<T>(
        &self,
        edit: impl Fn(&str) -> Result<(Option<String>, T), BacklogError>,
    ) -> Result<T, BacklogError> {
        let _lock = FileLock::acquire(&self.path)?;
        for _ in 0..TRIES {
            let text = self.text()?;
            let (changed, answer) = edit(&text)?;
            let Some(changed) = changed else {
                return Ok(answer);
            };
            // An editor takes no lock: what it wrote meanwhile must not be lost.
            if self.text()? == text {
                replace(&self.path, &changed)?;
                return Ok(answer);
            }
        }
        Err(BacklogError::Contended {
            path: self.path.clone(),
        })
    }

    /// Makes changes to which tasks there are and what they depend on, all or none, under the lock.
    ///
    /// `choose` is given what stands in the file under that lock. Everything that no change touches keeps its bytes.
    ///
    /// # Errors
    /// As `read` and `set_statuses`; a change is refused, or would close a cycle that was not there before.
    pub fn change(
        &self,
        options: &ReadOptions,
        choose: impl Fn(&Backlog) -> Vec<Change>,
    ) -> Result<Vec<Changed>, BacklogError> {
        if self.kind == SourceKind::ClaudeTasks {
            let _lock = FileLock::acquire(&self.path)?;
            let before = claude::read(&self.path, options)?;
            return claude::change(&self.path, |document, root| {
                self.apply(
                    document,
                    root,
                    &before,
                    &choose(&before),
                    FieldNames::Claude,
                )
            });
        }
        self.transact(|text| {
            let document = self.document(text)?;
            let before = self.read_document(&document, text, options)?;
            self.applied(&document, text, &before, &choose(&before))
        })
    }

    /// Returns the text with changes, `None` when nothing differs, read back before it is believed.
    pub(super) fn applied(
        &self,
        document: &Document,
        text: &str,
        before: &Backlog,
        changes: &[Change],
    ) -> Result<(Option<String>, Vec<Changed>), BacklogError> {
        let mut root = Tree::of(document);
        let answers = self.apply(document, &mut root, before, changes, self.spelling())?;
        let changed = match self.kind {
            SourceKind::Yaml => yaml::write(&self.path, text, document, &root)?,
            SourceKind::TaskMaster | SourceKind::ClaudeTasks => root.write(document),
        };
        self.document(&changed)?;
        Ok(((changed != text).then_some(changed), answers))
    }

    pub(super) const fn spelling(&self) -> FieldNames {
        match self.kind {
            SourceKind::TaskMaster => FieldNames::TaskMaster,
            SourceKind::Yaml => FieldNames::Snake,
            SourceKind::ClaudeTasks => FieldNames::Claude,
        }
    }

    pub(super) fn apply(
        &self,
        document: &Document,
        root: &mut Tree,
        before: &Backlog,
        changes: &[Change],
        spelling: FieldNames,
    ) -> Result<Vec<Changed>, BacklogError> {
        let refused = |refusal| BacklogError::Refused {
            path: self.path.clone(),
            refusal,
        };
        let place = change::Place {
            document,
            tag: &before.tag,
            spelling,
            next_number: before.next_number,
        };
        let mut answers = Vec::with_capacity(changes.len());
        for change in changes {
            refuse_cycle(before, change).map_err(refused)?;
            answers.push(change::apply(place, root, change).map_err(refused)?);
        }
        Ok(answers)
    }

    fn set_in_folder(&self, changes: &[StatusChange]) -> Result<Vec<StatusOutcome>, BacklogError> {
        let (files, outcomes) = claude::set_statuses(&self.path, changes)?;
        for (path, text) in files {
            replace(&path, &text)?;
        }
        Ok(outcomes)
    }

    /// Reads the tasks of a tag, and each with every field that its file holds.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_entries(
        &self,
        options: &ReadOptions,
    ) -> Result<(Backlog, Vec<serde_json::Value>), BacklogError> {
        if self.kind == SourceKind::ClaudeTasks {
            let backlog = claude::read(&self.path, options)?;
            let entries = claude::entries(&self.path, &backlog)?;
            return Ok((backlog, entries));
        }
        let text = self.text()?;
        let document = self.document(&text)?;
        let backlog = self.read_document(&document, &text, options)?;
        let entries = task_master::entries(&document, &backlog);
        Ok((backlog, entries))
    }
}

/// A new dependency must not close a cycle; cycles that are there already are no reason to refuse another change.
fn refuse_cycle(before: &Backlog, change: &Change) -> Result<(), Refusal> {
    let Change::AddDependency { task, dependency } = change else {
        return Ok(());
    };
    // On itself has words of its own.
    if task == dependency {
        return Ok(());
    }
    let Some(cycle) = tm_scheduler::cycle_with(&before.tasks, task, dependency) else {
        return Ok(());
    };
    let ids: Vec<String> = cycle.iter().map(|id| format!("`{id}`")).collect();
    Err(Refusal::Cycle {
        task: task.clone(),
        dependency: dependency.clone(),
        cycle: ids.join(" → "),
    })
}

fn replace(path: &Path, text: &str) -> Result<(), BacklogError> {
    atomic::replace_as_only_writer(path, text.as_bytes()).map_err(|source| BacklogError::Write {
        path: path.to_owned(),
        source,
    })
}
