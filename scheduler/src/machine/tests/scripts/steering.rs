//! What people ask of a run that goes on.

use super::*;
use crate::{GateOutcome, GateResult, RedStart, Refusal, RefusalReason, Request, Tokens, pair};

fn ask(request: Request) -> Input {
    Input::Request(request)
}

fn begun(edges: &[(&str, &[&str])], tdd: TddMode, slots: u32) -> Script {
    let mut script = Script::new(edges, tdd, slots);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script
}

fn addition(task: &Task) -> Request {
    Request::Add(pair(&[task], TddMode::Off, RedStart::AfterDependencies).tasks)
}

fn reason(script: &Script, request: &Request) -> String {
    script
        .scheduler
        .refusal(request)
        .expect("a refusal")
        .to_string()
}

#[test]
fn a_paused_run_lets_agents_finish_and_lands_but_starts_nothing() {
    let mut script = begun(&[("1", &[]), ("2", &["1"]), ("3", &[])], TddMode::Off, 1);
    script.work("1");
    script.gives(ask(Request::Pause), &["say run:paused"]);
    assert_eq!(
        reason(&script, &Request::Pause),
        "pause the run: the run is paused already"
    );
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
        ],
    );
    script.gives(
        ask(Request::Continue),
        &[
            "say run:continued",
            "say wave:opened 2 of 1",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with [c1]",
        ],
    );
    assert_eq!(
        reason(&script, &Request::Continue),
        "resume the run: the run is not paused"
    );
}

#[test]
fn an_attempt_whose_agent_has_not_started_when_the_run_pauses_is_put_back() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 1);
    script.gives(ask(Request::Pause), &["say run:paused"]);
    script.answer(
        "1",
        prepared(),
        &["release 1#1 Salvage", "say attempt:ended 1 well"],
    );
    script.gives(
        ask(Request::Continue),
        &["say run:continued", "prepare 1#2 on [] with []"],
    );
}

#[test]
fn the_deadline_of_a_paused_run_ends_it() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.deadline = Some(Timestamp(50));
    let mut script = Script::with_limits(&[("1", &[]), ("2", &["1"])], TddMode::Off, limits);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.gives(ask(Request::Pause), &["say run:paused"]);
    script.answer(
        "1",
        prepared(),
        &["release 1#1 Salvage", "say attempt:ended 1 well"],
    );
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(50)));
    script.now = Timestamp(50);
    script.gives(
        Input::Tick,
        &[
            "say run:stopping Deadline",
            "status 1 pending",
            "say run:ended stopped 6",
        ],
    );
    let over = script.scheduler.refusal(&Request::Continue);
    assert_eq!(
        over,
        Some(Refusal {
            wanted: "resume the run".to_owned(),
            why: RefusalReason::Over,
        })
    );
}

#[test]
fn a_paused_run_that_is_taken_up_goes_on_and_says_so() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 1);
    script.gives(ask(Request::Pause), &["say run:paused"]);
    script.answer(
        "1",
        prepared(),
        &["release 1#1 Salvage", "say attempt:ended 1 well"],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 0 under way",
            "status 1 in-progress",
            "say run:continued",
            "prepare 1#2 on [] with []",
        ],
    );
}

#[test]
fn a_stopped_task_keeps_its_work_and_blocks_its_dependants() {
    let mut script = begun(&[("1", &[]), ("2", &["1"])], TddMode::Off, 2);
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    let stop = |order| {
        ask(Request::StopTask {
            task: "1".into(),
            order,
        })
    };
    script.gives(
        stop(StopMode::Gently),
        &["say task:stopping 1", "stop 1 after grace"],
    );
    script.gives(stop(StopMode::Now), &["say task:stopping 1", "stop 1 now"]);
    script.answer(
        "1",
        ended(Ended::Killed),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 stopped",
            "say task:failed 1 stopped",
            "status 1 pending",
            "say task:blocked 2 by 1",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn what_gates_cost_counts_although_the_task_was_stopped_meanwhile() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 1);
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer("1", exited(0), &["prove 1#1"]);
    let stop = Request::StopTask {
        task: "1".into(),
        order: StopMode::Now,
    };
    script.gives(ask(stop), &["say task:stopping 1"]);
    let review = GateResult {
        tokens: Some(Tokens {
            input: 40,
            output: 2,
        }),
        ..GateResult::new("critic", GateOutcome::Passed, vec![])
    };
    let proof = Proof {
        gates: vec![review],
        ..Proof::default()
    };
    script.answer(
        "1",
        Answer::Proved(proof),
        &[
            "say test:run 1",
            "release 1#1 Salvage",
            "say attempt:ended 1 stopped",
            "say task:failed 1 stopped",
            "status 1 pending",
            "say run:ended failed 3",
        ],
    );
    assert_eq!(script.scheduler.tokens(), 42);
}

