//! Repositories as they are: some tests fail already, one is flaky. What is new counts, and nothing else.

use crate::scene::{HONEST, Scene, task, write};

#[test]
fn a_run_on_a_red_and_flaky_suite_lands_everything() {
    let scene = Scene::new(
        &[
            ("1", "Add the parser", &[]),
            ("2", "Add the printer", &[]),
            ("3", "Document it", &["1"]),
        ],
        HONEST,
    );
    for number in 1..=3 {
        let test = format!(". t/check.sh\ncheck 'broken {number}' 1 2\n");
        write(&scene.root().join(format!("t/broken{number}.t")), &test);
    }
    // Passes and fails in turns, whichever worktree it runs in.
    let flaky = format!(
        ". t/check.sh\ncount={}\nn=$(cat \"$count\" 2>/dev/null || echo 0)\necho $((n + 1)) > \"$count\"\n\
         check flaky 0 $((n % 2))\n",
        scene.path("count").display()
    );
    write(&scene.root().join("t/flaky.t"), &flaky);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "an unhealthy suite"]);
    let report = scene.runs(&["--max-parallel", "1"], 0);
    for id in ["1:red", "1", "2:red", "2", "3"] {
        let task = task(&report, id);
        assert_eq!(task["landed"], true, "{report:#}");
        assert_eq!(
            task["attempts"].as_array().expect("attempts").len(),
            1,
            "{report:#}"
        );
        let proof = &task["attempts"][0]["proof"];
        assert!(
            proof["baseline_failed"].as_u64().expect("a count") >= 3,
            "{proof}"
        );
    }
    let named =
        |id: &&str| task(&report, id)["attempts"][0]["proof"]["flaky"][0] == "flaky.t: flaky";
    assert!(
        ["1:red", "1", "2:red", "2", "3"].iter().any(named),
        "a flaky test is named so: {report:#}"
    );
    assert_eq!(scene.statuses(), ["done"; 3]);
}

#[test]
fn results_at_a_commit_are_measured_once_a_run_and_believed_in_no_other() {
    let scene = Scene::new(&[("1", "Document it", &[])], "exit 3");
    let count = scene.path("count");
    let test = format!(
        "echo run >> '{}'\n. t/check.sh\ncheck 'the old one' 1 1\n",
        count.display()
    );
    write(&scene.root().join("t/old.t"), &test);
    scene.git(&[
        "commit",
        "--quiet",
        "--all",
        "--message",
        "a test that counts",
    ]);
    let runs = || {
        std::fs::read_to_string(&count)
            .unwrap_or_default()
            .lines()
            .count()
    };
    scene.runs(&["--retries", "2"], 3);
    assert_eq!(runs(), 1);
    scene.runs(&["--retries", "0"], 3);
    assert_eq!(runs(), 2);
}
