//! What the page shows, in the words in which it shows it.

use super::chain::{critical_path, milliseconds};
use super::graph::Graph;
use super::timeline::Timeline;
use crate::foundation::{base_lines, strengths};
use crate::markdown::in_a_sentence;
use crate::{AttemptSummary, PairSummary, Summary, TaskSummary, human_duration};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tm_scheduler::{GateResult, Phase, Strength};

/// Everything that the template names.
#[derive(Debug, Serialize)]
pub(super) struct Page<'a> {
    summary: &'a Summary,
    sentences: [String; 3],
    doubts: Vec<String>,
    facts: Vec<(&'static str, String)>,
    timeline: Option<Timeline>,
    graph: Option<Graph>,
    pairs: Vec<Pair<'a>>,
    waves: usize,
    tasks: Vec<Task<'a>>,
}

/// A row of the compliance table.
#[derive(Debug, Serialize)]
struct Pair<'a> {
    facts: &'a PairSummary,
    anchor: String,
    claim: String,
    proof: &'static str,
    proof_class: &'static str,
}

/// A task with its attempts.
#[derive(Debug, Serialize)]
struct Task<'a> {
    facts: &'a TaskSummary,
    anchor: String,
    phase: &'static str,
    verdict: &'static str,
    is_critical: bool,
    commit: Option<String>,
    cost: Option<String>,
    attempts: Vec<Attempt<'a>>,
}

/// An attempt.
#[derive(Debug, Serialize)]
struct Attempt<'a> {
    facts: &'a AttemptSummary,
    failure: Option<&'static str>,
    proof: Option<String>,
    gates: Vec<Gate<'a>>,
    time: Option<String>,
    cost: Option<String>,
}

/// What a gate said of an attempt's work.
#[derive(Debug, Serialize)]
struct Gate<'a> {
    facts: &'a GateResult,
    outcome: &'static str,
    class: &'static str,
    cost: Option<String>,
}

impl<'a> Page<'a> {
    pub(super) fn new(summary: &'a Summary) -> Self {
        let critical = critical_path(summary);
        Self {
            sentences: sentences(summary),
            doubts: summary
                .doubt_lines()
                .into_iter()
                .map(|line| line.replace('`', ""))
                .collect(),
            facts: facts(summary),
            timeline: Timeline::new(summary, &critical),
            graph: Graph::new(summary, &critical),
            pairs: summary
                .tdd
                .table
                .iter()
                .map(|facts| pair(summary, facts))
                .collect(),
            waves: summary.waves.len(),
            tasks: summary
                .tasks
                .iter()
                .map(|task| one_task(task, &critical))
                .collect(),
            summary,
        }
    }
}

/// What happened, how it was proven, what it took.
fn sentences(summary: &Summary) -> [String; 3] {
    let attempts: usize = summary.tasks.iter().map(|task| task.attempts.len()).sum();
    let failed = summary
        .tasks
        .iter()
        .flat_map(|task| &task.attempts)
        .filter(|one| one.failure.is_some())
        .count();
    let tdd = &summary.tdd;
    let proof = match tdd.pairs {
        0 => format!(
            "No task was split into a test and an implementation; {failed} of {attempts} attempts failed."
        ),
        pairs => format!(
            "{} of {pairs} pairs were seen failing and then passing; {failed} of {attempts} attempts failed.",
            tdd.compliant
        ),
    };
    let time = format!(
        "With {} slots, the work of the agents takes at least {}; the run took {}.",
        summary.max_parallel,
        human_duration(summary.lower_bound_ms),
        human_duration(summary.wall_ms)
    );
    let base = base_lines(summary).join(". ");
    let time = if base.is_empty() {
        time
    } else {
        format!("{time} {base}.")
    };
    [
        in_a_sentence(summary).replace('`', ""),
        proof,
        time.replace('`', ""),
    ]
}

fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let totals = &summary.totals;
    let not_run =
        summary.tasks.len() - totals.passed - totals.partial - totals.failed - totals.blocked;
    let mut facts = vec![
        ("Passed", totals.passed.to_string()),
        ("Partial", totals.partial.to_string()),
        ("Failed", totals.failed.to_string()),
        ("Blocked", totals.blocked.to_string()),
        ("Not run", not_run.to_string()),
        ("Waves", summary.waves.len().to_string()),
        ("Wall time", human_duration(summary.wall_ms)),
    ];
    if let Some(strengths) = strengths(summary) {
        facts.push(("Proof", strengths));
    }
    if let Some(setups) = summary.setups.describe() {
        facts.push(("Set-up", setups));
    }
    if totals.tokens > 0 {
        facts.push(("Tokens", totals.tokens.to_string()));
    }
    facts.extend(totals.cost_usd.map(|cost| ("Cost", dollars(cost))));
    facts
}

fn pair<'a>(summary: &'a Summary, facts: &'a PairSummary) -> Pair<'a> {
    let green = summary.tasks.iter().find(|task| task.id == facts.green);
    let last = green.and_then(|task| task.attempts.last());
    let claim = last.map_or_else(
        || "–".to_owned(),
        |last| match last.differences.as_slice() {
            [] => last.claim.clone(),
            differences => differences.join("; "),
        },
    );
    let (proof, proof_class) = match facts.strength {
        None => ("–", ""),
        Some(strength @ Strength::PerTest) => (strength.as_str(), "strong"),
        Some(strength @ (Strength::ExitStatusOnly | Strength::Nothing)) => {
            (strength.as_str(), "weak")
        }
    };
    Pair {
        anchor: anchor(&facts.green),
        claim,
        proof,
        proof_class,
        facts,
    }
}

fn one_task<'a>(task: &'a TaskSummary, critical: &BTreeSet<&str>) -> Task<'a> {
    let costs: Vec<f64> = task
        .attempts
        .iter()
        .filter_map(|attempt| attempt.cost_usd)
        .collect();
    Task {
        facts: task,
        anchor: anchor(&task.id),
        phase: match task.phase {
            Phase::Red => "RED",
            Phase::Green => "GREEN",
            Phase::None => "",
        },
        verdict: task.verdict.as_str(),
        is_critical: critical.contains(task.id.as_str()),
        commit: task
            .commit
            .as_ref()
            .map(|commit| commit.chars().take(10).collect()),
        cost: (!costs.is_empty()).then(|| dollars(costs.iter().sum())),
        attempts: task.attempts.iter().map(one_attempt).collect(),
    }
}

fn one_attempt(attempt: &AttemptSummary) -> Attempt<'_> {
    let moments = attempt
        .agent_started_at
        .as_ref()
        .zip(attempt.agent_ended_at.as_ref());
    Attempt {
        failure: attempt.failure.map(tm_scheduler::Failure::as_str),
        proof: attempt.proof.as_ref().map(|proof| {
            proof
                .strength
                .describe(proof.passed, proof.failed, proof.reason.is_none())
        }),
        gates: attempt.gates().map(gate).collect(),
        time: moments.map(|(start, end)| {
            human_duration(milliseconds(end).saturating_sub(milliseconds(start)))
        }),
        cost: attempt.cost_usd.map(dollars),
        facts: attempt,
    }
}

fn gate(facts: &GateResult) -> Gate<'_> {
    let class = if facts.outcome.holds() {
        "pass"
    } else {
        "fail"
    };
    Gate {
        outcome: facts.outcome.as_str(),
        class,
        cost: facts.cost_usd.map(dollars),
        facts,
    }
}

fn dollars(cost: f64) -> String {
    format!("${cost:.2}")
}

/// Returns the name by which links find a task: ids hold any character, so only plain ones stay.
pub(super) fn anchor(id: &str) -> String {
    let mut anchor = String::from("task-");
    for character in id.chars() {
        if character.is_ascii_alphanumeric() || character == '.' {
            anchor.push(character);
        } else {
            let _ = write!(anchor, "_{:x}_", u32::from(character));
        }
    }
    anchor
}

/// Returns so many characters at the most, with a sign that there were more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most - 1).collect();
    short.push('…');
    short
}
