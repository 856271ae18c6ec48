//! Real programs over the Agent Client Protocol, all with one recipe.

use super::Trial;
use super::programs::{GEMINI_OVER_ACP, OPENCODE_OVER_ACP, Program};
use crate::models::{Behaviour, Move, Prompt, Refusal, work};
use crate::scene::task;

/// Works, and tries to write outside of the worktree at the end.
fn work_and_reach_out(prompt: &Prompt) -> Vec<Move> {
    let mut moves = work(prompt);
    let outside = format!("{}/../../outside.txt", prompt.worktree);
    // opencode ends its turn when it is refused something.
    moves.insert(
        2,
        Move::Write {
            path: outside,
            text: "x".to_owned(),
        },
    );
    moves
}

/// Who keeps a program from writing outside of its worktree.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Guard {
    Itself,
    Tm,
}

fn lands(program: Program, guard: Guard) {
    if !program.is_installed() {
        return;
    }
    let trial = Trial::begin(program, Behaviour::Work, work_and_reach_out);
    let report = trial.run(&[], 0);
    assert_eq!(report["tdd"]["compliant"], 1, "{report:#}");
    for id in ["1:red", "1"] {
        let attempt = &task(&report, id)["attempts"][0];
        assert_eq!(attempt["claim"], "pass", "{report:#}\n{}", trial.logs());
        assert!(
            attempt["tokens"]["input"].as_u64() > Some(0),
            "{attempt:#}\n{}",
            trial.logs()
        );
        let noticed = attempt["noticed"].to_string();
        assert!(
            noticed.contains("a tool call was refused") || guard == Guard::Itself,
            "{noticed}\n{}",
            trial.logs()
        );
    }
    let written = glob::glob(&format!(
        "{}/**/outside.txt",
        trial.scene.path("tm").display()
    ))
    .expect("a pattern");
    assert_eq!(written.count(), 0, "{}", trial.logs());
    assert_eq!(trial.scene.statuses(), ["done"]);
}

#[test]
fn gemini_takes_a_pair_to_landing_over_the_protocol() {
    lands(GEMINI_OVER_ACP, Guard::Itself);
}

#[test]
fn opencode_takes_a_pair_to_landing_over_the_protocol() {
    lands(OPENCODE_OVER_ACP, Guard::Tm);
}

#[test]
fn refused_credentials_are_known_over_the_protocol() {
    if !GEMINI_OVER_ACP.is_installed() {
        return;
    }
    let trial = Trial::begin(
        GEMINI_OVER_ACP,
        Behaviour::Refuse(Refusal::Credentials),
        work,
    );
    let report = trial.run(&["--tdd", "off"], 3);
    assert_eq!(
        task(&report, "1")["attempts"][0]["failure"],
        "auth",
        "{report:#}\n{}",
        trial.logs()
    );
}
