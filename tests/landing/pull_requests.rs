//! The work of a run as pull requests, with a `gh` that writes down what it is asked.

use crate::scene::{HONEST, Scene, executable};
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
    with_gh(&scene);
    scene.runs(&[], 0);
    scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
    scene.git(&["remote", "add", "origin", "../remote.git"]);
    scene
}

fn with_gh(scene: &Scene) {
    executable(&scene.path("bin/gh"), GH);
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
        asked.contains("--base main --title Add the parser and 1 more --body-file ")
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
        body.starts_with("## Add the parser\n")
            && body.contains("Seen failing without the change, and passing with it:\n\n- `")
            && body.contains("    sh run-tests.sh\n")
            && body.contains("`tm audit main..tm/master/run-"),
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
        nothing.status.code() == Some(1)
            && words(&nothing).contains("left out: 1: it holds what the review rejected")
            && words(&nothing).contains("left out: 2: it builds on `1`, which has no pull request"),
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

#[test]
fn a_branch_that_moved_since_it_was_proven_is_left_out() {
    let scene = scene();
    let branch = "refs/heads/tm/master/task-1-add-the-parser";
    let unproven = scene.git(&[
        "commit-tree",
        &format!("{branch}^{{tree}}"),
        "-p",
        branch,
        "-m",
        "more",
    ]);
    scene.git(&["update-ref", branch, &unproven]);
    let left = pull(&scene, &["--per-task", "--yes"]);
    assert!(
        words(&left).contains("left out: 1: its branch has moved since it was proven"),
        "{}",
        words(&left)
    );
    assert_eq!(scene.git(&["ls-remote", "origin"]), "");
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
        body.contains("With the change ") && !body.contains("Builds on"),
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

/// `1` and `2` depend on nothing, `3` on both; each has a test and a file of its own, and all change `shared` where
/// asked to.
fn side_by_side(shared: &str) -> Scene {
    let tasks = serde_json::json!({"master": {"tasks": [
        {"id": 1, "title": "Add the parser", "description": "Reads numbers.", "testStrategy": "Ten is read.",
         "status": "pending", "dependencies": []},
        {"id": 2, "title": "Add the printer", "description": "Prints them.", "status": "pending", "dependencies": []},
        {"id": 3, "title": "Add the program", "status": "pending", "dependencies": [1, 2]},
    ]}});
    let agent = format!("{HONEST}\n{shared}\n");
    let scene = Scene::with_backlog(&tasks.to_string(), &agent);
    scene.runs(&["--max-parallel", "1"], 0);
    scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
    scene.git(&["remote", "add", "origin", "../remote.git"]);
    with_gh(&scene);
    scene
}

/// The pull requests that there would be, and those that there are not, in words.
fn planned(scene: &Scene, arguments: &[&str]) -> (Vec<Value>, String) {
    let output = pull(scene, &[&["--per-task", "--json"], arguments].concat());
    let plan: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(&output)));
    let pulls = plan["pull_requests"].as_array().cloned().expect("a list");
    (pulls, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn text<'a>(pull: &'a Value, key: &str) -> &'a str {
    pull[key].as_str().expect("a text")
}

fn body(pull: &Value) -> String {
    std::fs::read_to_string(text(pull, "body_file")).expect("a body")
}

#[test]
fn what_a_task_says_closes_no_issue_and_calls_nobody_in_the_body_that_is_sent() {
    let tasks = serde_json::json!({"master": {"tasks": [
        {"id": 1, "title": "Add the parser", "description": "As @octocat said:\u{1b}[31m Fixes #12",
         "status": "pending", "dependencies": []},
    ]}});
    let scene = Scene::with_backlog(&tasks.to_string(), HONEST);
    scene.runs(&[], 0);
    scene.git(&["init", "--quiet", "--bare", "../remote.git"]);
    scene.git(&["remote", "add", "origin", "../remote.git"]);
    let (pulls, said) = planned(&scene, &["--dry-run"]);
    let [one] = pulls.as_slice() else {
        panic!("{pulls:?}: {said}")
    };
    let body = body(one);
    assert!(
        body.contains("As @\u{200b}octocat said: F\u{200b}ixes #12"),
        "{body:?}"
    );
}