#[test]
fn work_that_is_landing_when_its_task_is_stopped_lands_or_is_given_up() {
    for lands in [true, false] {
        let mut script = begun(&[("1", &[])], TddMode::Off, 1);
        script.work("1");
        script.answer(
            "1",
            committed("c1"),
            &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
        );
        let stop = Request::StopTask {
            task: "1".into(),
            order: StopMode::Now,
        };
        script.gives(ask(stop), &["say task:stopping 1"]);
        let refused = LandingRefusal::Conflict {
            files: vec!["f".into()],
            with: Vec::new(),
            mendable: false,
            tried: Vec::new(),
        };
        if lands {
            let well = [
                "say attempt:ended 1 well",
                "say task:landed 1",
                "status 1 done",
                "say run:ended completed 0",
            ];
            script.answer("1", landed("m1"), &well);
        } else {
            let given_up = [
                "say attempt:ended 1 stopped",
                "say task:failed 1 stopped",
                "status 1 pending",
                "say run:ended failed 3",
            ];
            script.answer("1", Answer::LandingRefused(refused), &given_up);
        }
    }
}

#[test]
fn work_that_waits_to_land_when_its_task_is_stopped_stays_on_its_branch() {
    let mut script = begun(&[("1", &[]), ("2", &[])], TddMode::Off, 2);
    script.work("1");
    script.work("2");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.answer(
        "2",
        committed("c2"),
        &["say commit:created 2", "release 2#1 Nothing"],
    );
    script.gives(
        ask(Request::StopTask {
            task: "2".into(),
            order: StopMode::Now,
        }),
        &[
            "say attempt:ended 2 stopped",
            "say task:failed 2 stopped",
            "status 2 pending",
        ],
    );
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn a_failed_task_is_tried_again_and_its_dependants_are_unblocked() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.retries = 0;
    let mut script = Script::with_limits(
        &[("1", &[]), ("2", &["1"]), ("3", &[])],
        TddMode::Off,
        limits,
    );
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer(
        "1",
        exited(7),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 no-result",
            "say task:failed 1 no-result",
            "status 1 pending",
            "say task:blocked 2 by 1",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
    assert_eq!(
        reason(&script, &Request::Retry("2".into())),
        "retry task `2`: it needs `1`, which will not land"
    );
    script.gives(
        ask(Request::Retry("1".into())),
        &["say task:reopened 1", "say task:unblocked 2"],
    );
    assert_eq!(
        reason(&script, &Request::Retry("1".into())),
        "retry task `1`: it is ready"
    );
    script.answer("3", prepared(), &["say attempt:started 3", "run 3#1"]);
    script.gives(
        ask(Request::Retry("3".into())),
        &["say task:stopping 3", "stop 3 now"],
    );
    script.answer(
        "3",
        ended(Ended::Killed),
        &[
            "release 3#1 Salvage",
            "say attempt:ended 3 well",
            "status 1 in-progress",
            "prepare 1#2 on [] with []",
        ],
    );
    assert!(!script.scheduler.task(&"3".into()).expect("a task").attempts[0].is_charged());
}

#[test]
fn a_skipped_task_blocks_its_dependants_or_lets_them_go_on_without_it() {
    let mut script = begun(
        &[("1", &[]), ("2", &["1"]), ("3", &["2"]), ("4", &[])],
        TddMode::Off,
        1,
    );
    let skip = |task: &str, dependants| Request::Skip {
        task: task.into(),
        dependants,
    };
    script.gives(
        ask(skip("2", Dependants::Blocked)),
        &["say task:skipped 2 Blocked", "say task:blocked 3 by 2"],
    );
    script.gives(
        ask(Request::Retry("2".into())),
        &["say task:reopened 2", "say task:unblocked 3"],
    );
    script.gives(
        ask(skip("1", Dependants::Released)),
        &["say task:stopping 1"],
    );
    script.answer(
        "1",
        prepared(),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 well",
            "say task:skipped 1 Released",
            "status 1 pending",
            "say wave:opened 2 of 1",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with []",
        ],
    );
    assert_eq!(
        reason(&script, &Request::Retry("1".into())),
        "retry task `1`: the tasks that depend on it go on without it"
    );
}

