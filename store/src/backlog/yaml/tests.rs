//! Structural changes of YAML backlogs: comments and order stay.

use super::super::{
    Backlog, BacklogError, BacklogSource, Change, Changed, ReadOptions, RollUp, StatusChange,
};
use serde_json::json;
use std::path::PathBuf;
use tempfile::TempDir;
use tm_scheduler::{Status, TaskId};

struct Scene {
    _folder: TempDir,
    path: PathBuf,
}

const OURS: &str = "# ours
tasks:
  - id: 1 # first
    title: One
    status: pending # now
    dependencies: [2]

  # second
  - title: Two
    id: \"2\"
    dependencies:
      - 3 # why
    subtasks:
      - id: 1
        title: Sub
        status: pending
  - {id: 3, title: Three, status: pending}
# the end
other: x
";

impl Scene {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("backlog.yaml");
        crate::atomic::replace(&path, text.as_bytes()).expect("a file");
        Self {
            _folder: folder,
            path,
        }
    }

    fn source(&self) -> BacklogSource {
        BacklogSource::at(&self.path).expect("a source")
    }

    fn change(&self, change: Change) -> Result<Vec<Changed>, BacklogError> {
        self.source()
            .change(&ReadOptions::default(), move |_| vec![change.clone()])
    }

    fn read(&self) -> Backlog {
        self.source()
            .read(&ReadOptions::default())
            .expect("a backlog")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).expect("a file")
    }
}

fn new(title: &str) -> Change {
    let fields = [
        ("title", json!(title)),
        ("testStrategy", json!("a\nb: c\n")),
        ("dependencies", json!([1, "2.1"])),
    ];
    let fields = fields.map(|(key, value)| (key.to_owned(), value));
    Change::AddTasks {
        tasks: vec![(None, fields.to_vec())],
    }
}

#[test]
fn a_task_is_added_behind_the_last_one_and_comments_stay_where_they_were() {
    let scene = Scene::new(OURS);
    scene.change(new("Four: # and more")).expect("added");
    let added = "  - {id: 3, title: Three, status: pending}
  - id: 4
    title: 'Four: # and more'
    test_strategy: |
      a
      b: c
    dependencies:
    - 1
    - '2.1'
    status: pending
# the end
";
    assert_eq!(
        scene.text(),
        OURS.replace(
            "  - {id: 3, title: Three, status: pending}\n# the end\n",
            added
        )
    );
    assert_eq!(
        scene.read().tasks[3].dependencies,
        [TaskId::from("1"), "2.1".into()]
    );
    scene
        .change(Change::Remove {
            ids: vec!["4".into()],
        })
        .expect("removed");
    assert_eq!(scene.text(), OURS);
}

#[test]
fn every_layout_takes_a_first_and_a_further_task() {
    for text in [
        "",
        "# only a comment",
        "tasks: []\n",
        "tasks:\n",
        "tasks: [{id: 1, title: One}]\n",
        "- id: 1\n  title: One\n",
        "tasks:\n- id: 1\n  title: One",
        "tasks:\n-   id: 1\n    title: One\n",
        "master:\n  tasks:\n    - id: 1\n      title: One\n      details: |\n        # not a comment\n\n        x\n",
        "tasks:\r\n  - id: 1\r\n    title: One\r\n",
    ] {
        let scene = Scene::new(text);
        let before = scene
            .source()
            .read(&ReadOptions::default())
            .map_or(0, |backlog| backlog.tasks.len());
        for number in 1..=2 {
            let change = Change::AddTasks {
                tasks: vec![(None, vec![("title".to_owned(), json!("x"))])],
            };
            scene
                .change(change)
                .unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(
                scene.read().tasks.len(),
                before + number,
                "{text:?}: {}",
                scene.text()
            );
        }
        let mut lines = text
            .lines()
            .filter(|line| !line.contains('[') && *line != "tasks:");
        assert!(
            lines.all(|line| scene.text().contains(line)),
            "{text:?}: {}",
            scene.text()
        );
    }
}

#[test]
fn dependencies_come_and_go_in_the_layout_of_the_list() {
    let scene = Scene::new(OURS);
    let edge = |task: &str, dependency: &str| (TaskId::from(task), TaskId::from(dependency));
    scene
        .change(Change::AddDependencies {
            edges: vec![("1".into(), "3".into())],
        })
        .expect("added");
    scene
        .change(Change::AddDependencies {
            edges: vec![("2".into(), "2.1".into())],
        })
        .expect("added");
    scene
        .change(Change::AddDependencies {
            edges: vec![("2.1".into(), "3".into())],
        })
        .expect("added");
    let expected = OURS
        .replace("[2]", "[2, 3]")
        .replace("- 3 # why\n", "- 3 # why\n      - '2.1'\n")
        .replace(
            "        status: pending\n",
            "        status: pending\n        dependencies:\n          - 3\n",
        );
    assert_eq!(scene.text(), expected);
    let edges = vec![edge("1", "3"), edge("2", "2.1")];
    scene
        .change(Change::RemoveDependencies { edges })
        .expect("removed");
    assert!(
        scene.text().contains("dependencies: [2]\n")
            && scene.text().contains("- 3 # why\n    subtasks"),
        "{}",
        scene.text()
    );
}

