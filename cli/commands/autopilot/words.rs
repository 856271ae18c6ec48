//! Answers of autopilot as words. Pure.

use itertools::Itertools as _;
use serde_json::Value;
use tm_runtime::autopilot::{Committed, Completed, Ended, NextAction, Started, StatusView};

pub(super) fn preview(started: &Started) -> String {
    let Started {
        task_id,
        title,
        branch,
        ..
    } = started;
    let subtasks = started.subtasks.join(", ");
    let warnings = warnings(&started.warnings);
    format!(
        "task {task_id}: {title}\nbranch: {branch}\nsubtasks, in this order: {subtasks}\n{warnings}"
    )
}

pub(super) fn started(started: &Started) -> String {
    let base = started.base.iter().map(|line| format!("{line}\n"));
    let next = started.next_action.as_ref().map(next);
    format!(
        "{} (run {})\n{}{}{}",
        started.message,
        started.run_id,
        base.format(""),
        warnings(&started.warnings),
        next.unwrap_or_default()
    )
}

pub(super) fn next(next: &NextAction) -> String {
    let mut text = format!("next: {}\n", next.description);
    if let Some(subtask) = &next.subtask {
        text += &format!("{} {}\n", subtask.id, subtask.title);
        let said = [
            &subtask.description,
            &subtask.details,
            &subtask.test_strategy,
        ];
        let said = said
            .map(|words| words.trim())
            .into_iter()
            .filter(|words| !words.is_empty());
        text.extend(said.map(|words| format!("  {}\n", words.replace('\n', "\n  "))));
    }
    text = text + &next.instructions + "\n";
    let preconditions = next.work_unit.iter().flat_map(|unit| &unit.preconditions);
    let unmet = preconditions.filter(|one| !one.met);
    text.extend(unmet.map(|one| format!("not met: {} ({})\n", one.description, one.name)));
    text
}

pub(super) fn completed(completed: &Completed) -> String {
    let warnings = warnings(&completed.warnings);
    format!(
        "{}\n{warnings}{}",
        completed.message,
        next(&completed.next_action)
    )
}

pub(super) fn committed(committed: &Committed) -> String {
    format!(
        "committed {}: {}\n{} of {} subtasks are finished\n{}{}",
        committed.commit_hash,
        committed.message,
        committed.progress.completed.len(),
        committed.progress.total,
        warnings(&committed.warnings),
        next(&committed.next_action)
    )
}

pub(super) fn ended(ended: &Ended) -> String {
    let warnings = warnings(&ended.warnings);
    format!("{}\n{warnings}{}\n", ended.message, ended.note)
}

pub(super) fn status(view: &StatusView) -> String {
    let mut text = format!(
        "task {}: {}\nrun {} is {} for {}\nbranch {}, {} commits\n",
        view.task_id,
        view.task_title,
        view.run_id,
        view.status,
        view.duration,
        view.branch_name,
        view.commits
    );
    for subtask in &view.subtasks {
        let is_current = view.current_subtask.as_deref() == Some(subtask.id.as_str());
        let step = view.tdd_phase.as_ref().filter(|_| is_current);
        let step = step.map(|step| format!(" ({step}, try {})", view.attempt_number));
        let step = step.unwrap_or_default();
        text += &format!(
            "  {:12} {} {}{step}\n",
            subtask.status, subtask.id, subtask.title
        );
    }
    text.extend(
        view.next_command
            .iter()
            .map(|command| format!("next: `{command}`\n")),
    );
    text
}

/// One event of the log as a line.
pub(super) fn event(line: &str) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(line) else {
        return format!("{line}\n");
    };
    let mut field = |name: &str| fields.shift_remove(name).unwrap_or_default();
    let (moment, event) = (field("ts"), field("event"));
    let more = fields.iter().filter(|(_, value)| !value.is_null());
    let more = more.map(|(key, value)| match value {
        Value::String(words) => format!(" {key}={words}"),
        other => format!(" {key}={other}"),
    });
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}{}\n", word(&moment), word(&event), more.format(""))
}

fn warnings(warnings: &[String]) -> String {
    let lines = warnings.iter();
    lines
        .map(|warning| format!("warning: {warning}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_lines_and_rubbish_stays() {
        let line = r#"{"ts":"2026-11-21T05:30:00.000Z","event":"test:run","subtaskId":"1.1","failed":3,"coverage":null}"#;
        assert_eq!(
            event(line),
            "2026-11-21T05:30:00.000Z test:run subtaskId=1.1 failed=3\n"
        );
        assert_eq!(event("no json"), "no json\n");
    }
}
