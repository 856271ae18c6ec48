//! The queue of proven work that lands: one lands at a time, in the order in which it was proven, and those behind it are
//! tested meanwhile on top of those before them.
//!
//! What is tested ahead decides nothing: no answer comes of it, so whatever lands, and whatever is blamed, is the same as
//! where nothing is. It only makes the results known by the time that they are asked for.

use super::{Scheduler, State, TaskIndex};
use crate::{AttemptStep, CommitId, StopMode};
use std::collections::{BTreeMap, VecDeque};

/// So many are tested at once when a run begins, the one that lands among them.
const FIRST_WINDOW: u32 = 3;

/// Proven work that is to land.
#[derive(Clone, Debug)]
pub(super) struct LandingQueue {
    /// Tasks that wait to land; the first is under way when `is_under_way`.
    waiting: VecDeque<TaskIndex>,
    is_under_way: bool,
    /// How many of them are tested at once: one more after each landing, half as many after one that was refused.
    window: u32,
    /// Those that are tested ahead, with those on top of which each is, as far as these have not landed since.
    ahead: BTreeMap<TaskIndex, Vec<TaskIndex>>,
}

impl LandingQueue {
    pub(super) const fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            is_under_way: false,
            window: FIRST_WINDOW,
            ahead: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn first(&self) -> Option<TaskIndex> {
        self.waiting.front().copied()
    }

    pub(super) const fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Whether a task is the one that lands now.
    pub(super) fn lands_now(&self, rank: TaskIndex) -> bool {
        self.is_under_way && self.first() == Some(rank)
    }

    pub(super) fn push(&mut self, rank: TaskIndex) {
        self.waiting.push_back(rank);
    }

    /// The first can't be landed now, and stays where it is.
    pub(super) const fn interrupt(&mut self) {
        self.is_under_way = false;
    }

    /// Nobody tests anything any more: the process that did is gone.
    pub(super) fn take_up(&mut self) {
        self.is_under_way = false;
        self.ahead.clear();
    }

    /// The first has landed: those behind it stand on what has landed now.
    pub(super) fn first_landed(&mut self, most: u32) {
        let first = self.waiting.pop_front();
        self.is_under_way = false;
        self.window = self.window.saturating_add(1).min(most);
        for before in self.ahead.values_mut() {
            before.retain(|other| Some(*other) != first);
        }
    }

    /// The first does not land: fewer are tested at once from here on.
    pub(super) fn first_refused(&mut self, most: u32) {
        self.is_under_way = false;
        self.window = (self.window.min(most) / 2).max(1);
        if let Some(first) = self.first() {
            self.leave(first);
        }
    }

    /// Takes a task out that does not land: what was tested on top of it says nothing.
    pub(super) fn leave(&mut self, rank: TaskIndex) {
        self.waiting.retain(|&other| other != rank);
        self.ahead.remove(&rank);
        self.ahead.retain(|_, before| !before.contains(&rank));
    }

    /// Notes those as tested ahead that are not yet, as far as the window reaches, and returns them, each with those before
    /// it. One that is tested already goes on, whoever joined behind it.
    fn test_ahead(&mut self, most: u32) -> Vec<(TaskIndex, Vec<TaskIndex>)> {
        let reach = self.waiting.len().min(self.window.min(most) as usize);
        let mut new = Vec::new();
        for position in 1..reach {
            let rank = self.waiting[position];
            let before = self.waiting.range(..position);
            if !(self.ahead.get(&rank)).is_some_and(|known| known.iter().eq(before.clone())) {
                let before: Vec<TaskIndex> = before.copied().collect();
                self.ahead.insert(rank, before.clone());
                new.push((rank, before));
            }
        }
        new
    }
}

impl Scheduler {
    pub(super) fn land_next(&mut self) {
        if self.lands_no_more() {
            return;
        }
        let Some(rank) = self.landing.first() else {
            return;
        };
        if self.parked.contains(&rank) {
            return;
        }
        if !self.landing.is_under_way {
            let commit = self.landing_commit(rank);
            self.landing.ahead.remove(&rank);
            self.ask(rank, AttemptStep::Land { commit });
            self.last_attempt(rank).landing_at = Some(self.now);
            self.landing.is_under_way = true;
        }
        for (rank, before) in self.landing.test_ahead(self.limits.most_landing_tests()) {
            let commits = before.iter().map(|&before| self.landing_commit(before));
            let step = AttemptStep::TestAhead {
                on_top_of: commits.collect(),
                commit: self.landing_commit(rank),
            };
            self.ask(rank, step);
        }
    }

    fn landing_commit(&self, rank: TaskIndex) -> CommitId {
        match &self.states[rank] {
            State::Landing { commit } => commit.clone(),
            state => unreachable!("only landing tasks queue to land, none that is {state:?}"),
        }
    }

    /// Whether what waits to land waits for the next process: an order to stop leaves it where it is, a gentle one when its
    /// grace is over.
    pub(super) fn lands_no_more(&self) -> bool {
        match self.stop_order {
            Some(StopMode::Now) => true,
            Some(StopMode::Gently) => self.lands_until.is_some_and(|until| self.now >= until),
            None => false,
        }
    }
}
