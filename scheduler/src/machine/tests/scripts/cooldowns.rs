//! Limits and refused credentials: who is held up, until when, and who takes over.

use super::*;
use crate::{AgentCandidate, AgentPool, ServiceRefusal, Tokens};

fn refused(refusal: ServiceRefusal) -> Answer {
    let Answer::AgentEnded(report) = exited(1) else {
        unreachable!("an agent's end")
    };
    Answer::AgentEnded(AgentReport {
        refusal: Some(refusal),
        ..report
    })
}

fn limited(until: Option<u64>) -> Answer {
    refused(ServiceRefusal::RateLimited {
        until: until.map(Timestamp),
    })
}

fn candidate(agent: &str, account: &str) -> AgentCandidate {
    AgentCandidate {
        agent: agent.into(),
        account: account.into(),
        if_refused: format!("log in to {account}"),
    }
}

fn independent(count: usize, slots: u32, candidates: &[AgentCandidate]) -> Script {
    let ids: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    let edges: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), &[][..])).collect();
    let mut limits = Limits::with_slots(NonZeroU32::new(slots).expect("slots"));
    limits.retries = 0;
    limits.agents = AgentPool {
        plain: candidates.to_vec(),
        ..AgentPool::default()
    };
    let mut script = Script::with_limits(&edges, TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    for id in ids.iter().take(slots as usize) {
        script.answer(
            id,
            prepared(),
            &[&format!("say attempt:started {id}"), &format!("run {id}#1")],
        );
    }
    script
}

fn hear(script: &mut Script, task: &str, answer: Answer) {
    let view = script.scheduler.task(&task.into()).expect("a task");
    let input = Input::Answer {
        task: task.into(),
        attempt: AttemptNumber(count_u32(view.attempts.len())),
        answer,
    };
    script
        .scheduler
        .handle(script.now, input)
        .expect("a legal input");
}

fn to_the_end(script: &mut Script, task: &str) {
    for answer in [exited(0), proved(None), committed(task), landed(task)] {
        hear(script, task, answer);
    }
}

#[test]
fn a_wall_on_three_of_five_slots_holds_up_all_and_charges_nobody() {
    let mut script = independent(7, 5, &[candidate("claude", "claude")]);
    script.now = Timestamp(1_000);
    script.answer(
        "1",
        limited(Some(60_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            "say agent:limited claude of claude until 60000 declared",
        ],
    );
    // A declared reset that is a little later moves the wall; an earlier one, or none, does not.
    script.answer(
        "2",
        limited(Some(61_000)),
        &["release 2#1 Salvage", "say attempt:ended 2 rate-limited"],
    );
    script.answer(
        "3",
        limited(None),
        &["release 3#1 Salvage", "say attempt:ended 3 rate-limited"],
    );
    to_the_end(&mut script, "4");
    to_the_end(&mut script, "5");
    assert_eq!(script.scheduler.slots_in_use(), 0);
    assert_eq!(script.scheduler.cooling_tasks().len(), 5);
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(61_000)));
    script.now = Timestamp(60_999);
    script.gives(Input::Tick, &[]);
    script.now = Timestamp(61_000);
    let effects = script
        .scheduler
        .handle(script.now, Input::Tick)
        .expect("a legal input");
    assert_eq!(line(&effects[0]), "say agent:available claude");
    assert_eq!(script.scheduler.slots_in_use(), 5);
    for task in ["1", "2", "3", "6", "7"] {
        let number = script
            .scheduler
            .task(&task.into())
            .expect("a task")
            .attempts
            .len();
        script.answer(
            task,
            prepared(),
            &[
                &format!("say attempt:started {task}"),
                &format!("run {task}#{number}"),
            ],
        );
        to_the_end(&mut script, task);
    }
    assert_eq!(script.scheduler.ended(), Some(RunStatus::Completed));
    assert!(
        script
            .scheduler
            .tasks()
            .flat_map(|view| view.attempts)
            .all(|record| !record.is_charged())
    );
}

