//! Autopilot under abuse: crashes, several checkouts, other runs, hooks, rubbish, calls in any order.

use crate::autopilot::begun::notes;
use crate::autopilot::{backlog, reporting, scene};
use crate::scene::{Scene, write};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use std::process::Stdio;

#[test]
fn what_the_shipped_tool_got_wrong_is_right_here() {
    let scene = reporting();
    scene.autopilot_ok(&["start", "2"]);
    // A status of the task and of the subtask at hand, not of whatever task has the subtask's number.
    assert_eq!(
        scene.all_statuses(),
        "1:pending 1.1:pending 1.2:pending 1.3:pending 2:in-progress 2.1:in-progress 3:pending"
    );
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    // A GREEN of nothing is none.
    assert!(
        scene
            .refused(
                &[
                    "complete",
                    "--results",
                    r#"{"total":0,"passed":0,"failed":0}"#
                ],
                3
            )
            .contains("passing")
    );
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    // No commit on the default branch, even after somebody switched to it.
    scene.git(&["switch", "--quiet", "main"]);
    let words = scene.refused(&["commit"], 1);
    assert!(
        words.contains("git switch tm/master/task-2-other-work"),
        "{words}"
    );
    scene.git(&["switch", "--quiet", "tm/master/task-2-other-work"]);
    let committed = scene.autopilot_ok(&["commit"]);
    assert_eq!(
        committed["commitSha"],
        scene.git(&["rev-parse", "HEAD"]).as_str()
    );
    // After the last commit it is time to finalize, not for another RED, and statuses do not stand in its way.
    assert_eq!(
        (&committed["isComplete"], &committed["nextAction"]["action"]),
        (&json!(true), &json!("finalize"))
    );
    let ended = scene.autopilot_ok(&["finalize"]);
    assert_eq!(ended["phase"], "COMPLETE");
    assert_eq!(
        scene.all_statuses(),
        "1:pending 1.1:pending 1.2:pending 1.3:pending 2:done 2.1:done 3:pending"
    );
    // Statuses are in no commit, so two branches never conflict in them.
    assert_eq!(
        scene.git(&["diff", "--name-only", "main", "HEAD", "--", ".taskmaster"]),
        ""
    );
    // History stays, and a start that fails leaves the earlier run as it is.
    assert!(
        scene
            .refused(&["start", "2"], 4)
            .contains("nothing of it is left to do")
    );
    assert_eq!(scene.autopilot_ok(&["status"])["status"], "completed");
}

#[test]
fn an_agent_that_commits_itself_is_not_in_the_way() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    scene.git(&["add", "t"]);
    scene.git(&["commit", "--quiet", "--message", "tests by hand"]);
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    scene.git(&["add", "bin"]);
    scene.git(&["commit", "--quiet", "--message", "by hand"]);
    let committed = scene.autopilot_ok(&["commit", "2.1"]);
    assert_eq!(committed["message"], "by hand");
    // The history is what tells other clones that a task is done, and this commit does not.
    assert!(
        committed["warnings"][0]
            .as_str()
            .is_some_and(|warning| warning.contains("without the trailers `Task` and `Tag`")),
        "{committed}"
    );
}

#[test]
fn a_hook_that_refuses_keeps_the_subtask_at_its_commit() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.work("green", "2.1");
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
    let moments = [
        "start", "complete", "complete", "commit", "complete", "complete", "commit",
    ];
    scene.autopilot_ok(&["start", "1"]);
    for _ in moments {
        let next = scene.autopilot_ok(&["next"]);
        let step = scene.step(&next);
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        // Cut off somewhere in its middle; what it had done by then is not done twice.
        let mut child = scene
            .autopilot_command(&step)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("tm");
        child.kill().expect("killed");
        child.wait().expect("gone");
        let (_, after) = scene.autopilot(&["resume"]);
        if after["nextAction"]["description"] == next["description"] {
            scene.autopilot_ok(&step);
        }
    }
    scene.follow();
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
}

#[test]
fn a_commit_whose_tm_was_killed_is_found_again() {
    let scene = scene();
    scene.autopilot_ok(&["start", "2"]);
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete", "--results", "failed:1"]);
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    let state = scene.run_folder().join("state.json");
    let files = [state, notes(&scene).remove(0)];
    let before = files.map(|file| (std::fs::read(&file).expect("a file"), file));
    let committed = scene.autopilot_ok(&["commit"]);
    // As a crash between the commit and the writing of the state leaves them.
    for (bytes, file) in before {
        tm_store::atomic::replace(&file, &bytes).expect("written");
    }
    let again = scene.autopilot_ok(&["commit"]);
    assert_eq!(again["commitSha"], committed["commitSha"]);
    assert_eq!(scene.git(&["rev-list", "--count", "main..HEAD"]), "1");
}

#[test]
fn worktrees_have_runs_of_their_own() {
    let scene = reporting();
    let other = scene.path("other");
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "elsewhere",
        &other.display().to_string(),
    ]);
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
    write(&other.join("t/one.t"), "a test\n");
    scene.autopilot_ok(&["-p", &there, "complete", "--results", "failed:1"]);
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "red");
}

