//! What earlier runs took decides what is expected of later ones.

use crate::scene::Scene;
use serde_json::Value;

const AGENT: &str =
    "echo x > \"part-$TM_TASK_ID\"\nprintf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n";

fn plan(scene: &Scene) -> Value {
    let output = scene.tm(&["waves", "plan", "--format", "json"]).output();
    serde_json::from_slice(&output.expect("tm").stdout).expect("a plan")
}

#[test]
fn a_run_expects_of_tasks_what_those_of_earlier_runs_took_and_a_damaged_summary_is_passed_over() {
    let tasks = ["1", "2", "3", "4", "5"].map(|id| (id, "Document it", &[][..]));
    let scene = Scene::new(&tasks, AGENT);
    assert_eq!(plan(&scene)["tasks"][0]["expected_ms"], Value::Null);
    scene.runs(&["--tdd", "off", "--id", "1,2,3"], 0);
    let planned = plan(&scene);
    for task in planned["tasks"].as_array().expect("tasks") {
        let expected = task["expected_ms"].as_u64().expect("a time");
        assert_eq!(task["remaining_path"].as_u64(), Some(expected), "{task:#}");
    }
    let summary = scene.waves_folder().join("summary.json");
    let text = std::fs::read_to_string(&summary).expect("a summary");
    let worked = text.matches("\"worked_ms\"").count();
    assert_eq!(worked, 3, "of each task");
    crate::scene::write(&summary, &text[..text.len() / 2]);
    assert_eq!(plan(&scene)["tasks"][0]["expected_ms"], Value::Null);
    scene.runs(&["--tdd", "off"], 0);
}
