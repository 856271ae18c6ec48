//! Hooks of the repository and signing: what tm commits is what the user's own git would let pass.

use crate::scene::{HONEST, Scene, executable, task, write};
use serde_json::Value;
use std::fmt::Write as _;

const PAIR: [(&str, &str, &[&str]); 1] = [("1", "Add the parser", &[])];
const PLAIN: [(&str, &str, &[&str]); 1] = [("1", "Document it", &[])];

fn settings(scene: &Scene, text: &str) {
    write(&scene.root().join(".taskmaster/tm.yaml"), text);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--no-verify", "--message", "settings"]);
}

/// The evidence of the last attempt of a task.
fn evidence(report: &Value, id: &str) -> String {
    let attempt = task(report, id)["attempts"]
        .as_array()
        .expect("attempts")
        .last()
        .expect("an attempt")
        .clone();
    assert_eq!(attempt["failure"], "commit-refused", "{attempt:#}");
    attempt["evidence"].as_str().expect("words").to_owned()
}

/// Puts a husky of the ninth version into the repository: hooks in a folder that git ignores, scripts in the tree.
fn husky(scene: &Scene, script: &str) {
    let root = scene.root();
    let h = "[ \"$HUSKY\" = 0 ] && exit 0\nexport PATH=\"node_modules/.bin:$PATH\"\n\
             sh -e \"$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\" \"$@\"\nc=$?\n\
             [ $c != 0 ] && echo \"husky - $(basename \"$0\") script failed (code $c)\"\nexit $c\n";
    write(&root.join(".husky/_/h"), h);
    write(&root.join(".husky/_/.gitignore"), "*\n");
    executable(
        &root.join(".husky/_/pre-commit"),
        ". \"$(dirname \"$0\")/h\"",
    );
    write(&root.join(".husky/pre-commit"), script);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "husky"]);
    scene.git(&["config", "core.hooksPath", ".husky/_"]);
}

