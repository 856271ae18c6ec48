//! How close tm's order of tasks comes to what no order can beat: its own scheduler carries graphs out in simulated time,
//! beside a barrier after each wave, plain lists, and the longest chain first with all times known. Each number is the time
//! until all is done, divided by the longer of the longest chain and the work over the slots: mean, 95th percentile.
//!
//! The graphs are made in the shapes of well-known sets. Where a variable names a folder with the real files, they are read
//! besides: `TM_BENCH_STG` (`.stg`), `TM_BENCH_RCP` (`.rcp`, without resources), `TM_BENCH_WF` (`WfFormat` JSON) and
//! `TM_BENCH_BACKLOGS` (`tasks.json`). All is seeded: the same program prints the same numbers. It exits with 1 when a goal
//! is missed. `TM_BENCH_LANDING=5` has proving and landing take 5 % of a task's mean time each, which no bound counts.
#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints, and no time of its graphs comes near what a float counts exactly"
)]

use fastrand::Rng;
use std::path::Path;
use std::process::ExitCode;
use tm_benches::graph_files::graphs_below;
use tm_benches::graphs::{Graph, backlog_like, psplib_like, stg_like, workflow_like};
use tm_benches::simulated::{List, Machine, known};
use tm_scheduler::Dispatch;

/// Larger graphs than these of the real sets take longer than a minute together.
const MOST_TASKS: usize = 2_500;

/// Backlogs are few and small, so each is tried with so many times.
const ROUNDS: usize = 10;

/// What a mean may be at most.
struct Goal {
    set: &'static str,
    sigma: f64,
    slots: u32,
    most: f64,
}

const GOALS: [Goal; 2] = [
    Goal {
        set: "STG-like 100",
        sigma: 0.0,
        slots: 5,
        most: 1.01,
    },
    Goal {
        set: "backlog-like",
        sigma: 1.0,
        slots: 5,
        most: 1.02,
    },
];

fn main() -> ExitCode {
    head();
    let mut table = Table::default();
    let mut random = Rng::with_seed(20);
    let stg = |count, tasks, random: &mut Rng| -> Vec<Graph> {
        (0..count)
            .map(|number| stg_like(random, tasks, number))
            .collect()
    };
    let small = stg(60, 100, &mut random);
    table.known("STG-like 100", &small, &[2, 4, 5, 8, 16]);
    table.known("STG-like 1000", &stg(12, 1_000, &mut random), &[5, 16]);
    let psplib = |tasks, random: &mut Rng| -> Vec<Graph> {
        (0..48)
            .map(|number| psplib_like(random, tasks, number))
            .collect()
    };
    table.known("PSPLIB-like 30", &psplib(30, &mut random), &[4]);
    table.known("PSPLIB-like 120", &psplib(120, &mut random), &[5, 8]);
    let workflows: Vec<Graph> = (0..40)
        .map(|number| workflow_like(&mut random, number))
        .collect();
    table.known("workflow-like", &workflows, &[5, 8]);
    table.unknown("STG-like 100", &small, &[5], 1.0);
    let backlogs: Vec<Graph> = (0..57).map(|_| backlog_like(&mut random)).collect();
    for sigma in [0.5, 1.0] {
        table.unknown("backlog-like", &backlogs, &[2, 4, 5, 8, 16], sigma);
    }
    real(&mut table);
    ExitCode::from(u8::from(table.has_missed_a_goal))
}

fn real(table: &mut Table) {
    let graphs = |variable: &str| -> Vec<Graph> {
        let folder = std::env::var_os(variable);
        let graphs = folder.map(|folder| graphs_below(Path::new(&folder)));
        let mut graphs = graphs.unwrap_or_default();
        graphs.retain(|graph| graph.times.len() <= MOST_TASKS);
        graphs
    };
    table.known("STG", &graphs("TM_BENCH_STG"), &[2, 4, 5, 8, 16]);
    table.known("PSPLIB", &graphs("TM_BENCH_RCP"), &[4, 5, 8]);
    table.known("WfInstances", &graphs("TM_BENCH_WF"), &[5, 8]);
    let backlogs = graphs("TM_BENCH_BACKLOGS");
    for sigma in [0.5, 1.0] {
        table.unknown("backlogs", &backlogs, &[2, 4, 5, 8, 16], sigma);
    }
}

