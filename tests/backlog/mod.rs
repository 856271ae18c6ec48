//! The commands on the backlog, with the flags and keys of Task Master.

mod by_hand;
mod pairs;

use crate::scene::{HONEST, Scene, write};
use crate::skipping::lacks;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Calls tm and expects an exit code; the answer is its stdout.
fn answer(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(scene: &Scene, arguments: &[&str], code: i32) -> Value {
    let text = answer(scene, arguments, code);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{arguments:?}: not one document: {error}: {text}"))
}

fn backlog(scene: &Scene) -> String {
    std::fs::read_to_string(scene.root().join(".taskmaster/tasks/tasks.json")).expect("a backlog")
}

#[test]
fn calls_that_agents_make_of_task_master_answer_with_its_keys() {
    let scene = Scene::new(&[("1", "Add it", &[]), ("2", "Add more", &["1"])], HONEST);
    let next = json(&scene, &["next", "--format", "json"], 0);
    assert_eq!(
        (&next["task"]["id"], &next["found"], &next["tag"]),
        (&"1".into(), &true.into(), &"master".into())
    );
    let list = json(
        &scene,
        &[
            "list",
            "--json",
            "--status",
            "pending,review",
            "--with-subtasks",
        ],
        0,
    );
    assert_eq!(list["tasks"][0]["blocks"], serde_json::json!(["2"]));
    assert_eq!(
        (&list["metadata"]["total"], &list["metadata"]["filtered"]),
        (&2.into(), &2.into())
    );
    let ready = json(&scene, &["list", "--ready", "--json", "-t", "master"], 0);
    assert_eq!(ready["tasks"].as_array().map(Vec::len), Some(1));
    let set = json(
        &scene,
        &["set-status", "--id=1", "--status=done", "-f", "json"],
        0,
    );
    assert_eq!(set["updatedTasks"][0]["oldStatus"], "pending");
    assert_eq!(
        json(&scene, &["show", "1", "--json"], 0)["task"]["status"],
        "done"
    );
    assert_eq!(
        json(&scene, &["show", "1,2", "--json"], 0)["tasks"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert!(answer(&scene, &["list"], 0).contains("Add more"));
    assert_eq!(answer(&scene, &["list", "--silent"], 0), "");
}

#[test]
fn a_task_that_is_not_there_changes_nothing_and_is_an_error_in_one_document() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let before = backlog(&scene);
    let refusal = json(
        &scene,
        &["set-status", "--id=1,9", "--status=done", "--json"],
        1,
    );
    assert_eq!(refusal["success"], false);
    assert!(
        refusal["error"]
            .as_str()
            .is_some_and(|error| error.contains("`9`")),
        "{refusal}"
    );
    answer(&scene, &["set-status", "1", "finished"], 2);
    answer(&scene, &["set-status", "--status=done"], 2);
    answer(&scene, &["show", "9"], 1);
    assert_eq!(backlog(&scene), before);
}

#[test]
fn there_and_back_without_timestamps_leaves_every_byte() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let before = backlog(&scene);
    answer(&scene, &["set-status", "1", "done", "--no-timestamps"], 0);
    assert_ne!(backlog(&scene), before);
    answer(
        &scene,
        &["set-status", "1", "pending", "--no-timestamps"],
        0,
    );
    assert_eq!(backlog(&scene), before);
}

/// Lets processes run to their end and looks at the file all the while: whoever reads it reads a whole backlog.
fn all_succeed_and_the_file_stays_valid(scene: &Scene, processes: Vec<Child>) {
    let path = scene.root().join(".taskmaster/tasks/tasks.json");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).expect("a backlog");
                let json: Value =
                    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
                assert!(json["master"]["tasks"].is_array(), "{text}");
                seen.insert(text);
                std::thread::yield_now();
            }
            seen.len()
        });
        let ends: Vec<bool> = processes
            .into_iter()
            .map(|mut process| process.wait().expect("an end").success())
            .collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(ends.iter().all(|end| *end), "{ends:?}");
        watcher.join().expect("every look was a whole backlog")
    });
    assert!(seen > 1, "the file was looked at while it changed");
}

