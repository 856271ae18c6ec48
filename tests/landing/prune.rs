//! What of runs that are over goes, what stays and why, and that no commit is without a reference by that.

use crate::scene::{Scene, write};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Output;

/// Does its task; leaves something of `2` and fails, as long as nobody helps it.
const AGENT: &str = r#"
mkdir -p docs; echo "$TM_RUN_ID" > "docs/$TM_TASK_ID"
status=PASS
if [ "$TM_TASK_ID" = 2 ] && [ ! -e "$AGENT_FOLDER/helped" ]; then status=FAIL; fi
printf 'status: %s\n' "$status" > "$TM_RESULT_FILE"
"#;

/// `1` landed and is in the user's branch, `2` failed.
fn landed_and_failed() -> Scene {
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Document more", &[])];
    let scene = Scene::new(&tasks, AGENT);
    scene.runs(&["--retries", "0"], 3);
    scene
}

fn lands(scene: &Scene) {
    let landed = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(landed.status.success(), "{}", words(&landed));
}

fn words(output: &Output) -> String {
    let words = [&output.stdout, &output.stderr];
    words.map(|words| String::from_utf8_lossy(words)).concat()
}

fn prune(scene: &Scene, arguments: &[&str]) -> Output {
    scene
        .tm(&["waves", "prune"])
        .args(arguments)
        .output()
        .expect("tm")
}

/// What became of things, by kind and name, in words.
fn pruned(scene: &Scene, arguments: &[&str]) -> BTreeSet<String> {
    let output = prune(scene, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", words(&output));
    let items: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let item = |item: &Value| {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let run = Some(text("run")).filter(|run| !run.is_empty());
        let run = run.unwrap_or_else(|| "no run".to_owned());
        let name = text("name").replace(&run, "RUN");
        format!(
            "{} {} {name}: {}",
            text("outcome"),
            text("kind"),
            text("why").replace(&run, "RUN")
        )
    };
    items.iter().map(item).collect()
}

/// All commits that a reference holds.
fn held(scene: &Scene) -> BTreeSet<String> {
    let all = scene.git(&["rev-list", "--all"]);
    all.lines().map(ToOwned::to_owned).collect()
}

fn references(scene: &Scene) -> String {
    scene.git(&["for-each-ref", "--format=%(refname)"])
}

fn runs(scene: &Scene) -> usize {
    let list = scene.tm(&["waves", "list", "--json"]).output().expect("tm");
    let runs: Vec<Value> = serde_json::from_slice(&list.stdout).expect("JSON");
    runs.len()
}

/// A second run, which does what failed in the first, is in the user's branch too.
fn done_again() -> Scene {
    let scene = landed_and_failed();
    lands(&scene);
    write(&scene.path("helped"), "");
    scene.runs(&[], 0);
    lands(&scene);
    assert_eq!(scene.statuses(), ["done", "done"]);
    scene
}

#[test]
fn what_is_merged_goes_and_the_rest_says_why_it_stays() {
    let scene = landed_and_failed();
    let salvage = "kept salvage RUN/2/1: the work is nowhere else";
    let last = "kept run RUN: it is the last run";
    let before = pruned(&scene, &[]);
    assert!(
        before.contains("kept branch tm/master/task-1-document-it: the work is nowhere else"),
        "{before:?}"
    );
    assert!(
        before.iter().all(|item| item.starts_with("kept ")),
        "{before:?}"
    );
    lands(&scene);
    let (all, listed) = (held(&scene), references(&scene));
    let foreseen = pruned(&scene, &["--dry-run"]);
    assert_eq!(references(&scene), listed, "nothing was removed");
    let expected = [
        "kept branch tm/master/task-2-document-more: task `2` is not done",
        last,
        salvage,
        "would go branch tm/master/run-RUN: the work is in `main`",
        "would go branch tm/master/task-1-document-it: the work is in `main`",
    ];
    assert_eq!(foreseen, expected.map(ToOwned::to_owned).into());
    let said = words(&prune(&scene, &[]));
    assert!(
        said.contains("removed  2 branches of ") && said.contains("it is the last run"),
        "{said}"
    );
    let left = references(&scene);
    for (part, is_left) in [
        ("task-1", false),
        ("run-", false),
        ("task-2", true),
        ("salvage", true),
    ] {
        assert_eq!(left.contains(part), is_left, "{part} in {left}");
    }
    assert_eq!(held(&scene), all);
    // A run that is over is looked at, and done again, without its branches.
    assert_eq!(scene.report()["tasks"][0]["landed"], true);
    let nothing = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(
        words(&nothing).contains("once it was merged"),
        "{}",
        words(&nothing)
    );
    write(&scene.path("helped"), "");
    scene.runs(&[], 0);
    assert_eq!(scene.statuses(), ["done", "done"]);
}

#[test]
fn folders_of_runs_go_when_they_are_old_and_nothing_needs_them() {
    let scene = done_again();
    let young = pruned(&scene, &["--older-than", "1d"]);
    assert!(
        young
            .iter()
            .all(|item| item.ends_with("it is not that old")),
        "{young:?}"
    );
    let kept = pruned(&scene, &[]);
    let needs_age = "kept run RUN: nothing else has its logs and reports; `--older-than 30d` removes those of older runs";
    assert!(kept.contains(needs_age), "{kept:?}");
    assert_eq!(runs(&scene), 2);
    let gone = pruned(&scene, &["--older-than", "0s"]);
    assert!(
        gone.contains("removed run RUN: the work is merged"),
        "{gone:?}"
    );
    assert!(
        gone.contains("kept run RUN: it is the last run"),
        "{gone:?}"
    );
    assert_eq!(runs(&scene), 1);
    assert_eq!(scene.report()["status"], "completed");
    // Kept work outlives the folder of its run.
    let salvage = scene
        .tm(&["worktrees", "salvage", "2"])
        .output()
        .expect("tm");
    assert!(salvage.status.success(), "{}", words(&salvage));
}

#[test]
fn settings_have_each_run_remove_what_is_older() {
    let scene = landed_and_failed();
    lands(&scene);
    write(&scene.path("helped"), "");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "waves: { keep: 0s }\n",
    );
    let run = scene.run(&[]);
    assert!(run.status.success(), "{}", words(&run));
    assert!(
        words(&run).contains("removed, by `waves.keep`: 3 branches, 1 run"),
        "{}",
        words(&run)
    );
    // Its work is landed, and not yet the user's.
    assert!(references(&scene).contains("task-2"));
    lands(&scene);
    write(
        &scene.root().join(".taskmaster/tasks/tasks.json"),
        "{\"master\": {\"tasks\": [{\"id\": 3, \"title\": \"Document all\", \"status\": \"pending\"}]}}\n",
    );
    let run = scene.run(&[]);
    assert!(words(&run).contains("1 run"), "{}", words(&run));
    assert!(!references(&scene).contains("task-2"));
}

