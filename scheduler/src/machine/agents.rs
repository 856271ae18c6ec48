//! Chooses who works: one wall per account, credentials that were refused, the budget of each task.
//!
//! A wall stands while the service behind an account refuses for now. Nobody who shares the account starts then, and
//! attempts that ran into it are not charged.

use super::{Scheduler, State, TaskIndex};
use crate::budget::{LONGEST_DECLARED_MS, Spent, declared_reset};
use crate::{
    AccountName, AgentCandidate, AgentName, AgentReport, AgentVerdict, Edition, Event, Failure,
    Keep, Overlap, Policy, StopReason, TaskId, Timestamp, judge_agent,
};
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// A declared reset that is so much later than the one before is told again.
const TOLD_AGAIN_AFTER_MS: u64 = 5_000;

/// The longest pause where a service declares nothing. Since attempts are bounded, their pauses together have to reach
/// further than limits of services do, some of which last for hours.
const LONGEST_PAUSE_MS: u64 = 2 * 3_600_000;

/// An agent that ends well so long after the service refused another was answered after that: what it says last comes from
/// the service.
const ANSWERED_AFTER_MS: u64 = 10_000;

/// So much is too much of a task for a model.
const MOST_OVERTAXED: u32 = 2;

/// Where a ready task stands among the others: wave under a barrier, order, rank.
pub(super) type ReadyKey = (u32, usize, TaskIndex);

/// A limit of the service behind an account.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Cooldown {
    /// The agent that ran into it first.
    pub agent: AgentName,
    /// When the service may be asked again.
    pub until: Timestamp,
    /// When the service refused last.
    pub refused_at: Timestamp,
}

/// Why a ready task has no agent now.
enum Barred {
    /// Behind a wall, for now.
    CoolingDown,
    /// All who may do it were refused.
    Refused,
}

impl Scheduler {
    /// Returns the walls that stand, by account.
    pub fn cooldowns(&self) -> impl Iterator<Item = (&AccountName, &Cooldown)> {
        self.cooldowns.iter()
    }

    /// Starts ready tasks in their order, each with the first of its agents that may be asked now.
    pub(super) fn fill_slots(&mut self) {
        self.under_way.kept_until = None;
        if self.is_landing_waited_for() {
            return;
        }
        if self.limits.overlap == Overlap::Avoid {
            self.fill_slots_beside(Some(&self.hot_files()));
        }
        self.fill_slots_beside(None);
    }

    /// Given the files that most tasks touch, starts only what will touch no file that work under way will touch.
    fn fill_slots_beside(&mut self, hot: Option<&BTreeSet<String>>) {
        let mut position = None;
        while self.stop_reason.is_none()
            && !self.is_paused
            && self.slots_in_use < self.limits.slots.get()
        {
            let Some(key) = self.candidate_after(position) else {
                return;
            };
            if self.is_slot_kept(key) {
                return;
            }
            // What touches no file of others at all is looked for first then.
            let chosen = if hot.is_some() {
                key
            } else {
                self.with_least_overlap(key)
            };
            if chosen == key {
                position = Some(key);
            }
            let rank = chosen.2;
            if self.is_over_budget(rank) {
                self.tell_over_budget(rank);
                continue;
            }
            let overlaps = hot.is_some_and(|hot| self.overlaps_work(rank, hot));
            if overlaps || self.is_held_back(rank) {
                continue;
            }
            match self.free_agent(rank) {
                Ok(agent) => self.start_attempt(rank, agent),
                Err(Barred::CoolingDown) => {}
                Err(Barred::Refused) => {
                    let reason = "the credentials of its agent were refused".to_owned();
                    self.give_up(rank, Failure::Auth, reason);
                }
            }
        }
    }

    /// The first ready task after another one whose wave is open.
    fn candidate_after(&self, position: Option<ReadyKey>) -> Option<ReadyKey> {
        let after = position.map_or(Unbounded, Excluded);
        let key = *self.ready.range((after, Unbounded)).next()?;
        self.is_wave_open(key.2).then_some(key)
    }

    /// Whether a ready task would be started now, were there a slot for it.
    pub(super) fn is_startable(&self, rank: TaskIndex) -> bool {
        self.states[rank] == State::Ready && self.is_wave_open(rank) && self.may_be_started(rank)
    }

    /// Whether nothing but what it depends on keeps a task from being started.
    pub(super) fn may_be_started(&self, rank: TaskIndex) -> bool {
        !self.is_over_budget(rank) && self.free_agent(rank).is_ok()
    }

    fn free_agent(&self, rank: TaskIndex) -> Result<AgentName, Barred> {
        let mut accepted = self.accepted(rank).peekable();
        if accepted.peek().is_none() && !self.waits_for_trial(rank) {
            return Err(Barred::Refused);
        }
        accepted
            .filter(|(_, candidate)| self.may_ask(rank, &candidate.account))
            .min_by_key(|(overtaxed, _)| *overtaxed)
            .map(|(_, candidate)| candidate.agent.clone())
            .ok_or(Barred::CoolingDown)
    }

