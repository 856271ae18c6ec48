//! Where each attempt stands in the picture of slots over time: its agent, what tm did around that, and its landing.

use crate::moment::between;
use crate::{AttemptSummary, Summary, TaskSummary, Verdict, human_duration};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// Units of the picture.
const WIDTH: u64 = 1000;
const LEFT: u64 = 40;
const ROW: usize = 26;
const TOP: usize = 22;
const LEAST_BAR: u64 = 2;
const HEIGHT: usize = 20;
/// What tm does is a thinner bar than what an agent does.
const THIN: usize = 8;
/// A pause is so wide however long it was; many of them have so much together.
const PAUSE: u64 = 26;
const PAUSES: u64 = 400;

/// A picture of more attempts than this tells nobody anything.
const MOST: usize = 3_500;
/// What is told of a bar where somebody points at it has so many letters of a title.
const TOLD_LETTERS: usize = 60;

/// The picture.
#[derive(Debug, Serialize)]
pub(super) struct Timeline<'a> {
    width: u64,
    height: usize,
    attempts: usize,
    /// The height of each slot's row.
    slots: Vec<usize>,
    /// The height of the row of landings, where there were some.
    landing: Option<usize>,
    bars: Vec<Bar<'a>>,
    ticks: Vec<Tick>,
    pauses: Vec<Band>,
    bound: Option<Tick>,
}

/// A step of an attempt.
#[derive(Debug, Serialize)]
struct Bar<'a> {
    x: u64,
    y: usize,
    width: u64,
    height: usize,
    class: &'static str,
    is_critical: bool,
    /// Whether there is room for the task's id.
    is_wide: bool,
    task: &'a str,
    told: String,
}

/// A moment.
#[derive(Debug, Serialize)]
struct Tick {
    x: u64,
    label: String,
}

/// A time in which nobody carried the run out.
#[derive(Debug, Serialize)]
struct Band {
    x: u64,
    width: u64,
    label: String,
}

impl<'a> Timeline<'a> {
    /// Lays the attempts out; `None` when there was none, or too many to see anything.
    pub(super) fn new(summary: &'a Summary, critical: &BTreeSet<&str>) -> Option<Self> {
        let spans = spans(summary);
        let last = spans.iter().map(|span| span.over).max()?;
        if spans.len() > MOST {
            return None;
        }
        let axis = Axis::new(summary, last);
        let mut free_from: Vec<u64> = Vec::new();
        let mut bars = Vec::new();
        for span in &spans {
            let free = free_from.iter().position(|&free| free <= span.start);
            let slot = free.unwrap_or(free_from.len());
            free_from.resize(free_from.len().max(slot + 1), 0);
            free_from[slot] = span.free;
            bars.extend(span.in_slot(&axis, row(slot), critical));
        }
        let slots = free_from.len();
        let landings = spans
            .iter()
            .filter_map(|span| span.landing(&axis, row(slots)));
        let before = bars.len();
        bars.extend(landings);
        let landing = (bars.len() > before).then(|| row(slots));
        let rows = slots + usize::from(landing.is_some());
        let below = if summary.pauses.is_empty() { 4 } else { 20 };
        let bound = summary.lower_bound_ms;
        Some(Self {
            width: WIDTH + 40,
            height: row(rows) + below,
            attempts: spans.len(),
            slots: (0..slots).map(row).collect(),
            landing,
            bars,
            ticks: ticks(axis.live)
                .map(|at| axis.tick(at, moment(at)))
                .collect(),
            pauses: axis.bands().collect(),
            bound: (1..=axis.live)
                .contains(&bound)
                .then(|| axis.tick(bound, human_duration(bound))),
        })
    }
}

/// Where moments stand: in proportion to the time in which the run went on, and each pause as wide as any other.
struct Axis {
    /// In milliseconds since the run began, as everything here.
    pauses: Vec<Range<u64>>,
    pause_width: u64,
    live: u64,
}

