//! A whole run seen through its summary.

use super::*;
use std::num::NonZeroU32;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, Claim, ClaimStatus, CoverageChange, Dependants, Ended,
    Failure, Input, Limits, Place, PlanOptions, Proof, Reason, Request, ResultFile, Scheduler,
    StopMode, Task, Timestamp, WavePlan,
};

fn report(ended_at: u64) -> Answer {
    Answer::AgentEnded(AgentReport {
        result: ResultFile::Claimed(Claim {
            status: ClaimStatus::Pass,
            tests_passed: Some(1),
            tests_failed: None,
            files: Vec::new(),
            issues: Vec::new(),
        }),
        tokens: Some(tm_scheduler::Tokens {
            input: 100,
            output: 10,
        }),
        ..AgentReport::new(
            "scripted",
            Timestamp(0),
            Timestamp(ended_at),
            Ended::Exited(Some(0)),
        )
    })
}

/// A pair that lands and a pair whose RED can't fail, at one attempt each.
pub(crate) fn summary() -> Summary {
    let tasks = [
        Task::new("1", "Add numbers"),
        Task::new("2", "Subtract | numbers"),
    ];
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.retries = 0;
    let mut scheduler = Scheduler::new(plan, limits);
    let mut input = |at: u64, input: Input| {
        scheduler.handle(Timestamp(at), input).expect("legal");
    };
    let answer = |task: &str, answer| Input::Answer {
        task: task.into(),
        attempt: AttemptNumber(1),
        answer,
    };
    let prepared = || {
        Answer::Prepared(Place {
            branch: tm_scheduler::BranchName::new("tm/b").expect("a name"),
            base: "base".into(),
            worktree: "w".into(),
        })
    };
    input(0, Input::Begin);
    for task in ["1:red", "2:red"] {
        input(1_000, answer(task, prepared()));
        input(2_000, answer(task, report(2_000)));
    }
    let failed = Proof {
        passed: 3,
        ..Proof::refused(
            Failure::RedPassed,
            Reason::EverythingPassed,
            "no new test fails",
        )
    };
    input(3_000, answer("2:red", Answer::Proved(failed)));
    let red = Proof {
        new: vec!["adds".into()],
        seen_failing: true,
        failed: 1,
        ..Proof::default()
    };
    input(3_000, answer("1:red", Answer::Proved(red)));
    let committed = |commit: &str| Answer::Committed {
        commit: commit.into(),
        proof: None,
    };
    input(3_000, answer("1:red", committed("red0123456789")));
    input(4_000, answer("1", prepared()));
    input(5_000, answer("1", report(5_000)));
    let green = Proof {
        passed: 4,
        ..Proof::default()
    };
    let landed = Answer::Landed {
        commit: "merge".into(),
        resolution: None,
    };
    input(6_000, answer("1", Answer::Proved(green)));
    input(6_000, answer("1", committed("green0123456789")));
    input(7_000, answer("1", landed));
    let facts = RunFacts {
        run_id: "20261121-014512-3fa9".into(),
        project: "app".into(),
        tag: "master".into(),
        base_commit: "base".into(),
        integration_branch: tm_scheduler::BranchName::new("tm/master/run-x").expect("a name"),
        integration_commit: "merge".into(),
        started_at: Timestamp(0),
        ended_at: Timestamp(7_000),
        preflight: None,
        setups: SetupSummary::default(),
    };
    summarize(&scheduler, &facts)
}

