//! Structural changes on files of every layout: what is not touched keeps its bytes.

use super::super::{Backlog, BacklogError, BacklogSource, Change, Changed, Crossing, ReadOptions};
use proptest::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use tempfile::TempDir;
use tm_scheduler::{TaskId, problems};

struct Scene {
    _folder: TempDir,
    path: PathBuf,
}

const PRETTY: &str = r#"{
  "master": {
    "tasks": [
      {
        "id": 1,
        "title": "One",
        "x": 1e3,
        "dependencies": [],
        "subtasks": [
          {
            "id": 1,
            "title": "a"
          },
          {
            "id": 2,
            "title": "b",
            "dependencies": [
              1
            ]
          }
        ]
      },
      {
        "id": 2,
        "title": "Two",
        "dependencies": [
          1,
          "1.1"
        ]
      }
    ],
    "metadata": {
      "custom": "\u00e9"
    }
  },
  "other": {"tasks": [ {"id":1 ,"title":"x"} ]}
}
"#;

impl Scene {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tasks.json");
        crate::atomic::replace(&path, text.as_bytes()).expect("a file");
        Self {
            _folder: folder,
            path,
        }
    }

    fn change(&self, change: Change) -> Result<Vec<Changed>, BacklogError> {
        let source = BacklogSource::at(&self.path).expect("a source");
        source.change(&ReadOptions::default(), move |_| vec![change.clone()])
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).expect("a file")
    }

    fn read(&self) -> Backlog {
        BacklogSource::at(&self.path)
            .expect("a source")
            .read(&ReadOptions::default())
            .expect("a backlog")
    }

    fn refuses(&self, change: Change, part: &str) {
        let before = self.text();
        let refusal = self.change(change).expect_err("refused").to_string();
        assert!(refusal.contains(part), "{refusal}");
        assert_eq!(self.text(), before);
    }
}

fn new(title: &str) -> Change {
    let fields = vec![
        ("title".to_owned(), json!(title)),
        ("dependencies".to_owned(), json!([2])),
    ];
    Change::AddTasks {
        tasks: vec![(None, fields)],
    }
}

#[test]
fn a_task_is_added_in_the_files_layout_and_its_removal_restores_every_byte() {
    let compact = r#"{"tasks":[{"id":"1","title":"One"},{"id":"2","title":"Two"}]}"#;
    for text in [
        PRETTY.to_owned(),
        PRETTY.replace('\n', "\r\n"),
        compact.to_owned(),
    ] {
        let scene = Scene::new(&text);
        let changed = scene.change(new("Three")).expect("added");
        assert_eq!(changed[0].ids, [TaskId::from("3")]);
        assert_eq!(scene.read().tasks.len(), 3);
        assert_eq!(scene.read().tasks[2].dependencies, [TaskId::from("2")]);
        scene
            .change(Change::Remove {
                ids: vec!["3".into()],
            })
            .expect("removed");
        assert_eq!(scene.text(), text);
    }
    let scene = Scene::new(PRETTY);
    scene.change(new("Three")).expect("added");
    let expected = "      },\n      {\n        \"id\": 3,\n        \"title\": \"Three\",\n        \"dependencies\": [\n          2\n        ],\n        \"status\": \"pending\"\n      }\n    ],\n    \"metadata\"";
    assert!(scene.text().contains(expected), "{}", scene.text());
}

#[test]
fn the_first_task_of_an_empty_file_makes_a_tag() {
    for text in [
        "",
        "{}",
        "{\"master\": {\"tasks\": []}}",
        "[]",
        "{\"tasks\": []}",
    ] {
        let scene = Scene::new(text);
        scene
            .change(Change::AddTasks {
                tasks: vec![(None, vec![("title".to_owned(), json!("x"))])],
            })
            .expect("added");
        assert_eq!(scene.read().tasks.len(), 1, "{}", scene.text());
    }
}

#[test]
fn removing_a_task_removes_the_dependencies_on_it_and_on_its_subtasks() {
    let scene = Scene::new(PRETTY);
    scene
        .change(Change::Remove {
            ids: vec!["1.1".into()],
        })
        .expect("removed");
    assert_eq!(scene.read().tasks[1].dependencies, [TaskId::from("1")]);
    assert!(scene.read().tasks[0].subtasks[0].dependencies.is_empty());
    scene
        .change(Change::Remove {
            ids: vec!["1".into()],
        })
        .expect("removed");
    assert!(scene.read().tasks[0].dependencies.is_empty());
    assert!(
        scene
            .text()
            .contains("\"other\": {\"tasks\": [ {\"id\":1 ,\"title\":\"x\"} ]}")
    );
    scene.refuses(
        Change::Remove {
            ids: vec!["2".into(), "7".into(), "8.1".into()],
        },
        "`7`, `8.1`",
    );
}