    /// Those who may do a task, in their order, each with how much of it was too much for its model: one that refused the
    /// task is not asked for it again, one that could not hold it once more, with a shorter prompt.
    pub(super) fn accepted(&self, rank: TaskIndex) -> impl Iterator<Item = (u32, &AgentCandidate)> {
        let overtaxed = move |candidate: &AgentCandidate| {
            let own = self.unforgiven(rank).iter();
            own.filter(|record| record.agent == candidate.agent)
                .map(|record| match record.failure() {
                    Some(Failure::RefusedByModel) => MOST_OVERTAXED,
                    Some(Failure::ContextTooLong) => 1,
                    Some(_) | None => 0,
                })
                .sum::<u32>()
        };
        let candidates = self.limits.agents.candidates(self.phase(rank)).iter();
        candidates
            .filter(move |AgentCandidate { account, .. }| {
                !self.refused.contains(account) && !self.has_refused(account, rank)
            })
            .map(move |candidate| (overtaxed(candidate), candidate))
            .filter(|(overtaxed, _)| *overtaxed < MOST_OVERTAXED)
    }

    /// Whether anybody may do a task, perhaps later.
    pub(super) fn has_agent(&self, rank: TaskIndex) -> bool {
        self.accepted(rank).next().is_some()
    }

    /// Whether somebody may do a task for whose model it was not too much yet.
    pub(super) fn has_another_agent(&self, rank: TaskIndex) -> bool {
        self.accepted(rank).any(|(overtaxed, _)| overtaxed == 0)
    }

    /// Gives the attempt that is about to start its agent, who may be another one than when its worktree was asked for.
    /// Where nobody may be asked by now, the attempt is taken back as if it had never been.
    pub(super) fn assign_agent(&mut self, rank: TaskIndex) -> Option<AgentName> {
        if let Ok(agent) = self.free_agent(rank) {
            self.last_attempt(rank).agent = agent.clone();
            self.take_trial(rank);
            return Some(agent);
        }
        self.release(rank, Keep::Nothing);
        self.attempts[rank].pop();
        self.make_ready(rank);
        None
    }

    /// Whether the agent of the attempt under way may be asked for more now.
    pub(super) fn may_ask_again(&self, rank: TaskIndex) -> bool {
        self.candidate_of(rank)
            .is_none_or(|AgentCandidate { account, .. }| {
                !self.cooldowns.contains_key(account)
                    && !self.refused.contains(account)
                    && !self.trials.contains_key(account)
            })
    }

    pub(super) fn candidate_of(&self, rank: TaskIndex) -> Option<&AgentCandidate> {
        let agent = &self.last(rank)?.agent;
        self.limits.agents.candidate(self.phase(rank), agent)
    }

    /// Notes that the service behind the agent of the attempt under way refused for now.
    pub(super) fn start_cooldown(&mut self, rank: TaskIndex, declared: Option<Timestamp>) {
        let Some(AgentCandidate { agent, account, .. }) = self.candidate_of(rank).cloned() else {
            return;
        };
        let (longest, longest_pause) = match self.limits.edition {
            Edition::First => (u64::MAX, Policy::LONGEST_PAUSE_MS),
            Edition::Second
            | Edition::Third
            | Edition::Fourth
            | Edition::Fifth
            | Edition::Sixth => (LONGEST_DECLARED_MS, LONGEST_PAUSE_MS),
        };
        let declared = declared_reset(self.now, declared, longest);
        let refused_at = self.now;
        if self.cooldowns.contains_key(&account) && self.is_trial(rank, &account) {
            self.growing_pause(rank, &account, longest_pause);
        }
        let is_news = if let Some(cooldown) = self.cooldowns.get_mut(&account) {
            // Others ran into the same wall before it was seen.
            let before = cooldown.until;
            cooldown.until = before.max(declared.unwrap_or(before));
            cooldown.refused_at = refused_at;
            cooldown.until.since(before) >= TOLD_AGAIN_AFTER_MS
        } else {
            let pause = self.growing_pause(rank, &account, longest_pause);
            let cooldown = Cooldown {
                agent: agent.clone(),
                until: declared.unwrap_or_else(|| refused_at.plus(pause)),
                refused_at,
            };
            self.cooldowns.insert(account.clone(), cooldown);
            true
        };
        self.try_limit(rank, &account, declared);
        if is_news {
            self.tell_cooldown(agent, account, declared.is_some());
        }
    }

    /// Counts a refusal, and returns how long to wait after so many in a row where the service declares nothing.
    fn growing_pause(&mut self, rank: TaskIndex, account: &AccountName, longest_ms: u64) -> u64 {
        let refusals = self.refusals_in_a_row.entry(account.clone()).or_insert(0);
        *refusals += 1;
        let pause = Failure::RateLimited
            .policy()
            .pause_ms(*refusals, longest_ms);
        let (task, attempt) = self.step(rank);
        pause + self.limits.agents.jitter_ms(pause, &task, attempt)
    }

