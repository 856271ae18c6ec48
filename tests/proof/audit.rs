//! The proof of a history done again from its commits alone: honest runs are shown, whatever was slipped in is named.

use crate::scene::{HONEST, Scene, write};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A pair and a task that depends on it, both landed.
fn honest() -> (Scene, String) {
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &["1"])],
        HONEST,
    );
    let report = scene.runs(&[], 0);
    let branch = report["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    (scene, branch)
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn audit(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(&["audit"]).args(arguments).output().expect("tm");
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    assert_eq!(
        scene.git(&["worktree", "list"]).lines().count(),
        1,
        "the worktrees of an audit are removed"
    );
    words(&output)
}

/// The items of an audit: kind, task, outcome.
fn items(scene: &Scene, arguments: &[&str], code: i32) -> Vec<(String, String, String)> {
    let output = scene
        .tm(&["audit", "--json"])
        .args(arguments)
        .output()
        .expect("tm");
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(json["holds"], code == 0);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = json["items"].as_array().expect("items").iter();
    items
        .map(|item| {
            (
                text(&item["kind"]),
                text(&item["task"]),
                text(&item["outcome"]),
            )
        })
        .collect()
}

fn named(items: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    items
        .iter()
        .map(|(kind, task, outcome)| ((*kind).into(), (*task).into(), (*outcome).into()))
        .collect()
}

fn commit(scene: &Scene, message: &str) {
    scene.git(&["add", "--all", "--", "bin", "t", "docs"]);
    scene.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
}

fn switch(scene: &Scene, branch: &str) {
    scene.git(&["stash", "--quiet", "--include-untracked"]);
    scene.git(&["switch", "--quiet", branch]);
    std::fs::create_dir_all(scene.root().join("bin")).expect("a folder");
    std::fs::create_dir_all(scene.root().join("docs")).expect("a folder");
}

const ALL: [(&str, &str, &str); 6] = [
    ("red", "1:red", "shown"),
    ("green", "1", "shown"),
    ("landing", "1", "shown"),
    ("work", "2", "shown"),
    ("landing", "2", "shown"),
    ("whole", "", "shown"),
];

#[test]
fn an_honest_run_is_shown_again_here_and_in_a_fresh_clone() {
    let (scene, branch) = honest();
    let run = scene.report()["run_id"].as_str().expect("a run").to_owned();
    for range in [
        vec![],
        vec![branch.as_str()],
        vec![run.as_str()],
        vec!["--max-parallel", "1"],
    ] {
        assert_eq!(items(&scene, &range, 0), named(&ALL), "{range:?}");
    }
    let table = audit(&scene, &[], 0);
    for part in [
        "1:red",
        "its new tests fail for what is missing",
        "6 shown",
        "tests by: sh run-tests.sh",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    scene.git(&["clone", "--quiet", ".", "../clone"]);
    let clone = scene.path("clone").display().to_string();
    let in_clone = |arguments: &[&str]| {
        let mut command = scene.tm(&["-C", &clone, "audit"]);
        command
            .args(arguments)
            .env("TM_HOME", scene.path("another-home"))
            .output()
            .expect("tm")
    };
    for range in [format!("main..{branch}"), run] {
        let output = in_clone(&[&range]);
        assert!(
            output.status.success() && words(&output).contains("6 shown"),
            "{}",
            words(&output)
        );
    }
    let nothing = in_clone(&[]);
    assert!(
        nothing.status.code() == Some(2) && words(&nothing).contains("hint: `tm audit FROM..TO`"),
        "{nothing:?}"
    );
    let unknown = in_clone(&["nowhere..HEAD"]);
    assert!(
        unknown.status.code() == Some(2) && words(&unknown).contains("nowhere"),
        "{}",
        words(&unknown)
    );
}

#[test]
fn work_that_the_user_merged_is_looked_into_and_what_is_the_users_own_is_named() {
    let (scene, branch) = honest();
    let before = scene.git(&["rev-parse", "HEAD"]);
    switch(&scene, "main");
    write(&scene.root().join("docs/mine"), "mine\n");
    commit(&scene, "my own");
    scene.git(&["merge", "--quiet", "--no-ff", "--no-edit", &branch]);
    let found = items(&scene, &[&format!("{before}..HEAD")], 3);
    let mut wanted = vec![("uncovered", "", "not-shown")];
    wanted.extend(&ALL[..5]);
    wanted.extend([("merge", "", "shown"), ("whole", "", "shown")]);
    let (mut found, mut wanted) = (found, named(&wanted));
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    let table = audit(&scene, &[&format!("{before}..HEAD")], 3);
    assert!(
        table
            .contains("no proof covers it: it is neither a merge of tm's nor the commit of a task"),
        "{table}"
    );
}

#[test]
fn what_was_slipped_onto_the_integration_branch_is_named() {
    let (scene, branch) = honest();
    switch(&scene, &branch);
    write(&scene.root().join("bin/backdoor"), "echo\n");
    commit(&scene, "slipped in");
    let slipped = scene.git(&["rev-parse", "--short=12", "HEAD"]);
    let table = audit(&scene, &[&branch], 3);
    let line = table
        .lines()
        .find(|line| line.contains("uncovered"))
        .expect("the commit");
    assert!(
        line.contains(&slipped) && line.contains("no proof covers it"),
        "{table}"
    );
}

#[test]
fn a_merge_with_another_tree_is_named() {
    let (scene, branch) = honest();
    switch(&scene, &branch);
    write(&scene.root().join("bin/backdoor"), "echo\n");
    scene.git(&["add", "bin/backdoor"]);
    scene.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    let table = audit(&scene, &[&branch], 3);
    let line = table
        .lines()
        .find(|line| line.contains("landing") && line.contains("not-shown"))
        .expect("the merge");
    assert!(
        line.starts_with('2') && line.contains("its tree is not what its parents give"),
        "{table}"
    );
}

/// A history with the trailers of tm: RED, what is said to be its GREEN, and the merge.
fn forged(scene: &Scene, red: &str, green: &str) {
    let start = scene.git(&["rev-parse", "HEAD"]);
    switch(scene, "main");
    scene.git(&["switch", "--quiet", "--create", "work"]);
    for (phase, task, script) in [("red", "1:red", red), ("green", "1", green)] {
        assert!(scene.shell(script).status().expect("sh").success());
        commit(
            scene,
            &format!(
                "Work\n\nTask: {task}\nPhase: {phase}\nTag: master\nRun: r1\nTests: 9 passed, 0 failed"
            ),
        );
    }
    scene.git(&["switch", "--quiet", "--create", "integration", &start]);
    let message = "Land task 1: Work\n\nTask: 1\nRun: r1";
    scene.git(&["merge", "--quiet", "--no-ff", "--message", message, "work"]);
}

const RED: &str =
    "printf '. t/check.sh\\ncheck \"it works\" 1 \"$(sh bin/it 2>/dev/null)\"\\n' > t/it.t";
const GREEN: &str = "echo 'echo 1' > bin/it";

#[test]
fn a_pair_holds_by_what_is_in_its_commits_and_by_nothing_else() {
    let cases = [
        (RED, GREEN, 0, "6"),
        // The implementation never got into the commit.
        (RED, "echo nothing > docs/it", 3, "red-tests-fail"),
        // The test was bent to what there is.
        (
            RED,
            "echo '. t/check.sh; check \"it works\" 1 1' > t/it.t",
            3,
            "red-tests-changed",
        ),
        // The test never failed.
        (
            "printf '. t/check.sh\\ncheck \"it works\" 1 1\\n' > t/it.t",
            GREEN,
            3,
            "everything-passed",
        ),
        // It breaks what was there.
        (
            RED,
            "echo 'echo 1' > bin/it; echo '. t/check.sh; check \"the old one\" 1 2' > t/old.t",
            3,
            "not-shown",
        ),
    ];
    for (red, green, code, part) in cases {
        let scene = Scene::new(&[], HONEST);
        forged(&scene, red, green);
        let table = audit(&scene, &["main..integration"], code);
        assert!(code == 0 || table.contains(part), "{part} in {table}");
    }
}

#[test]
fn a_green_without_a_red_and_trailers_that_do_not_agree_are_named() {
    let scene = Scene::new(&[], HONEST);
    forged(&scene, RED, GREEN);
    let range = ["work~1..work"];
    assert_eq!(
        items(&scene, &range, 0),
        named(&[("green", "1", "shown"), ("whole", "", "shown")]),
        "RED lies before"
    );
    scene.git(&["switch", "--quiet", "--create", "alone", "main"]);
    std::fs::create_dir_all(scene.root().join("bin")).expect("a folder");
    assert!(scene.shell(GREEN).status().expect("sh").success());
    commit(&scene, "Work\n\nTask: 1\nPhase: green\nRun: r1");
    let table = audit(&scene, &["main..alone"], 3);
    assert!(
        table.contains("there is no RED below it in the history"),
        "{table}"
    );
    commit(&scene, "Work\n\nTask: 1\nTask: 2\nPhase: none\nRun: r1");
    assert!(audit(&scene, &["main..alone"], 3).contains("two things for `Task`"));
    scene.git(&["switch", "--quiet", "integration"]);
    scene.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--message",
        "Land\n\nTask: 7\nRun: r1",
    ]);
    assert!(
        audit(&scene, &["main..integration"], 3).contains("of another task, or of another run")
    );
}

