//! Tasks and tags that get another name, or go, while a run works on them: the run goes on, writes what it can, and
//! nothing is done twice.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;
use std::process::{Output, Stdio};

/// Notes each start; the agent of task 1 waits until the user has changed the backlog.
const WAITS: &str = "echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/starts\"\n\
    [ \"$TM_TASK_ID\" = 1 ] && { echo > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\" > /dev/null; }\n";

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Four tasks, the last after the first, and tests that cost nothing.
fn scene() -> Scene {
    let tasks: [(&str, &str, &[&str]); 4] = [
        ("1", "Document one", &[]),
        ("2", "Document two", &[]),
        ("3", "Document three", &[]),
        ("4", "Document four", &["1"]),
    ];
    let scene = Scene::new(&tasks, &format!("{WAITS}{HONEST}"));
    let suite = "echo 1..1\necho ok - fine\n";
    write(&scene.root().join("run-tests.sh"), suite);
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene.pipe("started");
    scene.pipe("gate");
    scene
}

/// Changes the backlog of the live run, and says so.
fn changes(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("is live and goes on with the tasks that it began with"),
        "{arguments:?}: {words}"
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Ids and statuses of a tag, as the file has them.
fn statuses(scene: &Scene, tag: &str) -> Vec<(String, String)> {
    let file = scene.root().join(".taskmaster/tasks/tasks.json");
    let json = std::fs::read_to_string(file).expect("a backlog");
    let json: Value = serde_json::from_str(&json).expect("valid JSON");
    let tasks = json[tag]["tasks"].as_array().expect("tasks").iter();
    let word = |value: &Value| value.to_string().trim_matches('"').to_owned();
    let mut found: Vec<_> = tasks
        .map(|task| (word(&task["id"]), word(&task["status"])))
        .collect();
    found.sort();
    found
}

fn done(ids: &[&str]) -> Vec<(String, String)> {
    ids.iter()
        .map(|id| ((*id).to_owned(), "done".to_owned()))
        .collect()
}

/// Nobody was asked twice, and nothing is left to do.
fn is_all_done_once(scene: &Scene) {
    let output = scene.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(
        words(&output).contains("nothing to run"),
        "{}",
        words(&output)
    );
    let starts = std::fs::read_to_string(scene.path("starts")).expect("starts");
    let mut starts: Vec<&str> = starts.lines().collect();
    starts.sort_unstable();
    assert_eq!(starts, ["1", "2", "3", "4"]);
    scene.assert_no_process_is_left();
}

#[test]
fn tasks_and_a_tag_that_are_renamed_under_a_live_run_get_their_statuses() {
    let scene = scene();
    let run = scene
        .run_command(&["--max-parallel", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm starts");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    let answer = changes(&scene, &["move", "--from=4", "--to=40", "--json"]);
    let answer: Value = serde_json::from_str(&answer).expect("one document");
    assert!(answer["live_run"].is_string(), "{answer}");
    changes(&scene, &["remove-task", "--id=2", "--yes"]);
    changes(&scene, &["tags", "rename", "master", "other"]);
    write(&scene.path("gate"), "go\n");
    let output = run.wait_with_output().expect("an end");
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let gone = "task `2` is not in the backlog any more";
    assert_eq!(words.matches(gone).count(), 1, "{words}");
    assert_eq!(statuses(&scene, "other"), done(&["1", "3", "40"]));
    assert_eq!(task(&scene.report(), "4")["landed"], true);
    is_all_done_once(&scene);
}

/// Kills a run whose first task is at work while others have landed, and has the backlog changed before and after.
fn killed(scene: &Scene) {
    let mut run = scene.start_and_wait_for_agent(&["--max-parallel", "2"]);
    // With the second slot the other two land meanwhile.
    while !["2", "3"].iter().all(|id| {
        scene
            .git(&["log", "--format=%s", "--branches=tm/*"])
            .contains(&format!("Land task {id}:"))
    }) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    changes(scene, &["move", "--from=3", "--to=30"]);
    run.kill().expect("sent");
    run.wait().expect("an end");
    write(&scene.path("gate"), "go\n");
    let quietly = scene.tm(&["tags", "rename", "master", "other"]).output();
    assert!(!words(&quietly.expect("tm")).contains("is live"));
}

#[test]
fn a_run_that_died_is_taken_up_under_the_names_that_it_began_with() {
    let scene = scene();
    killed(&scene);
    let output = scene.run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(statuses(&scene, "other"), done(&["1", "2", "30", "4"]));
    is_all_done_once(&scene);
}

#[test]
fn a_run_that_is_put_aside_leaves_no_landed_task_to_be_done_again() {
    let scene = scene();
    killed(&scene);
    write(
        &scene.path("agent.sh"),
        &format!("{}\n{HONEST}", WAITS.lines().next().expect("a line")),
    );
    let output = scene.run(&["--on-interrupted", "fresh"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(statuses(&scene, "other"), done(&["1", "2", "30", "4"]));
    let starts = std::fs::read_to_string(scene.path("starts")).expect("starts");
    let again = |id: &str| starts.lines().filter(|line| *line == id).count();
    assert_eq!(["2", "3", "30"].map(again), [1, 1, 0], "{starts}");
}

/// Runs while the agent of task 1 is at work, with one agent at a time, and has something done meanwhile.
fn runs_while(scene: &Scene, meanwhile: impl FnOnce()) -> Output {
    let mut run = scene.run_command(&["--max-parallel", "1"]);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("tm starts");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    meanwhile();
    write(&scene.path("gate"), "go\n");
    run.wait_with_output().expect("an end")
}

#[test]
fn an_id_that_a_run_planned_is_not_given_to_another_task() {
    let scene = scene();
    let output = runs_while(&scene, || {
        changes(&scene, &["remove-task", "--id=4", "--yes"]);
        let added = scene
            .tm(&["add-task", "--title", "Something else"])
            .output();
        let added = String::from_utf8_lossy(&added.expect("tm").stdout).into_owned();
        assert!(added.contains("added task 5"), "{added}");
    });
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("task `4` is not in the backlog any more"),
        "{words}"
    );
    let mut expected = done(&["1", "2", "3"]);
    expected.push(("5".to_owned(), "pending".to_owned()));
    assert_eq!(statuses(&scene, "master"), expected);
}

#[test]
fn a_task_that_somebody_put_under_an_id_of_the_run_gets_none_of_its_statuses() {
    let scene = scene();
    let file = scene.root().join(".taskmaster/tasks/tasks.json");
    let output = runs_while(&scene, || {
        let text = std::fs::read_to_string(&file).expect("a backlog");
        write(&file, &text.replace("Document four", "Something else"));
    });
    let words = words(&output);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert_eq!(
        words.matches("or its id is another task's now").count(),
        1,
        "{words}"
    );
    let mut expected = done(&["1", "2", "3"]);
    expected.push(("4".to_owned(), "pending".to_owned()));
    assert_eq!(statuses(&scene, "master"), expected);
    assert_eq!(task(&scene.report(), "4")["landed"], true);
}
