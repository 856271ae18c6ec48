//! Autopilot as agents see it: the real binary, a real repository, an agent that only follows `next`.

pub(crate) mod begun;
mod crashes;
mod guards;
mod places;
mod proof;

use crate::scene::{Scene, write};
use serde_json::{Value, json};
use std::process::Command;

/// Task 1 has three subtasks, the second of which comes first; task 2 has one; task 3 waits for task 2.
pub(crate) fn backlog() -> String {
    let subtask = |id: u32, title: &str, dependencies: Value| {
        json!({"id": id, "title": title, "description": format!("About {title}."), "status": "pending",
               "dependencies": dependencies, "testStrategy": "run it"})
    };
    let tasks = json!([
        {"id": 1, "title": "Metrics", "description": "", "status": "pending", "priority": "high", "dependencies": [],
         "subtasks": [subtask(1, "Add schema", json!([2])), subtask(2, "Add store", json!([])),
                      subtask(3, "Show both", json!(["1.1"]))]},
        {"id": 2, "title": "Other work", "description": "", "status": "pending", "priority": "low", "dependencies": [],
         "subtasks": [subtask(1, "Add other", json!([]))]},
        {"id": 3, "title": "Later", "description": "", "status": "pending", "priority": "low", "dependencies": [2],
         "subtasks": []}
    ]);
    serde_json::to_string_pretty(&json!({"master": {"tasks": tasks}})).expect("json")
}

pub(crate) fn scene() -> Scene {
    Scene::with_backlog(&backlog(), "")
}

