//! What autopilot believes: nothing that is not there, whoever says so and whoever runs the tests.

use crate::autopilot::{reporting, scene};
use crate::scene::{Scene, write};
use serde_json::Value;

/// Starts task 2 and does its steps up to this one, honestly.
fn begun(scene: Scene, steps: &[&str]) -> Scene {
    scene.autopilot_ok(&["start", "2"]);
    for step in steps {
        scene.work(step, "2.1");
        let results = if *step == "red" {
            "failed:1,passed:1"
        } else {
            "passed:2"
        };
        scene.autopilot_ok(&["complete", step, "--results", results]);
    }
    scene
}

/// Preconditions of the piece of work under way that are not met.
fn unmet(scene: &Scene) -> Vec<String> {
    let next = scene.autopilot_ok(&["next"]);
    let all = next["workUnit"]["preconditions"]
        .as_array()
        .expect("a list")
        .clone();
    assert!(all.len() > 2, "{next:#}");
    let unmet = all.iter().filter(|one| one["met"] == Value::Bool(false));
    unmet
        .map(|one| one["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn without_a_test_nothing_is_taken_whatever_is_reported() {
    let test = "t/part_2_1.t";
    for scene in [scene(), reporting()] {
        let scene = begun(scene, &[]);
        let report = ["complete", "red", "--results", "failed:1,passed:1"];
        scene.refused(&report, 3);
        write(&scene.root().join("lib/impl.py"), "x\n");
        scene.refused(&report, 3);
        std::fs::remove_file(scene.root().join("lib/impl.py")).expect("removed");
        write(&scene.root().join(test), " \n");
        scene.refused(&report, 3);
        assert_eq!(scene.autopilot_ok(&["next"])["action"], "red");
        assert_eq!(scene.git(&["rev-list", "--count", "main..HEAD"]), "0");
    }
    let scene = begun(reporting(), &[]);
    scene.work("red", "2.1");
    let named = [
        "complete",
        "red",
        "--results",
        "failed:1",
        "--files",
        "t/nowhere.t",
    ];
    assert!(scene.refused(&named, 3).contains("`t/nowhere.t`"));
    scene.autopilot_ok(&["complete", "red", "--results", "failed:1", "--files", test]);
}

#[test]
fn tests_that_green_changes_or_deletes_are_seen_in_every_step() {
    for scene in [scene(), reporting()] {
        let scene = begun(scene, &["red"]);
        assert_eq!(unmet(&scene), Vec::<String>::new());
        let test = scene.root().join("t/part_2_1.t");
        let honest = std::fs::read_to_string(&test).expect("a test");
        scene.work("green", "2.1");
        write(&test, ". t/check.sh\ncheck 'it works' 1 1\n");
        assert_eq!(unmet(&scene), ["tests"]);
        scene.refused(&["complete", "green", "--results", "passed:2"], 3);
        write(&test, &honest);
        scene.autopilot_ok(&["complete", "green", "--results", "passed:2"]);
        assert_eq!(unmet(&scene), Vec::<String>::new());
        // Deleted between GREEN and COMMIT, by a file of its own or with the commit of some files alone.
        std::fs::remove_file(&test).expect("removed");
        assert_eq!(unmet(&scene), ["tests", "green-complete"]);
        assert!(scene.refused(&["commit"], 3).contains("`t/part_2_1.t`"));
        assert_eq!(scene.autopilot_ok(&["next"])["action"], "green");
        write(&test, &honest);
        scene.autopilot_ok(&["complete", "green", "--results", "passed:2"]);
        assert!(
            scene
                .refused(&["commit", "--files", "bin/part_2_1"], 3)
                .contains("t/part_2_1.t")
        );
        scene.autopilot_ok(&["commit"]);
        assert_eq!(
            scene.git(&["diff", "--name-only", "main..HEAD", "--", "t", "bin"]),
            "bin/part_2_1\nt/part_2_1.t"
        );
    }
}

#[test]
fn code_that_comes_after_green_is_judged_again() {
    let scene = begun(scene(), &["red", "green"]);
    write(
        &scene.root().join("t/old.t"),
        ". t/check.sh\ncheck 'the old one' 1 2\n",
    );
    scene.refused(&["commit"], 3);
    scene.refused(&["complete", "green", "--results", "passed:2"], 3);
    write(
        &scene.root().join("t/old.t"),
        ". t/check.sh\ncheck 'the old one' 1 1\n",
    );
    scene.autopilot_ok(&["complete", "green"]);
    scene.autopilot_ok(&["commit"]);
}

#[test]
fn a_branch_that_somebody_rewrote_or_added_to_is_not_finalized() {
    for scene in [scene(), reporting()] {
        let scene = begun(scene, &["red", "green"]);
        assert!(
            scene
                .refused(&["finalize", "--results", "passed:2"], 1)
                .contains("COMMIT of `2.1`")
        );
        let commit = scene.autopilot_ok(&["commit"])["commitSha"]
            .as_str()
            .expect("a commit")
            .to_owned();
        let finalize = ["finalize", "--results", "passed:2"];
        write(
            &scene.root().join("bin/part_2_1"),
            "echo 2_1; echo more >&2\n",
        );
        scene.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
        let words = scene.refused(&finalize, 1);
        assert!(words.contains("git reset --soft"), "{words}");
        scene.git(&["reset", "--quiet", "--hard", &commit]);
        scene.git(&["rm", "--quiet", "t/part_2_1.t"]);
        scene.git(&["commit", "--quiet", "--message", "by hand"]);
        scene.refused(&finalize, 3);
        scene.git(&["reset", "--quiet", "--hard", &commit]);
        assert_eq!(scene.autopilot_ok(&finalize)["phase"], "COMPLETE");
    }
}

#[test]
fn what_a_hook_makes_of_a_commit_is_judged_too() {
    let scene = begun(scene(), &["red", "green"]);
    let hook = |text: &str| scene.hook("pre-commit", text);
    hook("echo 'echo broken' > bin/part_2_1; git add bin");
    assert!(scene.refused(&["commit"], 3).contains("bin/part_2_1"));
    assert_eq!(scene.autopilot_ok(&["next"])["action"], "green");
    hook("echo formatted > notes; git add notes");
    scene.work("green", "2.1");
    scene.autopilot_ok(&["complete", "green"]);
    let committed = scene.autopilot_ok(&["commit"]);
    assert!(
        committed["warnings"].to_string().contains("notes"),
        "{committed:#}"
    );
    assert_eq!(scene.git(&["show", "HEAD:bin/part_2_1"]), "echo 2_1");
}