#[test]
fn a_limit_that_is_declared_for_years_is_asked_about_again_after_a_day() {
    let day = 24 * 3_600_000;
    let mut script = independent(1, 1, &[candidate("claude", "claude")]);
    script.now = Timestamp(5_000);
    script.answer(
        "1",
        limited(Some(4_102_444_800_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            &format!(
                "say agent:limited claude of claude until {} declared",
                5_000 + day
            ),
        ],
    );
    // No other task is there to try it before.
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(305_000)));
    script.now = Timestamp(305_000);
    script.gives(Input::Tick, &[]);
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(5_000 + day)));
    script.now = Timestamp(5_000 + day);
    script.gives(
        Input::Tick,
        &["say agent:available claude", "prepare 1#2 on [] with []"],
    );
}

#[test]
fn a_wall_that_an_earlier_version_raised_for_years_is_as_short_as_any_once_the_run_is_taken_up() {
    let mut script = independent(1, 1, &[candidate("claude", "claude")]);
    script.scheduler.limits.edition = Edition::First;
    script.answer(
        "1",
        limited(Some(4_102_444_800_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            "say agent:limited claude of claude until 4102444800000 declared",
        ],
    );
    let limits = Limits {
        edition: Edition::NEWEST,
        ..script.scheduler.limits().clone()
    };
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 0 under way",
            "say agent:limited claude of claude until 86400000",
            "status 1 in-progress",
        ],
    );
}

#[test]
fn a_wall_that_another_agent_of_the_account_passes_is_none() {
    let mut script = independent(4, 3, &[candidate("claude", "claude")]);
    script.answer(
        "1",
        limited(Some(9_000_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            "say agent:limited claude of claude until 9000000 declared",
        ],
    );
    // It may have been answered before the other was refused.
    script.now = Timestamp(9_999);
    script.answer("2", exited(0), &["prove 2#1"]);
    // One that fails says nothing of the service.
    script.now = Timestamp(10_000);
    let mut failed = Script {
        scheduler: script.scheduler.clone(),
        now: script.now,
    };
    failed.answer(
        "3",
        exited(1),
        &[
            "release 3#1 Salvage",
            "say attempt:ended 3 no-result",
            "say task:failed 3 no-result",
            "status 3 pending",
        ],
    );
    script.answer(
        "3",
        exited(0),
        &[
            "say agent:available claude",
            "prove 3#1",
            "prepare 1#2 on [] with []",
            "say task:started 4 none",
            "status 4 in-progress",
            "prepare 4#1 on [] with []",
        ],
    );
}

#[test]
fn a_cost_below_nothing_gives_no_money_back() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.max_cost_usd = Some(1.0);
    let mut script = Script::with_limits(&[("1", &[]), ("2", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    let costs = |dollars: f64| {
        let Answer::AgentEnded(report) = exited(0) else {
            unreachable!("an agent's end")
        };
        Answer::AgentEnded(AgentReport {
            cost_usd: Some(dollars),
            ..report
        })
    };
    for id in ["1", "2"] {
        script.answer(
            id,
            prepared(),
            &[&format!("say attempt:started {id}"), &format!("run {id}#1")],
        );
    }
    let mut other = Script {
        scheduler: script.scheduler.clone(),
        now: script.now,
    };
    for (script, dollars) in [(&mut script, -1e9), (&mut other, f64::NAN)] {
        script.answer("1", costs(dollars), &["prove 1#1"]);
        assert_eq!(
            script.scheduler.task(&"1".into()).expect("a task").attempts[0].spent(),
            (None, None)
        );
        script.answer("2", costs(1.5), &["prove 2#1", "say run:stopping Budget"]);
        assert!((script.scheduler.cost_usd() - 1.5).abs() < 1e-9);
    }
}

#[test]
fn the_question_that_a_hanging_agent_asked_is_evidence() {
    for (last_words, expected) in [
        (
            "working\n\nOverwrite src/a.rs? [y/N]\n",
            Some("Overwrite src/a.rs? [y/N]"),
        ),
        ("Do you want me to go on?", Some("Do you want me to go on?")),
        (
            "Password for 'https://example.org': ",
            Some("Password for 'https://example.org':"),
        ),
        ("building", None),
        ("", None),
    ] {
        let Answer::AgentEnded(report) = ended(Ended::Stalled) else {
            unreachable!("an agent's end")
        };
        let verdict = crate::judge_agent(&AgentReport {
            last_words: last_words.to_owned(),
            ..report
        });
        let crate::AgentVerdict::Failed {
            failure: Failure::Stalled,
            evidence,
            ..
        } = verdict
        else {
            panic!("{verdict:?}")
        };
        assert_eq!(
            evidence
                .split_once("an answer to: ")
                .map(|(_, question)| question),
            expected
        );
    }
}

#[test]
fn an_undeclared_limit_pauses_longer_each_time_until_the_service_answers() {
    let mut script = independent(1, 1, &[candidate("claude", "claude")]);
    let mut pauses = Vec::new();
    for number in 1..=6 {
        let input = Input::Answer {
            task: "1".into(),
            attempt: AttemptNumber(number),
            answer: limited(None),
        };
        script
            .scheduler
            .handle(script.now, input)
            .expect("a legal input");
        let wake = script.scheduler.next_wake().expect("a wall");
        pauses.push(wake.since(script.now));
        script.now = wake;
        script
            .scheduler
            .handle(script.now, Input::Tick)
            .expect("a legal input");
        let attempt = AttemptNumber(number + 1);
        let input = Input::Answer {
            task: "1".into(),
            attempt,
            answer: prepared(),
        };
        script
            .scheduler
            .handle(script.now, input)
            .expect("a legal input");
    }
    for (pause, least) in pauses
        .iter()
        .zip([30_000, 60_000, 120_000, 240_000, 480_000, 960_000])
    {
        assert!((least..=least + least / 4).contains(pause), "{pauses:?}");
    }
    // An answer that is no refusal begins anew.
    let input = Input::Answer {
        task: "1".into(),
        attempt: AttemptNumber(7),
        answer: exited(0),
    };
    script
        .scheduler
        .handle(script.now, input)
        .expect("a legal input");
    assert!(script.scheduler.refusals_in_a_row.is_empty());
}

#[test]
fn a_wall_survives_the_process_and_is_told_again() {
    let mut script = independent(1, 1, &[candidate("claude", "claude")]);
    script.answer(
        "1",
        limited(Some(60_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            "say agent:limited claude of claude until 60000 declared",
        ],
    );
    script.now = Timestamp(30_000);
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 0 under way",
            "say agent:limited claude of claude until 60000",
            "status 1 in-progress",
        ],
    );
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(60_000)));
}

