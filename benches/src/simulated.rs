//! Carries graphs of tasks out in simulated time: by tm's own scheduler, and by plain lists to compare it with.

use crate::graphs::Graph;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, AttemptStep, BranchName, Dispatch, Durations, Effect,
    Ended, Input, Limits, PastTask, Phase, Place, PlanOptions, Proof, Scheduler, Task, TaskId,
    TddMode, Timestamp, WavePlan,
};

/// What the scheduler is told, and how long the steps beside the agents take.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Agents at the same time.
    pub slots: u32,
    /// When tasks may start.
    pub dispatch: Dispatch,
    /// How long tasks are expected to take.
    pub durations: Durations,
    /// Milliseconds from the end of an agent to the commit of its work.
    pub proving_ms: u64,
    /// Milliseconds that each landing takes.
    pub landing_ms: u64,
}

impl Machine {
    /// Returns one that knows nothing, and with which proving and landing take no time.
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            dispatch: Dispatch::Rolling,
            durations: Durations::default(),
            proving_ms: 0,
            landing_ms: 0,
        }
    }

    /// Returns the time in milliseconds in which tm's scheduler has every task of the graph done.
    pub fn makespan(&self, graph: &Graph) -> u64 {
        let slots = NonZeroU32::new(self.slots).expect("slots");
        let limits = Limits {
            dispatch: self.dispatch,
            ..Limits::with_slots(slots)
        };
        let options = PlanOptions {
            tdd: TddMode::Off,
            durations: self.durations.clone().within(&limits),
            ..PlanOptions::default()
        };
        let plan = WavePlan::new(&tasks(graph), &options).expect("a plan");
        let mut world = World {
            scheduler: Scheduler::new(plan, limits),
            machine: self,
            graph,
            coming: BTreeMap::new(),
            sent: 0,
        };
        world.run()
    }
}

/// The tasks of a graph as a backlog; the id of each is its position.
fn tasks(graph: &Graph) -> Vec<Task> {
    let id = |task: usize| TaskId::from(task.to_string());
    let task = |(position, before): (usize, &Vec<usize>)| {
        let mut task = Task::new(id(position), "Build");
        task.dependencies = before.iter().map(|&before| id(before)).collect();
        task
    };
    graph.before.iter().enumerate().map(task).collect()
}

/// Returns what is known when each task has taken its time before.
pub fn known(graph: &Graph) -> Durations {
    let past = |(position, &worked_ms): (usize, &u64)| PastTask {
        tag: "master".into(),
        id: position.to_string().into(),
        title: "Build".to_owned(),
        phase: Phase::None,
        complexity: None,
        touched: Vec::new(),
        worked_ms,
    };
    let past: Vec<PastTask> = graph.times.iter().enumerate().map(past).collect();
    Durations::learned(&past, &"master".into())
}

/// What the scheduler asks for, and when it will have been done.
struct World<'w> {
    scheduler: Scheduler,
    machine: &'w Machine,
    graph: &'w Graph,
    /// By moment, and in the order of asking.
    coming: BTreeMap<(u64, usize), Input>,
    sent: usize,
}

impl World<'_> {
    fn run(&mut self) -> u64 {
        let mut now = 0;
        self.hand_in(now, Input::Begin);
        while self.scheduler.ended().is_none() {
            let answered = self.coming.first_key_value().map(|((at, _), _)| *at);
            let woken = self.scheduler.next_wake().map(|wake| wake.0);
            now = answered
                .into_iter()
                .chain(woken)
                .min()
                .expect("all is done");
            let input = match answered {
                Some(at) if at == now => self.coming.pop_first().map(|(_, input)| input),
                Some(_) | None => None,
            };
            self.hand_in(now, input.unwrap_or(Input::Tick));
        }
        now
    }

    fn hand_in(&mut self, now: u64, input: Input) {
        let effects = self.scheduler.handle(Timestamp(now), input);
        for effect in effects.expect("a legal input") {
            if let Effect::Step {
                task,
                attempt,
                step,
            } = effect
            {
                self.perform(now, task, attempt, &step);
            }
        }
    }

    fn perform(&mut self, now: u64, task: TaskId, attempt: AttemptNumber, step: &AttemptStep) {
        let position: usize = task.as_str().parse().expect("a position");
        let (takes, answer) = match step {
            AttemptStep::Prepare { .. } => (0, prepared()),
            AttemptStep::RunAgent { .. } => {
                let takes = self.graph.times[position];
                (takes, worked(now, takes))
            }
            AttemptStep::Prove => (self.machine.proving_ms, Answer::Proved(Proof::default())),
            AttemptStep::Commit => (
                0,
                Answer::Committed {
                    commit: "commit".into(),
                    proof: None,
                },
            ),
            AttemptStep::Land { .. } => (
                self.machine.landing_ms,
                Answer::Landed {
                    commit: "merge".into(),
                    resolution: None,
                },
            ),
            AttemptStep::Release(_) | AttemptStep::TestAhead { .. } => return,
            AttemptStep::Adopt { .. }
            | AttemptStep::StopAgent(_)
            | AttemptStep::Refactor { .. } => {
                unreachable!("nothing is stopped or improved")
            }
        };
        self.sent += 1;
        let input = Input::Answer {
            task,
            attempt,
            answer,
        };
        self.coming.insert((now + takes, self.sent), input);
    }
}

