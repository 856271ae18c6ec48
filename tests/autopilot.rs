//! Autopilot as agents see it: the real binary, a real repository, an agent that only follows `next`.

use crate::scene::{Scene, write};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

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

impl Scene {
    fn autopilot_command(&self, arguments: &[&str]) -> Command {
        let mut all = vec!["autopilot", "--json"];
        all.extend(arguments);
        self.tm(&all)
    }

    /// Calls autopilot and returns exit code and the one JSON document.
    fn autopilot(&self, arguments: &[&str]) -> (i32, Value) {
        let output = self.autopilot_command(arguments).output().expect("tm");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let document = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{arguments:?}: {error}: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
        (output.status.code().expect("an exit code"), document)
    }

    fn autopilot_ok(&self, arguments: &[&str]) -> Value {
        let (code, document) = self.autopilot(arguments);
        assert_eq!(code, 0, "{arguments:?}: {document:#}");
        document
    }

    fn refused(&self, arguments: &[&str], code: i32) -> String {
        let (found, document) = self.autopilot(arguments);
        assert_eq!((found, &document["success"]), (code, &Value::Bool(false)), "{arguments:?}: {document:#}");
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
                &format!(". t/check.sh\ncheck '{name} works' '{name}' \"$(sh bin/part_{name} 2>/dev/null)\"\n"),
            ),
            "green" => write(&self.root().join(format!("bin/part_{name}")), &format!("echo {name}\n")),
            _ => {}
        }
    }

    /// The arguments that an agent types for an action; the counts are invented, but make sense.
    fn step(&self, next: &Value) -> Vec<String> {
        let (action, subtask) = (next["action"].as_str().expect("an action"), next["subtask"]["id"].as_str());
        self.work(action, subtask.unwrap_or_default());
        let words: Vec<&str> = match action {
            "red" => vec!["complete", "red", subtask.expect("a subtask"), "--results", "failed:1,passed:1"],
            "green" => vec!["complete", "green", subtask.expect("a subtask"), "--results", "passed:2,failed:0"],
            "commit" => vec!["commit", subtask.expect("a subtask")],
            "finalize" => vec!["finalize", "--results", "passed:4,failed:0"],
            other => panic!("nothing is known of `{other}`: {next:#}"),
        };
        words.into_iter().map(ToOwned::to_owned).collect()
    }

    /// Follows `next` until the run is complete; returns the actions.
    fn follow(&self) -> Vec<String> {
        let mut actions = Vec::new();
        loop {
            let next = self.autopilot_ok(&["next"]);
            let action = next["action"].as_str().expect("an action").to_owned();
            if action == "complete" {
                return actions;
            }
            actions.push(format!("{action} {}", next["subtask"]["id"].as_str().unwrap_or_default()));
            let step = self.step(&next);
            self.autopilot_ok(&step.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }

    /// The statuses of all tasks and subtasks, with their ids.
    fn all_statuses(&self) -> String {
        let text = std::fs::read_to_string(self.root().join(".taskmaster/tasks/tasks.json")).expect("a backlog");
        let json: Value = serde_json::from_str(&text).expect("valid JSON");
        let mut words = Vec::new();
        for task in json["master"]["tasks"].as_array().expect("tasks") {
            words.push(format!("{}:{}", task["id"], task["status"].as_str().unwrap_or_default()));
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

    fn run_folder(&self) -> std::path::PathBuf {
        self.autopilot_ok(&["status"])["runDirectory"].as_str().expect("a folder").into()
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
    assert_eq!(scene.all_statuses(), "1:done 1.1:done 1.2:done 1.3:done 2:pending 2.1:pending 3:pending");
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(scene.git(&["status", "--porcelain"]), " M .taskmaster/tasks/tasks.json", "statuses are not committed");
    let files = scene.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(files.lines().count(), 6, "{files}");
    assert!(!files.contains(".taskmaster"), "{files}");
    let message = scene.git(&["log", "-1", "--format=%B"]);
    for part in ["(task 1.3)", "About Show both.", "Task: #1.3 - Show both", "Tag: master", "Tests: 2 passing", "Run: "]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
    let status = scene.autopilot_ok(&["status"]);
    assert_eq!((&status["status"], &status["commits"]), (&json!("completed"), &json!(3)));
    files_of_a_run(&scene);
}

/// Everything lies in tm's home under its documented name, and the log is JSON line by line.
fn files_of_a_run(scene: &Scene) {
    let folder = scene.run_folder();
    assert!(folder.starts_with(scene.path("tm/projects")));
    for name in ["manifest.json", "state.json", "commits.txt", "work-units.json", "test-results/final-suite.json"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let commits = std::fs::read_to_string(folder.join("commits.txt")).expect("commits");
    assert_eq!(commits.lines().collect::<Vec<_>>().last(), Some(&scene.git(&["rev-parse", "HEAD"]).as_str()));
    let activity = std::fs::read_to_string(folder.join("activity.jsonl")).expect("a log");
    let events: Vec<Value> = activity.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for name in ["branch:created", "test:run", "phase:transition", "commit:created", "subtask:complete", "run:ended"] {
        assert!(events.iter().any(|event| event["event"] == name && event["ts"].is_string()), "{name}");
    }
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("manifest.json")).expect("a file")).expect("JSON");
    assert_eq!((&manifest["status"], &manifest["totalCommits"]), (&json!("completed"), &json!(3)));
}

#[test]
fn reports_that_make_no_sense_are_refused_and_nothing_is_committed() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2", "--max-attempts", "2"]);
    for (results, code, part) in [
        ("nonsense", 2, "is not `<name>:<number>`"),
        ("skipped:1", 2, "neither"),
        ("passed:0,failed:0", 3, "no test was run"),
        ("passed:5,failed:0", 3, "no test fails"),
        (r#"{"total":9,"passed":1,"failed":1}"#, 3, "are not 9 in all"),
    ] {
        assert!(scene.refused(&["complete", "--results", results], code).contains(part), "{results}");
    }
    assert!(scene.refused(&["complete"], 2).contains("no results"));
    scene.work("red", "2.1");
    let warned = scene.autopilot_ok(&["complete", "RED", "2.1", "--results", r#"{"failed":1,"passed":12}"#]);
    assert!(warned["warnings"][0].as_str().expect("a warning").contains("12 tests pass"));
    assert!(scene.refused(&["commit"], 1).contains("it is time for GREEN of `2.1`"));
    assert!(scene.refused(&["complete", "green", "--results", "passed:2,failed:0"], 3).contains("RED ran 13"));
    let paused = scene.refused(&["complete", "--results", "passed:12,failed:1"], 3);
    assert!(paused.contains("1 tests still fail") && paused.contains("the run is paused"), "{paused}");
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "resume");
    assert!(scene.refused(&["complete", "--results", "passed:13"], 1).contains("tm autopilot resume"));
    let resumed = scene.autopilot_ok(&["resume"]);
    assert_eq!(resumed["nextAction"]["subtask"]["attempts"], 3);
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), scene.git(&["rev-parse", "main"]), "nothing was committed");
    scene.work("green", "2.1");
    assert!(
        scene
            .refused(&["complete", "green", "2.1", "--results", "passed:13", "--coverage", "101"], 3)
            .contains("can't be")
    );
    scene.autopilot_ok(&["complete", "green", "2.1", "--results", "passed:13", "--coverage", "92.5"]);
    scene.autopilot_ok(&["commit", "--message", "my own words"]);
    let message = scene.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("my own words\n\nTask: #2.1") && message.contains("Coverage: 92.5% lines"),
        "{message}"
    );
}

#[test]
fn a_start_that_can_not_be_says_why_and_leaves_nothing() {
    let scene = scene();
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    for (arguments, code, part) in [
        (&["start", "9"][..], 4, "find the task `9`"),
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
    assert_eq!((&dry["runId"], &dry["subtasks"]), (&json!(""), &json!(["1.2", "1.1", "1.3"])));
    assert_eq!(scene.git(&["branch", "--list"]), "* main");
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    std::fs::remove_file(scene.root().join("run-tests.sh")).expect("removed");
    std::fs::remove_dir_all(scene.root().join("t")).expect("removed");
    scene.git(&["commit", "--quiet", "--all", "--message", "no tests"]);
    assert!(scene.refused(&["start", "1"], 1).contains("`test.command`"));
}

#[test]
fn what_the_shipped_tool_got_wrong_is_right_here() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    // A status of the task and of the subtask at hand, not of whatever task has the subtask's number.
    assert_eq!(
        scene.all_statuses(),
        "1:pending 1.1:pending 1.2:pending 1.3:pending 2:in-progress 2.1:in-progress 3:pending"
    );
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    // A GREEN of nothing is none.
    assert!(scene.refused(&["complete", "--results", r#"{"total":0,"passed":0,"failed":0}"#], 3).contains("passing"));
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    // No commit on the default branch, even after somebody switched to it.
    scene.git(&["switch", "--quiet", "main"]);
    let words = scene.refused(&["commit"], 1);
    assert!(words.contains("git switch tm/master/task-2-other-work"), "{words}");
    scene.git(&["switch", "--quiet", "tm/master/task-2-other-work"]);
    let committed = scene.autopilot_ok(&["commit"]);
    assert_eq!(committed["commitSha"], scene.git(&["rev-parse", "HEAD"]).as_str());
    // After the last commit it is time to finalize, not for another RED, and statuses do not stand in its way.
    assert_eq!((&committed["isComplete"], &committed["nextAction"]["action"]), (&json!(true), &json!("finalize")));
    let ended = scene.autopilot_ok(&["finalize"]);
    assert_eq!(ended["phase"], "COMPLETE");
    assert_eq!(scene.all_statuses(), "1:pending 1.1:pending 1.2:pending 1.3:pending 2:done 2.1:done 3:pending");
    // Statuses are in no commit, so two branches never conflict in them.
    assert_eq!(scene.git(&["diff", "--name-only", "main", "HEAD", "--", ".taskmaster"]), "");
    // History stays, and a start that fails leaves the earlier run as it is.
    assert!(scene.refused(&["start", "2"], 4).contains("nothing of it is left to do"));
    assert_eq!(scene.autopilot_ok(&["status"])["status"], "completed");
}

#[test]
fn a_commit_with_nothing_to_commit_is_not_stuck() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    assert!(scene.refused(&["commit"], 3).contains("nothing has changed"));
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "red");
    // An agent that commits itself is not in the way either.
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    scene.git(&["add", "bin"]);
    scene.git(&["commit", "--quiet", "--message", "by hand"]);
    let committed = scene.autopilot_ok(&["commit", "2.1"]);
    assert_eq!(committed["message"], "by hand");
}

#[test]
fn a_hook_that_refuses_keeps_the_subtask_at_its_commit() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    let hook = scene.root().join(".git/hooks/pre-commit");
    write(&hook, "#!/bin/sh\necho not today; exit 1\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).expect("permissions");
    assert!(scene.refused(&["commit"], 1).contains("not today"));
    std::fs::remove_file(&hook).expect("removed");
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "commit");
    scene.autopilot_ok(&["commit"]);
}

#[test]
fn kill_9_at_any_moment_loses_nothing() {
    let scene = scene();
    let moments = ["start", "complete", "complete", "commit", "complete", "complete", "commit"];
    scene.autopilot_ok(&["start", "1"]);
    for _ in moments {
        let next = scene.autopilot_ok(&["next"]);
        let step = scene.step(&next);
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        // Cut off somewhere in its middle; what it had done by then is not done twice.
        let mut child = scene.autopilot_command(&step).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tm");
        child.kill().expect("killed");
        child.wait().expect("gone");
        let (_, after) = scene.autopilot(&["resume"]);
        if after["nextAction"]["description"] == next["description"] {
            scene.autopilot_ok(&step);
        }
    }
    scene.follow();
    let subjects = scene.git(&["log", "--reverse", "--format=%s", "main..HEAD"]);
    let ids: Vec<&str> = subjects.lines().map(|line| line.rsplit("task ").next().unwrap_or_default()).collect();
    assert_eq!(ids, ["1.2)", "1.1)", "1.3)"], "each subtask has one commit: {subjects}");
}

#[test]
fn a_commit_whose_tm_was_killed_is_found_again() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    let state = scene.run_folder().join("state.json");
    let before = std::fs::read(&state).expect("a state");
    let committed = scene.autopilot_ok(&["commit"]);
    // As a crash between the commit and the writing of the state leaves it.
    tm_store::atomic::replace(&state, &before).expect("written");
    let again = scene.autopilot_ok(&["commit"]);
    assert_eq!(again["commitSha"], committed["commitSha"]);
    assert_eq!(scene.git(&["rev-list", "--count", "main..HEAD"]), "1");
}

