//! `tm init`: what it finds, what it asks, and what comes next.

use super::words;
use crate::scene::{HONEST, Scene, executable, tm_binary, write};
use crate::skipping::lacks_what_a_machine_may_have;
use std::process::Output;

/// A folder with a package of node, and nothing that tm or git made.
fn new_project() -> Scene {
    let scene = Scene::new(&[], HONEST);
    for name in [".git", ".taskmaster", "t"] {
        std::fs::remove_dir_all(scene.root().join(name)).expect("removed");
    }
    std::fs::remove_file(scene.root().join("run-tests.sh")).expect("removed");
    for (name, text) in [
        ("package.json", r#"{"scripts": {"test": "node --test"}}"#),
        ("package-lock.json", "{}"),
    ] {
        write(&scene.root().join(name), text);
    }
    executable(&scene.path("bin/codex"), "echo codex-cli 9.8.7");
    scene
}

fn path(scene: &Scene) -> String {
    format!("{}:/usr/bin:/bin", scene.path("bin").display())
}

fn tm(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = scene.tm(arguments);
    command.env("PATH", path(scene)).output().expect("tm")
}

fn text(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.root().join(name)).expect(name)
}

#[test]
fn outside_of_a_repository_the_next_command_is_said() {
    let scene = new_project();
    let refused = tm(&scene, &["init"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("run `git init`, then `tm init`"));
    assert!(!scene.root().join(".taskmaster").exists());
}

#[test]
fn where_nobody_is_asked_what_was_found_is_said_and_written() {
    let scene = new_project();
    scene.git(&["init", "--quiet", "--initial-branch=main"]);
    let made = tm(&scene, &["init"]);
    let said = words(&made);
    assert_eq!(made.status.code(), Some(0), "{said}");
    for part in [
        "found npm (package-lock.json)",
        "found tests: npm test --silent",
        "found agents: codex",
        "`tm add-task --title TITLE`",
        "git commit",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    insta::assert_snapshot!(text(&scene, ".taskmaster/tm.yaml"), @r#"
    # Settings of this project; `tm config show` prints all of them with where each comes from.

    # Found by the `test` script of package.json.
    test:
      command: "npm test --silent"

    worktree:
      # Run in each worktree before its first use, and again where package-lock.json differs.
      setup:
        - "npm ci"

    # Who does the work; `tm agents list` names the others.
    agent:
      default: "codex"

    # waves: { max_parallel: 5 }
    "#);
    // Nothing is committed by itself.
    assert!(!scene.try_git(&["rev-parse", "HEAD"]).status.success());
    let plan = tm(&scene, &["add-task", "--title", "Go on"]);
    assert_eq!(plan.status.code(), Some(0), "{}", words(&plan));
    for (name, value) in [("user.name", "Somebody"), ("user.email", "s@example.org")] {
        scene.git(&["config", name, value]);
    }
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "Start"]);
    for command in [&["doctor"][..], &["waves", "plan"], &["init", "--yes"]] {
        let looked = tm(&scene, command);
        assert_eq!(
            looked.status.code(),
            Some(0),
            "{command:?}: {}",
            words(&looked)
        );
    }
    assert_eq!(scene.git(&["status", "--short"]), "");
}

#[test]
fn on_a_terminal_what_was_found_is_proposed_and_the_first_task_asked_for() {
    let scene = new_project();
    scene.git(&["init", "--quiet", "--initial-branch=main"]);
    if which::which("script").is_err() {
        return lacks_what_a_machine_may_have("program `script`, which gives a terminal");
    }
    let typed = "printf '%s\\n' '' 'npm ci --silent' nobody '' 'Say \"hello\": now'";
    let terminal = format!("script -qec \"'{}' init\" /dev/null", tm_binary().display());
    let mut shell = scene.shell(&format!("{typed} | {terminal}"));
    let asked = shell.env("PATH", path(&scene)).output().expect("sh");
    let screen = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(
        screen.contains("command of the tests [npm test --silent]")
            && screen.contains("tm knows acp"),
        "{screen}"
    );
    let settings = text(&scene, ".taskmaster/tm.yaml");
    assert!(
        settings.contains("- \"npm ci --silent\"") && settings.contains("default: \"codex\""),
        "{settings}"
    );
    let backlog = text(&scene, "backlog.yaml");
    assert!(
        backlog.contains(r#"title: "Say \"hello\": now""#),
        "{backlog}"
    );
}

#[test]
fn a_repository_without_a_backlog_is_helped_to_begin() {
    let scene = Scene::new(&[], HONEST);
    std::fs::remove_dir_all(scene.root().join(".taskmaster")).expect("removed");
    let refused = tm(&scene, &["waves", "plan"]);
    assert!(words(&refused).contains("`tm init`"));
    for command in [&["init"][..], &["waves", "plan"]] {
        assert_eq!(tm(&scene, command).status.code(), Some(0));
    }
    let doctor = tm(&scene, &["doctor"]);
    let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
    for part in ["git", "backlog.yaml", "run-tests.sh", "hint:"] {
        assert!(found.contains(part), "{part} in {found}");
    }
}
