//! A change of a backlog in the making: what stands in its files, and what is to stand there.

use super::BacklogSource;
use crate::backlog::document::{Document, Tree};
use crate::backlog::loaded::{Loaded, Original};
use crate::backlog::{Backlog, BacklogError, Change, Changed, ReadOptions, Refusal, change};
use std::collections::BTreeSet;
use tm_scheduler::{Tag, Task, TaskId, quoted_cycle};

/// A change of a backlog in the making.
pub(in crate::backlog) struct Edit<'e, 'd> {
    pub(in crate::backlog) source: &'e BacklogSource,
    /// What stands in the files.
    pub(in crate::backlog) loaded: &'d Loaded,
    /// Which part of it is changed.
    pub(super) options: &'e ReadOptions,
    /// The tag that those mean.
    pub(in crate::backlog) tag: Tag,
    /// What is to stand there.
    pub(in crate::backlog) root: Tree<'d>,
}

impl Edit<'_, '_> {
    /// Reads what stands in the files.
    pub(in crate::backlog) fn before(&self) -> Result<Backlog, BacklogError> {
        self.source.read_loaded(self.loaded, self.options)
    }

    /// Makes changes to which tasks there are and what they depend on, all or none; `before` is what was read.
    pub(in crate::backlog) fn apply(
        &mut self,
        before: &Backlog,
        changes: &[Change],
    ) -> Result<Vec<Changed>, BacklogError> {
        let place = change::Place {
            tag: &before.tag,
            kind: self.source.kind,
            next_number: before.next_number,
        };
        let apply = |change| {
            let ids = change::apply(place, &mut self.root, change)?;
            Ok(Changed { ids })
        };
        let answers: Result<_, _> = changes.iter().map(apply).collect();
        let answers = answers.map_err(BacklogError::refused(&self.source.path))?;
        let new = changes.iter().filter_map(|change| match change {
            Change::AddDependencies { edges } => Some(edges.as_slice()),
            _ => None,
        });
        self.refuse_cycle(&before.tasks, &new.collect::<Vec<_>>().concat())?;
        Ok(answers)
    }

    /// New dependencies must not close a cycle, together neither; cycles that were there already are no reason to
    /// refuse another change.
    fn refuse_cycle(&self, tasks: &[Task], new: &[(TaskId, TaskId)]) -> Result<(), BacklogError> {
        let before = Task::with_subtasks(tasks);
        let before: BTreeSet<(&TaskId, &TaskId)> = before
            .flat_map(|task| task.dependencies.iter().map(|on| (&task.id, on)))
            .collect();
        let mut new = new.to_vec();
        new.retain(|(task, on)| !before.contains(&(task, on)));
        if new.is_empty() {
            return Ok(());
        }
        let (_, after) = self.after()?;
        match tm_scheduler::cycle_with(&after.tasks, &new).as_deref() {
            Some(cycle @ [task, dependency, ..]) => {
                Err(BacklogError::refused(&self.source.path)(Refusal::Cycle {
                    task: task.clone(),
                    dependency: dependency.clone(),
                    cycle: quoted_cycle(cycle),
                }))
            }
            _ => Ok(()),
        }
    }

    /// What is to stand there, and how it reads.
    pub(in crate::backlog) fn after(&self) -> Result<(Loaded, Backlog), BacklogError> {
        let document = Document::parse(self.root.write(&self.loaded.document));
        let loaded = Loaded {
            document: document.map_err(|error| error.of_file(&self.source.path))?,
            original: match self.loaded.original {
                Original::Files(_) => Original::Files(Vec::new()),
                Original::Json | Original::Yaml(_) => Original::Json,
            },
        };
        let options = ReadOptions::of_tag(&self.tag);
        let backlog = self.source.read_loaded(&loaded, &options)?;
        Ok((loaded, backlog))
    }
}
