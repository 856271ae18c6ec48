//! Answers of autopilot as words. Pure.

use serde_json::Value;
use std::fmt::Write as _;
use tm_runtime::autopilot::{Committed, Completed, Ended, NextAction, Started, StatusView};

pub(super) fn preview(started: &Started) -> String {
    let mut text = format!(
        "task {}: {}\nbranch: {}\n",
        started.task_id, started.title, started.branch
    );
    let _ = writeln!(
        text,
        "subtasks, in this order: {}",
        started.subtasks.join(", ")
    );
    text + &warnings(&started.warnings)
}

pub(super) fn started(started: &Started) -> String {
    let mut text = format!("{} (run {})\n", started.message, started.run_id);
    text.extend(started.base.iter().map(|line| format!("{line}\n")));
    text += &warnings(&started.warnings);
    text + &started.next_action.as_ref().map(next).unwrap_or_default()
}

pub(super) fn next(next: &NextAction) -> String {
    let mut text = format!("next: {}\n", next.description);
    if let Some(subtask) = &next.subtask {
        let _ = writeln!(text, "{} {}", subtask.id, subtask.title);
        for words in [
            &subtask.description,
            &subtask.details,
            &subtask.test_strategy,
        ] {
            if !words.trim().is_empty() {
                let _ = writeln!(text, "  {}", words.trim().replace('\n', "\n  "));
            }
        }
    }
    let _ = writeln!(text, "{}", next.instructions);
    let unmet = next
        .work_unit
        .iter()
        .flat_map(|unit| &unit.preconditions)
        .filter(|one| !one.met);
    for one in unmet {
        let _ = writeln!(text, "not met: {} ({})", one.description, one.name);
    }
    text
}

pub(super) fn completed(completed: &Completed) -> String {
    format!(
        "{}\n{}{}",
        completed.message,
        warnings(&completed.warnings),
        next(&completed.next_action)
    )
}

pub(super) fn committed(committed: &Committed) -> String {
    let progress = &committed.progress;
    format!(
        "committed {}: {}\n{} of {} subtasks are finished\n{}{}",
        committed.commit_hash,
        committed.message,
        progress.completed.len(),
        progress.total,
        warnings(&committed.warnings),
        next(&committed.next_action)
    )
}

pub(super) fn ended(ended: &Ended) -> String {
    format!(
        "{}\n{}{}\n",
        ended.message,
        warnings(&ended.warnings),
        ended.note
    )
}

pub(super) fn status(view: &StatusView) -> String {
    let mut text = format!("task {}: {}\n", view.task_id, view.task_title);
    let _ = writeln!(
        text,
        "run {} is {} for {}",
        view.run_id, view.status, view.duration
    );
    let _ = writeln!(
        text,
        "branch {}, {} commits",
        view.branch_name, view.commits
    );
    for subtask in &view.subtasks {
        let step = match (
            &view.tdd_phase,
            view.current_subtask.as_deref() == Some(subtask.id.as_str()),
        ) {
            (Some(step), true) => format!(" ({step}, try {})", view.attempt_number),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "  {:12} {} {}{step}",
            subtask.status, subtask.id, subtask.title
        );
    }
    if let Some(command) = &view.next_command {
        let _ = writeln!(text, "next: `{command}`");
    }
    text
}

/// One event of the log as a line.
pub(super) fn event(line: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(line) else {
        return format!("{line}\n");
    };
    let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut text = format!("{} {}", field("ts"), field("event"));
    let is_more = |(key, value): &(&String, &Value)| {
        !value.is_null() && !matches!(key.as_str(), "ts" | "event")
    };
    for (key, value) in fields.iter().filter(is_more) {
        let _ = match value {
            Value::String(words) => write!(text, " {key}={words}"),
            other => write!(text, " {key}={other}"),
        };
    }
    text + "\n"
}

fn warnings(warnings: &[String]) -> String {
    warnings.iter().fold(String::new(), |text, warning| {
        text + "warning: " + warning + "\n"
    })
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
