//! What of loops that are over goes, and what stays and why.

use super::*;

/// What becomes of what is of loops, by kind, in words.
fn pruned(scene: &Scene, arguments: &[&str]) -> Vec<String> {
    let mut command = scene.tm(&["waves", "prune", "--json"]);
    let output = command.args(arguments).output().expect("tm");
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let items: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let word = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| {
        ["outcome", "kind", "why"]
            .map(|key| word(item, key))
            .join(" ")
    };
    items.iter().map(line).collect()
}

#[test]
fn a_loop_goes_when_it_is_old_and_its_branch_is_merged_and_another_one_came_after_it() {
    let scene = scene(2, WORKER);
    let first = summary(&scene, &["--worktree", "-n", "1"], 6);
    let branch = first["lanes"][0]["branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let nowhere = [
        "kept branch the work is nowhere else",
        "kept loop it is the last loop",
    ];
    assert_eq!(pruned(&scene, &["--older-than", "0s"]), nowhere);
    scene.git(&["merge", "--quiet", "--no-edit", &branch]);
    let merged = [
        "would go branch the work is in `main`",
        "kept loop it is the last loop",
    ];
    assert_eq!(pruned(&scene, &["--dry-run"]), merged);
    let second = summary(&scene, &["-n", "1"], 0);
    assert_eq!(
        pruned(&scene, &["--older-than", "1d"]),
        [
            "kept loop it is not that old",
            "kept loop it is not that old"
        ]
    );
    let needs_age = "kept loop nothing else has its logs and reports; `--older-than 30d` removes those of older runs";
    assert_eq!(
        pruned(&scene, &["--dry-run"]),
        [merged[0], needs_age, "kept loop it is the last loop"]
    );
    assert_eq!(
        pruned(&scene, &["--older-than", "0s"]),
        [
            "removed branch the work is in `main`",
            "removed loop the work is merged",
            "kept loop it is the last loop"
        ]
    );
    let exists = |summary: &Value| {
        let folder = summary["directory"].as_str().expect("a folder");
        std::path::Path::new(folder).exists()
    };
    assert!(!exists(&first) && exists(&second));
    assert_eq!(scene.git(&["branch", "--list", "tm/*"]), "");
    let status = scene.tm(&["loop", "list"]).output().expect("tm");
    assert_eq!(status.status.code(), Some(0), "{}", words(&status));
}

#[test]
fn a_loop_whose_process_was_killed_stays_as_long_as_its_work_is_nowhere_else() {
    let scene = scene(
        2,
        &format!("[ $TM_ITERATION = 1 ] || {{ {HANGING} }}\n{WORKER}"),
    );
    scene.pipe("started");
    let mut child = start_and_wait_for_agent(&scene, &["--worktree", "-n", "2"]);
    send(&child, Signal::KILL);
    child.wait().expect("an end");
    let kept = [
        "removed worktree its work is on a branch",
        "kept branch the work is nowhere else",
        "kept loop it is the last loop",
    ];
    assert_eq!(pruned(&scene, &["--older-than", "0s"]), kept);
    scene.assert_no_process_is_left();
}
