//! The summary of a loop: one value for people and programs.

use crate::human_duration;
use crate::moment::moment;
use serde::Serialize;
use std::fmt::Write as _;
use tm_scheduler::iteration::{IterationRecord, IterationStatus, LoopStatus, WorkChanges};
use tm_scheduler::{Timestamp, Tokens, counted, exit_code};

/// What the caller knows of the loop.
#[derive(Clone, Debug)]
pub struct LoopFacts {
    /// The loop.
    pub loop_id: String,
    /// The preset, or the path of the prompt.
    pub prompt: String,
    /// The agent.
    pub agent: String,
    /// How its agents are held, where they are.
    pub sandbox: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// Its folder.
    pub directory: String,
}

/// A loop in one value; keys may be added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopSummary {
    /// The version of this format.
    pub version: u32,
    /// The loop.
    pub loop_id: String,
    /// The preset, or the path of the prompt.
    pub prompt: String,
    /// The agent.
    pub agent: String,
    /// How its agents were held, where they were.
    pub sandbox: Option<String>,
    /// How it ended: as that of its tag did, or the worst of several.
    pub final_status: LoopStatus,
    /// Why.
    pub reason: String,
    /// The exit code of tm.
    pub exit_code: u8,
    /// Iterations of all tags.
    pub total_iterations: u32,
    /// Tasks that became done, as the backlog says.
    pub tasks_completed: usize,
    /// Tasks that are still open.
    pub tasks_open: usize,
    /// When it began, in UTC.
    pub started_at: String,
    /// When it was over, in UTC.
    pub ended_at: String,
    /// How long it took, in milliseconds.
    pub wall_ms: u64,
    /// Tokens, when agents report them.
    pub tokens: Option<Tokens>,
    /// US dollars, when agents report them.
    pub cost_usd: Option<f64>,
    /// The loop's folder.
    pub directory: String,
    /// The loop of each tag.
    #[serde(rename = "lanes")]
    pub tag_loops: Vec<TagLoopSummary>,
}

/// The loop of a tag in one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TagLoopSummary {
    /// Its tag.
    pub tag: String,
    /// How it ended.
    pub final_status: LoopStatus,
    /// Why.
    pub reason: String,
    /// Its branch, when that is one of tm's.
    pub branch: Option<String>,
    /// Its progress file.
    pub progress_file: String,
    /// How many iterations it used.
    pub total_iterations: u32,
    /// Tasks that became done, as the backlog says.
    pub tasks_completed: usize,
    /// Tasks that are still open.
    pub tasks_open: usize,
    /// Every try, oldest first.
    pub iterations: Vec<TrySummary>,
}

/// One try at an iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrySummary {
    /// What it came to.
    #[serde(flatten)]
    pub record: IterationRecord,
    /// When its agent was started, in UTC.
    pub started_at: String,
}

impl TrySummary {
    /// Returns a try as it is recorded.
    pub fn of(record: &IterationRecord) -> Self {
        Self {
            started_at: moment(record.started_at),
            record: record.clone(),
        }
    }
}

/// Sums up a loop. Of the loops of several tags, the one that a person has to look at first gives it its status.
pub fn summarize_loop(
    tag_loops: Vec<TagLoopSummary>,
    facts: LoopFacts,
    ended_at: Timestamp,
) -> LoopSummary {
    let worst = tag_loops
        .iter()
        .max_by_key(|tag_loop| tag_loop.final_status);
    let final_status = worst.map_or(LoopStatus::AllComplete, |tag_loop| tag_loop.final_status);
    let tries = || tag_loops.iter().flat_map(|tag_loop| &tag_loop.iterations);
    let tokens = tries().filter_map(|one| one.record.tokens);
    let costs = tries().filter_map(|one| one.record.cost_usd);
    let sum = |of: fn(&TagLoopSummary) -> usize| tag_loops.iter().map(of).sum();
    LoopSummary {
        version: 1,
        loop_id: facts.loop_id,
        prompt: facts.prompt,
        agent: facts.agent,
        sandbox: facts.sandbox,
        final_status,
        reason: worst.map_or_else(String::new, |tag_loop| tag_loop.reason.clone()),
        exit_code: exit_code::of_loop(final_status),
        total_iterations: tag_loops.iter().map(|one| one.total_iterations).sum(),
        tasks_completed: sum(|tag_loop| tag_loop.tasks_completed),
        tasks_open: sum(|tag_loop| tag_loop.tasks_open),
        started_at: moment(facts.started_at),
        ended_at: moment(ended_at),
        wall_ms: ended_at.since(facts.started_at),
        tokens: tokens.reduce(Tokens::plus),
        cost_usd: costs.reduce(|sum, more| sum + more),
        directory: facts.directory,
        tag_loops,
    }
}

