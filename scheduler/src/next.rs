//! Which task comes next for somebody who works through a backlog by hand, in Task Master's order, and which tasks are
//! ready or hold others up.
//!
//! Linear. Knows nothing of waves: those are planned in `plan`.

use crate::positions::Positions;
use crate::{Status, Task, TaskId};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Which tasks may come next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Candidates {
    /// Those that are open, begun or not.
    Open,
    /// Those that nobody has begun.
    Unclaimed,
}

/// Returns the task, or the subtask of a task that is in progress, that is to be worked on next.
///
/// Subtasks of tasks in progress come first. Among candidates: the highest priority, then the fewest dependencies,
/// then the lowest id. Everything that a candidate depends on is done or cancelled.
pub fn next(tasks: &[Task], candidates: Candidates) -> Option<&Task> {
    let finished = finished(tasks);
    let is_candidate = |task: &&Task| {
        let may_be_taken = match candidates {
            Candidates::Open => task.status.is_open(),
            Candidates::Unclaimed => task.status == Status::Pending,
        };
        may_be_taken && is_free(task, &finished)
    };
    tasks
        .iter()
        .filter(|task| task.status == Status::InProgress)
        .flat_map(|task| &task.subtasks)
        .filter(is_candidate)
        .min_by_key(|task| urgency(task))
        .or_else(|| {
            tasks
                .iter()
                .filter(is_candidate)
                .min_by_key(|task| urgency(task))
        })
}

/// Returns the tasks that somebody could work on now: open or in review, with nothing left to wait for.
pub fn ready(tasks: &[Task]) -> BTreeSet<&TaskId> {
    let finished = finished(tasks);
    let may_be_worked_on = |task: &&Task| task.status.is_open() || task.status == Status::Review;
    tasks
        .iter()
        .filter(may_be_worked_on)
        .filter(|task| is_free(task, &finished))
        .map(|task| &task.id)
        .collect()
}

/// Which tasks depend on which others directly.
#[derive(Debug)]
pub struct Blocks<'t> {
    positions: Positions<'t>,
    dependants: Vec<Vec<&'t TaskId>>,
}

/// Finds for each task the tasks that depend on it directly.
pub fn blocks(tasks: &[Task]) -> Blocks<'_> {
    let (positions, _) = Positions::of(tasks.iter().map(|task| &task.id));
    let mut dependants = vec![Vec::new(); tasks.len()];
    for task in tasks {
        for dependency in &task.dependencies {
            if let Some(position) = positions.get(dependency.as_str()) {
                dependants[position].push(&task.id);
            }
        }
    }
    Blocks {
        positions,
        dependants,
    }
}

impl<'t> Blocks<'t> {
    /// Returns what depends on a task, in the order of the backlog.
    pub fn of(&self, id: &TaskId) -> &[&'t TaskId] {
        let position = self.positions.get(id.as_str());
        position.map_or(&[], |position| &self.dependants[position])
    }
}

fn urgency(task: &Task) -> (Reverse<crate::Priority>, usize, &TaskId) {
    (Reverse(task.priority), task.dependencies.len(), &task.id)
}

fn is_free(task: &Task, finished: &Finished<'_>) -> bool {
    let is_finished = |id: &TaskId| {
        let position = finished.positions.get(id.as_str());
        position.is_some_and(|position| finished.tasks[position].status.satisfies_dependants())
    };
    task.dependencies.iter().all(is_finished)
}

/// The tasks and subtasks, found by their ids: of those that are done or cancelled it is known that they hold up nobody.
struct Finished<'t> {
    positions: Positions<'t>,
    tasks: Vec<&'t Task>,
}

fn finished(tasks: &[Task]) -> Finished<'_> {
    let tasks: Vec<&Task> = Task::with_subtasks(tasks).collect();
    let (positions, _) = Positions::of(tasks.iter().map(|task| &task.id));
    Finished { positions, tasks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Priority;

    fn task(id: &str, status: &str, priority: Priority, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, id);
        task.status = Status::from(status);
        task.priority = priority;
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn next_id(tasks: &[Task]) -> Option<&str> {
        next(tasks, Candidates::Open).map(|task| task.id.as_str())
    }

    #[test]
    fn priority_then_fewest_dependencies_then_lowest_id_decides() {
        let mut tasks = vec![
            task("1", "done", Priority::Low, &[]),
            task("2", "pending", Priority::Medium, &[]),
            task("10", "pending", Priority::High, &["1"]),
            task("9", "pending", Priority::High, &["1"]),
            task("11", "pending", Priority::Critical, &["2"]),
        ];
        assert_eq!(next_id(&tasks), Some("9"));
        tasks.push(task("20", "in-progress", Priority::High, &[]));
        assert_eq!(next_id(&tasks), Some("20"));
        tasks.push(task("21", "pending", Priority::Critical, &["77"]));
        assert_eq!(
            next_id(&tasks),
            Some("20"),
            "what waits for a task that is not there is no candidate"
        );
    }

    #[test]
    fn subtasks_of_what_is_in_progress_come_before_everything() {
        let mut parent = task("5", "in-progress", Priority::Low, &["9"]);
        parent.subtasks = vec![
            task("5.1", "done", Priority::Low, &[]),
            task("5.10", "pending", Priority::Low, &["5.1"]),
            task("5.2", "pending", Priority::Low, &["5.1"]),
            task("5.3", "pending", Priority::Low, &["5.2"]),
        ];
        let tasks = vec![parent, task("6", "pending", Priority::Critical, &[])];
        assert_eq!(next_id(&tasks), Some("5.2"));
    }

    #[test]
    fn nothing_is_next_when_everything_waits() {
        assert_eq!(
            next_id(&[
                task("1", "blocked", Priority::High, &[]),
                task("2", "pending", Priority::High, &["1"])
            ]),
            None
        );
        assert_eq!(next_id(&[]), None);
    }

    #[test]
    fn review_is_ready_and_dependants_are_counted() {
        let tasks = vec![
            task("1", "review", Priority::Low, &[]),
            task("2", "pending", Priority::Low, &["1"]),
        ];
        assert_eq!(
            ready(&tasks)
                .into_iter()
                .map(TaskId::as_str)
                .collect::<Vec<_>>(),
            ["1"]
        );
        assert_eq!(blocks(&tasks).of(&"1".into()), [&TaskId::from("2")]);
    }
}