#[test]
fn a_green_that_is_skipped_takes_its_red_with_it() {
    let mut script = begun(&[("1", &[]), ("2", &[])], TddMode::Auto, 1);
    let released = Request::Skip {
        task: "2:red".into(),
        dependants: Dependants::Released,
    };
    assert_eq!(
        reason(&script, &released),
        "skip task `2:red` as satisfied: its GREEN `2` needs its tests"
    );
    script.gives(
        ask(Request::Skip {
            task: "2".into(),
            dependants: Dependants::Blocked,
        }),
        &[
            "say task:skipped 2 Blocked",
            "say task:skipped 2:red Blocked",
        ],
    );
    script.gives(
        ask(Request::Retry("2".into())),
        &["say task:reopened 2:red", "say task:reopened 2"],
    );
    assert_eq!(
        *script.scheduler.task(&"2".into()).expect("a task").state,
        State::Waiting { unmet: 1 }
    );
}

#[test]
fn a_task_that_joins_and_depends_on_itself_waits_for_nothing() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 2);
    let mut task = Task::new("9", "Build");
    task.dependencies = vec!["9".into()];
    script.gives(
        ask(addition(&task)),
        &[
            "say task:added 9 none in 1",
            "say task:started 9 none",
            "status 9 in-progress",
            "prepare 9#1 on [] with []",
        ],
    );
}

#[test]
fn a_task_that_joins_takes_the_place_of_its_priority() {
    let mut script = begun(&[("1", &[]), ("2", &[]), ("3", &["2"])], TddMode::Off, 1);
    let mut task = Task::new("9", "Build");
    task.priority = crate::Priority::Critical;
    task.dependencies = vec!["1".into()];
    // 2 comes first: 3 waits for it.
    script.work("2");
    script.gives(ask(addition(&task)), &["say task:added 9 none in 2"]);
    assert_eq!(
        reason(&script, &addition(&task)),
        "add task `9`: it is part of the run already"
    );
    task.id = "8".into();
    task.dependencies = vec!["7".into(), "2".into()];
    let outside = "add task `8`: it depends on `7`, which is not done and not part of the run";
    assert_eq!(reason(&script, &addition(&task)), outside);
    task.dependencies.clear();
    script.gives(ask(addition(&task)), &["say task:added 8 none in 1"]);
    script.answer(
        "2",
        committed("c2"),
        &["say commit:created 2", "release 2#1 Nothing", "land 2#1 c2"],
    );
    script.answer(
        "2",
        landed("m2"),
        &[
            "say attempt:ended 2 well",
            "say task:landed 2",
            "status 2 done",
            "say task:started 8 none",
            "status 8 in-progress",
            "prepare 8#1 on [] with []",
        ],
    );
}

#[test]
fn what_the_run_does_not_know_or_is_over_with_is_refused_with_the_reason() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 1);
    let stop = |task: &str| Request::StopTask {
        task: task.into(),
        order: StopMode::Now,
    };
    assert_eq!(
        reason(&script, &stop("7")),
        "stop task `7`: the run has no task of that id"
    );
    script.work("1");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.gives(
        Input::Stop(StopMode::Gently),
        &["say run:stopping Interrupted"],
    );
    assert_eq!(
        reason(&script, &Request::Retry("1".into())),
        "retry task `1`: the run is stopping"
    );
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "say run:ended completed 0",
        ],
    );
    assert_eq!(
        reason(&script, &stop("1")),
        "stop task `1`: the run is over"
    );
}

#[test]
fn an_agent_that_was_being_stopped_when_tm_died_is_stopped_again() {
    let mut script = begun(&[("1", &[])], TddMode::Off, 1);
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.gives(
        ask(Request::StopTask {
            task: "1".into(),
            order: StopMode::Gently,
        }),
        &["say task:stopping 1", "stop 1 after grace"],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 1 under way",
            "status 1 in-progress",
            "adopt 1#1",
            "stop 1 now",
        ],
    );
}
