//! The report of a run that is over, in Markdown: what was committed, and what was said of the tests.

use super::state::RunState;
use serde_json::Value;
use std::fmt::Write as _;
use tm_scheduler::TaskId;
use tm_scheduler::autopilot::Progress;
use tm_store::autopilot::AutopilotRun;
use tm_store::backlog::stamp;

/// Returns the report.
pub(super) fn markdown(state: &RunState, run: &AutopilotRun) -> String {
    let mut text = format!(
        "# Task {}: {}\n\n",
        state.task_id,
        one_cell(&state.task_title)
    );
    let ended = state.ended_at.unwrap_or(state.updated_at);
    let _ = writeln!(
        text,
        "Run `{}` is {}.\n",
        state.run_id,
        state.status().as_str()
    );
    let _ = writeln!(
        text,
        "- Branch `{}`, from `{}`",
        state.branch, state.base_commit
    );
    let _ = writeln!(
        text,
        "- From {} to {}",
        stamp(state.started_at),
        stamp(ended)
    );
    let _ = writeln!(
        text,
        "- {} of {} subtasks are finished\n",
        state.completed().len(),
        state.machine.items().len()
    );
    text.push_str("| subtask | | RED | GREEN | coverage |\n|---|---|---|---|---|\n");
    for item in state.machine.items() {
        let outcome = match &item.progress {
            Progress::Open => "open".to_owned(),
            Progress::Skipped => "finished elsewhere".to_owned(),
            Progress::Committed(commit) => {
                format!("`{}`", commit.as_str().get(..12).unwrap_or_default())
            }
        };
        let green = run.test_results(&item.id, "green");
        let _ = writeln!(
            text,
            "| {} {} | {outcome} | {} | {} | {} |",
            item.id,
            one_cell(&item.title),
            counts(run, &item.id, "red"),
            counts(run, &item.id, "green"),
            green
                .and_then(|green| green["coverage"].as_f64())
                .map_or_else(String::new, |percent| format!("{percent} %")),
        );
    }
    text
}

fn counts(run: &AutopilotRun, subtask: &TaskId, phase: &str) -> String {
    let Some(results) = run.test_results(subtask, phase) else {
        return String::new();
    };
    let number = |name: &str| results.get(name).and_then(Value::as_u64).unwrap_or(0);
    format!("{} passed, {} failed", number("passed"), number("failed"))
}

/// Text that stays in its cell.
fn one_cell(text: &str) -> String {
    crate::conventional::one_line(text).replace('|', "\\|")
}