#[test]
fn worktrees_have_runs_of_their_own() {
    let scene = scene();
    let other = scene.path("other");
    scene.git(&["worktree", "add", "--quiet", "-b", "elsewhere", &other.display().to_string()]);
    let there = other.display().to_string();
    scene.autopilot_ok(&["start", "1"]);
    let (code, started) = scene.autopilot(&["-p", &there, "start", "2"]);
    assert_eq!((code, &started["taskId"]), (0, &json!("2")), "{started:#}");
    assert_eq!(scene.autopilot_ok(&["status"])["taskId"], "1");
    assert_eq!(scene.autopilot_ok(&["-p", &there, "status"])["taskId"], "2");
    assert_ne!(
        scene.autopilot_ok(&["status"])["runDirectory"],
        scene.autopilot_ok(&["-p", &there, "status"])["runDirectory"]
    );
    scene.autopilot_ok(&["-p", &there, "complete", "--results", "failed:1"]);
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "red");
}

#[test]
fn one_run_at_a_time_goes_on_in_a_checkout() {
    let scene = scene();
    let first = scene.autopilot_ok(&["start", "1"])["runId"].as_str().expect("an id").to_owned();
    assert!(scene.refused(&["start", "2"], 5).contains("--force"));
    scene.autopilot_ok(&["start", "2", "--force"]);
    assert_eq!(scene.autopilot_ok(&["status", "--run-id", &first])["status"], "paused");
    let words = scene.refused(&["resume", "--run-id", &first], 1);
    assert!(words.contains("git switch tm/master/task-1-metrics"), "{words}");
    scene.git(&["switch", "--quiet", "tm/master/task-1-metrics"]);
    assert_eq!(scene.autopilot_ok(&["resume", &first])["taskId"], "1");
    assert_eq!(scene.autopilot_ok(&["status"])["taskId"], "1");
    let waves = scene.run(&[]);
    assert_eq!(waves.status.code(), Some(5), "waves keep away from a checkout that autopilot works in");
    assert!(String::from_utf8_lossy(&waves.stderr).contains("tm autopilot pause"));
    scene.autopilot_ok(&["pause"]);
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "resume");
}

