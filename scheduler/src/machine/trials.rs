//! Tries what one task's agent alone has said of its account, before everybody who shares the account is held up by it.
//!
//! Whatever an agent runs may print what its service would say. So refused credentials, and a limit that is declared for
//! long, count for the task that heard of them, and others go on one at a time: the first of them is the trial. Refused in
//! the same way, it shows that the account is at fault; with any other end it shows that the first task was.

use super::{Cooldown, Scheduler, State, TaskIndex};
use crate::{AccountName, AgentCandidate, AgentVerdict, Edition, Event, Failure, Timestamp};

/// A declared limit up to so long is believed as it is.
const BELIEVED_MS: u64 = 15 * 60_000;
/// The first trial of a longer one comes so long after it was declared, the next ones after twice the time each.
const TRIED_AFTER_MS: u64 = 5 * 60_000;

/// What an agent has said of its account.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Claim {
    Limit,
    Credentials,
}

/// What one task's agent has said of its account, and who tries whether it is so.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Trial {
    claim: Claim,
    /// The task whose agent said so last, and when.
    by: TaskIndex,
    said_at: Timestamp,
    /// When another task may try.
    from: Timestamp,
    /// The task that was started last to try.
    taken_by: Option<TaskIndex>,
}

impl Scheduler {
    fn tries_accounts(&self) -> bool {
        self.limits.edition >= Edition::Sixth
    }

    /// Whether an agent of an account may be started for a task now.
    pub(super) fn may_ask(&self, rank: TaskIndex, account: &AccountName) -> bool {
        let Some(trial) = self.trials.get(account) else {
            return !self.cooldowns.contains_key(account);
        };
        let is_taken = trial
            .taken_by
            .is_some_and(|other| other != rank && self.is_tried_by(other, account));
        trial.by != rank && trial.from <= self.now && !is_taken
    }

    fn is_tried_by(&self, rank: TaskIndex, account: &AccountName) -> bool {
        matches!(self.states[rank], State::Preparing | State::Running)
            && (self.candidate_of(rank)).is_some_and(|candidate| candidate.account == *account)
    }

    /// Whether a task's own agent had its credentials refused, and nobody has shown yet whether that is so.
    pub(super) fn has_refused(&self, account: &AccountName, rank: TaskIndex) -> bool {
        let trial = self.trials.get(account);
        trial.is_some_and(|trial| trial.claim == Claim::Credentials && trial.by == rank)
    }

    /// Whether it is still to be shown whether the credentials of one of a task's agents are refused.
    pub(super) fn waits_for_trial(&self, rank: TaskIndex) -> bool {
        let candidates = self.limits.agents.candidates(self.phase(rank)).iter();
        candidates
            .map(|candidate| &candidate.account)
            .any(|account| self.has_refused(account, rank))
    }

    /// Notes whose attempt is the trial of its account, where that is tried.
    pub(super) fn take_trial(&mut self, rank: TaskIndex) {
        let account = self.candidate_of(rank).map(|agent| agent.account.clone());
        if let Some(trial) = account.and_then(|account| self.trials.get_mut(&account)) {
            trial.taken_by = Some(rank);
        }
    }

    /// Notes that the credentials of the agent of the attempt under way were refused.
    pub(super) fn refuse_agent(&mut self, rank: TaskIndex) {
        let Some(candidate) = self.candidate_of(rank).cloned() else {
            return;
        };
        let account = candidate.account.clone();
        let is_news = if self.tries_accounts() {
            self.doubt_credentials(rank, &account)
        } else {
            self.refused.insert(account)
        };
        if is_news {
            self.tell(Event::AgentRefused {
                agent: candidate.agent,
                account: candidate.account,
                what_to_do: candidate.if_refused,
            });
        }
    }

    /// Has the credentials that a task had refused tried; those that another one had refused before are. Tells whether
    /// people have not heard of it.
    fn doubt_credentials(&mut self, rank: TaskIndex, account: &AccountName) -> bool {
        match self.trials.get(account) {
            _ if self.refused.contains(account) => false,
            Some(trial) if trial.claim == Claim::Credentials => {
                if trial.by != rank {
                    self.trials.remove(account);
                    self.refused.insert(account.clone());
                }
                false
            }
            Some(_) | None => {
                let from = self.credentials_tried_from(account);
                self.begin_trial(account, Claim::Credentials, rank, from);
                true
            }
        }
    }

    /// When refused credentials are tried: behind a limit once it is over, but no later than a limit is tried itself, so
    /// that one word does not make another last.
    fn credentials_tried_from(&self, account: &AccountName) -> Timestamp {
        let wall = self.cooldowns.get(account).map(|wall| wall.until);
        wall.map_or(self.now, |wall| wall.min(self.now.plus(TRIED_AFTER_MS)))
    }

    fn begin_trial(&mut self, account: &AccountName, claim: Claim, by: TaskIndex, from: Timestamp) {
        let trial = Trial {
            claim,
            by,
            said_at: self.now,
            from,
            taken_by: None,
        };
        self.trials.insert(account.clone(), trial);
    }

    /// Whether the attempt under way tries its account.
    pub(super) fn is_trial(&self, rank: TaskIndex, account: &AccountName) -> bool {
        let trial = self.trials.get(account);
        trial.is_some_and(|trial| trial.taken_by == Some(rank))
    }