#[test]
fn a_flaky_test_has_its_own_word() {
    let scene = Scene::new(&[], HONEST);
    let (count, start) = (scene.path("count"), scene.git(&["rev-parse", "HEAD"]));
    switch(&scene, "main");
    // Passes at every second time.
    let flaky = format!(
        ". t/check.sh\necho x >> '{0}'\ncheck 'flaky' 0 \"$(( $(wc -l < '{0}') % 2 ))\"\n",
        count.display()
    );
    write(&scene.root().join("t/flaky.t"), &flaky);
    commit(&scene, "Work\n\nTask: 1\nPhase: none\nRun: r1");
    let table = audit(
        &scene,
        &["--max-parallel", "1", &format!("{start}..HEAD")],
        0,
    );
    assert!(
        table.contains("flaky") && table.contains("passed only when run again"),
        "{table}"
    );
}

#[test]
fn where_no_test_can_run_nothing_is_shown_and_what_to_set_is_named() {
    let (scene, branch) = honest();
    let table = audit(&scene, &["--test-command", "no-such-program", &branch], 3);
    assert!(
        table.contains("cannot-run") && table.contains("`--test-command`"),
        "{table}"
    );
    assert!(table.contains("\n6 cannot-run\n"), "{table}");
}

#[test]
fn a_sample_looks_at_every_place_and_runs_the_tests_of_some_tasks() {
    let (scene, branch) = honest();
    let first = items(&scene, &["--sample", "1", &branch], 0);
    assert_eq!(
        items(&scene, &["--sample", "1", &branch], 0),
        first,
        "which ones follows from the newest commit"
    );
    assert_eq!(first.len(), 6);
    let of_first = first.iter().filter(|(kind, task, outcome)| {
        kind != "whole" && task.starts_with('1') && outcome == "shown"
    });
    let of_second = first
        .iter()
        .filter(|(_, task, outcome)| task == "2" && outcome == "shown");
    let counts = (of_first.count(), of_second.count());
    assert!(counts == (3, 0) || counts == (0, 2), "{first:?}");
    assert!(audit(&scene, &["--sample", "1", &branch], 0).contains("the tests of 1 of 2 tasks"));
    switch(&scene, &branch);
    commit(&scene, "slipped in");
    assert!(
        items(&scene, &["--sample", "1", &branch], 3)
            .contains(&named(&[("uncovered", "", "not-shown")])[0])
    );
}

