//! Objects that the user's own git takes away while a run goes on, since nothing holds them yet, and what a killed git
//! leaves of a worktree: the run makes them again, and the next one clears up.

use crate::scene::{HONEST, Scene, write};

/// The tests prune while tm holds nothing yet of what they judge.
const PRUNES: &str = "git -C \"$AGENT_FOLDER/checkout\" prune --expire=now\necho >> \"$AGENT_FOLDER/prunes\"\n\
    echo 1..1\necho ok - fine\n";

fn scene(tasks: usize, suite: &str) -> Scene {
    let ids: Vec<String> = (1..=tasks).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Document it", &[] as &[&str]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    write(&scene.root().join("run-tests.sh"), suite);
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene
}

#[test]
fn a_run_beside_which_somebody_prunes_makes_again_what_is_gone() {
    let scene = scene(12, PRUNES);
    let report = scene.runs(&["--max-parallel", "4"], 0);
    assert_eq!(scene.statuses(), ["done"; 12]);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let landed = scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]);
    assert_eq!(landed.lines().count(), 12);
    scene.git(&["fsck", "--connectivity-only"]);
    let prunes = std::fs::read_to_string(scene.path("prunes")).expect("prunes");
    assert!(prunes.lines().count() > 12);
    scene.assert_no_process_is_left();
}

#[test]
fn a_reference_whose_work_was_taken_is_named_by_the_doctor_and_mended_by_the_next_run() {
    let scene = scene(1, "echo 1..1\necho ok - fine\n");
    scene.runs(&[], 0);
    let salvage = "refs/tm/salvage/run/1/1";
    let tree = scene.git(&["rev-parse", "HEAD^{tree}"]);
    let commit = scene.git(&["commit-tree", &tree, "-p", "HEAD", "-m", "lost"]);
    scene.git(&["update-ref", salvage, &commit]);
    let object = format!(".git/objects/{}/{}", &commit[..2], &commit[2..]);
    std::fs::remove_file(scene.root().join(object)).expect("a loose object");
    assert!(!scene.try_git(&["for-each-ref"]).status.success());
    let doctor = scene.tm(&["doctor"]).output().expect("tm");
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains(salvage), "{doctor}");
    scene
        .tm(&["set-status", "--id=1", "--status=pending"])
        .output()
        .expect("tm");
    let output = scene.run(&["--base", "HEAD"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains(salvage) && words.contains("it is removed"),
        "{words}"
    );
    assert!(!scene.git(&["for-each-ref"]).contains(salvage));
}

#[test]
fn a_worktree_that_a_killed_git_half_made_for_a_run_that_is_over_goes_with_the_next_run() {
    let scene = scene(1, "echo 1..1\necho ok - fine\n");
    let report = scene.runs(&[], 0);
    let run = report["run_id"].as_str().expect("a run");
    let projects = scene.path("tm").join("projects");
    let project = std::fs::read_dir(projects).expect("projects").flatten();
    let project = project.map(|entry| entry.path()).next().expect("a project");
    let folder = project.join("worktrees").join(run).join("2");
    let git_dir = scene.root().join(".git/worktrees/2");
    write(
        &folder.join(".git"),
        &format!("gitdir: {}\n", git_dir.display()),
    );
    write(
        &git_dir.join("gitdir"),
        &format!("{}/.git\n", folder.display()),
    );
    write(&git_dir.join("commondir"), "../..\n");
    write(&git_dir.join("HEAD"), &format!("{}\n", "0".repeat(40)));
    write(&git_dir.join("locked"), "in use by tm\n");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 2);
    scene
        .tm(&["set-status", "--id=1", "--status=pending"])
        .output()
        .expect("tm");
    scene.runs(&["--base", "HEAD"], 0);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!folder.exists() && !git_dir.exists());
}
