//! A backlog is worked off: everything lands, nothing else is touched.

use crate::scene::{HONEST, Scene, task, write};
use crate::skipping::lacks_what_a_machine_may_have;

const BACKLOG: [(&str, &str, &[&str]); 6] = [
    ("1", "Add the parser", &[]),
    ("2", "Add the printer", &["1"]),
    ("3", "Add the checker", &["1"]),
    ("4", "Document it all", &["2", "3"]),
    ("5", "Add the loader", &[]),
    ("10", "Add the linker", &["5", "2"]),
];

#[test]
fn every_pair_lands_and_only_statuses_change_in_the_checkout() {
    let scene = Scene::new(&BACKLOG, HONEST);
    let main = scene.git(&["rev-parse", "main"]);
    let report = scene.runs(&["--max-parallel", "5"], 0);
    assert_eq!(
        (&report["tdd"]["pairs"], &report["tdd"]["compliant"]),
        (&5.into(), &5.into())
    );
    assert_eq!(scene.statuses(), ["done"; 6]);
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(
        scene.git(&["status", "--porcelain"]),
        " M .taskmaster/tasks/tasks.json"
    );
    let changed = scene.git(&["diff", "--unified=0", "--", ".taskmaster"]);
    for line in changed.lines().filter(|line| {
        line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
    }) {
        assert!(
            line.contains("\"status\"") || line.contains("\"updatedAt\""),
            "{line}"
        );
    }
    for (id, dependencies) in BACKLOG.map(|(id, _, dependencies)| (id, dependencies)) {
        let base = task(&report, id)["base_commit"]
            .as_str()
            .expect("a base")
            .to_owned();
        for dependency in dependencies {
            let commit = task(&report, dependency)["commit"]
                .as_str()
                .expect("a commit")
                .to_owned();
            scene.git(&["merge-base", "--is-ancestor", &commit, &base]);
        }
    }
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    scene.assert_no_process_is_left();
}

#[test]
fn what_lands_does_not_depend_on_slots_or_on_barriers() {
    let trees: Vec<String> = [
        &["--max-parallel", "5"][..],
        &["--barrier"],
        &["--max-parallel", "1"],
    ]
    .iter()
    .map(|arguments| {
        let scene = Scene::new(&BACKLOG, HONEST);
        scene.runs(arguments, 0);
        scene.landed_tree()
    })
    .collect();
    assert!(trees.iter().all(|tree| *tree == trees[0]), "{trees:?}");
}

#[test]
fn tasks_that_meet_in_one_file_conflict_and_are_done_again_on_the_new_base() {
    let agent = r#"echo "$TM_TASK_ID" >> shared.txt; printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = Scene::new(&[("1", "One", &[]), ("2", "Two", &[])], agent);
    let report = scene.runs(&["--tdd", "off"], 0);
    let attempts = ["1", "2"].map(|id| {
        task(&report, id)["attempts"]
            .as_array()
            .expect("attempts")
            .len()
    });
    // One that conflicts, one that leaves the conflict as it is, a fresh one; and the other task's.
    assert_eq!(attempts.iter().sum::<usize>(), 4, "{report}");
    let failures: Vec<&str> = ["1", "2"]
        .iter()
        .filter_map(|id| task(&report, id)["attempts"][0]["failure"].as_str())
        .collect();
    assert_eq!(failures, ["conflict"]);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let text = scene.git(&["show", &format!("{branch}:shared.txt")]);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1", "2"]);
}

#[test]
fn a_retry_is_told_what_went_wrong() {
    let agent = r#"cp "$TM_PROMPT_FILE" "$AGENT_FOLDER/prompt-$TM_ATTEMPT"
        [ "$TM_ATTEMPT" = 1 ] && { echo 'the compiler is missing'; exit 9; }
        echo x > x.txt"#;
    let scene = Scene::new(&[("1", "Document it", &[])], agent);
    scene.runs(&[], 0);
    let prompt = std::fs::read_to_string(scene.path("prompt-2")).expect("a prompt");
    for part in ["no-result", "exit code 9", "the compiler is missing"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
}

#[test]
fn without_landing_every_task_stays_on_its_branch_for_review() {
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        HONEST,
    );
    let report = scene.runs(&["--no-land"], 0);
    assert_eq!(scene.statuses(), ["review"; 2]);
    assert_eq!(report["integration_commit"], report["base_commit"]);
    let base = task(&report, "2")["base_commit"].as_str().expect("a base");
    assert_eq!(Some(base), task(&report, "1")["commit"].as_str());
}

