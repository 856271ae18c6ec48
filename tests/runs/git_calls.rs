//! So many processes of git a task takes, once a run has its worktrees: the number must not grow unnoticed.

use crate::scene::{HONEST, Scene, executable};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What a run's git processes were told to do, how often each.
type Calls = BTreeMap<String, i64>;

/// The git that the shim hands each call on to.
fn git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    programs.find(|program| program.is_file()).expect("git")
}

/// Runs so many tasks one after the other, and counts what git was told.
fn calls(tasks: usize, arguments: &[&str]) -> Calls {
    let ids: Vec<String> = (1..=tasks).map(|number| number.to_string()).collect();
    let titles: Vec<String> = ids.iter().map(|id| format!("Task {id}")).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .zip(&titles)
        .map(|(id, title)| (id.as_str(), title.as_str(), &[][..]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    let log = scene.path("calls");
    // Settings come first, each after its `-c`.
    let shim = format!(
        "for word; do [ \"$before\" = -c ] || [ \"$word\" = -c ] || {{ told=$word; break; }}; before=$word; done\n\
         echo \"$told\" >> '{}'\nexec '{}' \"$@\"",
        log.display(),
        git().display()
    );
    executable(&scene.path("bin/git"), &shim);
    let path = std::env::var("PATH").expect("a path");
    let path = format!("{}:{path}", scene.path("bin").display());
    let mut run = scene.run_command(&["--max-parallel", "1"]);
    let output = run.args(arguments).env("PATH", path).output().expect("tm");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut calls = Calls::new();
    for told in std::fs::read_to_string(log).expect("calls").lines() {
        *calls.entry(told.to_owned()).or_default() += 1;
    }
    calls
}

/// Asserts that a task takes at most so many, and says which they are.
fn assert_at_most(most: i64, arguments: &[&str]) {
    let (few, many) = (3, 8);
    let (before, after) = (calls(few, arguments), calls(many, arguments));
    let more = i64::try_from(many - few).expect("small");
    let (mut sum, mut listing) = (0, String::new());
    for (told, count) in &after {
        let count = count - before.get(told).unwrap_or(&0);
        sum += count;
        if count > 0 {
            let _ = writeln!(listing, "{count:4} {told}");
        }
    }
    assert!(sum <= most * more, "{sum} for {more} tasks:\n{listing}");
}

#[test]
fn a_task_takes_three_gits_at_the_most() {
    assert_at_most(3, &["--tdd", "off"]);
}

#[test]
fn a_pair_takes_nine_gits_at_the_most() {
    assert_at_most(9, &[]);
}
