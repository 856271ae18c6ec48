//! Graphs of tasks with the times that they take, made by a seeded generator in the shapes of well-known sets: the
//! Standard Task Graph Set (STG), PSPLIB, workflow traces (`WfInstances`) and real backlogs.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of tasks and times are small and not negative, and drawn ones are rounded"
)]

use fastrand::Rng;
use std::collections::BTreeSet;

/// Tasks, the time that each takes, and what each waits for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Milliseconds.
    pub times: Vec<u64>,
    /// Positions of the tasks that each waits for, all before it.
    pub before: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the graph whose tasks take so long and wait for what comes before them.
    pub fn new(times: Vec<u64>, before: Vec<Vec<usize>>) -> Self {
        assert_eq!(times.len(), before.len(), "a time each");
        Self { times, before }
    }

    /// Returns the time that the longest chain takes: no number of slots is faster.
    pub fn longest_chain(&self) -> u64 {
        let mut ends = vec![0; self.times.len()];
        for (task, before) in self.before.iter().enumerate() {
            let begin = before.iter().map(|&before| ends[before]).max();
            ends[task] = begin.unwrap_or(0) + self.times[task];
        }
        ends.into_iter().max().unwrap_or(0)
    }

    /// Returns the time that no order of the tasks can beat.
    pub fn lower_bound(&self, slots: u32) -> u64 {
        let work: u64 = self.times.iter().sum();
        self.longest_chain().max(work.div_ceil(u64::from(slots)))
    }

    /// Returns the same tasks, each taking a lognormal multiple of its time: so many times longer or shorter that nobody
    /// could know.
    #[must_use]
    pub fn with_noise(&self, random: &mut Rng, sigma: f64) -> Self {
        let times = self.times.iter().map(|&time| {
            let factor = (sigma * normal(random)).exp();
            milliseconds(time as f64 * factor)
        });
        Self {
            times: times.collect(),
            before: self.before.clone(),
        }
    }
}

/// A time in milliseconds, at least one.
pub(crate) fn milliseconds(time: f64) -> u64 {
    time.round().max(1.0) as u64
}

/// A number of the standard normal distribution (Box and Muller).
pub fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

/// How long a unit of the sets' times is.
const UNIT_MS: f64 = 1_000.0;

/// Graphs as those of STG: edges between any two tasks or between layers, by a probability or by a number of
/// predecessors; times from six distributions.
pub fn stg_like(random: &mut Rng, tasks: usize, number: usize) -> Graph {
    let edges = [1.0, 4.0, 7.0, 10.0, 15.0][number % 5];
    let layers = if number.is_multiple_of(2) {
        // Not layered: each task is a layer of its own.
        (0..tasks).collect()
    } else {
        layers_of(random, tasks, tasks / 10)
    };
    let before = if (number / 2).is_multiple_of(2) {
        by_probability(random, &layers, edges)
    } else {
        by_predecessors(random, &layers, edges)
    };
    let distribution = number % 9;
    let times = (0..tasks).map(|_| milliseconds(UNIT_MS * stg_time(random, distribution)));
    Graph::new(times.collect(), before)
}

fn stg_time(random: &mut Rng, distribution: usize) -> f64 {
    let time = match distribution {
        0..=1 => 1.0 + 9.0 * random.f64(),
        2..=3 => -5.0 * (1.0 - random.f64()).ln(),
        4..=5 => 5.0 + 1.5 * normal(random),
        // Two peaks, of short tasks and of long ones.
        _ => {
            let peak = if random.bool() { 3.0 } else { 12.0 };
            peak + 1.5 * normal(random)
        }
    };
    time.round().clamp(1.0, 30.0)
}

/// The layer of each task, ascending, none of them empty.
fn layers_of(random: &mut Rng, tasks: usize, layers: usize) -> Vec<usize> {
    let mut of_each: Vec<usize> = (0..tasks)
        .map(|task| {
            if task < layers {
                task
            } else {
                random.usize(..layers)
            }
        })
        .collect();
    of_each.sort_unstable();
    of_each
}

/// The tasks in earlier layers than each.
fn earlier(layers: &[usize], task: usize) -> usize {
    layers.partition_point(|&layer| layer < layers[task])
}

fn by_probability(random: &mut Rng, layers: &[usize], edges: f64) -> Vec<Vec<usize>> {
    let pairs: usize = (0..layers.len()).map(|task| earlier(layers, task)).sum();
    let probability = edges * layers.len() as f64 / pairs.max(1) as f64;
    let before = |task| {
        let all = 0..earlier(layers, task);
        all.filter(|_| random.f64() < probability).collect()
    };
    (0..layers.len()).map(before).collect()
}

