//! Whoever is judged does not say by what, nor what of tm runs unheld: not the commits of a range, and not an agent in its
//! worktree.

use crate::scene::{HONEST, Scene, executable, write};
use std::path::{Path, PathBuf};
use std::process::Output;

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// What breaks the tests of a scene.
const BROKEN: &str = ". t/check.sh\ncheck 'the new one' 1 2\n";

/// A repository with these settings committed, and a commit on top that says it is a task's: it breaks the tests, and brings
/// what else is given.
fn broken(settings: Option<&str>, besides: &[(&str, &str)]) -> Scene {
    let scene = Scene::new(&[], HONEST);
    if let Some(settings) = settings {
        write(&scene.root().join(".taskmaster/tm.yaml"), settings);
        commit(&scene, "settings");
    }
    scene.git(&["tag", "began"]);
    write(&scene.root().join("t/broken.t"), BROKEN);
    for (path, text) in besides {
        executable(&scene.root().join(path), text);
        write(&scene.root().join(path), text);
    }
    commit(&scene, "Work\n\nTask: 9\nPhase: none\nRun: r1");
    scene
}

fn commit(scene: &Scene, message: &str) {
    scene.git(&["add", "--all", "--force"]);
    scene.git(&["commit", "--quiet", "--message", message]);
}

fn audit(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = scene.tm(&["audit", "began..HEAD"]);
    let output = command.args(arguments).output().expect("tm");
    (output.status.code(), words(&output))
}

/// Settings that have a command run unheld, which leaves a file.
fn with_commands(scene: &Scene) -> (String, PathBuf) {
    let mark = scene.path("was-here");
    let settings = format!(
        "test: {{command: 'true'}}\nsandbox: {{level: none}}\nworktree: {{setup: 'touch {0}'}}\nsecrets:\n  \
         X: {{command: 'touch {0}; echo abcdefghijkl', for: [agents, setup, tests]}}\n",
        mark.display()
    );
    (settings, mark)
}

#[test]
fn no_commit_of_a_range_says_by_what_it_is_judged() {
    let results = "<testsuite tests='1'><testcase name='a' classname='b'/></testsuite>";
    let cases: [&[(&str, &str)]; 5] = [
        &[(".taskmaster/tm.yaml", "test: {command: 'true'}\n")],
        &[
            (
                ".taskmaster/tm.yaml",
                "test: {env: {PATH: 'evil:/usr/bin:/bin'}}\n",
            ),
            ("evil/sh", "#!/bin/bash\nexit 0\n"),
        ],
        &[
            (
                ".taskmaster/tm.yaml",
                "test: {results: r.xml, format: junit}\n",
            ),
            ("r.xml", results),
        ],
        &[(
            ".taskmaster/config.json",
            r#"{"test": {"command": "true"}, "storage": {"location": "project"}}"#,
        )],
        &[(".taskmaster/tm.yaml", "tdd: {strictness: [no\n")],
    ];
    for besides in cases {
        for settings in [None, Some("test: {command: 'sh run-tests.sh'}\n")] {
            let scene = broken(settings, besides);
            let (code, said) = audit(&scene, &["--strictness", "normal"]);
            assert_eq!(code, Some(3), "{besides:?}: {said}");
            for part in [
                "uncovered",
                "by which work is judged",
                "the settings are those of",
                "in the checkout",
                "tests by: sh run-tests.sh",
            ] {
                assert!(said.contains(part), "{part} in {said}");
            }
            let whole = said.lines().find(|line| line.contains("  whole  "));
            assert!(
                whole.is_some_and(|line| line.contains("not-shown")),
                "{said}"
            );
        }
    }
}

#[test]
fn a_test_command_that_nobody_named_is_looked_for_where_the_range_begins() {
    let scene = Scene::new(&[], HONEST);
    scene.git(&["rm", "--quiet", "run-tests.sh"]);
    write(
        &scene.root().join("Makefile"),
        "test:\n\t. t/check.sh && . t/old.t\n",
    );
    commit(&scene, "tests");
    scene.git(&["tag", "began"]);
    write(&scene.root().join("run-tests.sh"), "exit 0\n");
    commit(&scene, "Work\n\nTask: 9\nPhase: none\nRun: r1");
    let (_, said) = audit(&scene, &[]);
    assert!(said.contains("tests by: make test"), "{said}");
}