#[test]
fn one_run_at_a_time_goes_on_in_a_checkout() {
    let scene = scene();
    let first = scene.autopilot_ok(&["start", "1"])["runId"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(scene.refused(&["start", "2"], 5).contains("--force"));
    scene.autopilot_ok(&["start", "2", "--force"]);
    assert_eq!(
        scene.autopilot_ok(&["status", "--run-id", &first])["status"],
        "paused"
    );
    let words = scene.refused(&["resume", "--run-id", &first], 1);
    assert!(
        words.contains("git switch tm/master/task-1-metrics"),
        "{words}"
    );
    scene.git(&["switch", "--quiet", "tm/master/task-1-metrics"]);
    assert_eq!(scene.autopilot_ok(&["resume", &first])["taskId"], "1");
    assert_eq!(scene.autopilot_ok(&["status"])["taskId"], "1");
    let waves = scene.run(&[]);
    assert_eq!(
        waves.status.code(),
        Some(5),
        "waves keep away from a checkout that autopilot works in"
    );
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
    assert_eq!(
        scene
            .tm(&["waves", "stop", "--now"])
            .output()
            .expect("tm")
            .status
            .code(),
        Some(0)
    );
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
    scene.work("green", "1.2");
    scene.autopilot_ok(&["complete", "--results", "passed:1"]);
    let commit = scene.autopilot_ok(&["commit"])["commitSha"]
        .as_str()
        .expect("a commit")
        .to_owned();
    write(&scene.root().join("half"), "done");
    assert!(
        scene
            .refused(&["abort", "--cleanup", "--force"], 1)
            .contains("`half`"),
        "uncommitted work is not lost"
    );
    std::fs::remove_file(scene.root().join("half")).expect("removed");
    let note = scene.autopilot_ok(&["abort", "--cleanup", "--force"])["note"]
        .as_str()
        .expect("words")
        .to_owned();
    assert!(note.contains("refs/tm/salvage/autopilot/"), "{note}");
    assert_eq!(scene.all_statuses(), before);
    assert_eq!(scene.git(&["branch", "--list"]), "* main");
    assert_eq!(
        scene.git(&["for-each-ref", "--format=%(objectname)", "refs/tm/salvage"]),
        commit
    );
    assert_eq!(scene.autopilot_ok(&["status"])["active"], false);
    assert_eq!(
        scene.autopilot_ok(&["start", "1"])["branch"],
        "tm/master/task-1-metrics"
    );
    scene.autopilot_ok(&["abort"]);
    assert!(scene.refused(&["abort"], 1).contains("a new run of `1`"));
}

#[test]
fn a_run_within_the_project_keeps_git_status_clean() {
    let scene = scene();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "storage: { location: project }\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    let run = scene.autopilot_ok(&["start", "2"])["runId"]
        .as_str()
        .expect("an id")
        .to_owned();
    scene.follow();
    let folder = scene.root().join(".taskmaster/reports/runs").join(run);
    for name in [
        "state.json",
        "log.jsonl",
        "manifest.json",
        "work-units.json",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert_eq!(
        scene.git(&["status", "--porcelain"]),
        " M .taskmaster/tasks/tasks.json"
    );
}

#[test]
fn with_verify_run_tm_sees_for_itself() {
    let scene = scene();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "autopilot: { verify: run }\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.autopilot_ok(&["start", "2"]);
    assert!(
        scene
            .refused(&["complete", "--results", "failed:3"], 3)
            .contains("not proven"),
        "nothing was written"
    );
    scene.work("red", "2.1");
    scene.autopilot_ok(&["complete"]);
    assert!(
        scene
            .refused(&["complete", "green", "--results", "passed:9"], 3)
            .contains("not proven"),
        "a lie"
    );
    let test = scene.root().join("t/part_2_1.t");
    let honest = std::fs::read_to_string(&test).expect("a test");
    write(&test, ". t/check.sh\ncheck '2_1 works' 1 1\n");
    assert!(
        scene.refused(&["complete", "green"], 3).contains("changed"),
        "a weaker test"
    );
    write(&test, &honest);
    scene.autopilot_ok(&["resume"]);
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "green"]);
}

#[test]
fn a_person_works_through_the_pieces_interactively() {
    let scene = scene();
    let settings = "autopilot: { verify: reported, require_clean_working_tree: false }\n";
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    let input = scene.path("input");
    write(&input, "nonsense\nfailed:1\npassed:1\n\npassed:2\n");
    scene.work("red", "2.1");
    let mut command = scene.tm(&["autopilot", "start", "2", "--interactive", "--no-confirm"]);
    let output = command
        .stdin(std::fs::File::open(&input).expect("a file"))
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("`nonsense` is not"), "{words}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("COMMIT of `2.1`"),
        "{words}"
    );
}

#[test]
fn prompt_guide_and_watch_speak_of_the_run() {
    let scene = scene();
    write(
        &scene
            .root()
            .join(".claude/agents/surgical-test-generator.md"),
        "Our rules for tests.\n",
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "rules"]);
    scene.autopilot_ok(&["start", "1"]);
    let text = |arguments: &[&str]| {
        String::from_utf8_lossy(&scene.tm(arguments).output().expect("tm").stdout).into_owned()
    };
    let prompt = text(&["autopilot", "prompt"]);
    let places = [
        "Our rules for tests.",
        "<TASK CONTEXT>",
        "Add store",
        "<INSTRUCTION>",
        "Write tests",
    ]
    .map(|part| {
        prompt
            .find(part)
            .unwrap_or_else(|| panic!("{part} in {prompt}"))
    });
    assert!(places.is_sorted(), "{prompt}");
    assert!(text(&["autopilot", "guide"]).contains("autopilot_complete_phase"));
    scene.autopilot_ok(&["abort"]);
    assert!(
        text(&["autopilot", "watch"]).contains("branch:created"),
        "a run that is over is shown to its end"
    );
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
    let mut runner = TestRunner::new_with_rng(
        Config {
            cases: 6,
            ..Config::default()
        },
        rng,
    );
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
                prop_assert_eq!(
                    scene.git(&["rev-parse", "main"]),
                    main.clone(),
                    "after {:?}",
                    &sequence[..=number]
                );
            }
            Ok(())
        })
        .expect("the default branch stays where it was");
}
