//! The tasks of a run as people count them: a pair is one, with a cell for its RED and a cell for its GREEN.

use crate::terminal::{Tone, table, toned};
use crate::{AttemptSummary, Counts, Summary, TaskSummary, Verdict, listed};
use itertools::Itertools as _;
use serde::Serialize;
use tm_scheduler::{Failure, Half, Phase, Strength, TaskRow, counted, task_rows};

impl Counts {
    pub(crate) fn of(tasks: &[TaskSummary]) -> Self {
        let rows = task_rows(tasks);
        let count = |is: &dyn Fn(&Row<'_>) -> bool| rows.iter().filter(|row| is(row)).count();
        let all = |is: fn(&TaskSummary) -> bool| count(&|row| row.halves().all(is));
        let of = |wanted| count(&|row| verdict(row) == wanted);
        Self {
            tasks: rows.len(),
            settled: all(is_settled),
            landed: all(|half| half.landed),
            passed: of(Verdict::Pass),
            partial: of(Verdict::Partial),
            failed: of(Verdict::Fail),
            blocked: of(Verdict::Blocked),
            skipped: all(TaskSummary::is_skipped),
        }
    }
}

type Row<'a> = TaskRow<&'a TaskSummary>;

impl Half for TaskSummary {
    fn id(&self) -> &str {
        &self.id
    }

    fn partner(&self) -> Option<&str> {
        self.pair.as_deref()
    }

    fn phase(&self) -> Phase {
        self.phase
    }
}

fn is_settled(half: &TaskSummary) -> bool {
    half.verdict != Verdict::NotRun || half.is_skipped()
}

/// What became of both halves together.
fn verdict(row: &Row<'_>) -> Verdict {
    let of = |wanted| row.halves().any(|half| half.verdict == wanted);
    let worst = [Verdict::Fail, Verdict::Blocked]
        .into_iter()
        .find(|worst| of(*worst));
    let last = row.halves().map(|half| half.verdict).max();
    worst.or(last).expect("a row has a half")
}

/// A task as reports show it.
#[derive(Debug, Serialize)]
pub struct RowView<'a> {
    /// The half that ends it.
    pub work: &'a TaskSummary,
    /// The half that writes the tests.
    pub red: Option<&'a TaskSummary>,
    /// What became of both together.
    pub(crate) verdict: Verdict,
    /// The half that was given up.
    failed: Option<&'a TaskSummary>,
    /// The tasks that it can't be done without, and that failed.
    pub(crate) blocked_by: Vec<&'a str>,
    /// Whether a half has proven work.
    has_work: bool,
    /// What there is to say besides, in a line.
    note: String,
}

/// Returns the tasks of a run as reports show them.
pub(crate) fn row_views(summary: &Summary) -> Vec<RowView<'_>> {
    let rows = task_rows(&summary.tasks);
    rows.iter().map(|row| row_view(summary, row)).collect()
}

fn row_view<'a>(summary: &'a Summary, row: &Row<'a>) -> RowView<'a> {
    let is_given_up = |half: &&TaskSummary| half.verdict == Verdict::Fail;
    let named = row.halves().flat_map(|half| &half.blocked_by);
    let blocked_by = named
        .map(|id| summary.shown_id(id))
        .filter(|id| *id != row.work.id);
    let notes = || row.halves().filter_map(|half| Some((half, note(half)?)));
    let note = match notes().map(|(_, note)| note).all_equal_value() {
        Ok(both) if notes().count() > 1 => both,
        _ => notes()
            .map(|(half, note)| with_phase(half, &note))
            .join("; "),
    };
    RowView {
        verdict: verdict(row),
        failed: row.halves().find(is_given_up),
        blocked_by: blocked_by.sorted().dedup().collect(),
        has_work: row.halves().any(|half| half.commit.is_some()),
        note,
        work: row.work,
        red: row.red,
    }
}

