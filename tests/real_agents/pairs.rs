//! Each program takes a pair to landing, with its tokens counted, and nothing that it started stays.

use super::Trial;
use super::programs::{CLAUDE, CODEX, GEMINI, OPENCODE, Program, QWEN};
use crate::models::{Behaviour, INPUT_TOKENS, Move, OUTPUT_TOKENS, Prompt, work};
use crate::scene::task;

/// Moves of the script, which are answers of a model.
const MOVES: u64 = 3;

/// Works, and has the program start a process that leaves its session, its group and its parent.
fn work_and_leave_a_daemon(prompt: &Prompt) -> Vec<Move> {
    let mut moves = work(prompt);
    if let Move::Run(command) = &mut moves[1] {
        *command = format!(
            "(setsid sleep 1000 > /dev/null 2>&1 < /dev/null &); touch \"$AGENT_FOLDER/left\"; {command}"
        );
    }
    moves
}

fn lands(program: Program) {
    if !program.is_installed() {
        return;
    }
    let trial = Trial::begin(program, Behaviour::Work, work_and_leave_a_daemon);
    let report = trial.run(&[], 0);
    assert_eq!(report["tdd"]["compliant"], 1, "{report:#}");
    for id in ["1:red", "1"] {
        let attempts = task(&report, id)["attempts"].as_array().expect("attempts");
        assert_eq!(attempts.len(), 1, "{report:#}\n{}", trial.logs());
        assert_eq!(attempts[0]["claim"], "pass", "{report:#}\n{}", trial.logs());
        assert_eq!(
            attempts[0]["tokens"]["input"],
            MOVES * INPUT_TOKENS,
            "{report:#}\n{}",
            trial.logs()
        );
        assert_eq!(
            attempts[0]["tokens"]["output"],
            MOVES * OUTPUT_TOKENS,
            "{report:#}\n{}",
            trial.logs()
        );
    }
    assert_eq!(
        report["totals"]["tokens"],
        2 * MOVES * (INPUT_TOKENS + OUTPUT_TOKENS)
    );
    assert_eq!(trial.scene.statuses(), ["done"]);
    assert!(trial.scene.path("left").exists(), "a daemon was started");
}

#[test]
fn codex_takes_a_pair_to_landing() {
    lands(CODEX);
}

#[test]
fn claude_takes_a_pair_to_landing() {
    lands(CLAUDE);
}

#[test]
fn gemini_takes_a_pair_to_landing() {
    lands(GEMINI);
}

#[test]
fn opencode_takes_a_pair_to_landing() {
    lands(OPENCODE);
}

#[test]
fn qwen_takes_a_pair_to_landing() {
    lands(QWEN);
}
