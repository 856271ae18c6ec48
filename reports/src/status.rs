//! Where a run stands, as text for a terminal of 80 columns.

use crate::foundation::base_lines;
use crate::{Summary, TaskSummary, columns, human_duration};
use std::fmt::Write as _;
use tm_scheduler::{Failure, Strength};

/// Returns one line a task and a line of totals.
pub fn status_text(summary: &Summary) -> String {
    let mut text = String::new();
    let settled = summary
        .tasks
        .iter()
        .filter(|task| task.verdict.as_str() != "not-run" || task.is_skipped())
        .count();
    let _ = writeln!(
        text,
        "run {} is {} after {}: {} of {} tasks settled, branch {}",
        summary.run_id,
        summary.status,
        human_duration(summary.wall_ms),
        settled,
        summary.tasks.len(),
        summary.integration_branch
    );
    for wall in &summary.walls {
        let left = human_duration(wall.left_ms);
        let _ = writeln!(
            text,
            "  `{}` is at a limit, asked again in {left} (at {})",
            wall.account, wall.until
        );
    }
    for line in summary.doubt_lines() {
        let _ = writeln!(
            text,
            "  the journal and git do not agree: {}",
            line.replace(['\n', '\r'], " ")
        );
    }
    for line in base_lines(summary)
        .into_iter()
        .chain(summary.setups.describe())
    {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(why) = &summary.broken_by {
        let _ = writeln!(text, "  nothing more is started: {why}");
    }
    let row = |task: &TaskSummary| {
        let state = format!("{:10}", task.state);
        [format!("  {}", task.id), state, note(task)]
    };
    let rows: Vec<_> = summary.tasks.iter().map(row).collect();
    text += &columns(&rows, None);
    text
}

fn note(task: &TaskSummary) -> String {
    let attempts = task.attempts.len();
    let title: String = task.title.chars().take(48).collect();
    let ahead = task
        .attempts
        .last()
        .map(|attempt| attempt.conflict_ahead.join(", "))
        .unwrap_or_default();
    match (&task.failure, task.blocked_by.as_slice()) {
        (Some(Failure::Stopped), _) => format!("stopped by the user · {title}"),
        (Some(failure), _) => format!("{failure} after {attempts} attempts · {title}"),
        (None, []) if !ahead.is_empty() => format!("will conflict in {ahead} · {title}"),
        (None, []) if attempts > 1 => format!("attempt {attempts} · {title}"),
        (None, []) => match task.strength() {
            Some(strength @ Strength::ExitStatusOnly) => format!("{title} · {}", strength.as_str()),
            Some(Strength::PerTest | Strength::Nothing) | None => title,
        },
        (None, by) => format!("by {} · {title}", by.join(", ")),
    }
}