#[test]
fn live_waves_keep_autopilot_away() {
    let scene = Scene::with_backlog(&backlog(), "echo > \"$AGENT_FOLDER/started\"; sleep 30");
    scene.pipe("started");
    let mut waves = scene.start_and_wait_for_agent(&["--tdd", "off"]);
    assert!(scene.refused(&["start", "1"], 5).contains("tm waves stop"));
    assert_eq!(scene.tm(&["waves", "stop", "--now"]).output().expect("tm").status.code(), Some(0));
    waves.wait().expect("ended");
}

#[test]
fn an_aborted_run_leaves_statuses_as_they_were_and_keeps_its_commits() {
    let scene = scene();
    let before = scene.all_statuses();
    scene.autopilot_ok(&["start", "1"]);
    let next = scene.autopilot_ok(&["next"]);
    scene.step(&next);
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    let commit = scene.autopilot_ok(&["commit"])["commitSha"].as_str().expect("a commit").to_owned();
    write(&scene.root().join("half"), "done");
    assert!(scene.refused(&["abort", "--cleanup", "--force"], 1).contains("`half`"), "uncommitted work is not lost");
    std::fs::remove_file(scene.root().join("half")).expect("removed");
    let note = scene.autopilot_ok(&["abort", "--cleanup", "--force"])["note"].as_str().expect("words").to_owned();
    assert!(note.contains("refs/tm/salvage/autopilot/"), "{note}");
    assert_eq!(scene.all_statuses(), before);
    assert_eq!(scene.git(&["branch", "--list"]), "* main");
    assert_eq!(scene.git(&["for-each-ref", "--format=%(objectname)", "refs/tm/salvage"]), commit);
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    assert_eq!(scene.autopilot_ok(&["start", "1"])["branch"], "tm/master/task-1-metrics");
    scene.autopilot_ok(&["abort"]);
    assert!(scene.refused(&["abort"], 1).contains("a new run of `1`"));
}

