//! Takes what people ask of a run that goes on: looks whether it can be done, and does it.
//!
//! Whatever is refused is refused by `refusal`, before anything changes; what is done here can't fail.

use super::stopping::PendingStop;
use super::{Life, Scheduler, State, TaskIndex};
use crate::{
    Dependants, Event, Failure, Phase, PlacedTask, PlannedTask, Refusal, RefusalReason, Request,
    StopMode, TaskId,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is said of a task that somebody ended.
const BY_USER: &str = "stopped by the user";

impl Scheduler {
    /// Returns why a request can't be done where the run stands, `None` when it can.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        let why = self.refuses(request)?;
        let mut wanted = request.wanted();
        if let RefusalReason::NeedsItsTests(_) = why {
            wanted.push_str(" as satisfied");
        }
        Some(Refusal { wanted, why })
    }

    fn refuses(&self, request: &Request) -> Option<RefusalReason> {
        if self.life != Life::Running {
            return Some(RefusalReason::Over);
        }
        let rank = |task| self.ranks.get(task).ok_or(RefusalReason::UnknownTask);
        match request {
            Request::Pause | Request::Continue | Request::Retry(_) | Request::Add(_)
                if self.stop_reason.is_some() =>
            {
                Some(RefusalReason::Stopping)
            }
            Request::Pause if self.is_paused => Some(RefusalReason::NothingToDo("paused already")),
            Request::Continue if !self.is_paused => Some(RefusalReason::NothingToDo("not paused")),
            Request::Pause | Request::Continue => None,
            Request::Add(tasks) => self.refuses_addition(tasks),
            Request::StopTask { task, .. } => {
                rank(task).map_or_else(Some, |&rank| self.refuses_stop(rank))
            }
            Request::Retry(task) => rank(task).map_or_else(Some, |&rank| self.refuses_retry(rank)),
            Request::Skip { task, dependants } => {
                rank(task).map_or_else(Some, |&rank| self.refuses_skip(rank, *dependants))
            }
        }
    }

    fn refuses_stop(&self, rank: TaskIndex) -> Option<RefusalReason> {
        let state = &self.states[rank];
        (state.is_settled()).then(|| RefusalReason::Stands(state.as_str()))
    }

    fn refuses_retry(&self, rank: TaskIndex) -> Option<RefusalReason> {
        match &self.states[rank] {
            State::Skipped {
                dependants: Dependants::Released,
            } => Some(RefusalReason::Released),
            State::Failed { .. } | State::Skipped { .. } | State::Blocked { .. } => {
                let lost_red = self.lost_red(rank);
                let mut by = self.blockers(lost_red.unwrap_or(rank));
                if let Some(red) = lost_red {
                    by.extend(self.blockers(rank));
                    by.remove(&self.planned(red).id);
                }
                (!by.is_empty()).then(|| RefusalReason::Blocked(by.into_iter().collect()))
            }
            State::Paused { .. }
            | State::Preparing
            | State::Running
            | State::Proving
            | State::Committing
            | State::Refactoring { .. } => None,
            state @ (State::Waiting { .. }
            | State::Ready
            | State::Landing { .. }
            | State::Held { .. }
            | State::Landed { .. }) => Some(RefusalReason::Stands(state.as_str())),
        }
    }

    fn refuses_skip(&self, rank: TaskIndex, dependants: Dependants) -> Option<RefusalReason> {
        if dependants == Dependants::Released
            && self.phase(rank) == Phase::Red
            && let Some(green) = self.pair(rank)
        {
            return Some(RefusalReason::NeedsItsTests(self.id(green)));
        }
        let state = &self.states[rank];
        let can_be = match state {
            State::Failed { .. }
            | State::Skipped {
                dependants: Dependants::Blocked,
            } => dependants == Dependants::Released,
            State::Blocked { .. } => true,
            state => !state.is_settled(),
        };
        (!can_be).then(|| RefusalReason::Stands(state.as_str()))
    }

    /// Does what was asked, which `refusal` has let pass.
    pub(super) fn request(&mut self, request: Request) {
        match request {
            Request::Pause => {
                self.is_paused = true;
                self.tell(Event::RunPaused { why: None });
            }
            Request::Continue => self.go_on(),
            Request::StopTask { task, order } => {
                for rank in self.with_unsettled_red(self.ranks[&task]) {
                    self.stop_task(rank, order);
                }
            }
            Request::Retry(task) => {
                self.forgive_agents();
                self.retry(self.ranks[&task]);
            }
            Request::Skip { task, dependants } => {
                let rank = self.ranks[&task];
                for part in self.with_unsettled_red(rank) {
                    let is_red = part != rank;
                    self.leave_out(
                        part,
                        if is_red {
                            Dependants::Blocked
                        } else {
                            dependants
                        },
                    );
                }
            }
            Request::Add(tasks) => self.join(tasks),
        }
    }

    pub(super) fn go_on(&mut self) {
        self.is_paused = false;
        self.reset_breaker();
        self.tell(Event::RunContinued);
    }

    /// The task, and its RED when it is a GREEN whose RED is not settled.
    fn with_unsettled_red(&self, rank: TaskIndex) -> Vec<TaskIndex> {
        let is_unsettled = |red: &TaskIndex| !self.states[*red].is_settled();
        let red = self.red_of(rank).filter(is_unsettled);
        [rank].into_iter().chain(red).collect()
    }

    /// The RED of a GREEN that can't be begun without doing it again.
    fn lost_red(&self, rank: TaskIndex) -> Option<TaskIndex> {
        self.red_of(rank).filter(|&red| self.states[red].is_lost())
    }

    fn stop_task(&mut self, rank: TaskIndex, order: StopMode) {
        if !self.stop_or_wait(rank, PendingStop::Stopped, order) {
            self.give_up(rank, Failure::Stopped, BY_USER.to_owned());
        }
    }

    /// Ends the attempt of a task as soon as the step under way lets it; false when there is none.
    fn stop_or_wait(&mut self, rank: TaskIndex, pending: PendingStop, order: StopMode) -> bool {
        let state = &self.states[rank];
        let is_under_way = state.is_under_way();
        if state.is_landing() && !self.landing.lands_now(rank) {
            self.landing.leave(rank);
            self.end_stopped(rank, pending, None);
        } else if is_under_way {
            self.stop_when_answered(rank, pending, order);
        }
        is_under_way
    }

    fn retry(&mut self, rank: TaskIndex) {
        if matches!(self.states[rank], State::Paused { .. }) {
            self.make_ready(rank);
        } else if self.states[rank].is_settled() {
            if let Some(red) = self.lost_red(rank) {
                self.reopen(red);
            }
            if self.states[rank].is_lost() {
                self.reopen(rank);
            }
        } else {
            self.stop_when_answered(rank, PendingStop::Again, StopMode::Now);
        }
    }

    /// Takes a task that was given up or left out in again, and unblocks what waited for it.
    fn reopen(&mut self, rank: TaskIndex) {
        self.forgiven[rank] = self.attempts[rank].len();
        self.make_ready(rank);
        self.tell(Event::TaskReopened {
            task: self.id(rank),
        });
        self.review_dependants(rank);
    }

    fn leave_out(&mut self, rank: TaskIndex, dependants: Dependants) {
        if !self.stop_or_wait(rank, PendingStop::Skipped(dependants), StopMode::Now) {
            self.skip(rank, dependants);
        }
    }

    pub(super) fn skip(&mut self, rank: TaskIndex, dependants: Dependants) {
        self.set_state(rank, State::Skipped { dependants });
        self.tell(Event::TaskSkipped {
            task: self.id(rank),
            dependants,
        });
        self.restore_status(rank);
        self.review_dependants(rank);
    }

    /// What keeps a task from ever being started: tasks that failed or were left out, directly or further back.
    fn blockers(&self, rank: TaskIndex) -> BTreeSet<TaskId> {
        let mut by = BTreeSet::new();
        let dependencies = self.dependencies[rank].iter();
        for &before in dependencies.filter(|&&before| !self.satisfies(before, rank)) {
            match &self.states[before] {
                State::Blocked { by: further } => by.extend(further.iter().cloned()),
                state if state.is_lost() => by.extend([self.id(before)]),
                _ => {}
            }
        }
        by
    }

    /// Looks again at everything that comes after the task and has not been started, in the order of the waves.
    fn review_dependants(&mut self, rank: TaskIndex) {
        let mut stack = vec![rank];
        let mut not_started = BTreeSet::new();
        while let Some(before) = stack.pop() {
            for &after in &self.dependants[before] {
                let state = &self.states[after];
                let is_not_started = state.is_unstarted() || matches!(state, State::Blocked { .. });
                if is_not_started && not_started.insert((self.wave(after), after)) {
                    stack.push(after);
                }
            }
        }
        for (_, after) in not_started {
            self.review(after);
        }
    }

    fn review(&mut self, rank: TaskIndex) {
        let by = self.blockers(rank);
        match (by.is_empty(), &self.states[rank]) {
            (true, State::Blocked { .. }) => {
                self.make_ready(rank);
                self.tell(Event::TaskUnblocked {
                    task: self.id(rank),
                });
            }
            (true, State::Waiting { .. }) => self.make_ready(rank),
            (true, _) => {}
            (false, State::Blocked { by: before }) if *before == by => {}
            (false, _) => self.block(rank, by),
        }
    }
}