#[test]
fn while_one_account_is_behind_a_wall_the_next_agent_takes_over() {
    let mut script = independent(
        2,
        1,
        &[
            candidate("claude", "a"),
            candidate("careful", "a"),
            candidate("codex", "b"),
            candidate("gemini", "c"),
        ],
    );
    script.answer(
        "1",
        limited(Some(60_000)),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 rate-limited",
            "say agent:limited claude of a until 60000 declared",
            "prepare 1#2 on [] with []",
        ],
    );
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#2"]);
    let agent = |script: &Script, task: &str| {
        let view = script.scheduler.task(&task.into()).expect("a task");
        view.attempts
            .last()
            .map(|record| record.agent.clone())
            .expect("an agent")
            .to_string()
    };
    assert_eq!(agent(&script, "1"), "codex");
    script.answer(
        "1",
        refused(ServiceRefusal::Auth),
        &[
            "release 1#2 Salvage",
            "say attempt:ended 1 auth",
            "say agent:refused codex of b log in to b",
            "prepare 1#3 on [] with []",
        ],
    );
    assert_eq!(agent(&script, "1"), "gemini");
    // Once the wall is gone, the first choice is the first choice again.
    script.now = Timestamp(60_000);
    script.answer(
        "1",
        prepared(),
        &["say attempt:started 1", "run 1#3", "say agent:available a"],
    );
    to_the_end(&mut script, "1");
    assert_eq!(
        (agent(&script, "1"), agent(&script, "2")),
        ("gemini".to_owned(), "claude".to_owned())
    );
}

