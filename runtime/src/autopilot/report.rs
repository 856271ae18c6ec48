//! The report of a run that is over.

use super::error::short;
use super::state::RunState;
use serde_json::Value;
use tm_scheduler::autopilot::{Progress, WorkItem};
use tm_store::autopilot::AutopilotRun;
use tm_store::backlog::stamp;
use tm_store::run::read_json;

/// Returns the report of a run that is over, in Markdown: what was committed, and what was said of the tests.
pub(super) fn markdown(state: &RunState, run: &AutopilotRun) -> String {
    let head = format!(
        "# Task {}: {}\n\nRun `{}` is {}.\n\n- Branch `{}`, from `{}`\n- From {} to {}\n- {} of {} subtasks are finished\n\n",
        state.task_id,
        one_cell(&state.task_title),
        state.run_id,
        state.status().as_str(),
        state.branch,
        state.base_commit,
        stamp(state.started_at),
        stamp(state.ended_at.unwrap_or(state.updated_at)),
        state.completed().len(),
        state.machine.items().len()
    );
    let rows = state.machine.items().iter().map(|item| row(item, run));
    let table = "| subtask | | RED | GREEN | coverage |\n|---|---|---|---|---|\n";
    head + table + &rows.collect::<String>()
}

/// What came of a subtask, as a row of the table.
fn row(item: &WorkItem, run: &AutopilotRun) -> String {
    let outcome = match &item.progress {
        Progress::Open => "open".to_owned(),
        Progress::Skipped => "finished elsewhere".to_owned(),
        Progress::Committed(commit) => format!("`{}`", short(commit)),
    };
    let results = |phase| read_json::<Value>(&run.test_results(&item.id, phase)).ok();
    let results = ["red", "green"].map(results);
    let [red, green] = results.each_ref().map(|results| counts(results.as_ref()));
    let coverage = results[1]
        .as_ref()
        .and_then(|green| green["coverage"].as_f64());
    let coverage = coverage.map_or_else(String::new, |percent| format!("{percent} %"));
    let (id, title) = (&item.id, one_cell(&item.title));
    format!("| {id} {title} | {outcome} | {red} | {green} | {coverage} |\n")
}

fn counts(results: Option<&Value>) -> String {
    let Some(results) = results else {
        return String::new();
    };
    let number = |name: &str| results[name].as_u64().unwrap_or(0);
    format!("{} passed, {} failed", number("passed"), number("failed"))
}

/// Text that stays in its cell.
fn one_cell(text: &str) -> String {
    crate::conventional::one_line(text).replace('|', "\\|")
}
