//! Kill -9, or a full disk, at every point at which something durable happens, and the same end as without.
//!
//! The points are in the crates `store`, `worktrees` and `executors`: each write, flush and rename of a file, each
//! change by git, each start of a program. They are numbered as they are reached; with one slot the order is the same
//! in each run, as far as the disk lets it be.
//!
//! The suite walks a sample where all points would take long; `TM_TEST_EVERY_POINT=1` walks them all.

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
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "cheap tests"]);
    scene
}

fn end(scene: &Scene) -> End {
    let report = scene.report();
    let (base, branch) = (
        report["base_commit"].as_str(),
        report["integration_branch"].as_str(),
    );
    let range = format!("{}..{}", base.expect("a base"), branch.expect("a branch"));
    let mut commits: Vec<String> = scene
        .git(&["log", "--format=%s", &range])
        .lines()
        .map(ToOwned::to_owned)
        .collect();
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
    let (end, names) = undisturbed_with_names(scene);
    (end, u64::try_from(names.len()).expect("a count"))
}

/// As `undisturbed`, with the name of each point.
fn undisturbed_with_names(scene: &Scene) -> (End, Vec<String>) {
    let log = scene.path("points");
    let mut command = scene.run_command(&ARGUMENTS);
    let output = command.env("CRASH_POINT_LOG", &log).output().expect("tm");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = std::fs::read_to_string(&log)
        .expect("the points")
        .lines()
        .map(ToOwned::to_owned)
        .collect();
    (end(scene), names)
}

