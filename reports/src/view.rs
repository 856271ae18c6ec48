//! A run as its reports show it: the summary, and what several of them say of it in the same words.

use crate::layout::nobody_called;
use crate::rows::{RowView, row_views};
use crate::{AttemptSummary, PairSummary, ProofSummary, Summary, TaskSummary, human_duration};
use itertools::Itertools as _;
use serde::Serialize;
use std::collections::BTreeMap;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{CoverageChange, GateResult, Strength, counted, in_a_line};

/// Everything that templates name.
#[derive(Debug, Serialize)]
pub(crate) struct RunView<'a> {
    pub(crate) summary: &'a Summary,
    sentence: String,
    /// Why nothing more is started, in a line.
    why_stopped: Option<String>,
    pub(crate) nothing_is_proven: bool,
    /// What was seen of the base, a line each.
    base: Vec<String>,
    doubts: Vec<String>,
    /// Of how much of the work that holds what is known.
    proofs: Option<String>,
    setups: Option<String>,
    attempts: usize,
    failed_attempts: usize,
    open_attempts: usize,
    /// Attempts whose agents wait for a place on another machine.
    waiting_attempts: usize,
    /// Attempts by the machine that their agents ran on, where that is another one.
    nodes: BTreeMap<&'a str, usize>,
    /// The tasks as people count them.
    pub(crate) rows: Vec<RowView<'a>>,
    /// And in a table, for a terminal.
    table: String,
    pairs: Vec<PairView<'a>>,
}

/// A row of the compliance table.
#[derive(Debug, Serialize)]
struct PairView<'a> {
    #[serde(flatten)]
    facts: &'a PairSummary,
    /// What the agent claimed last, or where the proof says otherwise.
    claim: String,
    proof: Option<&'static str>,
    /// Covered lines, and how many more or fewer than before.
    covered: Option<String>,
}

impl<'a> RunView<'a> {
    pub(crate) fn of(summary: &'a Summary) -> Self {
        let attempts = || summary.tasks.iter().flat_map(|task| &task.attempts);
        let (preflight, pairs) = (summary.preflight.as_ref(), summary.tdd.table.iter());
        let nothing_is_proven = preflight.is_some_and(Preflight::nothing_is_proven);
        let trouble = || summary.trouble.as_deref().map(in_a_line);
        let why_stopped = summary.broken_by.clone().or_else(trouble);
        let rows = row_views(summary);
        Self {
            sentence: sentence(summary, nothing_is_proven, why_stopped.as_deref()),
            why_stopped,
            nothing_is_proven,
            base: preflight.map(Preflight::lines).unwrap_or_default(),
            doubts: summary.doubts.iter().map(ToString::to_string).collect(),
            proofs: proofs(&rows),
            setups: (summary.setups.count > 0).then(|| summary.setups.to_string()),
            attempts: attempts().count(),
            failed_attempts: attempts().filter(|one| one.failure.is_some()).count(),
            open_attempts: attempts().filter(|one| one.ended_at.is_none()).count(),
            waiting_attempts: attempts().filter(|one| one.waits.is_some()).count(),
            nodes: attempts()
                .filter_map(AttemptSummary::node)
                .counts()
                .into_iter()
                .collect(),
            table: summary.task_table("TASK", |row| Some(row.titled())),
            rows,
            pairs: pairs.map(|pair| pair_view(summary, pair)).collect(),
            summary,
        }
    }
}

impl Summary {
    /// Returns the task of that id.
    pub(crate) fn task(&self, id: &str) -> Option<&TaskSummary> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// Returns the other half of a task's pair.
    pub(crate) fn partner(&self, task: &TaskSummary) -> Option<&TaskSummary> {
        self.task(task.pair.as_deref()?)
    }
}

impl TaskSummary {
    /// Returns how much the work that holds rests on; `None` where there is no such work.
    pub(crate) fn strength(&self) -> Option<Strength> {
        let last = self.attempts.last()?;
        self.commit.as_ref().filter(|_| last.failure.is_none())?;
        Some(
            last.proof
                .as_ref()
                .map_or(Strength::Nothing, ProofSummary::rests_on),
        )
    }
}

impl ProofSummary {
    pub(crate) fn rests_on(&self) -> Strength {
        self.strength.of(self.passed, self.failed)
    }
}