#[test]
fn thirty_two_processes_set_thirty_two_statuses_and_none_is_lost() {
    let ids: Vec<String> = (1..=32).map(|id| id.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Add it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    let start = |id: &String| {
        scene
            .tm(&["set-status", "--silent", "--id", id, "--status", "done"])
            .spawn()
            .expect("tm")
    };
    all_succeed_and_the_file_stays_valid(&scene, ids.iter().map(start).collect());
    assert!(scene.statuses().iter().all(|status| status == "done"));
}

/// Task Master's own program, where `.ci/run` has installed it; says so where it has not.
fn task_master() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target/tools/task-master/node_modules/.bin/task-master");
    if program.exists() {
        return Some(program);
    }
    lacks("Task Master");
    None
}

/// A project that Task Master accepts, too.
fn shared_scene(ids: &[String]) -> Scene {
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Add it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    let text = backlog(&scene).replace("\"description\": \"\"", "\"description\": \"some\"");
    write(&scene.root().join(".taskmaster/tasks/tasks.json"), &text);
    write(
        &scene.root().join(".taskmaster/config.json"),
        r#"{"models": {}, "global": {}}"#,
    );
    write(
        &scene.root().join(".taskmaster/state.json"),
        r#"{"currentTag": "master", "migrationNoticeShown": true}"#,
    );
    scene
}

fn theirs(scene: &Scene, program: &Path, arguments: &[&str]) -> Command {
    let mut command = scene.program(program);
    command
        .args(arguments)
        .env("TASKMASTER_SKIP_AUTO_UPDATE", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
fn statuses_of_ours_persist_while_task_master_sets_others() {
    let Some(program) = task_master() else { return };
    let ids: Vec<String> = (1..=32).map(|id| id.to_string()).collect();
    let scene = shared_scene(&ids);
    let (first, others) = ids.split_at(3);
    let mut processes: Vec<Child> = first
        .iter()
        .map(|id| {
            theirs(
                &scene,
                &program,
                &["set-status", "--id", id, "--status", "done"],
            )
            .spawn()
            .expect("node")
        })
        .collect();
    processes.extend(others.iter().map(|id| {
        scene
            .tm(&["set-status", "--silent", "--id", id, "--status", "done"])
            .spawn()
            .expect("tm")
    }));
    all_succeed_and_the_file_stays_valid(&scene, processes);
    let statuses = scene.statuses();
    assert!(
        statuses[3..].iter().all(|status| status == "done"),
        "{statuses:?}"
    );
}

/// Stands for a Task Master that reads the backlog, is slow, and writes what it had read.
const SLOW_WRITER: &str = r#"
cp "$2" before
echo read > read
until grep -q '"done"' "$2"; do :; done
cat before > "$2"
"#;

#[test]
fn a_status_that_a_slow_task_master_writes_over_is_there_in_the_end() {
    let scene = Scene::new(&[("1", "Add it", &[]), ("2", "Add it", &[])], HONEST);
    write(&scene.path("task-master"), SLOW_WRITER);
    scene.pipe("checkout/read");
    let program = scene.path("task-master").display().to_string();
    let mut slow = scene.program(Path::new("sh"));
    slow.args([&program, "set-status", ".taskmaster/tasks/tasks.json"]);
    let mut slow = slow.spawn().expect("sh");
    drop(std::fs::read(scene.root().join("read")).expect("it has read"));
    answer(&scene, &["set-status", "--id", "1", "--status", "done"], 0);
    assert!(slow.wait().expect("an end").success());
    assert_eq!(scene.statuses(), ["done", "pending"]);
}

/// Against answers that Task Master gave for the same backlog; it takes seconds for each.
#[test]
fn answers_have_the_keys_that_task_master_gives() {
    let ids: Vec<String> = (1..=3).map(|id| id.to_string()).collect();
    let scene = shared_scene(&ids);
    let recorded: Value =
        serde_json::from_str(include_str!("../task_master/answers.json")).expect("valid JSON");
    for (command, theirs) in recorded["answers"].as_object().expect("answers") {
        let arguments: Vec<&str> = command.split(' ').collect();
        has_keys_of(&json(&scene, &arguments, 0), theirs, command);
    }
}

/// Every key of theirs is in ours, with a value of the same kind.
fn has_keys_of(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, value) in theirs {
                let own = ours
                    .get(key)
                    .unwrap_or_else(|| panic!("{place}: no `{key}` in {ours:?}"));
                has_keys_of(own, value, &format!("{place}.{key}"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}");
            for (own, value) in ours.iter().zip(theirs) {
                has_keys_of(own, value, place);
            }
        }
        _ => assert_eq!(
            std::mem::discriminant(ours),
            std::mem::discriminant(theirs),
            "{place}: {ours} and {theirs}"
        ),
    }
}

#[test]
fn a_list_that_is_watched_is_shown_again_when_the_backlog_changes() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let mut watching = scene
        .tm(&["list", "--watch", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("tm");
    let mut lines = BufReader::new(watching.stdout.take().expect("a pipe")).lines();
    let mut shows =
        |word: &str| lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(word)));
    assert!(shows("\"pending\"").is_some());
    answer(&scene, &["set-status", "--id", "1", "--status", "done"], 0);
    assert!(shows("\"done\"").is_some());
    watching.kill().expect("killed");
    watching.wait().expect("an end");
}

