//! Proven work waits for its turn to land, and is tested meanwhile on top of what lands before it.

use super::*;

/// Tasks that depend on nothing, all of which have been committed; up to so many are tested at once.
fn committed_tasks(ids: &[&str], batch: u32) -> (Script, Vec<String>) {
    let edges: Vec<(&str, &[&str])> = ids.iter().map(|&id| (id, &[][..])).collect();
    let slots = NonZeroU32::new(count_u32(ids.len())).expect("slots");
    let mut limits = Limits::with_slots(slots);
    limits.land_batch = NonZeroU32::new(batch).expect("a batch");
    let mut script = Script::with_limits(&edges, TddMode::Off, limits);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    let mut asked = Vec::new();
    for &id in ids {
        script.work(id);
        asked.extend(script.lands(id, committed(&format!("c{id}"))));
    }
    (script, asked)
}

impl Script {
    /// Returns what an answer has landed and tested.
    fn lands(&mut self, task: &str, answer: Answer) -> Vec<String> {
        let input = Input::Answer {
            task: task.into(),
            attempt: AttemptNumber(1),
            answer,
        };
        let effects = self.scheduler.handle(self.now, input).expect("legal");
        let mut lines: Vec<String> = effects.iter().map(line).collect();
        lines.retain(|line| line.starts_with("land ") || line.starts_with("test ahead "));
        lines
    }
}

fn red() -> Answer {
    let proof = Box::new(Proof {
        failure: Some(Failure::LandingRegression),
        ..Proof::default()
    });
    let with = Vec::new();
    Answer::LandingRefused(LandingRefusal::Regression { proof, with })
}

#[test]
fn those_behind_the_one_that_lands_are_tested_on_top_of_it_and_go_on_when_it_has_landed() {
    let (mut script, asked) = committed_tasks(&["1", "2", "3", "4", "5", "6"], 8);
    assert_eq!(
        asked,
        [
            "land 1#1 c1",
            "test ahead 2#1 c2 on [c1]",
            "test ahead 3#1 c3 on [c1,c2]",
        ],
        "the window begins at three"
    );
    // One more with each landing, and nothing that is tested already is begun again.
    assert_eq!(
        script.lands("1", landed("m1")),
        [
            "land 2#1 c2",
            "test ahead 4#1 c4 on [c2,c3]",
            "test ahead 5#1 c5 on [c2,c3,c4]",
        ]
    );
    assert_eq!(
        script.lands("2", landed("m2")),
        ["land 3#1 c3", "test ahead 6#1 c6 on [c3,c4,c5]"]
    );
    for (task, next) in [
        ("3", "land 4#1 c4"),
        ("4", "land 5#1 c5"),
        ("5", "land 6#1 c6"),
    ] {
        assert_eq!(script.lands(task, landed("m")), [next]);
    }
}

#[test]
fn with_a_batch_of_one_each_is_tested_when_its_turn_comes() {
    let (mut script, asked) = committed_tasks(&["1", "2", "3"], 1);
    assert_eq!(asked, ["land 1#1 c1"]);
    assert_eq!(script.lands("1", landed("m1")), ["land 2#1 c2"]);
    assert_eq!(script.lands("2", red()), ["land 3#1 c3"]);
}

#[test]
fn one_that_is_refused_leaves_and_only_those_behind_it_are_tested_again_without_it() {
    let (mut script, _) = committed_tasks(&["1", "2", "3", "4", "5", "6"], 8);
    script.lands("1", landed("m1"));
    // Four are tested at once; half of them from here on.
    assert_eq!(
        script.lands("2", red()),
        ["land 3#1 c3", "test ahead 4#1 c4 on [c3]"]
    );
    let charged = |script: &Script, id: &str| {
        let view = script.scheduler.task(&id.into()).expect("a task");
        view.attempts
            .iter()
            .filter(|record| record.is_charged())
            .count()
    };
    for id in ["3", "4", "5", "6"] {
        assert_eq!(charged(&script, id), 0, "`{id}` is not to blame");
    }
    assert_eq!(charged(&script, "2"), 1);
    assert_eq!(
        script.lands("3", landed("m3")),
        [
            "land 4#1 c4",
            "test ahead 5#1 c5 on [c4]",
            "test ahead 6#1 c6 on [c4,c5]"
        ]
    );
}

#[test]
fn the_window_does_not_close_and_grows_again() {
    let (mut script, _) = committed_tasks(&["1", "2", "3", "4", "5", "6", "7"], 8);
    assert_eq!(script.lands("1", red()), ["land 2#1 c2"], "3 / 2");
    assert_eq!(script.lands("2", red()), ["land 3#1 c3"], "1 / 2");
    assert_eq!(
        script.lands("3", landed("m3")),
        ["land 4#1 c4", "test ahead 5#1 c5 on [c4]"]
    );
    assert_eq!(
        script.lands("4", landed("m4")),
        [
            "land 5#1 c5",
            "test ahead 6#1 c6 on [c5]",
            "test ahead 7#1 c7 on [c5,c6]"
        ]
    );
}

#[test]
fn one_that_somebody_stops_while_it_waits_is_taken_from_under_those_behind_it() {
    let (mut script, _) = committed_tasks(&["1", "2", "3"], 8);
    let stop = Input::Request(crate::Request::StopTask {
        task: "2".into(),
        order: StopMode::Gently,
    });
    let effects = script.scheduler.handle(script.now, stop).expect("legal");
    let lines: Vec<String> = effects.iter().map(line).collect();
    assert!(
        lines.contains(&"test ahead 3#1 c3 on [c1]".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn whoever_takes_a_run_up_has_all_tested_again_in_the_same_order() {
    let (mut script, _) = committed_tasks(&["1", "2", "3"], 8);
    let limits = script.scheduler.limits().clone();
    let effects = script
        .scheduler
        .handle(script.now, Input::Resumed(limits))
        .expect("legal");
    let mut lines: Vec<String> = effects.iter().map(line).collect();
    lines.retain(|line| line.starts_with("land ") || line.starts_with("test ahead "));
    assert_eq!(
        lines,
        [
            "land 1#1 c1",
            "test ahead 2#1 c2 on [c1]",
            "test ahead 3#1 c3 on [c1,c2]",
        ]
    );
}

#[test]
fn a_run_that_is_told_to_stop_tests_nothing_more_ahead() {
    let (mut script, _) = committed_tasks(&["1", "2", "3", "4"], 8);
    script
        .scheduler
        .handle(script.now, Input::Stop(StopMode::Now))
        .expect("legal");
    assert_eq!(script.lands("1", landed("m1")), [""; 0]);
}

#[test]
fn limits_of_a_journal_of_before_test_one_after_the_other() {
    let limits = Limits::with_slots(NonZeroU32::MIN);
    let mut kept = serde_json::to_value(&limits).expect("written");
    kept.as_object_mut()
        .expect("an object")
        .remove("land_batch");
    let read: Limits = serde_json::from_value(kept).expect("read");
    assert_eq!(read.land_batch, NonZeroU32::MIN);
}