/// A project in which the counts that agents report are taken.
pub(crate) fn reporting() -> Scene {
    let scene = scene();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "autopilot: { verify: reported }\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

impl Scene {
    pub(crate) fn autopilot_command(&self, arguments: &[&str]) -> Command {
        let mut all = vec!["autopilot", "--json"];
        all.extend(arguments);
        self.tm(&all)
    }

    /// Calls autopilot and returns exit code and the one JSON document.
    pub(crate) fn autopilot(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.autopilot_command(arguments).output().expect("tm");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let document = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!(
                "{arguments:?}: {error}: {text}{}",
                String::from_utf8_lossy(&output.stderr)
            )
        });
        (output.status.code().expect("an exit code"), document)
    }

    pub(crate) fn autopilot_ok(&self, arguments: &[&str]) -> Value {
        let (code, document) = self.autopilot(arguments);
        assert_eq!(code, 0, "{arguments:?}: {document:#}");
        document
    }

    pub(crate) fn refused(&self, arguments: &[&str], code: i32) -> String {
        let (found, document) = self.autopilot(arguments);
        assert_eq!(
            (found, &document["success"]),
            (code, &Value::Bool(false)),
            "{arguments:?}: {document:#}"
        );
        format!(
            "{} hint: {}",
            document["error"].as_str().expect("words"),
            document["hint"].as_str().unwrap_or_default()
        )
    }

    /// Does what an agent does for a step: tests in RED, code in GREEN.
    pub(crate) fn work(&self, action: &str, subtask: &str) {
        let name = subtask.replace('.', "_");
        match action {
            "red" => write(
                &self.root().join(format!("t/part_{name}.t")),
                &format!(
                    ". t/check.sh\ncheck '{name} works' '{name}' \"$(sh bin/part_{name} 2>/dev/null)\"\n"
                ),
            ),
            "green" => write(
                &self.root().join(format!("bin/part_{name}")),
                &format!("echo {name}\n"),
            ),
            _ => {}
        }
    }

    /// The arguments that an agent types for an action; the counts are invented, but make sense.
    pub(crate) fn step(&self, next: &Value) -> Vec<String> {
        let (action, subtask) = (
            next["action"].as_str().expect("an action"),
            next["subtask"]["id"].as_str(),
        );
        self.work(action, subtask.unwrap_or_default());
        let words: Vec<&str> = match action {
            "red" => vec![
                "complete",
                "red",
                subtask.expect("a subtask"),
                "--results",
                "failed:1,passed:1",
            ],
            "green" => vec![
                "complete",
                "green",
                subtask.expect("a subtask"),
                "--results",
                "passed:2,failed:0",
            ],
            "commit" => vec!["commit", subtask.expect("a subtask")],
            "finalize" => vec!["finalize", "--results", "passed:4,failed:0"],
            other => panic!("nothing is known of `{other}`: {next:#}"),
        };
        words.into_iter().map(ToOwned::to_owned).collect()
    }

    /// Follows `next` until the run is complete; returns the actions.
    pub(crate) fn follow(&self) -> Vec<String> {
        let mut actions = Vec::new();
        loop {
            let next = self.autopilot_ok(&["next"]);
            let action = next["action"].as_str().expect("an action").to_owned();
            if action == "complete" {
                return actions;
            }
            actions.push(format!(
                "{action} {}",
                next["subtask"]["id"].as_str().unwrap_or_default()
            ));
            let step = self.step(&next);
            self.autopilot_ok(&step.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// The statuses of all tasks and subtasks, with their ids.
    pub(crate) fn all_statuses(&self) -> String {
        let text = std::fs::read_to_string(self.root().join(".taskmaster/tasks/tasks.json"))
            .expect("a backlog");
        let json: Value = serde_json::from_str(&text).expect("valid JSON");
        let mut words = Vec::new();
        for task in json["master"]["tasks"].as_array().expect("tasks") {
            words.push(format!(
                "{}:{}",
                task["id"],
                task["status"].as_str().unwrap_or_default()
            ));
            for subtask in task["subtasks"].as_array().expect("subtasks") {
                words.push(format!(
                    "{}.{}:{}",
                    task["id"],
                    subtask["id"],
                    subtask["status"].as_str().unwrap_or_default()
                ));
            }
        }
        words.join(" ")
    }

    pub(crate) fn run_folder(&self) -> std::path::PathBuf {
        self.autopilot_ok(&["status"])["runDirectory"]
            .as_str()
            .expect("a folder")
            .into()
    }
}

#[test]
fn a_task_with_three_subtasks_is_done_by_following_next_alone() {
    let scene = scene();
    let main = scene.git(&["rev-parse", "main"]);
    let started = scene.autopilot_ok(&["start", "1", "--no-confirm"]);
    assert_eq!(started["branch"], "tm/master/task-1-metrics");
    assert_eq!(started["nextAction"]["action"], "red");
    assert_eq!(
        scene.follow(),
        [
            "red 1.2",
            "green 1.2",
            "commit 1.2",
            "red 1.1",
            "green 1.1",
            "commit 1.1",
            "red 1.3",
            "green 1.3",
            "commit 1.3",
            "finalize ",
        ]
    );
    assert_eq!(
        scene.all_statuses(),
        "1:done 1.1:done 1.2:done 1.3:done 2:pending 2.1:pending 3:pending"
    );
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(
        scene.git(&["status", "--porcelain"]),
        " M .taskmaster/tasks/tasks.json",
        "statuses are not committed"
    );
    let files = scene.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(files.lines().count(), 6, "{files}");
    assert!(!files.contains(".taskmaster"), "{files}");
    let message = scene.git(&["log", "-1", "--format=%B"]);
    for part in [
        "(task 1.3)",
        "About Show both.",
        "Task: #1.3 - Show both",
        "Tag: master",
        "Tests: 4 passing",
        "Run: ",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let status = scene.autopilot_ok(&["status"]);
    assert_eq!(
        (&status["status"], &status["commits"]),
        (&json!("completed"), &json!(3))
    );
    files_of_a_run(&scene);
}

/// Everything lies in tm's home under its documented name, and the log is JSON line by line.
fn files_of_a_run(scene: &Scene) {
    let folder = scene.run_folder();
    assert!(folder.starts_with(scene.path("tm/projects")));
    for name in [
        "manifest.json",
        "state.json",
        "commits.txt",
        "work-units.json",
        "test-results/final-suite.json",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let commits = std::fs::read_to_string(folder.join("commits.txt")).expect("commits");
    assert_eq!(
        commits.lines().collect::<Vec<_>>().last(),
        Some(&scene.git(&["rev-parse", "HEAD"]).as_str())
    );
    let activity = std::fs::read_to_string(folder.join("activity.jsonl")).expect("a log");
    let events: Vec<Value> = activity
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    for name in [
        "branch:created",
        "test:run",
        "phase:transition",
        "commit:created",
        "subtask:complete",
        "run:ended",
    ] {
        assert!(
            events
                .iter()
                .any(|event| event["event"] == name && event["ts"].is_string()),
            "{name}"
        );
    }
    let manifest: Value = serde_json::from_str(
        &std::fs::read_to_string(folder.join("manifest.json")).expect("a file"),
    )
    .expect("JSON");
    assert_eq!(
        (&manifest["status"], &manifest["totalCommits"]),
        (&json!("completed"), &json!(3))
    );
}

#[test]
fn reports_that_make_no_sense_are_refused_and_nothing_is_committed() {
    let scene = reporting();
    scene.autopilot_ok(&["start", "2", "--max-attempts", "2"]);
    let refused = |arguments: &[&str], code: i32, part: &str| {
        let said = scene.refused(arguments, code);
        assert!(said.contains(part), "{arguments:?}: {said}");
    };
    for (results, code, part) in [
        ("nonsense", 2, "is not `<name>:<number>`"),
        ("skipped:1", 2, "neither"),
        ("passed:0,failed:0", 3, "no test was run"),
        ("passed:5,failed:0", 3, "no test fails"),
        (
            r#"{"total":9,"passed":1,"failed":1}"#,
            3,
            "are not 9 in all",
        ),
    ] {
        refused(&["complete", "--results", results], code, part);
    }
    refused(&["complete"], 2, "no results");
    scene.work("red", "2.1");
    let counts = r#"{"failed":1,"passed":12}"#;
    let warned = scene.autopilot_ok(&["complete", "RED", "2.1", "--results", counts]);
    let warning = warned["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("12 tests pass"));
    refused(&["commit"], 1, "it is time for GREEN of `2.1`");
    refused(
        &["complete", "green", "--results", "passed:2,failed:0"],
        3,
        "RED ran 13",
    );
    let paused = scene.refused(&["complete", "--results", "passed:12,failed:1"], 3);
    assert!(
        paused.contains("1 tests still fail") && paused.contains("the run is paused"),
        "{paused}"
    );
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "resume");
    refused(
        &["complete", "--results", "passed:13"],
        1,
        "tm autopilot resume",
    );
    let resumed = scene.autopilot_ok(&["resume"]);
    assert_eq!(resumed["nextAction"]["subtask"]["attempts"], 3);
    assert_eq!(
        scene.git(&["rev-parse", "HEAD"]),
        scene.git(&["rev-parse", "main"]),
        "nothing was committed"
    );
    scene.work("green", "2.1");
    let green = ["complete", "green", "2.1", "--results", "passed:13"];
    let covered = |percent| [&green[..], &["--coverage", percent]].concat();
    refused(&covered("101"), 3, "can't be");
    scene.autopilot_ok(&covered("92.5"));
    scene.autopilot_ok(&["commit", "--message", "my own words"]);
    let message = scene.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("my own words\n\nTask: #2.1")
            && message.contains("Coverage: 92.5% lines"),
        "{message}"
    );
}

#[test]
fn a_start_that_can_not_be_says_why_and_leaves_nothing() {
    let scene = scene();
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    for (arguments, code, part) in [
        (&["start", "9"][..], 4, "find the task `9`"),
        (&["start", "9"], 4, "`tm list --with-subtasks`"),
        (&["start", "1.1"], 4, "`tm autopilot start 1`"),
        (&["start", "3"], 4, "it waits for `2`"),
        (&["start", "1", "--branch", "main"], 1, "the default branch"),
        (&["start", "1", "--branch", "a b"], 1, "branch name"),
        (&["start", "1", "--tag", "nope"], 1, "`nope`"),
        (&["next"], 1, "`tm autopilot start ID`"),
        (&["resume", "--run-id", "../../x"], 1, "find the run"),
    ] {
        let words = scene.refused(arguments, code);
        assert!(words.contains(part), "{part} in {words}");
    }
    write(&scene.root().join("dirty"), "x");
    assert!(scene.refused(&["start", "1"], 1).contains("`dirty`"));
    std::fs::remove_file(scene.root().join("dirty")).expect("removed");
    let dry = scene.autopilot_ok(&["start", "1", "--dry-run"]);
    assert_eq!(
        (&dry["runId"], &dry["subtasks"]),
        (&json!(""), &json!(["1.2", "1.1", "1.3"]))
    );
    assert_eq!(scene.git(&["branch", "--list"]), "* main");
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    std::fs::remove_file(scene.root().join("run-tests.sh")).expect("removed");
    std::fs::remove_dir_all(scene.root().join("t")).expect("removed");
    scene.git(&["commit", "--quiet", "--all", "--message", "no tests"]);
    assert!(scene.refused(&["start", "1"], 1).contains("`test.command`"));
}
