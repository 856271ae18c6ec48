//! Kill -9 at every point at which something durable happens, and the same end as without.
//!
//! The points are in the crates `store`, `worktrees` and `executors`: each write, flush and rename of a file, each
//! change by git, each start of a program. They are numbered as they are reached; with one slot the order is the same
//! in each run, as far as the disk lets it be.

use crate::scene::{HONEST, Scene, write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has to be the same at the end.
#[derive(Debug, Eq, PartialEq)]
struct End {
    tree: String,
    statuses: Vec<String>,
    /// Commits on the integration branch since the start, as their subjects, sorted.
    commits: Vec<String>,
    worktrees: usize,
}

/// A repository whose tests cost nothing.
fn scene(tasks: &[(&str, &str, &[&str])]) -> Scene {
    let scene = Scene::new(tasks, HONEST);
    write(&scene.root().join("run-tests.sh"), "echo 1..1\necho ok - fine\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "cheap tests"]);
    scene
}

fn end(scene: &Scene) -> End {
    let report = scene.report();
    let (base, branch) = (report["base_commit"].as_str(), report["integration_branch"].as_str());
    let range = format!("{}..{}", base.expect("a base"), branch.expect("a branch"));
    let mut commits: Vec<String> = scene.git(&["log", "--format=%s", &range]).lines().map(ToOwned::to_owned).collect();
    commits.sort();
    End {
        tree: scene.landed_tree(),
        statuses: scene.statuses(),
        commits,
        worktrees: scene.git(&["worktree", "list"]).lines().count(),
    }
}

const ARGUMENTS: [&str; 2] = ["--max-parallel", "1"];

/// Runs without a crash; returns the end, and how many points there were.
fn undisturbed(scene: &Scene) -> (End, u64) {
    let log = scene.path("points");
    let mut command = scene.run_command(&ARGUMENTS);
    let output = command.env("CRASH_POINT_LOG", &log).output().expect("tm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let points = std::fs::read_to_string(&log).expect("the points").lines().count();
    (end(scene), u64::try_from(points).expect("a count"))
}

/// Dies at a point, goes on, and returns the end; `None` when the point was never reached.
fn after_a_crash_at(point: u64, scene: &Scene) -> Option<End> {
    let mut command = scene.run_command(&ARGUMENTS);
    let died = command.env("CRASH_POINT", point.to_string()).output().expect("tm");
    if died.status.success() {
        return None;
    }
    let output = scene.run(&ARGUMENTS);
    assert!(output.status.success(), "after a crash at {point}: {}", String::from_utf8_lossy(&output.stderr));
    scene.assert_no_process_is_left();
    Some(end(scene))
}

/// Dies at each of the points, in scenes of their own; prints how many were reached.
#[expect(clippy::print_stderr, reason = "how many points were tried is part of the result")]
fn dies_at(points: impl Iterator<Item = u64> + Send, total: u64, expected: &End, make: fn() -> Scene) -> u64 {
    let (points, tried) = (Mutex::new(points), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(point) = points.lock().expect("nobody panicked").next() else { return };
                    if let Some(found) = after_a_crash_at(point, &make()) {
                        assert_eq!(found, *expected, "after a crash at point {point}");
                        tried.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let tried = tried.load(Ordering::SeqCst);
    eprintln!("died at {tried} of {total} points");
    tried
}

#[test]
fn a_crash_at_any_point_changes_nothing_about_the_end() {
    let make: fn() -> Scene = || scene(&[("1", "Document the parser", &[])]);
    let (expected, points) = undisturbed(&make());
    assert_eq!(expected.statuses, ["done"]);
    assert!(points > 60, "{points} points");
    let tried = dies_at(1..=points, points, &expected, make);
    assert!(tried + 5 >= points, "{tried} of {points} points were reached");
}

#[test]
fn a_crash_anywhere_in_a_longer_run_changes_nothing_about_the_end() {
    let make: fn() -> Scene =
        || Scene::new(&[("1", "Add the parser", &[]), ("2", "Document the printer", &["1"])], HONEST);
    let (expected, points) = undisturbed(&make());
    assert_eq!(expected.statuses, ["done"; 2]);
    // Other points than the ones above, spread over the whole run.
    let tried = dies_at((3..=points).step_by(19), points, &expected, make);
    assert!(tried >= 10, "{tried} points were reached");
}
