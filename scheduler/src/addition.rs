//! Finds in a backlog what is to join a run: one task, as plain work or as a pair.
//!
//! Whether what it depends on will land is known to the run alone (`Scheduler::refusal`).

use crate::{
    PlanOptions, PlannedTask, Refusal, RefusalReason, Scheduler, Task, TaskId, of_unit, pair,
};

/// Returns the tasks that join the run when the task of that id does.
///
/// Its dependencies are reduced to those that are not done, and to tasks of the run where those are meant.
///
/// # Errors
/// The backlog has no such task, or it is closed.
pub fn addition(
    backlog: &[Task],
    id: &TaskId,
    options: &PlanOptions,
    run: &Scheduler,
) -> Result<Vec<PlannedTask>, Refusal> {
    let refused = |why| Refusal {
        wanted: format!("add task `{id}`"),
        why,
    };
    let tasks = of_unit(backlog, options.unit);
    let find = |id: &TaskId| tasks.iter().find(|task| task.id == *id);
    if run.task(id).is_some() {
        return Err(refused(RefusalReason::Known));
    }
    let task = find(id).ok_or_else(|| refused(RefusalReason::NotInBacklog))?;
    if !task.status.is_open() {
        return Err(refused(RefusalReason::Closed(task.status.clone())));
    }
    let can_join = |task: &&Task| task.status.is_open() && run.task(&task.id).is_none();
    let partner = task.partner_id().and_then(find).filter(can_join);
    let is_done = |id: &TaskId| find(id).is_some_and(|task| task.status.satisfies_dependants());
    let mut joining: Vec<Task> = partner.into_iter().chain([task]).cloned().collect();
    for task in &mut joining {
        task.dependencies
            .retain(|id| run.task(id).is_some() || !is_done(id));
    }
    let joining: Vec<&Task> = joining.iter().collect();
    Ok(pair(&joining, options.tdd, options.red_start).tasks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Status, TddHalf, TddMark, TddMode, WavePlan};
    use std::num::NonZeroU32;

    fn task(id: &str, status: Status, dependencies: &[&str]) -> Task {
        let mut task = Task::new(id, "Build");
        task.status = status;
        task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
        task
    }

    fn run(tasks: &[Task]) -> Scheduler {
        let plan = WavePlan::new(tasks, &PlanOptions::default()).expect("a plan");
        Scheduler::new(plan, Limits::with_slots(NonZeroU32::MIN))
    }

    fn ids(tasks: &[PlannedTask]) -> Vec<(&str, Vec<&str>)> {
        tasks
            .iter()
            .map(|task| {
                (
                    task.id.as_str(),
                    task.dependencies.iter().map(TaskId::as_str).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn a_task_joins_as_a_pair_without_the_dependencies_that_are_done() {
        let mut backlog = vec![task("1", Status::Pending, &[])];
        let run = run(&backlog);
        backlog[0].status = Status::InProgress;
        backlog.extend([
            task("2", Status::Done, &[]),
            task("3", Status::Pending, &["1", "2", "4"]),
        ]);
        let added =
            addition(&backlog, &"3".into(), &PlanOptions::default(), &run).expect("an addition");
        assert_eq!(
            ids(&added),
            [("3:red", vec!["1", "4"]), ("3", vec!["1", "4", "3:red"])]
        );
        let off = PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        };
        assert_eq!(
            addition(&backlog, &"3".into(), &off, &run)
                .expect("an addition")
                .len(),
            1
        );
    }

    #[test]
    fn what_is_not_there_closed_or_known_is_refused() {
        let backlog = [
            task("1", Status::Pending, &[]),
            task("2", Status::Deferred, &[]),
        ];
        let run = run(&backlog[..1]);
        let reason = |id: &str| {
            addition(&backlog, &id.into(), &PlanOptions::default(), &run)
                .expect_err("no")
                .why
                .as_str()
        };
        assert_eq!(
            ["1", "2", "3"].map(reason),
            ["known", "closed", "not-in-backlog"]
        );
    }

    #[test]
    fn a_half_of_a_pair_brings_the_other_half() {
        let mark = |half, partner: &str| {
            Some(TddMark {
                half,
                paired_task_id: Some(partner.into()),
            })
        };
        let mut red = task("2", Status::Pending, &[]);
        red.metadata.tdd = mark(TddHalf::Red, "3");
        let mut green = task("3", Status::Pending, &[]);
        green.metadata.tdd = mark(TddHalf::Green, "2");
        let first = task("1", Status::Pending, &[]);
        let run = run(std::slice::from_ref(&first));
        let added = addition(
            &[first, red, green],
            &"3".into(),
            &PlanOptions::default(),
            &run,
        )
        .expect("an addition");
        assert_eq!(ids(&added), [("2", vec![]), ("3", vec!["2"])]);
    }
}