fn with_phase(half: &TaskSummary, note: &str) -> String {
    match half.phase {
        Phase::Red => format!("RED {note}"),
        Phase::Green => format!("GREEN {note}"),
        Phase::None => note.to_owned(),
    }
}

/// So much of what a service said is told beside a task.
const LONGEST_WORDS: usize = 160;

/// What there is to say of a half besides where it stands; what a service did, in the words of the agent's program.
fn note(half: &TaskSummary) -> Option<String> {
    let attempts = half.attempts.len();
    let last = half.attempts.last();
    let ahead = last.map_or(&[][..], |attempt| &attempt.conflict_ahead);
    match half.failure {
        Some(Failure::Stopped) => Some("stopped by the user".to_owned()),
        Some(failure) => {
            let note = format!("{failure} after {}", counted(attempts, "attempt"));
            let words = half.reason.as_deref().filter(|_| failure.is_of_service());
            let said = words.map(|words| tm_untrusted::line(words, LONGEST_WORDS));
            Some(note + &said.map_or_else(String::new, |said| format!(": {said}")))
        }
        None if let Some(where_it_is) = last.and_then(AttemptSummary::whereabouts) => {
            Some(where_it_is)
        }
        None if !ahead.is_empty() => Some(format!("will conflict in {}", ahead.join(", "))),
        None if half.strength() == Some(Strength::ExitStatusOnly) => {
            Some(Strength::ExitStatusOnly.as_str().to_owned())
        }
        None => (attempts > 1).then(|| format!("attempt {attempts}")),
    }
}

impl Summary {
    /// Returns the id by which people know a task: of a RED, that of its GREEN.
    pub fn shown_id<'a>(&'a self, id: &'a str) -> &'a str {
        let task = self.task(id);
        let red = task.filter(|task| task.phase == Phase::Red);
        red.and_then(|red| red.pair.as_deref()).unwrap_or(id)
    }

    /// Returns a table of the tasks with where each half stands, and behind it what `last` says of the task; those of
    /// which it says nothing are left out.
    pub fn task_table(&self, head: &str, last: impl Fn(&RowView<'_>) -> Option<String>) -> String {
        let has_pairs = self.tdd.pairs > 0;
        let states: &[&str] = if has_pairs {
            &["RED", "GREEN"]
        } else {
            &["STATE"]
        };
        let heads = ["ID"].iter().chain(states).chain([&head]);
        let heads = heads.map(|head| toned(head, Tone::Strong)).join("\t");
        let in_tone = |state: &str| toned(state, Tone::of_state(state));
        let rows = row_views(self).into_iter().filter_map(|row| {
            let red = row.red.map_or("", |red| &red.state);
            let states = has_pairs
                .then_some(red)
                .into_iter()
                .chain([row.work.state.as_str()]);
            let states = states.map(in_tone).join("\t");
            Some(format!("{}\t{states}\t{}\n", row.work.id, last(&row)?))
        });
        table(&format!("{heads}\n{}", rows.format("")))
    }
}

impl RowView<'_> {
    /// Returns the half that has a branch, where one has.
    pub fn branched(&self) -> Option<&TaskSummary> {
        let has_branch = |half: &&TaskSummary| half.branch.is_some();
        [Some(self.work), self.red]
            .into_iter()
            .flatten()
            .find(has_branch)
    }

    /// Returns its halves, the one that writes the tests first.
    pub(crate) fn halves(&self) -> impl Iterator<Item = &TaskSummary> {
        self.red.into_iter().chain([self.work])
    }

    /// Returns how much the work that holds rests on, the weaker half's.
    pub(crate) fn strength(&self) -> Option<Strength> {
        self.halves().filter_map(TaskSummary::strength).min()
    }

    /// Returns the title, with what there is to say besides.
    pub fn titled(&self) -> String {
        let title = listed(&self.work.title);
        match (self.note.as_str(), self.blocked_by.as_slice()) {
            ("", []) => title,
            (note, []) => format!("{title} · {note}"),
            (_, by) => format!("{title} · by {}", by.join(", ")),
        }
    }
}