#[test]
fn nothing_that_a_range_names_is_run_unheld() {
    let scene = Scene::new(&[], HONEST);
    let (settings, mark) = with_commands(&scene);
    let scene = broken(None, &[(".taskmaster/tm.yaml", &settings)]);
    for flags in [&[][..], &["--test-command", "sh run-tests.sh"]] {
        let (code, said) = audit(&scene, flags);
        assert_eq!(code, Some(3), "{said}");
        assert!(!mark.exists(), "{said}");
        assert!(
            said.contains("`secrets") && said.contains("`worktree.setup`"),
            "{said}"
        );
    }
}

#[test]
fn where_a_range_parts_from_where_it_is_said_to_begin_the_settings_are_those_of_there() {
    let scene = broken(
        Some("test: {command: 'sh run-tests.sh'}\n"),
        &[(".taskmaster/tm.yaml", "test: {command: 'true'}\n")],
    );
    scene.git(&["switch", "--quiet", "--create", "later", "began"]);
    write(&scene.root().join("docs/later"), "later\n");
    commit(&scene, "later");
    scene.git(&["tag", "--force", "began"]);
    scene.git(&["switch", "--quiet", "main"]);
    let (code, said) = audit(&scene, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("tests by: sh run-tests.sh"), "{said}");
}

#[test]
fn results_that_lie_there_before_the_tests_are_run_count_for_nothing() {
    let scene = Scene::new(&[], HONEST);
    let results = "<testsuite tests='1'><testcase name='a' classname='b'/></testsuite>";
    let settings = "test: {command: 'sh junit.sh', results: r.xml, format: junit}\n";
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    let tests = format!("test -e t/broken.t && exit 1\necho \"{results}\" > r.xml\n");
    write(&scene.root().join("junit.sh"), &tests);
    commit(&scene, "settings");
    scene.git(&["tag", "began"]);
    write(&scene.root().join("t/broken.t"), BROKEN);
    write(&scene.root().join("r.xml"), results);
    commit(&scene, "Work\n\nTask: 9\nPhase: none\nRun: r1");
    let (code, said) = audit(&scene, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("2 not-shown"), "{said}");
}

#[test]
fn settings_that_are_the_same_are_told_of_by_nobody() {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    scene.git(&["tag", "began"]);
    let report = scene.runs(&[], 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let output = scene.tm(&["audit", branch]).output().expect("tm");
    let said = words(&output);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("the settings are those"), "{said}");
}

/// The worktree of the agent of a run that goes on until it is stopped, in which the agent has left its own settings.
fn at_work(run: impl FnOnce(&Scene, &Path, &Path)) {
    let scene = Scene::new(&[("1", "Add the parser", &[])], "");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "test: {command: 'sh run-tests.sh'}\n",
    );
    commit(&scene, "settings");
    let (settings, mark) = with_commands(&scene);
    write(&scene.path("settings"), &settings);
    write(
        &scene.path("agent.sh"),
        "cp \"$AGENT_FOLDER/settings\" .taskmaster/tm.yaml\n\
         printf '. t/check.sh\\ncheck \"the new one\" 1 2\\n' > t/broken.t\n\
         pwd > \"$AGENT_FOLDER/worktree\"\necho > \"$AGENT_FOLDER/started\"\nexec sleep 60\n",
    );
    scene.pipe("started");
    let mut under_way = scene.start_and_wait_for_agent(&["--tdd", "off", "--retries", "0"]);
    let worktree = std::fs::read_to_string(scene.path("worktree")).expect("a worktree");
    run(&scene, Path::new(worktree.trim_end()), &mark);
    let stopped = scene.tm(&["waves", "stop", "--now"]).output().expect("tm");
    assert!(stopped.status.success(), "{}", words(&stopped));
    under_way.wait().expect("tm ends");
}