/// The files that a pull request shows as changed.
fn shown(scene: &Scene, pull: &Value) -> Vec<String> {
    let of_remote = |name: &str| match name {
        "main" => name.to_owned(),
        name => format!("origin/{name}"),
    };
    let range = format!(
        "{}...{}",
        of_remote(text(pull, "base")),
        of_remote(text(pull, "branch"))
    );
    let files = scene.git(&["diff", "--name-only", &range]);
    files.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn pull_request_of_a_task_shows_its_own_change_alone() {
    let scene = side_by_side("");
    let (pulls, said) = planned(&scene, &["--yes"]);
    let [one, two, three] = pulls.as_slice() else {
        panic!("{pulls:?}: {said}")
    };
    assert_eq!([one, two].map(|pull| text(pull, "base")), ["main"; 2]);
    assert_eq!(text(three, "base"), text(two, "branch"));
    scene.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(shown(&scene, one), ["bin/1", "t/1.t"]);
    assert_eq!(shown(&scene, two), ["bin/2", "t/2.t"]);
    let of_three = shown(&scene, three);
    assert!(
        of_three.contains(&"bin/3".to_owned()) && !of_three.contains(&"bin/2".to_owned()),
        "{of_three:?}"
    );
    let (first, second, third) = (body(one), body(two), body(three));
    assert!(
        first.starts_with("Reads numbers.\n\nTen is read.\n"),
        "{first}"
    );
    assert!(
        !first.contains("leaves out"),
        "it is as it was proven: {first}"
    );
    assert!(
        second.contains("together with other work of its run, which this branch leaves out"),
        "{second}"
    );
    let builds = format!(
        "Builds on `{}`, `{}`: merge those first.",
        text(one, "branch"),
        text(two, "branch")
    );
    assert!(third.starts_with(&builds), "{third}");
    // What was put together is still known as the task's, and the same the next time.
    let trailers = scene.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Task,valueonly)",
        &format!("origin/{}", text(two, "branch")),
    ]);
    assert_eq!(trailers.trim(), "2");
    let remote = scene.git(&["ls-remote", "origin"]);
    let (again, _) = planned(&scene, &["--yes"]);
    assert_eq!(
        (again.len(), scene.git(&["ls-remote", "origin"])),
        (3, remote)
    );
}

#[test]
fn rejected_work_keeps_from_passing_on_just_what_builds_on_it() {
    let scene = side_by_side("");
    let rejected = scene
        .tm(&["review", "reject", "2", "--reason", "wrong"])
        .output()
        .expect("tm");
    assert!(rejected.status.success(), "{}", words(&rejected));
    let (pulls, said) = planned(&scene, &["--yes"]);
    assert_eq!(
        pulls
            .iter()
            .map(|pull| text(pull, "title"))
            .collect::<Vec<_>>(),
        ["Add the parser"]
    );
    for part in [
        "left out: 2: it holds what the review rejected",
        "left out: 3: it builds on `2`",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let remote = scene.git(&["ls-remote", "origin"]);
    assert!(
        !remote.contains("task-2") && !remote.contains("task-3"),
        "{remote}"
    );
}

#[test]
fn what_is_no_change_of_its_own_is_left_out_with_the_reason() {
    let scene = side_by_side("if [ \"$TM_PHASE\" != red ]; then echo \"$TM_TASK_ID\" > shared; fi");
    let (pulls, said) = planned(&scene, &["--dry-run"]);
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    for part in [
        "left out: 2: without the other work of its run it conflicts in `shared`",
        "left out: 3: it builds on `2`",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    // A run that began with work that the target does not have can't be taken apart from that.
    scene.git(&[
        "branch",
        "--quiet",
        "--force",
        "elsewhere",
        &scene.git(&["commit-tree", "main^{tree}", "-m", "apart"]),
    ]);
    let nothing = pull(&scene, &["--per-task", "--dry-run", "--base", "elsewhere"]);
    assert!(
        words(&nothing).contains("its run began with work that `elsewhere` does not have"),
        "{}",
        words(&nothing)
    );
}
