//! Proven work that conflicts with what has landed.

use super::*;
use crate::{Choice, Foreseen, Overlap};

fn begun(edges: &[(&str, &[&str])], slots: u32, change: impl FnOnce(&mut Limits)) -> Script {
    let mut limits = Limits::with_slots(NonZeroU32::new(slots).expect("slots"));
    change(&mut limits);
    let mut script = Script::with_limits(edges, TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script
}

fn conflict(mendable: bool) -> Answer {
    let (files, with) = (vec!["list".into()], vec!["9".into()]);
    Answer::LandingRefused(LandingRefusal::Conflict {
        files,
        with,
        mendable,
        tried: Vec::new(),
    })
}

fn touching(files: &[&str]) -> Answer {
    let touched = files.iter().map(|&file| file.to_owned()).collect();
    Answer::Proved(Proof {
        touched,
        ..Proof::default()
    })
}

impl Script {
    /// Hands in the answer to what a task waits for, whatever follows.
    fn goes_on(&mut self, task: &str, answer: Answer) {
        let attempt = self.attempt(task);
        self.scheduler
            .handle(
                self.now,
                Input::Answer {
                    task: task.into(),
                    attempt,
                    answer,
                },
            )
            .expect("a legal input");
    }

    fn attempt(&self, task: &str) -> AttemptNumber {
        AttemptNumber(count_u32(self.records(task).len()))
    }

    fn records(&self, task: &str) -> &[AttemptRecord] {
        self.scheduler.task(&task.into()).expect("a task").attempts
    }

    /// Takes an attempt from its preparation to where its commit lands.
    fn proves(&mut self, task: &str, files: &[&str]) {
        for answer in [prepared(), exited(0), touching(files)] {
            self.goes_on(task, answer);
        }
        let commit = format!("c{task}-{}", self.attempt(task).0);
        self.goes_on(task, committed(&commit));
    }

    /// Has the tasks 2 and 3 fail until the first one works and 2 does not.
    fn fails_until_the_first_works(&mut self) {
        while self.started().contains(&"2") || !self.started().contains(&"1") {
            let two = self.started().contains(&"2");
            let (task, file) = if two { ("2", "list") } else { ("3", "else") };
            self.goes_on(task, prepared());
            self.goes_on(task, exited(0));
            let failed = Proof {
                failure: Some(Failure::Regression),
                ..touched(file)
            };
            self.goes_on(task, Answer::Proved(failed));
        }
    }

    fn started(&self) -> Vec<&str> {
        let tasks = self
            .scheduler
            .tasks()
            .filter(|view| view.state.has_worktree());
        tasks.map(|view| view.placed.task.id.as_str()).collect()
    }
}

#[test]
fn the_next_attempt_puts_proven_work_together_with_what_has_landed_and_the_one_after_it_begins_anew()
 {
    let mut script = begun(&[("1", &[])], 1, |limits| limits.retries = 0);
    script.proves("1", &["list"]);
    script.answer(
        "1",
        conflict(true),
        &["say attempt:ended 1 conflict", "prepare 1#2 on [] with []"],
    );
    assert_eq!(
        script.records("1")[1]
            .mends
            .as_ref()
            .expect("carried over")
            .as_str(),
        "c1-1"
    );
    script.goes_on("1", prepared());
    script.goes_on("1", exited(0));
    script.answer(
        "1",
        proved(Some(Failure::Conflict)),
        &[
            "say test:run 1",
            "release 1#2 Salvage",
            "say attempt:ended 1 conflict",
            "prepare 1#3 on [] with []",
        ],
    );
    assert_eq!(
        script.records("1")[2].mends,
        None,
        "one attempt at it is enough"
    );
    assert!(
        script
            .records("1")
            .iter()
            .all(|record| !record.is_charged()),
        "nothing of it costs a retry"
    );
}

#[test]
fn an_attempt_that_was_lost_before_it_could_put_them_together_is_made_again() {
    let mut script = begun(&[("1", &[])], 1, |limits| limits.retries = 0);
    script.proves("1", &["list"]);
    script.goes_on("1", conflict(true));
    script.goes_on("1", prepared());
    script.goes_on("1", ended(Ended::Lost));
    script.now = script.scheduler.next_wake().expect("a pause");
    script.gives(Input::Tick, &["prepare 1#3 on [] with []"]);
    assert_eq!(
        script.records("1")[2]
            .mends
            .as_ref()
            .expect("carried over")
            .as_str(),
        "c1-1"
    );
    script.goes_on("1", prepared());
    script.goes_on("1", exited(7));
    assert_eq!(
        (
            script.records("1")[2].is_charged(),
            script.records("1")[3].mends.clone()
        ),
        (false, None)
    );
}

#[test]
fn what_no_agent_may_put_together_is_done_anew_without_a_charge_as_often_as_the_limits_say() {
    let mut script = begun(&[("1", &[])], 1, |limits| {
        (limits.retries, limits.conflict_rounds) = (0, 2);
    });
    for round in 1..=2 {
        script.proves("1", &["list"]);
        let prepare = format!("prepare 1#{} on [] with []", round + 1);
        script.answer(
            "1",
            conflict(false),
            &["say attempt:ended 1 conflict", &prepare],
        );
        assert_eq!(script.records("1").last().expect("an attempt").mends, None);
    }
    script.proves("1", &["list"]);
    let expected = [
        "say attempt:ended 1 conflict",
        "say task:failed 1 conflict",
        "status 1 pending",
        "say run:ended failed 3",
    ];
    script.answer("1", conflict(true), &expected);
    assert!(script.records("1")[2].is_charged());
}

#[test]
fn a_task_that_conflicted_twice_lands_before_others_start_that_may_touch_the_same_files() {
    let in_order = |limits: &mut Limits| limits.choice = Choice::FirstInOrder;
    let mut script = begun(&[("1", &[]), ("2", &[]), ("3", &[])], 2, in_order);
    script.proves("1", &["list"]);
    assert_eq!(script.started(), ["2", "3"]);
    script.goes_on("1", conflict(true));
    // Two others fail and are ready again: the one by whose files nothing is at odds goes on, the other one waits.
    for (task, file) in [("2", "list"), ("3", "else")] {
        script.goes_on(task, prepared());
        script.goes_on(task, exited(0));
        script.goes_on(
            task,
            Answer::Proved(Proof {
                failure: Some(Failure::Regression),
                ..touched(file)
            }),
        );
    }
    script.fails_until_the_first_works();
    script.proves("1", &["list"]);
    script.goes_on("1", conflict(true));
    script.fails_until_the_first_works();
    assert_eq!(
        script
            .records("1")
            .iter()
            .filter(|record| record.failure().is_some())
            .count(),
        2
    );
    assert!(
        !script
            .scheduler
            .is_held_back(script.scheduler.ranks[&"3".into()]),
        "it touches something else"
    );
    assert!(
        script
            .scheduler
            .is_held_back(script.scheduler.ranks[&"2".into()]),
        "it waits for task 1"
    );
    script.proves("1", &["list"]);
    script.goes_on("1", landed("m1"));
    assert!(
        !script
            .scheduler
            .is_held_back(script.scheduler.ranks[&"2".into()]),
        "task 1 has landed"
    );
}

fn touched(file: &str) -> Proof {
    Proof {
        touched: vec![file.to_owned()],
        ..Proof::default()
    }
}

#[test]
fn with_overlap_avoided_tasks_that_name_the_same_file_work_side_by_side_only_where_nothing_else_is_ready()
 {
    let task = |id: &str, file: &str| Task {
        description: format!("Change {file}"),
        ..Task::new(id, "Build")
    };
    let tasks = [
        task("1", "src/a.rs"),
        task("2", "src/a.rs"),
        task("3", "src/b.rs"),
        task("4", "src/a.rs"),
    ];
    let plan = WavePlan::new(
        &tasks,
        &PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        },
    )
    .expect("a plan");
    let started = |slots: u32, overlap: Overlap| {
        let mut limits = Limits::with_slots(NonZeroU32::new(slots).expect("slots"));
        limits.overlap = overlap;
        limits.choice = Choice::FirstInOrder;
        let mut script = Script {
            scheduler: Scheduler::new(plan.clone(), limits),
            now: Timestamp(0),
        };
        script
            .scheduler
            .handle(script.now, Input::Begin)
            .expect("a legal input");
        script.started().join(" ")
    };
    assert_eq!(started(2, Overlap::Allow), "1 2");
    assert_eq!(started(2, Overlap::Avoid), "1 3");
    assert_eq!(started(3, Overlap::Avoid), "1 2 3", "no slot stands idle");
}

