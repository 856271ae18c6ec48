//! Looks at the backlog as a loop does: what is open, and what of that nothing holds up.

use super::LoopSetup;
use crate::step_error::describe;
use std::collections::BTreeMap;
use std::time::Duration;
use tm_scheduler::iteration::{BacklogView, LoopInput};
use tm_scheduler::{Status, Task, TaskId};

/// A file that somebody is just writing is read again so often.
const TRIES: u32 = 4;
/// The pause before it is read again, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Reads the backlog; where there is none, nothing is open.
pub(super) async fn look(setup: &LoopSetup) -> LoopInput {
    let Some((source, options)) = &setup.backlog else {
        return LoopInput::Looked(BacklogView::default());
    };
    let mut tries = 0;
    loop {
        match source.read(options) {
            Ok(backlog) => return LoopInput::Looked(view(&backlog.tasks, &setup.statuses)),
            Err(error) if tries == TRIES => return LoopInput::Unreadable(describe(&error)),
            Err(_) => tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(tries)).await,
        }
        tries += 1;
    }
}

fn view(tasks: &[Task], statuses: &[Status]) -> BacklogView {
    let all: BTreeMap<TaskId, Status> = tasks
        .iter()
        .flat_map(|task| std::iter::once(task).chain(&task.subtasks))
        .map(pair)
        .collect();
    let is_wanted = |status: &Status| {
        if statuses.is_empty() {
            status.is_open()
        } else {
            statuses.contains(status)
        }
    };
    let is_held_up = |task: &&Task| {
        let open = |id: &TaskId| {
            all.get(id)
                .is_some_and(|status| !status.satisfies_dependants())
        };
        task.status != Status::InProgress && task.dependencies.iter().any(open)
    };
    let open: Vec<&Task> = tasks
        .iter()
        .filter(|task| is_wanted(&task.status))
        .collect();
    let ids = |tasks: &[&Task]| tasks.iter().map(|task| task.id.clone()).collect();
    let workable: Vec<&Task> = open
        .iter()
        .copied()
        .filter(|task| !is_held_up(task))
        .collect();
    BacklogView {
        open: ids(&open),
        workable: ids(&workable),
        statuses: all,
    }
}

fn pair(task: &Task) -> (TaskId, Status) {
    (task.id.clone(), task.status.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, status: Status, dependencies: &[&str]) -> Task {
        let dependencies = dependencies.iter().map(|&id| id.into()).collect();
        Task {
            status,
            dependencies,
            ..Task::new(id, "Build")
        }
    }

    #[test]
    fn open_tasks_wait_for_those_that_are_not_finished() {
        let mut parent = task("3", Status::Pending, &["1", "gone"]);
        parent.subtasks = vec![task("3.1", Status::Pending, &[])];
        let tasks = [
            task("1", Status::Done, &[]),
            task("2", Status::Blocked, &[]),
            parent,
            task("4", Status::Pending, &["2"]),
            task("5", Status::InProgress, &["2"]),
        ];
        let of = |statuses: &[Status]| {
            let view = view(&tasks, statuses);
            let text =
                |ids: &[TaskId]| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
            (text(&view.open), text(&view.workable), view.statuses.len())
        };
        assert_eq!(of(&[]), ("3 4 5".to_owned(), "3 5".to_owned(), 6));
        assert_eq!(of(&[Status::Pending]).0, "3 4");
        assert_eq!(of(&[Status::Blocked, Status::Review]).0, "2");
    }
}
