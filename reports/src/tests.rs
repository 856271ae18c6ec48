//! A whole run seen through its summary.

use super::*;
use std::num::NonZeroU32;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, Claim, ClaimStatus, Ended, Failure, Input, Limits, PlanOptions, Proof,
    ResultFile, Scheduler, Task, Timestamp, WavePlan,
};

fn report(ended_at: u64) -> Answer {
    Answer::AgentEnded(AgentReport {
        agent: "scripted".into(),
        started_at: Timestamp(0),
        ended_at: Timestamp(ended_at),
        ended: Ended::Exited(Some(0)),
        result: ResultFile::Claimed(Claim {
            status: ClaimStatus::Pass,
            tests_passed: Some(1),
            tests_failed: None,
            files: Vec::new(),
            issues: Vec::new(),
        }),
        refusal: None,
        tokens: Some(tm_scheduler::Tokens { input: 100, output: 10 }),
        cost_usd: None,
        last_words: String::new(),
        leftovers: 0,
        escape: Vec::new(),
    })
}

/// A pair that lands and a pair whose RED can't fail, at one attempt each.
fn summary() -> Summary {
    let tasks = [Task::new("1", "Add numbers"), Task::new("2", "Subtract | numbers")];
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.retries = 0;
    let mut scheduler = Scheduler::new(plan, limits);
    let mut input = |at: u64, input: Input| {
        scheduler.handle(Timestamp(at), input).expect("legal");
    };
    let answer = |task: &str, answer| Input::Answer { task: task.into(), attempt: AttemptNumber(1), answer };
    let prepared = || Answer::Prepared { branch: "tm/b".into(), base: "base".into(), worktree: "w".into() };
    input(0, Input::Begin);
    for task in ["1:red", "2:red"] {
        input(1_000, answer(task, prepared()));
        input(2_000, answer(task, report(2_000)));
    }
    let failed = Proof {
        failure: Some(Failure::RedPassed),
        evidence: "no new test fails".into(),
        passed: 3,
        ..Proof::default()
    };
    input(3_000, answer("2:red", Answer::Proved(failed)));
    let red = Proof { new: vec!["adds".into()], failed: 1, ..Proof::default() };
    input(3_000, answer("1:red", Answer::Proved(red)));
    input(3_000, answer("1:red", Answer::Committed { commit: "red0123456789".into() }));
    input(4_000, answer("1", prepared()));
    input(5_000, answer("1", report(5_000)));
    input(6_000, answer("1", Answer::Proved(Proof { passed: 4, ..Proof::default() })));
    input(6_000, answer("1", Answer::Committed { commit: "green0123456789".into() }));
    input(7_000, answer("1", Answer::Landed { commit: "merge".into() }));
    let facts = RunFacts {
        run_id: "20261121-014512-3fa9".into(),
        tag: "master".into(),
        base_commit: "base".into(),
        integration_branch: "tm/master/run-x".into(),
        integration_commit: "merge".into(),
        started_at: Timestamp(0),
        ended_at: Timestamp(7_000),
    };
    summarize(&scheduler, &facts)
}

#[test]
fn the_summary_says_what_landed_what_failed_and_what_to_type_next() {
    insta::assert_snapshot!(summary_markdown(&summary()), @"");
}

#[test]
fn the_json_has_every_key_of_the_contract() {
    let json = serde_json::to_value(summary()).expect("json");
    insta::assert_json_snapshot!(json["tasks"][0], @"");
    insta::assert_json_snapshot!(json["totals"], @"");
    assert_eq!((json["exit_code"].as_u64(), json["status"].as_str()), (Some(3), Some("failed")));
    assert_eq!((json["wall_ms"].as_u64(), json["lower_bound_ms"].as_u64()), (Some(7_000), Some(7_000)));
}

#[test]
fn the_status_has_a_line_for_every_task() {
    insta::assert_snapshot!(status_text(&summary()), @"");
}

#[test]
fn the_plan_shows_wide_waves_in_parts() {
    let mut tasks: Vec<Task> = (1..=3).map(|number| Task::new(number.to_string(), "Set up")).collect();
    tasks[2].dependencies = vec!["9".into()];
    let mut deferred = Task::new("9", "Later");
    deferred.status = tm_scheduler::Status::Deferred;
    tasks.push(deferred);
    tasks.push(Task::new("4", "Build it"));
    let plan = WavePlan::new(&tasks, &PlanOptions::default()).expect("a plan");
    insta::assert_snapshot!(plan_text(&plan, &Limits::with_slots(NonZeroU32::new(2).expect("slots"))), @"");
    assert_eq!(plan_json(&plan, &Limits::with_slots(NonZeroU32::MIN)).waves.len(), 2);
}
