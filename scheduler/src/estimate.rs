//! How long a run has still to go, as far as what it has done so far tells.
//!
//! Knows no clock: the moment is an argument. Says nothing where too little is known.

use crate::{AttemptRecord, Dispatch, Phase, Scheduler, State, TaskId, TaskView, Timestamp};
use std::collections::BTreeMap;

/// Fewer settled tasks than this tell nothing.
const LEAST_SAMPLES: usize = 3;

/// A time within which a run probably ends, when its tasks go on taking as long as they did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Remaining {
    /// Milliseconds if the tasks are as short as the shorter half was.
    pub least_ms: u64,
    /// Milliseconds if they are as long as the longer half was, and the slots are badly filled.
    pub most_ms: u64,
}

impl Remaining {
    const fn plus(self, other: Self) -> Self {
        Self {
            least_ms: self.least_ms + other.least_ms,
            most_ms: self.most_ms + other.most_ms,
        }
    }

    fn or_longer(self, other: Self) -> Self {
        Self {
            least_ms: self.least_ms.max(other.least_ms),
            most_ms: self.most_ms.max(other.most_ms),
        }
    }
}

/// Returns how long the run has still to go, by the durations of the tasks that have settled in it, the longest chain of
/// those that have not, and the slots. `None` while fewer than three have settled, and while nothing more is started.
pub fn remaining(scheduler: &Scheduler, now: Timestamp) -> Option<Remaining> {
    if scheduler.ended().is_some() || scheduler.stop_reason().is_some() || scheduler.is_paused() {
        return None;
    }
    let samples = Samples::of(scheduler)?;
    let mut open: Vec<(TaskView<'_>, Remaining)> = scheduler
        .tasks()
        .filter(|view| !view.state.is_settled())
        .map(|view| {
            (
                view,
                left(&view, samples.usual(view.placed.task.phase), now),
            )
        })
        .collect();
    open.sort_by_key(|(view, _)| view.placed.wave);
    let slots = u64::from(scheduler.limits().slots.get());
    Some(match scheduler.limits().dispatch {
        Dispatch::Rolling => rolling(&open, slots),
        Dispatch::Barrier => barrier(&open, slots),
    })
}

/// Durations of settled tasks, sorted, of each phase and of all.
#[derive(Default)]
struct Samples {
    by_phase: BTreeMap<Phase, Vec<u64>>,
    all: Vec<u64>,
}

impl Samples {
    fn of(scheduler: &Scheduler) -> Option<Self> {
        let mut samples = Self::default();
        let settled = scheduler.tasks().filter(|view| view.state.is_settled());
        for view in settled.filter(|view| !view.attempts.is_empty()) {
            let spent = spent(view.attempts, None);
            samples
                .by_phase
                .entry(view.placed.task.phase)
                .or_default()
                .push(spent);
            samples.all.push(spent);
        }
        samples
            .by_phase
            .values_mut()
            .chain([&mut samples.all])
            .for_each(|list| list.sort_unstable());
        (samples.all.len() >= LEAST_SAMPLES).then_some(samples)
    }

    /// How long tasks of a kind took, by the lower and the upper quartile; a phase of which too little is known is taken
    /// to be like all others.
    fn usual(&self, phase: Phase) -> Remaining {
        let own = self.by_phase.get(&phase);
        let list = own
            .filter(|own| own.len() >= LEAST_SAMPLES)
            .unwrap_or(&self.all);
        let last = list.len() - 1;
        Remaining {
            least_ms: list[last / 4],
            most_ms: list[last - last / 4],
        }
    }
}

/// The time that attempts took; the one under way until now.
fn spent(attempts: &[AttemptRecord], now: Option<Timestamp>) -> u64 {
    let spent = |attempt: &AttemptRecord| {
        let end = attempt.ended_at().or(now);
        end.map_or(0, |end| end.since(attempt.started_at))
    };
    attempts.iter().map(spent).sum()
}

fn left(view: &TaskView<'_>, usual: Remaining, now: Timestamp) -> Remaining {
    let spent = spent(view.attempts, Some(now));
    let pause = match view.state {
        State::Paused { until } => until.since(now),
        _ => 0,
    };
    Remaining {
        least_ms: pause + usual.least_ms.saturating_sub(spent),
        // What has taken longer than is usual takes a while longer still.
        most_ms: pause + usual.most_ms.saturating_sub(spent).max(spent / 10),
    }
}

/// No order of the tasks is faster than their longest chain, or than all of them spread evenly over the slots; no order
/// that leaves no slot empty takes longer than the two together.
fn rolling(open: &[(TaskView<'_>, Remaining)], slots: u64) -> Remaining {
    let mut ends: BTreeMap<&TaskId, Remaining> = BTreeMap::new();
    let (mut chain, mut work) = (Remaining::default(), Remaining::default());
    for (view, left) in open {
        let task = &view.placed.task;
        let end = task
            .dependencies
            .iter()
            .filter_map(|id| ends.get(id))
            .fold(Remaining::default(), |most, end| most.or_longer(*end))
            .plus(*left);
        ends.insert(&task.id, end);
        chain = chain.or_longer(end);
        work = work.plus(*left);
    }
    bounds(chain, work, slots)
}

/// Each wave ends before the next one begins.
fn barrier(open: &[(TaskView<'_>, Remaining)], slots: u64) -> Remaining {
    let waves = open.chunk_by(|(one, _), (other, _)| one.placed.wave == other.placed.wave);
    let of_wave = |wave: &[(TaskView<'_>, Remaining)]| {
        let all = wave.iter().map(|(_, left)| *left);
        let longest = all.clone().fold(Remaining::default(), Remaining::or_longer);
        bounds(
            longest,
            all.fold(Remaining::default(), Remaining::plus),
            slots,
        )
    };
    waves
        .map(of_wave)
        .fold(Remaining::default(), Remaining::plus)
}

fn bounds(chain: Remaining, work: Remaining, slots: u64) -> Remaining {
    Remaining {
        least_ms: chain.least_ms.max(work.least_ms / slots),
        most_ms: chain.most_ms + work.most_ms.saturating_sub(chain.most_ms) / slots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Answer, AttemptNumber, Input, Limits, PlanOptions, PrepareRefusal, Task, TddMode, WavePlan,
    };
    use std::num::NonZeroU32;

    /// Tasks without retries, each with what it depends on.
    fn scheduler(tasks: &[(&str, &[&str])], slots: u32, dispatch: Dispatch) -> Scheduler {
        let tasks: Vec<Task> = tasks
            .iter()
            .map(|(id, dependencies)| {
                let mut task = Task::new(*id, "Add it");
                task.dependencies = dependencies.iter().map(|id| (*id).into()).collect();
                task
            })
            .collect();
        let plan = WavePlan::new(
            &tasks,
            &PlanOptions {
                tdd: TddMode::Off,
                ..PlanOptions::default()
            },
        )
        .unwrap();
        let limits = Limits {
            retries: 0,
            conflict_rounds: 0,
            dispatch,
            ..Limits::with_slots(NonZeroU32::new(slots).unwrap())
        };
        let mut scheduler = Scheduler::new(plan, limits);
        scheduler.handle(Timestamp(0), Input::Begin).unwrap();
        scheduler
    }

    /// Settles a task at a moment, in the way that takes the fewest inputs.
    fn settle(scheduler: &mut Scheduler, task: &str, at: u64) {
        let conflict = Answer::PrepareRefused(PrepareRefusal::Conflict { files: Vec::new() });
        let input = Input::Answer {
            task: task.into(),
            attempt: AttemptNumber(1),
            answer: conflict,
        };
        scheduler.handle(Timestamp(at), input).unwrap();
    }

    #[test]
    fn nothing_is_said_before_three_tasks_have_settled() {
        let tasks: [(&str, &[&str]); 4] = [("1", &[]), ("2", &[]), ("3", &[]), ("4", &[])];
        let mut run = scheduler(&tasks, 4, Dispatch::Rolling);
        settle(&mut run, "1", 10_000);
        settle(&mut run, "2", 10_000);
        assert_eq!(remaining(&run, Timestamp(10_000)), None);
        settle(&mut run, "3", 10_000);
        assert_eq!(
            remaining(&run, Timestamp(10_000)),
            Some(Remaining {
                least_ms: 0,
                most_ms: 1_000
            })
        );
        settle(&mut run, "4", 11_000);
        assert_eq!(remaining(&run, Timestamp(11_000)), None, "the run is over");
    }

    #[test]
    fn a_chain_is_as_long_as_its_tasks_and_slots_share_the_rest() {
        let tasks: [(&str, &[&str]); 8] = [
            ("1", &[]),
            ("2", &[]),
            ("3", &[]),
            ("4", &[]),
            ("5", &["4"]),
            ("6", &["5"]),
            ("7", &[]),
            ("8", &[]),
        ];
        let mut run = scheduler(&tasks, 3, Dispatch::Rolling);
        // The chain of three goes first; 1 and 2 beside it, then 3 and 7.
        let first: Vec<String> = run
            .tasks()
            .filter(|view| view.state.has_worktree())
            .map(|view| view.placed.task.id.to_string())
            .collect();
        assert_eq!(first, ["4", "1", "2"]);
        for (task, at) in [("1", 10_000), ("2", 10_000), ("3", 20_000)] {
            settle(&mut run, task, at);
        }
        // 4 has worked for 20 s of 10 s, 5 and 6 follow it; 7 has worked for 10 s, 8 for none.
        let expected = Remaining {
            least_ms: 20_000,
            most_ms: 2_000 + 20_000 + (1_000 + 10_000) / 3,
        };
        assert_eq!(remaining(&run, Timestamp(20_000)), Some(expected));
    }

    #[test]
    fn waves_follow_each_other_behind_a_barrier() {
        let tasks: [(&str, &[&str]); 6] = [
            ("1", &[]),
            ("2", &[]),
            ("3", &[]),
            ("4", &[]),
            ("5", &["9"]),
            ("9", &[]),
        ];
        let mut run = scheduler(&tasks, 5, Dispatch::Barrier);
        for task in ["1", "2", "3"] {
            settle(&mut run, task, 10_000);
        }
        let expected = Remaining {
            least_ms: 10_000,
            most_ms: 1_000 + 1_000 / 5 + 10_000,
        };
        assert_eq!(remaining(&run, Timestamp(10_000)), Some(expected));
    }
}
