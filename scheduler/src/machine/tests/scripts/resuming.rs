//! Runs that another process takes up.

use super::*;
use crate::{GateOutcome, GateResult, Reason, Tokens};

#[test]
fn a_run_that_is_taken_up_before_it_began_begins() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    let limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:started 1 in 1",
            "say wave:opened 1 of 1",
            "say task:started 1 none",
            "status 1 in-progress",
            "prepare 1#1 on [] with []",
        ],
    );
}

#[test]
fn an_agent_that_was_running_when_tm_died_is_adopted() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    let limits = script.scheduler.limits().clone();
    script.now = Timestamp(500);
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 1 under way",
            "status 1 in-progress",
            "adopt 1#1",
        ],
    );
    assert_eq!(script.scheduler.pauses(), [(Timestamp(0), Timestamp(500))]);
    script.answer(
        "1",
        ended(Ended::Lost),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 lost",
            "say task:waiting 1 until 1500",
        ],
    );
    script.now = Timestamp(1_500);
    script.gives(Input::Tick, &["prepare 1#2 on [] with []"]);
    assert!(!script.scheduler.task(&"1".into()).expect("a task").attempts[0].is_charged());
}

#[test]
fn trouble_around_a_step_stops_the_run_and_the_step_is_asked_for_again() {
    let mut script = Script::new(&[("1", &[]), ("2", &[]), ("3", &[])], TddMode::Off, 2);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work_before("1", "3");
    script.answer(
        "1",
        Answer::InfrastructureFailed("disk full".into()),
        &["say run:stopping Surroundings"],
    );
    // What is under way goes on to its end, and nothing more is started.
    script.work("2");
    script.answer(
        "2",
        committed("c2"),
        &["say commit:created 2", "release 2#1 Nothing", "land 2#1 c2"],
    );
    script.answer(
        "2",
        Answer::Landed {
            commit: "m2".into(),
            resolution: None,
        },
        &[
            "say attempt:ended 2 well",
            "say task:landed 2",
            "status 2 done",
        ],
    );
    script.answer(
        "3",
        Answer::InfrastructureFailed("disk full".into()),
        &[
            "status 1 pending",
            "status 3 pending",
            "say run:ended stopped 1",
        ],
    );
    assert_eq!(script.scheduler.trouble(), Some("disk full"));
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 1 landed, 2 under way",
            "status 1 in-progress",
            "commit 1#1",
            "status 2 done",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
    assert_eq!(script.scheduler.trouble(), None);
}

#[test]
fn what_a_reviewer_without_a_verdict_spent_counts_for_the_task_and_the_run() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer("1", exited(0), &["prove 1#1"]);
    let tokens = Some(Tokens {
        input: 40,
        output: 2,
    });
    let review = GateResult {
        tokens,
        cost_usd: Some(0.5),
        ..GateResult::new("critic", GateOutcome::NoVerdict, vec![])
    };
    let stops = [
        "say run:stopping Surroundings",
        "status 1 pending",
        "say run:ended stopped 1",
    ];
    for spent in [42, 84] {
        let answer = Answer::Unreviewed {
            why: "no verdict".into(),
            review: Box::new(review.clone()),
        };
        script.answer("1", answer, &stops);
        assert_eq!(
            (script.scheduler.tokens(), script.scheduler.trouble()),
            (spent, Some("no verdict"))
        );
        let mut limits = script.scheduler.limits().clone();
        limits.max_cost_usd_per_task = Some(1.0);
        script.gives(
            Input::Resumed(limits),
            &[
                "say run:resumed 0 landed, 1 under way",
                "status 1 in-progress",
                "prove 1#1",
            ],
        );
    }
    let attempts = script.scheduler.task(&"1".into()).expect("a task").attempts;
    assert_eq!(
        attempts
            .iter()
            .map(AttemptRecord::spent)
            .collect::<Vec<_>>(),
        [(
            Some(Tokens {
                input: 80,
                output: 4
            }),
            Some(1.0)
        )]
    );
    let refused = Proof::refused(Failure::GateFailed, Reason::GateFailed, "lint");
    script.answer(
        "1",
        Answer::Proved(refused),
        &[
            "say test:run 1",
            "release 1#1 Salvage",
            "say attempt:ended 1 gate-failed",
            "say task:over-budget 1",
            "say run:stopping Budget",
            "status 1 pending",
            "say run:ended stopped 6",
        ],
    );
}

#[test]
fn a_landing_that_can_not_be_done_now_waits_for_the_next_process() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.answer(
        "1",
        Answer::InfrastructureFailed("read-only".into()),
        &[
            "say run:stopping Surroundings",
            "status 1 pending",
            "say run:ended stopped 1",
        ],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 0 under way",
            "status 1 pending",
            "land 1#1 c1",
        ],
    );
    assert_eq!(
        script
            .scheduler
            .task(&"1".into())
            .expect("a task")
            .attempts
            .len(),
        1,
        "nothing is charged"
    );
}
