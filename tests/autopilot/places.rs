//! Where autopilot works and keeps its files: several checkouts, other runs beside it, tags that move, templates.

use crate::autopilot::{backlog, scene};
use crate::scene::{HONEST, Scene, task, write};
use serde_json::{Value, json};
use std::path::Path;

/// Calls autopilot in a checkout of the scene.
fn there(scene: &Scene, checkout: &Path, arguments: &[&str]) -> Value {
    let place = checkout.display().to_string();
    scene.autopilot_ok(&[&["-p", &place][..], arguments].concat())
}

/// Does a whole task in a checkout, by following `next` alone.
fn follow_in(scene: &Scene, checkout: &Path, task: &str) {
    there(scene, checkout, &["start", task]);
    loop {
        let next = there(scene, checkout, &["next"]);
        let (action, subtask) = (
            next["action"].as_str().expect("an action"),
            next["subtask"]["id"].as_str(),
        );
        let name = subtask.unwrap_or_default();
        match action {
            "red" => {
                write(
                    &checkout.join(format!("t/{name}.t")),
                    &format!(". t/check.sh\ncheck it {name} \"$(sh work-{name} 2>/dev/null)\"\n"),
                );
                there(scene, checkout, &["complete", "--results", "failed:1"]);
            }
            "green" => {
                write(
                    &checkout.join(format!("work-{name}")),
                    &format!("echo {name}\n"),
                );
                there(scene, checkout, &["complete", "--results", "passed:1"]);
            }
            "commit" => drop(there(scene, checkout, &["commit"])),
            "finalize" => drop(there(
                scene,
                checkout,
                &["finalize", "--results", "passed:4"],
            )),
            "complete" => return,
            other => panic!("nothing is known of {other}"),
        }
    }
}

#[test]
fn several_tasks_are_done_at_once_in_several_worktrees() {
    let scene = scene();
    // The backlog is not versioned, so all checkouts share the one of the main checkout.
    write(&scene.root().join(".gitignore"), ".taskmaster/\n");
    scene.git(&["rm", "--quiet", "-r", "--cached", ".taskmaster"]);
    scene.git(&["add", ".gitignore"]);
    scene.git(&["commit", "--quiet", "--message", "the backlog is private"]);
    let main = scene.git(&["rev-parse", "main"]);
    let other = scene.path("other");
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &other.display().to_string(),
    ]);
    std::thread::scope(|scope| {
        scope.spawn(|| follow_in(&scene, &scene.root(), "1"));
        scope.spawn(|| follow_in(&scene, &other, "2"));
    });
    assert_eq!(
        scene.all_statuses(),
        "1:done 1.1:done 1.2:done 1.3:done 2:done 2.1:done 3:pending"
    );
    let count = |branch: &str| scene.git(&["rev-list", "--count", &format!("main..{branch}")]);
    assert_eq!(
        (
            &*count("tm/master/task-1-metrics"),
            &*count("tm/master/task-2-other-work")
        ),
        ("3", "1")
    );
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(
        scene.git(&["status", "--porcelain", "--ignored"]),
        "!! .taskmaster/",
        "nothing else is left in the project"
    );
    assert_ne!(
        there(&scene, &other, &["status"])["runDirectory"],
        scene.autopilot_ok(&["status"])["runDirectory"]
    );
}

#[test]
fn waves_keep_away_from_autopilot_in_any_worktree() {
    let scene = Scene::with_backlog(&backlog(), HONEST);
    let other = scene.path("other");
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "elsewhere",
        &other.display().to_string(),
    ]);
    there(&scene, &other, &["start", "2"]);
    let waves = scene.run(&["--tdd", "off"]);
    let words = String::from_utf8_lossy(&waves.stderr).into_owned();
    assert_eq!(waves.status.code(), Some(5), "{words}");
    assert!(
        words.contains(&format!("tm autopilot pause -p {}", other.display())),
        "{words}"
    );
    let place = other.display().to_string();
    let paused = scene
        .tm(&["autopilot", "pause", "-p", &place])
        .output()
        .expect("tm");
    assert!(paused.status.success(), "the hint can be typed: {paused:?}");
    scene.runs(&["--tdd", "off"], 0);
}

#[test]
fn a_run_of_another_tag_than_the_one_that_is_read_says_so() {
    let text = backlog().replacen("\"master\"", "\"master\": {\"tasks\": []}, \"feature\"", 1);
    let scene = Scene::with_backlog(&text, "");
    let warnings = |words: &[&str]| scene.autopilot_ok(words)["warnings"].to_string();
    let other = warnings(&["start", "2", "--tag", "feature"]);
    assert!(other.contains("reads and changes `master` here"), "{other}");
    scene.autopilot_ok(&["abort"]);
    scene.git(&["switch", "--quiet", "main"]);
    let used = scene.tm(&["use-tag", "feature"]).output().expect("tm");
    assert!(used.status.success(), "{used:?}");
    let same = warnings(&["start", "2", "--tag", "feature", "--branch", "again"]);
    assert_eq!(same, "[]");
}

