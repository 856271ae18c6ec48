//! Tasks as people count them: a RED and its GREEN are one.

use crate::{Phase, PlacedTask, PlannedTask, State, TaskId, TaskView, WavePlan};
use std::collections::BTreeMap;

/// A task as people count it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TaskRow<T> {
    /// The half that writes the tests; none for a task that is no pair.
    pub red: Option<T>,
    /// The half that makes them pass, or the whole task.
    pub work: T,
}

impl<T: Copy> TaskRow<T> {
    /// Returns what it is made of, RED first.
    pub fn halves(&self) -> impl Iterator<Item = T> {
        self.red.into_iter().chain([self.work])
    }
}

/// What can be half of a pair.
pub trait Half {
    /// Its id within the run.
    fn id(&self) -> &str;
    /// The other half.
    fn partner(&self) -> Option<&str>;
    /// The kind of work.
    fn phase(&self) -> Phase;
}

/// Returns tasks as people count them, in the order of the halves that end them.
pub fn task_rows<H: Half>(halves: &[H]) -> Vec<TaskRow<&H>> {
    let by_id: BTreeMap<&str, &H> = halves.iter().map(|half| (half.id(), half)).collect();
    let partner = |half: &H| by_id.get(half.partner()?).copied();
    let ends = |half: &&H| half.phase() != Phase::Red || partner(half).is_none();
    let row = |work| {
        let red = partner(work).filter(|red| red.phase() == Phase::Red);
        TaskRow { red, work }
    };
    halves.iter().filter(ends).map(row).collect()
}

impl PlannedTask {
    /// Returns the id by which people know the task: of a RED, that of its GREEN.
    pub fn shown_id(&self) -> &TaskId {
        match (self.phase, &self.pair) {
            (Phase::Red, Some(green)) => green,
            (_, _) => &self.id,
        }
    }
}

impl WavePlan {
    /// Returns the tasks as people count them, in the order in which their last halves are taken.
    pub fn rows(&self) -> Vec<TaskRow<&PlacedTask>> {
        task_rows(&self.tasks)
    }
}

impl TaskRow<&TaskView<'_>> {
    /// Tells whether both halves have come to an end.
    pub fn is_settled(&self) -> bool {
        self.halves().all(|half| half.state.is_settled())
    }

    /// Tells whether one of the halves is given up.
    pub fn is_failed(&self) -> bool {
        self.halves()
            .any(|half| matches!(half.state, State::Failed { .. }))
    }

    /// Tells whether neither half is given up, and one can't be done.
    pub fn is_blocked(&self) -> bool {
        let is_blocked = |half: &TaskView<'_>| matches!(half.state, State::Blocked { .. });
        !self.is_failed() && self.halves().any(is_blocked)
    }
}

impl Half for PlacedTask {
    fn id(&self) -> &str {
        self.task.id.as_str()
    }

    fn partner(&self) -> Option<&str> {
        self.task.pair.as_ref().map(TaskId::as_str)
    }

    fn phase(&self) -> Phase {
        self.task.phase
    }
}

impl Half for TaskView<'_> {
    fn id(&self) -> &str {
        self.placed.id()
    }

    fn partner(&self) -> Option<&str> {
        self.placed.partner()
    }

    fn phase(&self) -> Phase {
        self.placed.phase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanOptions, Task, TddMode};

    fn rows(tdd: TddMode) -> Vec<String> {
        let tasks = [
            Task::new("1", "Add it"),
            Task::new("2", "Document it"),
            Task::new("3", "Add more"),
        ];
        let options = PlanOptions {
            tdd,
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks, &options).expect("a plan");
        let name = |half: &PlacedTask| half.task.id.to_string();
        let row = |row: &TaskRow<&PlacedTask>| row.halves().map(name).collect::<Vec<_>>().join("+");
        let mut rows: Vec<String> = plan.rows().iter().map(row).collect();
        rows.sort();
        rows
    }

    #[test]
    fn pair_is_one_task_and_its_red_comes_first() {
        assert_eq!(rows(TddMode::Auto), ["1:red+1", "2", "3:red+3"]);
        assert_eq!(rows(TddMode::Off), ["1", "2", "3"]);
    }

    #[test]
    fn half_without_its_partner_is_a_task_of_its_own() {
        let plan = WavePlan::new(&[Task::new("1", "Add it")], &PlanOptions::default());
        let mut tasks = plan.expect("a plan").tasks;
        tasks.retain(|placed| placed.task.phase == Phase::Red);
        let rows = task_rows(&tasks);
        assert_eq!((rows.len(), rows[0].red), (1, None));
        assert_eq!(rows[0].work.task.shown_id().as_str(), "1");
    }
}
