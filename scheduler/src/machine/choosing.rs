//! Chooses among ready tasks by more than their order: a slot waits a moment for a more urgent task that is about to be
//! ready, and of two tasks that are about as urgent the one goes first that shares no file with work under way.
//!
//! Journals of before were written without it; their limits say so.

use super::agents::ReadyKey;
use super::{AttemptRecord, Scheduler, State, TaskIndex, count_u32};
use crate::durations::weight;
use crate::{Choice, Dispatch, Timestamp};
use std::collections::BTreeSet;

/// So many tasks behind the first are looked at for one that shares no file.
const LOOKED_AT: usize = 32;

/// Meeting in a file costs such a part of a task's own time: a part of its work is done again.
const COST_OF_MEETING: u64 = 2;

/// How long agents work, and how long finished work takes until it has landed, on the whole so far.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    agents: u64,
    working_ms: u64,
    landings: u64,
    finishing_ms: u64,
}

/// What the next task is chosen by, beside the order.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkUnderWay {
    /// Tasks with an attempt whose work has neither landed nor is held.
    pub(super) tasks: BTreeSet<TaskIndex>,
    pace: Pace,
    /// Until when a slot waits for a task that is about to be ready.
    pub(super) kept_until: Option<Timestamp>,
}

impl WorkUnderWay {
    /// Counts a task in, or out, by where it stands now.
    pub(super) fn count(&mut self, rank: TaskIndex, state: &State) {
        if state.is_under_way() {
            self.tasks.insert(rank);
        } else {
            self.tasks.remove(&rank);
        }
    }
}

impl Pace {
    fn note_agent(&mut self, worked_ms: u64) {
        self.agents += 1;
        self.working_ms = self.working_ms.saturating_add(worked_ms);
    }

    fn note_landing(&mut self, took_ms: u64) {
        self.landings += 1;
        self.finishing_ms = self.finishing_ms.saturating_add(took_ms);
    }

    /// How long a slot may wait: about as long as it takes until another one is free. `None` where finished work usually
    /// needs longer, and waiting costs more than it brings.
    fn patience_ms(self, slots: u32) -> Option<u64> {
        let usual = self.finishing_ms.checked_div(self.landings).unwrap_or(0);
        let patience = self.working_ms.checked_div(self.agents)? / u64::from(slots);
        (usual <= patience).then_some(patience)
    }
}

impl Scheduler {
    /// Notes how long the agent of the attempt under way worked.
    pub(super) fn note_agents_pace(&mut self, rank: TaskIndex) {
        if let Some(report) = self.last(rank).and_then(AttemptRecord::report) {
            let worked = report.ended_at.since(report.started_at);
            self.under_way.pace.note_agent(worked);
        }
    }

    /// Notes how long it took until the work of a task that lands now had landed, from the end of its agent on.
    pub(super) fn note_landings_pace(&mut self, rank: TaskIndex) {
        if let Some(finished) = self.finished_at(rank) {
            self.under_way.pace.note_landing(self.now.since(finished));
        }
    }

    fn finished_at(&self, rank: TaskIndex) -> Option<Timestamp> {
        Some(self.last(rank)?.report()?.ended_at)
    }

    /// Whether a slot is kept for a more urgent task that will be ready once work has landed that is finished already: by
    /// starting another one now, it would have to wait for that one's agent. Notes until when.
    pub(super) fn is_slot_kept(&mut self, candidate: ReadyKey) -> bool {
        let Some(until) = self.waits_until().filter(|until| self.now < *until) else {
            return false;
        };
        let free = self.limits.slots.get().saturating_sub(self.slots_in_use);
        let urgent = self.about_to_be_ready(candidate).len();
        let is_kept = count_u32(urgent) >= free;
        if is_kept {
            self.under_way.kept_until = Some(until);
        }
        is_kept
    }

