//! A used up limit that says when it is over: programs give up, tm waits for all who share the account, and goes on.

use super::Trial;
use super::programs::{CLAUDE_BY_SUBSCRIPTION, CODEX, Program};
use crate::models::{Behaviour, work};
use crate::scene::task;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// A limit that is shorter than the pause after one that does not say when it is over.
const USED_UP: Duration = Duration::from_secs(1);
const UNDECLARED_PAUSE_MS: u64 = 30_000;

fn moment(text: &Value) -> Timestamp {
    text.as_str()
        .and_then(|text| text.parse().ok())
        .expect("a moment")
}

/// With no second attempt that would be charged, both tasks land.
fn waits_for_the_reset_and_lands(program: Program) {
    if !program.is_installed() {
        return;
    }
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Add the parser", &[]), ("2", "Add the printer", &[])];
    let trial = Trial::begin_with(&tasks, program, Behaviour::RefuseFor(USED_UP), work);
    let report = trial.run(
        &["--tdd", "off", "--retries", "0", "--max-parallel", "2"],
        0,
    );
    let reset = Timestamp::try_from(trial.server.reset().expect("a limit")).expect("a moment");
    let attempts = ["1", "2"].map(|id| {
        task(&report, id)["attempts"]
            .as_array()
            .expect("attempts")
            .as_slice()
    });
    // The other one may have been held back before it asked.
    let refused: Vec<&[Value]> = attempts
        .into_iter()
        .filter(|attempts| attempts.len() > 1)
        .collect();
    assert!(!refused.is_empty(), "{report:#}\n{}", trial.logs());
    for attempts in refused {
        assert_eq!(attempts.len(), 2, "{report:#}\n{}", trial.logs());
        assert_eq!(
            attempts[0]["failure"],
            "rate-limited",
            "{report:#}\n{}",
            trial.logs()
        );
        assert!(
            moment(&attempts[1]["started_at"]) >= reset,
            "{reset}: {report:#}"
        );
    }
    for prompt in trial.prompts(2) {
        assert!(prompt.contains("attempt 2 of at most 2."), "{prompt}");
    }
    assert!(
        report["wall_ms"].as_u64() < Some(UNDECLARED_PAUSE_MS),
        "{report:#}"
    );
    assert_eq!(trial.scene.statuses(), ["done", "done"]);
}

#[test]
fn claude_waits_for_the_reset_of_a_subscription_and_lands() {
    waits_for_the_reset_and_lands(CLAUDE_BY_SUBSCRIPTION);
}

#[test]
fn codex_waits_for_the_reset_that_its_error_names_and_lands() {
    waits_for_the_reset_and_lands(CODEX);
}