#[test]
fn nobody_is_started_while_all_its_agents_are_refused_and_the_rest_goes_on() {
    let mut script = Script::new(&[("1", &[]), ("2", &[])], TddMode::Auto, 1);
    script.scheduler.limits.agents.red = vec![candidate("claude", "a")];
    script.scheduler.limits.agents.plain = vec![candidate("codex", "b")];
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script.answer(
        "1:red",
        prepared(),
        &["say attempt:started 1:red", "run 1:red#1"],
    );
    script.answer(
        "1:red",
        refused(ServiceRefusal::Auth),
        &[
            "release 1:red#1 Salvage",
            "say attempt:ended 1:red auth",
            "say agent:refused claude of a log in to a",
            "say task:started 2:red red",
            "status 2 in-progress",
            "prepare 2:red#1 on [] with []",
        ],
    );
    script.answer(
        "2:red",
        prepared(),
        &["say attempt:started 2:red", "run 2:red#1"],
    );
    script.answer(
        "2:red",
        refused(ServiceRefusal::Auth),
        &[
            "release 2:red#1 Salvage",
            "say attempt:ended 2:red auth",
            "say task:failed 2:red auth",
            "status 2 pending",
            "say task:blocked 2 by 2:red",
            "say task:failed 1:red auth",
            "status 1 pending",
            "say task:blocked 1 by 1:red",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn credentials_that_one_task_alone_had_refused_are_tried_by_one_other_and_all_go_on() {
    let mut script = independent(4, 2, &[candidate("claude", "a")]);
    script.scheduler.limits.retries = 1;
    // 2 works already; 3 is the trial, and 4 waits for how it ends.
    script.answer(
        "1",
        refused(ServiceRefusal::Auth),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 auth",
            "say agent:refused claude of a log in to a",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
    script.answer("3", prepared(), &["say attempt:started 3", "run 3#1"]);
    script.answer("2", exited(0), &["prove 2#1"]);
    script.answer(
        "3",
        exited(1),
        &[
            "say agent:available a",
            "release 3#1 Salvage",
            "say attempt:ended 3 no-result",
            "prepare 1#2 on [] with []",
            "prepare 3#2 on [] with []",
        ],
    );
    let attempts = |task: &str| {
        script
            .scheduler
            .task(&task.into())
            .expect("a task")
            .attempts
    };
    assert!(attempts("1")[0].is_charged() && attempts("4").is_empty());
}

#[test]
fn a_trial_that_is_lost_says_nothing_and_the_next_task_tries() {
    let mut script = independent(3, 1, &[candidate("claude", "a")]);
    script.answer(
        "1",
        refused(ServiceRefusal::Auth),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 auth",
            "say agent:refused claude of a log in to a",
            "say task:failed 1 auth",
            "status 1 pending",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with []",
        ],
    );
    script.answer("2", prepared(), &["say attempt:started 2", "run 2#1"]);
    let mut resumed = script.scheduler.clone();
    script.answer(
        "2",
        ended(Ended::Lost),
        &[
            "release 2#1 Salvage",
            "say attempt:ended 2 lost",
            "say task:waiting 2 until 1000",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
    script.answer("3", prepared(), &["say attempt:started 3", "run 3#1"]);
    script.answer("3", exited(0), &["say agent:available a", "prove 3#1"]);
    // Whoever takes the run up has perhaps put it right: nothing is tried any more.
    let limits = resumed.limits().clone();
    resumed
        .handle(script.now, Input::Resumed(limits))
        .expect("a legal input");
    assert!(resumed.trials.is_empty());
}

#[test]
fn a_trial_that_its_service_has_not_answered_leaves_it_to_the_next_task() {
    let unanswered = [
        refused(ServiceRefusal::ServiceError),
        refused(ServiceRefusal::ConnectionLost),
        ended(Ended::TimedOut),
        ended(Ended::Stalled),
    ];
    for end in unanswered {
        let mut script = independent(4, 1, &[candidate("claude", "a")]);
        hear(&mut script, "1", refused(ServiceRefusal::Auth));
        hear(&mut script, "2", prepared());
        script.scheduler.limits.slots = NonZeroU32::new(2).expect("slots");
        hear(&mut script, "2", end);
        assert!(script.scheduler.trials.contains_key(&"a".into()));
        let is_under_way = |task: &str| {
            let view = script.scheduler.task(&task.into()).expect("a task");
            !view.attempts.is_empty()
        };
        assert!(is_under_way("3") && !is_under_way("4"));
        hear(&mut script, "3", prepared());
        hear(&mut script, "3", exited(1));
        assert!(script.scheduler.trials.is_empty());
    }
}

#[test]
fn two_different_false_words_hold_up_an_account_for_minutes_alone() {
    const MINUTE: u64 = 60_000;
    let limit = limited(Some(1_200 * MINUTE));
    let auth = refused(ServiceRefusal::Auth);
    for words in [[auth.clone(), limit.clone()], [limit, auth]] {
        let mut script = independent(4, 2, &[candidate("claude", "a")]);
        for (task, word) in ["1", "2"].into_iter().zip(words) {
            hear(&mut script, task, word);
        }
        let mut tasks = script.scheduler.indices();
        assert!(tasks.any(|task| script.scheduler.has_refused(&"a".into(), task)));
        script.now = Timestamp(5 * MINUTE - 1);
        script.gives(Input::Tick, &[]);
        script.now = Timestamp(5 * MINUTE);
        let tick = script.scheduler.handle(script.now, Input::Tick);
        tick.expect("a legal input");
        let is_trial = |task: &&str| {
            let view = script.scheduler.task(&(*task).into()).expect("a task");
            *view.state == State::Preparing
        };
        let trials: Vec<&str> = ["1", "2", "3", "4"].into_iter().filter(is_trial).collect();
        let [trial] = trials[..] else {
            panic!("one task tries, and not {trials:?}")
        };
        hear(&mut script, trial, prepared());
        hear(&mut script, trial, exited(0));
        assert!(script.scheduler.trials.is_empty() && script.scheduler.cooldowns.is_empty());
    }
}

#[test]
fn credentials_are_good_where_another_agent_ends_well_long_enough_after_they_were_refused() {
    let mut script = independent(5, 3, &[candidate("claude", "a")]);
    hear(&mut script, "1", refused(ServiceRefusal::Auth));
    // It may have been answered before the other was refused; 4 is the trial.
    script.now = Timestamp(9_999);
    script.answer("2", exited(0), &["prove 2#1"]);
    script.now = Timestamp(10_000);
    script.answer(
        "3",
        exited(0),
        &[
            "say agent:available a",
            "prove 3#1",
            "say task:started 5 none",
            "status 5 in-progress",
            "prepare 5#1 on [] with []",
        ],
    );
    assert!(script.scheduler.trials.is_empty());
}

#[test]
fn whoever_takes_a_run_up_forgets_refused_credentials_and_has_the_limit_beside_them_tried() {
    const MINUTE: u64 = 60_000;
    for (minutes, wakes_at) in [(1_200, 5), (10, 10)] {
        let mut script = independent(4, 2, &[candidate("claude", "a")]);
        hear(&mut script, "1", limited(Some(minutes * MINUTE)));
        hear(&mut script, "2", refused(ServiceRefusal::Auth));
        let limits = script.scheduler.limits().clone();
        let resumed = script.scheduler.handle(script.now, Input::Resumed(limits));
        resumed.expect("a legal input");
        let wake = script.scheduler.next_wake();
        assert_eq!(wake, Some(Timestamp(wakes_at * MINUTE)));
    }
}

#[test]
fn refused_credentials_are_believed_where_no_other_task_can_try_them() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.agents.plain = vec![candidate("claude", "a")];
    limits.retries = 2;
    let tasks: [(&str, &[&str]); 2] = [("1", &[]), ("2", &["1"])];
    let mut script = Script::with_limits(&tasks, TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer(
        "1",
        refused(ServiceRefusal::Auth),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 auth",
            "say agent:refused claude of a log in to a",
            "say task:failed 1 auth",
            "status 1 pending",
            "say task:blocked 2 by 1",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn a_long_limit_is_tried_by_one_task_at_a_time_after_pauses_that_double() {
    const MINUTE: u64 = 60_000;
    let mut script = independent(3, 1, &[candidate("claude", "a")]);
    let refused = |id: &str| {
        [
            format!("release {id} Salvage"),
            format!("say attempt:ended {} rate-limited", &id[..1]),
        ]
    };
    let [release, ended] = refused("1#1");
    let say = "say agent:limited claude of a until 18000000 declared";
    let limit = || limited(Some(300 * MINUTE));
    script.answer("1", limit(), &[&release, &ended, say]);
    script.now = Timestamp(5 * MINUTE - 1);
    script.gives(Input::Tick, &[]);
    script.now = Timestamp(5 * MINUTE);
    script.scheduler.limits.slots = NonZeroU32::new(3).expect("slots");
    script.gives(
        Input::Tick,
        &[
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with []",
        ],
    );
    script.answer("2", prepared(), &["say attempt:started 2", "run 2#1"]);
    let [release, ended] = refused("2#1");
    script.answer("2", limit(), &[&release, &ended]);
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(15 * MINUTE)));
    script.now = Timestamp(15 * MINUTE);
    script.gives(Input::Tick, &["prepare 1#2 on [] with []"]);
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#2"]);
    script.answer(
        "1",
        exited(0),
        &[
            "say agent:available a",
            "prove 1#2",
            "prepare 2#2 on [] with []",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
}

#[test]
fn an_attempt_whose_worktree_comes_when_its_agent_is_behind_a_wall_is_taken_back() {
    let mut script = independent(3, 2, &[candidate("claude", "a")]);
    to_the_end(&mut script, "1");
    // 3 waits for its worktree when 2 runs into the wall.
    script.answer(
        "2",
        limited(Some(9_000)),
        &[
            "release 2#1 Salvage",
            "say attempt:ended 2 rate-limited",
            "say agent:limited claude of a until 9000 declared",
        ],
    );
    script.answer("3", prepared(), &["release 3#1 Nothing"]);
    assert!(
        script
            .scheduler
            .task(&"3".into())
            .expect("a task")
            .attempts
            .is_empty()
    );
    assert_eq!(script.scheduler.slots_in_use(), 0);
}

#[test]
fn a_task_that_has_spent_its_budget_is_not_tried_again_and_holds_up_nobody_else() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.max_tokens_per_task = Some(100);
    let mut script = Script::with_limits(&[("1", &[]), ("2", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    let Answer::AgentEnded(report) = exited(1) else {
        unreachable!("an agent's end")
    };
    let spent = Answer::AgentEnded(AgentReport {
        tokens: Some(Tokens {
            input: 90,
            output: 10,
        }),
        ..report
    });
    script.answer(
        "1",
        spent,
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 no-result",
            "say task:over-budget 1",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with []",
        ],
    );
    script.answer("2", prepared(), &["say attempt:started 2", "run 2#1"]);
    to_the_end(&mut script, "2");
    assert_eq!(script.scheduler.ended(), Some(RunStatus::Stopped));
    // With a larger budget it goes on.
    let limits = Limits {
        max_tokens_per_task: None,
        ..script.scheduler.limits().clone()
    };
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 1 landed, 0 under way",
            "status 1 pending",
            "status 2 done",
            "status 1 in-progress",
            "prepare 1#2 on [] with []",
        ],
    );
}

/// Pools of plain work, with the accounts that their agents are named after.
fn alone_or_with(agents: &[&str], retries: u32) -> Script {
    let candidates: Vec<AgentCandidate> = agents.iter().map(|name| candidate(name, name)).collect();
    let mut script = independent(1, 1, &candidates);
    script.scheduler.limits.retries = retries;
    script
}

/// The agent of the attempt that was asked for last, once it has a worktree.
fn takes_over(script: &mut Script) -> String {
    let attempts = script.scheduler.task(&"1".into()).expect("a task").attempts;
    let run = format!("run 1#{}", attempts.len());
    script.answer("1", prepared(), &["say attempt:started 1", &run]);
    let attempts = script.scheduler.task(&"1".into()).expect("a task").attempts;
    attempts.last().expect("an attempt").agent.to_string()
}

#[test]
fn a_model_that_refuses_a_task_is_not_asked_for_it_again() {
    let refusal = || refused(ServiceRefusal::RefusedByModel);
    let mut script = alone_or_with(&["claude"], 3);
    script.answer(
        "1",
        refusal(),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 refused-by-model",
            "say task:failed 1 refused-by-model",
            "status 1 pending",
            "say run:ended failed 3",
        ],
    );
    // Another one takes over, and is not charged with it.
    let mut script = alone_or_with(&["claude", "codex"], 0);
    script.answer(
        "1",
        refusal(),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 refused-by-model",
            "prepare 1#2 on [] with []",
        ],
    );
    assert_eq!(takes_over(&mut script), "codex");
    to_the_end(&mut script, "1");
    assert_eq!(script.scheduler.ended(), Some(RunStatus::Completed));
}

#[test]
fn a_task_that_is_too_long_for_a_model_goes_to_others_first_and_comes_back_once_as_a_shorter_one() {
    let too_long = || refused(ServiceRefusal::ContextTooLong);
    let mut script = alone_or_with(&["claude", "codex"], 2);
    let mut agents = vec!["claude".to_owned()];
    for attempt in 1..=3 {
        script.answer(
            "1",
            too_long(),
            &[
                &format!("release 1#{attempt} Salvage"),
                "say attempt:ended 1 context-too-long",
                &format!("prepare 1#{} on [] with []", attempt + 1),
            ],
        );
        agents.push(takes_over(&mut script));
    }
    assert_eq!(agents, ["claude", "codex", "claude", "codex"]);
    let attempts = script.scheduler.task(&"1".into()).expect("a task").attempts;
    let charged: Vec<bool> = attempts.iter().map(AttemptRecord::is_charged).collect();
    assert_eq!(charged, [false, true, true, false]);
    script.answer(
        "1",
        too_long(),
        &[
            "release 1#4 Salvage",
            "say attempt:ended 1 context-too-long",
            "say task:failed 1 context-too-long",
            "status 1 pending",
            "say run:ended failed 3",
        ],
    );
}

#[test]
fn a_service_that_fails_is_asked_again_after_a_pause_and_not_for_ever() {
    for refusal in [ServiceRefusal::ServiceError, ServiceRefusal::ConnectionLost] {
        let name = if refusal == ServiceRefusal::ServiceError {
            "service-error"
        } else {
            "connection-lost"
        };
        let mut script = alone_or_with(&["claude"], 1);
        script.answer(
            "1",
            refused(refusal.clone()),
            &[
                "release 1#1 Salvage",
                &format!("say attempt:ended 1 {name}"),
                "say task:waiting 1 until 30000",
            ],
        );
        script.now = Timestamp(30_000);
        script.gives(Input::Tick, &["prepare 1#2 on [] with []"]);
        takes_over(&mut script);
        script.answer(
            "1",
            refused(refusal),
            &[
                "release 1#2 Salvage",
                &format!("say attempt:ended 1 {name}"),
                &format!("say task:failed 1 {name}"),
                "status 1 pending",
                "say run:ended failed 3",
            ],
        );
    }
}

#[test]
fn in_journals_of_before_one_task_is_believed_about_its_account_at_once() {
    let mut script = independent(2, 1, &[candidate("claude", "a")]);
    script.scheduler.limits.edition = Edition::Fifth;
    let mut limit = Script {
        scheduler: script.scheduler.clone(),
        now: script.now,
    };
    script.answer(
        "1",
        refused(ServiceRefusal::Auth),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 auth",
            "say agent:refused claude of a log in to a",
            "say task:failed 1 auth",
            "status 1 pending",
            "say task:failed 2 auth",
            "say run:ended failed 3",
        ],
    );
    let say = "say agent:limited claude of a until 18000000 declared";
    let ended = "say attempt:ended 1 rate-limited";
    let until = limited(Some(18_000_000));
    limit.answer("1", until, &["release 1#1 Salvage", ended, say]);
    assert_eq!(limit.scheduler.next_wake(), Some(Timestamp(18_000_000)));
}

#[test]
fn what_an_attempt_says_that_it_cost_counts_at_most_what_its_task_may_cost() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.max_cost_usd = Some(5.0);
    let mut script = Script::with_limits(&[("1", &[]), ("2", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(script.now, Input::Begin)
        .expect("a legal input");
    for id in ["1", "2"] {
        let run = format!("run {id}#1");
        script.answer(
            id,
            prepared(),
            &[&format!("say attempt:started {id}"), &run],
        );
    }
    let Answer::AgentEnded(report) = exited(0) else {
        unreachable!("an agent's end")
    };
    let claims = Answer::AgentEnded(AgentReport {
        cost_usd: Some(1e9),
        ..report
    });
    let mut bounded = Script {
        scheduler: script.scheduler.clone(),
        now: script.now,
    };
    bounded.scheduler.limits.max_cost_usd_per_task = Some(2.0);
    bounded.answer("1", claims.clone(), &["prove 1#1"]);
    assert!((bounded.scheduler.cost_usd() - 2.0).abs() < 1e-9);
    assert!(bounded.scheduler.dearest_attempt().is_none());
    // Without such a bound it stops the run, and is named.
    script.answer("1", claims, &["prove 1#1", "say run:stopping Budget"]);
    let (task, attempt) = script.scheduler.dearest_attempt().expect("an attempt");
    assert_eq!((task.as_str(), attempt.spent().1), ("1", Some(1e9)));
}
