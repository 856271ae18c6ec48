//! How often a task is tried, whatever comes back.

use super::*;
use crate::Refactor;
use crate::{Reason, Request, ServiceRefusal};

fn rate_limited() -> Answer {
    let Answer::AgentEnded(report) = exited(1) else {
        unreachable!("an agent's end")
    };
    Answer::AgentEnded(AgentReport {
        refusal: Some(ServiceRefusal::RateLimited { until: None }),
        ..report
    })
}

/// One task, which may be tried again once.
fn one_task() -> Script {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.retries = 1;
    let mut script = Script::with_limits(&[("1", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script
}

/// What came of a task whose agents all end so.
struct Outcome {
    started: usize,
    pauses: Vec<u64>,
    /// Why it was given up.
    reason: String,
}

/// Lets every agent of task 1 end so until nothing more is asked for.
fn ends_always(script: &mut Script, answer: &dyn Fn() -> Answer) -> Outcome {
    let mut outcome = Outcome {
        started: 0,
        pauses: Vec::new(),
        reason: String::new(),
    };
    while !script.scheduler.states[0].is_settled() {
        let attempt = script.scheduler.attempt_number(TaskIndex(0));
        let input = match script.scheduler.states[0] {
            State::Preparing => Input::Answer {
                task: "1".into(),
                attempt,
                answer: prepared(),
            },
            State::Running => {
                outcome.started += 1;
                Input::Answer {
                    task: "1".into(),
                    attempt,
                    answer: answer(),
                }
            }
            _ => {
                let wake = script
                    .scheduler
                    .next_wake()
                    .expect("something is waited for");
                outcome.pauses.push(wake.since(script.now));
                script.now = wake;
                Input::Tick
            }
        };
        for effect in script
            .scheduler
            .handle(script.now, input)
            .expect("a legal input")
        {
            if let Effect::Tell(Event::TaskFailed { reason, .. }) = effect {
                outcome.reason = reason;
            }
        }
    }
    outcome
}

#[test]
fn a_task_whose_work_is_always_lost_is_given_up_after_growing_pauses() {
    let mut script = one_task();
    let outcome = ends_always(&mut script, &|| {
        Answer::WorkLost("the worktree is gone".into())
    });
    assert_eq!(outcome.started, 10);
    assert_eq!(
        outcome.pauses,
        [
            1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000
        ]
    );
    assert_eq!(
        outcome.reason,
        "given up after 10 attempts that were not charged, the last of them because the worktree is gone"
    );
    assert!(
        script
            .scheduler
            .task(&"1".into())
            .expect("a task")
            .attempts
            .iter()
            .all(|record| !record.is_charged())
    );
}

#[test]
fn a_task_whose_service_always_refuses_is_given_up_after_hours() {
    let mut script = one_task();
    let outcome = ends_always(&mut script, &rate_limited);
    assert_eq!(outcome.started, 10);
    let waited: u64 = outcome.pauses.iter().sum();
    assert!(
        waited > 4 * 3_600_000,
        "limits of services last for hours: {:?}",
        outcome.pauses
    );
}

#[test]
fn charged_attempts_come_on_top_of_those_that_are_not() {
    let mut script = one_task();
    let turn = std::cell::Cell::new(0);
    let outcome = ends_always(&mut script, &|| {
        turn.set(turn.get() + 1);
        if turn.get() == 5 {
            exited(7)
        } else {
            ended(Ended::Lost)
        }
    });
    assert_eq!(outcome.started, 11);
}

#[test]
fn an_agent_that_somebody_else_ends_is_lost_and_one_that_the_user_ends_is_not_counted() {
    let mut script = one_task();
    assert_eq!(
        ends_always(&mut script, &|| ended(Ended::Killed)).started,
        10
    );
    let mut script = one_task();
    for number in 1..=50 {
        let (run, prepare) = (
            format!("run 1#{number}"),
            format!("prepare 1#{} on [] with []", number + 1),
        );
        script.answer("1", prepared(), &["say attempt:started 1", &run]);
        script.gives(
            Input::Stop(StopMode::Gently),
            &["say run:stopping Interrupted", "stop 1 after grace"],
        );
        script.answer(
            "1",
            ended(Ended::Killed),
            &[
                &format!("release 1#{number} Salvage"),
                "say attempt:ended 1 well",
                "status 1 pending",
                "say run:ended interrupted 130",
            ],
        );
        let limits = script.scheduler.limits().clone();
        script.gives(
            Input::Resumed(limits),
            &[
                "say run:resumed 0 landed, 0 under way",
                "status 1 pending",
                "status 1 in-progress",
                &prepare,
            ],
        );
    }
    assert_eq!(
        ends_always(&mut script, &|| exited(7)).started,
        2,
        "its own attempts are left to it"
    );
}

#[test]
fn a_task_that_is_opened_again_has_its_uncharged_attempts_again() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.retries = 0;
    // Task 2 keeps the run going.
    let mut script = Script::with_limits(&[("1", &[]), ("2", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    assert_eq!(ends_always(&mut script, &|| ended(Ended::Lost)).started, 10);
    let again = Input::Request(Request::Retry("1".into()));
    script
        .scheduler
        .handle(script.now, again.clone())
        .expect("a legal input");
    assert_eq!(ends_always(&mut script, &|| exited(7)).started, 1);
    script
        .scheduler
        .handle(script.now, again)
        .expect("a legal input");
    assert_eq!(
        ends_always(&mut script, &|| ended(Ended::Lost)).started,
        10,
        "although its charged ones are used up"
    );
}

#[test]
fn work_that_can_not_be_taken_is_charged_and_tried_again_with_what_stood_in_the_way() {
    let mut script = one_task();
    let refused = || {
        Answer::Proved(Proof::refused(
            Failure::WorkRefused,
            Reason::NestedRepository,
            "a repository in `vendor/`",
        ))
    };
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer("1", exited(0), &["prove 1#1"]);
    script.answer(
        "1",
        refused(),
        &[
            "say test:run 1",
            "release 1#1 Salvage",
            "say attempt:ended 1 work-refused",
            "prepare 1#2 on [] with []",
        ],
    );
    let record = &script.scheduler.task(&"1".into()).expect("a task").attempts[0];
    assert_eq!(
        (record.is_charged(), record.evidence()),
        (true, "a repository in `vendor/`")
    );
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#2"]);
    script.answer("1", exited(0), &["prove 1#2"]);
    script.answer(
        "1",
        refused(),
        &[
            "say test:run 1",
            "release 1#2 Salvage",
            "say attempt:ended 1 work-refused",
            "say task:failed 1 work-refused",
            "status 1 pending",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn a_single_slot_waits_until_what_it_made_has_landed() {
    let mut script = Script::new(&[("1", &[]), ("2", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script.work("1");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with []",
        ],
    );
    // With two slots neither stands idle: one is free when its agent ends.
    let mut script = Script::new(&[("1", &[]), ("2", &[]), ("3", &[])], TddMode::Off, 2);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script.work_before("1", "3");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
}

#[test]
fn a_slot_is_free_when_its_agent_ends_and_not_before_where_another_agent_follows() {
    let started = |refactor, ids: &[&str]| {
        let tasks: Vec<(&str, &[&str])> = ids.iter().map(|&id| (id, &[][..])).collect();
        let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
        limits.refactor = refactor;
        let mut script = Script::with_limits(&tasks, TddMode::Auto, limits);
        script
            .scheduler
            .handle(script.now, Input::Begin)
            .expect("a legal input");
        for red in ["1:red", "2:red"] {
            queued(&mut script, red);
        }
        for answer in [prepared(), exited(0)] {
            let input = Input::Answer {
                task: "1".into(),
                attempt: AttemptNumber(1),
                answer,
            };
            let asked = script.scheduler.handle(script.now, input);
            asked.expect("a legal input");
        }
        let begun = script
            .scheduler
            .tasks()
            .filter(|view| !view.attempts.is_empty());
        let ids = begun.map(|view| view.placed.task.id.to_string());
        (
            ids.collect::<Vec<String>>(),
            script.scheduler.slots_in_use(),
        )
    };
    let pairs = ["1", "2"];
    let of_pairs = ["1:red", "2:red", "1", "2"].map(str::to_owned);
    assert_eq!(started(Refactor::Off, &pairs), (of_pairs.to_vec(), 1));
    assert_eq!(started(Refactor::On, &pairs), (of_pairs.to_vec(), 2));
}

#[test]
fn proofs_beyond_those_that_are_tested_at_once_keep_tasks_from_starting() {
    let ids: Vec<String> = (1..=9).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), &[][..])).collect();
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.tests_at_once = NonZeroU32::MIN;
    let mut script = Script::with_limits(&tasks, TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    let answer = |script: &mut Script, task: &str, answer| {
        let input = Input::Answer {
            task: task.into(),
            attempt: AttemptNumber(1),
            answer,
        };
        let asked = script.scheduler.handle(script.now, input);
        let lines: Vec<String> = asked.expect("a legal input").iter().map(line).collect();
        lines.join("; ")
    };
    for task in ["1", "2", "3", "4"] {
        answer(&mut script, task, prepared());
        let asked = answer(&mut script, task, exited(0));
        assert!(asked.contains("prepare"), "{asked}");
    }
    answer(&mut script, "5", prepared());
    let asked = answer(&mut script, "5", exited(0));
    assert_eq!(asked, "prove 5#1; say landing:behind 4");
    // A proof that fails is none that is waited for.
    for task in ["1", "2"] {
        answer(&mut script, task, proved(Some(Failure::Regression)));
    }
    assert_eq!(script.scheduler.landing_behind(), None);
    assert_eq!(script.scheduler.slots_in_use(), 2);
}

/// Brings a task from its worktree to the queue of landings, whatever else follows from that.
fn queued(script: &mut Script, task: &str) -> Vec<String> {
    let mut effects = Vec::new();
    for answer in [prepared(), exited(0), proved(None), committed(task)] {
        let input = Input::Answer {
            task: task.into(),
            attempt: AttemptNumber(1),
            answer,
        };
        let asked = script.scheduler.handle(script.now, input);
        effects = asked.expect("a legal input").iter().map(line).collect();
    }
    effects
}

#[test]
fn nothing_is_started_while_landing_is_two_rounds_of_all_slots_behind() {
    let ids: Vec<String> = (1..=9).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), &[][..])).collect();
    let mut script = Script::new(&tasks, TddMode::Off, 2);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    for task in ["1", "2", "3"] {
        queued(&mut script, task);
    }
    assert_eq!(script.scheduler.landing_behind(), None);
    let effects = queued(&mut script, "4");
    assert!(
        effects.contains(&"say landing:behind 4".to_owned()),
        "{effects:?}"
    );
    assert!(!effects.iter().any(|effect| effect.starts_with("prepare")));
    assert_eq!(script.scheduler.landing_behind(), Some(4));
    // What is under way goes on, and nothing takes its place.
    queued(&mut script, "5");
    assert_eq!(script.scheduler.slots_in_use(), 1);
    for task in ["1", "2"] {
        let said = format!("say task:landed {task}");
        let done = format!("status {task} done");
        let next = if task == "1" { "2" } else { "3" };
        let land = format!("land {next}#1 {next}");
        script.answer(
            task,
            landed("m"),
            &[
                "say attempt:ended 1 well".replace('1', task).as_str(),
                &said,
                &done,
                &land,
            ],
        );
    }
    let effects = script.scheduler.handle(
        script.now,
        Input::Answer {
            task: "3".into(),
            attempt: AttemptNumber(1),
            answer: landed("m"),
        },
    );
    let effects: Vec<String> = effects.expect("a legal input").iter().map(line).collect();
    assert!(
        effects.contains(&"say landing:caught-up".to_owned()),
        "{effects:?}"
    );
    assert_eq!(
        effects
            .iter()
            .filter(|effect| effect.starts_with("prepare"))
            .count(),
        1
    );
    assert_eq!(script.scheduler.landing_behind(), None);
}

#[test]
fn what_still_waits_to_land_when_the_grace_of_a_stop_is_over_lands_in_the_next_process() {
    let tasks: [(&str, &[&str]); 4] = [("1", &[]), ("2", &[]), ("3", &[]), ("4", &[])];
    let mut script = Script::new(&tasks, TddMode::Off, 4);
    script.scheduler.limits.grace_ms = Some(1_000);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    for task in ["1", "2", "3", "4"] {
        queued(&mut script, task);
    }
    script.gives(
        Input::Stop(StopMode::Gently),
        &["say run:stopping Interrupted"],
    );
    script.now = Timestamp(999);
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "land 2#1 2",
        ],
    );
    script.now = Timestamp(1_000);
    script.answer(
        "2",
        landed("m2"),
        &[
            "say attempt:ended 2 well",
            "say task:landed 2",
            "status 2 done",
            "status 3 pending",
            "status 4 pending",
            "say run:ended interrupted 130",
        ],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 2 landed, 0 under way",
            "status 1 done",
            "status 2 done",
            "status 3 pending",
            "status 4 pending",
            "land 3#1 3",
        ],
    );
}