#[derive(Default)]
struct Table {
    has_missed_a_goal: bool,
}

const COLUMNS: [&str; 6] = [
    "barrier",
    "list: fifo",
    "list: layer",
    "tm, hops",
    "tm, times",
    "list: times",
];

fn head() {
    print!("{:<16} {:>5} {:>3} {:>5}", "set", "sigma", "P", "n");
    for column in COLUMNS {
        print!(" {column:>13}");
    }
    println!();
}

impl Table {
    /// Graphs whose times are known beforehand.
    fn known(&mut self, set: &'static str, graphs: &[Graph], slots: &[u32]) {
        for &slots in slots {
            let ratios: Vec<_> = graphs
                .iter()
                .map(|graph| ratios(graph, slots, graph))
                .collect();
            self.row(set, 0.0, slots, &ratios);
        }
    }

    /// The same with times that nobody knows beforehand: lognormal multiples of those that are expected.
    fn unknown(&mut self, set: &'static str, graphs: &[Graph], slots: &[u32], sigma: f64) {
        for &slots in slots {
            let mut random = Rng::with_seed(u64::from(slots));
            let rounds = (0..ROUNDS).flat_map(|_| graphs);
            let ratios: Vec<_> = rounds
                .map(|expected| ratios(&expected.with_noise(&mut random, sigma), slots, expected))
                .collect();
            self.row(set, sigma, slots, &ratios);
        }
    }

    fn row(&mut self, set: &'static str, sigma: f64, slots: u32, ratios: &[[f64; 6]]) {
        if ratios.is_empty() {
            return;
        }
        print!("{set:<16} {sigma:>5.1} {slots:>3} {:>5}", ratios.len());
        let columns = (0..COLUMNS.len()).map(|column| {
            let mut of_column: Vec<f64> = ratios.iter().map(|row| row[column]).collect();
            of_column.sort_by(f64::total_cmp);
            let mean = of_column.iter().sum::<f64>() / of_column.len() as f64;
            (mean, of_column[(of_column.len() - 1) * 95 / 100])
        });
        let columns: Vec<(f64, f64)> = columns.collect();
        for (mean, high) in &columns {
            print!(" {:>13}", format!("{mean:.3} {high:.2}"));
        }
        let of_row = |goal: &&Goal| {
            (goal.set, goal.slots) == (set, slots) && goal.sigma.total_cmp(&sigma).is_eq()
        };
        if let Some(goal) = GOALS.iter().find(of_row) {
            let reached = columns[4].0;
            let word = if reached <= goal.most {
                "reached"
            } else {
                "MISSED"
            };
            print!("  goal {:.2} {word}", goal.most);
            self.has_missed_a_goal |= reached > goal.most;
        }
        println!();
    }
}

/// What each way of ordering makes of a graph, where the times of another one are expected.
fn ratios(graph: &Graph, slots: u32, expected: &Graph) -> [f64; 6] {
    let mean = graph.times.iter().sum::<u64>() / graph.times.len() as u64;
    let percent =
        std::env::var("TM_BENCH_LANDING").map_or(0, |percent| percent.parse().expect("a number"));
    let hops = Machine {
        proving_ms: mean * percent / 100,
        landing_ms: mean * percent / 100,
        ..Machine::new(slots)
    };
    let barrier = Machine {
        dispatch: Dispatch::Barrier,
        ..hops.clone()
    };
    let times = Machine {
        durations: known(expected),
        ..hops.clone()
    };
    let bound = graph.lower_bound(slots) as f64;
    [
        barrier.makespan(graph),
        List::Fifo.makespan(graph, slots),
        List::LayerThenDependants.makespan(graph, slots),
        hops.makespan(graph),
        times.makespan(graph),
        List::LongestChain.makespan(graph, slots),
    ]
    .map(|makespan| makespan as f64 / bound)
}