fn by_predecessors(random: &mut Rng, layers: &[usize], edges: f64) -> Vec<Vec<usize>> {
    let mut before = |task| {
        let count = (2.0 * edges * random.f64()).round() as usize;
        some_of(random, earlier(layers, task), count)
    };
    (0..layers.len()).map(&mut before).collect()
}

/// Up to so many different numbers below another one.
fn some_of(random: &mut Rng, below: usize, count: usize) -> Vec<usize> {
    if below == 0 {
        return Vec::new();
    }
    let some: BTreeSet<usize> = (0..count).map(|_| random.usize(..below)).collect();
    some.into_iter().collect()
}

/// Graphs as those of PSPLIB: three tasks to begin with, up to three that wait for each, times from 1 to 10.
pub fn psplib_like(random: &mut Rng, tasks: usize, number: usize) -> Graph {
    let complexity = [1.5, 1.8, 2.1][number % 3];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); tasks];
    let mut after = vec![0; tasks];
    let mut edges = 0;
    for (task, before) in before.iter_mut().enumerate().skip(3) {
        let near = task.saturating_sub(12)..task;
        let mut free: Vec<usize> = near.filter(|&other| after[other] < 3).collect();
        random.shuffle(&mut free);
        let wanted = (complexity * task as f64) as usize;
        let count = wanted.saturating_sub(edges).clamp(1, 3);
        for other in free.into_iter().take(count) {
            before.push(other);
            after[other] += 1;
            edges += 1;
        }
    }
    let times = (0..tasks).map(|_| milliseconds(UNIT_MS * random.usize(1..=10) as f64));
    Graph::new(times.collect(), before)
}

/// Graphs as those of workflow traces: levels of tasks of one type, about as long as each other, and between them one task
/// that splits or joins, or a task to each of the level before.
pub fn workflow_like(random: &mut Rng, number: usize) -> Graph {
    let width = [4, 10, 30, 80, 200][number % 5];
    let mut graph = Graph::default();
    let mut level: Vec<usize> = Vec::new();
    for _ in 0..3 + random.usize(..5) {
        let time = UNIT_MS * (1.2 * normal(random)).exp() * 10.0;
        let next: Vec<Vec<usize>> = match random.usize(..3) {
            _ if level.is_empty() => vec![Vec::new(); width],
            0 => vec![level.clone()],
            1 if level.len() == 1 => vec![level.clone(); width],
            _ => level.iter().map(|&task| vec![task]).collect(),
        };
        level = next
            .into_iter()
            .map(|before| {
                let own = time * (0.15 * normal(random)).exp();
                graph.times.push(milliseconds(own));
                graph.before.push(before);
                graph.times.len() - 1
            })
            .collect();
    }
    graph
}

/// Graphs as those of real backlogs, of equally long tasks: from 8 to 90 tasks, most of them small; a chain in the middle
/// of which each task of a level waits for one to three of the levels right before it.
pub fn backlog_like(random: &mut Rng) -> Graph {
    let tasks = ((0.85 * normal(random)).exp() * 18.0)
        .round()
        .clamp(8.0, 94.0) as usize;
    let parallelism = (0.86 * normal(random)).exp() * 2.0;
    let depth = (tasks as f64 / parallelism).round().clamp(3.0, 33.0) as usize;
    let layers = layers_of(random, tasks, depth.min(tasks));
    let before = (0..tasks)
        .map(|task| {
            let end = earlier(&layers, task);
            let near = layers.partition_point(|&layer| layer + 1 < layers[task]);
            let far = random.usize(..3);
            let mut before = some_of(random, end, far);
            before.extend((near < end).then(|| random.usize(near..end)));
            before.sort_unstable();
            before.dedup();
            before
        })
        .collect();
    Graph::new(vec![60_000; tasks], before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_graphs_and_nothing_waits_for_what_comes_later() {
        let all = || -> Vec<Graph> {
            let mut random = Rng::with_seed(1);
            (0..12)
                .flat_map(|number| {
                    [
                        stg_like(&mut random, 100, number),
                        psplib_like(&mut random, 60, number),
                        workflow_like(&mut random, number),
                        backlog_like(&mut random),
                    ]
                })
                .collect()
        };
        assert_eq!(all(), all());
        for graph in all() {
            for (task, before) in graph.before.iter().enumerate() {
                assert!(before.iter().all(|&before| before < task), "{graph:?}");
            }
        }
    }

    #[test]
    fn the_bound_is_the_longest_chain_or_the_work_over_the_slots() {
        let graph = Graph::new(vec![3, 4, 5], vec![vec![], vec![0], vec![]]);
        assert_eq!((graph.lower_bound(1), graph.lower_bound(2)), (12, 7));
    }
}