fn prepared() -> Answer {
    Answer::Prepared(Place {
        branch: BranchName::new("branch").expect("a name"),
        base: "base".into(),
        worktree: "worktree".into(),
    })
}

fn worked(now: u64, takes: u64) -> Answer {
    let (from, to) = (Timestamp(now), Timestamp(now + takes));
    Answer::AgentEnded(AgentReport::new("agent", from, to, Ended::Exited(Some(0))))
}

/// By what plain lists take the next of the tasks that are ready.
#[derive(Clone, Copy, Debug)]
pub enum List {
    /// Whichever became ready first.
    Fifo,
    /// The layer of the graph, then the number of tasks that wait for it directly.
    LayerThenDependants,
    /// The longest chain from it to the end, its times known beforehand.
    LongestChain,
}

impl List {
    /// Returns the time in milliseconds in which the graph is done, where nothing but the tasks takes time and no slot is
    /// empty while a task is ready.
    pub fn makespan(self, graph: &Graph, slots: u32) -> u64 {
        let ranks = self.ranks(graph);
        let mut unmet: Vec<usize> = graph.before.iter().map(Vec::len).collect();
        let after = after(graph);
        let is_first = |&task: &usize| unmet[task] == 0;
        let mut ready: BTreeSet<(u64, usize)> = (0..unmet.len())
            .filter(is_first)
            .map(|task| (ranks[task], task))
            .collect();
        let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
        let (mut now, mut became_ready) = (0, 0);
        loop {
            while running.len() < slots as usize {
                let Some((_, task)) = ready.pop_first() else {
                    break;
                };
                running.insert((now + graph.times[task], task));
            }
            let Some((at, task)) = running.pop_first() else {
                return now;
            };
            now = at;
            for &next in &after[task] {
                unmet[next] -= 1;
                if unmet[next] == 0 {
                    became_ready += 1;
                    let rank = match self {
                        Self::Fifo => became_ready,
                        Self::LayerThenDependants | Self::LongestChain => ranks[next],
                    };
                    ready.insert((rank, next));
                }
            }
        }
    }

    fn ranks(self, graph: &Graph) -> Vec<u64> {
        let tasks = graph.times.len();
        let after = after(graph);
        let mut order: Vec<usize> = (0..tasks).collect();
        match self {
            Self::Fifo => return vec![0; tasks],
            Self::LayerThenDependants => {
                let mut layers = vec![0; tasks];
                for task in 0..tasks {
                    let before = graph.before[task].iter().map(|&before| layers[before] + 1);
                    layers[task] = before.max().unwrap_or(0);
                }
                order.sort_by_key(|&task| (layers[task], Reverse(after[task].len())));
            }
            Self::LongestChain => {
                let mut chains = graph.times.clone();
                for task in (0..tasks).rev() {
                    let longest = after[task].iter().map(|&next| chains[next]).max();
                    chains[task] += longest.unwrap_or(0);
                }
                order.sort_by_key(|&task| Reverse(chains[task]));
            }
        }
        let mut ranks = vec![0; tasks];
        for (rank, task) in (0..).zip(order) {
            ranks[task] = rank;
        }
        ranks
    }
}

fn after(graph: &Graph) -> Vec<Vec<usize>> {
    let mut after = vec![Vec::new(); graph.times.len()];
    for (task, before) in graph.before.iter().enumerate() {
        for &before in before {
            after[before].push(task);
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::backlog_like;
    use fastrand::Rng;

    #[test]
    fn nothing_beats_the_bound_and_a_single_slot_reaches_it() {
        let mut random = Rng::with_seed(3);
        for _ in 0..20 {
            let graph = backlog_like(&mut random).with_noise(&mut random, 1.0);
            for slots in [1, 4] {
                let bound = graph.lower_bound(slots);
                let lists = [List::Fifo, List::LayerThenDependants, List::LongestChain];
                let lists = lists.map(|list| list.makespan(&graph, slots));
                let machine = Machine {
                    durations: known(&graph),
                    ..Machine::new(slots)
                };
                let of_machine = machine.makespan(&graph);
                let barrier = Machine {
                    dispatch: Dispatch::Barrier,
                    ..Machine::new(slots)
                };
                assert!(barrier.makespan(&graph) >= bound && of_machine >= bound);
                assert!(lists.iter().all(|&list| list >= bound));
                assert!(slots > 1 || of_machine == bound && lists == [bound; 3]);
            }
        }
    }

    #[test]
    fn proving_and_landing_take_their_time() {
        let graph = Graph::new(vec![100, 100], vec![vec![], vec![0]]);
        let machine = Machine {
            proving_ms: 10,
            landing_ms: 5,
            ..Machine::new(2)
        };
        assert_eq!(machine.makespan(&graph), 230);
    }
}
