//! Counts what agents and tests take up, and has starts wait where finished work piles up.
//!
//! Agents have slots. Work whose agent is gone waits for its proof in no slot: how many set-ups and tests run at the same
//! time, and who is next, is the business of whoever runs them.

use super::{Scheduler, State, TaskIndex, count_u32};
use crate::{Edition, Event, Phase, Refactor};
use std::num::NonZeroU32;

impl Scheduler {
    /// Returns how many attempts hold a slot: those that have an agent, or are about to.
    pub const fn slots_in_use(&self) -> u32 {
        self.slots_in_use
    }

    /// Whether an attempt that stands there keeps others from starting. When its agent is gone it does not, unless a further
    /// agent is to improve its work.
    fn holds_slot(&self, rank: TaskIndex, state: &State) -> bool {
        let is_kept = || {
            let is_improved = self.limits.refactor == Refactor::On;
            self.limits.edition < Edition::Fourth || is_improved && self.phase(rank) == Phase::Green
        };
        state.has_worktree() && (!state.is_being_proven() || is_kept())
    }

    /// Counts what the state of a task takes up, which was another one before.
    pub(super) fn count_slot(&mut self, rank: TaskIndex, old: &State) {
        let new = &self.states[rank];
        self.under_way.count(rank, new);
        let (held, holds) = (self.holds_slot(rank, old), self.holds_slot(rank, new));
        let (was_proven, is_proven) = (old.is_being_proven(), new.is_being_proven());
        self.slots_in_use = self.slots_in_use + u32::from(holds) - u32::from(held);
        self.being_proven = self.being_proven + u32::from(is_proven) - u32::from(was_proven);
    }

    /// Counts the slots by the limits that are in force now.
    pub(super) fn count_slots_anew(&mut self) {
        let holds = |&rank: &TaskIndex| self.holds_slot(rank, &self.states[rank]);
        self.slots_in_use = count_u32(self.indices().filter(holds).count());
    }

    /// Whether nothing is started until finished work has been proven and has landed. A single slot waits for all of it: what
    /// is prepared before starts from an old base, and would conflict with the work of its own run. With more slots others
    /// work on old bases anyway; they wait where so much waits for its proof or to land, until half of it has. All that is
    /// ready waits, though none of it depends on what has not landed: that is what would start from an old base, and each
    /// attempt has a worktree. It costs no time, since proofs and landings get behind only where a round of all slots takes
    /// less time than as many of them, and so many are left when starts go on.
    pub(super) fn is_landing_waited_for(&mut self) -> bool {
        let queued = self.queued();
        if self.limits.slots == NonZeroU32::MIN && !self.is_of_first_edition() {
            return queued > 0;
        }
        let most = self.limits.most_to_land.unwrap_or(u32::MAX);
        match self.is_landing_behind {
            false if queued >= most && !self.ready.is_empty() && !self.starts_nothing() => {
                self.is_landing_behind = true;
                self.tell(Event::LandingBehind { queued });
            }
            true if queued <= most / 2 => {
                self.is_landing_behind = false;
                self.tell(Event::LandingCaughtUp);
            }
            false | true => {}
        }
        self.is_landing_behind
    }

    /// How much finished work waits for its proof or to land; in a single slot what is being proven counts as well.
    fn queued(&self) -> u32 {
        let landing = count_u32(self.landing.len());
        let at_once = match self.limits.slots {
            _ if self.limits.edition < Edition::Fourth => return landing,
            NonZeroU32::MIN => 0,
            _ => self.limits.tests_at_once.get(),
        };
        landing + self.being_proven.saturating_sub(at_once)
    }

    /// Returns how much finished work waits for its proof or to land, where nothing is started because of that.
    pub fn landing_behind(&self) -> Option<u32> {
        self.is_landing_behind.then(|| self.queued())
    }
}