/// Takes further tasks into the graph. Tasks that are there never come to depend on new ones, so nothing that is decided
/// changes, and no cycle can arise.
impl Scheduler {
    fn refuses_addition(&self, tasks: &[PlannedTask]) -> Option<RefusalReason> {
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
    fn join(&mut self, mut tasks: Vec<PlannedTask>) {
        while !tasks.is_empty() {
            let is_known = |id: &TaskId| self.ranks.contains_key(id);
            let next = tasks
                .iter()
                .position(|task| task.dependencies.iter().all(is_known));
            let task = tasks.remove(next.unwrap_or(0));
            self.join_one(task);
        }
    }

    fn join_one(&mut self, task: PlannedTask) {
        let rank = TaskIndex(self.states.len());
        let before = task.dependencies.iter().filter_map(|id| self.ranks.get(id));
        let wave = before.map(|&before| self.wave(before) + 1).max();
        let expected_ms = self.plan.expected_of_joining(&task);
        let placed = PlacedTask::joining(task, wave.unwrap_or(1), expected_ms);
        self.order.push(self.order_of(&placed));
        self.dependants.push(Vec::new());
        self.attempts.push(Vec::new());
        self.forgiven.push(0);
        Arc::make_mut(&mut self.plan).tasks.push(placed);
        self.count_in(rank);
        let PlannedTask {
            id, title, phase, ..
        } = self.planned(rank).clone();
        // Known from here on, so that one that names itself waits for nothing.
        self.ranks.insert(id.clone(), rank);
        self.tell(Event::TaskAdded {
            task: id,
            title: title.to_string(),
            phase,
            wave: self.wave(rank),
        });
        self.make_ready(rank);
    }

    /// The place among ready tasks: before the first task of the plan that is less urgent.
    fn order_of(&self, placed: &PlacedTask) -> usize {
        let less_urgent = self
            .plan
            .tasks
            .iter()
            .zip(&self.order)
            .filter(|(other, _)| placed.is_more_urgent_than(other));
        // Planned tasks have odd numbers; the even ones between are for those that join.
        less_urgent
            .map(|(_, &order)| order & !1)
            .min()
            .unwrap_or(usize::MAX)
    }
}