#[test]
fn runs_that_go_on_or_could_are_left_alone() {
    let waits = r#"echo > "$AGENT_FOLDER/started"; while [ ! -e "$AGENT_FOLDER/helped" ]; do sleep 0.1; done"#;
    let scene = Scene::new(&[("1", "Document it", &[])], &format!("{waits}\n{AGENT}"));
    scene.pipe("started");
    let mut run = scene.start_and_wait_for_agent(&[]);
    let (all, listed) = (held(&scene), references(&scene));
    for arguments in [&["--dry-run"][..], &["--older-than", "0s"]] {
        let refused = prune(&scene, arguments);
        assert_eq!(refused.status.code(), Some(5), "{}", words(&refused));
    }
    run.kill().expect("killed");
    run.wait().expect("an end");
    let kept = pruned(&scene, &["--older-than", "0s"]);
    assert!(
        kept.contains("kept run RUN: `tm waves resume RUN` takes it up"),
        "{kept:?}"
    );
    assert_eq!((held(&scene), references(&scene)), (all, listed));
    let worktrees = scene.tm(&["worktrees", "prune"]).output().expect("tm");
    assert!(
        !words(&worktrees).contains("removed"),
        "{}",
        words(&worktrees)
    );
    write(&scene.path("helped"), "");
    let report = scene.runs(&[], 0);
    let attempts = report["tasks"][0]["attempts"].as_array().map(Vec::len);
    assert_eq!(attempts, Some(1), "its agent was at work all the time");
}

#[test]
fn killed_at_any_point_it_loses_nothing_and_the_next_call_finishes() {
    let scene = done_again();
    let all = held(&scene);
    let (mut point, mut died) = (0, 0);
    loop {
        point += 1;
        let ended = scene
            .tm(&["waves", "prune", "--older-than", "0s"])
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        assert_eq!(held(&scene), all, "after point {point}");
        if ended.status.success() {
            break;
        }
        died += 1;
        let looked = scene.tm(&["waves", "list"]).output().expect("tm");
        assert!(
            looked.status.success() && !words(&looked).contains("unreadable"),
            "{}",
            words(&looked)
        );
    }
    assert!(died > 4, "died {died} times");
    let last = pruned(&scene, &["--older-than", "0s"]);
    let ends = ["it is the last run", "/2/1: the work is nowhere else"];
    let is_expected = |item: &String| ends.iter().any(|end| item.ends_with(end));
    assert!(last.len() == 2 && last.iter().all(is_expected), "{last:?}");
    let rests = std::fs::read_dir(scene.waves_folder().parent().expect("a folder")).expect("runs");
    assert_eq!(rests.count(), 1, "nothing is left of the run that went");
}
