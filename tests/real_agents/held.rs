//! Each program takes a pair to landing where it is held: at each level, with the network as it is and with nobody reached
//! but the models. The suite tries the network that is closed, and of programs that take long one level each;
//! `TM_TEST_EVERY_ROW=1` tries all.

use super::Trial;
use super::programs::{CLAUDE, CODEX, GEMINI, OPENCODE, Program, QWEN};
use crate::models::{Behaviour, work};
use crate::sandbox::has;
use crate::scene::{task, write};
use crate::skipping::has_every_row;
use std::io::Write as _;

const LEVELS: [&str; 2] = ["bwrap", "landlock"];

/// Tries a program at levels, of which the suite has time for some.
fn lands_held(program: Program, in_suite: &[&str]) {
    if !program.is_installed() {
        return;
    }
    let (levels, networks): (&[_], &[_]) = if has_every_row() {
        (&LEVELS, &["on", "api"])
    } else {
        (in_suite, &["api"])
    };
    for level in levels.iter().filter(|level| has(level)) {
        for network in networks {
            lands_at(program, level, network);
        }
    }
}

fn lands_at(program: Program, level: &str, network: &str) {
    let trial = Trial::begin(program, Behaviour::Work, work);
    let url = trial.server.url();
    let server = url.trim_start_matches("http://");
    // The key of a provider that no recipe knows.
    let settings = format!(
        "sandbox: {{agents: {{network: '{network}', hosts: ['{server}']}}}}\n\
         agents: {{codex: {{sandbox: {{pass: [LOCAL_KEY]}}}}}}\n"
    );
    write(&trial.scene.root().join(".taskmaster/tm.yaml"), &settings);
    let report = trial.run(&["--sandbox", level], 0);
    let row = format!("{} at {level}, network {network}", program.name);
    let said = || format!("{row}: {report:#}\n{}", trial.logs());
    assert_eq!(report["tdd"]["compliant"], 1, "{}", said());
    for id in ["1:red", "1"] {
        let attempts = task(&report, id)["attempts"].as_array().expect("attempts");
        assert_eq!(attempts.len(), 1, "{}", said());
        assert_eq!(attempts[0]["claim"], "pass", "{}", said());
        assert_eq!(attempts[0]["proof"]["sandbox"], level, "{}", said());
    }
    assert_eq!(trial.scene.statuses(), ["done"]);
    // Shown whether or not the test harness shows what tests print.
    writeln!(std::io::stderr(), "{row}: a pair landed").expect("somebody listens");
}

#[test]
fn claude_takes_a_pair_to_landing_where_it_is_held() {
    lands_held(CLAUDE, &LEVELS);
}

#[test]
fn codex_takes_a_pair_to_landing_where_it_is_held() {
    lands_held(CODEX, &LEVELS);
}

#[test]
fn gemini_takes_a_pair_to_landing_where_it_is_held() {
    lands_held(GEMINI, &["landlock"]);
}

#[test]
fn opencode_takes_a_pair_to_landing_where_it_is_held() {
    lands_held(OPENCODE, &["bwrap"]);
}

#[test]
fn qwen_takes_a_pair_to_landing_where_it_is_held() {
    lands_held(QWEN, &["landlock"]);
}
