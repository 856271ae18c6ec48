//! A mode in which a program may not do everything: what it may do works, and what it was refused is told.

use super::Trial;
use super::programs::CLAUDE;
use crate::models::{Behaviour, Move, Prompt};
use crate::scene::task;

/// Writes what is asked for and its result with the tools that write files, and tries what needs to be allowed.
fn edit_and_reach_out(prompt: &Prompt) -> Vec<Move> {
    let Prompt {
        task,
        worktree,
        result,
        tm,
        ..
    } = prompt;
    vec![
        Move::Write {
            path: format!("{worktree}/docs/{task}"),
            text: format!("{task}\n"),
        },
        Move::Write {
            path: format!("{worktree}/../outside.txt"),
            text: "x".to_owned(),
        },
        Move::Run(format!("{tm} --version > {worktree}/version")),
        Move::Write {
            path: result.clone(),
            text: "status: PASS\n".to_owned(),
        },
        Move::Say("Done".to_owned()),
    ]
}

#[test]
fn claude_edits_its_worktree_and_what_it_was_refused_is_told() {
    if !CLAUDE.is_installed() {
        return;
    }
    let trial = Trial::begin(CLAUDE, Behaviour::Work, edit_and_reach_out);
    let report = trial.run(
        &["--tdd", "off", "--retries", "0", "--permissions", "edits"],
        0,
    );
    let attempt = &task(&report, "1")["attempts"][0];
    assert_eq!(attempt["claim"], "pass", "{attempt:#}\n{}", trial.logs());
    let refused = ["Write", "Bash"].map(|tool| format!("a tool call was refused to it: {tool}"));
    assert_eq!(
        attempt["noticed"],
        serde_json::json!(refused),
        "{attempt:#}\n{}",
        trial.logs()
    );
    let branch = task(&report, "1")["branch"].as_str().expect("a branch");
    assert_eq!(
        trial.scene.git(&["diff", "--name-only", "main", branch]),
        "docs/1"
    );
}
