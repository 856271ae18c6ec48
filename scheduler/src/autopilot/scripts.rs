//! The machine as scripts: an order, then where the run is.

use super::*;

fn pilot(subtasks: u32, max_green_attempts: u32) -> Autopilot {
    let item = |number| WorkItem {
        id: TaskId::new(format!("1.{number}")),
        title: format!("Part {number}"),
        progress: Progress::Open,
    };
    let rules = AutopilotRules {
        max_green_attempts,
        coverage_threshold: Some(80.0),
    };
    Autopilot::new("1".into(), (1..=subtasks).map(item).collect(), rules)
}

fn started(subtasks: u32, max_green_attempts: u32) -> Autopilot {
    let mut pilot = pilot(subtasks, max_green_attempts);
    pilot.handle(&Order::PreflightPassed).unwrap();
    pilot.handle(&Order::BranchReady).unwrap();
    pilot
}

fn counts(passed: u64, failed: u64) -> PhaseReport {
    let counts = TestCounts::of(passed, failed, 0);
    PhaseReport {
        phase: None,
        subtask: None,
        counts,
        coverage: None,
        proven: None,
    }
}

fn commit() -> Order {
    Order::Committed("a".repeat(40).into())
}

#[test]
fn a_task_goes_through_every_phase_of_every_subtask() {
    let mut pilot = pilot(2, 3);
    let mut trace = vec![pilot.next().to_string()];
    pilot.handle(&Order::PreflightPassed).unwrap();
    pilot.handle(&Order::BranchReady).unwrap();
    for _ in 0..2 {
        trace.push(pilot.next().to_string());
        assert!(pilot.report(&counts(0, 3)).unwrap().is_accepted());
        trace.push(pilot.next().to_string());
        assert!(pilot.report(&counts(3, 0)).unwrap().is_accepted());
        trace.push(pilot.next().to_string());
        pilot.handle(&commit()).unwrap();
    }
    trace.push(pilot.next().to_string());
    pilot.handle(&Order::Finalized).unwrap();
    trace.push(pilot.next().to_string());
    assert_eq!(
        trace,
        [
            "resuming the run",
            "RED of `1.1`",
            "GREEN of `1.1`, try 1",
            "COMMIT of `1.1`",
            "RED of `1.2`",
            "GREEN of `1.2`, try 1",
            "COMMIT of `1.2`",
            "finalizing: everything is committed",
            "nothing: the run is complete",
        ]
    );
}

#[test]
fn a_green_that_fails_too_often_pauses_and_can_be_resumed() {
    let mut pilot = started(1, 2);
    pilot.report(&counts(0, 3)).unwrap();
    assert!(!pilot.report(&counts(1, 2)).unwrap().is_accepted());
    assert_eq!(
        pilot.next(),
        Action::Green {
            subtask: "1.1".into(),
            attempt: 2
        }
    );
    assert!(!pilot.report(&counts(2, 1)).unwrap().is_accepted());
    assert!(matches!(
        pilot.stage(),
        Stage::Paused {
            why: PauseReason::AttemptsUsedUp,
            ..
        }
    ));
    let refused = pilot.report(&counts(3, 0)).unwrap_err();
    assert_eq!(
        refused.next.command().as_deref(),
        Some("tm autopilot resume")
    );
    pilot.handle(&Order::Resume).unwrap();
    assert_eq!(
        pilot.next(),
        Action::Green {
            subtask: "1.1".into(),
            attempt: 3
        }
    );
    assert!(!pilot.report(&counts(2, 1)).unwrap().is_accepted());
    assert_eq!(
        pilot.next(),
        Action::Green {
            subtask: "1.1".into(),
            attempt: 4
        },
        "resuming grants as many tries"
    );
    assert!(pilot.report(&counts(3, 0)).unwrap().is_accepted());
}

#[test]
fn a_report_that_contradicts_itself_uses_up_no_try() {
    let mut pilot = started(1, 1);
    pilot.report(&counts(0, 3)).unwrap();
    let mut wrong = counts(3, 0);
    wrong.counts.total = 9;
    assert_eq!(pilot.report(&wrong).unwrap().kind, VerdictKind::Malformed);
    assert_eq!(
        pilot.next(),
        Action::Green {
            subtask: "1.1".into(),
            attempt: 1
        }
    );
}

