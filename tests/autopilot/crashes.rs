//! Autopilot and kill -9 at the points at which something durable happens: the same end as without.

use crate::autopilot::scene;
use crate::scene::Scene;
use serde_json::Value;

/// What has to be the same after a step, however often it was cut off.
#[derive(Debug, Eq, PartialEq)]
struct Standing {
    next: String,
    statuses: String,
    subjects: String,
    tree: String,
    branches: String,
    changed: String,
    commits: usize,
    units: Vec<String>,
    events: Vec<String>,
    current: usize,
}

fn json(path: &std::path::Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn standing(scene: &Scene) -> Standing {
    let folder = scene.run_folder();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let words = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let units = json(&folder.join("work-units.json"));
    let units = units
        .as_array()
        .expect("a list")
        .iter()
        .map(|unit| words(unit, "id") + " " + &words(unit, "status"));
    let log = text("activity.jsonl");
    let events = log
        .lines()
        .map(|line| words(&serde_json::from_str(line).expect("JSON"), "event"));
    let tags = folder
        .parent()
        .and_then(std::path::Path::parent)
        .expect("a folder")
        .join("tags");
    Standing {
        next: words(&scene.autopilot_ok(&["next"]), "description"),
        statuses: scene.all_statuses(),
        subjects: scene.git(&["log", "--format=%s", "main..HEAD"]),
        tree: scene.git(&["rev-parse", "HEAD^{tree}"]),
        branches: scene.git(&["branch", "--list"]),
        changed: scene.git(&["status", "--porcelain"]),
        commits: text("commits.txt").lines().count(),
        units: units.collect(),
        events: events.collect(),
        current: std::fs::read_dir(tags)
            .expect("a folder")
            .filter_map(Result::ok)
            .filter(|entry| entry.path().is_dir())
            .count(),
    }
}

fn call(scene: &Scene, step: &[String]) -> (i32, Value) {
    scene.autopilot(&step.iter().map(String::as_str).collect::<Vec<_>>())
}

/// How somebody goes on who does not know what was done before the crash.
#[derive(Clone, Copy, Debug)]
enum GoingOn {
    /// The same call again, and `resume` where it is refused.
    Again,
    /// `resume`, and the same call where it is still what comes next.
    Resume,
}

fn go_on(scene: &Scene, step: &[String], before: &str, how: GoingOn) {
    match how {
        GoingOn::Again => {
            if call(scene, step).0 != 0 {
                scene.autopilot(&["resume"]);
            }
        }
        GoingOn::Resume => {
            let (code, resumed) = scene.autopilot(&["resume"]);
            if code != 0 || resumed["nextAction"]["description"] == before {
                call(scene, step);
            }
        }
    }
}

fn within(scene: &Scene, script: &str) {
    let script = format!("cd '{}'; {script}", scene.path("").display());
    assert!(
        scene.shell(&script).status().expect("sh").success(),
        "{script}"
    );
}

/// Keeps the checkout and tm's files as they are now.
fn keep(scene: &Scene) {
    within(scene, "rm -rf kept; mkdir kept; cp -a checkout tm kept/");
}

/// Brings back what was kept.
fn restore(scene: &Scene) {
    within(scene, "rm -rf checkout tm; cp -a kept/checkout kept/tm .");
}

/// One step with all its crashes; returns at how many points it died.
fn dies_within(scene: &Scene, step: &[String], points: impl Fn(u64) -> bool) -> u64 {
    let (_, before) = scene.autopilot(&["next"]);
    let before = before["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    std::fs::create_dir_all(scene.path("tm")).expect("a folder");
    keep(scene);
    let log = scene.path("points");
    drop(std::fs::remove_file(&log));
    let words: Vec<&str> = step.iter().map(String::as_str).collect();
    let done = scene
        .autopilot_command(&words)
        .env("CRASH_POINT_LOG", &log)
        .output()
        .expect("tm");
    assert!(done.status.success(), "{step:?}: {done:?}");
    let expected = standing(scene);
    let total = std::fs::read_to_string(&log)
        .expect("points")
        .lines()
        .count();
    let mut died = 0;
    for point in (1..=u64::try_from(total).expect("a count")).filter(|point| points(*point)) {
        restore(scene);
        let cut = scene
            .autopilot_command(&words)
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        assert_eq!(
            cut.status.code(),
            None,
            "{step:?} was killed at point {point} of {total}"
        );
        let how = if point / 2 % 2 == 0 {
            GoingOn::Again
        } else {
            GoingOn::Resume
        };
        go_on(scene, step, &before, how);
        assert_eq!(
            standing(scene),
            expected,
            "{step:?} after a crash at point {point} of {total}, {how:?}"
        );
        died += 1;
    }
    died
}

/// Which points are tried: each of them with `TM_TEST_EVERY_POINT`, else some, and others in each of the three subtasks,
/// whose steps have the same points.
fn is_tried(point: u64, cycle: u64) -> bool {
    std::env::var_os("TM_TEST_EVERY_POINT").is_some() || point % 24 == (8 * cycle + 1) % 24
}

/// Does the task with crashes in each step, as far as they are this worker's; returns how often it died.
fn do_the_task(worker: u64) -> u64 {
    let scene = scene();
    let start = ["start", "1", "--no-confirm"].map(ToOwned::to_owned);
    let mut died = dies_within(&scene, &start, |point| {
        is_tried(point, 0) && point % 2 == worker
    });
    for number in 0.. {
        let next = scene.autopilot_ok(&["next"]);
        if next["action"] == "complete" {
            break;
        }
        let step = scene.step(&next);
        died += dies_within(&scene, &step, |point| {
            is_tried(point, number / 3) && point % 2 == worker
        });
    }
    let subjects = scene.git(&["log", "--reverse", "--format=%s", "main..HEAD"]);
    let ids: Vec<&str> = subjects
        .lines()
        .map(|line| line.rsplit("task ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        ids,
        ["1.2)", "1.1)", "1.3)"],
        "each subtask has one commit: {subjects}"
    );
    assert_eq!(
        scene.all_statuses(),
        "1:done 1.1:done 1.2:done 1.3:done 2:pending 2.1:pending 3:pending"
    );
    died
}

#[test]
fn a_crash_at_any_point_of_a_task_changes_nothing_about_its_end() {
    let workers: Vec<_> = (0..2)
        .map(|worker| std::thread::spawn(move || do_the_task(worker)))
        .collect();
    let died: u64 = workers
        .into_iter()
        .map(|worker| worker.join().expect("the ends are the same"))
        .sum();
    eprintln!("died at {died} points");
    assert!(died > 10, "{died} points");
}

#[test]
fn a_run_that_is_given_up_with_crashes_is_gone_like_without() {
    let scene = scene();
    let before = scene.all_statuses();
    scene.autopilot_ok(&["start", "2"]);
    for _ in 0..3 {
        let step = scene.step(&scene.autopilot_ok(&["next"]));
        assert_eq!(call(&scene, &step).0, 0);
    }
    let commit = scene.git(&["rev-parse", "HEAD"]);
    let folder = scene.run_folder();
    keep(&scene);
    let abort = ["abort", "--cleanup", "--force"];
    for point in (1..).step_by(9) {
        restore(&scene);
        let cut = scene
            .autopilot_command(&abort)
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        let is_over = cut.status.code() == Some(0);
        if !is_over && scene.autopilot_ok(&["status"])["active"] == true {
            scene.autopilot_ok(&abort);
        }
        assert_eq!(
            (scene.all_statuses(), scene.git(&["branch", "--list"])),
            (before.clone(), "* main".to_owned()),
            "{point}"
        );
        assert_eq!(
            scene.git(&["for-each-ref", "--format=%(objectname)", "refs/tm/salvage"]),
            commit,
            "{point}"
        );
        assert!(
            !folder.exists() && scene.autopilot_ok(&["status"])["active"] == false,
            "{point}"
        );
        if is_over {
            assert!(point > 10, "{point}");
            return;
        }
    }
}
