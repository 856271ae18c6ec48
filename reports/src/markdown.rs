//! The summary of a run as Markdown: the same text goes to the screen, to `summary.md` and to a CI step summary.

use crate::foundation::{base_lines, nothing_is_proven, strengths};
use crate::{PairSummary, Summary, TaskSummary, Verdict, human_duration};
use std::fmt::Write as _;
use tm_scheduler::{Failure, Strength, in_a_line};

/// Returns the summary: what happened in a sentence, sums, the compliance table, failures with what to type next,
/// branches.
pub fn summary_markdown(summary: &Summary) -> String {
    let mut text = format!("# Run {}\n\n{}\n\n", summary.run_id, in_a_sentence(summary));
    doubts(&mut text, summary);
    sums(&mut text, summary);
    compliance(&mut text, summary);
    gates(&mut text, summary);
    failures(&mut text, summary);
    skipped(&mut text, summary);
    branches(&mut text, summary);
    text
}

fn doubts(text: &mut String, summary: &Summary) {
    let lines = summary.doubt_lines();
    if lines.is_empty() {
        return;
    }
    text.push_str("**The journal and git do not agree:**\n\n");
    for line in lines {
        let _ = writeln!(text, "- {}", line.replace(['\n', '\r'], " "));
    }
    text.push('\n');
}

pub(crate) fn in_a_sentence(summary: &Summary) -> String {
    let landed = summary.tasks.iter().filter(|task| task.landed).count();
    let time = human_duration(summary.wall_ms);
    let count = summary.tasks.len();
    let branch = &summary.integration_branch;
    match summary.status.as_str() {
        "completed" if nothing_is_proven(summary) => format!(
            "All {count} tasks settled in {time}, and no test proves any of it: the tests can't be run at the base; \
             {landed} landed on `{branch}`."
        ),
        "completed" => {
            format!("All {count} tasks settled well in {time}; {landed} landed on `{branch}`.")
        }
        "failed" => format!(
            "{landed} of {count} tasks landed on `{branch}` in {time}; {} failed and {} are blocked.",
            summary.totals.failed, summary.totals.blocked
        ),
        "interrupted" => {
            format!("Interrupted after {time}; {landed} of {count} tasks landed on `{branch}`.")
        }
        "stopped" if summary.broken_by.is_some() => {
            let why = summary.broken_by.as_deref().unwrap_or_default();
            format!(
                "Nothing more was started after {time}: {why}. {landed} of {count} tasks landed on `{branch}`."
            )
        }
        "stopped" => {
            format!(
                "The deadline or the budget ended after {time}; {landed} of {count} tasks landed on `{branch}`."
            )
        }
        _ => format!("Running for {time}; {landed} of {count} tasks landed on `{branch}`."),
    }
}