#[test]
fn a_red_without_failing_tests_stays_red() {
    let mut pilot = started(1, 1);
    for attempt in 2..5 {
        assert!(!pilot.report(&counts(5, 0)).unwrap().is_accepted());
        assert_eq!(pilot.step(), Some(&Step::Red { attempt }));
    }
}

#[test]
fn every_illegal_step_names_the_legal_one_and_changes_nothing() {
    let mut pilot = started(2, 3);
    let before = pilot.clone();
    let early: Vec<String> = [
        Order::BranchReady,
        commit(),
        Order::Finalized,
        Order::Resume,
    ]
    .iter()
    .map(|order| pilot.handle(order).unwrap_err().to_string())
    .collect();
    assert!(
        early
            .iter()
            .all(|error| error.ends_with("it is time for RED of `1.1`")),
        "{early:?}"
    );
    let named = |phase, subtask: &str| PhaseReport {
        phase: Some(phase),
        subtask: Some(subtask.into()),
        ..counts(0, 1)
    };
    let wrong = pilot.report(&named(TddHalf::Green, "1.1")).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "complete GREEN of `1.1`: it is time for RED of `1.1`"
    );
    assert!(pilot.report(&named(TddHalf::Red, "1.2")).is_err());
    assert_eq!(pilot, before);
    assert!(pilot.report(&named(TddHalf::Red, "1.1")).is_ok());
}

#[test]
fn low_coverage_is_not_committed() {
    let mut pilot = started(1, 3);
    pilot.report(&counts(0, 1)).unwrap();
    assert!(
        !pilot
            .report(&PhaseReport {
                coverage: Some(50.0),
                ..counts(1, 0)
            })
            .unwrap()
            .is_accepted()
    );
    assert!(pilot.handle(&commit()).is_err());
}

#[test]
fn what_was_proven_decides_instead_of_the_counts() {
    let mut pilot = started(1, 3);
    let proven = Some(Verdict::refused(
        "the new tests pass",
        "test what is missing",
    ));
    assert!(
        !pilot
            .report(&PhaseReport {
                proven,
                ..counts(0, 3)
            })
            .unwrap()
            .is_accepted()
    );
    let proven = Some(Verdict::accepted("proven"));
    assert!(
        pilot
            .report(&PhaseReport {
                proven,
                ..counts(3, 0)
            })
            .unwrap()
            .is_accepted()
    );
}

#[test]
fn subtasks_that_somebody_else_finished_are_skipped() {
    let mut pilot = started(3, 3);
    pilot.report(&counts(0, 1)).unwrap();
    pilot.handle(&Order::Skip(vec!["1.2".into()])).unwrap();
    assert_eq!(
        pilot.next(),
        Action::Green {
            subtask: "1.1".into(),
            attempt: 1
        },
        "the one under way goes on"
    );
    pilot.handle(&Order::Skip(vec!["1.1".into()])).unwrap();
    assert_eq!(
        pilot.next(),
        Action::Red {
            subtask: "1.3".into()
        }
    );
    pilot.handle(&Order::Skip(vec!["1.3".into()])).unwrap();
    assert_eq!(pilot.next(), Action::Finalize);
}

#[test]
fn a_commit_of_nothing_goes_back_to_red() {
    let mut pilot = started(1, 3);
    pilot.report(&counts(0, 1)).unwrap();
    pilot.report(&counts(1, 0)).unwrap();
    pilot.handle(&Order::NothingToCommit).unwrap();
    assert_eq!(
        pilot.next(),
        Action::Red {
            subtask: "1.1".into()
        }
    );
}

#[test]
fn a_run_can_be_paused_or_aborted_anywhere_but_after_its_end() {
    let mut pilot = pilot(1, 3);
    pilot.handle(&Order::Pause).unwrap();
    assert!(pilot.handle(&Order::Pause).is_err());
    pilot.handle(&Order::Resume).unwrap();
    assert_eq!(*pilot.stage(), Stage::Preflight);
    pilot.handle(&Order::Abort).unwrap();
    for order in [Order::Abort, Order::Pause, Order::Resume] {
        let error = pilot.handle(&order).unwrap_err();
        assert_eq!(
            error.next.command().as_deref(),
            Some("tm autopilot start 1")
        );
    }
}
