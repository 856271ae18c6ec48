//! A RED whose GREEN shows that its tests may be wrong is done again.

use super::*;
use crate::{Claim, ClaimStatus, Reason, ResultFile};

/// A pair whose RED is held.
fn red_held(retries: u32) -> Script {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.retries = retries;
    let mut script = Script::with_limits(&[("1", &[])], TddMode::Auto, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    red_again(&mut script, "red1");
    script
}

/// Takes RED from `Prepared` to `Held`.
fn red_again(script: &mut Script, commit: &str) {
    let proof = Proof {
        new: vec!["test_a".into(), "test_b".into()],
        seen_failing: true,
        ..Proof::default()
    };
    for answer in [
        prepared(),
        exited(0),
        Answer::Proved(proof),
        committed(commit),
    ] {
        give(script, "1:red", answer);
    }
}

/// Gives an answer; returns the effects, and with a task that is given up the reason.
fn give(script: &mut Script, task: &str, answer: Answer) -> Vec<String> {
    let attempt = AttemptNumber(count_u32(
        script
            .scheduler
            .task(&task.into())
            .expect("a task")
            .attempts
            .len(),
    ));
    let input = Input::Answer {
        task: task.into(),
        attempt,
        answer,
    };
    let shown = |effect: &Effect| match effect {
        Effect::Tell(Event::TaskFailed { reason, .. }) => format!("{}: {reason}", line(effect)),
        _ => line(effect),
    };
    script
        .scheduler
        .handle(script.now, input)
        .expect("a legal input")
        .iter()
        .map(shown)
        .collect()
}

fn refused(reason: Reason, tests: &[&str]) -> Proof {
    let red_failing = tests.iter().map(|&name| name.to_owned()).collect();
    let evidence = "one test fails:\n- test_a\n    NameError: name 'sumup' is not defined";
    Proof {
        red_failing,
        ..Proof::refused(Failure::GreenFailing, reason, evidence)
    }
}

/// A GREEN that fails so; its agent says that the test is wrong.
fn green_fails(script: &mut Script, proof: Proof) -> Vec<String> {
    let Answer::AgentEnded(report) = exited(0) else {
        unreachable!("an agent's end")
    };
    let issues = vec!["test_a calls sumup, which it never imports".into()];
    let claim = Claim {
        issues,
        ..Claim::of(ClaimStatus::Partial)
    };
    give(script, "1", prepared());
    give(
        script,
        "1",
        Answer::AgentEnded(AgentReport {
            result: ResultFile::Claimed(claim),
            ..report
        }),
    );
    give(script, "1", Answer::Proved(proof))
}

fn attempts(script: &Script, task: &str) -> Vec<AttemptRecord> {
    script
        .scheduler
        .task(&task.into())
        .expect("a task")
        .attempts
        .to_vec()
}

#[test]
fn after_two_greens_that_fail_on_the_same_test_red_is_done_again_with_what_both_sides_say() {
    let mut script = red_held(1);
    assert_eq!(
        green_fails(
            &mut script,
            refused(Reason::RedTestsFail, &["test_a", "test_b"])
        ),
        [
            "say test:run 1",
            "release 1#1 Salvage",
            "say attempt:ended 1 green-failing",
            "prepare 1#2 on [red1] with [red1]"
        ]
    );
    assert_eq!(
        green_fails(&mut script, refused(Reason::RedTestsFail, &["test_a"])),
        [
            "say test:run 1",
            "release 1#2 Salvage",
            "say attempt:ended 1 green-failing",
            "say attempt:ended 1:red red-questioned",
            "prepare 1:red#2 on [] with []",
        ]
    );
    let red = &attempts(&script, "1:red")[0];
    assert_eq!(
        (red.failure(), red.is_charged()),
        (Some(Failure::RedQuestioned), false)
    );
    assert_eq!(
        red.evidence(),
        "its GREEN failed on the same tests twice, so they may be wrong: `test_a`\n\n\
         What tm saw of RED: new tests: `test_a`, `test_b`\n\n\
         What tm saw of GREEN, attempt 2: one test fails:\n- test_a\n    NameError: name 'sumup' is not \
         defined\n\nWhat GREEN's agent said of it: test_a calls sumup, which it never imports"
    );
    assert!(
        attempts(&script, "1")
            .iter()
            .all(|record| !record.is_charged()),
        "GREEN has all its attempts again"
    );
    red_again(&mut script, "red2");
    // The same again: GREEN fails as any other, and says so.
    let same = || refused(Reason::RedTestsFail, &["test_a"]);
    assert_eq!(
        green_fails(&mut script, same()).last().expect("a line"),
        "prepare 1#4 on [red2] with [red2]"
    );
    assert_eq!(
        green_fails(&mut script, same()),
        [
            "say test:run 1",
            "release 1#4 Salvage",
            "say attempt:ended 1 green-failing",
            "say task:failed 1 green-failing: one test fails: test_a: NameError: name 'sumup' is not defined; its RED was done again because of that, so a test may be wrong",
            "status 1 pending",
            "say run:ended failed 3",
        ]
    );
}

#[test]
fn greens_that_fail_on_different_tests_are_tried_again_as_ever() {
    let mut script = red_held(3);
    green_fails(&mut script, refused(Reason::RedTestsFail, &["test_a"]));
    let effects = green_fails(&mut script, refused(Reason::RedTestsFail, &["test_b"]));
    assert_eq!(
        effects.last().expect("a line"),
        "prepare 1#3 on [red1] with [red1]"
    );
    // In between everything of RED passed.
    green_fails(
        &mut script,
        Proof::refused(Failure::Regression, Reason::OldTestFailed, "old"),
    );
    let effects = green_fails(&mut script, refused(Reason::RedTestsFail, &["test_b"]));
    assert!(
        effects
            .iter()
            .any(|effect| effect.starts_with("say task:failed 1 green-failing")),
        "{effects:?}"
    );
    assert_eq!(attempts(&script, "1:red").len(), 1);
}

#[test]
fn an_attempt_that_was_not_measured_in_between_changes_nothing() {
    let mut script = red_held(3);
    green_fails(&mut script, refused(Reason::RedTestsFail, &["test_a"]));
    give(&mut script, "1", prepared());
    give(&mut script, "1", exited(7));
    let effects = green_fails(&mut script, refused(Reason::RedTestsFail, &["test_a"]));
    assert_eq!(
        effects.last().expect("a line"),
        "prepare 1:red#2 on [] with []"
    );
    let charged: Vec<bool> = attempts(&script, "1")
        .iter()
        .map(AttemptRecord::is_charged)
        .collect();
    assert_eq!(charged, [false, true, false]);
}

#[test]
fn a_third_cause_questions_nobody() {
    let mut script = red_held(3);
    for cause in [Reason::TestMistake, Reason::RedNotFailing] {
        green_fails(&mut script, refused(cause, &[]));
        red_again(&mut script, "again");
    }
    for attempt in [4, 5] {
        let effects = green_fails(&mut script, refused(Reason::RedTestsFail, &["test_a"]));
        assert_eq!(
            effects.last().expect("a line"),
            &format!("prepare 1#{attempt} on [again] with [again]")
        );
    }
}

#[test]
fn a_test_that_shows_itself_wrong_questions_red_at_once_and_once_for_each_cause() {
    let mut script = red_held(0);
    for (cause, red) in [(Reason::TestMistake, 2), (Reason::RedNotFailing, 3)] {
        let effects = green_fails(&mut script, refused(cause, &[]));
        assert_eq!(
            effects.last().expect("a line"),
            &format!("prepare 1:red#{red} on [] with []")
        );
        assert_eq!(
            attempts(&script, "1:red")[red - 2]
                .failed()
                .and_then(|failed| failed.questioned),
            Some(cause)
        );
        red_again(&mut script, "again");
    }
    let effects = green_fails(&mut script, refused(Reason::TestMistake, &[]));
    assert!(
        effects
            .iter()
            .any(|effect| effect.starts_with("say task:failed 1 green-failing")),
        "{effects:?}"
    );
    assert_eq!(
        (
            attempts(&script, "1:red").len(),
            attempts(&script, "1").len()
        ),
        (3, 3)
    );
}

#[test]
fn a_red_that_fails_when_it_is_done_again_blocks_its_green() {
    let mut script = red_held(0);
    green_fails(&mut script, refused(Reason::TestMistake, &[]));
    give(&mut script, "1:red", prepared());
    let effects = give(&mut script, "1:red", exited(7));
    assert_eq!(
        effects[2..],
        [
            "say task:failed 1:red no-result: the agent ended with exit code 7 and left no result file",
            "status 1 pending",
            "say task:blocked 1 by 1:red",
            "say run:ended failed 3"
        ]
    );
}
