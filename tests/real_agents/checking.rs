//! `tm agents check --live` with a real program.

use super::Trial;
use super::programs::CODEX;
use crate::models::{Behaviour, INPUT_TOKENS, Move, OUTPUT_TOKENS, Prompt, Refusal};
use serde_json::Value;

/// Does the task of the check.
fn greet(prompt: &Prompt) -> Vec<Move> {
    let Prompt { worktree, tm, .. } = prompt;
    vec![
        Move::Write {
            path: format!("{worktree}/hello.txt"),
            text: "hello\n".to_owned(),
        },
        Move::Run(format!("{tm} result --status pass --file hello.txt")),
        Move::Say("Done: wrote hello.txt".to_owned()),
    ]
}

fn checked(trial: &Trial, code: i32) -> Value {
    let output = trial
        .command(&["agents", "check", "codex", "--trust", "--live", "--json"])
        .output()
        .expect("tm");
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    trial.scene.assert_no_process_is_left();
    let checked: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    checked[0].clone()
}

#[test]
fn codex_does_the_task_of_a_live_check_and_leaves_nothing() {
    if !CODEX.is_installed() {
        return;
    }
    let trial = Trial::begin(CODEX, Behaviour::Work, greet);
    let checked = checked(&trial, 0);
    assert_eq!(checked["live"]["passed"], true, "{checked:#}");
    assert_eq!(
        checked["live"]["tokens"],
        3 * (INPUT_TOKENS + OUTPUT_TOKENS),
        "{checked:#}"
    );
    let left = glob::glob(&format!(
        "{}/tm-agent-check-*",
        trial.scene.path("temporary").display()
    ));
    assert_eq!(left.expect("a pattern").count(), 0);
}

#[test]
fn refused_credentials_are_named_by_a_live_check() {
    if !CODEX.is_installed() {
        return;
    }
    let trial = Trial::begin(CODEX, Behaviour::Refuse(Refusal::Credentials), greet);
    let checked = checked(&trial, 1);
    let problem = checked["live"]["problem"].as_str().unwrap_or_default();
    assert!(problem.starts_with("auth: "), "{checked:#}");
}
