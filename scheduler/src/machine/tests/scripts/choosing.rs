//! What starts next, where that is not simply the first of the ready tasks.

use super::*;
use crate::Choice;

/// Two slots, a chain of three tasks, and others beside it, the first of which may name files.
fn begun(choice: Choice, files: [&str; 4]) -> Script {
    let edges = [
        ("1", ""),
        ("2", "1"),
        ("3", "2"),
        ("4", ""),
        ("5", ""),
        ("6", ""),
    ];
    let named = |id: &str| ["1", "4", "5", "6"].iter().position(|one| *one == id);
    let tasks: Vec<Task> = edges
        .iter()
        .map(|&(id, before)| {
            let mut task = Task::new(id, "Build");
            task.dependencies = (!before.is_empty())
                .then(|| before.into())
                .into_iter()
                .collect();
            task.details = named(id)
                .map(|place| files[place].to_owned())
                .unwrap_or_default();
            task
        })
        .collect();
    let options = PlanOptions {
        tdd: TddMode::Off,
        ..PlanOptions::default()
    };
    let plan = WavePlan::new(&tasks, &options).expect("a plan");
    let limits = Limits {
        choice,
        ..Limits::with_slots(NonZeroU32::new(2).expect("slots"))
    };
    let mut script = Script {
        scheduler: Scheduler::new(plan, limits),
        now: Timestamp(0),
    };
    script.hand_in(Input::Begin);
    script
}

impl Script {
    fn hand_in(&mut self, input: Input) {
        self.scheduler
            .handle(self.now, input)
            .expect("a legal input");
    }

    fn hand_in_answer(&mut self, task: &str, answer: Answer) {
        let (task, attempt) = (task.into(), AttemptNumber(1));
        self.hand_in(Input::Answer {
            task,
            attempt,
            answer,
        });
    }

    /// Takes a task from its preparation to where its commit lands, ten seconds of work of its agent.
    fn finishes(&mut self, task: &str) {
        let began = self.now;
        self.hand_in_answer(task, prepared());
        self.now = began.plus(10_000);
        let report = AgentReport::new("scripted", began, self.now, Ended::Exited(Some(0)));
        for answer in [Answer::AgentEnded(report), proved(None), committed("c")] {
            self.hand_in_answer(task, answer);
        }
    }

    fn at_work(&self) -> String {
        let tasks = self.scheduler.tasks();
        let tasks = tasks.filter(|view| view.state.has_worktree());
        let ids: Vec<&str> = tasks.map(|view| view.placed.task.id.as_str()).collect();
        ids.join(" ")
    }
}

#[test]
fn a_slot_waits_for_a_more_urgent_task_that_is_about_to_be_ready() {
    let mut script = begun(Choice::LookingAround, [""; 4]);
    assert_eq!(script.at_work(), "1 4");
    script.finishes("1");
    assert_eq!(script.at_work(), "4", "5 would hold up 2");
    script.hand_in_answer("1", landed("m"));
    assert_eq!(script.at_work(), "2 4");
}

#[test]
fn a_slot_waits_no_longer_than_another_one_takes_to_be_free() {
    let mut script = begun(Choice::LookingAround, [""; 4]);
    script.finishes("1");
    let wake = script.scheduler.next_wake().expect("a moment");
    assert_eq!(
        wake,
        Timestamp(15_000),
        "half of what an agent takes, with two slots"
    );
    script.now = wake;
    script.hand_in(Input::Tick);
    assert_eq!(script.at_work(), "4 5");
    assert_eq!(script.scheduler.next_wake(), None);
}

#[test]
fn no_slot_waits_where_landing_usually_takes_longer() {
    let mut script = begun(Choice::LookingAround, [""; 4]);
    script.finishes("1");
    script.now = script.now.plus(9_000);
    script.hand_in_answer("1", landed("m"));
    assert_eq!(script.at_work(), "2 4");
    script.finishes("2");
    assert_eq!(script.at_work(), "4 5", "3 comes later");
}

#[test]
fn no_slot_waits_for_work_that_is_stopped_or_that_nothing_more_urgent_needs() {
    let mut script = begun(Choice::LookingAround, [""; 4]);
    script.finishes("4");
    assert_eq!(script.at_work(), "1 5", "nothing waits for 4");
    let mut script = begun(Choice::FirstInOrder, [""; 4]);
    script.finishes("1");
    assert_eq!(script.at_work(), "4 5", "as in journals of before");
}

#[test]
fn of_tasks_that_are_about_as_urgent_one_that_shares_no_file_goes_first() {
    let files = ["src/a.rs", "src/a.rs", "src/b.rs", "src/a.rs"];
    let begun_with = |choice| begun(choice, files).at_work();
    assert_eq!(begun_with(Choice::LookingAround), "1 5");
    assert_eq!(begun_with(Choice::FirstInOrder), "1 4");
    let nothing_else = begun(Choice::LookingAround, ["src/a.rs"; 4]);
    assert_eq!(nothing_else.at_work(), "1 4", "no slot stands idle for it");
}

#[test]
fn a_task_that_is_much_more_urgent_goes_first_whatever_it_shares() {
    let mut script = begun(Choice::LookingAround, ["src/a.rs", "src/a.rs", "", ""]);
    let files = vec!["src/a.rs".to_owned()];
    Arc::make_mut(&mut script.scheduler.plan).tasks[1]
        .task
        .files = files;
    script.finishes("1");
    script.hand_in_answer("1", landed("m"));
    assert_eq!(script.at_work(), "2 5", "2 has the longer path");
}