    /// Has a limit tried that a task's agent has run into, where it was declared for long. What is tried already by others
    /// stays so.
    pub(super) fn try_limit(
        &mut self,
        rank: TaskIndex,
        account: &AccountName,
        declared: Option<Timestamp>,
    ) {
        let was_tried = self.is_trial(rank, account);
        if !self.tries_accounts() {
            return;
        }
        let credentials_from = self.credentials_tried_from(account);
        if let Some(trial) = self.trials.get_mut(account).filter(|_| !was_tried) {
            match trial.claim {
                Claim::Limit => {}
                Claim::Credentials => trial.from = credentials_from,
            }
            return;
        }
        self.trials.remove(account);
        let stands_until = was_tried.then(|| self.cooldowns[account].until);
        if (declared.max(stands_until)).is_some_and(|until| until.since(self.now) > BELIEVED_MS) {
            let refusals = self.refusals_in_a_row.get(account).copied().unwrap_or(1);
            let pause = TRIED_AFTER_MS.saturating_mul(2_u64.saturating_pow(refusals - 1));
            self.begin_trial(account, Claim::Limit, rank, self.now.plus(pause));
        }
    }

    /// Ends the trial that the attempt under way is, where its service has answered it. Any other end leaves it to the next.
    pub(super) fn end_trial(&mut self, rank: TaskIndex, verdict: &AgentVerdict) {
        let Some(AgentCandidate { account, .. }) = self.candidate_of(rank).cloned() else {
            return;
        };
        let is_passed = match verdict {
            AgentVerdict::WorthProving => true,
            // The end of an agent that tm lost says nothing of its service.
            AgentVerdict::Interrupted => false,
            AgentVerdict::Failed { failure, .. } => shows_an_answer(*failure),
        };
        if is_passed && self.is_trial(rank, &account) {
            self.trials.remove(&account);
            self.cooldowns.remove(&account);
            self.refusals_in_a_row.remove(&account);
            self.tell(Event::AgentAvailable { account });
        }
    }

    /// Believes a task that had its credentials refused where no other task is there to try them, and tells whether there
    /// was one.
    pub(super) fn believe_what_nobody_can_try(&mut self) -> bool {
        if self.starts_nothing() {
            return false;
        }
        let is_untried = |(account, trial): &(&AccountName, &Trial)| {
            trial.claim == Claim::Credentials
                && self.states[trial.by] == State::Ready
                && !self
                    .indices()
                    .any(|rank| rank != trial.by && self.may_try(rank, account))
        };
        let untried = self.trials.iter().filter(is_untried);
        let untried: Vec<AccountName> = untried.map(|(account, _)| account.clone()).collect();
        for account in &untried {
            self.trials.remove(account);
            self.refused.insert(account.clone());
        }
        !untried.is_empty()
    }

    /// Whether a task may try an account yet, or whether others that may can be ready once it has ended.
    fn may_try(&self, rank: TaskIndex, account: &AccountName) -> bool {
        match &self.states[rank] {
            State::Ready | State::Paused { .. } => {
                self.is_wave_open(rank)
                    && !self.is_over_budget(rank)
                    && (self.accepted(rank)).any(|(_, agent)| agent.account == *account)
            }
            state => state.is_under_way() && !self.parked.contains(&rank),
        }
    }

    /// Forgets whose credentials were refused: that may have been put right. A long limit beside it is tried still.
    pub(super) fn forget_refused_credentials(&mut self) {
        let cooldowns = &self.cooldowns;
        self.trials.retain(|account, trial| {
            let wall = cooldowns.get(account);
            let is_long = |wall: &Cooldown| wall.until.since(wall.refused_at) > BELIEVED_MS;
            let is_limit = trial.claim == Claim::Limit || wall.is_some_and(is_long);
            trial.claim = Claim::Limit;
            is_limit
        });
    }

    /// Forgets that a limit is tried, since it is over.
    pub(super) fn forget_limit(&mut self, account: &AccountName) {
        let is_limit = |trial: &Trial| trial.claim == Claim::Limit;
        if self.trials.get(account).is_some_and(is_limit) {
            self.trials.remove(account);
        }
    }

    /// When the credentials of an account were refused to another task alone.
    pub(super) fn doubted_by_another(
        &self,
        rank: TaskIndex,
        account: &AccountName,
    ) -> Option<Timestamp> {
        let trial = self.trials.get(account)?;
        let is_doubted = trial.claim == Claim::Credentials && trial.by != rank;
        is_doubted.then_some(trial.said_at)
    }

    /// Forgets what others have said of an account whose service has answered a task after that.
    pub(super) fn forget_words_of_others(&mut self, rank: TaskIndex, account: &AccountName) {
        self.forget_limit(account);
        if self.doubted_by_another(rank, account).is_some() {
            self.trials.remove(account);
        }
    }

    /// The moments to come at which accounts are tried.
    pub(super) fn trials_to_come(&self) -> impl Iterator<Item = Timestamp> {
        let moments = self.trials.values().map(|trial| trial.from);
        moments.filter(|&from| from > self.now)
    }
}

/// Whether an agent that failed so was answered by its service, and not by a refusal that may be everybody's.
const fn shows_an_answer(failure: Failure) -> bool {
    match failure {
        Failure::RateLimited
        | Failure::Auth
        // Nobody knows what the service would have said.
        | Failure::NotStarted
        | Failure::ServiceError
        | Failure::ConnectionLost
        | Failure::TimedOut
        | Failure::Stalled
        | Failure::Lost
        | Failure::Stopped
        // Judged before what the service said is looked at.
        | Failure::Escaped => false,
        Failure::ContextTooLong
        | Failure::RefusedByModel
        | Failure::NoResult
        | Failure::MalformedResult
        | Failure::ClaimedFail
        | Failure::RedPassed
        | Failure::RedCannotRun
        | Failure::RedQuestioned
        | Failure::GreenFailing
        | Failure::Regression
        | Failure::TestsTampered
        | Failure::NothingDone
        | Failure::Conflict
        | Failure::LandingRegression
        | Failure::CommitRefused
        | Failure::WorkRefused
        | Failure::GateFailed => true,
    }
}