    /// Until when a slot waits for the finished work that has waited for the shortest time.
    fn waits_until(&self) -> Option<Timestamp> {
        let is_off = self.limits.choice == Choice::FirstInOrder
            || self.limits.dispatch == Dispatch::Barrier
            || self.lands_no_more();
        if is_off {
            return None;
        }
        let finished = self.finishing().filter_map(|rank| self.finished_at(rank));
        let patience = self.under_way.pace.patience_ms(self.limits.slots.get())?;
        finished.max().map(|at| at.plus(patience))
    }

    /// The tasks whose agents are gone, and whose work has still to be proven, or to land.
    fn finishing(&self) -> impl Iterator<Item = TaskIndex> {
        let is_finishing = |rank: &TaskIndex| {
            matches!(
                self.states[*rank],
                State::Proving | State::Committing | State::Landing { .. }
            ) && !self.parked.contains(rank)
        };
        self.under_way.tasks.iter().copied().filter(is_finishing)
    }

    /// The tasks, more urgent than a ready one, that wait for nothing but finished work.
    fn about_to_be_ready(&self, candidate: ReadyKey) -> BTreeSet<TaskIndex> {
        let finishing: BTreeSet<TaskIndex> = self.finishing().collect();
        let waits_for_those = |rank: &TaskIndex| {
            let State::Waiting { unmet } = self.states[*rank] else {
                return false;
            };
            let before = self.dependencies[*rank].iter();
            let coming = before.filter(|before| finishing.contains(before)).count();
            count_u32(coming) >= unmet
        };
        let dependants = finishing.iter().flat_map(|&rank| &self.dependants[rank]);
        dependants
            .copied()
            .filter(|&rank| self.ready_key(rank) < candidate)
            .filter(waits_for_those)
            .filter(|&rank| self.may_be_started(rank))
            .collect()
    }

    /// The first ready task that is about as urgent as the first of all, and shares no file with work under way; the first
    /// of all where there is none.
    pub(super) fn with_least_overlap(&self, first: ReadyKey) -> ReadyKey {
        if self.limits.choice == Choice::FirstInOrder {
            return first;
        }
        // What has conflicted before lands as soon as it can.
        if self.quarrelsome.contains(&first.2) || self.own_files(first.2).is_empty() {
            return first;
        }
        let busy = self.busy_files();
        if !self.meets(first.2, &busy) {
            return first;
        }
        let behind = self.ready.range(first..).skip(1).take(LOOKED_AT);
        behind
            .copied()
            .take_while(|&(wave, _, rank)| {
                wave == first.0 && self.is_about_as_urgent(rank, first.2)
            })
            .filter(|&(_, _, rank)| !self.meets(rank, &busy))
            .find(|&(_, _, rank)| self.is_startable(rank) && !self.is_held_back(rank))
            .unwrap_or(first)
    }

    /// Whether a task goes first where starting the other one now costs a part of that one's time.
    fn is_about_as_urgent(&self, rank: TaskIndex, first: TaskIndex) -> bool {
        let (one, other) = (&self.plan.tasks[first], &self.plan.tasks[rank]);
        let own = one
            .expected_ms
            .unwrap_or_else(|| weight(one.task.complexity));
        one.effective_priority == other.effective_priority
            && other.remaining_path >= one.remaining_path.saturating_sub(own / COST_OF_MEETING)
    }

    /// The files that work under way will touch, as far as its tasks name them or have touched them before.
    fn busy_files(&self) -> BTreeSet<&str> {
        let under_way = self.under_way.tasks.iter();
        under_way.flat_map(|&rank| self.own_files(rank)).collect()
    }

    fn meets(&self, rank: TaskIndex, busy: &BTreeSet<&str>) -> bool {
        let own = self.own_files(rank);
        own.into_iter().any(|file| busy.contains(file))
    }

    fn own_files(&self, rank: TaskIndex) -> BTreeSet<&str> {
        let named = self.planned(rank).files.iter().map(String::as_str);
        named.chain(self.touched(rank)).collect()
    }
}
