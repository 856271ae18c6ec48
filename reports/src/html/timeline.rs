//! Where each attempt stands in the picture of slots over time.

use crate::moment::between;
use crate::{AttemptSummary, Summary, TaskSummary, human_duration};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// Units of the picture.
const WIDTH: u32 = 1000;
const LEFT: u32 = 28;
const ROW: u32 = 26;
const TOP: u32 = 22;
const LEAST_BAR: u32 = 2;

/// The picture.
#[derive(Debug, Serialize)]
pub(super) struct Timeline<'a> {
    width: u32,
    height: u32,
    /// The height of each slot's row.
    slots: Vec<u32>,
    bars: Vec<Bar<'a>>,
    ticks: Vec<Tick>,
    bound: Option<Tick>,
}

/// One attempt.
#[derive(Debug, Serialize)]
struct Bar<'a> {
    x: u32,
    y: u32,
    width: u32,
    class: &'static str,
    is_critical: bool,
    /// Whether there is room for the task's id.
    is_wide: bool,
    became: &'a str,
    took_ms: u64,
    task: &'a TaskSummary,
    attempt: &'a AttemptSummary,
}

/// A moment.
#[derive(Debug, Serialize)]
struct Tick {
    x: u32,
    label: String,
}

/// An attempt between two moments, in milliseconds since the run began.
struct Span<'a> {
    start: u64,
    end: u64,
    task: &'a TaskSummary,
    attempt: &'a AttemptSummary,
}

impl<'a> Timeline<'a> {
    /// Lays the attempts out; `None` when there was none.
    pub(super) fn new(summary: &'a Summary, critical: &BTreeSet<&str>) -> Option<Self> {
        let spans = spans(summary);
        let last = spans.iter().map(|span| span.end).max()?;
        let whole = last.max(summary.wall_ms).max(1);
        let x =
            |at: u64| LEFT + u32::try_from(at * u64::from(WIDTH - LEFT) / whole).unwrap_or(WIDTH);
        let mut free_from: Vec<u64> = Vec::new();
        let bars = spans.into_iter().map(|span| {
            let free = free_from.iter().position(|&free| free <= span.start);
            let slot = free.unwrap_or(free_from.len());
            free_from.resize(free_from.len().max(slot + 1), 0);
            free_from[slot] = span.end;
            let start = x(span.start).min(WIDTH - LEAST_BAR);
            span.bar(critical, start..x(span.end), row(slot))
        });
        let bars = bars.collect();
        let bound = summary.lower_bound_ms;
        Some(Self {
            width: WIDTH + 40,
            height: row(free_from.len()) + 4,
            slots: (0..free_from.len()).map(row).collect(),
            bars,
            ticks: ticks(whole)
                .map(|at| Tick {
                    x: x(at),
                    label: moment(at),
                })
                .collect(),
            bound: (1..=whole).contains(&bound).then(|| Tick {
                x: x(bound),
                label: human_duration(bound),
            }),
        })
    }
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

fn row(slot: usize) -> u32 {
    TOP + ROW * u32::try_from(slot).unwrap_or(u32::MAX / ROW - TOP)
}

/// From the moment at which an attempt got its slot to the end of its agent, the earliest first.
fn spans(summary: &Summary) -> Vec<Span<'_>> {
    let since = |moment: &str| between(&summary.started_at, moment);
    let mut spans = Vec::new();
    for task in &summary.tasks {
        for attempt in &task.attempts {
            let agent_ended_at = attempt.agent_ended_at.as_ref();
            let ended = agent_ended_at.or(attempt.ended_at.as_ref());
            let start = since(&attempt.started_at);
            let end = since(ended.unwrap_or(&summary.ended_at)).max(start);
            spans.push(Span {
                start,
                end,
                task,
                attempt,
            });
        }
    }
    spans.sort_by_key(|span| span.start);
    spans
}

impl<'a> Span<'a> {
    fn bar(&self, critical: &BTreeSet<&str>, x: Range<u32>, y: u32) -> Bar<'a> {
        let (task, attempt) = (self.task, self.attempt);
        let last = task.attempts.last();
        let is_last = last.is_some_and(|last| std::ptr::eq(last, attempt));
        let (class, became) = match attempt.failure {
            Some(failure) => ("fail", failure.as_str()),
            None if is_last => (task.verdict.as_str(), task.state.as_str()),
            None => ("not-run", "ended"),
        };
        let width = x.end.saturating_sub(x.start).max(LEAST_BAR);
        let letters = u32::try_from(task.id.chars().count()).ok();
        Bar {
            x: x.start,
            y,
            width,
            class,
            is_critical: is_last && critical.contains(task.id.as_str()),
            is_wide: letters.is_some_and(|letters| letters * 8 + 6 <= width),
            became,
            took_ms: self.end - self.start,
            task,
            attempt,
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