/// Dies at a point, goes on, and returns the end; `None` when the point was never reached.
fn after_a_crash_at(point: u64, scene: &Scene) -> Option<End> {
    let mut command = scene.run_command(&ARGUMENTS);
    let died = command
        .env("CRASH_POINT", point.to_string())
        .output()
        .expect("tm");
    if died.status.success() {
        return None;
    }
    let output = scene.run(&ARGUMENTS);
    assert!(
        output.status.success(),
        "after a crash at {point}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    scene.assert_no_process_is_left();
    Some(end(scene))
}

/// Fails at a point as a full disk would, goes on when that ended the run, and returns the end.
fn after_a_fault_at(point: u64, scene: &Scene) -> End {
    let mut command = scene.run_command(&ARGUMENTS);
    let output = command
        .env("FAULT_POINT", point.to_string())
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    scene.assert_no_process_is_left();
    if !output.status.success() {
        assert_eq!(output.status.code(), Some(1), "a fault at {point}: {words}");
        assert!(
            words.contains("error: failed to ") && words.contains("o space left"),
            "a fault at {point}: {words}"
        );
        assert!(!words.contains("panicked"), "a fault at {point}: {words}");
        let output = scene.run(&ARGUMENTS);
        assert!(
            output.status.success(),
            "after a fault at {point}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // A worktree that could not be removed then is removed when somebody asks for it.
    let pruned = scene.tm(&["worktrees", "prune"]).output().expect("tm");
    assert!(
        pruned.status.success(),
        "{}",
        String::from_utf8_lossy(&pruned.stderr)
    );
    end(scene)
}

/// Goes to each of the points, in scenes of their own; prints how many were reached.
#[expect(
    clippy::print_stderr,
    reason = "how many points were tried is part of the result"
)]
fn walk(
    go_to: impl Fn(u64, &Scene) -> Option<End> + Sync,
    points: impl Iterator<Item = u64> + Send,
    total: u64,
    expected: &End,
    make: fn() -> Scene,
) -> u64 {
    let (points, tried) = (Mutex::new(points), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(point) = points.lock().expect("nobody panicked").next() else {
                        return;
                    };
                    if let Some(found) = go_to(point, &make()) {
                        assert_eq!(found, *expected, "after point {point}");
                        tried.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let tried = tried.load(Ordering::SeqCst);
    eprintln!("went to {tried} of {total} points");
    tried
}

#[test]
fn a_crash_at_any_point_changes_nothing_about_the_end() {
    let make: fn() -> Scene = || scene(&[("1", "Document the parser", &[])]);
    let (expected, points) = undisturbed(&make());
    assert_eq!(expected.statuses, ["done"]);
    assert!(points > 60, "{points} points");
    // Each point is a kind of its own, and three next to each other seldom are: every third one, and all by one command.
    let every = if std::env::var_os("TM_TEST_EVERY_POINT").is_some() {
        1
    } else {
        3
    };
    let walked = (1..=points).step_by(every);
    let many = u64::try_from(walked.clone().count()).expect("a count");
    let tried = walk(after_a_crash_at, walked, points, &expected, make);
    assert!(tried + 5 >= many, "{tried} of {many} points were reached");
}

#[test]
fn a_crash_anywhere_in_a_longer_run_changes_nothing_about_the_end() {
    let make: fn() -> Scene = || {
        Scene::new(
            &[
                ("1", "Add the parser", &[]),
                ("2", "Document the printer", &["1"]),
            ],
            HONEST,
        )
    };
    let (expected, points) = undisturbed(&make());
    assert_eq!(expected.statuses, ["done"; 2]);
    // Other points than the ones above, spread over the whole run.
    let tried = walk(
        after_a_crash_at,
        (3..=points).step_by(19),
        points,
        &expected,
        make,
    );
    assert!(tried >= 10, "{tried} points were reached");
}

#[test]
fn a_crash_anywhere_changes_nothing_about_commits_of_agents_that_are_kept() {
    const COMMITS: &str = r#"
    commit() { git add --all && git -c user.name=Agent -c user.email=agent@example.org commit --quiet --no-verify -m "$1"; }
    for number in 1 2; do echo $number > step; commit "step $number"; done; rm step
    "#;
    let make: fn() -> Scene = || {
        let scene = Scene::new(
            &[("1", "Document the parser", &[])],
            &format!("{COMMITS}{HONEST}"),
        );
        write(
            &scene.root().join("run-tests.sh"),
            "echo 1..1\necho ok - fine\n",
        );
        write(
            &scene.root().join(".taskmaster/tm.yaml"),
            "git: { keep_agent_commits: true }\n",
        );
        scene.git(&["add", "--all"]);
        scene.git(&[
            "commit",
            "--quiet",
            "--message",
            "cheap tests, and settings",
        ]);
        scene
    };
    let (expected, points) = undisturbed(&make());
    assert!(
        ["step 1", "step 2"]
            .iter()
            .all(|step| expected.commits.iter().any(|subject| subject == step))
    );
    // After the agent, which is half way.
    let every = if std::env::var_os("TM_TEST_EVERY_POINT").is_some() {
        1
    } else {
        4
    };
    let tried = walk(
        after_a_crash_at,
        (points / 2..=points).step_by(every),
        points,
        &expected,
        make,
    );
    assert!(tried >= 8, "{tried} points were reached");
}

#[test]
fn a_disk_that_is_full_for_a_moment_changes_nothing_about_the_end() {
    let make: fn() -> Scene = || scene(&[("1", "Document the parser", &[])]);
    let (expected, names) = undisturbed_with_names(&make());
    let fallible: Vec<u64> = (1..)
        .zip(&names)
        .filter(|(_, name)| name.ends_with('?'))
        .map(|(point, _)| point)
        .collect();
    let total = u64::try_from(fallible.len()).expect("a count");
    assert!(total > 50, "{total} points can fail");
    let every = if std::env::var_os("TM_TEST_EVERY_POINT").is_some() {
        1
    } else {
        7
    };
    walk(
        |point, scene| Some(after_a_fault_at(point, scene)),
        fallible.into_iter().step_by(every),
        total,
        &expected,
        make,
    );
}

/// Surroundings that refuse everything from a point on, which is one in the middle of a task.
fn after_lasting_trouble(error: &str, says: &str, point: &str) {
    let scene = scene(&[("1", "Document the parser", &[])]);
    let mut command = scene.run_command(&ARGUMENTS);
    let output = command
        .env("FAULT_POINT", point)
        .env("FAULT_ERROR", error)
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    let last: Vec<&str> = words.lines().rev().take(2).collect();
    assert!(
        last[1].starts_with("error: failed to ") && last[1].contains(says),
        "{words}"
    );
    assert!(
        last[0].starts_with("hint: ") && last[0].contains("tm waves resume"),
        "{words}"
    );
    scene.assert_no_process_is_left();
    let report = scene.runs(&ARGUMENTS, 0);
    let attempts = crate::scene::task(&report, "1")["attempts"]
        .as_array()
        .expect("attempts")
        .clone();
    let nobodys_fault =
        |attempt: &serde_json::Value| attempt["failure"].is_null() || attempt["failure"] == "lost";
    assert!(attempts.iter().all(nobodys_fault), "{report:#}");
    assert_eq!(scene.statuses(), ["done"]);
}

#[test]
fn a_disk_that_stays_full_ends_the_run_with_one_clear_error_and_nothing_is_lost() {
    std::thread::scope(|scope| {
        scope.spawn(|| after_lasting_trouble("ENOSPC", "No space left on device", "60-"));
        scope.spawn(|| after_lasting_trouble("EROFS", "Read-only file system", "90-"));
        scope.spawn(|| after_lasting_trouble("EACCES", "Permission denied", "120-"));
    });
}
