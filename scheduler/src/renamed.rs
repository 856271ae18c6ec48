//! Which task of a backlog is which task of a run, where people gave tasks other ids since the run began.
//!
//! A task is known by its id and its title. One whose title stands once elsewhere was moved there; one that has another
//! title under its own id was only given another title.

use crate::{Task, TaskId, WavePlan};
use std::collections::BTreeMap;

/// The ids that the tasks of a run have in a backlog now.
#[derive(Debug)]
pub struct IdsNow<'a> {
    planned: BTreeMap<&'a TaskId, &'a str>,
    titles: BTreeMap<&'a TaskId, &'a str>,
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
            planned: planned
                .map(|task| (&task.backlog_id, task.title.as_str()))
                .collect(),
            titles: Task::with_subtasks(tasks)
                .map(|task| (&task.id, task.title.as_str()))
                .collect(),
            by_title,
        }
    }

    /// Returns the id that a task of the run has now; `None` where it is not there any more.
    pub fn of(&self, id: &TaskId) -> Option<TaskId> {
        if let Some(title) = self.planned.get(id)
            && self.titles.get(id) != Some(title)
        {
            return self.elsewhere(title).or_else(|| self.here(id));
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
        let titles = self.planned.values();
        2 * titles
            .filter(|title| self.by_title.contains_key(*title))
            .count()
            > self.planned.len()
    }

    fn here(&self, id: &TaskId) -> Option<TaskId> {
        self.titles.contains_key(id).then(|| id.clone())
    }

    /// The one task with a title that is not that of another task of the run.
    fn elsewhere(&self, title: &str) -> Option<TaskId> {
        let ids = self.by_title.get(title)?.iter();
        let mut ids = ids.filter(|id| self.planned.get(*id) != Some(&title));
        let only = ids.next()?;
        ids.next().is_none().then(|| (*only).clone())
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
    fn one_with_another_title_stays_and_one_that_is_gone_is_nowhere() {
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
            ["1", "-", "-", "4"],
            "a title that stands twice tells nothing"
        );
    }
}