impl AttemptSummary {
    /// Returns the claim, or where the proof says otherwise.
    fn claimed(&self) -> String {
        match self.differences.as_slice() {
            [] => self.claim.clone(),
            differences => differences.join("; "),
        }
    }

    /// Returns where it is while its agent is, or waits to be, on another machine.
    pub(crate) fn whereabouts(&self) -> Option<String> {
        if self.ended.is_some() || self.ended_at.is_some() {
            return None;
        }
        let waits = || Some(format!("waits for a place: {}", self.waits.as_deref()?));
        let place = self.place.as_deref();
        place.map(|place| format!("on {place}")).or_else(waits)
    }

    /// Returns the machine that it runs, or ran, on, where that is another one.
    fn node(&self) -> Option<&str> {
        let place = self.place.as_deref()?;
        place.split(' ').next()
    }

    /// Returns what the gates said of its work, reviews without a verdict first.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &GateResult> {
        let judged = self.proof.iter().flat_map(|proof| &proof.gates);
        self.unreviewed.iter().chain(judged)
    }
}

fn pair_view<'a>(summary: &Summary, facts: &'a PairSummary) -> PairView<'a> {
    let green = summary.task(&facts.green);
    let last = green.and_then(|green| green.attempts.last());
    PairView {
        claim: last.map_or_else(|| "–".to_owned(), AttemptSummary::claimed),
        proof: facts.strength.map(Strength::as_str),
        covered: facts.coverage.map(covered),
        facts,
    }
}

fn covered(coverage: CoverageChange) -> String {
    let CoverageChange { before, after } = coverage;
    let change = before.map(|before| format!(" ({:+.1})", after - before));
    format!("{after:.1} %{}", change.unwrap_or_default())
}

fn proofs(rows: &[RowView<'_>]) -> Option<String> {
    let known = rows.iter().filter_map(RowView::strength);
    let counts = known.sorted().rev().dedup_with_count();
    let words = counts.map(|(count, strength)| format!("{count} {}", strength.as_str()));
    Some(words.collect_vec().join(", ")).filter(|words| !words.is_empty())
}

/// The words as a sentence begins.
fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// What happened.
fn sentence(summary: &Summary, nothing_is_proven: bool, why_stopped: Option<&str>) -> String {
    let time = human_duration(summary.wall_ms);
    let (counts, branch) = (&summary.counts, &summary.integration_branch);
    let landed = counts.landed;
    let of_all = match (landed, counts.tasks) {
        (0, 1) => "the task did not land".to_owned(),
        (0, several) => format!("none of {several} tasks landed"),
        (_, all) => format!("{landed} of {} landed on `{branch}`", counted(all, "task")),
    };
    let all = match counts.tasks {
        1 => "The task".to_owned(),
        several => format!("All {several} tasks"),
    };
    match (summary.status.as_str(), why_stopped) {
        ("completed", _) if nothing_is_proven => format!(
            "{all} settled in {time}, and no test proves any of it: the tests can't be run at the base; \
             {landed} landed on `{branch}`."
        ),
        ("completed", _) => format!("{all} settled well in {time}; {landed} landed on `{branch}`."),
        ("failed", _) => format!(
            "{} in {time}; {} failed, {} blocked.",
            capitalised(&of_all),
            counts.failed,
            counts.blocked
        ),
        ("interrupted", _) => format!("Interrupted after {time}; {of_all}."),
        ("stopped", Some(why)) => {
            let why = nobody_called(why);
            format!(
                "Nothing more was started after {time}: {why}. {}.",
                capitalised(&of_all)
            )
        }
        ("stopped", None) => format!("The deadline or the budget ended after {time}; {of_all}."),
        _ => format!("Running for {time}; {of_all}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_reads_well_where_nothing_landed() {
        let said = |tasks, landed, status: &str| {
            let mut summary = crate::tests::summary();
            summary.counts.tasks = tasks;
            summary.counts.landed = landed;
            summary.status = status.to_owned();
            sentence(&summary, false, None)
        };
        let failed = "The task did not land in 7s; 1 failed, 0 blocked.";
        assert_eq!(said(1, 0, "failed"), failed);
        let cut_off = "Interrupted after 7s; none of 4 tasks landed.";
        assert_eq!(said(4, 0, "interrupted"), cut_off);
        assert!(
            said(4, 1, "failed").starts_with("1 of 4 tasks landed on `tm/master/run-x` in 7s;")
        );
    }
}