#[test]
fn a_red_that_a_hook_refuses_names_the_setting_with_which_it_lands() {
    let scene = Scene::new(&PAIR, HONEST);
    husky(&scene, "sh run-tests.sh\n");
    let output = scene.run(&["--retries", "3"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains(
            "failed to commit the tests of `1:red`, which are proven: the hook `pre-commit`"
        ),
        "{words}"
    );
    assert!(
        words.contains("git.hooks: commit") && words.contains("not ok"),
        "{words}"
    );
    settings(&scene, "git: { hooks: commit }\n");
    let report = scene.runs(&[], 0);
    assert_eq!(report["tdd"]["compliant"], 1, "{report}");
    assert_eq!(
        task(&report, "1:red")["attempts"]
            .as_array()
            .expect("attempts")
            .len(),
        1,
        "nobody writes them again"
    );
}

#[test]
fn a_red_that_a_hook_refuses_for_its_looks_is_tried_again_with_what_the_hook_said() {
    let scene = Scene::new(&PAIR, HONEST);
    husky(
        &scene,
        "git diff --cached --name-only | grep -q '^t/1.t' || exit 0; echo 't/1.t:2: 1 works: line too long'; exit 1\n",
    );
    let report = scene.runs(&["--retries", "1"], 3);
    assert_eq!(
        task(&report, "1:red")["attempts"]
            .as_array()
            .expect("attempts")
            .len(),
        2,
        "{report:#}"
    );
    let words = evidence(&report, "1:red");
    let first = words.lines().next().unwrap_or_default();
    assert!(
        first.contains("`pre-commit`") && first.contains("line too long"),
        "{words}"
    );
    assert!(words.contains("git.hooks: commit"), "{words}");
}

#[test]
fn hooks_are_run_for_every_other_commit_or_for_none() {
    for (setting, code) in [("commit", 3), ("off", 0)] {
        let scene = Scene::new(&PAIR, HONEST);
        settings(&scene, &format!("git: {{ hooks: {setting} }}\n"));
        scene.hook(
            "pre-commit",
            "[ ! -e bin/1 ] || { echo no code today; exit 1; }",
        );
        let report = scene.runs(&["--retries", "0"], code);
        if code != 0 {
            assert!(
                evidence(&report, "1")
                    .starts_with("the hook `pre-commit` refuses it: no code today")
            );
        }
    }
}

#[test]
fn tools_of_a_hook_come_from_the_set_up_and_what_they_rewrite_is_judged_and_lands() {
    let scene = Scene::new(&PLAIN, HONEST);
    let tool = "mkdir -p node_modules/.bin; printf '#!/bin/sh\\nfor f in $(git diff --cached --name-only -- docs); do \\
                echo formatted >> $f; git add $f; done\\n' > node_modules/.bin/lint-staged; chmod +x node_modules/.bin/*";
    write(&scene.root().join(".gitignore"), "node_modules\n");
    write(&scene.root().join("package.json"), "{}\n");
    settings(
        &scene,
        &format!(
            "worktree: {{ setup: {} }}\n",
            serde_json::to_string(tool).expect("text")
        ),
    );
    husky(&scene, "lint-staged\n");
    let report = scene.runs(&[], 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert_eq!(
        scene.git(&["show", &format!("{branch}:docs/1")]),
        "1\nformatted"
    );
}

#[test]
fn messages_go_through_the_hooks_and_keep_the_trailers_of_tm() {
    let scene = Scene::new(&PAIR, HONEST);
    scene.hook(
        "prepare-commit-msg",
        "echo \"$2\" >> \"$AGENT_FOLDER/sources\"",
    );
    scene.hook(
        "commit-msg",
        "sed -i '1s/^/PROJ-7 /; s/^Phase: .*/Phase: none/; /^Run: /d' \"$1\"; printf 'Change-Id: I0f\\n' >> \"$1\"",
    );
    let report = scene.runs(&[], 0);
    let branch = report["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let subjects = scene.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        &format!("main..{branch}"),
    ]);
    assert_eq!(
        subjects,
        format!("PROJ-7 Merge task 1 into {branch}: Add the parser"),
        "a merge has its hooks as well"
    );
    let trailers = |commit: &str| scene.git(&["log", "-1", "--format=%(trailers:only)", commit]);
    let run = report["run_id"].as_str().expect("an id");
    let green = trailers(task(&report, "1")["commit"].as_str().expect("a commit"));
    for part in [
        "Task: 1\n",
        "Phase: green\n",
        &format!("Run: {run}\n"),
        "Tests: ",
        "Change-Id: I0f",
    ] {
        assert!(green.contains(part), "{part} in {green}");
    }
    assert!(!green.contains("Phase: none"), "{green}");
    assert!(trailers(&branch).contains(&format!("Run: {run}")));
    let sources = std::fs::read_to_string(scene.path("sources")).expect("sources");
    assert_eq!(sources, "message\nmessage\nmerge\n");
}

#[test]
fn a_merge_that_a_hook_refuses_does_not_land_and_one_that_it_changes_neither() {
    for (hook, part) in [
        ("echo frozen; exit 1", "frozen"),
        ("echo x > x; git add x", "changed the merge"),
    ] {
        let scene = Scene::new(&PLAIN, HONEST);
        scene.hook("pre-merge-commit", hook);
        let report = scene.runs(&["--retries", "0"], 3);
        assert!(evidence(&report, "1").contains(part), "{report}");
        assert_eq!(report["integration_commit"], report["base_commit"]);
    }
}

#[test]
fn a_hook_whose_interpreter_is_not_there_is_told_before_any_agent() {
    let scene = Scene::new(&PLAIN, "touch \"$AGENT_FOLDER/paid\"");
    let hook = scene.root().join(".git/hooks/pre-commit");
    executable(&hook, "");
    write(&hook, "#!/usr/bin/env no-such-shell\n");
    write(&scene.root().join(".git/hooks/commit-msg"), "#!/bin/sh\n");
    let output = scene.run(&[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("no-such-shell") && words.contains("git.hooks: off"),
        "{words}"
    );
    assert!(!scene.path("paid").exists());
    let doctor = scene.tm(&["doctor"]).output().expect("tm");
    let words = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        words.contains("BAD   hook") && words.contains("chmod +x"),
        "{words}"
    );
}

/// Has the repository sign with a key of ssh that is thrown away.
pub(crate) fn signs_with_ssh(scene: &Scene) {
    let key = scene.path("key").display().to_string();
    let made = scene
        .shell(&format!(
            "ssh-keygen -q -t ed25519 -N '' -C somebody@example.org -f '{key}'"
        ))
        .status();
    assert!(made.expect("ssh-keygen").success());
    let public = std::fs::read_to_string(scene.path("key.pub")).expect("a key");
    write(
        &scene.path("signers"),
        &format!("somebody@example.org {public}"),
    );
    let signers = scene.path("signers").display().to_string();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", &key),
        ("commit.gpgSign", "true"),
        ("gpg.ssh.allowedSignersFile", &signers),
    ] {
        scene.git(&["config", name, value]);
    }
}