#[test]
fn every_claim_gives_another_task() {
    let ids: Vec<String> = (1..=8).map(|id| id.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Add it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    let claim = || {
        scene
            .tm(&["next", "--claim", "--json"])
            .output()
            .expect("tm")
    };
    let outputs = std::thread::scope(|scope| {
        let claims: Vec<_> = ids.iter().map(|_| scope.spawn(claim)).collect();
        claims
            .into_iter()
            .map(|claim| claim.join().expect("a claim"))
            .collect::<Vec<_>>()
    });
    let answers = outputs
        .iter()
        .map(|output| serde_json::from_slice::<Value>(&output.stdout).expect("one document"));
    let mut given: Vec<String> = answers
        .map(|answer| answer["task"]["id"].as_str().expect("an id").to_owned())
        .collect();
    given.sort();
    assert_eq!(given, ids);
    assert_eq!(
        json(&scene, &["next", "--claim", "--json"], 0)["found"],
        false
    );
}

#[test]
fn layered_graphs_are_validated_at_once_and_what_is_wrong_is_told_in_one_answer() {
    let ids: Vec<String> = (0..51).map(|id| (id + 1).to_string()).collect();
    let layer = |number: usize| &ids[number * 3..number * 3 + 3];
    let before: Vec<Vec<&str>> = (0..51_usize)
        .map(|number| {
            (number / 3).checked_sub(1).map_or_else(Vec::new, |at| {
                layer(at).iter().map(String::as_str).collect()
            })
        })
        .collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .zip(&before)
        .map(|(id, before)| (id.as_str(), "Add it", before.as_slice()))
        .collect();
    let scene = Scene::new(&tasks, HONEST);
    assert_eq!(
        json(&scene, &["validate-dependencies", "--json"], 0)["valid"],
        true
    );
    let scene = Scene::new(
        &[
            ("1", "A", &["2"]),
            ("2", "B", &["1", "9"]),
            ("3", "C", &["3"]),
        ],
        HONEST,
    );
    let problems = json(&scene, &["validate-dependencies", "--json"], 3);
    let types: Vec<&str> = problems["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["type"].as_str())
        .collect();
    assert_eq!(types, ["missing", "self", "circular"]);
}

#[test]
fn a_backlog_is_built_and_repaired_by_commands_alone() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    let added = json(
        &scene,
        &[
            "add-task",
            "--title",
            "More",
            "--dependencies=1",
            "--priority=high",
            "--json",
        ],
        0,
    );
    assert_eq!(added["ids"], serde_json::json!(["2"]));
    answer(&scene, &["add-subtask", "-p", "2", "-t", "Step"], 0);
    let refusal = json(
        &scene,
        &["add-dependency", "--id=1", "--depends-on=2", "--json"],
        1,
    );
    assert!(
        refusal["error"]
            .as_str()
            .is_some_and(|error| error.contains("`1` → `2` → `1`")),
        "{refusal}"
    );
    answer(
        &scene,
        &["remove-dependency", "--id=2", "--depends-on=1"],
        0,
    );
    answer(
        &scene,
        &["remove-dependency", "--id=2", "--depends-on=1"],
        1,
    );
    answer(&scene, &["add-task", "--title", "Small"], 0);
    answer(
        &scene,
        &["add-subtask", "-p", "2", "--task-id", "3", "--generate"],
        0,
    );
    assert_eq!(
        json(&scene, &["show", "2.2", "--json"], 0)["task"]["title"],
        "Small"
    );
    answer(&scene, &["move", "--from=2", "--to=5"], 0);
    assert_eq!(json(&scene, &["show", "5.1", "--json"], 0)["found"], true);
    answer(&scene, &["remove-task", "--id=5"], 1);
    answer(&scene, &["remove-task", "--id=5", "--yes"], 0);
    assert_eq!(scene.statuses().len(), 1);
    let scene = Scene::new(
        &[
            ("1", "A", &["2"]),
            ("2", "B", &["1", "9"]),
            ("3", "C", &["3"]),
        ],
        HONEST,
    );
    assert_eq!(
        json(&scene, &["fix-dependencies", "--json"], 0)["removed"]
            .as_array()
            .map(Vec::len),
        Some(3)
    );
    answer(&scene, &["validate-dependencies"], 0);
}

#[test]
fn a_backlog_is_checked_repaired_and_checked_again() {
    let scene = Scene::new(
        &[
            ("1", "A", &["2"]),
            ("2", "B", &["1", "9"]),
            ("3", "C", &["3"]),
        ],
        HONEST,
    );
    let check = json(&scene, &["tasks", "check", "--json"], 3);
    let types = |list: &Value| {
        let entries = list.as_array().expect("a list").iter();
        entries
            .map(|one| {
                (
                    one["type"].as_str().expect("a type").to_owned(),
                    one["line"].clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    let line = |number: u64| Value::from(number);
    let expected = [("missing", 21), ("self", 33), ("circular", 10)];
    assert_eq!(
        types(&check["errors"]),
        expected.map(|(kind, at)| (kind.to_owned(), line(at)))
    );
    let before = backlog(&scene);
    let planned = json(&scene, &["tasks", "fix", "--dry-run", "--json"], 0);
    assert_eq!(backlog(&scene), before);
    assert_eq!(
        json(&scene, &["tasks", "fix", "--json"], 0)["repairs"],
        planned["repairs"]
    );
    assert_eq!(planned["repairs"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        planned["left"].as_array().map(Vec::len),
        Some(1),
        "a cycle has more than one answer"
    );
    assert_eq!(
        json(&scene, &["tasks", "fix", "--json"], 0)["repairs"],
        serde_json::json!([])
    );
    answer(&scene, &["fix-dependencies"], 0);
    assert_eq!(
        json(&scene, &["tasks", "check", "--json"], 0)["valid"],
        true
    );
    write(&scene.root().join("cut.json"), "{\"tasks\": [\n{\"id\": 1");
    let cut = json(
        &scene,
        &["tasks", "check", "--backlog", "cut.json", "--json"],
        3,
    );
    assert_eq!(
        (&cut["errors"][0]["type"], &cut["errors"][0]["line"]),
        (&"syntax".into(), &2.into())
    );
    let output = scene
        .tm(&["waves", "plan", "--backlog", "cut.json"])
        .output()
        .expect("tm");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("line 2, column 9") && errors.contains("hint:"),
        "{errors}"
    );
}

#[test]
fn a_backlog_is_counted_and_goes_into_other_forms_and_back() {
    let scene = Scene::new(
        &[("1", "A", &[]), ("2", "B", &["1"]), ("3", "C", &["1"])],
        HONEST,
    );
    let stats = json(&scene, &["tasks", "stats", "--json"], 0);
    assert_eq!((&stats["ready"], &stats["blocked"]), (&1.into(), &2.into()));
    assert_eq!(
        (&stats["plan"]["criticalPath"], &stats["plan"]["widestWave"]),
        (&2.into(), &2.into())
    );
    assert!(
        answer(&scene, &["tasks", "stats"], 0).contains("critical path 2 tasks, widest wave 2")
    );
    let plan = |place: &str| {
        json(
            &scene,
            &["waves", "plan", "--format", "json", "--backlog", place],
            0,
        )["tasks"]
            .take()
    };
    let ours = plan(".taskmaster/tasks/tasks.json");
    for (from, to) in [
        (".taskmaster/tasks/tasks.json", "b.yaml"),
        ("b.yaml", "list"),
        ("list", "c.json"),
    ] {
        answer(&scene, &["tasks", "convert", to, "--backlog", from], 0);
        let tag = if to == "list" || to == "c.json" {
            "list"
        } else {
            "master"
        };
        assert_eq!(
            json(&scene, &["list", "--json", "--backlog", to], 0)["metadata"]["tag"],
            tag
        );
        assert_eq!(plan(to), ours, "{to}");
    }
    let refusal = json(&scene, &["tasks", "convert", "b.yaml", "--json"], 1);
    assert!(
        refusal["error"]
            .as_str()
            .is_some_and(|error| error.contains("there already")),
        "{refusal}"
    );
}

#[test]
fn every_kind_of_backlog_is_built_by_commands() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    write(
        &scene.root().join("b.yaml"),
        "# ours\ntasks:\n- {id: 1, title: Add it, status: pending}\n",
    );
    write(
        &scene.root().join("list/1.json"),
        r#"{"id": "1", "subject": "Add it", "status": "pending"}"#,
    );
    for place in ["b.yaml", "list"] {
        let added = json(
            &scene,
            &[
                "add-task",
                "-f",
                place,
                "--title",
                "More",
                "--dependencies=1",
                "--json",
            ],
            0,
        );
        assert_eq!(added["ids"], serde_json::json!(["2"]), "{place}");
        answer(&scene, &["add-task", "-f", place, "--title", "Most"], 0);
        answer(
            &scene,
            &["add-dependency", "-f", place, "--id=3", "--depends-on=2"],
            0,
        );
        answer(
            &scene,
            &["add-dependency", "-f", place, "--id=1", "--depends-on=3"],
            1,
        );
        answer(&scene, &["move", "-f", place, "--from=2", "--to=7"], 0);
        answer(
            &scene,
            &[
                "set-status",
                "--backlog",
                place,
                "--id=1,7",
                "--status=done",
            ],
            0,
        );
        let shown = json(&scene, &["show", "3", "--json", "--backlog", place], 0);
        assert!(
            shown["task"]["dependencies"] == serde_json::json!([7])
                || shown["task"]["blockedBy"] == serde_json::json!(["7"])
        );
        assert_eq!(
            json(&scene, &["next", "--json", "--backlog", place], 0)["task"]["id"],
            "3"
        );
        answer(&scene, &["remove-task", "-f", place, "--id=7", "--yes"], 0);
        answer(&scene, &["validate-dependencies", "--backlog", place], 0);
    }
    let text = std::fs::read_to_string(scene.root().join("b.yaml")).expect("a file");
    assert!(
        text.starts_with("# ours\ntasks:\n- {id: 1, title: Add it, status: done}\n"),
        "{text}"
    );
    answer(
        &scene,
        &["add-subtask", "-f", "list", "--parent=1", "--title=x"],
        1,
    );
    answer(
        &scene,
        &["add-subtask", "-f", "b.yaml", "--parent=1", "--title=x"],
        0,
    );
    answer(&scene, &["tags", "add", "later", "-f", "list"], 1);
}

#[test]
fn the_current_tag_is_the_one_that_was_chosen() {
    let scene = Scene::new(&[("1", "Add it", &[])], HONEST);
    answer(&scene, &["tags", "add", "next", "--copy-from", "master"], 0);
    answer(&scene, &["tags", "use", "next"], 0);
    assert_eq!(json(&scene, &["next", "--json"], 0)["tag"], "next");
    answer(&scene, &["tags", "rename", "next", "later"], 0);
    let tags = json(&scene, &["tags", "--json"], 0);
    assert_eq!(
        (&tags["currentTag"], &tags["totalTags"]),
        (&"later".into(), &2.into())
    );
    answer(&scene, &["add-task", "--title", "Base"], 0);
    answer(
        &scene,
        &["add-task", "--title", "On it", "--dependencies", "2"],
        0,
    );
    answer(
        &scene,
        &[
            "tags",
            "add",
            "--from-branch",
            "--description",
            "that of the branch",
        ],
        0,
    );
    answer(&scene, &["move", "--from=3", "--to-tag=main"], 1);
    assert_eq!(
        json(
            &scene,
            &[
                "move",
                "--from=3",
                "--to-tag=main",
                "--with-dependencies",
                "--json"
            ],
            0
        )["ids"],
        serde_json::json!(["2", "3"])
    );
    answer(&scene, &["tags", "add", "copied", "--copy-from-current"], 0);
    assert_eq!(
        json(&scene, &["list", "--json", "--tag", "copied"], 0)["metadata"]["total"],
        1
    );
    answer(&scene, &["tags", "remove", "main", "--yes"], 0);
    answer(&scene, &["tags", "remove", "copied", "--yes"], 0);
    answer(&scene, &["tags", "use", "nowhere"], 1);
    answer(&scene, &["tags", "remove", "later", "--yes"], 0);
    assert_eq!(
        json(&scene, &["list", "--json"], 0)["metadata"]["tag"],
        "master"
    );
}
