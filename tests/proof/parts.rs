//! A monorepo whose parts have test commands of their own: work is judged by the commands of what it touches.

use crate::scene::{Scene, write};
use serde_json::Value;
use std::collections::BTreeSet;

const SETTINGS: &str = r#"
test:
  command: echo rest >> "$AGENT_FOLDER/marks"; sh run-tests.sh
  parts:
    - { paths: [a/], command: 'echo a >> "$AGENT_FOLDER/marks"; sh a/run-tests.sh' }
    - { paths: [b/], command: 'echo b >> "$AGENT_FOLDER/marks"; sh b/run-tests.sh' }
"#;

/// Works in `a`, in `b`, or in both, as the title says it; the tests have the same names in both.
const AGENT: &str = r#"
name=$(printf %s "$TM_TASK_ID" | sed 's/:red$//')
echo "agent $TM_TASK_ID" >> "$AGENT_FOLDER/marks"
case $name in 1) parts=a ;; 2) parts=b ;; 3) parts='a b' ;; esac
if [ -p "$AGENT_FOLDER/meet" ]; then
    if [ "$name" = 1 ]; then cat "$AGENT_FOLDER/meet"; else echo > "$AGENT_FOLDER/meet"; fi
fi
for part in $parts; do
    case $TM_PHASE in
    red) printf '. t/check.sh\ncheck "it works" "%s" "$(sh bin/%s 2>/dev/null)"\n' "$name" "$name" > "$part/t/$name.t" ;;
    green) mkdir -p "$part/bin"; echo "echo $name" > "$part/bin/$name" ;;
    none) echo "$name" > "$part/notes" ;;
    esac
done
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

fn scene(tasks: &[(&str, &str, &[&str])]) -> Scene {
    let scene = Scene::new(tasks, AGENT);
    for part in ["a", "b"] {
        for (name, text) in [
            (
                "run-tests.sh",
                include_str!("../../cli/demo/repository/run-tests.sh"),
            ),
            (
                "t/check.sh",
                include_str!("../../cli/demo/repository/t/check.sh"),
            ),
            ("t/old.t", ". t/check.sh\ncheck 'the old one' 1 1\n"),
        ] {
            write(&scene.root().join(part).join(name), text);
        }
    }
    write(&scene.root().join(".taskmaster/tm.yaml"), SETTINGS);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "two parts"]);
    scene
}

fn marks(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("marks")).expect("marks")
}

/// The commands that were run from when an agent began until the next one did.
fn after_agent(marks: &str, agent: &str) -> BTreeSet<String> {
    let (_, rest) = marks
        .split_once(&format!("agent {agent}\n"))
        .unwrap_or_else(|| panic!("{agent} in {marks}"));
    rest.lines()
        .take_while(|line| !line.starts_with("agent "))
        .map(str::to_owned)
        .collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Which parts the trailers of a commit name.
fn judged_by(scene: &Scene, commit: &str) -> BTreeSet<String> {
    let format = "--format=%(trailers:key=Test-Command,valueonly)";
    let commands = scene.git(&["log", "--max-count=1", format, commit]);
    commands
        .lines()
        .filter_map(|line| Some(line.split_whitespace().nth(1)?.to_owned()))
        .collect()
}

fn assert_audited(scene: &Scene, branch: &str) -> Value {
    let output = scene.tm(&["audit", "--json", branch]).output().expect("tm");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    serde_json::from_slice(&output.stdout).expect("one document")
}

#[test]
fn work_is_judged_by_the_commands_of_the_parts_that_it_touches() {
    let scene = scene(&[
        ("1", "Add it to a", &[]),
        ("2", "Add it to b", &["1"]),
        ("3", "Add it to both", &["2"]),
    ]);
    let report = scene.runs(&["--max-parallel", "1"], 0);
    let marks = marks(&scene);
    let (preflight, _) = marks.split_once("agent ").expect("an agent");
    let mut preflight: Vec<&str> = preflight.lines().collect();
    preflight.sort_unstable();
    assert_eq!(
        preflight,
        ["a", "b", "rest"],
        "each command is run once at the base"
    );
    for (task, parts) in [("1", &["a"][..]), ("2", &["b"]), ("3", &["a", "b"])] {
        assert_eq!(
            after_agent(&marks, &format!("{task}:red")),
            set(parts),
            "{task}:red in {marks}"
        );
        assert_eq!(after_agent(&marks, task), set(parts), "{task} in {marks}");
    }
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert_eq!(judged_by(&scene, branch), set(&["a", "b"]));
    assert_eq!(judged_by(&scene, &format!("{branch}^2")), set(&["a", "b"]));
    assert_eq!(judged_by(&scene, &format!("{branch}^1^2")), set(&["b"]));
    let items = assert_audited(&scene, branch);
    let of_both = items["items"]
        .as_array()
        .expect("items")
        .iter()
        .find(|item| item["task"] == "3");
    let proof = &of_both.expect("the work of 3")["proof"];
    assert_eq!(proof["strength"], "per-test", "{proof}");
}

#[test]
fn a_merge_is_judged_by_the_commands_of_what_either_side_touches() {
    let scene = scene(&[("1", "Note it in a", &[]), ("2", "Note it in b", &[])]);
    // Both begin on the same commit: neither agent ends before the other has begun.
    scene.pipe("meet");
    let report = scene.runs(&["--tdd", "off", "--max-parallel", "2"], 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let works: BTreeSet<String> = ["^2", "^1^2"]
        .iter()
        .flat_map(|work| judged_by(&scene, &format!("{branch}{work}")))
        .collect();
    assert_eq!(works, set(&["a", "b"]));
    assert_eq!(
        judged_by(&scene, &format!("{branch}^2")).len(),
        1,
        "the work itself lies in one part"
    );
    assert_eq!(
        judged_by(&scene, &format!("{branch}^1")).len(),
        1,
        "the first lands on what it began with"
    );
    assert_eq!(
        judged_by(&scene, branch),
        set(&["a", "b"]),
        "the second is merged with the first"
    );
    assert_audited(&scene, branch);
}

#[test]
fn the_parts_are_shown_before_a_run() {
    let scene = scene(&[("1", "Add it to a", &[])]);
    for arguments in [&["waves", "plan"][..], &["doctor"]] {
        let output = scene.tm(arguments).output().expect("tm");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for words in ["a/: echo a", "b/: echo b", "all else: echo rest"] {
            assert!(text.contains(words), "{words} in {text}");
        }
    }
}
