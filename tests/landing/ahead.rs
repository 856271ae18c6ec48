//! Merged trees are tested side by side before they land (`git.land_batch`): the same lands, and the same is blamed, as
//! where each waits for its turn.

use crate::scene::{Scene, task, write};
use serde_json::{Value, json};

/// Everybody begins on the same base, and is done in the order of the ids. The second attempt at 3 comes when all others
/// have landed; that it has begun says that the first was done, whose commit is on no branch by then.
const IN_ORDER: &str = r#"
waits() { until "$@"; do sleep 0.05; done; }
all() { for id in 1 2 3 4 5; do [ -e "$AGENT_FOLDER/began-$id" ] || return 1; done; }
committed() { git -C "$AGENT_FOLDER/checkout" log --branches --format='%(trailers:key=Task,valueonly)' | grep --quiet "^$1$" || [ -e "$AGENT_FOLDER/again-$1" ]; }
landed() { git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task $1:"; }
touch "$AGENT_FOLDER/began-$TM_TASK_ID"
waits all
case "$TM_TASK_ID $TM_ATTEMPT" in
[2-5]" 1") waits committed $((TM_TASK_ID - 1)) ;;
*" 2") touch "$AGENT_FOLDER/again-$TM_TASK_ID" && waits landed 5 ;;
esac
mkdir -p docs
echo "attempt $TM_ATTEMPT" > "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// Everybody begins on the same base.
const TOGETHER: &str = r#"
all() { for id in 1 2 3 4 5; do [ -e "$AGENT_FOLDER/began-$id" ] || return 1; done; }
touch "$AGENT_FOLDER/began-$TM_TASK_ID"
until all; do sleep 0.05; done
mkdir -p docs
echo "$TM_TASK_ID" > "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// Fails where 2 and 3 are there, each of which is well without the other, unless 3 was done again.
const AT_ODDS: &str = r#"
echo 1..1
if [ -e docs/2 ] && grep --quiet 'attempt 1' docs/3 2>/dev/null; then
    echo "not ok - fine"
else
    echo "ok - fine"
fi
"#;

/// The tests of what 1 and 2 are together end when those of what comes on top of it have begun.
const SIDE_BY_SIDE: &str = r#"
echo 1..1
if [ -e docs/1 ] && [ -e docs/2 ]; then
    [ -e docs/3 ] && touch "$AGENT_FOLDER/third-is-tested"
    for _ in $(seq 600); do
        [ -e "$AGENT_FOLDER/third-is-tested" ] && echo "ok - fine" && exit
        sleep 0.05
    done
    echo "not ok - fine"
else
    echo "ok - fine"
fi
"#;

fn scene(agent: &str, tests: &str, batch: u32) -> Scene {
    let tasks = ["1", "2", "3", "4", "5"].map(|id| (id, "Document it", &[][..]));
    let scene = Scene::new(&tasks, agent);
    write(&scene.root().join("run-tests.sh"), tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "tests"]);
    let settings = format!("git: {{ land_batch: {batch} }}\ntest: {{ parallel: 4 }}\n");
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    scene
}

/// The trees that were ever at the tip of the integration branch, with what landed there.
fn landings(scene: &Scene, report: &Value) -> String {
    let branch = report["integration_branch"].as_str().expect("a branch");
    scene.git(&["log", "--first-parent", "--format=%T %s", branch])
}

/// What was seen of each attempt, and what followed; not how long tests ran.
fn verdicts(report: &Value) -> Vec<Value> {
    let attempt = |attempt: &Value| {
        let mut attempt = attempt.clone();
        if let Some(proof) = attempt["proof"].as_object_mut() {
            proof.remove("tests_ms").expect("how long tests ran");
        }
        let keys = ["n", "failure", "evidence", "claim", "proof", "differences"];
        keys.map(|key| attempt[key].clone())
    };
    let tasks = report["tasks"].as_array().expect("tasks").iter();
    let verdict = |task: &Value| {
        let attempts = task["attempts"].as_array().expect("attempts").iter();
        let attempts: Vec<_> = attempts.map(attempt).collect();
        json!([task["id"], task["state"], task["verdict"], attempts])
    };
    tasks.map(verdict).collect()
}

/// What the tests of each merge said.
fn results(scene: &Scene) -> Vec<Value> {
    let folder = scene.waves_folder().join("tasks");
    let result = |attempt: &str| {
        let path = folder.join(attempt).join("tests-landing.json");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "null".to_owned());
        let results: Value = serde_json::from_str(&text).expect("JSON");
        json!([attempt, results["end"], results["tests"]])
    };
    [
        "2/attempt-1",
        "3/attempt-1",
        "3/attempt-2",
        "4/attempt-1",
        "5/attempt-1",
    ]
    .map(result)
    .into()
}