#[test]
fn dependencies_follow_what_moves() {
    let scene = Scene::new(PRETTY);
    scene
        .change(Change::Move {
            from: "1".into(),
            to: "9".into(),
        })
        .expect("moved");
    assert_eq!(
        scene.read().tasks[1].dependencies,
        [TaskId::from("9"), "9.1".into()]
    );
    scene
        .change(Change::Move {
            from: "9.1".into(),
            to: "7".into(),
        })
        .expect("moved");
    assert_eq!(
        scene.read().tasks[1].dependencies,
        [TaskId::from("9"), "7".into()]
    );
    assert_eq!(
        scene.read().tasks[0].subtasks[0].dependencies,
        [TaskId::from("7")]
    );
    scene
        .change(Change::Move {
            from: "7".into(),
            to: "9.1".into(),
        })
        .expect("moved");
    assert_eq!(scene.read().tasks[0].subtasks.len(), 2);
    assert_eq!(problems(&scene.read().tasks), []);
    scene.refuses(
        Change::Move {
            from: "2".into(),
            to: "9".into(),
        },
        "there already",
    );
    scene.refuses(
        Change::Move {
            from: "9".into(),
            to: "2.1".into(),
        },
        "subtasks",
    );
}

#[test]
fn a_task_becomes_a_subtask_of_the_one_right_before_it() {
    let scene = Scene::new(
        "{\"tasks\": [\n  {\"id\": 1, \"subtasks\": [{\"id\": 1}]},\n  {\"id\": 2},\n  {\"id\": 3}\n]}\n",
    );
    scene
        .change(Change::Move {
            from: "2".into(),
            to: "1.2".into(),
        })
        .expect("moved");
    assert_eq!(
        scene.text(),
        "{\"tasks\": [\n  {\"id\": 1, \"subtasks\": [{\"id\": 1}, {\"id\": 2}]},\n  {\"id\": 3}\n]}\n"
    );
}

#[test]
fn a_dependency_is_added_and_removed_without_a_trace_and_cycles_are_refused() {
    let scene = Scene::new(PRETTY);
    let add = |task: &str, dependency: &str| Change::AddDependencies {
        edges: vec![(task.into(), dependency.into())],
    };
    scene.refuses(add("1", "2"), "`1` → `2` → `1` would wait");
    scene.refuses(add("1", "77"), "`77`");
    scene.refuses(add("1", "1"), "itself");
    scene.refuses(add("1.1", "1.2"), "`1.1` → `1.2` → `1.1`");
    let scene_without = Scene::new(r#"{"tasks": [{"id": 1}, {"id": 2}, {"id": 3}]}"#);
    let around = [("1", "2"), ("2", "3"), ("3", "1")];
    let edges = |some: &[(&str, &str)]| Change::AddDependencies {
        edges: some
            .iter()
            .map(|&(task, on)| (task.into(), on.into()))
            .collect(),
    };
    scene_without.refuses(edges(&around), "`1` → `2` → `3` → `1`");
    scene_without.change(edges(&around[..2])).expect("added");
    scene.change(add("2", "1.2")).expect("added");
    assert_eq!(scene.read().tasks[1].dependencies.len(), 3);
    scene
        .change(Change::RemoveDependencies {
            edges: vec![("2".into(), "1.2".into())],
        })
        .expect("removed");
    assert_eq!(scene.text(), PRETTY);
}

#[test]
fn cycles_are_looked_for_in_what_stands_after_all_changes_of_one_edit() {
    let text = r#"{"tasks": [{"id": 1}, {"id": 2, "dependencies": [1]}, {"id": 3}]}"#;
    let scene = Scene::new(text);
    let source = BacklogSource::at(&scene.path).expect("a source");
    let edges = |task: &str, on: &str| vec![(TaskId::from(task), TaskId::from(on))];
    let change = |changes: [Change; 2]| {
        let done = source.change(&ReadOptions::default(), |_| changes.to_vec());
        done.map(drop).map_err(|error| error.to_string())
    };
    let reversed = change([
        Change::AddDependencies {
            edges: edges("1", "2"),
        },
        Change::RemoveDependencies {
            edges: edges("2", "1"),
        },
    ]);
    assert_eq!(reversed, Ok(()));
    let refused = change([
        Change::AddDependencies {
            edges: edges("2", "3"),
        },
        Change::AddDependencies {
            edges: edges("3", "1"),
        },
    ]);
    assert!(refused.expect_err("a cycle").contains("would wait"));
    assert_eq!(scene.read().tasks[0].dependencies, [TaskId::from("2")]);
}

#[test]
fn moving_there_and_back_restores_every_byte() {
    let text = r#"{"tasks": [
  {"id": 1, "dependencies": [2, "3.1"], "subtasks": []},
  {"id": 2, "title" : "x"},
  {"id": 3, "subtasks": [
    {"id": 1, "dependencies": []},
    {"id": 2, "dependencies": [ 1 ]},
    {"id": 3, "dependencies": [2, 4, 1]},
    {"id": 5, "dependencies": ["3.2"]}
  ]},
  {"id": 4, "dependencies": [{"id": 3}, {"id": "3.2", "why": "y"}]}
]}
"#;
    let scene = Scene::new(text);
    let go = |from: &str, to: &str| {
        let (from, to) = (from.into(), to.into());
        scene.change(Change::Move { from, to }).expect("moved");
    };
    go("3", "71");
    let subtasks = &scene.read().tasks[2].subtasks;
    assert!(
        scene.text().contains("\"dependencies\": [ 1 ]"),
        "{}",
        scene.text()
    );
    assert_eq!(subtasks[1].dependencies, [TaskId::from("71.1")]);
    assert_eq!(
        scene.read().tasks[3].dependencies,
        [TaskId::from("71"), "71.2".into()]
    );
    go("71", "3");
    assert_eq!(scene.text(), text);
    for (from, to) in [("2", "20"), ("3.1", "3.9"), ("3.3", "8"), ("2", "1.1")] {
        go(from, to);
        go(to, from);
        assert_eq!(scene.text(), text, "{from} to {to}");
    }
}