#[test]
fn the_worktree_of_an_agent_is_judged_by_the_settings_of_its_project() {
    at_work(|scene, worktree, mark| {
        let folder = worktree.display().to_string();
        let below = format!("{folder}/t");
        for arguments in [
            &["verify", &folder][..],
            &["-C", &folder, "verify"],
            &["-C", &below, "verify", "."],
        ] {
            let output = scene.tm(arguments).output().expect("tm");
            let said = words(&output);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
            assert!(said.contains("the new one"), "{arguments:?}: {said}");
            assert!(!mark.exists(), "{arguments:?}: {said}");
        }
    });
}

#[test]
fn whoever_calls_tm_in_the_worktree_of_an_agent_calls_it_in_the_project() {
    at_work(|scene, worktree, mark| {
        let folder = worktree.display().to_string();
        let root = scene.root().display().to_string();
        let doctor = scene.tm(&["-C", &folder, "doctor"]).output().expect("tm");
        let said = words(&doctor);
        assert!(said.contains(&root) && !said.contains(&folder), "{said}");
        let shown = scene.tm(&["-C", &folder, "config", "show"]);
        let shown = words(&{ shown }.output().expect("tm"));
        assert!(
            shown.contains("sh run-tests.sh") && !shown.contains("touch"),
            "{shown}"
        );
        assert!(!mark.exists(), "{said}");
        // What an agent leads git to is nobody's project either.
        std::fs::remove_file(worktree.join(".git")).expect("removed");
        let made = scene.shell(&format!("git init --quiet '{folder}'"));
        assert!({ made }.status().expect("git").success());
        let doctor = scene.tm(&["-C", &folder, "doctor"]).output().expect("tm");
        assert!(words(&doctor).contains(&root), "{}", words(&doctor));
        assert!(!mark.exists(), "{}", words(&doctor));
    });
}

#[test]
fn a_linked_worktree_of_peoples_is_a_checkout_of_its_own_whatever_files_lie_in_the_repository() {
    let scene = Scene::new(&[], HONEST);
    let evil = scene.path("evil");
    let (settings, mark) = with_commands(&scene);
    write(&evil.join(".taskmaster/tm.yaml"), &settings);
    let made = scene.shell(&format!(
        "cd '{}' && git init --quiet && git add --all && git -c user.name=a -c user.email=a commit --quiet -m evil",
        evil.display()
    ));
    assert!({ made }.status().expect("git").success());
    let leads = serde_json::json!({"version": 1, "common_dir": evil.join(".git"), "before": [], "identity": null});
    let leads = leads.to_string();
    write(&scene.root().join("projects/app/repository.json"), &leads);
    commit(&scene, "work");
    let linked = "projects/app/worktrees/feature";
    scene.git(&["worktree", "add", "--quiet", "-b", "feature", linked]);
    let folder = scene.root().join(linked).display().to_string();
    let doctor = scene.tm(&["-C", &folder, "doctor"]).output().expect("tm");
    let said = words(&doctor);
    assert!(said.contains(&folder), "{said}");
    assert!(
        !said.contains(&evil.display().to_string()) && !mark.exists(),
        "{said}"
    );
}

#[test]
fn another_checkout_of_the_repository_is_judged_by_the_settings_of_where_tm_is_called() {
    let scene = Scene::new(&[], HONEST);
    let settings = scene.root().join(".taskmaster/tm.yaml");
    write(&settings, "test: {command: 'sh run-tests.sh'}\n");
    commit(&scene, "settings");
    scene.git(&["worktree", "add", "--quiet", "-b", "other", "../other"]);
    let (other, mark) = with_commands(&scene);
    write(&scene.path("other/.taskmaster/tm.yaml"), &other);
    write(&scene.path("other/t/broken.t"), BROKEN);
    let output = scene.tm(&["verify", "../other"]).output().expect("tm");
    let said = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the new one") && !mark.exists(), "{said}");
}
