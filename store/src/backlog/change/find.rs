//! Finds tasks of a list by their ids, and spells ids as those beside them are.

use super::{Refusal, Tasks};
use crate::backlog::document::Tree;
use crate::backlog::kind;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::TaskId;

/// The last part of an id: a subtask's number.
pub(in crate::backlog) fn number(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or(id)
}

/// Returns the ids that stand in a list.
pub(super) fn ids(tasks: &[Tree<'_>]) -> impl Iterator<Item = String> {
    tasks.iter().filter_map(|task| task.plain("id"))
}

pub(super) fn position(tasks: &[Tree<'_>], id: &str) -> Option<usize> {
    let is_it = |task: &Tree<'_>| task.text_of("id").as_deref() == Some(id);
    tasks.iter().position(is_it)
}

/// Returns where a task stands or, for `<task>.<n>`, where the task stands and where its subtask stands in it.
pub(super) fn way(tasks: &[Tree<'_>], id: &TaskId) -> Option<(usize, Option<usize>)> {
    if let Some(place) = position(tasks, id.as_str()) {
        return Some((place, None));
    }
    let (parent, own) = id.as_str().rsplit_once('.')?;
    let place = position(tasks, parent)?;
    Some((place, Some(place_of_subtask(&tasks[place], own)?)))
}

fn place_of_subtask(parent: &Tree<'_>, own: &str) -> Option<usize> {
    let mut siblings = parent.parts("subtasks").into_iter();
    siblings.position(|task| task.plain("id").is_some_and(|id| number(&id) == own))
}

pub(super) fn is_there(tasks: &[Tree<'_>], id: &TaskId) -> bool {
    way(tasks, id).is_some()
}

/// Refuses ids of tasks that are not there.
pub(super) fn must_be_there<'i>(
    tasks: &[Tree<'_>],
    ids: impl IntoIterator<Item = &'i TaskId>,
) -> Result<(), Refusal> {
    let is_absent = |id: &&TaskId| !is_there(tasks, id);
    let absent: Vec<&TaskId> = ids.into_iter().filter(is_absent).collect();
    if absent.is_empty() {
        return Ok(());
    }
    Err(Refusal::unknown(absent))
}

/// Finds a task or, as `<task>.<n>`, a subtask to change.
pub(super) fn find<'t, 'd>(
    tasks: &'t mut Tasks<'d>,
    id: &TaskId,
) -> Result<&'t mut Tree<'d>, Refusal> {
    let unknown = || Refusal::unknown([id]);
    let (place, own) = way(tasks, id).ok_or_else(unknown)?;
    let task = &mut tasks[place];
    match own {
        None => Ok(task),
        Some(own) => {
            let siblings = task.list("subtasks").ok_or_else(unknown)?;
            Ok(&mut siblings[own])
        }
    }
}

/// Takes a task or subtask out; nothing where it went with its task already.
pub(super) fn take<'d>(tasks: &mut Tasks<'d>, id: &TaskId) -> Option<Tree<'d>> {
    Some(match way(tasks, id)? {
        (place, None) => tasks.remove(place),
        (place, Some(own)) => tasks[place].list("subtasks")?.remove(own),
    })
}

/// Where each task of a list stands, for many changes in one pass.
pub(super) struct Index(BTreeMap<String, usize>);

impl Index {
    pub(super) fn new(tasks: &[Tree<'_>]) -> Self {
        Self::of_those(tasks, |_| true)
    }

    /// Finds those tasks alone that have one of these ids, or a subtask that has.
    pub(super) fn of<'i>(tasks: &[Tree<'_>], ids: impl IntoIterator<Item = &'i TaskId>) -> Self {
        let mut wanted = BTreeSet::new();
        for id in ids.into_iter().map(TaskId::as_str) {
            wanted.insert(id);
            wanted.extend(id.rsplit_once('.').map(|(parent, _)| parent));
        }
        Self::of_those(tasks, |id| wanted.contains(id))
    }

    fn of_those(tasks: &[Tree<'_>], is_wanted: impl Fn(&str) -> bool) -> Self {
        // Of several with one id the first.
        let last_first = tasks.iter().enumerate().rev();
        let places = last_first.filter_map(|(place, task)| {
            let id = task.text_of("id").filter(|id| is_wanted(id))?;
            Some((id.into_owned(), place))
        });
        Self(places.collect())
    }

    pub(super) fn place(&self, id: &TaskId) -> Result<usize, Refusal> {
        let place = self.0.get(id.as_str()).copied();
        place.ok_or_else(|| Refusal::unknown([id]))
    }

    /// As `find`, and faster.
    pub(super) fn find<'t, 'd>(
        &self,
        tasks: &'t mut Tasks<'d>,
        id: &TaskId,
    ) -> Result<&'t mut Tree<'d>, Refusal> {
        if let Ok(place) = self.place(id) {
            return Ok(&mut tasks[place]);
        }
        let unknown = || Refusal::unknown([id]);
        let (parent, own) = id.as_str().rsplit_once('.').ok_or_else(unknown)?;
        let parent = &mut tasks[*self.0.get(parent).ok_or_else(unknown)?];
        let place = place_of_subtask(parent, own).ok_or_else(unknown)?;
        parent
            .list("subtasks")
            .and_then(|siblings| siblings.get_mut(place))
            .ok_or_else(unknown)
    }
}

/// An id as its neighbours are spelled: as a number only where it is one.
pub(super) fn spelled<'d>(id: &str, is_text: bool) -> Tree<'d> {
    if is_text {
        Tree::text(id)
    } else {
        Tree::new(&kind::spelled(id))
    }
}
