//! Work that can't be merged with what has landed: named, tried again on the new base, and never lost.

use crate::scene::{Scene, task, write};
use serde_json::Value;

/// Both tasks write the same file; the second one's first attempt ends after the first task has landed.
const QUARRELSOME: &str = r#"
if [ "$TM_TASK_ID $TM_ATTEMPT" = "2 1" ]; then
    until git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task 1:"; do sleep 0.05; done
fi
mkdir -p docs
echo "$TM_TASK_ID $TM_ATTEMPT" > docs/shared
echo "$TM_TASK_ID" > "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

fn scene() -> Scene {
    let tasks: [(&str, &str, &[&str]); 3] = [
        ("1", "Document it", &[]),
        ("2", "Document it too", &[]),
        ("3", "Document the rest", &["2"]),
    ];
    let scene = Scene::new(&tasks, QUARRELSOME);
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene
}

fn assert_named(attempt: &Value) {
    let evidence = attempt["evidence"].as_str().expect("evidence");
    assert_eq!(attempt["failure"], "conflict", "{attempt:#}");
    assert!(
        evidence.contains("docs/shared") && evidence.contains("`1`"),
        "{evidence}"
    );
}

#[test]
fn a_conflict_names_the_files_and_both_tasks_and_is_evidence_for_the_next_attempt() {
    let scene = scene();
    let report = scene.runs(&["--max-parallel", "2"], 0);
    let second = task(&report, "2");
    // The second one was to put both together, and did not.
    assert_eq!(
        second["attempts"].as_array().expect("attempts").len(),
        3,
        "{report:#}"
    );
    assert_named(&second["attempts"][0]);
    let prompt = std::fs::read_to_string(scene.waves_folder().join("tasks/2/attempt-3/prompt.md"))
        .expect("a prompt");
    assert!(
        prompt.contains("docs/shared") && prompt.contains("`1`"),
        "{prompt}"
    );
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert_eq!(
        scene.git(&["show", &format!("{branch}:docs/1")]),
        "1",
        "the first task's work stays"
    );
    assert_eq!(scene.statuses(), ["done"; 3]);
}

#[test]
fn a_task_that_stays_in_conflict_keeps_its_branch_and_its_dependants_say_so() {
    let scene = scene();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "waves:\n  conflict_rounds: 0\n",
    );
    let report = scene.runs(&["--max-parallel", "2", "--retries", "0"], 3);
    let second = task(&report, "2");
    assert_eq!(
        (&second["state"], &second["failure"]),
        (&"failed".into(), &"conflict".into()),
        "{report:#}"
    );
    assert_named(&second["attempts"][0]);
    let branch = second["branch"].as_str().expect("a branch");
    assert_eq!(
        scene.git(&["show", &format!("{branch}:docs/shared")]),
        "2 1",
        "its work is where it was"
    );
    let third = task(&report, "3");
    assert_eq!(
        (&third["state"], &third["blocked_by"]),
        (&"blocked".into(), &serde_json::json!(["2"])),
        "{report:#}"
    );
    assert_eq!(scene.statuses(), ["done", "pending", "pending"]);
    let shown = scene.tm(&["waves", "report"]).output().expect("tm");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        text.contains("docs/shared") && text.contains("conflict"),
        "{text}"
    );
}

#[test]
fn files_that_most_work_of_before_touched_are_known_from_the_history_alone() {
    let agent = "mkdir -p src; echo x >> src/list; echo x > \"src/$TM_TASK_ID\"\nprintf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n";
    let tasks = ["1", "2", "3", "4", "5"]
        .map(|id| (id, "Add it", if id == "1" { &[][..] } else { &["1"][..] }));
    let scene = Scene::new(&tasks, agent);
    let planned = || {
        let output = scene
            .tm(&["waves", "plan", "--format", "json"])
            .output()
            .expect("tm");
        let plan: Value = serde_json::from_slice(&output.stdout).expect("a plan");
        plan["hot_files"].clone()
    };
    scene.runs(&["--tdd", "off", "--id", "1,2", "--max-parallel", "1"], 0);
    assert_eq!(planned(), serde_json::json!([]), "two are no habit");
    scene.runs(&["--tdd", "off", "--id", "3", "--max-parallel", "1"], 0);
    assert_eq!(planned(), serde_json::json!(["src/list"]));
    let text = scene.tm(&["waves", "plan"]).output().expect("tm");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("most work of before touched `src/list`"),
        "{text}"
    );
}
