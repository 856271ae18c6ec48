//! A service that refuses, and one that never answers: what each program makes of it, and what tm makes of the program.

use super::Trial;
use super::programs::{CLAUDE, CODEX, GEMINI, OPENCODE, Program, QWEN};
use crate::models::{Behaviour, Refusal, work};
use crate::scene::task;
use crate::skipping::has_every_row;
use serde_json::Value;

/// Runs one task, with no second attempt that would be charged, and returns that attempt.
fn attempt(program: Program, behaviour: Behaviour, arguments: &[&str], code: i32) -> Option<Value> {
    if !program.is_installed() {
        return None;
    }
    let trial = Trial::begin(program, behaviour, work);
    let report = trial.run(
        &[&["--tdd", "off", "--retries", "0"], arguments].concat(),
        code,
    );
    let attempts = task(&report, "1")["attempts"]
        .as_array()
        .expect("attempts")
        .clone();
    assert_eq!(attempts.len(), 1, "{report:#}\n{}", trial.logs());
    Some(attempts[0].clone())
}

fn refused_credentials_are_known(program: Program) {
    is_known_as(program, Refusal::Credentials, "auth");
}

/// The failure has the name of what the program said, and quotes it.
fn is_known_as(program: Program, refusal: Refusal, failure: &str) {
    let behaviour = Behaviour::Refuse(refusal);
    if !program.is_installed() {
        return;
    }
    let trial = Trial::begin(program, behaviour, work);
    let report = trial.run(&["--tdd", "off", "--retries", "0"], 3);
    let attempts = task(&report, "1")["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 1, "{report:#}\n{}", trial.logs());
    assert_eq!(attempts[0]["failure"], failure, "{report:#}");
    let evidence = attempts[0]["evidence"].as_str().unwrap_or_default();
    assert!(evidence.contains(": "), "its words are quoted: {report:#}");
    let status = trial.scene.tm(&["waves", "status"]).output().expect("tm");
    let status = String::from_utf8_lossy(&status.stdout);
    let told: String = evidence.chars().take(80).collect();
    assert!(
        status.contains(&format!("{failure} after 1 attempt: {told}")),
        "{status}"
    );
}

/// The run is stopped once the limit is known, so that nobody waits for the service to let it in again. Had the attempt
/// been charged, the task would have failed.
fn a_limit_is_known_and_not_charged(program: Program) {
    if !program.is_installed() {
        return;
    }
    let trial = Trial::begin(program, Behaviour::Refuse(Refusal::TooMany(Some(1))), work);
    let report = trial.stop_at("rate-limited", &["--tdd", "off", "--retries", "0"]);
    let task = task(&report, "1");
    assert_eq!(
        (&task["attempts"][0]["failure"], &task["verdict"]),
        (&"rate-limited".into(), &"not-run".into()),
        "{task:#}"
    );
}

fn an_answer_that_never_ends_is_given_up(program: Program) {
    let Some(attempt) = attempt(program, Behaviour::Hang, &["--timeout", "6s"], 3) else {
        return;
    };
    assert_eq!(
        (&attempt["failure"], &attempt["ended"]),
        (&"timed-out".into(), &"timed-out".into()),
        "{attempt:#}"
    );
}

#[test]
fn codex_is_refused_its_credentials() {
    refused_credentials_are_known(CODEX);
}

#[test]
fn claude_is_refused_its_credentials() {
    refused_credentials_are_known(CLAUDE);
}

#[test]
fn gemini_is_refused_its_credentials() {
    refused_credentials_are_known(GEMINI);
}

#[test]
fn opencode_is_refused_its_credentials() {
    refused_credentials_are_known(OPENCODE);
}

#[test]
fn qwen_is_refused_its_credentials() {
    refused_credentials_are_known(QWEN);
}

#[test]
fn an_error_of_the_service_is_none_of_its_limits() {
    is_known_as(CODEX, Refusal::Broken, "service-error");
    is_known_as(CLAUDE, Refusal::Broken, "service-error");
    is_known_as(GEMINI, Refusal::Broken, "service-error");
}

/// It asks again without end, until its time is over, which is long.
#[test]
fn an_error_of_its_service_is_known_of_opencode_when_its_time_is_over() {
    if !has_every_row() {
        return;
    }
    let broken = Behaviour::Refuse(Refusal::Broken);
    let Some(attempt) = attempt(OPENCODE, broken, &["--timeout", "40s"], 3) else {
        return;
    };
    assert_eq!(
        (&attempt["failure"], &attempt["ended"]),
        (&"service-error".into(), &"timed-out".into()),
        "{attempt:#}"
    );
    let evidence = attempt["evidence"].as_str().unwrap_or_default();
    assert!(evidence.contains("AI_APICallError"), "{attempt:#}");
}

#[test]
fn a_request_that_is_too_long_is_known() {
    is_known_as(CODEX, Refusal::TooLong, "context-too-long");
    is_known_as(CLAUDE, Refusal::TooLong, "context-too-long");
    is_known_as(GEMINI, Refusal::TooLong, "context-too-long");
}

#[test]
fn codex_meets_a_limit() {
    a_limit_is_known_and_not_charged(CODEX);
}

#[test]
fn claude_meets_a_limit() {
    a_limit_is_known_and_not_charged(CLAUDE);
}

#[test]
fn gemini_meets_a_limit() {
    a_limit_is_known_and_not_charged(GEMINI);
}

#[test]
fn opencode_meets_a_limit() {
    a_limit_is_known_and_not_charged(OPENCODE);
}

#[test]
fn programs_whose_service_never_ends_its_answer_are_ended() {
    std::thread::scope(|scope| {
        for program in [CODEX, CLAUDE, GEMINI, OPENCODE] {
            scope.spawn(move || an_answer_that_never_ends_is_given_up(program));
        }
    });
}