fn sums(text: &mut String, summary: &Summary) {
    let totals = &summary.totals;
    for line in base_lines(summary) {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(
        text,
        "- passed {}, partial {}, failed {}, blocked {}{}",
        totals.passed,
        totals.partial,
        totals.failed,
        totals.blocked,
        if totals.skipped == 0 {
            String::new()
        } else {
            format!(", skipped {}", totals.skipped)
        }
    );
    let attempts: usize = summary.tasks.iter().map(|task| task.attempts.len()).sum();
    let _ = writeln!(
        text,
        "- {} waves, at most {} agents at the same time, {attempts} attempts",
        summary.waves.len(),
        summary.max_parallel
    );
    let _ = writeln!(
        text,
        "- wall time {}, lower bound {}",
        human_duration(summary.wall_ms),
        human_duration(summary.lower_bound_ms)
    );
    for line in strengths(summary)
        .into_iter()
        .chain(summary.setups.describe())
    {
        let _ = writeln!(text, "- {line}");
    }
    if totals.tokens > 0 {
        let _ = writeln!(text, "- tokens {}", totals.tokens);
    }
    if let Some(cost) = totals.cost_usd {
        let _ = writeln!(text, "- cost ${cost:.2}");
    }
    text.push('\n');
}

fn compliance(text: &mut String, summary: &Summary) {
    if summary.tdd.pairs == 0 {
        return;
    }
    let rate = summary.tdd.rate.map_or_else(String::new, |rate| {
        format!(", {rate:.0} % of those that came to an end")
    });
    let _ = writeln!(
        text,
        "## TDD compliance\n\n{} of {} pairs{rate}\n",
        summary.tdd.compliant, summary.tdd.pairs
    );
    text.push_str("| Pair | RED fails first | Tests | GREEN passes | Proof | Worse | Landed | Compliant | Claim |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    let word = |is_so: bool| if is_so { "yes" } else { "no" };
    for pair in &summary.tdd.table {
        let green = summary.tasks.iter().find(|task| task.id == pair.green);
        let compliant = if pair.compliant {
            "yes".to_owned()
        } else {
            format!("no: {}", pair.why_not)
        };
        let _ = writeln!(
            text,
            "| {} {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            pair.green,
            cell(&pair.title),
            word(pair.red_seen_failing),
            red_tests(pair),
            word(pair.green_seen_passing),
            pair.strength.map_or("–", Strength::as_str),
            pair.regressions,
            word(pair.landed),
            cell(&compliant),
            green.map_or_else(|| "–".to_owned(), claim_beside_proof)
        );
    }
    text.push('\n');
}

/// Tests that can't be told from each other can't be counted either.
fn red_tests(pair: &PairSummary) -> String {
    match pair.strength {
        Some(Strength::ExitStatusOnly) => "–".to_owned(),
        Some(Strength::PerTest | Strength::Nothing) | None => pair.red_tests.to_string(),
    }
}

/// What the agent claimed last, and where the proof says otherwise.
fn claim_beside_proof(task: &TaskSummary) -> String {
    let Some(last) = task.attempts.last() else {
        return "–".to_owned();
    };
    if last.differences.is_empty() {
        last.claim.clone()
    } else {
        cell(&last.differences.join("; "))
    }
}

fn failures(text: &mut String, summary: &Summary) {
    let troubled: Vec<&TaskSummary> = summary
        .tasks
        .iter()
        .filter(|task| matches!(task.verdict, Verdict::Fail | Verdict::Blocked))
        .collect();
    if troubled.is_empty() {
        return;
    }
    text.push_str("## Failed and blocked\n\n");
    for task in troubled {
        if task.failure == Some(Failure::Stopped) {
            let _ = writeln!(
                text,
                "- {} {}: stopped by the user",
                task.id,
                cell(&task.title)
            );
            if !task.attempts.is_empty() {
                text.push_str("  `tm worktrees salvage`\n");
            }
        } else if let Some(failure) = task.failure {
            let reason = task.reason.as_deref().map(in_a_line).unwrap_or_default();
            let _ = writeln!(
                text,
                "- {} {}: {failure} after {} attempts: {reason}\n  `tm waves logs {}`",
                task.id,
                cell(&task.title),
                task.attempts.len(),
                task.id
            );
        } else if task.verdict == Verdict::Fail {
            let _ = writeln!(
                text,
                "- {} {}: its landing is in doubt",
                task.id,
                cell(&task.title)
            );
        } else {
            let _ = writeln!(
                text,
                "- {} {}: blocked by {}",
                task.id,
                cell(&task.title),
                task.blocked_by.join(", ")
            );
        }
    }
    text.push('\n');
}

fn skipped(text: &mut String, summary: &Summary) {
    if summary.totals.skipped == 0 {
        return;
    }
    text.push_str("## Skipped\n\n");
    for task in summary.tasks.iter().filter(|task| task.is_skipped()) {
        let _ = writeln!(text, "- {} {}", task.id, cell(&task.title));
    }
    text.push('\n');
}

/// What the gates of the project said of each task's last attempt.
fn gates(text: &mut String, summary: &Summary) {
    let lasts = summary
        .tasks
        .iter()
        .filter_map(|task| Some((task, task.attempts.last()?)));
    let mut said = lasts
        .flat_map(|(task, last)| last.gates().map(move |gate| (task, gate)))
        .peekable();
    if said.peek().is_none() {
        return;
    }
    text.push_str("## Gates\n\n| Task | Gate | Outcome | First finding |\n|---|---|---|---|\n");
    for (task, gate) in said {
        let first = gate.findings.first().map_or("", String::as_str);
        let name = cell(&gate.name);
        let _ = writeln!(
            text,
            "| {} | {name} | {} | {} |",
            task.id,
            gate.outcome.as_str(),
            cell(first)
        );
    }
    text.push('\n');
}

fn branches(text: &mut String, summary: &Summary) {
    let with_branch: Vec<&TaskSummary> = summary
        .tasks
        .iter()
        .filter(|task| task.branch.is_some() && task.commit.is_some())
        .collect();
    if with_branch.is_empty() {
        return;
    }
    text.push_str("## Branches\n\n| Task | Branch | Commit | Landed |\n|---|---|---|---|\n");
    for task in with_branch {
        let commit: String = task
            .commit
            .iter()
            .flat_map(|commit| commit.chars().take(10))
            .collect();
        let branch = task.branch.as_deref().unwrap_or_default();
        let landed = if task.landed { "yes" } else { "no" };
        let _ = writeln!(text, "| {} | `{branch}` | {commit} | {landed} |", task.id);
    }
    text.push('\n');
}

/// Text that can stand in a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