#[test]
fn tags_are_added_copied_renamed_and_removed_and_the_others_keep_their_bytes() {
    let scene = Scene::new(PRETTY);
    let add = |name: &str, copy_of: Option<&str>| Change::AddTag {
        name: name.into(),
        copy_of: copy_of.map(Into::into),
        description: None,
        stamp: "now".to_owned(),
    };
    scene.change(add("copy", Some("master"))).expect("added");
    scene.refuses(add("copy", None), "there already");
    scene.refuses(add("a b", None), "letters");
    scene
        .change(Change::RenameTag {
            from: "copy".into(),
            to: "new".into(),
        })
        .expect("renamed");
    let names: Vec<String> = scene.read().tags.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["master", "other", "new"]);
    let options = ReadOptions {
        tag: Some("new".into()),
        ..ReadOptions::default()
    };
    let copy = BacklogSource::at(&scene.path)
        .expect("a source")
        .read(&options)
        .expect("a backlog");
    assert_eq!(copy.tasks, scene.read().tasks);
    scene
        .change(Change::RemoveTag { name: "new".into() })
        .expect("removed");
    assert_eq!(scene.text(), PRETTY);
    scene.refuses(Change::RemoveTag { name: "new".into() }, "tag `new`");
}

#[test]
fn a_task_leaves_its_tag_only_without_dependencies_or_with_leave_to_drop_them() {
    let scene = Scene::new(PRETTY);
    let to = |id: &str, crossing| Change::MoveToTag {
        ids: vec![id.into()],
        tag: "other".into(),
        crossing,
    };
    scene.refuses(to("2", Crossing::Refuse), "`2` → `1`");
    scene.refuses(to("1", Crossing::Drop), "there already");
    let both = Change::MoveToTag {
        ids: vec!["1".into(), "2".into()],
        tag: "new".into(),
        crossing: Crossing::Refuse,
    };
    let add = Change::AddTag {
        name: "new".into(),
        copy_of: None,
        description: None,
        stamp: "now".to_owned(),
    };
    scene.change(add).expect("added");
    scene
        .change(both)
        .expect("what depends on each other moves together");
    assert_eq!(scene.read().tasks.len(), 0);
    let scene = Scene::new(PRETTY);
    scene.change(to("2", Crossing::Drop)).expect("moved");
    assert_eq!(scene.read().tasks.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn opening_and_writing_without_a_change_is_the_identity(
        spaces in "[ \n]{0,3}",
        ids in proptest::collection::vec(50..99_u32, 0..8),
    ) {
        let entries: Vec<String> = ids
            .iter()
            .map(|id| format!("{{{spaces}\"id\"{spaces}:{id},{spaces}\"dependencies\":[{spaces}{id}{spaces}, 7]{spaces}}}"))
            .collect();
        let text = format!("{{{spaces}\"tasks\":{spaces}[{spaces}{}{spaces}]{spaces}}}{spaces}", entries.join(&format!("{spaces},")));
        let scene = Scene::new(&text);
        scene.change(Change::RemoveDependencies { edges: Vec::new() }).expect("nothing to do");
        prop_assert_eq!(scene.text(), text);
    }
}