    fn tell_cooldown(&mut self, agent: AgentName, account: AccountName, declared: bool) {
        let until = self.cooldowns[&account].until;
        self.tell(Event::AgentLimited {
            agent,
            account,
            until,
            declared,
        });
    }

    /// Takes down the walls whose time is over.
    pub(super) fn end_cooldowns(&mut self) {
        let now = self.now;
        let over = self
            .cooldowns
            .extract_if(.., |_, cooldown| cooldown.until <= now);
        let over: Vec<AccountName> = over.map(|(account, _)| account).collect();
        for account in over {
            self.forget_limit(&account);
            self.tell(Event::AgentAvailable { account });
        }
    }

    /// Notes that the service behind the agent of the attempt under way answered: the next wall is a new one, and a wall
    /// that it passes is none. Credentials that were refused to another task alone are as good as those of this one.
    pub(super) fn heard_from_service(&mut self, rank: TaskIndex, report: &AgentReport) {
        let Some(AgentCandidate { account, .. }) = self.candidate_of(rank).cloned() else {
            return;
        };
        let limited_at = (self.cooldowns.get(&account)).map(|cooldown| cooldown.refused_at);
        if limited_at.is_none() {
            self.refusals_in_a_row.remove(&account);
        }
        let Some(said_at) = limited_at.max(self.doubted_by_another(rank, &account)) else {
            return;
        };
        let is_passed = self.now.since(said_at) >= ANSWERED_AFTER_MS && report.refusal.is_none();
        if is_passed && !self.is_of_first_edition() {
            self.cooldowns.remove(&account);
            self.forget_words_of_others(rank, &account);
            self.tell(Event::AgentAvailable { account });
        }
    }

    /// Notes what the service behind the agent of the attempt under way refused, where nothing else follows from it.
    pub(super) fn note_refusal(&mut self, rank: TaskIndex, report: &AgentReport) {
        let verdict = judge_agent(report);
        self.end_trial(rank, &verdict);
        match verdict {
            AgentVerdict::Failed {
                failure: Failure::RateLimited,
                not_before,
                ..
            } => self.start_cooldown(rank, not_before),
            AgentVerdict::Failed {
                failure: Failure::Auth,
                ..
            } => self.refuse_agent(rank),
            AgentVerdict::WorthProving if !self.is_of_first_edition() => {
                self.heard_from_service(rank, report);
            }
            AgentVerdict::Failed { .. }
            | AgentVerdict::WorthProving
            | AgentVerdict::Interrupted => {}
        }
    }

    /// Forgets who was refused: somebody wants a task tried again.
    pub(super) fn forgive_agents(&mut self) {
        self.refused.clear();
        self.forget_refused_credentials();
    }

    /// Forgets who was refused, since that may have been put right, and tells of the walls that still stand.
    pub(super) fn review_agents(&mut self) {
        self.forgive_agents();
        self.told_over_budget.clear();
        if !self.is_of_first_edition() {
            for cooldown in self.cooldowns.values_mut() {
                // Raised by an earlier version, it may be longer than any is now.
                let longest = cooldown.refused_at.plus(LONGEST_DECLARED_MS);
                cooldown.until = cooldown.until.min(longest);
            }
        }
        for (account, Cooldown { agent, .. }) in self.cooldowns.clone() {
            self.tell_cooldown(agent, account, false);
        }
    }

    pub(super) fn is_over_budget(&self, rank: TaskIndex) -> bool {
        let mut spent = Spent::default();
        for record in &self.attempts[rank] {
            spent.add(record.spent());
        }
        let limits = &self.limits;
        spent.uses_up(limits.max_tokens_per_task, limits.max_cost_usd_per_task)
    }

    fn tell_over_budget(&mut self, rank: TaskIndex) {
        if self.told_over_budget.insert(rank) {
            self.tell(Event::TaskOverBudget {
                task: self.id(rank),
            });
        }
    }

    /// Stops a run in which nothing is left to wait for: what could start has spent its budget.
    pub(super) fn stop_when_spent(&mut self) {
        let is_idle = self.slots_in_use + self.being_proven == 0
            && self.landing.is_empty()
            && self.paused.is_empty();
        if !is_idle || self.starts_nothing() {
            return;
        }
        let first = self.candidate_after(None);
        let mut candidates = std::iter::successors(first, |&key| self.candidate_after(Some(key)));
        if first.is_some() && candidates.all(|(_, _, rank)| self.is_over_budget(rank)) {
            self.stop_because(StopReason::Budget);
        }
    }

    /// Returns the tasks that wait behind walls now.
    pub fn cooling_tasks(&self) -> Vec<TaskId> {
        let is_cooling = |&rank: &TaskIndex| {
            self.states[rank] == State::Ready
                && matches!(self.free_agent(rank), Err(Barred::CoolingDown))
        };
        self.indices()
            .filter(is_cooling)
            .map(|rank| self.id(rank))
            .collect()
    }
}