#[test]
fn the_summary_says_what_landed_what_failed_and_what_to_type_next() {
    insta::assert_snapshot!(summary_markdown(&summary()), @r#"
    # Run 20261121-014512-3fa9

    1 of 2 tasks landed on `tm/master/run-x` in 7s; 1 failed, 0 blocked.

    - passed 1, partial 0, failed 1, blocked 0
    - 2 waves, at most 2 agents at the same time, 3 attempts
    - wall time 7s, lower bound 7s
    - 1 proven
    - tokens 330

    ## TDD compliance

    1 of 2 pairs, 50 % of those that came to an end

    | Pair | RED fails first | Tests | GREEN passes | Proof | Worse | Landed | Compliant | Claim |
    |---|---|---|---|---|---|---|---|---|
    | 1 Add numbers | yes | 1 | yes | proven | 0 | yes | yes | pass |
    | 2 Subtract \| numbers | no | 0 | no | – | 0 | no | no: RED: everything-passed | – |

    ## Failed and blocked

    - 2 Subtract \| numbers: RED red-passed after 1 attempt: no new test fails
      `tm waves logs 2:red`

    ## Branches

    | Task | RED | GREEN | Branch | Landed |
    |---|---|---|---|---|
    | 1 | red0123456 | green01234 | `tm/b` | yes |
    "#);
}

#[test]
fn coverage_and_refactoring_are_columns_where_there_is_any() {
    let mut summary = summary();
    summary.tdd.table[0].coverage = Some(CoverageChange {
        before: Some(50.0),
        after: 83.333,
    });
    summary.tdd.table[1].refactored = Some("it broke a test".to_owned());
    let text = summary_markdown(&summary);
    let rows = text.lines().filter(|line| line.starts_with("| ")).take(3);
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @r"
    | Pair | RED fails first | Tests | GREEN passes | Proof | Worse | Coverage | Refactored | Landed | Compliant | Claim |
    | 1 Add numbers | yes | 1 | yes | proven | 0 | 83.3 % (+33.3) | – | yes | yes | pass |
    | 2 Subtract \| numbers | no | 0 | no | – | 0 | – | it broke a test | no | no: RED: everything-passed | – |
    ");
}

#[test]
fn tasks_that_somebody_stopped_or_skipped_are_named_as_such() {
    let plan = WavePlan::new(
        &["1", "2", "3"].map(|id| Task::new(id, "Document")),
        &PlanOptions::default(),
    );
    let mut scheduler = Scheduler::new(plan.expect("a plan"), Limits::with_slots(NonZeroU32::MIN));
    let stop = Request::StopTask {
        task: "2".into(),
        order: StopMode::Now,
    };
    let skip = Request::Skip {
        task: "3".into(),
        dependants: Dependants::Blocked,
    };
    for input in [Input::Begin, Input::Request(stop), Input::Request(skip)] {
        scheduler.handle(Timestamp(0), input).expect("legal");
    }
    let facts = RunFacts {
        run_id: "20261121-014512-3fa9".into(),
        project: "app".into(),
        tag: "master".into(),
        base_commit: "base".into(),
        integration_branch: tm_scheduler::BranchName::new("tm/master/run-x").expect("a name"),
        integration_commit: "merge".into(),
        started_at: Timestamp(0),
        ended_at: Timestamp(7_000),
        preflight: None,
        setups: SetupSummary::default(),
    };
    let summary = summarize(&scheduler, &facts);
    assert_eq!((summary.totals.failed, summary.totals.skipped), (1, 1));
    let text = summary_markdown(&summary);
    assert!(
        text.contains("- passed 0, partial 0, failed 1, blocked 0, skipped 1\n"),
        "{text}"
    );
    assert!(
        text.contains("- 2 Document: stopped by the user\n\n## Skipped\n\n- 3 Document\n"),
        "{text}"
    );
    let status = Sheet::PLAIN.set(&status_text(&summary));
    assert!(
        status.contains("2 of 3 tasks settled")
            && status.contains("2   failed     Document · stopped by the user"),
        "{status}"
    );
}

#[test]
fn a_run_that_its_surroundings_ended_says_so() {
    let mut summary = summary();
    summary.status = "stopped".to_owned();
    let text = summary_markdown(&summary);
    assert!(text.contains("The deadline or the budget ended after 7s"));
    summary.trouble = Some("failed to write `x`: No space left on device".to_owned());
    let text = summary_markdown(&summary);
    assert!(
        text.contains("Nothing more was started after 7s: failed to write `x`: No space left on device. 1 of 2"),
        "{text}"
    );
    summary.trouble = Some("failed to run `git commit`:\n# ask @octocat\nmore".to_owned());
    let said = "failed to run `git commit`: ask @";
    let text = summary_markdown(&summary);
    assert!(
        text.contains(&format!("{said}\u{200b}octocat. 1 of 2")),
        "{text}"
    );
    let status = Sheet::PLAIN.set(&status_text(&summary));
    assert!(
        status.contains(&format!("nothing more is started: {said}octocat\n")),
        "{status}"
    );
}

#[test]
fn the_json_has_every_key_of_the_contract() {
    let json = serde_json::to_value(summary()).expect("json");
    insta::assert_json_snapshot!(json["tasks"][1], @r#"
    {
      "id": "1",
      "title": "Add numbers",
      "phase": "green",
      "pair": "1:red",
      "wave": 2,
      "verdict": "pass",
      "state": "landed",
      "failure": null,
      "reason": null,
      "landed": true,
      "branch": "tm/b",
      "base_commit": "base",
      "commit": "green0123456789",
      "blocked_by": [],
      "dependencies": [
        "1:red"
      ],
      "worked_ms": 5000,
      "diffstat": null,
      "attempts": [
        {
          "n": 1,
          "agent": "scripted",
          "ended": "exited",
          "exit_code": 0,
          "started_at": "1970-01-01T00:00:03.000Z",
          "ended_at": "1970-01-01T00:00:07.000Z",
          "agent_started_at": "1970-01-01T00:00:00.000Z",
          "agent_ended_at": "1970-01-01T00:00:05.000Z",
          "queued_at": "1970-01-01T00:00:06.000Z",
          "landing_at": "1970-01-01T00:00:06.000Z",
          "failure": null,
          "evidence": null,
          "claim": "pass",
          "differences": [],
          "noticed": [],
          "proof": {
            "baseline_failed": 0,
            "reason": null,
            "new": [],
            "unloaded": [],
            "passed": 4,
            "failed": 0,
            "regressions": [],
            "flaky": [],
            "coverage": null,
            "strength": "per-test",
            "waived": [],
            "notes": [],
            "gates": []
          },
          "refactor": null,
          "tokens": {
            "input": 100,
            "output": 10
          },
          "cost_usd": null
        }
      ]
    }
    "#);
}

#[test]
fn the_json_has_what_the_whole_run_came_to() {
    let json = serde_json::to_value(summary()).expect("json");
    insta::assert_json_snapshot!(json["totals"], @r#"
    {
      "passed": 2,
      "partial": 0,
      "failed": 1,
      "blocked": 1,
      "skipped": 0,
      "tokens": 330,
      "cost_usd": null
    }
    "#);
    assert_eq!(
        (json["exit_code"].as_u64(), json["status"].as_str()),
        (Some(3), Some("failed"))
    );
    let times = ["wall_ms", "lower_bound_ms"].map(|key| json[key].as_u64());
    assert_eq!(times, [Some(7_000); 2]);
}

#[test]
fn the_lower_bound_counts_slots_of_agents_and_places_for_tests() {
    let tested = |each: Option<u64>, at_once: u32| {
        let mut tasks = summary().tasks;
        let proofs = tasks.iter_mut().flat_map(|task| &mut task.attempts);
        let proofs = proofs.filter_map(|attempt| attempt.proof.as_mut());
        let count = proofs.map(|proof| proof.tests_ms = each).count();
        assert_eq!(count, 3, "all attempts");
        let places = NonZeroU32::new(at_once).expect("a place");
        let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
        limits.tests_at_once = places;
        crate::chain::lower_bound(&tasks, &limits)
    };
    let agents_alone = tested(None, 1);
    assert_eq!(tested(Some(0), 1), agents_alone);
    // RED, then GREEN: each is tested behind its agent, however many places there are.
    assert_eq!(tested(Some(10_000), 9), agents_alone + 20_000);
    assert_eq!(tested(Some(10_000), 1), 30_000);
}

#[test]
fn the_status_has_a_line_for_every_task() {
    insta::assert_snapshot!(Sheet::PLAIN.set(&status_text(&summary())), @"
    run 20261121-014512-3fa9 is failed after 7s: 2 of 2 tasks settled
    branch tm/master/run-x

    ID  RED     GREEN    TASK
    1   landed  landed   Add numbers
    2   failed  blocked  Subtract | numbers · RED red-passed after 1 attempt
    ");
}

#[test]
fn the_plan_shows_wide_waves_in_parts() {
    let mut tasks: Vec<Task> = (1..=3)
        .map(|number| Task::new(number.to_string(), "Set up"))
        .collect();
    tasks[2].dependencies = vec!["9".into()];
    let mut deferred = Task::new("9", "Later");
    deferred.status = tm_scheduler::Status::Deferred;
    tasks.push(deferred);
    tasks.push(Task::new("4", "Build it"));
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    insta::assert_snapshot!(plan_text(&plan, &Limits::with_slots(NonZeroU32::new(2).expect("slots"))), @"
    3 tasks in 2 waves, 1 pair of RED and GREEN, 2 without, at most 2 agents at the same time
    each task starts when what it depends on has landed; at most 4 attempts each

    Wave 1 (2 tasks)
               1Set up
               2Set up

    Waves 1 and 2 (1 task)
      RED GREEN4Build it

    Not planned, waiting for tasks that are not part of the run
      3  Set up — after 9 (deferred)
    ");
    let limits = Limits::with_slots(NonZeroU32::MIN);
    assert_eq!(
        serde_json::json!(PlanDocument::new(&plan, &limits))["waves"],
        serde_json::json!([["4:red", "1", "2"], ["4"]])
    );
}

#[test]
fn the_plan_says_how_urgent_a_task_is_and_what_it_waits_for() {
    let mut first = Task::new("1", "Set up");
    first.priority = tm_scheduler::Priority::High;
    let mut second = Task::new("2", "Set\tup the rest");
    second.dependencies = vec!["1".into()];
    let plan = WavePlan::new(&[first, second], &PlanOptions::default()).expect("a plan");
    let text = plan_text(&plan, &Limits::with_slots(NonZeroU32::MIN));
    let rows = text.lines().filter(|line| line.contains('\u{1f}'));
    let expected = [
        "  1\u{1f}Set up (high)",
        "  2\u{1f}Set up the rest — after 1",
    ];
    assert!(rows.eq(expected), "{text}");
}

#[test]
fn the_plan_names_files_that_several_tasks_name() {
    let names = |id: &str, files: &str| Task {
        description: files.to_owned(),
        ..Task::new(id, "Write it down")
    };
    let tasks = [
        names("1", "src/a.rs and src/b.rs"),
        names("2", "src/b.rs"),
        names("3", "src/c.rs"),
    ];
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    let text = plan_text(&plan, &Limits::with_slots(NonZeroU32::MIN));
    assert!(
        text.contains("keeps such tasks apart)\n  src/b.rs — 1, 2\n") && !text.contains("src/a.rs"),
        "{text}"
    );
}
