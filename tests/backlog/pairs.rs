//! Explicit pairs: written into every kind of backlog, once, with the graph that pairs made on the fly have.

use crate::scene::{HONEST, Scene, write};
use serde_json::Value;
use std::collections::BTreeMap;

const YAML: &str = "# ours
tasks:
  - id: 1 # first
    title: Add a parser
    status: pending
    priority: high
  - id: 2
    title: Add a printer
    dependencies: [1]
  - id: 3
    title: Document it
    dependencies: [1, 2]
";

fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let output = scene.tm(arguments).output().expect("tm");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one document")
}

/// Wave and dependencies of each planned task, with test tasks named after their tasks.
fn graph(scene: &Scene, place: &str, mode: &str) -> BTreeMap<String, (Value, Vec<String>)> {
    let plan = json(
        scene,
        &[
            "waves",
            "plan",
            "--backlog",
            place,
            "--tdd",
            mode,
            "--format",
            "json",
        ],
    );
    let tasks = plan["tasks"].as_array().expect("tasks");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let names: BTreeMap<String, String> = tasks
        .iter()
        .map(|task| {
            let name = if task["phase"] == "red" {
                format!("{}:red", text(&task["pair"]))
            } else {
                text(&task["id"])
            };
            (text(&task["id"]), name)
        })
        .collect();
    let dependencies = |task: &Value| {
        let mut ids: Vec<String> = task["dependencies"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|id| names[&text(id)].clone())
            .collect();
        ids.sort();
        ids
    };
    tasks
        .iter()
        .map(|task| {
            (
                names[&text(&task["id"])].clone(),
                (task["wave"].clone(), dependencies(task)),
            )
        })
        .collect()
}

fn contents(scene: &Scene, place: &str) -> BTreeMap<String, String> {
    let path = scene.root().join(place);
    let files = if path.is_dir() {
        std::fs::read_dir(&path)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect()
    } else {
        vec![path]
    };
    files
        .into_iter()
        .map(|file| {
            (
                file.display().to_string(),
                std::fs::read_to_string(&file).expect("a file"),
            )
        })
        .collect()
}

#[test]
fn pairs_are_written_once_into_every_kind_of_backlog_and_plan_as_those_made_on_the_fly() {
    let tasks: [(&str, &str, &[&str]); 3] = [
        ("1", "Add a parser", &[]),
        ("2", "Add a printer", &["1"]),
        ("3", "Document it", &["1", "2"]),
    ];
    let scene = Scene::new(&tasks, HONEST);
    write(&scene.root().join("backlog.yaml"), YAML);
    for (id, title, dependencies) in tasks {
        let task = serde_json::json!({"id": id, "subject": title, "status": "pending", "blocks": [], "blockedBy": dependencies});
        write(
            &scene.root().join(format!("list/{id}.json")),
            &task.to_string(),
        );
    }
    for place in [".taskmaster/tasks/tasks.json", "backlog.yaml", "list"] {
        let before = contents(&scene, place);
        let on_the_fly = graph(&scene, place, "auto");
        assert_eq!(on_the_fly.len(), 5, "{place}");
        let shown = json(&scene, &["tdd", "pair", "--backlog", place, "--json"]);
        assert_eq!(
            (shown["pairs"].as_array().map(Vec::len), &shown["written"]),
            (Some(2), &Value::Bool(false))
        );
        assert_eq!(contents(&scene, place), before, "showing writes nothing");
        let written = json(
            &scene,
            &["tdd", "pair", "--backlog", place, "--write", "--json"],
        );
        assert_eq!(written["pairs"], shown["pairs"]);
        assert_eq!(graph(&scene, place, "explicit"), on_the_fly, "{place}");
        assert_eq!(
            graph(&scene, place, "auto"),
            on_the_fly,
            "{place}: what is paired is not paired again"
        );
        let after = contents(&scene, place);
        assert_eq!(
            json(
                &scene,
                &["tdd", "pair", "--backlog", place, "--write", "--json"]
            )["pairs"],
            Value::Array(vec![])
        );
        assert_eq!(
            contents(&scene, place),
            after,
            "a second time changes nothing"
        );
        assert!(
            place != "backlog.yaml"
                || after
                    .values()
                    .all(|text| text.starts_with("# ours") && text.contains("# first"))
        );
    }
}

#[test]
fn only_the_group_is_paired_and_a_cycle_is_cut_and_said() {
    let text = "tasks:
  - {id: 1, title: Add a, status: pending, dependencies: [2], metadata: {task_group: g}}
  - {id: 2, title: Add b, status: pending, dependencies: [1], metadata: {task_group: g}}
  - {id: 3, title: Add c, status: pending, dependencies: [1]}
";
    let scene = Scene::new(&[], HONEST);
    write(&scene.root().join("cyclic.yaml"), text);
    let arguments = [
        "tdd",
        "pair",
        "--backlog",
        "cyclic.yaml",
        "--task-group",
        "g",
        "--red-early",
        "--write",
        "--json",
    ];
    let output = scene.tm(&arguments).output().expect("tm");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("1 no longer depends on 2"),
        "{output:?}"
    );
    let answer: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(
        (
            answer["pairs"].as_array().map(Vec::len),
            answer["cut"].as_array().map(Vec::len)
        ),
        (Some(2), Some(1))
    );
    let graph = graph(&scene, "cyclic.yaml", "explicit");
    assert_eq!(graph["1:red"], (1.into(), vec![]));
    assert_eq!(graph["2"].1, ["1", "2:red"]);
    assert_eq!(
        graph["3"],
        (3.into(), vec!["1".to_owned()]),
        "who is not of the group is left alone"
    );
}

/// A runner that writes the error behind the name, as short runners of one's own do.
const RUNNER: &str = r#"i=0; failed=0
for file in t/*.t; do
    i=$((i + 1)); name=$(basename "$file" .t)
    module=$(sed -n 's/^needs //p' "$file"); expected=$(sed -n 's/^expects //p' "$file")
    if [ -n "$module" ] && [ ! -e "lib/$module" ]; then
        failed=1; echo "not ok $i - $file: ModuleNotFoundError: No module named '$module'"
    elif [ "$(cat "lib/$module")" != "$expected" ]; then
        failed=1; echo "not ok $i - $name: AssertionError: expected $expected"
    else echo "ok $i - $name"; fi
done
echo "1..$i"; exit $failed
"#;

#[test]
fn a_runner_that_writes_the_error_behind_the_name_has_its_pairs_proven() {
    let agent = r#"name=$(printf %s "$TM_TASK_ID" | sed 's/:red$//')
        case $TM_PHASE in
        red) printf 'needs part%s\nexpects %s\n' "$name" "$name" > "t/part$name.t" ;;
        green) mkdir -p lib; echo "$name" > "lib/part$name" ;;
        esac
        printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = Scene::new(
        &[
            ("1", "Add the parser", &[]),
            ("2", "Add the printer", &["1"]),
        ],
        agent,
    );
    write(&scene.root().join("run-tests.sh"), RUNNER);
    write(&scene.root().join("lib/old"), "1\n");
    write(&scene.root().join("t/old.t"), "needs old\nexpects 1\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "a runner"]);
    let report = scene.runs(&[], 0);
    assert_eq!(
        (&report["tdd"]["pairs"], &report["tdd"]["compliant"]),
        (&2.into(), &2.into()),
        "{report}"
    );
}
