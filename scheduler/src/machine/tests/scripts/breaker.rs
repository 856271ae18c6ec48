//! Runs in which everything ends the same way.

use super::*;
use crate::{AtBreaker, Breaker, Request};

fn limits(slots: u32, retries: u32, then: AtBreaker) -> Limits {
    let mut limits = Limits::with_slots(NonZeroU32::new(slots).expect("slots"));
    limits.retries = retries;
    limits.breaker = Breaker {
        tasks: NonZeroU32::new(3),
        attempts: NonZeroU32::new(5),
        then,
    };
    limits
}

/// Five tasks that depend on nothing.
const FIVE: [(&str, &[&str]); 5] = [("1", &[]), ("2", &[]), ("3", &[]), ("4", &[]), ("5", &[])];

fn begun(limits: Limits) -> Script {
    let mut script = Script::with_limits(&FIVE, TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script
}

/// Lets the task under way fail with these words, and returns what people are told of the run.
fn fails(script: &mut Script, task: &str, words: &str) -> Vec<String> {
    let report = |ended| AgentReport {
        last_words: words.to_owned(),
        ..AgentReport::new("a", Timestamp(0), Timestamp(0), ended)
    };
    answers(
        script,
        task,
        Answer::AgentEnded(report(Ended::Exited(Some(127)))),
    )
}

fn answers(script: &mut Script, task: &str, answer: Answer) -> Vec<String> {
    let attempt = AttemptNumber(count_u32(
        script
            .scheduler
            .task(&task.into())
            .expect("a task")
            .attempts
            .len(),
    ));
    let mut effects = Vec::new();
    for answer in [prepared(), answer] {
        let input = Input::Answer {
            task: task.into(),
            attempt,
            answer,
        };
        effects.extend(
            script
                .scheduler
                .handle(script.now, input)
                .expect("a legal input"),
        );
    }
    effects
        .iter()
        .map(line)
        .filter(|line| line.starts_with("say run:"))
        .collect()
}

const NOTHING: [String; 0] = [];

#[test]
fn three_tasks_in_a_row_that_are_given_up_for_the_same_reason_pause_the_run() {
    let mut script = begun(limits(1, 0, AtBreaker::Pause));
    assert_eq!(fails(&mut script, "1", "sh: 1: claud: not found"), NOTHING);
    assert_eq!(fails(&mut script, "2", "sh: 2: claud: not found"), NOTHING);
    assert_eq!(
        fails(&mut script, "3", "sh: 3: claud: not found"),
        [
            "say run:paused because 3 tasks in a row were given up for the same reason, and nothing passed between: \
          no-result: the agent ended with exit code 127 and left no result file: sh: 3: claud: not found"
        ]
    );
    assert_eq!(script.scheduler.states[3], State::Ready);
    // Once somebody has looked after it, what comes is counted anew.
    script.gives(
        Input::Request(Request::Continue),
        &[
            "say run:continued",
            "say task:started 4 none",
            "status 4 in-progress",
            "prepare 4#1 on [] with []",
        ],
    );
    assert_eq!(script.scheduler.broken_by(), None);
    assert_eq!(fails(&mut script, "4", "sh: 3: claud: not found"), NOTHING);
}

#[test]
fn five_attempts_in_a_row_that_end_the_same_way_end_a_run_that_nobody_watches() {
    let mut script = begun(limits(3, 3, AtBreaker::Stop));
    script.answer("3", prepared(), &["say attempt:started 3", "run 3#1"]);
    for task in ["1", "2", "1", "2"] {
        assert_eq!(fails(&mut script, task, "no such model"), NOTHING);
    }
    assert_eq!(
        fails(&mut script, "1", "no such model"),
        ["say run:stopping Breaker"]
    );
    assert!(
        script
            .scheduler
            .broken_by()
            .expect("a reason")
            .contains("5 attempts in a row, at 2 tasks, ended the same way")
    );
    // No agent is started for a worktree that was asked for; one that works goes on to its end.
    script.answer(
        "2",
        prepared(),
        &["release 2#3 Salvage", "say attempt:ended 2 well"],
    );
    script.answer("3", exited(0), &["prove 3#1"]);
    script.answer("3", proved(None), &["say test:run 3", "commit 3#1"]);
    script.answer(
        "3",
        committed("c3"),
        &["say commit:created 3", "release 3#1 Nothing", "land 3#1 c3"],
    );
    script.answer(
        "3",
        landed("m3"),
        &[
            "say attempt:ended 3 well",
            "say task:landed 3",
            "status 3 done",
            "status 1 pending",
            "status 2 pending",
            "say run:ended stopped 3",
        ],
    );
    let limits = script.scheduler.limits().clone();
    assert!(
        script.scheduler.broken_by().is_some(),
        "the summary says why"
    );
    script
        .scheduler
        .handle(script.now, Input::Resumed(limits))
        .expect("a legal input");
    assert_eq!(
        (
            script.scheduler.broken_by(),
            script.scheduler.slots_in_use()
        ),
        (None, 3)
    );
}

#[test]
fn another_end_and_something_that_passes_begin_the_count_anew() {
    let mut script = begun(limits(1, 9, AtBreaker::Pause));
    for words in ["a", "a", "a", "a", "other", "a", "a", "a", "a"] {
        assert_eq!(fails(&mut script, "1", words), NOTHING);
    }
    script.work("1");
    script.answer(
        "1",
        committed("c"),
        &[
            "say commit:created 1",
            "release 1#10 Nothing",
            "land 1#10 c",
        ],
    );
    script
        .scheduler
        .handle(
            script.now,
            Input::Answer {
                task: "1".into(),
                attempt: AttemptNumber(10),
                answer: landed("m"),
            },
        )
        .expect("legal");
    for _ in 0..4 {
        assert_eq!(fails(&mut script, "2", "a"), NOTHING);
    }
    assert!(
        fails(&mut script, "2", "a")[0]
            .starts_with("say run:paused because 5 attempts in a row, at one task, ended")
    );
}

#[test]
fn the_count_outlives_the_process_and_is_none_of_a_journal_that_names_no_breaker() {
    let counted = |limits: Limits| {
        let mut script = begun(limits);
        for _ in 0..4 {
            fails(&mut script, "1", "a");
        }
        let limits = script.scheduler.limits().clone();
        script
            .scheduler
            .handle(script.now, Input::Resumed(limits))
            .expect("legal");
        fails(&mut script, "1", "a").len()
    };
    assert_eq!(counted(limits(1, 9, AtBreaker::Pause)), 1);
    let mut kept = serde_json::to_value(limits(1, 9, AtBreaker::Pause)).expect("written");
    kept.as_object_mut().expect("an object").remove("breaker");
    assert_eq!(counted(serde_json::from_value(kept).expect("read")), 0);
}

#[test]
fn limits_of_services_are_none_of_its_business() {
    let mut script = begun(limits(1, 9, AtBreaker::Stop));
    let until = Some(Timestamp(1));
    let refused = || AgentReport {
        refusal: Some(crate::ServiceRefusal::RateLimited { until }),
        ..AgentReport::new("a", Timestamp(0), Timestamp(0), Ended::Exited(Some(1)))
    };
    script.now = Timestamp(2);
    for _ in 0..8 {
        assert_eq!(
            answers(&mut script, "1", Answer::AgentEnded(refused())),
            NOTHING
        );
        script.now = script.scheduler.next_wake().expect("a wall");
        script
            .scheduler
            .handle(script.now, Input::Tick)
            .expect("legal");
    }
}

/// Five agents at once are lost, and once more all of them; returns what people are told of the run.
fn lost_twice(edition: Edition) -> Vec<String> {
    let mut limits = limits(5, 9, AtBreaker::Pause);
    limits.edition = edition;
    let mut script = begun(limits);
    let lost = || AgentReport::new("a", Timestamp(0), Timestamp(0), Ended::Lost);
    let mut told = Vec::new();
    for _ in 0..2 {
        if !told.is_empty() {
            break;
        }
        script.now = script.now.after(core::time::Duration::from_mins(1));
        for (task, _) in FIVE {
            told.extend(answers(&mut script, task, Answer::AgentEnded(lost())));
        }
        while let Some(wake) = script.scheduler.next_wake() {
            script.now = script.now.max(wake);
            let ticked = script.scheduler.handle(script.now, Input::Tick);
            ticked.expect("a legal input");
        }
    }
    told
}

#[test]
fn agents_that_are_lost_at_the_same_time_are_one_of_a_row() {
    assert_eq!(lost_twice(Edition::NEWEST), NOTHING);
    assert_eq!(lost_twice(Edition::Fourth).len(), 1);
}
