//! `git.keep_agent_commits`: the commits that agents made themselves are the history of what lands, where nothing speaks
//! against one of them.

use crate::scene::{HONEST, Scene, task};
use serde_json::Value;

/// Commits twice on its way, and leaves something uncommitted.
const COMMITS: &str = r#"
commit() { git add --all && git -c user.name=Agent -c user.email=agent@example.org commit --quiet --no-verify -m "$1"; }
[ $TM_PHASE != green ] || { mkdir -p bin; echo 'echo wrong' > bin/1; commit 'A first try'; echo 'echo 2' > bin/1; commit 'A second try'; }
"#;

fn keeping(agent: &str) -> (Scene, Value) {
    let scene = Scene::new(
        &[("1", "Add the parser", &[])],
        &format!("{COMMITS}{agent}{HONEST}"),
    );
    let output = scene
        .run_command(&[])
        .env("TM_GIT_KEEP_AGENT_COMMITS", "true")
        .output()
        .expect("tm");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = scene.report();
    (scene, report)
}

fn notes(report: &Value) -> String {
    task(report, "1")["attempts"][0]["proof"]["notes"].to_string()
}

fn subjects(scene: &Scene, arguments: &[&str]) -> Vec<String> {
    let listing = scene.git(&[&["log", "--format=%an: %s", "--reverse"], arguments].concat());
    listing.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn agents_commits_are_the_history_of_the_tasks_commit_and_the_chain_stays_tms() {
    let (scene, report) = keeping("");
    let branch = report["integration_branch"].as_str().expect("a branch");
    let green = task(&report, "1")["commit"]
        .as_str()
        .expect("a commit")
        .to_owned();
    assert_eq!(
        subjects(&scene, &[&format!("{green}^..{green}^2")]),
        ["Agent: A first try", "Agent: A second try"]
    );
    let red = task(&report, "1:red")["commit"].as_str().expect("a commit");
    assert_eq!(
        scene.git(&["rev-parse", &format!("{green}^")]),
        red,
        "the first parent is what the work began with"
    );
    let chain = subjects(&scene, &["--first-parent", &format!("main..{branch}")]);
    assert_eq!(chain, ["Somebody: Land task 1: Add the parser"]);
    let made_in = scene.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Made-In,valueonly)",
        &format!("{green}^2"),
    ]);
    assert_eq!(
        made_in.trim(),
        format!("{}/1/1", report["run_id"].as_str().expect("a run"))
    );
    assert!(
        notes(&report).contains("the agent's own 2 commits are kept as its history"),
        "{report:#}"
    );
    assert_eq!(scene.git(&["show", &format!("{branch}:bin/1")]), "echo 1");
}

#[test]
fn a_kept_history_is_named_by_an_audit_and_lands_and_is_looked_at_as_any() {
    let (scene, report) = keeping("");
    let branch = report["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let audit = scene
        .tm(&["audit", "--json", &branch])
        .output()
        .expect("tm");
    let found: Value = serde_json::from_slice(&audit.stdout).expect("one document");
    let items = found["items"].as_array().expect("items").iter();
    let kinds: Vec<String> = items
        .map(|item| format!("{} {}", item["kind"], item["outcome"]).replace('"', ""))
        .collect();
    let mut expected = [
        "red shown",
        "history not-tested",
        "history not-tested",
        "green shown",
        "landing shown",
        "whole shown",
    ];
    let mut sorted: Vec<&str> = kinds.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected, "{found:#}");
    assert_eq!(audit.status.code(), Some(0));
    for call in [
        &["worktrees", "log", "1"][..],
        &["worktrees", "diff", "1"],
        &["review", "--json"],
        &["waves", "land", "--yes"],
    ] {
        let output = scene.tm(call).output().expect("tm");
        assert!(
            output.status.success(),
            "{call:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert!(subjects(&scene, &["main"]).contains(&"Agent: A first try".to_owned()));
}

#[test]
fn a_history_that_something_speaks_against_is_not_kept_and_the_work_lands_all_the_same() {
    let trailer = r#"[ $TM_PHASE != green ] || { echo x > x; commit "$(printf 'Mine\n\nTask: 1\nPhase: green')"; rm x; }"#;
    let forbidden = r"[ $TM_PHASE != green ] || { mkdir -p .taskmaster; echo x > .taskmaster/x; git add --force .taskmaster/x; commit in; git rm --quiet .taskmaster/x; commit out; }";
    let merge = r"[ $TM_PHASE != green ] || { git -c user.name=A -c user.email=a@b merge --quiet --no-ff --strategy=ours -m merged $(git -c user.name=A -c user.email=a@b commit-tree -m x HEAD^{tree} -p HEAD~1); }";
    for (agent, why) in [
        (trailer, "has the trailer `Task`, which is tm's"),
        (
            forbidden,
            "brings `.taskmaster/x`, which is never committed",
        ),
        (merge, "they are no chain of at most 200 commits"),
    ] {
        let (scene, report) = keeping(&format!("{agent}\n"));
        assert!(
            notes(&report).contains("the agent's own commits are not kept as history: "),
            "{report:#}"
        );
        assert!(notes(&report).contains(why), "{why}: {report:#}");
        let green = task(&report, "1")["commit"]
            .as_str()
            .expect("a commit")
            .to_owned();
        assert_eq!(
            scene
                .git(&["log", "-1", "--format=%P", &green])
                .split(' ')
                .count(),
            1
        );
        assert!(
            scene
                .git(&["for-each-ref", "refs/tm/salvage"])
                .contains("/1/1"),
            "the commits are kept elsewhere"
        );
        let log = std::fs::read_to_string(scene.waves_folder().join("tm.log")).expect("a log");
        assert!(log.contains("not kept as history"), "{log}");
    }
}
