//! A seeded simulation: random backlogs, agents that work, lie, fail and block, and stops at random moments.
//!
//! Invariants: one agent at a time; never more counted iterations than allowed; every loop ends; "complete" only where
//! the backlog is; what is counted as completed is done; the same inputs give the same effects.

use super::*;
use crate::{Ended, ServiceRefusal, Status, TaskId};
use fastrand::Rng;

const SEEDS: u64 = 3_000;
/// A loop that has not ended after so many inputs never does.
const MOST_INPUTS: usize = 4_000;

struct World {
    random: Rng,
    statuses: Vec<Status>,
    now: Timestamp,
}

impl World {
    fn view(&self) -> BacklogView {
        let ids = (1..).map(|number: usize| TaskId::from(number.to_string()));
        let statuses: Vec<(TaskId, Status)> = ids.zip(self.statuses.iter().cloned()).collect();
        let open: Vec<TaskId> = statuses
            .iter()
            .filter(|(_, status)| status.is_open())
            .map(|(id, _)| id.clone())
            .collect();
        BacklogView {
            statuses: statuses.into_iter().collect(),
            workable: open.clone(),
            open,
        }
    }

    fn agent(&mut self, is_stopping: bool) -> AgentEnd {
        let open = self.statuses.iter().position(Status::is_open);
        let mut ended = Ended::Exited(Some(0));
        let (mut refusal, mut final_message, mut files) = (None, String::new(), 1);
        match self.random.u64(..12) {
            _ if is_stopping => ended = Ended::Killed,
            0 => ended = Ended::Exited(Some(1)),
            1 => ended = Ended::TimedOut,
            2 => {
                ended = Ended::Exited(Some(1));
                refusal = Some(ServiceRefusal::RateLimited { until: None });
            }
            3 => final_message = "<loop-complete>ALL</loop-complete>".to_owned(),
            4 if self.random.u64(..8) == 0 => {
                final_message = "<loop-blocked>no way</loop-blocked>".to_owned();
            }
            5 => files = 0,
            _ => {
                if let Some(position) = open {
                    self.statuses[position] = Status::Done;
                }
            }
        }
        AgentEnd {
            report: AgentReport {
                refusal,
                cost_usd: Some(0.1),
                ..AgentReport::new("simulated", self.now, self.now, ended)
            },
            final_message,
            prompt: String::new(),
            work: WorkChanges {
                files,
                ..WorkChanges::default()
            },
        }
    }

    /// What the outside answers to an effect, if it does.
    fn answer(&mut self, effect: &LoopEffect, is_stopping: bool) -> Option<LoopInput> {
        match effect {
            LoopEffect::LookAtBacklog => Some(LoopInput::Looked(self.view())),
            LoopEffect::RunAgent { .. } if self.random.u64(..64) == 0 => Some(
                LoopInput::InfrastructureFailed("the disk is full".to_owned()),
            ),
            LoopEffect::RunAgent { .. } => Some(LoopInput::AgentEnded(self.agent(is_stopping))),
            LoopEffect::Verify if self.random.u64(..4) == 0 => {
                Some(LoopInput::Verified(Err("red".to_owned())))
            }
            LoopEffect::Verify => Some(LoopInput::Verified(Ok(()))),
            LoopEffect::Sleep { until, .. } => {
                self.now = *until;
                Some(LoopInput::Woke)
            }
            LoopEffect::Record(_) | LoopEffect::StopStep | LoopEffect::End { .. } => None,
        }
    }
}

fn run(seed: u64) -> (Iteration, World) {
    let mut random = Rng::with_seed(seed);
    let statuses = vec![Status::Pending; random.usize(..9)];
    let verification = if random.u64(..2) == 0 {
        Verification::Each
    } else {
        Verification::Off
    };
    let limits = LoopLimits {
        iterations: NonZeroU32::new(1 + random.u32(..15)).expect("some"),
        first: 1,
        sleep_ms: random.u64(..3) * 1_000,
        retries: random.u32(..4),
        deadline: (random.u64(..4) == 0).then_some(Timestamp(40_000)),
        max_cost_usd: (random.u64(..4) == 0).then_some(0.6),
    };
    let stop_after = if random.u64(..3) == 0 {
        Some(random.u64(..20))
    } else {
        None
    };
    let mut machine = Iteration::new(Goal::Backlog, verification, limits.clone());
    let mut world = World {
        random,
        statuses,
        now: Timestamp(0),
    };
    let mut owed = vec![LoopInput::Begin];
    let mut is_stopping = false;
    for count in 0.. {
        assert!(count < MOST_INPUTS, "seed {seed} never ends");
        if !is_stopping && stop_after == Some(count as u64) {
            is_stopping = true;
            machine
                .handle(world.now, LoopInput::Stop)
                .expect("a stop can always come");
        }
        let (None, Some(input)) = (machine.ended(), owed.pop()) else {
            break;
        };
        let mut twin = machine.clone();
        let effects = machine
            .handle(world.now, input.clone())
            .expect("a legal input");
        assert_eq!(
            twin.handle(world.now, input).expect("a legal input"),
            effects,
            "seed {seed}"
        );
        owed.extend(
            effects
                .iter()
                .filter_map(|effect| world.answer(effect, is_stopping)),
        );
        assert!(
            owed.len() <= 1,
            "seed {seed}: {} things at once",
            owed.len()
        );
    }
    assert!(
        machine.iterations() <= limits.iterations.get(),
        "seed {seed}"
    );
    (machine, world)
}

#[test]
fn every_loop_ends_and_tells_the_truth() {
    let mut ends = std::collections::BTreeSet::new();
    for seed in 0..SEEDS {
        let (machine, world) = run(seed);
        let status = machine
            .ended()
            .unwrap_or_else(|| panic!("seed {seed} has no end"));
        ends.insert(status.as_str());
        let done = world
            .statuses
            .iter()
            .filter(|status| **status == Status::Done)
            .count();
        assert!(machine.tasks_completed() <= done, "seed {seed}");
        if status == LoopStatus::AllComplete {
            assert!(
                world.statuses.iter().all(|status| !status.is_open()),
                "seed {seed}"
            );
            assert_eq!(machine.tasks_completed(), done, "seed {seed}");
        }
    }
    assert_eq!(ends.len(), 8, "some end was never reached: {ends:?}");
}