#[test]
fn a_run_goes_on_after_its_tag_was_renamed() {
    let text = backlog().replacen("\"master\"", "\"feature\"", 1);
    let scene = Scene::with_backlog(&text, "");
    let started = scene.autopilot_ok(&["start", "2", "--tag", "feature"]);
    let run = started["runId"].as_str().expect("an id").to_owned();
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    let renamed = scene
        .tm(&["tags", "rename", "feature", "later"])
        .output()
        .expect("tm");
    assert!(renamed.status.success(), "{renamed:?}");
    assert_eq!(
        scene.autopilot_ok(&["next"])["subtask"]["description"],
        "About Add other."
    );
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    scene.autopilot_ok(&["commit"]);
    scene.autopilot_ok(&["finalize", "--results", "passed:2"]);
    let status = scene.autopilot_ok(&["status"]);
    assert_eq!(
        (&status["runId"], &status["tag"]),
        (&json!(run), &json!("later"))
    );
    let tags = scene.run_folder().join("../../tags");
    let names: Vec<_> = ["feature", "later"]
        .map(|tag| tags.join(tag).join("current-run.json").exists())
        .into();
    assert_eq!(names, [false, true]);
    let file = std::fs::read_to_string(scene.root().join(".taskmaster/tasks/tasks.json"))
        .expect("a backlog");
    let json: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(json["later"]["tasks"][1]["subtasks"][0]["status"], "done");
}

#[test]
fn runs_are_kept_where_the_settings_or_the_home_folder_say() {
    let scene = scene();
    let start = |task: &str| {
        let output = scene
            .autopilot_command(&["start", task, "--force"])
            .env_remove("TM_HOME")
            .output()
            .expect("tm");
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(output.status.success(), "{document:#}");
    };
    start("1");
    let projects = |folder: &str| {
        std::fs::read_dir(scene.path(folder).join("projects"))
            .expect("a folder")
            .count()
    };
    assert_eq!(projects("home/.taskmaster"), 1);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "storage: { base_path: ../runs }\n",
    );
    start("2");
    assert_eq!((projects("runs"), projects("home/.taskmaster")), (1, 1));
    let plan = scene
        .tm(&["waves", "list"])
        .env_remove("TM_HOME")
        .output()
        .expect("tm");
    assert!(plan.status.success(), "{plan:?}");
}