#[test]
fn what_most_work_of_before_touched_is_expected_of_tasks_that_name_no_file() {
    let task = |id: &str, text: &str| Task {
        description: text.to_owned(),
        ..Task::new(id, "Build")
    };
    let tasks = [
        task("1", "Change src/a.rs"),
        task("2", ""),
        task("3", ""),
        task("4", "Change src/b.rs"),
    ];
    let plan = WavePlan::new(
        &tasks,
        &PlanOptions {
            tdd: TddMode::Off,
            ..PlanOptions::default()
        },
    )
    .expect("a plan");
    let started = |hot: &[&str]| {
        let mut limits = Limits::with_slots(NonZeroU32::new(3).expect("slots"));
        limits.overlap = Overlap::Avoid;
        limits.hot_files = hot.iter().map(|&file| file.to_owned()).collect();
        let mut script = Script {
            scheduler: Scheduler::new(plan.clone(), limits),
            now: Timestamp(0),
        };
        script
            .scheduler
            .handle(script.now, Input::Begin)
            .expect("a legal input");
        script.started().join(" ")
    };
    assert_eq!(started(&[]), "1 2 3");
    assert_eq!(started(&["src/list.rs"]), "1 2 4");
}

#[test]
fn a_journal_of_before_has_conflicts_charged_and_carries_nothing_over() {
    let mut script = begun(&[("1", &[])], 1, |limits| limits.edition = Edition::Second);
    script.proves("1", &["list"]);
    script.goes_on("1", conflict(true));
    assert_eq!(
        (
            script.records("1")[0].is_charged(),
            script.records("1")[1].mends.clone()
        ),
        (true, None)
    );
}

#[test]
fn what_an_attempt_under_way_will_conflict_with_is_told_once_and_of_no_other_attempt() {
    let mut script = begun(&[("1", &[])], 1, |_| {});
    let foreseen = |attempt: u32, files: &[&str]| {
        let files = files.iter().map(|&file| file.to_owned()).collect();
        Input::Foreseen(Foreseen {
            task: "1".into(),
            attempt: AttemptNumber(attempt),
            files,
            with: Vec::new(),
        })
    };
    script.gives(foreseen(1, &["list"]), &[]);
    script.goes_on("1", prepared());
    script.gives(foreseen(1, &["list"]), &["say task:conflict-ahead 1 list"]);
    script.gives(foreseen(1, &["list"]), &[]);
    script.gives(foreseen(2, &["else"]), &[]);
    script.gives(foreseen(1, &[]), &[]);
    assert_eq!(script.records("1")[0].ahead(), None);
    script.gives(foreseen(1, &["list"]), &["say task:conflict-ahead 1 list"]);
}
