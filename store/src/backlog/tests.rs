//! Every shape of a backlog, read and written back.

use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tm_scheduler::{Complexity, Priority, TddHalf};

struct Scene {
    folder: TempDir,
    path: PathBuf,
}

impl Scene {
    fn new(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        write(&path, text);
        Self { folder, path }
    }

    fn source(&self) -> BacklogSource {
        BacklogSource::at(&self.path).expect("a source")
    }

    fn read(&self) -> Backlog {
        self.source()
            .read(&ReadOptions::default())
            .expect("a backlog")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).expect("a file")
    }

    fn set(
        &self,
        id: &str,
        status: &str,
        stamp: Option<&str>,
    ) -> Result<Vec<StatusOutcome>, BacklogError> {
        let tag = self.read().tag;
        let change = StatusChange {
            id: id.into(),
            status: Status::from(status),
        };
        self.source()
            .set_statuses(&tag, &[change], RollUp::Relatives, stamp)
    }
}

#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
}

fn ids(backlog: &Backlog) -> Vec<&str> {
    backlog.tasks.iter().map(|task| task.id.as_str()).collect()
}

#[test]
fn every_shape_of_tasks_json_is_read() {
    let task = r#"{"id": 1, "title": "T", "status": "pending"}"#;
    for (text, tag, count) in [
        (format!(r#"{{"tasks": [{task}]}}"#), "master", 1),
        (
            format!(r#"{{"master": {{"tasks": [{task}], "metadata": {{}}}}}}"#),
            "master",
            1,
        ),
        (
            format!(r#"{{"feature": {{"tasks": [{task}]}}}}"#),
            "feature",
            1,
        ),
        (
            format!(r#"{{"a": {{"tasks": []}}, "master": {{"tasks": [{task}]}}, "version": "1"}}"#),
            "master",
            1,
        ),
        (
            format!(r#"{{"tasks": [{task}], "feature": {{"tasks": []}}}}"#),
            "master",
            1,
        ),
        (
            format!(r#"{{"tags": {{"x": {{"tasks": [{task}]}}}}}}"#),
            "x",
            1,
        ),
        (format!(r#"{{"x": [{task}]}}"#), "x", 1),
        (format!("[{task}]"), "master", 1),
        ("{}".to_owned(), "master", 0),
        (String::new(), "master", 0),
    ] {
        let backlog = Scene::new("tasks.json", &text).read();
        assert_eq!(
            (backlog.tag.as_str(), backlog.tasks.len()),
            (tag, count),
            "{text}"
        );
    }
}

#[test]
fn a_model_is_a_name_and_never_an_option() {
    for (written, read) in [
        (r#""opus[1m]""#, Some("opus[1m]")),
        (
            r#""anthropic/claude-sonnet-4.5""#,
            Some("anthropic/claude-sonnet-4.5"),
        ),
        (r#""--dangerously""#, None),
        (r#""two words""#, None),
        ("[1]", None),
    ] {
        let text = format!(
            r#"{{"master": {{"tasks": [{{"id": 1, "title": "A", "status": "pending", "metadata": {{"model": {written}}}}}]}}}}"#
        );
        let backlog = Scene::new("tasks.json", &text).read();
        assert_eq!(
            backlog.tasks[0].metadata.model.as_deref(),
            read,
            "{written}"
        );
        let is_told = backlog
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains("metadata.model"));
        assert_eq!(is_told, read.is_none(), "{written}");
    }
}

#[test]
fn a_place_that_is_no_text_is_left_out_and_told() {
    for (written, read) in [(r#""slurm""#, Some("slurm")), (r#"["slurm"]"#, None)] {
        let text = format!(
            r#"{{"master": {{"tasks": [{{"id": 1, "title": "A", "status": "pending", "metadata": {{"on": {written}}}}}]}}}}"#
        );
        let backlog = Scene::new("tasks.json", &text).read();
        assert_eq!(backlog.tasks[0].metadata.on.as_deref(), read, "{written}");
        let warnings: Vec<String> = backlog.warnings.iter().map(ToString::to_string).collect();
        let is_told = |warning: &String| warning.ends_with("is no name of a place; it is left out");
        assert_eq!(warnings.iter().any(is_told), read.is_none(), "{warnings:?}");
    }
}

#[test]
fn an_id_that_no_program_could_be_told_is_none() {
    let text = r#"{"tasks": [{"id": "a\u0000b", "title": "one"}, {"id": " ", "title": "two"},
        {"id": "c d", "title": "three", "status": "pending", "subtasks": [{"id": "\u0000", "title": "four"}]}]}"#;
    let read = Scene::new("tasks.json", text).read();
    let ids: Vec<&str> = read.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["c d"]);
    assert!(read.tasks[0].subtasks.is_empty());
    assert_eq!(read.warnings.len(), 3, "{:?}", read.warnings);
}

#[test]
fn odd_fields_are_read_with_a_warning_and_never_refused() {
    let scene = Scene::new(
        "tasks.json",
        r#"{"master": {"tasks": [
            {"id": "7", "title": "A", "status": "todo", "priority": "urgent", "details": ["x", "y"], "subtasks": null,
             "dependencies": [1, "2", 3.10, null], "complexity": 7, "acceptanceCriteria": "- one\n- two",
             "metadata": {"tdd_mode": true, "tdd_phase": "red", "paired_task_id": "8", "task_group": "g"}},
            {"id": 8, "description": "- [ ] box\n- [x] done", "subtasks": [
                {"id": 1, "title": "s", "status": "done"},
                {"id": "8.2", "title": "t", "dependencies": [1, "7", "7.1", 2]},
                {"id": 1.10, "title": "u"}]},
            {"title": "no id"}]}}"#,
    );
    let backlog = scene.read();
    assert_eq!(ids(&backlog), ["7", "8"]);
    let [one, two] = &backlog.tasks[..] else {
        panic!("two tasks")
    };
    assert_eq!(
        (one.details.as_str(), one.priority, one.complexity),
        ("x\ny", Priority::Medium, Some(Complexity::L))
    );
    assert_eq!(
        one.dependencies,
        ["1".into(), "2".into(), "3.10".into()] as [TaskId; 3]
    );
    assert_eq!(one.acceptance_criteria, ["one", "two"]);
    assert_eq!(
        one.metadata.tdd.as_ref().map(|mark| mark.half),
        Some(TddHalf::Red)
    );
    assert_eq!(one.metadata.group.as_deref(), Some("g"));
    assert_eq!(two.acceptance_criteria, ["box"]);
    assert_eq!(
        two.subtasks[1].dependencies,
        ["8.1".into(), "7".into(), "7.1".into(), "2".into()] as [TaskId; 4]
    );
    assert_eq!(two.subtasks[2].id, "8.10".into());
    let fields: Vec<&str> = backlog
        .warnings
        .iter()
        .map(|warning| warning.field.as_str())
        .collect();
    for field in ["status", "priority", "dependencies", "title", "tasks"] {
        assert!(fields.contains(&field), "{field} in {fields:?}");
    }
}

#[test]
fn what_would_be_found_in_place_of_a_backlog_is_the_backlog_too() {
    let below = |path: &str| {
        let scene = Scene::new(path, "tasks: []\n");
        let source = BacklogSource::at(&scene.path).expect("a backlog");
        let files = source.files_below(scene.folder.path()).into_iter();
        let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
        files.join(" ")
    };
    assert_eq!(
        below("sub/tasks/tasks.json"),
        "sub/tasks/tasks.json sub/.taskmaster/tasks/tasks.json sub/.taskmaster/backlog.yaml sub/backlog.yaml sub/backlog.yml"
    );
    assert_eq!(
        below(".taskmaster/tasks/tasks.json"),
        ".taskmaster/tasks/tasks.json"
    );
    assert_eq!(below("elsewhere.yaml"), "elsewhere.yaml");
}

#[test]
fn the_current_tag_is_what_the_state_says_and_an_unknown_one_is_refused() {
    let text = r#"{"a": {"tasks": []}, "b": {"tasks": [{"id": 1, "title": "x"}]}}"#;
    let scene = Scene::new(".taskmaster/tasks/tasks.json", text);
    write(
        &scene.folder.path().join(".taskmaster/state.json"),
        r#"{"currentTag": "b"}"#,
    );
    let source = BacklogSource::find(scene.folder.path()).expect("found");
    assert_eq!(
        source
            .read(&ReadOptions::default())
            .expect("a backlog")
            .tag
            .as_str(),
        "b"
    );
    let options = ReadOptions {
        tag: Some("nope".into()),
        ..ReadOptions::default()
    };
    let refusal = source.read(&options).expect_err("refused").to_string();
    assert!(refusal.contains("there are `a`, `b`"), "{refusal}");
}

#[test]
fn what_is_no_backlog_does_not_pass_for_an_empty_one() {
    for (text, told) in [
        ("", "is blank"),
        (" \n", "is blank"),
        ("[]", "an empty list"),
        ("{}", "no list of tasks"),
        (r#"{"version": 1}"#, "no list of tasks"),
        (
            r#"{"master": {"tasks": {}}}"#,
            "of tag `master` is not a list",
        ),
        (r#"{"tasks": {"1": {}}}"#, "of tag `master` is not a list"),
    ] {
        let warnings: Vec<String> = Scene::new("tasks.json", text)
            .read()
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(
            matches!(&warnings[..], [only] if only.contains(told)),
            "{text}: {warnings:?}"
        );
    }
    for text in ["null", "7", "\"x\"", "{\"tasks\": [{\"id\": 1"] {
        let error = Scene::new("tasks.json", text)
            .source()
            .read(&ReadOptions::default())
            .expect_err("refused");
        assert!(
            matches!(error, BacklogError::Syntax { .. }),
            "{text}: {error}"
        );
    }
    let full = Scene::new(
        "tasks.json",
        r#"{"master": {"tasks": []}, "other": {"tasks": []}}"#,
    );
    assert_eq!(full.read().warnings, []);
}

/// However deep what nobody asks for is nested, and whatever a program cut in the middle of a character.
#[test]
fn what_strangers_write_is_read_and_what_is_no_json_is_said_with_its_place() {
    let read = |text: &str| {
        let scene = Scene::new("tasks.json", text);
        let read = scene.source().read(&ReadOptions::default());
        read.map_err(|error| error.to_string())
    };
    let deep = format!("{}1{}", "{\"]\\\"\":[".repeat(50_000), "]}".repeat(50_000));
    let half = r#"He said \"hi\"\n\ud83d \u00e9"#;
    let text = format!(
        "{{\"tasks\": [{{\"id\": 1, \"title\": \"x\", \"details\": \"{half}\", \"metadata\": {deep}}}]}}"
    );
    let backlog = read(&text).expect("a backlog");
    assert_eq!(backlog.tasks[0].details, "He said \"hi\"\n\u{fffd} \u{e9}");
    for (text, error) in [
        (
            "{\"tasks\": [\n{\"id\": 1",
            "the file ends in the middle at line 2, column 9",
        ),
        ("{\"done\": yes\n}", "expected a value at line 1, column 10"),
        (
            "{'tasks': []}",
            "expected a key in double quotes at line 1, column 2",
        ),
        (
            "{\"tasks\": [],}",
            "expected a key in double quotes at line 1, column 14",
        ),
        (
            "{\"a\": \"\t\"}",
            "a control character in a string; it has to be escaped at line 1, column 8",
        ),
    ] {
        let refused = read(text).expect_err("refused");
        assert!(refused.ends_with(error), "{refused}");
    }
}

#[test]
fn only_the_bytes_of_a_status_change() {
    let text = "\u{feff}{\r\n\t\"master\": {\"tasks\": [\r\n\t\t{\"id\": 1.0, \"title\": \"\\u00e9 \\/\", \"status\" :  \"pending\", \"x\": 1e3}]}, \
                \"other\": {\"tasks\": [{\"id\": 1.0, \"status\": \"pending\"}]}}";
    let scene = Scene::new("tasks.json", text);
    scene.set("1.0", "done", None).expect("set");
    assert_eq!(scene.text(), text.replacen("\"pending\"", "\"done\"", 1));
    scene.set("1.0", "pending", None).expect("set");
    assert_eq!(scene.text(), text);
}

#[test]
fn a_stamp_is_written_beside_the_status_in_the_files_own_layout() {
    let text = "{\n  \"tasks\": [\n    {\n      \"id\": 1,\n      \"status\": \"pending\"\n    },\n    {\"id\": 2, \"title\": \"x\"}\n  ]\n}\n";
    let scene = Scene::new("tasks.json", text);
    scene
        .set("1", "done", Some("2026-01-01T00:00:00.000Z"))
        .expect("set");
    scene.set("2", "done", Some("T")).expect("set");
    let expected = text
        .replace(
            "\"pending\"",
            "\"done\",\n      \"updatedAt\": \"2026-01-01T00:00:00.000Z\"",
        )
        .replace(
            "\"x\"}",
            "\"x\", \"status\": \"done\", \"updatedAt\": \"T\"}",
        );
    assert_eq!(scene.text(), expected);
    let before = scene.text();
    scene.set("1", "done", Some("later")).expect("set");
    assert_eq!(
        scene.text(),
        before,
        "the same status again changes nothing"
    );
}

#[test]
fn parents_follow_their_subtasks() {
    let text = r#"{"tasks": [{"id": 5, "title": "p", "status": "pending", "subtasks": [
        {"id": 1, "title": "a", "status": "pending"}, {"id": 2, "title": "b", "status": "pending"}]}]}"#;
    let scene = Scene::new("tasks.json", text);
    let parent = || scene.read().tasks[0].status.clone();
    scene.set("5.1", "done", None).expect("set");
    assert_eq!(parent(), Status::InProgress);
    scene.set("5.2", "done", None).expect("set");
    assert_eq!(parent(), Status::Done);
    scene.set("5.1", "pending", None).expect("set");
    scene.set("5.2", "pending", None).expect("set");
    assert_eq!((parent(), scene.text().as_str()), (Status::Pending, text));
}

#[test]
fn unknown_tasks_are_all_named_and_nothing_is_written() {
    let text = r#"{"tasks": [{"id": 1, "status": "pending"}]}"#;
    let scene = Scene::new("tasks.json", text);
    let change = |id: &str| StatusChange {
        id: id.into(),
        status: Status::Done,
    };
    let changes = [change("1"), change("8"), change("9.1")];
    let refusal = scene
        .source()
        .set_statuses(&"master".into(), &changes, RollUp::None, None)
        .expect_err("refused");
    assert!(refusal.to_string().contains("`8`, `9.1`"), "{refusal}");
    assert_eq!(scene.text(), text);
}

/// Those that an id can mean are found without a look at the others.
#[test]
fn a_status_is_the_same_whatever_other_tasks_there_are() {
    let task = r#"{"id": "1.2", "title": "t", "status": "pending"}"#;
    let parent = r#"{"id": 1, "title": "p", "status": "pending", "subtasks": [
        {"id": 1, "title": "a", "status": "done"}, {"id": "2", "title": "b", "status": "pending"}]}"#;
    let others = [
        r#"{"id": 12, "title": "o", "subtasks": [{"id": 2, "title": "c"}]}"#,
        r#"{"id": "1.2.3", "title": "o"}, {"title": "none"}, {"id": "1:red", "title": "o"}"#,
    ];
    let set = |tasks: &[&str], id: &str| {
        let text = format!("{{\"tasks\": [{}]}}", tasks.join(", "));
        let scene = Scene::new("tasks.json", &text);
        let set = scene.set(id, "done", None).expect("set");
        (set, scene.text())
    };
    for tasks in [vec![parent], vec![task, parent], vec![parent, task]] {
        for id in ["1", "1.2"] {
            let (alone, text) = set(&tasks, id);
            assert!(!alone.is_empty(), "{tasks:?} {id}");
            let among = [&others[..1], &tasks, &others[1..]].concat();
            let (outcomes, among) = set(&among, id);
            assert_eq!(outcomes, alone, "{tasks:?} {id}");
            let list = text.strip_prefix("{\"tasks\": [").expect("a list");
            let own = list.strip_suffix("]}").expect("a list");
            let expected = format!("{{\"tasks\": [{}, {own}, {}]}}", others[0], others[1]);
            assert_eq!(among, expected, "{tasks:?} {id}");
        }
    }
}

#[test]
fn a_blank_file_for_which_nothing_is_chosen_stays_blank() {
    for name in ["tasks.json", "backlog.yaml"] {
        let scene = Scene::new(name, "");
        scene
            .source()
            .choose_statuses(
                &ReadOptions::default(),
                |_| Vec::new(),
                RollUp::Relatives,
                None,
            )
            .expect("nothing to do");
        assert_eq!(scene.text(), "");
    }
}

#[test]
fn yaml_keeps_comments_and_order() {
    let text = "# ours\ntasks:\n  - id: 1 # first\n    title: One\n    status: pending # now\n    dependencies: [2]\n  # second\n  \
                - title: Two\n    id: \"2\"\n    subtasks:\n      - id: 1\n        title: Sub\n        status: pending\n";
    let scene = Scene::new("backlog.yaml", text);
    assert_eq!(
        scene.read().tasks[0].dependencies,
        ["2".into()] as [TaskId; 1]
    );
    scene.set("1", "done", None).expect("set");
    assert_eq!(scene.text(), text.replace("pending # now", "done # now"));
    scene.set("2", "done", None).expect("set");
    assert_eq!(scene.read().tasks[1].status, Status::Done);
    scene.set("2.1", "done", None).expect("set");
    assert_eq!(scene.read().tasks[1].subtasks[0].status, Status::Done);
    assert!(scene.text().contains("# second") && scene.text().contains("# first"));
}

#[test]
fn yaml_on_one_line_is_changed_too_and_keys_that_stand_twice_are_refused() {
    let text = "tasks: [{id: 1, title: One, status: pending}]\n";
    let scene = Scene::new("backlog.yaml", text);
    scene.set("1", "done", None).expect("set");
    assert_eq!(scene.text(), text.replace("pending", "done"));
    let twice = Scene::new("backlog.yaml", "tasks: []\ntasks: []\n");
    assert!(matches!(
        twice.source().read(&ReadOptions::default()),
        Err(BacklogError::Syntax { .. })
    ));
}

#[test]
fn a_claude_code_list_is_read_and_written_file_by_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("my-list");
    std::fs::create_dir(&list).expect("a folder");
    write(
        &list.join("2.json"),
        r#"{"id": "2", "subject": "Two", "status": "pending", "blockedBy": ["1", "10"]}"#,
    );
    write(
        &list.join("10.json"),
        r#"{"id": "10", "subject": "Ten", "status": "in_progress", "blockedBy": []}"#,
    );
    let source = BacklogSource::at(&list).expect("a source");
    let backlog = source.read(&ReadOptions::default()).expect("a backlog");
    assert_eq!(
        (ids(&backlog), backlog.tag.as_str()),
        (vec!["2", "10"], "my-list")
    );
    assert_eq!(
        (
            backlog.tasks[0].dependencies.len(),
            backlog.warnings[0].field.as_str()
        ),
        (1, "blockedBy")
    );
    let change = StatusChange {
        id: "2".into(),
        status: Status::Done,
    };
    source
        .set_statuses(&backlog.tag, &[change], RollUp::Relatives, Some("x"))
        .expect("set");
    let text = std::fs::read_to_string(list.join("2.json")).expect("a file");
    assert!(text.contains(r#""status": "completed""#), "{text}");
}

#[test]
fn a_claude_code_list_is_changed_file_by_file_and_both_sides_of_a_dependency_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("my-list");
    std::fs::create_dir(&list).expect("a folder");
    let two = "{\n  \"id\": \"2\",\n  \"subject\": \"Two\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": []\n}";
    write(&list.join("2.json"), two);
    let three =
        r#"{"id": "3", "subject": "Three", "status": "pending", "blocks": [], "blockedBy": ["2"]}"#;
    write(&list.join("3.json"), three);
    write(&list.join(".highwatermark"), "3");
    let source = BacklogSource::at(&list).expect("a source");
    let change = |change: Change| source.change(&ReadOptions::default(), |_| vec![change.clone()]);
    let text = |name: &str| std::fs::read_to_string(list.join(name)).expect("a file");
    let blocks = |name: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&text(name)).expect("JSON")["blocks"].take()
    };
    let fields = serde_json::json!({
        "title": "Four", "details": "much", "priority": "high", "status": "review", "dependencies": [2]
    });
    let fields = fields
        .as_object()
        .expect("fields")
        .clone()
        .into_iter()
        .collect();
    let add = |fields| {
        let tasks = vec![(None, fields)];
        change(Change::AddTasks { tasks }).expect("added")[0]
            .ids
            .clone()
    };
    assert_eq!(add(fields), ["4".into()]);
    let backlog = source.read(&ReadOptions::default()).expect("a backlog");
    let four = backlog.tasks.last().expect("a task");
    assert_eq!(
        (four.title.as_str(), four.details.as_str(), four.priority),
        ("Four", "much", Priority::High)
    );
    assert_eq!(
        (&four.status, &four.dependencies),
        (&Status::InProgress, &vec![TaskId::from("2")])
    );
    assert_eq!(blocks("2.json"), serde_json::json!(["4"]));
    assert_eq!(text(".highwatermark"), "4");
    let (from, to) = ("4".into(), "7".into());
    change(Change::Move { from, to }).expect("moved");
    assert!(list.join("7.json").exists() && !list.join("4.json").exists());
    assert_eq!(blocks("2.json"), serde_json::json!(["7"]));
    change(Change::AddDependencies {
        edges: vec![("7".into(), "3".into())],
    })
    .expect("added");
    assert_eq!(blocks("3.json"), serde_json::json!(["7"]));
    change(Change::Remove {
        ids: vec!["7".into()],
    })
    .expect("removed");
    assert_eq!(
        (text("2.json").as_str(), list.join("7.json").exists()),
        (two, false)
    );
    for refused in [
        Change::AddSubtask {
            parent: "2".into(),
            fields: Vec::new(),
        },
        Change::Move {
            from: "2".into(),
            to: "../../x".into(),
        },
        Change::RemoveTag {
            name: "my-list".into(),
        },
    ] {
        assert!(matches!(change(refused), Err(BacklogError::Refused { .. })));
    }
    assert_eq!(add(Vec::new()), ["8".into()], "no id is given twice");
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let tasks: Vec<String> = (1..=24)
        .map(|id| format!(r#"{{"id": {id}, "status": "pending"}}"#))
        .collect();
    let scene = Scene::new(
        "tasks.json",
        &format!(r#"{{"tasks": [{}]}}"#, tasks.join(", ")),
    );
    std::thread::scope(|scope| {
        for id in 1..=24 {
            let scene = &scene;
            scope.spawn(move || {
                let source = scene.source();
                let change = StatusChange {
                    id: TaskId::new(id.to_string()),
                    status: Status::Done,
                };
                source
                    .set_statuses(&"master".into(), &[change], RollUp::None, Some("now"))
                    .expect("set");
            });
        }
    });
    assert!(
        scene
            .read()
            .tasks
            .iter()
            .all(|task| task.status == Status::Done)
    );
    assert_eq!(
        std::fs::read_dir(scene.folder.path())
            .expect("a folder")
            .count(),
        1,
        "no lock is left"
    );
}

#[test]
fn a_status_that_was_undone_unknowingly_is_written_again_and_one_that_was_changed_since_is_not() {
    let before = r#"{"tasks": [{"id": 1, "status": "pending", "updatedAt": "2026-01-01T00:00:00.000Z"}, {"id": 2, "status": "pending"}]}"#;
    let scene = Scene::new("tasks.json", before);
    let stamp = "2026-01-02T00:00:00.000Z";
    let changes = ["1", "2"].map(|id| StatusChange {
        id: id.into(),
        status: Status::Done,
    });
    let written = scene
        .source()
        .set_statuses(&"master".into(), &changes, RollUp::None, Some(stamp))
        .expect("set");
    let restore = || {
        scene
            .source()
            .restore_statuses(&ReadOptions::default(), &written, stamp)
            .expect("restored")
    };
    assert_eq!(restore(), 0, "nothing was undone");
    let after = scene.text();
    write(&scene.path, before);
    assert_eq!(
        (restore(), scene.text()),
        (2, after),
        "a writer that had read the file before wrote it back"
    );
    scene
        .set("1", "pending", Some("2026-01-03T00:00:00.000Z"))
        .expect("set");
    assert_eq!(restore(), 0, "somebody wanted it");
}

#[test]
fn a_stale_lock_of_either_kind_is_removed() {
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    for is_folder in [true, false] {
        let scene = Scene::new(
            "tasks.json",
            r#"{"tasks": [{"id": 1, "status": "pending"}]}"#,
        );
        let lock = scene.folder.path().join("tasks.json.lock");
        if is_folder {
            std::fs::create_dir(&lock).expect("a folder");
        } else {
            write(&lock, "{}");
        }
        std::fs::File::open(&lock)
            .and_then(|file| file.set_modified(old))
            .expect("an old lock");
        scene.set("1", "done", None).expect("set");
        assert!(!lock.exists());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        for name in ["tasks.json", "backlog.yaml"] {
            let scene = Scene::new(name, &text);
            drop(scene.source().read(&ReadOptions::default()));
        }
    }
}

#[test]
fn dependencies_are_read_in_every_spelling_and_written_in_their_own() {
    let spellings = [
        "depends_on: [1, 3]",
        "dependsOn: [1, 3]",
        "blocked_by: [1, 3]",
        "blockedBy: [1, 3]",
        "needs: ['1', 3]",
        "deps: [{id: 1}, {id: 3, why: x}]",
        "needs: 1, 3",
        "dependencies: []\n    depends_on: [1, 3]",
        "dependencies: [1]\n    needs: [3, 1]",
    ];
    for spelled in spellings {
        let text = format!(
            "tasks:\n  - {{id: 1, title: a, status: pending}}\n  - {{id: 3, title: c, status: pending}}\n  - id: 2 # two\n    title: b\n    status: pending\n    {spelled}\n  - {{id: 4, title: d, status: pending}}\n"
        );
        let scene = Scene::new("backlog.yaml", &text);
        let on = || {
            let tasks = scene.read().tasks;
            let two = tasks.into_iter().find(|task| task.id == "2".into());
            let ids = two.expect("task 2").dependencies.into_iter();
            ids.map(|id| id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(on(), ["1", "3"], "{spelled}");
        let name = spelled.split(':').next().expect("a name");
        let change = |change: Change| {
            let changed = scene
                .source()
                .change(&ReadOptions::default(), |_| vec![change.clone()]);
            changed.unwrap_or_else(|error| panic!("{spelled}: {error}"));
            let text = scene.text();
            assert!(text.contains(&format!("    {name}:")), "{text}");
            assert!(text.contains("- id: 2 # two\n"), "{text}");
        };
        let edges = |on: &str| vec![("2".into(), on.into())];
        change(Change::AddDependencies { edges: edges("4") });
        assert_eq!(on().len(), 3, "{spelled}: {}", scene.text());
        change(Change::RemoveDependencies { edges: edges("4") });
        change(Change::Move {
            from: "1".into(),
            to: "9".into(),
        });
        assert_eq!(on(), ["9", "3"], "{spelled}: {}", scene.text());
        change(Change::Remove {
            ids: vec!["3".into()],
        });
        assert_eq!(on(), ["9"], "{spelled}: {}", scene.text());
    }
}

#[test]
fn what_looks_like_a_field_is_named_and_renamed_where_there_is_one_answer() {
    let json = r#"{"tasks": [
  {"id": 1, "titel" : "a", "status": "pendng"},
  {"id": 2, "title": "b", "Status": "doen", "dependancies":[1] , "seeds": [1], "Priority": "hihg"},
  {"id": 3, "title": "c", "status": "plan", "dependencies": [1], "dependancies": [2], "after": [2]},
  {"id": 4, "title": "d", "status": "done", "status": "pending", "requires": [1], "effort": 3}
]}
"#;
    let scene = Scene::new("tasks.json", json);
    let told = |field: &str| {
        let warnings = scene.read().warnings.into_iter();
        let of_field = warnings.filter(|warning| warning.field == field);
        of_field
            .map(|warning| format!("{} {}", warning.task.expect("a task"), warning.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(told("titel"), ["1 looks like `title` and is not read"]);
    assert_eq!(
        told("dependancies"),
        [
            "2 looks like `dependencies` and is not read",
            "3 looks like `dependencies` and is not read"
        ]
    );
    assert_eq!(
        told("requires"),
        ["4 looks like `dependencies` and is not read"]
    );
    assert_eq!(
        (told("after"), told("seeds"), told("effort")),
        (vec![], vec![], vec![])
    );
    assert_eq!(
        told("status"),
        [
            "1 `pendng` is not known, perhaps `pending`; the task is left alone",
            "2 is missing; read as `pending`",
            "3 `plan` is not known; the task is left alone",
            "4 stands twice; the last one is read"
        ]
    );
    scene
        .source()
        .repair(&ReadOptions::default())
        .expect("repaired");
    let expected = json
        .replace("\"titel\"", "\"title\"")
        .replace("\"pendng\"", "\"pending\"")
        .replace(
            "\"Status\": \"doen\", \"dependancies\"",
            "\"status\": \"done\", \"dependencies\"",
        )
        .replace("\"Priority\": \"hihg\"", "\"priority\": \"high\"");
    assert_eq!(scene.text(), expected);
    let yaml = "tasks:\n  - id: 1 # one\n    titel: a # b\n    status: done\n  - {id: 2, title: b, status: pending, dependancies: [1]} # c\n";
    let scene = Scene::new("backlog.yaml", yaml);
    scene
        .source()
        .repair(&ReadOptions::default())
        .expect("repaired");
    let expected = yaml
        .replace("titel", "title")
        .replace("dependancies", "dependencies");
    assert_eq!(scene.text(), expected);
}

#[test]
fn a_group_that_no_task_has_is_named_with_those_that_there_are() {
    let text = r#"{"tasks": [{"id": 1, "title": "a", "status": "done", "metadata": {"task_group": "pages"}}, {"id": 2, "title": "b", "status": "pending"}]}"#;
    let read = |group: &str| {
        let scene = Scene::new("tasks.json", text);
        let options = ReadOptions {
            group: Some(group.to_owned()),
            ..ReadOptions::default()
        };
        let read = scene.source().read(&options);
        read.map(|backlog| backlog.tasks.len())
            .map_err(|error| error.to_string())
    };
    assert_eq!(read("pages"), Ok(1));
    let refusal = read("page").expect_err("refused");
    assert!(
        refusal.contains("`page`") && refusal.ends_with("there are `pages`"),
        "{refusal}"
    );
}

#[test]
fn what_a_task_says_is_changed_under_the_names_that_it_has() {
    let change = |id: &str| Change::Update {
        id: id.into(),
        fields: vec![
            ("title".to_owned(), serde_json::json!("new")),
            ("testStrategy".to_owned(), serde_json::json!("look")),
        ],
        note: Some("seen".to_owned()),
        stamp: "now".to_owned(),
    };
    let yaml = "tasks:\n  - id: 1 # one\n    subject: old # t\n    testStrategy: x\n    status: done\n  - {id: 2, title: b, status: done, details: [a]}\n";
    let scene = Scene::new("backlog.yaml", yaml);
    let make = |scene: &Scene, id: &str| {
        let change = change(id);
        scene
            .source()
            .change(&ReadOptions::default(), |_| vec![change.clone()])
            .expect("changed");
    };
    make(&scene, "1");
    let expected = yaml.replace("old", "new").replace(
        "testStrategy: x\n    status: done\n",
        "testStrategy: look\n    status: done\n    details: seen\n",
    );
    assert_eq!(scene.text(), expected);
    make(&scene, "2");
    let last = "  - {id: 2, title: new, status: done, details: [a, seen], test_strategy: look}\n";
    assert!(scene.text().ends_with(last), "{}", scene.text());
    let scene = Scene::new(
        "list/1.json",
        r#"{"id": "1", "subject": "old", "status": "pending", "metadata": {"details": "a"}}"#,
    );
    let folder = scene.path.parent().expect("a folder").to_owned();
    let source = BacklogSource::at(&folder).expect("a source");
    source
        .change(&ReadOptions::default(), |_| vec![change("1")])
        .expect("changed");
    let task = &source
        .read(&ReadOptions::default())
        .expect("a backlog")
        .tasks[0];
    assert_eq!(
        (
            task.title.as_str(),
            task.test_strategy.as_str(),
            task.details.as_str()
        ),
        ("new", "look", "a\n\nseen")
    );
}