#[test]
fn whatever_is_tested_side_by_side_the_same_trees_land_and_the_same_task_is_blamed() {
    // The last one waits until 3 has begun again, which so begins on less than what it lands on.
    let begun_again =
        "\"5 1\") waits committed 4 && waits [ -e \"$AGENT_FOLDER/again-3\" ] ;;\n[2-5]\" 1\")";
    let in_order = IN_ORDER.replace("[2-5]\" 1\")", begun_again);
    let seen = [1, 4].map(|batch| {
        let scene = scene(&in_order, AT_ODDS, batch);
        let report = scene.runs(&["--max-parallel", "5"], 0);
        let audit = scene.tm(&["audit"]).output().expect("tm");
        assert_eq!(audit.status.code(), Some(0), "{audit:?}");
        (
            landings(&scene, &report),
            verdicts(&report),
            results(&scene),
        )
    });
    let [(one_by_one, verdicts, results), ahead] = seen;
    assert_eq!(one_by_one, ahead.0, "the same trees in the same order");
    assert_eq!(verdicts, ahead.1, "the same verdicts");
    assert_eq!(results, ahead.2, "the same results of the merged trees");
    assert_eq!(results[1][2]["fine"], "failed", "{results:#?}");
    let attempts: Vec<usize> = verdicts
        .iter()
        .map(|verdict| verdict[3].as_array().expect("attempts").len())
        .collect();
    assert_eq!(
        attempts,
        [1, 1, 2, 1, 1],
        "3 alone is done again: {verdicts:#?}"
    );
    assert_eq!(verdicts[2][3][0][1], "landing-regression", "{verdicts:#?}");
}

#[test]
fn while_one_merged_tree_is_tested_so_is_what_comes_on_top_of_it() {
    let scene = scene(IN_ORDER, SIDE_BY_SIDE, 4);
    let report = scene.runs(&["--max-parallel", "5"], 0);
    for id in ["1", "2", "3", "4", "5"] {
        let attempts = task(&report, id)["attempts"].as_array();
        assert_eq!(attempts.expect("attempts").len(), 1, "{report:#}");
    }
    let log = scene.waves_folder().join("tasks/2/attempt-1/landing.log");
    assert!(log.is_file(), "what was measured is where it always is");
}

#[test]
fn with_a_batch_of_one_each_is_tested_when_its_turn_comes() {
    let tests = SIDE_BY_SIDE.replace("seq 600", "seq 2");
    let scene = scene(IN_ORDER, &tests, 1);
    let report = scene.runs(&["--max-parallel", "5", "--retries", "0"], 3);
    assert_eq!(
        task(&report, "2")["failure"],
        "landing-regression",
        "{report:#}"
    );
}

#[test]
fn dying_while_several_merges_are_tested_changes_nothing_about_the_end() {
    const TESTS: &str = "sleep 0.1\necho 1..1\necho ok - fine\n";
    const ARGUMENTS: [&str; 2] = ["--max-parallel", "5"];
    let make = || scene(TOGETHER, TESTS, 4);
    let undisturbed = make();
    let log = undisturbed.path("points");
    let mut run = undisturbed.run_command(&ARGUMENTS);
    let output = run.env("CRASH_POINT_LOG", &log).output().expect("tm");
    assert!(output.status.success(), "{output:?}");
    let expected = undisturbed.landed_tree();
    let points = std::fs::read_to_string(&log).expect("points");
    let points = points.lines().count();
    // From where the first work is proven on.
    for point in (points / 2..points).step_by(points / 16) {
        let scene = make();
        let mut run = scene.run_command(&ARGUMENTS);
        let died = run.env("CRASH_POINT", point.to_string()).output();
        let report = if died.expect("tm").status.success() {
            scene.report()
        } else {
            scene.runs(&ARGUMENTS, 0)
        };
        scene.assert_no_process_is_left();
        assert_eq!(scene.landed_tree(), expected, "after point {point}");
        assert_eq!(scene.statuses(), ["done"; 5], "after point {point}");
        let landings = landings(&scene, &report);
        let merges = landings.matches("Land task").count();
        assert_eq!(merges, 5, "after point {point}: {landings}");
        let audit = scene.tm(&["audit"]).output().expect("tm");
        assert_eq!(audit.status.code(), Some(0), "{audit:?}");
    }
}
