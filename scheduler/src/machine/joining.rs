//! Takes further tasks into the graph of a run that goes on.
//!
//! Tasks that are there never come to depend on new ones, so nothing that is decided changes, and no cycle can arise.

use super::{AttemptRecord, Scheduler, State, TaskIndex, count_u32};
use crate::{Dependants, Event, PlacedTask, PlannedTask, RefusalReason, TaskId};
use std::collections::BTreeSet;

impl Scheduler {
    pub(super) fn refuses_addition(&self, tasks: &[PlannedTask]) -> Option<RefusalReason> {
        if tasks.iter().any(|task| self.ranks.contains_key(&task.id)) {
            return Some(RefusalReason::Known);
        }
        let new: BTreeSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
        let (mut outside, mut by) = (BTreeSet::new(), BTreeSet::new());
        let needed = tasks.iter().flat_map(|task| &task.dependencies);
        for id in needed.filter(|id| !new.contains(id)) {
            match self.ranks.get(id).map(|&rank| &self.states[rank]) {
                None => drop(outside.insert(id.clone())),
                Some(
                    State::Failed { .. }
                    | State::Blocked { .. }
                    | State::Skipped {
                        dependants: Dependants::Blocked,
                    },
                ) => drop(by.insert(id.clone())),
                Some(_) => {}
            }
        }
        if !outside.is_empty() {
            return Some(RefusalReason::Outside(outside.into_iter().collect()));
        }
        (!by.is_empty()).then(|| RefusalReason::Blocked(by.into_iter().collect()))
    }

    /// Takes the tasks in, each after those of them that it depends on.
    pub(super) fn join(&mut self, mut tasks: Vec<PlannedTask>) {
        while !tasks.is_empty() {
            let next = tasks.iter().position(|task| {
                task.dependencies
                    .iter()
                    .all(|id| self.ranks.contains_key(id))
            });
            let task = tasks.remove(next.unwrap_or(0));
            self.join_one(task);
        }
    }

    fn join_one(&mut self, task: PlannedTask) {
        let rank = TaskIndex(self.states.len());
        let before: Vec<TaskIndex> = task
            .dependencies
            .iter()
            .filter_map(|id| self.ranks.get(id).copied())
            .collect();
        let wave = before
            .iter()
            .map(|&before| self.wave(before) + 1)
            .max()
            .unwrap_or(1);
        let placed = PlacedTask::joining(task, wave);
        let order = self.order_of(&placed);
        let (id, title, phase) = (
            placed.task.id.clone(),
            placed.task.title.clone(),
            placed.task.phase,
        );
        self.ranks.insert(id.clone(), rank);
        for &before in &before {
            self.dependants[before].push(rank);
        }
        self.states.push(State::Waiting {
            unmet: count_u32(before.len()),
        });
        self.dependencies.push(before);
        self.dependants.push(Vec::new());
        self.attempts.push(Vec::<AttemptRecord>::new());
        self.forgiven.push(0);
        self.order.push(order);
        self.plan.tasks.push(placed);
        self.unsettled += 1;
        let waves = self.unsettled_by_wave.len().max(wave as usize + 1);
        self.unsettled_by_wave.resize(waves, 0);
        self.unsettled_by_wave[wave as usize] += 1;
        self.tell(Event::TaskAdded {
            task: id,
            title,
            phase,
            wave,
        });
        self.make_ready(rank);
    }

    /// The place among ready tasks: before the first task of the plan that is less urgent.
    fn order_of(&self, placed: &PlacedTask) -> usize {
        let planned = self.plan.tasks.iter().zip(&self.order);
        let less_urgent = planned
            .filter(|(other, _)| placed.is_more_urgent_than(other))
            .map(|(_, &order)| order);
        // Planned tasks have odd numbers; the even ones between are for those that join.
        less_urgent.min().map_or(usize::MAX, |order| order & !1)
    }
}
