//! Which subtasks a run works on, and in which order: what a subtask depends on comes before it.

use super::{Progress, WorkItem};
use crate::{Status, Task, TaskId, quoted};

/// Why a task can't be worked on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unstartable {
    /// There is no such task.
    #[error("find the task `{0}`")]
    Unknown(TaskId),
    /// A subtask was named; its task is what is run.
    #[error("run `{subtask}` alone: it is a subtask of `{task}`")]
    Subtask {
        /// The subtask.
        subtask: TaskId,
        /// Its task.
        task: TaskId,
    },
    /// Nothing of it is open.
    #[error("run `{0}`: nothing of it is left to do")]
    NothingOpen(TaskId),
    /// What it depends on is not finished.
    #[error("run `{task}`: it waits for {}", quoted(waits_for))]
    Waiting {
        /// The task, or one of its subtasks.
        task: TaskId,
        /// What it waits for.
        waits_for: Vec<TaskId>,
    },
    /// Subtasks depend on one another in a circle.
    #[error("order the subtasks {}: they depend on one another in a circle", quoted(.0))]
    Circle(Vec<TaskId>),
}

/// What is to be done where a task depends on something that is not finished.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OpenDependencies {
    /// It can't be run.
    Refuse,
    /// It is run all the same.
    Ignore,
}

/// Returns the open subtasks of a task in the order in which they are worked on, or the task itself where it has none.
///
/// # Errors
/// The task can't be worked on.
pub fn work_order(
    tasks: &[Task],
    id: &TaskId,
    open: OpenDependencies,
) -> Result<Vec<WorkItem>, Unstartable> {
    let Some(task) = tasks.iter().find(|task| task.id == *id) else {
        return Err(unknown(tasks, id));
    };
    if task.status.satisfies_dependants() {
        return Err(Unstartable::NothingOpen(id.clone()));
    }
    let is_finished = |wanted: &TaskId| {
        Task::with_subtasks(tasks)
            .any(|task| task.id == *wanted && task.status.satisfies_dependants())
    };
    let unfinished = |task: &Task| -> Vec<TaskId> {
        task.dependencies
            .iter()
            .filter(|id| !is_finished(id))
            .cloned()
            .collect()
    };
    refuse_waiting(task, unfinished(task), open)?;
    if task.subtasks.is_empty() {
        return Ok(vec![item(task)]);
    }
    let candidates: Vec<&Task> = task
        .subtasks
        .iter()
        .filter(|task| task.status.is_open())
        .collect();
    if candidates.is_empty() {
        return Err(Unstartable::NothingOpen(id.clone()));
    }
    let is_candidate = |id: &TaskId| candidates.iter().any(|subtask| subtask.id == *id);
    for subtask in &candidates {
        let mut waits_for = unfinished(subtask);
        waits_for.retain(|id| !is_candidate(id));
        refuse_waiting(subtask, waits_for, open)?;
    }
    in_order(&candidates)
}

fn refuse_waiting(
    task: &Task,
    waits_for: Vec<TaskId>,
    open: OpenDependencies,
) -> Result<(), Unstartable> {
    if waits_for.is_empty() || open == OpenDependencies::Ignore {
        return Ok(());
    }
    let task = task.id.clone();
    Err(Unstartable::Waiting { task, waits_for })
}

fn unknown(tasks: &[Task], id: &TaskId) -> Unstartable {
    let has_it = |task: &&Task| task.subtasks.iter().any(|subtask| subtask.id == *id);
    match tasks.iter().find(has_it) {
        Some(task) => Unstartable::Subtask {
            subtask: id.clone(),
            task: task.id.clone(),
        },
        None => Unstartable::Unknown(id.clone()),
    }
}

/// In the order of the backlog, but each one after what it depends on.
fn in_order(candidates: &[&Task]) -> Result<Vec<WorkItem>, Unstartable> {
    let mut left: Vec<&Task> = candidates.to_vec();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_ready = |task: &&Task| {
            task.dependencies
                .iter()
                .all(|id| *id == task.id || !left.iter().any(|other| other.id == *id))
        };
        let Some(position) = left.iter().position(is_ready) else {
            let ids = left.iter().map(|task| task.id.clone());
            return Err(Unstartable::Circle(ids.collect()));
        };
        ordered.push(item(left.remove(position)));
    }
    Ok(ordered)
}

fn item(task: &Task) -> WorkItem {
    let progress = if task.status == Status::Done {
        Progress::Skipped
    } else {
        Progress::Open
    };
    WorkItem {
        id: task.id.clone(),
        title: task.title.to_string(),
        progress,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, subtasks: &[(&str, &str, &[&str])]) -> Task {
        let mut task = Task::new(id, "A task");
        task.subtasks = subtasks
            .iter()
            .map(|(id, status, dependencies)| {
                let mut subtask = Task::new(*id, "A subtask");
                subtask.status = Status::from(*status);
                subtask.dependencies = dependencies.iter().map(|id| TaskId::from(*id)).collect();
                subtask
            })
            .collect();
        task
    }

    fn order(tasks: &[Task], id: &str) -> Result<Vec<String>, Unstartable> {
        let items = work_order(tasks, &id.into(), OpenDependencies::Refuse)?;
        Ok(items.into_iter().map(|item| item.id.to_string()).collect())
    }

    #[test]
    fn subtasks_come_after_what_they_depend_on_and_else_as_they_stand() {
        let one = task(
            "1",
            &[
                ("1.1", "pending", &["1.2"]),
                ("1.2", "pending", &[]),
                ("1.3", "in-progress", &[]),
            ],
        );
        assert_eq!(order(&[one], "1").unwrap(), ["1.2", "1.1", "1.3"]);
    }

    #[test]
    fn finished_subtasks_are_left_out_wherever_they_stand() {
        let one = task(
            "1",
            &[
                ("1.1", "done", &[]),
                ("1.2", "pending", &["1.1"]),
                ("1.3", "cancelled", &[]),
            ],
        );
        assert_eq!(order(&[one], "1").unwrap(), ["1.2"]);
        let done = task("2", &[("2.1", "done", &[])]);
        assert_eq!(
            order(&[done], "2"),
            Err(Unstartable::NothingOpen("2".into()))
        );
    }

    #[test]
    fn task_without_subtasks_is_worked_on_itself() {
        assert_eq!(order(&[task("3", &[])], "3").unwrap(), ["3"]);
    }

    #[test]
    fn what_can_not_be_worked_on_says_why() {
        let mut waiting = task("2", &[("2.1", "pending", &[])]);
        waiting.dependencies = vec!["1".into()];
        let deferred = task(
            "3",
            &[("3.1", "deferred", &[]), ("3.2", "pending", &["3.1"])],
        );
        let circle = task(
            "4",
            &[("4.1", "pending", &["4.2"]), ("4.2", "pending", &["4.1"])],
        );
        let tasks = [
            task("1", &[("1.1", "pending", &[])]),
            waiting,
            deferred,
            circle,
        ];
        let errors =
            ["2", "3", "4", "1.1", "9"].map(|id| order(&tasks, id).unwrap_err().to_string());
        assert_eq!(
            errors,
            [
                "run `2`: it waits for `1`",
                "run `3.2`: it waits for `3.1`",
                "order the subtasks `4.1`, `4.2`: they depend on one another in a circle",
                "run `1.1` alone: it is a subtask of `1`",
                "find the task `9`",
            ]
        );
        assert!(work_order(&tasks, &"2".into(), OpenDependencies::Ignore).is_ok());
    }
}