#[test]
fn a_later_run_starts_from_what_the_last_one_landed() {
    let agent = format!(
        "[ \"$TM_TASK_ID\" = 2 ] && [ ! -e \"$AGENT_FOLDER/allowed\" ] && exit 5\n{HONEST}"
    );
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &agent,
    );
    let first = scene.runs(&["--retries", "0"], 3);
    crate::scene::write(&scene.path("allowed"), "");
    let second = scene.runs(&[], 0);
    assert_eq!(second["base_commit"], first["integration_commit"]);
    let branch = second["integration_branch"].as_str().expect("a branch");
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]),
        "1\n2"
    );
}

#[test]
fn a_repository_with_longer_ids_and_another_store_of_refs_is_worked_in_as_any_other() {
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &["1"])],
        HONEST,
    );
    std::fs::rename(scene.root().join(".git"), scene.path("first.git")).expect("moved");
    let kind = [
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
        "--ref-format=reftable",
    ];
    if !scene.try_git(&kind).status.success() {
        lacks_what_a_machine_may_have("git that makes such a repository");
        return;
    }
    for arguments in [
        &["config", "user.name", "Somebody"][..],
        &["config", "user.email", "somebody@example.org"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "start"],
    ] {
        scene.git(arguments);
    }
    let report = scene.runs(&[], 0);
    assert_eq!(scene.statuses(), ["done"; 2], "{report:#}");
    assert_eq!(report["base_commit"].as_str().map(str::len), Some(64));
    let shown = scene.tm(&["review", "--json"]).output().expect("tm");
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
}

#[test]
fn a_task_has_the_model_that_it_names_unless_a_flag_names_one() {
    let with = |id: u32, metadata: serde_json::Value| {
        serde_json::json!({"id": id, "title": format!("Task {id}"), "status": "pending", "dependencies": [],
                           "metadata": metadata})
    };
    let tasks = [
        with(1, serde_json::json!({"model": "large"})),
        with(2, serde_json::json!({})),
    ];
    let backlog = serde_json::json!({"master": {"tasks": tasks}});
    let scene = Scene::with_backlog(&backlog.to_string(), "echo \"$1\" > \"model-$TM_TASK_ID\"");
    let settings = format!(
        "agents: {{ mine: {{ command: [sh, {}, \"{{model}}\"], model: small, prompt: file, output: text }} }}\n\
         agent: {{ default: mine }}\n",
        scene.path("agent.sh").display()
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    let plan = scene.tm(&["waves", "plan", "--tdd", "off"]).output();
    let plan = String::from_utf8(plan.expect("tm").stdout).expect("text");
    assert!(plan.contains("Task 1, model large"), "{plan}");
    let run = |words: &[&str]| {
        let words = [&["waves", "run", "--yes", "--tdd", "off"], words].concat();
        let output = scene.tm(&words).output().expect("tm");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let branch = scene.git(&[
            "for-each-ref",
            "--sort=-refname",
            "--format=%(refname)",
            "refs/heads/tm/master/run-*",
        ]);
        let branch = branch.lines().next().expect("a branch").to_owned();
        [1, 2].map(|id| scene.git(&["show", &format!("{branch}:model-{id}")]))
    };
    assert_eq!(run(&[]), ["large", "small"]);
    let reopened = scene.tm(&["set-status", "1,2", "pending"]).status();
    assert!(reopened.expect("tm").success());
    assert_eq!(run(&["--model", "other"]), ["other", "other"]);
}

#[test]
fn a_task_that_names_a_place_that_is_none_is_refused_before_anything_is_started() {
    let task = serde_json::json!({"id": 1, "title": "Task 1", "status": "pending", "dependencies": [],
                                  "metadata": {"on": "nowhere"}});
    let backlog = serde_json::json!({"master": {"tasks": [task]}});
    let scene = Scene::with_backlog(&backlog.to_string(), HONEST);
    let refused = scene.run(&["--tdd", "off"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("failed to find the place `nowhere` of task 1"),
        "{said}"
    );
    assert_eq!(scene.statuses(), ["pending"]);
}
