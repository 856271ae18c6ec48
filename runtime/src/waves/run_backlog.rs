//! The backlog of a run, in which people may have given its tag or its tasks other names since the run began.
//!
//! In the run everything keeps the names that it began with; here they become those of now, and back.

use super::JournalHeader;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tm_scheduler::{IdsNow, Tag, Task, TaskId};
use tm_store::backlog::{
    Backlog, BacklogError, BacklogSource, ReadOptions, RollUp, StatusChange, StatusOutcome,
};

/// The backlog of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunBacklog<'a> {
    /// Where it is.
    pub source: &'a BacklogSource,
    /// The run.
    pub header: &'a JournalHeader,
}

impl RunBacklog<'_> {
    /// Reads it, with the ids that its tasks have in the run. A tag that is gone has no tasks.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(&self) -> Result<Backlog, BacklogError> {
        let mut backlog = match self.within_tag(|options| self.source.read(options)) {
            Err(BacklogError::UnknownTag { .. }) => Backlog {
                tag: self.header.tag.clone(),
                tags: Vec::new(),
                tasks: Vec::new(),
                warnings: Vec::new(),
                next_number: 1,
            },
            read => read?,
        };
        let moved = IdsNow::new(&self.header.plan, &backlog.tasks).moved();
        if !moved.is_empty() {
            // What stands under an id of the run's now and is none of its tasks has no name there.
            let is_taken =
                |id: &TaskId| !moved.contains_key(id) && moved.values().any(|own| own == id);
            backlog.tasks.retain(|task| !is_taken(&task.id));
            rename(&mut backlog.tasks, &moved);
        }
        backlog.tag = self.header.tag.clone();
        Ok(backlog)
    }

    /// Writes statuses; returns what was written, and the tasks that are not there any more.
    ///
    /// # Errors
    /// It can't be read or written.
    pub fn set_statuses(
        &self,
        changes: &[StatusChange],
        stamp: &str,
    ) -> Result<(Vec<StatusOutcome>, Vec<TaskId>), BacklogError> {
        let gone = RefCell::new(Vec::new());
        let choose = |backlog: &Backlog| {
            gone.take();
            let ids = IdsNow::new(&self.header.plan, &backlog.tasks);
            let now = |change: &StatusChange| {
                let id = ids.of(&change.id);
                if id.is_none() {
                    gone.borrow_mut().push(change.id.clone());
                }
                let status = change.status.clone();
                id.map(|id| StatusChange { id, status })
            };
            changes.iter().filter_map(now).collect()
        };
        let written = self.within_tag(|options| {
            self.source
                .choose_statuses(options, choose, RollUp::Relatives, Some(stamp))
        });
        match written {
            Err(BacklogError::UnknownTag { .. }) => {
                let all = changes.iter().map(|change| change.id.clone());
                Ok((Vec::new(), all.collect()))
            }
            written => written.map(|outcomes| (outcomes, gone.take())),
        }
    }

    /// Does something in the tag of the run, or in the one that has its tasks now.
    fn within_tag<T>(
        &self,
        act: impl Fn(&ReadOptions) -> Result<T, BacklogError>,
    ) -> Result<T, BacklogError> {
        let done = act(&ReadOptions::of_tag(&self.header.tag));
        let is_unknown = matches!(done, Err(BacklogError::UnknownTag { .. }));
        match is_unknown.then(|| self.tag_now()).flatten() {
            Some(tag) => act(&ReadOptions::of_tag(&tag)),
            None => done,
        }
    }

    /// The one tag that has most of the run's tasks.
    fn tag_now(&self) -> Option<Tag> {
        let snapshot = self.source.snapshot().ok()?;
        let backlogs = snapshot.read_all(&ReadOptions::default()).ok()?;
        let has_most =
            |backlog: &&Backlog| IdsNow::new(&self.header.plan, &backlog.tasks).are_most();
        let mut likely = backlogs.iter().filter(has_most);
        let only = likely.next()?;
        likely.next().is_none().then(|| only.tag.clone())
    }
}

fn rename(tasks: &mut [Task], names: &BTreeMap<TaskId, TaskId>) {
    let named = |id: &TaskId| {
        let parent = id.as_str().rsplit_once('.');
        let of_parent = || {
            let (parent, number) = parent?;
            let parent = names.get(&TaskId::from(parent))?;
            Some(format!("{parent}.{number}").into())
        };
        names.get(id).cloned().or_else(of_parent)
    };
    for task in tasks {
        let dependencies = task.dependencies.iter_mut();
        for id in dependencies.chain(std::iter::once(&mut task.id)) {
            if let Some(name) = named(id) {
                *id = name;
            }
        }
        rename(&mut task.subtasks, names);
    }
}