impl Axis {
    fn new(summary: &Summary, last: u64) -> Self {
        let since = |moment: &str| between(&summary.started_at, moment);
        let pauses = summary.pauses.iter();
        let pauses: Vec<Range<u64>> = pauses.map(|one| since(&one.from)..since(&one.to)).collect();
        let paused: u64 = pauses.iter().map(length).sum();
        Self {
            pause_width: PAUSE.min(PAUSES / (pauses.len() as u64).max(1)),
            live: last.max(summary.wall_ms).saturating_sub(paused).max(1),
            pauses,
        }
    }

    fn x(&self, at: u64) -> u64 {
        let room = WIDTH - LEFT - self.pause_width * self.pauses.len() as u64;
        let before = self.pauses.iter().filter(|pause| pause.start < at);
        let paused: u64 = before
            .clone()
            .map(|pause| pause.end.min(at).saturating_sub(pause.start))
            .sum();
        let x = LEFT + self.pause_width * before.count() as u64;
        (x + at.saturating_sub(paused) * room / self.live).min(WIDTH)
    }

    /// The moment at which the run had gone on for so long.
    fn tick(&self, live: u64, label: String) -> Tick {
        let at = self.pauses.iter().fold(live, |at, pause| {
            at + if pause.start < at { length(pause) } else { 0 }
        });
        Tick {
            x: self.x(at),
            label,
        }
    }

    fn bands(&self) -> impl Iterator<Item = Band> {
        self.pauses.iter().map(|pause| Band {
            x: self.x(pause.start),
            width: self.pause_width,
            label: human_duration(length(pause)),
        })
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

/// Moments at even distances, at most seven of them, the first 0.
fn ticks(whole: u64) -> impl Iterator<Item = u64> {
    const SECOND: u64 = 1_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let below_a_second = [1, 2, 5, 10, 20, 50, 100, 200, 500];
    let sexagesimal = [1, 2, 5, 10, 15, 30];
    let mut steps = below_a_second
        .into_iter()
        .chain(sexagesimal.map(|count| count * SECOND))
        .chain(sexagesimal.map(|count| count * MINUTE))
        .chain([1, 2, 3, 6, 12].map(|count| count * HOUR))
        .chain((1..).map(|count| count * DAY));
    let step = steps.find(|step| whole / step <= 6).unwrap_or(whole);
    (0..=whole / step).map(move |number| number * step)
}

/// A moment on the axis, to the millisecond where it is between two seconds.
fn moment(at: u64) -> String {
    if at.is_multiple_of(1_000) && at > 0 {
        human_duration(at)
    } else {
        format!("{at}ms")
    }
}

fn row(slot: usize) -> usize {
    TOP + ROW * slot
}

/// An attempt between moments.
struct Span<'a> {
    /// When it got its slot.
    start: u64,
    /// When its agent worked.
    agent: Range<u64>,
    /// When it gave its slot back.
    free: u64,
    /// When it was over, landed or not.
    over: u64,
    task: &'a TaskSummary,
    attempt: &'a AttemptSummary,
    since: &'a str,
}

/// The attempts, the earliest first.
fn spans(summary: &Summary) -> Vec<Span<'_>> {
    let of = |task| move |attempt| Span::new(summary, task, attempt);
    let tasks = summary.tasks.iter();
    let mut spans: Vec<Span<'_>> = tasks
        .flat_map(|task| task.attempts.iter().map(of(task)))
        .collect();
    spans.sort_by_key(|span| span.start);
    spans
}

impl<'a> Span<'a> {
    fn new(summary: &'a Summary, task: &'a TaskSummary, attempt: &'a AttemptSummary) -> Self {
        let since = |moment: &String| between(&summary.started_at, moment);
        let at = |moment: &Option<String>| moment.as_ref().map(since);
        let start = since(&attempt.started_at);
        let over = at(&attempt.ended_at)
            .unwrap_or_else(|| since(&summary.ended_at))
            .max(start);
        let free = at(&attempt.queued_at).unwrap_or(over).clamp(start, over);
        let began = at(&attempt.agent_started_at)
            .unwrap_or(start)
            .clamp(start, free);
        let ended = at(&attempt.agent_ended_at)
            .unwrap_or(free)
            .clamp(began, free);
        Self {
            start,
            agent: began..ended,
            free,
            over,
            task,
            attempt,
            since: &summary.started_at,
        }
    }