/// Returns the summary as text for a terminal.
pub fn loop_text(summary: &LoopSummary) -> String {
    let is_one = summary.tag_loops.len() == 1;
    let tag = |tag_loop: &TagLoopSummary| {
        if is_one {
            String::new()
        } else {
            format!("[{}] ", tag_loop.tag)
        }
    };
    let tag_loops = summary.tag_loops.iter();
    let mut text: String = tag_loops
        .map(|tag_loop| tag(tag_loop) + &tag_loop_text(tag_loop))
        .collect();
    text += &human_duration(summary.wall_ms);
    if let Some(tokens) = summary.tokens {
        let _ = write!(text, ", {} tokens", tokens.input + tokens.output);
    }
    if let Some(cost) = summary.cost_usd {
        let _ = write!(text, ", {cost:.2} dollars");
    }
    if let Some(sandbox) = &summary.sandbox {
        let _ = write!(text, "; sandbox: {sandbox}");
    }
    let _ = writeln!(text, "; logs in {}", summary.directory);
    text
}

fn tag_loop_text(tag_loop: &TagLoopSummary) -> String {
    let mut text = format!("{}: {}\n", headline(tag_loop.final_status), tag_loop.reason);
    for one in &tag_loop.iterations {
        let _ = writeln!(text, "  {}", iteration_line(&one.record));
    }
    let tries = tag_loop.iterations.iter();
    let failed = tries.filter(|one| one.record.status == IterationStatus::Error);
    let _ = writeln!(
        text,
        "  {}, {} of them failed; {} completed, {} open",
        counted(tag_loop.total_iterations, "iteration"),
        failed.count(),
        counted(tag_loop.tasks_completed, "task"),
        tag_loop.tasks_open
    );
    if let Some(branch) = &tag_loop.branch {
        let _ = writeln!(text, "  branch {branch}");
    }
    text + "  progress " + &tag_loop.progress_file + "\n"
}

/// Returns one try as a line: number, status, time, what happened.
pub fn iteration_line(record: &IterationRecord) -> String {
    let attempt = if record.attempt > 1 {
        format!(" (try {})", record.attempt)
    } else {
        String::new()
    };
    let WorkChanges {
        insertions,
        deletions,
        ..
    } = record.work;
    let lines = if insertions + deletions > 0 {
        format!(" (+{insertions} -{deletions})")
    } else {
        String::new()
    };
    let (status, message) = (
        record.status.as_str(),
        record.message.lines().next().unwrap_or_default(),
    );
    let message = message
        .strip_prefix(&format!("{status}: "))
        .unwrap_or(message);
    format!(
        "{:>3}{attempt} {status} {}  {message}{lines}",
        record.iteration,
        human_duration(record.duration_ms)
    )
}

const fn headline(status: LoopStatus) -> &'static str {
    match status {
        LoopStatus::AllComplete => "complete",
        LoopStatus::MaxIterations | LoopStatus::Deadline | LoopStatus::Budget => "not complete",
        LoopStatus::Blocked => "blocked",
        LoopStatus::Error | LoopStatus::Surroundings => "failed",
        LoopStatus::Interrupted => "interrupted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> LoopFacts {
        LoopFacts {
            sandbox: None,
            loop_id: "l1".to_owned(),
            prompt: "default".to_owned(),
            agent: "claude".to_owned(),
            started_at: Timestamp(0),
            directory: "/loops/l1".to_owned(),
        }
    }

    fn tag_loop(status: LoopStatus) -> TagLoopSummary {
        TagLoopSummary {
            tag: status.as_str().to_owned(),
            final_status: status,
            reason: "because".to_owned(),
            branch: None,
            progress_file: "p.txt".to_owned(),
            total_iterations: 0,
            tasks_completed: 0,
            tasks_open: 0,
            iterations: Vec::new(),
        }
    }

    #[test]
    fn the_worst_tag_gives_the_loop_its_status_and_exit_code() {
        let tag_loops = [
            LoopStatus::AllComplete,
            LoopStatus::Blocked,
            LoopStatus::MaxIterations,
        ]
        .map(tag_loop);
        let ended_at = Timestamp(65_000);
        let summary = summarize_loop(tag_loops.to_vec(), facts(), ended_at);
        assert_eq!(
            (
                summary.final_status,
                summary.exit_code,
                summary.tag_loops.len()
            ),
            (LoopStatus::Blocked, 3, 3)
        );
        assert!(loop_text(&summary).contains("[all_complete] complete: because"));
        let one = summarize_loop(tag_loops[..1].to_vec(), facts(), ended_at);
        assert_eq!((one.exit_code, one.cost_usd), (0, None));
        assert!(
            loop_text(&one)
                .starts_with("complete: because\n  0 iterations, 0 of them failed; 0 tasks")
        );
    }
}
