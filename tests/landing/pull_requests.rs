//! The work of a run as pull requests, with a `gh` that writes down what it is asked.

use crate::scene::{HONEST, Scene, write};
use serde_json::Value;
use std::process::Output;

/// Knows a pull request of each branch that is listed in `open`; shows the body that a new one has.
const GH: &str = r#"#!/bin/sh
printf '%s\n' "$*" >> "$AGENT_FOLDER/gh.log"
case "$1 $2" in
"pr list") if grep -qx "$4" "$AGENT_FOLDER/open" 2>/dev/null; then echo '[{"url":"https://example.org/1"}]'; else echo '[]'; fi ;;
"pr create") echo "$4" >> "$AGENT_FOLDER/open"; echo "Creating pull request"; echo "https://example.org/new" ;;
esac
"#;

/// A pair and a task that depends on it, both landed; a remote, and a `gh` on the path.
fn scene() -> Scene {
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &["1"])],
        HONEST,
    );
    write(&scene.path("bin/gh"), GH);
    scene
        .shell("chmod +x \"$AGENT_FOLDER/bin/gh\"")
        .status()
        .expect("sh");
    scene.runs(&[], 0);
    scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
    scene.git(&["remote", "add", "origin", "../remote.git"]);
    scene
}

fn pull(scene: &Scene, arguments: &[&str]) -> Output {
    let path = format!(
        "{}:{}",
        scene.path("bin").display(),
        std::env::var("PATH").expect("a path")
    );
    scene
        .tm(&["pr"])
        .args(arguments)
        .env("PATH", path)
        .output()
        .expect("tm")
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn log(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("gh.log")).unwrap_or_default()
}

#[test]
fn a_run_is_one_pull_request_that_is_brought_up_to_date() {
    let scene = scene();
    let unasked = pull(&scene, &[]);
    assert!(
        unasked.status.code() == Some(2) && words(&unasked).contains("--yes"),
        "{}",
        words(&unasked)
    );
    assert_eq!(
        scene.git(&["ls-remote", "origin"]),
        "",
        "nothing was pushed"
    );
    let opened = pull(&scene, &["--yes", "--draft"]);
    assert!(
        opened.status.success() && words(&opened).contains("https://example.org/new"),
        "{}",
        words(&opened)
    );
    let remote = scene.git(&["ls-remote", "origin"]);
    assert!(
        remote.contains("refs/heads/tm/master/run-") && !remote.contains("refs/heads/main"),
        "{remote}"
    );
    let asked = log(&scene);
    assert!(
        asked.contains("--base main --title master: 2 tasks --body-file ")
            && asked.contains("--draft"),
        "{asked}"
    );
    let body = asked
        .split("--body-file ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .expect("a body");
    let body = std::fs::read_to_string(body).expect("a body");
    assert!(
        body.starts_with("# Run ") && body.contains("`tm audit main..tm/master/run-"),
        "{body}"
    );
    let again = pull(&scene, &["--yes"]);
    assert!(
        words(&again).contains("https://example.org/1"),
        "{}",
        words(&again)
    );
    assert!(
        log(&scene).contains("pr edit https://example.org/1 --title"),
        "{}",
        log(&scene)
    );
    tm_rejects(&scene);
    let refused = pull(&scene, &["--yes"]);
    assert!(
        refused.status.code() == Some(3) && words(&refused).contains("`2`"),
        "{}",
        words(&refused)
    );
}

#[test]
fn what_holds_rejected_work_is_left_out() {
    let scene = scene();
    let rejected = scene
        .tm(&["review", "reject", "1", "--reason", "wrong name"])
        .output()
        .expect("tm");
    assert!(rejected.status.success(), "{}", words(&rejected));
    let nothing = pull(&scene, &["--per-task", "--dry-run"]);
    assert!(
        nothing.status.code() == Some(1) && words(&nothing).contains("rejected: 1:red, 1, 2"),
        "{}",
        words(&nothing)
    );
    let all = pull(&scene, &["--per-task", "--dry-run", "--with-rejected"]);
    assert_eq!(
        words(&all).matches("gh pr create").count(),
        2,
        "{}",
        words(&all)
    );
}

fn tm_rejects(scene: &Scene) {
    let rejected = scene
        .tm(&["review", "reject", "2", "--reason", "too short"])
        .output()
        .expect("tm");
    assert!(rejected.status.success(), "{}", words(&rejected));
}

#[test]
fn a_pull_request_a_task_stands_on_the_one_before() {
    let scene = scene();
    let dry = pull(&scene, &["--per-task", "--dry-run", "--json"]);
    let plan: Value =
        serde_json::from_slice(&dry.stdout).unwrap_or_else(|_| panic!("{}", words(&dry)));
    let pulls = plan["pull_requests"].as_array().expect("a list");
    assert_eq!(pulls.len(), 2, "{plan}");
    assert_eq!(
        (&pulls[0]["base"], &pulls[0]["tasks"]),
        (&Value::from("main"), &serde_json::json!(["1:red", "1"]))
    );
    assert_eq!(pulls[1]["base"], pulls[0]["branch"]);
    assert_eq!(
        (log(&scene), scene.git(&["ls-remote", "origin"])),
        (String::new(), String::new())
    );
    let opened = pull(&scene, &["--per-task", "--yes"]);
    assert!(opened.status.success(), "{}", words(&opened));
    let remote = scene.git(&["ls-remote", "origin"]);
    assert_eq!(remote.lines().count(), 2, "{remote}");
    assert_eq!(log(&scene).matches("pr create").count(), 2);
    let body =
        std::fs::read_to_string(pulls[0]["body_file"].as_str().expect("a path")).expect("a body");
    assert!(
        body.contains("RED: tests that fail first") && body.contains("- claimed by `custom`: pass"),
        "{body}"
    );
}

#[test]
fn without_gh_the_commands_are_printed_and_nothing_is_pushed() {
    let scene = scene();
    std::fs::create_dir(scene.path("few")).expect("a folder");
    for program in ["git", "sh"] {
        let found = scene
            .shell(&format!("command -v {program}"))
            .output()
            .expect("sh");
        let path = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        std::os::unix::fs::symlink(path, scene.path("few").join(program)).expect("a link");
    }
    let printed = scene
        .tm(&["pr"])
        .env("PATH", scene.path("few"))
        .output()
        .expect("tm");
    let said = words(&printed);
    assert!(
        printed.status.success() && said.contains("gh pr create --head tm/master/run-"),
        "{said}"
    );
    assert!(
        said.contains("git push --atomic origin tm/master/run-") && said.contains("not on PATH"),
        "{said}"
    );
    assert_eq!(scene.git(&["ls-remote", "origin"]), "");
    scene.git(&["remote", "remove", "origin"]);
    let nowhere = pull(&scene, &["--yes"]);
    assert!(
        nowhere.status.code() == Some(1) && words(&nowhere).contains("git remote add"),
        "{}",
        words(&nowhere)
    );
}
