//! Where a backlog is: found by looking, or named; read whole, written under a lock.

mod current_tag;
mod edit;

pub(super) use edit::Edit;

use super::document::{Document, Tree};
use super::file_lock::FileLock;
use super::loaded::{Loaded, Original};
use super::{
    Backlog, BacklogError, Change, Changed, ReadOptions, RollUp, SourceKind, StatusChange,
    StatusOutcome, claude, file, task_master, yaml,
};
use crate::Error;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tm_scheduler::{Tag, Task, quoted};

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
        Err(BacklogError::NotFound {
            start: start.to_owned(),
            looked_for: quoted(PLACES.map(|(name, _)| name)),
        })
    }

    /// Returns the backlog at a path; a folder is a Claude Code task list, or a project.
    ///
    /// # Errors
    /// There is nothing.
    pub fn at(path: &Path) -> Result<Self, BacklogError> {
        let metadata = std::fs::metadata(path).map_err(Error::read(path))?;
        if metadata.is_dir() && !claude::is_list(path) {
            return Self::find(path);
        }
        let kind = match SourceKind::of_path(path) {
            _ if metadata.is_dir() => SourceKind::ClaudeTasks,
            SourceKind::Yaml => SourceKind::Yaml,
            SourceKind::TaskMaster | SourceKind::ClaudeTasks => SourceKind::TaskMaster,
        };
        Ok(Self {
            kind,
            path: path.to_owned(),
        })
    }

    /// Returns the files below a folder, by their paths from there, that are the backlog: this one, and those that would be found
    /// in place of it, where somebody made one.
    pub fn files_below(&self, root: &Path) -> Vec<PathBuf> {
        // Where this process is can't be unknown to whoever has read the backlog.
        let own = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let place = PLACES.iter().position(|(name, _)| own.ends_with(name));
        let mut all = vec![own.clone()];
        if let Some(place) = place
            && let names = Path::new(PLACES[place].0).components().count()
            && let Some(folder) = own.ancestors().nth(names)
        {
            all.extend(PLACES[..place].iter().map(|(name, _)| folder.join(name)));
        }
        let within = all.iter().flat_map(|path| path.strip_prefix(root));
        within.map(Path::to_owned).collect()
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
        self.read_loaded(&self.load()?, options)
    }

    pub(super) fn read_loaded(
        &self,
        loaded: &Loaded,
        options: &ReadOptions,
    ) -> Result<Backlog, BacklogError> {
        let mut backlog = if self.kind == SourceKind::ClaudeTasks {
            claude::read(&self.path, loaded)
        } else {
            task_master::read(loaded, self.tag_in(loaded, options)?)
        };
        let planned = options.planned.get(&backlog.tag);
        let free = planned.map_or(0, |number| number.saturating_add(1));
        backlog.next_number = backlog.next_number.max(free);
        if let Some(group) = &options.group {
            self.keep_group(&mut backlog, group)?;
        }
        Ok(backlog)
    }

    /// The tag that is meant.
    fn tag_in(&self, loaded: &Loaded, options: &ReadOptions) -> Result<Tag, BacklogError> {
        if self.kind == SourceKind::ClaudeTasks {
            return Ok(claude::tag(&self.path));
        }
        task_master::tag(&self.path, loaded, options, self.current_tag())
    }

    /// Keeps the tasks of a group, of which there must be one.
    fn keep_group(&self, backlog: &mut Backlog, group: &str) -> Result<(), BacklogError> {
        let groups = backlog
            .tasks
            .iter()
            .filter_map(|task| task.metadata.group.as_ref());
        let groups: BTreeSet<&String> = groups.collect();
        if !groups.iter().any(|known| *known == group) {
            let known = if groups.is_empty() {
                "no task there has a `metadata.task_group`".to_owned()
            } else {
                format!("there are {}", quoted(groups))
            };
            return Err(BacklogError::UnknownGroup {
                path: self.path.clone(),
                group: group.to_owned(),
                tag: backlog.tag.clone(),
                known,
            });
        }
        let is_of_group = |task: &Task| task.metadata.group.as_deref() == Some(group);
        backlog.tasks.retain(is_of_group);
        Ok(())
    }

    pub(super) fn load(&self) -> Result<Loaded, BacklogError> {
        match self.kind {
            SourceKind::ClaudeTasks => claude::load(&self.path),
            SourceKind::TaskMaster | SourceKind::Yaml => self.loaded_from(file::text(&self.path)?),
        }
    }

    fn loaded_from(&self, text: String) -> Result<Loaded, BacklogError> {
        if self.kind == SourceKind::Yaml {
            return Ok(Loaded {
                document: yaml::document(&self.path, &text)?,
                original: Original::Yaml(text),
            });
        }
        Ok(Loaded {
            document: Document::parse(text).map_err(|error| error.of_file(&self.path))?,
            original: Original::Json,
        })
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
        let options = ReadOptions::of_tag(tag);
        let (_, written) = self.write_statuses(&options, changes, roll_up, stamp)?;
        Ok(written)
    }

    /// Does the same in the tag that is meant, and returns which one that is.
    ///
    /// # Errors
    /// As `set_statuses`, or it is not known which tag is meant.
    pub fn write_statuses(
        &self,
        options: &ReadOptions,
        changes: &[StatusChange],
        roll_up: RollUp,
        stamp: Option<&str>,
    ) -> Result<(Tag, Vec<StatusOutcome>), BacklogError> {
        self.edit(options, |edit| {
            let written = edit.set_statuses(changes, roll_up, stamp)?;
            Ok((edit.tag.clone(), written))
        })
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
        self.edit(options, |edit| {
            edit.set_statuses(&choose(&edit.before()?), roll_up, stamp)
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
        let loaded = self.load()?;
        let undone = self.edit_of(&loaded, options)?.undone(written, stamp);
        if undone.is_empty() {
            return Ok(0);
        }
        self.edit(options, |edit| {
            let changes = edit.undone(written, stamp);
            edit.set_statuses(&changes, RollUp::None, Some(stamp))?;
            Ok(changes.len())
        })
    }

    pub(super) fn edit_of<'e, 'd>(
        &'e self,
        loaded: &'d Loaded,
        options: &'e ReadOptions,
    ) -> Result<Edit<'e, 'd>, BacklogError> {
        Ok(Edit {
            source: self,
            loaded,
            options,
            tag: self.tag_in(loaded, options)?,
            root: Tree::of(&loaded.document),
        })
    }

    /// Changes the backlog under its lock, all or nothing; one in which nothing differs is left alone.
    pub(super) fn edit<T>(
        &self,
        options: &ReadOptions,
        edit: impl Fn(&mut Edit<'_, '_>) -> Result<T, BacklogError>,
    ) -> Result<T, BacklogError> {
        let _lock = FileLock::acquire(&self.path)?;
        for _ in 0..TRIES {
            let loaded = self.load()?;
            let mut made = self.edit_of(&loaded, options)?;
            let answer = edit(&mut made)?;
            let root = made.root;
            let document = &loaded.document;
            let (text, changed) = match &loaded.original {
                _ if root.is_untouched() => return Ok(answer),
                Original::Files(files) => {
                    claude::write(&self.path, document, files, root)?;
                    return Ok(answer);
                }
                Original::Yaml(text) => {
                    let changed = yaml::write(&self.path, text, document, &root)?;
                    (text.as_str(), changed)
                }
                Original::Json => (document.text(), root.write(document)),
            };
            if changed == text {
                return Ok(answer);
            }
            // Read back before it is believed.
            let changed = self.read_back(changed)?;
            // An editor takes no lock: what it wrote meanwhile must not be lost.
            if file::text(&self.path)? == text {
                file::replace(&self.path, &changed)?;
                return Ok(answer);
            }
        }
        Err(BacklogError::Contended {
            path: self.path.clone(),
        })
    }

    /// Returns the text of a file where it is in its format.
    fn read_back(&self, text: String) -> Result<String, BacklogError> {
        let loaded = self.loaded_from(text)?;
        Ok(match loaded.original {
            Original::Yaml(text) => text,
            Original::Json | Original::Files(_) => loaded.document.into_text(),
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
        self.edit(options, |edit| {
            let before = edit.before()?;
            edit.apply(&before, &choose(&before))
        })
    }
}
