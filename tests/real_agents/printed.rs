//! Agents that print what the real programs print.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// Does its work and reports tokens and cost as Claude Code does.
fn reporting() -> String {
    format!(
        "{HONEST}\necho '{{\"type\":\"result\",\"is_error\":false,\"result\":\"Done\",\"total_cost_usd\":0.75,\
         \"usage\":{{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":2}}}}'\n"
    )
}

#[test]
fn a_spent_budget_starts_nothing_more_and_its_run_can_be_taken_up() {
    for (flag, budget) in [("--max-cost", "0.5"), ("--max-tokens", "17")] {
        let scene = Scene::new(
            &[("1", "Document it", &[]), ("2", "Document that", &[])],
            &reporting(),
        )
        .prints_events();
        let report = scene.runs(&["--max-parallel", "1", "--tdd", "off", flag, budget], 6);
        let first = task(&report, "1");
        assert_eq!(first["landed"], true, "{report:#}");
        assert!(
            task(&report, "2")["attempts"]
                .as_array()
                .is_none_or(Vec::is_empty),
            "{report:#}"
        );
        assert_eq!(first["attempts"][0]["tokens"]["input"], 15, "{first:#}");
    }
}

#[test]
fn an_agent_that_does_not_report_what_a_budget_counts_is_named_before_the_run() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let output = scene.run(&["--tdd", "off", "--max-cost", "5"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("note: `custom` does not report its cost"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn a_task_that_has_spent_its_budget_gets_no_further_attempt_and_the_others_go_on() {
    let fails = "\n[ \"$TM_TASK_ID\" = 2 ] || echo 'status: FAIL' > \"$TM_RESULT_FILE\"\n";
    let agent = reporting() + fails;
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document that", &[])],
        &agent,
    )
    .prints_events();
    let report = scene.runs(
        &[
            "--tdd",
            "off",
            "--max-parallel",
            "1",
            "--max-cost-per-task",
            "1",
        ],
        6,
    );
    assert_eq!(
        task(&report, "1")["attempts"].as_array().map(Vec::len),
        Some(2),
        "{report:#}"
    );
    assert_eq!(task(&report, "2")["landed"], true, "{report:#}");
}

fn settings(scene: &Scene, own: &str) {
    let agent = scene.path("agent.sh");
    let text = format!(
        "agent: {{default: mine}}\nagents:\n  mine:\n    command: [sh, '{}', '{{permissions}}']\n    version: ['-c', 'echo mine 1.2']\n    permission_modes: {{careful: {{why: it may write files}}}}\n{own}",
        agent.display()
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &text);
}

fn said(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
    stdout.into_owned() + &stderr
}

#[test]
fn the_plan_says_who_works_and_what_each_may_do_without_asking() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    settings(&scene, "");
    let plan = said(&scene, &["waves", "plan", "--tdd", "off"], 0);
    assert!(
        plan.contains("`mine` permissions `careful`: it may write files"),
        "{plan}"
    );
    let json = said_on_stdout(
        &scene,
        &["waves", "plan", "--tdd", "off", "--format", "json"],
        0,
    );
    let plan: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        plan["agents"]["none"][0]["permissions"], "careful",
        "{plan:#}"
    );
    settings(&scene, "    permissions: wild\n");
    let refused = said(&scene, &["waves", "run", "--yes", "--tdd", "off"], 1);
    assert!(
        refused.contains("with the permissions `wild`, it has `careful`"),
        "{refused}"
    );
}

#[test]
fn agents_are_listed_shown_and_checked() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    settings(&scene, "  gone: {command: [no-such-program-anywhere]}\n");
    let listed: Value =
        serde_json::from_str(&said_on_stdout(&scene, &["agents", "list", "--json"], 0))
            .expect("JSON");
    let of = |name: &str| {
        let rows = listed.as_array().expect("rows").iter();
        rows.clone()
            .find(|row| row["agent"] == name)
            .unwrap_or_else(|| panic!("{name} in {listed:#}"))
    };
    assert_eq!(
        (&of("mine")["used"], &of("claude")["used"]),
        (&true.into(), &false.into())
    );
    assert!(
        of("gone")["problem"]
            .as_str()
            .is_some_and(|why| why.contains("no-such-program-anywhere"))
    );
    let shown = said(&scene, &["agents", "show", "codex"], 0);
    assert!(
        shown.contains("permissions: \"bypass\"") && shown.contains("workspace-write"),
        "{shown}"
    );
    assert!(said(&scene, &["agents", "show", "nobody"], 1).contains("hint:"));
    let refused = said(&scene, &["agents", "check"], 2);
    assert!(
        refused.contains("`tm agents show mine`") && refused.contains("`--trust`"),
        "{refused}"
    );
    let checked = said(&scene, &["agents", "check", "--trust"], 0);
    assert!(
        checked.contains("ok    mine") && checked.contains("mine 1.2"),
        "{checked}"
    );
    said(&scene, &["agents", "check", "gone", "--trust"], 1);
}

#[test]
fn a_live_check_has_an_agent_do_one_task_in_a_repository_that_is_thrown_away() {
    let writes = "echo hello > hello.txt; printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"";
    let scene = Scene::new(&[("1", "Document it", &[])], writes);
    settings(&scene, "");
    let before = scene.git(&["for-each-ref"]);
    let checked: Value = serde_json::from_str(&said_on_stdout(
        &scene,
        &["agents", "check", "--trust", "--live", "--json"],
        0,
    ))
    .expect("JSON");
    assert_eq!(checked[0]["live"]["passed"], true, "{checked:#}");
    assert_eq!(scene.git(&["for-each-ref"]), before);
    write(
        &scene.path("agent.sh"),
        "echo nothing of the kind > other.txt",
    );
    let checked: Value = serde_json::from_str(&said_on_stdout(
        &scene,
        &["agents", "check", "--trust", "--live", "--json"],
        1,
    ))
    .expect("JSON");
    assert_eq!(
        checked[0]["live"]["problem"], "`hello.txt` is not there",
        "{checked:#}"
    );
    let kept = checked[0]["live"]["kept"].as_str().expect("a folder");
    std::fs::remove_dir_all(kept).expect("the folder is there");
}

fn said_on_stdout(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
