//! The work of a run as a person reviews it: branch after branch, approved or rejected, and done again.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Output, Stdio};

/// Says more each time it is asked, and shows what it was asked.
const TALKER: &str = r#"
cat "$TM_PROMPT_FILE" > "$AGENT_FOLDER/prompt-$TM_TASK_ID"
mkdir -p docs; echo "$TM_RUN_ID" >> "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

fn tm(scene: &Scene, arguments: &[&str]) -> Output {
    scene.tm(arguments).output().expect("tm")
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = tm(scene, arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", words(&output)))
}

/// Answers the questions of `tm review`.
fn answers(scene: &Scene, text: &str) -> String {
    let mut child = scene
        .tm(&["review"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(text.as_bytes())
        .expect("answers");
    words(&child.wait_with_output().expect("an end"))
}

#[test]
fn rejected_work_is_done_again_and_the_agent_is_told_why() {
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        TALKER,
    );
    scene.runs(&[], 0);
    let said = answers(&scene, "what?\nd\napprove\nr say who may use it\n");
    for part in [
        "[1/2] 1 Document it",
        "+++ b/docs/1",
        "claim pass; ",
        "none with `main`",
        "1 approved, 1 rejected",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(scene.statuses(), ["done", "pending"]);
    let list = json(&scene, &["review", "--json"]);
    assert_eq!(
        list["branches"][0]["review"]["decision"], "approved",
        "{list}"
    );
    assert_eq!(
        list["branches"][1]["review"]["reason"], "say who may use it",
        "{list}"
    );
    assert!(answers(&scene, "").contains("everything is reviewed"));
    // What was rejected is not merged by mistake.
    let refused = tm(&scene, &["waves", "land", "--yes"]);
    assert!(
        refused.status.code() == Some(3) && words(&refused).contains("`2`"),
        "{}",
        words(&refused)
    );

    let again = scene.runs(&[], 0);
    assert_eq!(task(&again, "2")["landed"], true, "{again}");
    let prompt = std::fs::read_to_string(scene.path("prompt-2")).expect("a prompt");
    assert!(
        prompt.contains("say who may use it")
            && prompt.contains("part of the code that you start from"),
        "{prompt}"
    );
    assert_eq!(scene.statuses(), ["done", "done"]);
    // Done again, it is evidence for nobody any more.
    tm(&scene, &["set-status", "--id=2", "--status=pending"]);
    scene.runs(&[], 0);
    assert!(
        !std::fs::read_to_string(scene.path("prompt-2"))
            .expect("a prompt")
            .contains("say who may use it")
    );
}

#[test]
fn a_decision_about_a_pair_is_one_and_can_be_taken_back() {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    scene.runs(&[], 0);
    let unknown = tm(&scene, &["review", "reject", "7", "--reason", "no"]);
    assert!(
        unknown.status.code() == Some(1) && words(&unknown).contains("hint:"),
        "{}",
        words(&unknown)
    );
    let empty = tm(&scene, &["review", "reject", "1", "--reason", " "]);
    assert_eq!(empty.status.code(), Some(2), "{}", words(&empty));
    let rejected = json(
        &scene,
        &[
            "review",
            "reject",
            "1:red",
            "1",
            "--reason",
            "wrong name",
            "--json",
        ],
    );
    assert_eq!(rejected.as_array().expect("a list").len(), 2, "{rejected}");
    assert_eq!(scene.statuses(), ["pending"]);
    tm(&scene, &["review", "approve", "1"]);
    assert_eq!(scene.statuses(), ["done"]);
    let shown = tm(&scene, &["worktrees", "show", "1:red"]);
    assert!(
        words(&shown).contains("review     approved"),
        "{}",
        words(&shown)
    );
    let merged = tm(&scene, &["worktrees", "merge", "1", "--yes"]);
    assert!(
        merged.status.success() && scene.root().join("bin/1").is_file(),
        "{}",
        words(&merged)
    );
}

#[test]
fn a_branch_is_seen_through_the_pager_and_opened_in_a_worktree() {
    let scene = Scene::new(&[("1", "Document it", &[])], TALKER);
    scene.runs(&[], 0);
    let folder = words(&tm(&scene, &["worktrees", "open", "1", "--print"]));
    let folder = std::path::PathBuf::from(folder.trim());
    assert!(folder.join("docs/1").is_file(), "{}", folder.display());
    assert_eq!(
        tm(&scene, &["worktrees", "open", "1"]).status.code(),
        Some(2),
        "a shell needs a terminal"
    );
    write(&folder.join("note"), "mine\n");
    assert!(words(&tm(&scene, &["worktrees", "prune"])).contains("kept"));
    std::fs::remove_file(folder.join("note")).expect("removed");
    assert!(words(&tm(&scene, &["worktrees", "prune"])).contains("removed"));
    let log = words(&tm(&scene, &["worktrees", "log", "1"]));
    assert!(log.contains("Task: 1") && log.contains("docs/1"), "{log}");
    // A terminal, as `script` gives one; the shell in the worktree is a script that says where it is.
    write(
        &scene.path("shell"),
        "#!/bin/sh\npwd > \"$AGENT_FOLDER/where\"\n",
    );
    let shell = scene.path("shell").display().to_string();
    scene
        .shell(&format!("chmod +x '{shell}'"))
        .status()
        .expect("sh");
    let program = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
    let at_terminal = |command: &str| {
        let mut script = scene.shell(&format!(
            "script -qec 'SHELL={shell} {program} {command}' /dev/null"
        ));
        words(
            &script
                .env("GIT_PAGER", "sed s/^/PAGED:/")
                .output()
                .expect("script"),
        )
    };
    if cfg!(target_os = "linux") {
        assert!(
            at_terminal("worktrees diff 1").contains("PAGED:"),
            "git's pager is used"
        );
        let is_coloured = |command: &str| at_terminal(command).contains("\u{1b}[");
        assert!(is_coloured("--color always worktrees diff 1"));
        assert!(!is_coloured("--color never worktrees log 1"));
        let said = at_terminal("worktrees open 1");
        let place =
            std::fs::read_to_string(scene.path("where")).unwrap_or_else(|_| panic!("{said}"));
        assert!(
            place.trim().ends_with("/1") && !std::path::Path::new(place.trim()).exists(),
            "{place}: {said}"
        );
    }
}

#[test]
fn what_somebody_put_on_the_branch_of_a_run_is_not_passed_on() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    scene.runs(&["--tdd", "off"], 0);
    let branch = scene.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/tm/*/run-*",
    ]);
    let above = [
        "commit-tree",
        &format!("{branch}^{{tree}}"),
        "-p",
        &branch,
        "-m",
        "more",
    ];
    let unproven = scene.git(&above);
    scene.git(&["update-ref", &branch, &unproven]);
    let before = scene.git(&["rev-parse", "HEAD"]);
    for arguments in [["waves", "land", "--yes"].as_slice(), &["pr", "--yes"]] {
        let refused = tm(&scene, arguments);
        assert_eq!(refused.status.code(), Some(3), "{}", words(&refused));
        for part in [unproven.as_str(), "nobody has proven it", "git merge tm/"] {
            assert!(words(&refused).contains(part), "{}", words(&refused));
        }
    }
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), before);
}
