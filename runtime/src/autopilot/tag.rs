//! The tag that a run's task is in, also after somebody renamed it.

use super::project::Project;
use super::state::RunState;
use tm_scheduler::{Tag, Task, TaskId};
use tm_store::backlog::BacklogError;

/// Returns the tag's new name where the tag of a run is gone and exactly one other one has its task; `None` otherwise.
pub(super) fn renamed(project: &Project, state: &RunState) -> Option<Tag> {
    let gone = project.backlog(Some(&state.tag)).err()?;
    if !matches!(gone, super::Error::Backlog(BacklogError::UnknownTag { .. })) {
        return None;
    }
    let tags = project.backlog(None).ok()?.1.tags;
    let tasks_of = |tag: &Tag| {
        project
            .backlog(Some(tag))
            .map(|(_, backlog)| backlog.tasks)
            .unwrap_or_default()
    };
    only(tags.into_iter().filter(|tag| holds(&tasks_of(tag), state)))
}

/// Whether these tasks are those that the run was started from: its task under its title, with all of its pieces.
fn holds(tasks: &[Task], state: &RunState) -> bool {
    let Some(task) = tasks.iter().find(|task| task.id == state.task_id) else {
        return false;
    };
    let is_there =
        |id: &TaskId| task.id == *id || task.subtasks.iter().any(|subtask| subtask.id == *id);
    task.title == state.task_title && state.machine.items().iter().all(|item| is_there(&item.id))
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
