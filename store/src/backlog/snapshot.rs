//! A backlog that was read once and is looked at in several ways: each tag, and what the file says of each task.

use super::document::Value;
use super::fields::id;
use super::loaded::Loaded;
use super::{Backlog, BacklogError, BacklogSource, Entry, ReadOptions, SourceKind};
use tm_scheduler::{Tag, Task, TaskId};

impl BacklogSource {
    /// Reads the backlog once, for looking at it in several ways.
    ///
    /// # Errors
    /// The file can't be read, or is not in its format.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, BacklogError> {
        Ok(Snapshot {
            loaded: self.load()?,
            source: self,
        })
    }
}

/// A backlog as it stood when it was read.
#[derive(Debug)]
pub struct Snapshot<'s> {
    pub(super) source: &'s BacklogSource,
    pub(super) loaded: Loaded,
}

impl Snapshot<'_> {
    /// Returns the tasks of a tag.
    ///
    /// # Errors
    /// It does not have the tag, or the group, that was asked for.
    pub fn read(&self, options: &ReadOptions) -> Result<Backlog, BacklogError> {
        self.source.read_loaded(&self.loaded, options)
    }

    /// Returns the tasks of every tag.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_all(&self, options: &ReadOptions) -> Result<Vec<Backlog>, BacklogError> {
        let tags = self.read(options)?.tags;
        let read = |tag: &Tag| self.read(&ReadOptions::of_tag(tag));
        tags.iter().map(read).collect()
    }

    /// Returns what the file holds of tasks that were read from it; nothing of one that can't be read as a whole.
    pub fn entries(&self, backlog: &Backlog) -> Vec<Option<Entry<'_>>> {
        let list = self.loaded.list(&backlog.tag);
        let mut values: Vec<_> = list
            .into_iter()
            .flat_map(Value::elements)
            .filter_map(|value| Some((id(value)?, value)))
            .collect();
        // As the tasks of a list of files are; of several with one id each stays in its order.
        if self.source.kind() == SourceKind::ClaudeTasks {
            values.sort_by_cached_key(|(id, _)| TaskId::from(&**id));
        }
        // A group leaves tasks out: what is left stands in the same order.
        let mut values = values.into_iter();
        let entry = |task: &Task| {
            let (_, value) = values.find(|(id, _)| *id == task.id.as_str())?;
            Entry::of(value)
        };
        backlog.tasks.iter().map(entry).collect()
    }
}