#[test]
fn a_ci_system_can_read_what_came_of_it() {
    let (scene, branch) = honest();
    audit(&scene, &["--junit", "audit.xml", &branch], 0);
    let xml = std::fs::read_to_string(scene.root().join("audit.xml")).expect("a report");
    assert!(
        xml.contains("tests=\"6\" skipped=\"0\" failures=\"0\" errors=\"0\""),
        "{xml}"
    );
    std::fs::remove_file(scene.root().join("audit.xml")).expect("removed");
    assert!(is_well_formed(&xml));
}

fn is_well_formed(xml: &str) -> bool {
    let (mut open, mut rest) = (Vec::new(), xml);
    while let Some((_, tag)) = rest.split_once('<') {
        let Some((tag, after)) = tag.split_once('>') else {
            return false;
        };
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap_or_default();
        match (
            tag.starts_with('/'),
            tag.ends_with('/') || tag.starts_with('?'),
        ) {
            (true, _) if open.pop() != Some(name) => return false,
            (false, false) => open.push(name),
            _ => {}
        }
        rest = after;
    }
    open.is_empty()
}

#[test]
fn a_task_with_its_own_test_command_is_shown_by_it() {
    let backlog = r#"{"master": {"tasks": [{"id": 1, "title": "Document it", "description": "", "status": "pending",
        "priority": "medium", "dependencies": [], "subtasks": [], "metadata": {"test_command": "sh  run-tests.sh\ntrue"}}]}}"#;
    let scene = Scene::with_backlog(backlog, HONEST);
    let report = scene.runs(&[], 0);
    let branch = report["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let trailers = scene.git(&["log", "--format=%(trailers)", &format!("main..{branch}")]);
    assert!(
        trailers.contains("Test-Command: \"sh  run-tests.sh\\ntrue\""),
        "{trailers}"
    );
    let table = audit(&scene, &[&branch], 0);
    assert!(
        table.contains("by its own command: sh  run-tests.sh true"),
        "{table}"
    );
}

