//! How close the machine comes to what no order of the tasks can beat, in simulated time: layered random graphs whose times
//! are known beforehand.

use super::*;
use crate::{
    AgentReport, Answer, AttemptStep, Durations, Ended, PastTask, PlanOptions, Proof, Task, TddMode,
};
use fastrand::Rng;
use std::num::NonZeroU32;

struct Graph {
    times: Vec<u64>,
    before: Vec<Vec<usize>>,
}

/// So many tasks in layers of ten, with one to seven before each that is not of the first.
fn graph(random: &mut Rng, tasks: usize) -> Graph {
    let most = 1 + random.usize(..7);
    let before = |task: usize| {
        let earlier = task / 10 * 10;
        let count = if earlier == 0 {
            0
        } else {
            1 + random.usize(..most)
        };
        let some: BTreeSet<usize> = (0..count).map(|_| random.usize(..earlier)).collect();
        some.into_iter().collect()
    };
    let before = (0..tasks).map(before).collect();
    let times = (0..tasks).map(|_| 1_000 * random.u64(1..=10)).collect();
    Graph { times, before }
}

fn limits(slots: u32) -> Limits {
    Limits::with_slots(NonZeroU32::new(slots).expect("slots"))
}

impl Graph {
    fn lower_bound(&self, slots: u32) -> u64 {
        let mut ends = vec![0; self.times.len()];
        for (task, before) in self.before.iter().enumerate() {
            let begin = before.iter().map(|&before| ends[before]).max();
            ends[task] = begin.unwrap_or(0) + self.times[task];
        }
        let work: u64 = self.times.iter().sum();
        let chain = ends.into_iter().max().unwrap_or(0);
        chain.max(work.div_ceil(u64::from(slots)))
    }

    fn durations(&self) -> Durations {
        let past = |(task, &worked_ms): (usize, &u64)| PastTask {
            tag: "master".into(),
            id: task.to_string().into(),
            title: "Build".to_owned(),
            phase: Phase::None,
            complexity: None,
            touched: Vec::new(),
            worked_ms,
        };
        let past: Vec<PastTask> = self.times.iter().enumerate().map(past).collect();
        Durations::learned(&past, &"master".into())
    }

    fn scheduler(&self, limits: Limits, durations: Durations) -> Scheduler {
        let task = |(position, before): (usize, &Vec<usize>)| {
            let mut task = Task::new(position.to_string(), "Build");
            task.dependencies = before
                .iter()
                .map(|before| before.to_string().into())
                .collect();
            task
        };
        let tasks: Vec<Task> = self.before.iter().enumerate().map(task).collect();
        let options = PlanOptions {
            tdd: TddMode::Off,
            durations,
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks, &options).expect("a plan");
        Scheduler::new(plan, limits)
    }

    /// When all is done, where nothing but the agents takes time, and the plan was made for those slots.
    fn makespan(&self, slots: u32) -> u64 {
        let limits = limits(slots);
        let durations = self.durations().within(&limits);
        self.done(self.scheduler(limits, durations))
    }

    /// The same, where the longest path goes first.
    fn makespan_by_paths(&self, slots: u32) -> u64 {
        self.done(self.scheduler(limits(slots), self.durations()))
    }

    fn done(&self, mut scheduler: Scheduler) -> u64 {
        let mut coming = BTreeMap::from([((0, 0), Input::Begin)]);
        let mut sent = 0;
        while let Some(((now, _), input)) = coming.pop_first() {
            let effects = scheduler.handle(Timestamp(now), input);
            for effect in effects.expect("a legal input") {
                let Effect::Step {
                    task,
                    attempt,
                    step,
                } = effect
                else {
                    continue;
                };
                let position: usize = task.as_str().parse().expect("a position");
                let time = self.times[position];
                if let Some((takes, answer)) = answer(now, time, &step) {
                    sent += 1;
                    let input = Input::Answer {
                        task,
                        attempt,
                        answer,
                    };
                    coming.insert((now + takes, sent), input);
                }
            }
            if scheduler.ended().is_some() {
                return now;
            }
        }
        unreachable!("the run ends")
    }
}

/// What comes of a step, and after how long.
fn answer(now: u64, time: u64, step: &AttemptStep) -> Option<(u64, Answer)> {
    let place = || Place {
        branch: crate::BranchName::new("b").expect("a name"),
        base: "base".into(),
        worktree: "w".into(),
    };
    let report = || {
        let end = Timestamp(now + time);
        AgentReport::new("simulated", Timestamp(now), end, Ended::Exited(Some(0)))
    };
    let answer = match step {
        AttemptStep::Prepare { .. } => Answer::Prepared(place()),
        AttemptStep::RunAgent { .. } => return Some((time, Answer::AgentEnded(report()))),
        AttemptStep::Prove => Answer::Proved(Proof::default()),
        AttemptStep::Commit => Answer::Committed {
            commit: "c".into(),
            proof: None,
        },
        AttemptStep::Land { .. } => Answer::Landed {
            commit: "m".into(),
            resolution: None,
        },
        _ => return None,
    };
    Some((0, answer))
}

#[test]
#[expect(
    clippy::cast_precision_loss,
    reason = "the times of a hundred tasks are exact as floats"
)]
fn with_known_times_a_run_takes_little_longer_than_no_order_could_beat() {
    let mut random = Rng::with_seed(7);
    for slots in [2, 4, 5, 8, 16] {
        let ratios: Vec<f64> = (0..40)
            .map(|_| {
                let graph = graph(&mut random, 100);
                graph.makespan(slots) as f64 / graph.lower_bound(slots) as f64
            })
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let worst = ratios.iter().copied().fold(1.0, f64::max);
        assert!(ratios.iter().all(|&ratio| ratio >= 1.0), "{ratios:?}");
        assert!(
            mean <= 1.02 && worst <= 1.15,
            "{slots} slots: {mean} {worst}"
        );
    }
}

#[test]
fn a_plan_for_the_slots_there_are_is_never_slower_than_the_longest_path_first() {
    let mut random = Rng::with_seed(8);
    let mut faster = 0;
    for round in 0..300 {
        let graph = graph(&mut random, 30);
        let slots = 2 + round % 6;
        let (own, by_paths) = (graph.makespan(slots), graph.makespan_by_paths(slots));
        assert!(
            own <= by_paths,
            "{slots} slots: {own} instead of {by_paths}"
        );
        faster += u32::from(own < by_paths);
    }
    assert!(faster > 20, "{faster} of 300");
}
