//! A RED whose test is wrong: its GREENs show it, and it is done again with what both sides say.

use crate::scene::{HONEST, Scene, task};
use serde_json::Value;

/// The first RED tests for something that nobody asked for.
const WRONG_AT_FIRST: &str = r#"
if [ "$TM_PHASE $TM_ATTEMPT" = "red 1" ]; then
    printf '. t/check.sh\ncheck "1 works" "another word" "$(sh bin/1 2>/dev/null)"\n' > t/1.t
    printf 'status: PASS\n' > "$TM_RESULT_FILE"
    exit
fi
"#;

fn failures(report: &Value, id: &str) -> Vec<String> {
    let attempts = task(report, id)["attempts"].as_array().expect("attempts");
    attempts
        .iter()
        .map(|attempt| attempt["failure"].as_str().unwrap_or("none").to_owned())
        .collect()
}

#[test]
fn a_red_whose_test_is_wrong_is_done_again_with_the_evidence_of_two_greens_and_lands() {
    let scene = Scene::new(
        &[("1", "Add the parser", &[])],
        &format!("{WRONG_AT_FIRST}{HONEST}"),
    );
    let report = scene.runs(&["--retries", "1"], 0);
    assert_eq!(
        failures(&report, "1:red"),
        ["red-questioned", "none"],
        "{report:#}"
    );
    assert_eq!(
        failures(&report, "1"),
        ["green-failing", "green-failing", "none"],
        "{report:#}"
    );
    assert_eq!(report["tdd"]["compliant"], 1);
    let prompt = scene.waves_folder().join("tasks/1+red/attempt-2/prompt.md");
    let prompt = std::fs::read_to_string(prompt).expect("a prompt");
    for words in [
        "red-questioned",
        "failed on the same tests twice",
        "What tm saw of GREEN, attempt 2",
        "1 works",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
}

#[test]
fn a_red_that_stays_wrong_fails_the_pair_and_the_reason_says_that_the_test_may_be_wrong() {
    let agent = format!(
        "{}{HONEST}",
        WRONG_AT_FIRST.replace("\"$TM_PHASE $TM_ATTEMPT\" = \"red 1\"", "$TM_PHASE = red")
    );
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    let report = scene.runs(&["--retries", "1"], 3);
    assert_eq!(
        failures(&report, "1:red"),
        ["red-questioned", "none"],
        "{report:#}"
    );
    assert_eq!(failures(&report, "1"), ["green-failing"; 4], "{report:#}");
    let told =
        std::fs::read_to_string(scene.waves_folder().join("activity.jsonl")).expect("events");
    assert!(told.contains("so a test may be wrong"), "{told}");
    assert_eq!(scene.statuses(), ["pending"]);
}
