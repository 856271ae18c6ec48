//! Real programs in `tm loop`: one iteration to the end of the backlog.

use super::Trial;
use super::programs::{CLAUDE, CODEX, Program};
use crate::models::{Behaviour, INPUT_TOKENS, Move, Prompt};
use serde_json::Value;

/// Does the one task of the backlog with the commands that the prompt names, and says that the goal is reached.
fn finish(prompt: &Prompt) -> Vec<Move> {
    let tm = &prompt.tm;
    vec![
        Move::Run(format!(
            "{tm} next && {tm} show 1 && echo parser > parser && git add parser && git commit -qm 'Add the parser' && \
             {tm} set-status --id=1 --status=done && {tm} next"
        )),
        Move::Say(
            "I added the parser.\n\n<loop-complete>ALL_TASKS_DONE</loop-complete>".to_owned(),
        ),
    ]
}

fn completes(program: Program) {
    if !program.is_installed() {
        return;
    }
    let trial = Trial::begin(program, Behaviour::Work, finish);
    let output = trial
        .command(&["loop", "-n", "3", "--sleep", "0", "--json"])
        .output()
        .expect("tm");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", trial.logs());
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(summary["final_status"], "all_complete", "{summary:#}");
    assert_eq!(
        (&summary["total_iterations"], &summary["tasks_completed"]),
        (&1.into(), &1.into()),
        "{summary:#}"
    );
    assert_eq!(summary["tokens"]["input"], 2 * INPUT_TOKENS, "{summary:#}");
    assert_eq!(trial.scene.statuses(), ["done"]);
    trial.scene.assert_no_process_is_left();
}

#[test]
fn codex_completes_a_loop_in_one_iteration() {
    completes(CODEX);
}

#[test]
fn claude_completes_a_loop_in_one_iteration() {
    completes(CLAUDE);
}