/// Every commit of the run is signed, its merges as well.
fn all_are_verified(scene: &Scene, report: &Value, verify: impl Fn(&str) -> bool) {
    let branch = report["integration_branch"].as_str().expect("a branch");
    let commits = scene.git(&["rev-list", &format!("main..{branch}")]);
    assert!(commits.lines().count() > 3, "{commits}");
    let mut unsigned = String::new();
    for commit in commits.lines().filter(|commit| !verify(commit)) {
        let _ = writeln!(
            unsigned,
            "{}",
            scene.git(&["log", "-1", "--format=%h %s", commit])
        );
    }
    assert_eq!(unsigned, "");
}

const PAIRS: [(&str, &str, &[&str]); 3] = [
    ("1", "Add the parser", &[]),
    ("2", "Add the printer", &[]),
    ("3", "Document it", &["1"]),
];

#[test]
fn everything_that_lands_is_signed_with_the_users_key() {
    let scene = Scene::new(&PAIRS, HONEST);
    signs_with_ssh(&scene);
    husky(&scene, "[ -e t/old.t ]\n");
    let report = scene.runs(&["--max-parallel", "3"], 0);
    all_are_verified(&scene, &report, |commit| {
        scene.try_git(&["verify-commit", commit]).status.success()
    });
}

#[test]
fn a_key_that_is_not_there_is_told_before_any_agent() {
    let scene = Scene::new(&PAIRS, "touch \"$AGENT_FOLDER/paid\"");
    signs_with_ssh(&scene);
    std::fs::remove_file(scene.path("key")).expect("removed");
    std::fs::remove_file(scene.path("key.pub")).expect("removed");
    let output = scene.run(&[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    for part in [
        "failed to sign a commit",
        "commit.gpgsign = true",
        "user.signingkey",
        ".git/config",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(!scene.path("paid").exists());
    let doctor = scene.tm(&["doctor"]).output().expect("tm");
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("BAD   signing"));
}

/// Ends the agent that gpg started for the scene's home.
struct GpgAgent<'a>(&'a Scene);

impl Drop for GpgAgent<'_> {
    fn drop(&mut self) {
        // Without an agent there is nothing to end.
        let _none = self
            .0
            .shell(
                "kill $(gpg-connect-agent --no-autostart 'GETINFO pid' /bye | sed -n 's/^D //p')",
            )
            .status();
    }
}

#[test]
fn everything_is_signed_by_gpg_where_the_users_git_says_so() {
    let scene = Scene::new(&PAIRS, HONEST);
    let key = "mkdir -p -m 700 \"$HOME/.gnupg\" && gpg --batch --quiet --pinentry-mode loopback --passphrase '' \
               --quick-generate-key 'Somebody <somebody@example.org>' ed25519 sign never";
    let _agent = GpgAgent(&scene);
    std::fs::create_dir_all(scene.path("home")).expect("a folder");
    let made = scene.shell(key).output().expect("gpg");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    for (name, value) in [
        ("user.signingKey", "somebody@example.org"),
        ("commit.gpgSign", "true"),
    ] {
        scene.git(&["config", name, value]);
    }
    let report = scene.runs(&[], 0);
    all_are_verified(&scene, &report, |commit| {
        scene.try_git(&["verify-commit", commit]).status.success()
    });
}

#[test]
fn a_hook_stages_nothing_that_is_never_committed_and_no_repository() {
    let scene = Scene::new(&PLAIN, HONEST);
    let hook = scene.root().join(".git/hooks/pre-commit");
    executable(
        &hook,
        "echo 'test: {command: true}' > .taskmaster/more.yaml; echo more > more.txt\n\
         git add --force .taskmaster/more.yaml more.txt",
    );
    scene.runs(&["--tdd", "off"], 0);
    let landed = scene.git(&["ls-tree", "-r", "--name-only", &scene.landed_tree()]);
    assert!(
        landed.contains("more.txt") && !landed.contains("more.yaml"),
        "{landed}"
    );
    let scene = Scene::new(&PLAIN, HONEST);
    let hook = scene.root().join(".git/hooks/pre-commit");
    executable(
        &hook,
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub",
    );
    let report = scene.runs(&["--tdd", "off", "--retries", "0"], 3);
    assert!(evidence(&report, "1").contains("sub"), "{report}");
}

#[test]
fn a_hook_that_speaks_as_git_does_of_a_full_disk_refuses_its_own_task_alone() {
    let scene = Scene::new(&PLAIN, HONEST);
    let hook = scene.root().join(".git/hooks/pre-commit");
    executable(
        &hook,
        "echo 'fatal: write error: No space left on device' >&2; exit 1",
    );
    let report = scene.runs(&["--tdd", "off", "--retries", "0"], 3);
    assert!(evidence(&report, "1").contains("No space left"), "{report}");
}