#[test]
fn what_was_proven_is_attested_beside_the_run_and_as_a_note() {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "git: { attest: notes }\n",
    );
    let report = scene.runs(&[], 0);
    let path = scene.waves_folder().join("attestations/1.intoto.json");
    let statement = json_of(&path);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    let branch = report["integration_branch"].as_str().expect("a branch");
    let tip = scene.git(&["rev-parse", branch]);
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], tip);
    assert_eq!(
        statement["subject"][0]["digest"]["gitTree"],
        scene.landed_tree()
    );
    let predicate = &statement["predicate"];
    let red = scene.git(&["rev-parse", &format!("{branch}^2^")]);
    assert_eq!(
        (&predicate["phase"], &predicate["red"]),
        (&"green".into(), &red.into())
    );
    assert_eq!(
        (&predicate["passed"], &predicate["strength"]),
        (&2.into(), &"per-test".into())
    );
    let note: Value =
        serde_json::from_str(&scene.git(&["notes", "--ref", "tm", "show", &tip])).expect("JSON");
    assert_eq!(note, statement);
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

#[test]
fn an_object_that_was_written_over_after_the_run_is_named_and_lands_nowhere() {
    let (scene, branch) = honest();
    let clean = scene.git(&["rev-parse", "HEAD"]);
    let object = |content: &str| {
        let id = scene.git(&["rev-parse", content]);
        let file = scene
            .root()
            .join(".git/objects")
            .join(&id[..2])
            .join(&id[2..]);
        (id, file)
    };
    let listed = scene.git(&[
        "diff",
        "--name-only",
        "--diff-filter=A",
        "main",
        &branch,
        "--",
        "bin",
        "docs",
    ]);
    let path = listed.lines().next().expect("something new");
    let (id, file) = object(&format!("{branch}:{path}"));
    write(&scene.path("foreign"), "weaker\n");
    let foreign = scene.git(&["hash-object", "-w", "../foreign"]);
    let by = scene
        .root()
        .join(".git/objects")
        .join(&foreign[..2])
        .join(&foreign[2..]);
    std::fs::remove_file(&file).expect("removed");
    std::fs::copy(by, &file).expect("copied");
    assert_eq!(
        scene.git(&["show", &format!("{branch}:{path}")]),
        "weaker",
        "git believes it"
    );

    let found = items(&scene, &[], 3);
    assert_eq!(found, named(&[("whole", "", "not-shown")]));
    assert!(audit(&scene, &[], 3).contains(&id));
    let land = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(
        !land.status.success() && words(&land).contains(&id),
        "{}",
        words(&land)
    );
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), clean);
}
