//! The summary of a loop: one value for people and programs.

use crate::human_duration;
use crate::moment::moment;
use serde::Serialize;
use std::fmt::Write as _;
use tm_scheduler::iteration::{IterationRecord, IterationStatus, LoopStatus, WorkChanges};
use tm_scheduler::{Timestamp, Tokens, exit_code};

/// What the caller knows of the loop.
#[derive(Clone, Debug)]
pub struct LoopFacts {
    /// The loop.
    pub loop_id: String,
    /// The preset, or the path of the prompt.
    pub prompt: String,
    /// The agent.
    pub agent: String,
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
    /// How it ended: as its lane did, or the worst of several.
    pub final_status: LoopStatus,
    /// Why.
    pub reason: String,
    /// The exit code of tm.
    pub exit_code: u8,
    /// Iterations of all lanes.
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
    /// Each lane.
    pub lanes: Vec<LaneSummary>,
}

/// A lane in one value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneSummary {
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

/// Sums up a loop. Of several lanes, the one that a person has to look at first gives it its status.
pub fn summarize_loop(
    lanes: Vec<LaneSummary>,
    facts: LoopFacts,
    ended_at: Timestamp,
) -> LoopSummary {
    let worst = lanes.iter().max_by_key(|lane| lane.final_status);
    let final_status = worst.map_or(LoopStatus::AllComplete, |lane| lane.final_status);
    let tries = || lanes.iter().flat_map(|lane| &lane.iterations);
    let tokens = tries().filter_map(|one| one.record.tokens);
    let costs = tries().filter_map(|one| one.record.cost_usd);
    LoopSummary {
        version: 1,
        loop_id: facts.loop_id,
        prompt: facts.prompt,
        agent: facts.agent,
        final_status,
        reason: worst.map_or_else(String::new, |lane| lane.reason.clone()),
        exit_code: exit_code::of_loop(final_status),
        total_iterations: lanes.iter().map(|lane| lane.total_iterations).sum(),
        tasks_completed: lanes.iter().map(|lane| lane.tasks_completed).sum(),
        tasks_open: lanes.iter().map(|lane| lane.tasks_open).sum(),
        started_at: moment(facts.started_at),
        ended_at: moment(ended_at),
        wall_ms: ended_at.since(facts.started_at),
        tokens: tokens.reduce(Tokens::plus),
        cost_usd: costs.reduce(|sum, more| sum + more),
        directory: facts.directory,
        lanes,
    }
}

/// Returns the summary as text for a terminal.
pub fn loop_text(summary: &LoopSummary) -> String {
    let is_one = summary.lanes.len() == 1;
    let tag = |lane: &LaneSummary| {
        if is_one {
            String::new()
        } else {
            format!("[{}] ", lane.tag)
        }
    };
    let lanes = summary.lanes.iter();
    let mut text: String = lanes.map(|lane| tag(lane) + &lane_text(lane)).collect();
    text += &human_duration(summary.wall_ms);
    if let Some(tokens) = summary.tokens {
        let _ = write!(text, ", {} tokens", tokens.input + tokens.output);
    }
    if let Some(cost) = summary.cost_usd {
        let _ = write!(text, ", {cost:.2} dollars");
    }
    let _ = writeln!(text, "; logs in {}", summary.directory);
    text
}

fn lane_text(lane: &LaneSummary) -> String {
    let mut text = format!("{}: {}\n", headline(lane.final_status), lane.reason);
    for one in &lane.iterations {
        let _ = writeln!(text, "  {}", iteration_line(&one.record));
    }
    let tries = lane.iterations.iter();
    let failed = tries.filter(|one| one.record.status == IterationStatus::Error);
    let _ = writeln!(
        text,
        "  {}, {} of them failed; {} completed, {} open",
        counted(lane.total_iterations as usize, "iteration"),
        failed.count(),
        counted(lane.tasks_completed, "task"),
        lane.tasks_open
    );
    if let Some(branch) = &lane.branch {
        let _ = writeln!(text, "  branch {branch}");
    }
    text + "  progress " + &lane.progress_file + "\n"
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
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
            loop_id: "l1".to_owned(),
            prompt: "default".to_owned(),
            agent: "claude".to_owned(),
            started_at: Timestamp(0),
            directory: "/loops/l1".to_owned(),
        }
    }

    fn lane(status: LoopStatus) -> LaneSummary {
        LaneSummary {
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
    fn the_worst_lane_gives_the_loop_its_status_and_exit_code() {
        let lanes = [
            LoopStatus::AllComplete,
            LoopStatus::Blocked,
            LoopStatus::MaxIterations,
        ]
        .map(lane);
        let ended_at = Timestamp(65_000);
        let summary = summarize_loop(lanes.to_vec(), facts(), ended_at);
        assert_eq!(
            (summary.final_status, summary.exit_code, summary.lanes.len()),
            (LoopStatus::Blocked, 3, 3)
        );
        assert!(loop_text(&summary).contains("[all_complete] complete: because"));
        let one = summarize_loop(lanes[..1].to_vec(), facts(), ended_at);
        assert_eq!((one.exit_code, one.cost_usd), (0, None));
        assert!(
            loop_text(&one)
                .starts_with("complete: because\n  0 iterations, 0 of them failed; 0 tasks")
        );
    }
}
