//! Which task of a backlog is which task of a run, where people gave tasks other ids since the run began.
//!
//! A task is known by its id and its title. One whose title stands once elsewhere was moved there. One that has another
//! title under its own id was only given another title where the rest of its text is as it was, or where there is no
//! other text and somebody has begun it: an id may have been given again, and a task that is new is pending.

use crate::agent_pool::digest;
use crate::{PlannedTask, Status, Task, TaskId, WavePlan};
use std::collections::BTreeMap;

/// The ids that the tasks of a run have in a backlog now.
#[derive(Debug)]
pub struct IdsNow<'a> {
    planned: BTreeMap<&'a TaskId, &'a PlannedTask>,
    there: BTreeMap<&'a TaskId, &'a Task>,
    by_title: BTreeMap<&'a str, Vec<&'a TaskId>>,
}

impl<'a> IdsNow<'a> {
    /// Compares the plan of a run with the tasks of a backlog.
    pub fn new(plan: &'a WavePlan, tasks: &'a [Task]) -> Self {
        let planned = plan.tasks.iter().map(|placed| &placed.task);
        let mut by_title: BTreeMap<&str, Vec<&TaskId>> = BTreeMap::new();
        for task in Task::with_subtasks(tasks) {
            by_title.entry(&task.title).or_default().push(&task.id);
        }
        Self {
            planned: planned.map(|task| (&task.backlog_id, task)).collect(),
            there: Task::with_subtasks(tasks)
                .map(|task| (&task.id, task))
                .collect(),
            by_title,
        }
    }

    /// Returns the id that a task of the run has now; `None` where it is not there any more.
    pub fn of(&self, id: &TaskId) -> Option<TaskId> {
        if let Some(planned) = self.planned.get(id) {
            let here = self.there.get(id);
            return match here.filter(|here| here.title == planned.title) {
                Some(here) => Some(here.id.clone()),
                None => self
                    .elsewhere(&planned.title)
                    .or_else(|| Some(here.filter(|here| planned.is_surely(here))?.id.clone())),
            };
        }
        // A subtask goes with its task.
        let with_parent = || {
            let (parent, number) = id.as_str().rsplit_once('.')?;
            let parent = self.of(&parent.into())?;
            self.here(&TaskId::from(format!("{parent}.{number}")))
        };
        self.here(id).or_else(with_parent)
    }

    /// Returns the tasks of the run that have another id now: that one, and the one in the run.
    pub fn moved(&self) -> BTreeMap<TaskId, TaskId> {
        let moved = |id: &&'a TaskId| Some((self.of(id)?, (*id).clone()));
        let moved = self.planned.keys().filter_map(moved);
        moved.filter(|(now, before)| now != before).collect()
    }

    /// Tells whether the titles of most tasks of the run are there.
    pub fn are_most(&self) -> bool {
        let planned = self.planned.values();
        2 * planned
            .filter(|task| self.by_title.contains_key(&*task.title))
            .count()
            > self.planned.len()
    }

    fn here(&self, id: &TaskId) -> Option<TaskId> {
        self.there.contains_key(id).then(|| id.clone())
    }

    /// The one task with a title that is not that of another task of the run.
    fn elsewhere(&self, title: &str) -> Option<TaskId> {
        let ids = self.by_title.get(title)?.iter();
        let is_another = |id: &TaskId| self.planned.get(id).is_some_and(|task| task.title == title);
        let mut ids = ids.filter(|id| !is_another(id));
        let only = ids.next()?;
        ids.next().is_none().then(|| (*only).clone())
    }
}

impl PlannedTask {
    /// Tells whether a task that has another title now is this one, and not another one that got its id.
    fn is_surely(&self, task: &Task) -> bool {
        self.texts == task.texts_digest()
            && (self.texts.is_some() || task.status != Status::Pending)
    }
}

impl Task {
    /// Returns what tells apart what tasks say besides their titles; nothing where one says nothing.
    pub(crate) fn texts_digest(&self) -> Option<u64> {
        let texts = [&self.description, &self.details, &self.test_strategy].map(|text| text.trim());
        let says_something = texts.iter().any(|text| !text.is_empty());
        says_something.then(|| digest(0, texts.join("\0").as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanOptions;

    fn tasks(tasks: &[(&str, &str)]) -> Vec<Task> {
        let mut made: Vec<Task> = Vec::new();
        for (id, title) in tasks {
            match id.split_once('.') {
                Some(_) => made
                    .last_mut()
                    .expect("a task")
                    .subtasks
                    .push(Task::new(*id, *title)),
                None => made.push(Task::new(*id, *title)),
            }
        }
        made
    }

    /// Where the tasks of a run are that began with these, `-` for nowhere.
    fn now(before: &[(&str, &str)], later: &[(&str, &str)], asked: &[&str]) -> Vec<String> {
        let (before, later) = (tasks(before), tasks(later));
        let plan = WavePlan::new(&before, &PlanOptions::default()).expect("a plan");
        let ids = IdsNow::new(&plan, &later);
        let now = |id: &&str| ids.of(&TaskId::from(*id)).map(|id| id.to_string());
        asked
            .iter()
            .map(|id| now(id).unwrap_or_else(|| "-".to_owned()))
            .collect()
    }

    #[test]
    fn a_task_is_found_by_its_title_where_its_id_is_another_one() {
        let before = [("1", "one"), ("2", "two"), ("3", "three"), ("3.1", "step")];
        let later = [
            ("2", "one"),
            ("1", "two"),
            ("30", "three"),
            ("30.1", "step"),
        ];
        let found = now(&before, &later, &["1", "2", "3", "3.1"]);
        assert_eq!(found, ["2", "1", "30", "30.1"]);
    }

    #[test]
    fn an_id_that_was_given_again_is_not_the_task_of_the_run() {
        let before = tasks(&[("1", "one"), ("2", "two"), ("3", "three")]);
        let described = |task: &mut Task, text: &str| text.clone_into(&mut task.description);
        let with_texts = |mut tasks: Vec<Task>, text| {
            described(&mut tasks[1], text);
            tasks
        };
        let before = with_texts(before, "Count to two.");
        let plan = WavePlan::new(&before, &PlanOptions::default()).expect("a plan");
        let now = |later: &[Task]| {
            let ids = IdsNow::new(&plan, later);
            ["2", "3"].map(|id| ids.of(&id.into()).is_some())
        };
        let other = tasks(&[("1", "one"), ("2", "other"), ("3", "new")]);
        assert_eq!(now(&other), [false, false]);
        let mut begun = with_texts(other.clone(), "Count to two.");
        begun[2].status = Status::InProgress;
        assert_eq!(now(&begun), [true, true], "only the titles are others");
        let mut replaced = with_texts(begun, "Count to three.");
        replaced[1].status = Status::InProgress;
        described(&mut replaced[2], "Something.");
        assert_eq!(now(&replaced), [false, false]);
    }

    #[test]
    fn one_that_is_gone_is_nowhere() {
        let before = [("1", "one"), ("2", "two"), ("3", "same"), ("4", "same")];
        let later = [
            ("1", "first"),
            ("4", "same"),
            ("5", "new"),
            ("6", "same"),
            ("7", "same"),
        ];
        let found = now(&before, &later, &["1", "2", "3", "4"]);
        assert_eq!(
            found,
            ["-", "-", "-", "4"],
            "a title that stands twice tells nothing"
        );
    }
}
