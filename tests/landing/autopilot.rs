//! The branch of a run of autopilot, reviewed and passed on by the commands for the branches of waves.

use crate::autopilot::backlog;
use crate::scene::{Scene, write};
use serde_json::Value;

/// What a call said, both ways out together.
fn said(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    words
}

/// Begins task 1 and does its first subtask, which the agent commits itself; its second one by the book.
fn begun() -> Scene {
    let scene = Scene::with_backlog(&backlog(), crate::scene::HONEST);
    scene.autopilot_ok(&["start", "1"]);
    for subtask in ["1.2", "1.1"] {
        write(
            &scene.root().join(format!("t/{subtask}.t")),
            &format!(". t/check.sh\ncheck it {subtask} \"$(sh work-{subtask} 2>/dev/null)\"\n"),
        );
        scene.autopilot_ok(&["complete"]);
        write(
            &scene.root().join(format!("work-{subtask}")),
            &format!("echo {subtask}\n"),
        );
        scene.autopilot_ok(&["complete"]);
        if subtask == "1.2" {
            scene.git(&["add", "--all", ":!.taskmaster"]);
            scene.git(&["commit", "--quiet", "--message", "my own words"]);
        }
        scene.autopilot_ok(&["commit"]);
    }
    scene
}

#[test]
fn the_branch_of_autopilot_is_reviewed_and_landed_by_the_commands_of_a_run() {
    let scene = begun();
    let refused = said(&scene, &["waves", "land", "--yes"], 5);
    assert!(refused.contains("autopilot"), "{refused}");
    scene.autopilot_ok(&["pause"]);
    let branch = "tm/master/task-1-metrics";
    let review: Value = serde_json::from_str(
        String::from_utf8_lossy(&scene.tm(&["review", "--json"]).output().expect("tm").stdout)
            .trim(),
    )
    .expect("JSON");
    assert_eq!(review["integration_branch"], branch);
    let ids: Vec<&str> = review["branches"]
        .as_array()
        .expect("branches")
        .iter()
        .filter_map(|branch| branch["id"].as_str())
        .collect();
    assert_eq!(ids, ["1.2", "1.1"]);
    let notes = |at: usize| review["branches"][at]["proof"]["notes"].to_string();
    assert!(
        notes(0).contains("the agent's own commit, without tm's trailers"),
        "{review}"
    );
    assert!(
        !notes(1).contains("agent's") && notes(1).contains("work-1.1"),
        "tm ran its tests and made its commit: {review}"
    );
    let words = said(&scene, &["review", "approve", "--all"], 0);
    assert!(words.contains("1.1 is approved") && words.contains("1.2 is approved"));
    let refused = said(&scene, &["waves", "land", "--yes"], 1);
    assert!(
        refused.contains("it is what you are on") && refused.contains("git switch"),
        "{refused}"
    );
    scene.git(&["switch", "--quiet", "main"]);
    let landed = said(&scene, &["waves", "land", "--yes"], 0);
    assert!(
        landed.contains("Add schema") && landed.contains("Add store"),
        "{landed}"
    );
    scene.git(&["merge-base", "--is-ancestor", branch, "main"]);
}

#[test]
fn what_nobody_has_judged_on_the_branch_of_autopilot_is_not_passed_on() {
    let scene = begun();
    scene.autopilot_ok(&["pause"]);
    write(&scene.root().join("more"), "more\n");
    scene.git(&["add", "more"]);
    scene.git(&["commit", "--quiet", "--message", "on top"]);
    scene.git(&["switch", "--quiet", "main"]);
    for command in [
        &["waves", "land", "--yes"][..],
        &["pr", "--dry-run", "--remote", "origin"],
    ] {
        let refused = said(&scene, command, 3);
        assert!(refused.contains("nobody has proven it"), "{refused}");
    }
}

#[test]
fn the_branch_of_autopilot_is_one_pull_request() {
    let scene = begun();
    scene.autopilot_ok(&["pause"]);
    scene.git(&["init", "--quiet", "--bare", "../hub.git"]);
    scene.git(&["remote", "add", "origin", "../hub.git"]);
    let commands = said(&scene, &["pr", "--dry-run", "--base", "main"], 0);
    assert!(
        commands.contains("git push --atomic origin tm/master/task-1-metrics")
            && commands.contains("gh pr create --head tm/master/task-1-metrics --base main"),
        "{commands}"
    );
    let per_task = said(
        &scene,
        &["pr", "--dry-run", "--base", "main", "--per-task"],
        0,
    );
    assert_eq!(per_task, commands, "all of it is one branch");
}

#[test]
fn rejected_work_of_autopilot_is_done_again_by_the_next_run() {
    let scene = begun();
    scene.autopilot_ok(&["pause"]);
    scene.git(&["switch", "--quiet", "main"]);
    said(
        &scene,
        &["review", "reject", "1.1", "--reason", "not so"],
        0,
    );
    assert!(scene.all_statuses().contains("1.1:pending"));
    let refused = said(&scene, &["waves", "land", "--yes"], 3);
    assert!(refused.contains("what the review rejected"), "{refused}");
    said(&scene, &["review", "approve", "1.1"], 0);
    said(&scene, &["waves", "land", "--yes"], 0);
    said(
        &scene,
        &["review", "reject", "1.1", "--reason", "not so"],
        0,
    );
    let run = scene.run(&["--tdd", "off", "--unit", "subtask", "--id", "1.1"]);
    let words = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(0), "{words}");
    assert!(words.contains("1.1"), "{words}");
    let again = scene.report();
    let branch = again["integration_branch"].as_str().expect("a branch");
    let left = scene.git(&["ls-tree", "-r", "--name-only", branch]);
    assert!(
        left.contains("work-1.2") && !left.contains("work-1.1"),
        "{left}"
    );
}
