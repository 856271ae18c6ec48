//! Random orders and reports, from seeds: what must hold after each of them, and after a restart at any moment.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Move {
    Order(Order),
    Report(PhaseReport),
    /// The state is written down and read again.
    Restart,
}

fn moves() -> impl Strategy<Value = Move> {
    let orders = prop_oneof![
        Just(Order::PreflightPassed),
        Just(Order::BranchReady),
        Just(Order::Committed(CommitId::new("c".repeat(40)))),
        Just(Order::NothingToCommit),
        Just(Order::WorkChanged),
        (1..4_u32).prop_map(|number| Order::Skip(vec![TaskId::new(format!("1.{number}"))])),
        Just(Order::Finalized),
        Just(Order::Pause),
        Just(Order::Resume),
        Just(Order::Abort),
    ];
    let reports = (0..4_u64, 0..3_u64, 0..2_u64, prop::option::of(0.0..110.0)).prop_map(
        |(passed, failed, wrong, coverage)| {
            let mut counts = TestCounts::of(passed, failed, 0);
            counts.total += wrong;
            PhaseReport {
                phase: None,
                subtask: None,
                counts,
                coverage,
                proven: None,
            }
        },
    );
    prop_oneof![4 => orders.prop_map(Move::Order), 5 => reports.prop_map(Move::Report), 1 => Just(Move::Restart)]
}

/// What must be true of every state that can be reached.
fn check(pilot: &Autopilot, before: &Autopilot) {
    let committed = |pilot: &Autopilot| {
        pilot
            .items()
            .iter()
            .filter(|item| matches!(item.progress, Progress::Committed(_)))
            .count()
    };
    if committed(pilot) > committed(before) {
        let Some(Step::Commit { red, green, .. }) = before.step() else {
            panic!("committed from {before:?}")
        };
        assert!(
            red.failed > 0 && green.failed == 0 && green.passed > 0 && green.total >= red.total
        );
        assert!(!matches!(before.stage(), Stage::Paused { .. }));
    }
    let first_open = pilot
        .items()
        .iter()
        .position(|item| item.progress == Progress::Open);
    let last_committed = pilot
        .items()
        .iter()
        .rposition(|item| matches!(item.progress, Progress::Committed(_)));
    assert!(
        last_committed.is_none_or(|last| first_open.is_none_or(|open| last < open)),
        "in order"
    );
    if matches!(pilot.checkpoint(), Stage::Finalize | Stage::Complete) {
        assert!(pilot.current().is_none());
    }
    if let Some(Step::Green {
        attempt, allowed, ..
    }) = pilot.step()
    {
        assert!(attempt <= allowed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_order_of_calls_only_proven_subtasks_are_committed(sequence in prop::collection::vec(moves(), 0..60)) {
        let item = |number| WorkItem { id: TaskId::new(format!("1.{number}")), title: String::new(), progress: Progress::Open };
        let rules = AutopilotRules { max_green_attempts: 2, coverage_threshold: Some(50.0) };
        let mut pilot = Autopilot::new("1".into(), (1..=3).map(item).collect(), rules);
        for step in sequence {
            let before = pilot.clone();
            let is_legal = match step {
                Move::Order(order) => pilot.handle(&order).is_ok(),
                Move::Report(report) => pilot.report(&report).is_ok(),
                Move::Restart => {
                    let text = serde_json::to_string(&pilot).unwrap();
                    pilot = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(&pilot, &before);
                    true
                }
            };
            if !is_legal {
                prop_assert_eq!(&pilot, &before);
            }
            check(&pilot, &before);
        }
    }
}
