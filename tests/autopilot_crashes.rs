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
    let units = units.as_array().expect("a list").iter().map(|unit| words(unit, "id") + " " + &words(unit, "status"));
    let log = text("activity.jsonl");
    let events = log.lines().map(|line| words(&serde_json::from_str(line).expect("JSON"), "event"));
    let tags = folder.parent().and_then(std::path::Path::parent).expect("a folder").join("tags");
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

/// One step with all its crashes; returns at how many points it died.
fn dies_within(scene: &Scene, step: &[String], points: impl Fn(u64) -> bool) -> u64 {
    let keep = |from: &str, to: &str| {
        let script = format!("cd '{}'; rm -rf '{to}'; cp -a '{from}' '{to}'", scene.path("").display());
        assert!(scene.shell(&script).status().expect("sh").success());
    };
    let (_, before) = scene.autopilot(&["next"]);
    let before = before["description"].as_str().unwrap_or_default().to_owned();
    std::fs::create_dir_all(scene.path("tm")).expect("a folder");
    for name in ["checkout", "tm"] {
        keep(name, &format!("kept-{name}"));
    }
    let log = scene.path("points");
    drop(std::fs::remove_file(&log));
    let words: Vec<&str> = step.iter().map(String::as_str).collect();
    let done = scene.autopilot_command(&words).env("CRASH_POINT_LOG", &log).output().expect("tm");
    assert!(done.status.success(), "{step:?}: {done:?}");
    let expected = standing(scene);
    let total = std::fs::read_to_string(&log).expect("points").lines().count();
    let mut died = 0;
    for point in (1..=u64::try_from(total).expect("a count")).filter(|point| points(*point)) {
        for name in ["checkout", "tm"] {
            keep(&format!("kept-{name}"), name);
        }
        let cut = scene.autopilot_command(&words).env("CRASH_POINT", point.to_string()).output().expect("tm");
        assert_eq!(cut.status.code(), None, "{step:?} was killed at point {point} of {total}");
        let how = if point % 2 == 0 { GoingOn::Again } else { GoingOn::Resume };
        go_on(scene, step, &before, how);
        assert_eq!(standing(scene), expected, "{step:?} after a crash at point {point} of {total}, {how:?}");
        died += 1;
    }
    died
}

/// The steps of the three subtasks have the same points, so each of them takes another third.
#[test]
fn a_crash_at_any_point_of_a_task_changes_nothing_about_its_end() {
    let workers: Vec<_> = (0..2_u64)
        .map(|worker| {
            std::thread::spawn(move || {
                let scene = scene();
                let is_mine = |point: u64| point / 3 % 2 == worker;
                let start = ["start", "1", "--no-confirm"].map(ToOwned::to_owned);
                let mut died = dies_within(&scene, &start, |point| point % 3 == 0 && is_mine(point));
                for number in 0.. {
                    let next = scene.autopilot_ok(&["next"]);
                    if next["action"] == "complete" {
                        break;
                    }
                    let step = scene.step(&next);
                    died += dies_within(&scene, &step, |point| point % 3 == number / 3 % 3 && is_mine(point));
                }
                let subjects = scene.git(&["log", "--reverse", "--format=%s", "main..HEAD"]);
                let ids: Vec<&str> =
                    subjects.lines().map(|line| line.rsplit("task ").next().unwrap_or_default()).collect();
                assert_eq!(ids, ["1.2)", "1.1)", "1.3)"], "each subtask has one commit: {subjects}");
                assert_eq!(scene.all_statuses(), "1:done 1.1:done 1.2:done 1.3:done 2:pending 2.1:pending 3:pending");
                died
            })
        })
        .collect();
    let died: u64 = workers.into_iter().map(|worker| worker.join().expect("the ends are the same")).sum();
    eprintln!("died at {died} points");
    assert!(died > 60, "{died} points");
}
