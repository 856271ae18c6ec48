//! A user who goes on working in the checkout while agents do: that costs no attempt, it is told once, and what is the
//! user's stays as it is.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;
use std::process::{Output, Stdio};

/// What the user does, one while each of the first agents is at work.
const USER: [&str; 8] = [
    "echo one > one; git add one; git commit --quiet -m one",
    "echo more >> notes; git commit --quiet -m two notes",
    "echo unfinished >> notes; git stash push --quiet --message unfinished",
    "git switch --quiet -c topic",
    "echo three > three; git add three; git commit --quiet -m three",
    "echo better > three; git commit --quiet --amend -m 'three, better' three",
    "git switch --quiet main; echo four > four; git add four; git commit --quiet -m four four
     git switch --quiet topic; git rebase --quiet main",
    "git branch --quiet -D \"$(git branch --list --format='%(refname:short)' 'tm/*/run-*')\"",
];

/// Says that it is at work, and waits until the user has done something.
const WAITS: &str = "id=${TM_TASK_ID%%:*}\n\
    [ \"$id-$TM_ATTEMPT\" = \"$id-1\" ] && [ -p \"$AGENT_FOLDER/gate-$id\" ] && {\n\
        echo > \"$AGENT_FOLDER/started-$id\"; cat \"$AGENT_FOLDER/gate-$id\" > /dev/null\n\
    }\n";

/// As many tasks that wait for nothing, with tests that cost nothing.
fn scene(tasks: usize, settings: &str, agent: &str) -> Scene {
    let ids: Vec<String> = (1..=tasks).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Document it", &[] as &[&str]))
        .collect();
    let scene = Scene::new(&tasks, agent);
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    write(&scene.root().join("notes"), "notes\n");
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    // git does not rebase over a backlog that somebody writes.
    write(&scene.root().join(".gitignore"), ".taskmaster/tasks/\n");
    scene.git(&["rm", "--quiet", "--cached", "-r", ".taskmaster/tasks"]);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "cheap tests"]);
    scene
}

/// Runs while the user does one thing after the other, each while the agent of that number is at work.
fn runs_beside(scene: &Scene, user: &[&str], arguments: &[&str]) -> (Output, Value) {
    for number in 1..=user.len() {
        scene.pipe(&format!("started-{number}"));
        scene.pipe(&format!("gate-{number}"));
    }
    let mut run = scene.run_command(arguments);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("tm starts");
    for (command, number) in user.iter().zip(1..) {
        drop(std::fs::read(scene.path(&format!("started-{number}"))).expect("an agent"));
        let done = scene.shell(command).output().expect("sh");
        assert!(done.status.success(), "{command}: {done:?}");
        write(&scene.path(&format!("gate-{number}")), "go\n");
    }
    let output = run.wait_with_output().expect("an end");
    (output, scene.report())
}

fn attempts<'a>(report: &'a Value, id: &str) -> &'a Vec<Value> {
    task(report, id)["attempts"].as_array().expect("attempts")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_user_who_goes_on_working_costs_no_attempt_and_loses_nothing() {
    let scene = scene(12, "", &format!("{WAITS}{HONEST}"));
    let (output, report) = runs_beside(&scene, &USER, &["--max-parallel", "4"]);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    for id in 1..=12 {
        assert_eq!(attempts(&report, &id.to_string()).len(), 1, "{report:#}");
    }
    assert_eq!(scene.statuses(), ["done"; 12]);
    let subjects = |branch: &str| scene.git(&["log", "--format=%s", branch]);
    assert_eq!(subjects("main"), "four\ntwo\none\ncheap tests\nstart");
    assert_eq!(
        subjects("topic"),
        "three, better\nfour\ntwo\none\ncheap tests\nstart"
    );
    assert_eq!(scene.git(&["branch", "--show-current"]), "topic");
    assert_eq!(scene.git(&["show", "topic:three"]), "better");
    let stashed = scene.git(&["stash", "list", "--format=%H %s"]);
    let stashed = stashed
        .lines()
        .find_map(|line| line.strip_suffix(" On main: unfinished"));
    let stashed = stashed.expect("the user's stash");
    assert_eq!(
        scene.git(&["show", &format!("{stashed}:notes")]),
        "notes\nmore\nunfinished"
    );
    let branch = report["integration_branch"].as_str().expect("a branch");
    let landed = scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]);
    assert_eq!(landed.lines().count(), 12);
    assert!(words.contains("was deleted; it is made again"), "{words}");
    let told: Vec<&str> = words
        .lines()
        .filter_map(|line| line.split_once("which fails nobody: "))
        .flat_map(|(_, changes)| changes.split("), "))
        .collect();
    let at_topic = |line: &&&str| line.starts_with("HEAD (now topic");
    assert!(told.iter().any(|line| at_topic(&line)), "{words}");
    let once: std::collections::BTreeSet<&&str> = told.iter().collect();
    assert_eq!(once.len(), told.len(), "{words}");
    assert!(report.to_string().contains("which fails nobody: "));
    scene.assert_no_process_is_left();
}

#[test]
fn where_the_user_wants_it_hard_every_agent_of_that_time_has_failed() {
    let hard = "git: { escape: fail }\n";
    let scene = scene(2, hard, &format!("{WAITS}{HONEST}"));
    let (output, report) = runs_beside(&scene, &USER[..1], &["--max-parallel", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let first = attempts(&report, "1");
    assert_eq!(first.len(), 2, "{report:#}");
    assert_eq!(first[0]["failure"], "escaped");
    assert_eq!(scene.statuses(), ["done"; 2]);
}

#[test]
fn a_commit_in_the_checkout_is_the_agents_where_its_own_git_made_it() {
    let agent = "[ \"$TM_TASK_ID-$TM_ATTEMPT\" = 1-1 ] && git -C \"$AGENT_FOLDER/checkout\" commit --quiet --allow-empty -m escaped\n";
    let scene = scene(2, "", &format!("{WAITS}{agent}{HONEST}"));
    let user = [
        "echo one > one",
        "until git log -1 --format=%s | grep -q escaped; do sleep 0.02; done; git add one; git commit --quiet -m one",
    ];
    let (output, report) = runs_beside(&scene, &user, &["--max-parallel", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let first = attempts(&report, "1");
    assert_eq!(first.len(), 2, "{report:#}");
    assert_eq!(first[0]["failure"], "escaped");
    assert!(
        first[0]["noticed"]
            .to_string()
            .contains("it changed the checkout itself: `git -C "),
        "{report:#}"
    );
    assert_eq!(attempts(&report, "2").len(), 1, "{report:#}");
    assert!(
        !scene
            .waves_folder()
            .join("tasks/1/attempt-1/git-commands")
            .exists(),
        "nothing of it is kept"
    );
}