#[test]
fn the_last_dependency_goes_and_comments_stay_where_dashes_stand_under_their_key() {
    let text = "\
tasks: # all of them
- id: 1
  title: One
  dependencies: [] # none
- id: 2
  dependencies: # some
  - 1
  title: Two
- id: 3
  dependencies: [1] # one
  extra: !mine {a: 1} # kept
";
    let scene = Scene::new(text);
    let edge = |task: &str, dependency: &str| (TaskId::from(task), TaskId::from(dependency));
    scene
        .change(Change::AddDependencies {
            edges: vec![("1".into(), "3".into())],
        })
        .expect_err("a cycle");
    let edges = vec![edge("2", "1"), edge("3", "1")];
    scene
        .change(Change::RemoveDependencies { edges })
        .expect("removed");
    scene
        .change(Change::AddDependencies {
            edges: vec![("1".into(), "3".into())],
        })
        .expect("added");
    let expected = text
        .replace("[] # none", "[3] # none")
        .replace("dependencies: # some\n  - 1\n", "dependencies: [] # some\n")
        .replace("[1] # one", "[] # one");
    assert_eq!(scene.text(), expected);
}

#[test]
fn tasks_move_and_subtasks_are_added() {
    let scene = Scene::new(OURS);
    let fields = vec![("title".to_owned(), json!("More"))];
    scene
        .change(Change::AddSubtask {
            parent: "2".into(),
            fields: fields.clone(),
        })
        .expect("added");
    scene
        .change(Change::AddSubtask {
            parent: "1".into(),
            fields,
        })
        .expect("added");
    assert_eq!(scene.read().tasks[1].subtasks.len(), 2);
    assert_eq!(scene.read().tasks[0].subtasks[0].id, "1.1".into());
    scene
        .change(Change::Move {
            from: "3".into(),
            to: "30".into(),
        })
        .expect("moved");
    assert_eq!(scene.read().tasks[1].dependencies, [TaskId::from("30")]);
    for comment in [
        "# ours",
        "# first",
        "# now",
        "# second",
        "# why",
        "# the end",
    ] {
        assert!(
            scene.text().contains(comment),
            "{comment} in {}",
            scene.text()
        );
    }
}

#[test]
fn a_status_is_set_in_a_map_on_one_line_and_several_in_one_step() {
    let scene = Scene::new(OURS);
    let change = |id: &str| StatusChange {
        id: id.into(),
        status: Status::Done,
    };
    let changes = [change("1"), change("2.1"), change("3")];
    scene
        .source()
        .set_statuses(&"master".into(), &changes, RollUp::Relatives, Some("now"))
        .expect("set");
    let statuses: Vec<Status> = scene
        .read()
        .tasks
        .into_iter()
        .map(|task| task.status)
        .collect();
    assert_eq!(statuses, [Status::Done, Status::Done, Status::Done]);
    assert!(
        scene.text().contains("{id: 3, title: Three, status: done}"),
        "{}",
        scene.text()
    );
    assert!(scene.text().contains("status: done # now") && !scene.text().contains("updatedAt"));
}

#[test]
fn odd_layouts_are_changed_in_place() {
    // What stands there, the task whose dependency on 2 goes, and what is left.
    let table = [
        ("dependencies: [2, 3] # why", "dependencies: [3] # why"),
        ("dependencies: [3, 2]", "dependencies: [3]"),
        ("dependencies: [ 2 ]", "dependencies: []"),
        (
            "dependencies: # why\n      - 2\n      - '3'",
            "dependencies: # why\n      - '3'",
        ),
        ("dependencies: # why\n      - 2", "dependencies: [] # why"),
        (
            "dependencies: [\n      3,\n      2,\n    ]",
            "dependencies: [\n      3,\n    ]",
        ),
        (
            "other: &a [2]\n    more: *a\n    dependencies: [2, 3]",
            "other: &a [2]\n    more: *a\n    dependencies: [3]",
        ),
        (
            "kind: !mine {a: 1}\n    dependencies: [2, 3]",
            "kind: !mine {a: 1}\n    dependencies: [3]",
        ),
        (
            "details: |\n      é: 1\n\n      b\n\n    dependencies: [2, 3]",
            "details: |\n      é: 1\n\n      b\n\n    dependencies: [3]",
        ),
        ("\"dependencies\" : [2, 3]", "\"dependencies\" : [3]"),
    ];
    for (before, after) in table {
        for newline in ["\n", "\r\n"] {
            let text = |of_one: &str| {
                format!("tasks:\n  - id: 1\n    title: One\n    {of_one}\n  # two\n  - {{id: 2, title: Two}}\n  - {{id: 3, title: Three}}\n")
                    .replace('\n', newline)
            };
            let scene = Scene::new(&text(before));
            let edges = vec![("1".into(), "2".into())];
            scene
                .change(Change::RemoveDependencies { edges })
                .unwrap_or_else(|error| panic!("{before}: {error}"));
            assert_eq!(scene.text(), text(after), "{before}");
        }
    }
}