#[test]
fn a_run_within_the_project_keeps_git_status_clean() {
    let scene = scene();
    write(&scene.root().join(".taskmaster/tm.yaml"), "storage: { location: project }\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    let run = scene.autopilot_ok(&["start", "2"])["runId"].as_str().expect("an id").to_owned();
    scene.follow();
    let folder = scene.root().join(".taskmaster/reports/runs").join(run);
    for name in ["state.json", "log.jsonl", "manifest.json", "work-units.json"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert_eq!(scene.git(&["status", "--porcelain"]), " M .taskmaster/tasks/tasks.json");
}

#[test]
fn with_verify_run_tm_sees_for_itself() {
    let scene = scene();
    write(&scene.root().join(".taskmaster/tm.yaml"), "autopilot: { verify: run }\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.autopilot_ok(&["start", "2"]);
    assert!(scene.refused(&["complete", "--results", "failed:3"], 3).contains("not proven"), "nothing was written");
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete"]);
    assert!(scene.refused(&["complete", "green", "--results", "passed:9"], 3).contains("not proven"), "a lie");
    let test = scene.root().join("t/part_2_1.t");
    let honest = std::fs::read_to_string(&test).expect("a test");
    write(&test, ". t/check.sh\ncheck '2_1 works' 1 1\n");
    assert!(scene.refused(&["complete", "green"], 3).contains("changed"), "a weaker test");
    write(&test, &honest);
    scene.autopilot_ok(&["resume"]);
}

#[test]
fn a_person_works_through_the_pieces_interactively() {
    let scene = scene();
    let input = scene.path("input");
    write(&input, "nonsense\nfailed:1\npassed:1\n\npassed:2\n");
    scene.work("red", "2.1");
    let hidden = scene.root().join("t/part_2_1.t");
    std::fs::rename(&hidden, scene.path("part")).expect("moved");
    // The work is there before the first line is read, and not yet when the run begins: git ignores it until then.
    let mut command = scene.tm(&["autopilot", "start", "2", "--interactive", "--no-confirm"]);
    write(&scene.root().join(".git/info/exclude"), "t/part_*\n");
    std::fs::rename(scene.path("part"), &hidden).expect("moved back");
    let output = command.stdin(std::fs::File::open(&input).expect("a file")).output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("`nonsense` is not"), "{words}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("COMMIT of `2.1`"), "{words}");
}

#[test]
fn prompt_guide_and_watch_speak_of_the_run() {
    let scene = scene();
    write(&scene.root().join(".claude/agents/surgical-test-generator.md"), "Our rules for tests.\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "rules"]);
    scene.autopilot_ok(&["start", "1"]);
    let text =
        |arguments: &[&str]| String::from_utf8_lossy(&scene.tm(arguments).output().expect("tm").stdout).into_owned();
    let prompt = text(&["autopilot", "prompt"]);
    let places = ["Our rules for tests.", "<TASK CONTEXT>", "Add store", "<INSTRUCTION>", "Write tests"]
        .map(|part| prompt.find(part).unwrap_or_else(|| panic!("{part} in {prompt}")));
    assert!(places.is_sorted(), "{prompt}");
    assert!(text(&["autopilot", "guide"]).contains("autopilot_complete_phase"));
    scene.autopilot_ok(&["abort"]);
    assert!(text(&["autopilot", "watch"]).contains("branch:created"), "a run that is over is shown to its end");
}

/// What somebody may type, in any order.
fn commands() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        2 => Just(vec!["start", "1"]),
        1 => Just(vec!["start", "2", "--force"]),
        1 => Just(vec!["start", "1", "--branch", "main"]),
        1 => Just(vec!["start", "2", "--force", "--branch", "master"]),
        4 => Just(vec!["complete", "--results", "failed:1"]),
        4 => Just(vec!["complete", "--results", "passed:2"]),
        5 => Just(vec!["commit"]),
        1 => Just(vec!["commit", "--message", "x", "--files", "work"]),
        1 => Just(vec!["finalize"]),
        1 => Just(vec!["pause"]),
        2 => Just(vec!["resume"]),
        1 => Just(vec!["abort"]),
        1 => Just(vec!["abort", "--cleanup"]),
        2 => Just(vec!["git", "switch", "--quiet", "main"]),
        1 => Just(vec!["git", "switch", "--quiet", "--detach"]),
        1 => Just(vec!["git", "switch", "--quiet", "-"]),
        3 => Just(vec!["write"]),
    ]
}

#[test]
fn no_commit_reaches_the_default_branch_whatever_the_order_of_calls() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config { cases: 6, ..Config::default() }, rng);
    runner
        .run(&prop::collection::vec(commands(), 25), |sequence| {
            let scene = scene();
            let main = scene.git(&["rev-parse", "main"]);
            for (number, words) in sequence.iter().enumerate() {
                match words.as_slice() {
                    ["write"] => write(&scene.root().join("work"), &number.to_string()),
                    ["git", arguments @ ..] => drop(scene.try_git(arguments)),
                    arguments => drop(scene.autopilot(arguments)),
                }
                prop_assert_eq!(scene.git(&["rev-parse", "main"]), main.clone(), "after {:?}", &sequence[..=number]);
            }
            Ok(())
        })
        .expect("the default branch stays where it was");
}