#[test]
fn commits_are_worded_by_the_template_of_the_settings_and_keep_their_trailers() {
    let settings = "git: { commit_template: '[{{ id }}] {{ type }}: {{ title }} ({{ phase }}, {{ files | length }} files)' }\n";
    let scene = Scene::with_backlog(&backlog(), HONEST);
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    scene.autopilot_ok(&["start", "2"]);
    for _ in 0..3 {
        let next = scene.autopilot_ok(&["next"]);
        let step = scene.step(&next);
        scene.autopilot_ok(&step.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let message = scene.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("[2.1] feat: Add other (commit, 2 files)\n\nTask: #2.1 - Add other\n"),
        "{message}"
    );
    scene.autopilot_ok(&["abort"]);
    scene.git(&["switch", "--quiet", "main"]);
    let report = scene.runs(&["--id", "3", "--tdd", "off"], 0);
    let branch = task(&report, "3")["branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let message = scene.git(&["log", "-1", "--format=%B", &branch]);
    assert!(
        message.starts_with("[3] docs: Later (none, 1 files)\n\nTask: 3\nPhase: none\n"),
        "{message}"
    );
}

#[test]
fn a_start_that_fails_leaves_the_run_before_it() {
    let scene = scene();
    let first = scene.autopilot_ok(&["start", "1"])["runId"].clone();
    scene.git(&["branch", "taken"]);
    let words = scene.refused(&["start", "2", "--force", "--branch", "taken"], 1);
    assert!(
        words.contains("`taken`") && words.contains("--branch"),
        "{words}"
    );
    let status = scene.autopilot_ok(&["status"]);
    assert_eq!(
        (&status["runId"], &status["status"]),
        (&first, &json!("in-progress"))
    );
}

#[test]
fn a_suite_that_is_not_reported_is_run_before_the_task_is_closed() {
    let scene = scene();
    let settings = scene.root().join(".taskmaster/tm.yaml");
    let broken = scene.path("broken");
    let command = format!("sh run-tests.sh; test ! -e {}", broken.display());
    write(&settings, &format!("test: {{ command: '{command}' }}\n"));
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.autopilot_ok(&["start", "2"]);
    for _ in 0..3 {
        let next = scene.autopilot_ok(&["next"]);
        let step = scene.step(&next);
        scene.autopilot_ok(&step.iter().map(String::as_str).collect::<Vec<_>>());
    }
    write(
        &scene.root().join("t/old.t"),
        ". t/check.sh\ncheck 'the old one' 1 2\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "broken by hand"]);
    assert!(
        scene
            .refused(&["finalize"], 3)
            .contains("nobody has judged")
    );
    scene.git(&["revert", "--no-edit", "HEAD"]);
    write(&broken, "");
    assert!(
        scene
            .refused(&["finalize"], 3)
            .contains("the whole suite does not pass")
    );
    std::fs::remove_file(&broken).expect("removed");
    let ended = scene.autopilot_ok(&["finalize"]);
    assert!(
        ended["message"]
            .as_str()
            .expect("words")
            .contains("the whole suite passes: 2 passing"),
        "{ended:#}"
    );
}

#[test]
fn a_run_is_judged_by_what_it_began_with_or_not_at_all() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    let settings = scene.root().join(".taskmaster/tm.yaml");
    for (yaml, part) in [
        (
            "test: { command: 'echo 1..1; echo ok 1' }",
            "`test`, `the command of the tests`",
        ),
        ("autopilot: { verify: reported }", "`autopilot`"),
        (
            "sandbox: { level: none, tests: { network: on } }",
            "`sandbox`",
        ),
        (
            "secrets: { X: { command: 'touch secret', for: [tests] } }",
            "`secrets`",
        ),
    ] {
        write(&settings, &format!("{yaml}\n"));
        for call in [
            &["complete", "red"][..],
            &["commit"],
            &["resume"],
            &["finalize"],
        ] {
            let words = scene.refused(call, 3);
            assert!(
                words.contains(part) && words.contains("other values"),
                "{words}"
            );
            assert!(words.contains("tm autopilot abort"), "{words}");
        }
    }
    assert!(!scene.root().join("secret").exists());
    std::fs::remove_file(&settings).expect("removed");
    let next = scene.autopilot_ok(&["next"]);
    let step = scene.step(&next);
    scene.autopilot_ok(&step.iter().map(String::as_str).collect::<Vec<_>>());
    write(&settings, "autopilot: { verify: reported }\n");
    scene.autopilot_ok(&["pause"]);
    scene.autopilot_ok(&["abort"]);
}

#[test]
fn command_lines_without_sense_are_one_document_too() {
    let scene = scene();
    for (arguments, part) in [
        (&["fly"][..], "unrecognized subcommand 'fly'"),
        (&["start"], "<TASK>"),
        (&["start", "1", "--max-attempts", "0"], "--max-attempts"),
        (&["complete", "blue"], "blue"),
        (&["commit", "--fiels", "x"], "--fiels"),
    ] {
        let words = scene.refused(arguments, 2);
        assert!(words.contains(part), "{part} in {words}");
    }
}

#[test]
fn a_run_of_a_repository_that_was_deleted_is_not_taken_for_one_of_its_clone() {
    let scene = Scene::with_backlog(&backlog(), HONEST);
    scene.git(&["clone", "--quiet", "--bare", ".", "../kept.git"]);
    let run = scene.autopilot_ok(&["start", "1"]);
    let folder = scene.autopilot_ok(&["status"])["runDirectory"].clone();
    std::fs::rename(scene.root(), scene.path("moved")).expect("moved");
    let clone = "git clone --quiet ../kept.git . && git config user.name S && git config user.email s@example.org";
    assert!(scene.shell(clone).status().expect("sh").success());
    let id = run["runId"].as_str().expect("a run");
    for call in [&["status"][..], &["next"], &["resume"], &["abort"]] {
        let (code, refused) = scene.autopilot(call);
        let words = refused.to_string();
        assert!(
            code == 1 && words.contains(id) && words.contains("is of another repository"),
            "{call:?}: {words}"
        );
        assert!(words.contains("tm autopilot start ID"), "{words}");
    }
    let waves = scene.run(&["--tdd", "off", "--id", "3"]);
    assert_eq!(
        waves.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&waves.stderr)
    );
    // The repository itself goes on with its own where it comes back.
    std::fs::rename(scene.root(), scene.path("clone")).expect("moved");
    std::fs::rename(scene.path("moved"), scene.root()).expect("moved back");
    assert_eq!(scene.autopilot_ok(&["resume"])["runId"], id);
    std::fs::rename(scene.root(), scene.path("moved")).expect("moved");
    std::fs::rename(scene.path("clone"), scene.root()).expect("moved");
    let begun = scene.autopilot_ok(&["start", "1"]);
    assert_eq!(scene.autopilot_ok(&["status"])["runId"], begun["runId"]);
    let folder = Path::new(folder.as_str().expect("a folder"));
    assert!(folder.join("state.json").is_file());
}