    /// What happened in its slot: what tm did before, the agent, and what tm did after.
    fn in_slot(&self, axis: &Axis, y: usize, critical: &BTreeSet<&str>) -> Vec<Bar<'a>> {
        let (task, attempt) = (self.task, self.attempt);
        let last = task.attempts.last();
        let is_last = last.is_some_and(|last| std::ptr::eq(last, attempt));
        let (class, became) = match attempt.failure {
            Some(failure) => ("fail", failure.as_str()),
            None if is_last => (task.verdict.as_str(), task.state.as_str()),
            None => (Verdict::NotRun.as_str(), "ended"),
        };
        let around = [
            ("prepare", self.start..self.agent.start, "made ready"),
            ("prove", self.agent.end..self.free, "proven and committed"),
        ];
        let mut bars: Vec<Bar<'a>> = around
            .into_iter()
            .filter(|(_, time, _)| axis.x(time.end) > axis.x(time.start))
            .map(|(class, time, what)| {
                self.bar(axis, &time, (class, y + (ROW - THIN) / 2, THIN), what)
            })
            .collect();
        let agent = self.bar(axis, &self.agent, (class, y + 3, HEIGHT), became);
        let letters = task.id.chars().count() as u64;
        bars.push(Bar {
            is_critical: is_last && critical.contains(task.id.as_str()),
            is_wide: letters * 8 + 6 <= agent.width,
            ..agent
        });
        bars
    }

    /// Its landing, in a row of its own since one lands at a time.
    fn landing(&self, axis: &Axis, y: usize) -> Option<Bar<'a>> {
        let began = between(self.since, self.attempt.landing_at.as_ref()?);
        let waited = human_duration(began.saturating_sub(self.free));
        let class = if self.attempt.failure.is_some() {
            "fail"
        } else {
            "land"
        };
        let told = format!("landing, after {waited} of waiting for its turn");
        Some(self.bar(
            axis,
            &(began..self.over.max(began)),
            (class, y + 3, HEIGHT),
            &told,
        ))
    }

    fn bar(
        &self,
        axis: &Axis,
        time: &Range<u64>,
        (class, y, height): (&'static str, usize, usize),
        what: &str,
    ) -> Bar<'a> {
        let x = axis.x(time.start).min(WIDTH - LEAST_BAR);
        let title = tm_untrusted::line(&self.task.title, TOLD_LETTERS);
        let (id, n, took) = (&self.task.id, self.attempt.n, human_duration(length(time)));
        Bar {
            x,
            y,
            width: axis.x(time.end).saturating_sub(x).max(LEAST_BAR),
            height,
            class,
            is_critical: false,
            is_wide: false,
            task: id,
            told: format!("{id} {title}, attempt {n}: {what}, {took}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_moments_of_the_axis_read_alike() {
        let axis = |whole: u64| ticks(whole).map(moment).collect::<Vec<_>>().join(" ");
        assert_eq!(axis(1), "0ms 1ms");
        assert_eq!(axis(2_900), "0ms 500ms 1s 1500ms 2s 2500ms");
        assert_eq!(axis(100_000), "0ms 15s 30s 45s 1m 00s 1m 15s 1m 30s");
        assert_eq!(axis(7 * 3_600_000), "0ms 2h 00m 4h 00m 6h 00m");
        assert_eq!(axis(20 * 86_400_000).split(' ').next(), Some("0ms"));
        for whole in (1..400).map(|number: u64| number.pow(4)) {
            let moments: Vec<String> = ticks(whole).map(moment).collect();
            let different: BTreeSet<&String> = moments.iter().collect();
            assert!(
                different.len() == moments.len() && (2..=7).contains(&moments.len()),
                "{whole}: {moments:?}"
            );
        }
    }
}
