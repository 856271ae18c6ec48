//! The further attempt that may improve the code of a GREEN.

use super::*;
use crate::Refactor;

/// One pair whose GREEN is to be committed next, in a run that refactors.
fn green_proven() -> Script {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.refactor = Refactor::On;
    let mut script = Script::with_limits(&[("1", &[])], TddMode::Auto, limits);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1:red");
    script
        .scheduler
        .handle(Timestamp(0), red_committed())
        .expect("a RED is not refactored");
    script.work("1");
    script
}

#[test]
fn a_refactored_green_lands_with_the_further_commit_or_without_it() {
    for (commit, dropped, ended) in [
        ("better", None, "say refactor:ended 1 better"),
        (
            "green",
            Some("a test broke"),
            "say refactor:ended 1 green dropped",
        ),
    ] {
        let mut script = green_proven();
        script.answer(
            "1",
            committed("green"),
            &["say commit:created 1", "refactor 1#1 green"],
        );
        script.gives(
            Input::Resumed(script.scheduler.limits().clone()),
            &[
                "say run:resumed 0 landed, 1 under way",
                "status 1 in-progress",
                "status 1 in-progress",
                "refactor 1#1 green",
            ],
        );
        let dropped = dropped.map(ToOwned::to_owned);
        let refactored = Refactored {
            commit: commit.into(),
            report: None,
            proof: None,
            dropped,
        };
        let land = format!("land 1#1 {commit}");
        script.answer(
            "1",
            Answer::Refactored(Box::new(refactored)),
            &[ended, "release 1#1 Nothing", &land],
        );
    }
}

#[test]
fn a_stopping_run_starts_no_refactoring_and_ends_one_under_way() {
    let mut script = green_proven();
    let mut other = Script {
        scheduler: script.scheduler.clone(),
        now: script.now,
    };
    script.gives(
        Input::Stop(StopMode::Gently),
        &["say run:stopping Interrupted"],
    );
    script.answer(
        "1",
        committed("green"),
        &[
            "say commit:created 1",
            "release 1#1 Nothing",
            "land 1#1 green",
        ],
    );
    other.answer(
        "1",
        committed("green"),
        &["say commit:created 1", "refactor 1#1 green"],
    );
    other.gives(
        Input::Stop(StopMode::Now),
        &["say run:stopping Interrupted", "stop 1 now"],
    );
}

fn red_committed() -> Input {
    Input::Answer {
        task: "1:red".into(),
        attempt: AttemptNumber(1),
        answer: committed("red"),
    }
}
