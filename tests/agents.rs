//! Agents that print what the real programs print.

use crate::scene::{HONEST, Scene, task};

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
        let scene = Scene::new(&[("1", "Document it", &[]), ("2", "Document that", &[])], &reporting());
        let report = scene.runs(&["--max-parallel", "1", "--tdd", "off", flag, budget], 6);
        let first = task(&report, "1");
        assert_eq!(first["landed"], true, "{report:#}");
        assert!(task(&report, "2")["attempts"].as_array().is_none_or(Vec::is_empty), "{report:#}");
        assert_eq!(first["attempts"][0]["tokens"]["input"], 15, "{first:#}");
    }
}

#[test]
fn an_agent_that_does_not_report_what_a_budget_counts_is_named_before_the_run() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let output = scene.run(&["--tdd", "off", "--max-cost", "5"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("note: `custom` does not report its cost"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}
