//! What the world itself knows of walls and of attempts, in words of its own, apart from the machine's.

use super::*;

/// A limit that a service declares is asked about again after so long.
const DAY_MS: u64 = 24 * 3_600_000;
/// One that is declared for longer than this is tried, and not before the other has passed.
const BELIEVED_MS: u64 = 15 * 60_000;
const TRIED_AFTER_MS: u64 = 5 * 60_000;
/// An answer so long after a refusal shows that there is no limit.
const ANSWERED_AFTER_MS: u64 = 10_000;

#[derive(Default)]
pub(super) struct Ledger {
    /// Until when nobody of an account may be started, by what services declared.
    cooldowns: BTreeMap<AccountName, Timestamp>,
    /// When the service behind an account refused last.
    refused_at: BTreeMap<AccountName, Timestamp>,
    /// Accounts whose services answered although they are behind a wall.
    passed: BTreeSet<AccountName>,
    /// When the limit was heard of that stands, and whether it was declared for long.
    limited_since: BTreeMap<AccountName, (Timestamp, bool)>,
    /// The task whose word alone is against an account, and the one that tries it.
    said: BTreeMap<AccountName, (TaskId, Timestamp)>,
    trials: BTreeMap<AccountName, TaskId>,
    /// Accounts whose credentials were refused to two tasks.
    refused: BTreeSet<AccountName>,
    /// How often an agent was started, a person ended an attempt, and a person opened the task again, by task.
    started: BTreeMap<TaskId, u32>,
    ended_by_people: BTreeMap<TaskId, u32>,
    opened: BTreeMap<TaskId, u32>,
    /// What people asked for, all in all.
    orders: u32,
    /// How often the breaker ended or paused the run, and the last ends in a row that were the same.
    breaks: u32,
    is_broken: bool,
    same: Option<(Failure, String, u32)>,
}

impl Ledger {
    pub(super) fn note_input(&mut self, input: &Input) {
        match input {
            Input::Request(request) => {
                self.orders += 1;
                if matches!(request, Request::Retry(_)) {
                    self.forgive();
                }
            }
            Input::Stop(_) => self.orders += 1,
            Input::Resumed(_) => self.forgive(),
            Input::Answer {
                task,
                answer: Answer::AgentEnded(report),
                ..
            } => self.note_agent_end(task, report),
            Input::Begin | Input::Answer { .. } | Input::Tick | Input::Foreseen(_) => {}
        }
    }

    fn forgive(&mut self) {
        self.refused.clear();
        self.said.clear();
    }

    /// A trial that its service answered shows that there is nothing.
    fn note_agent_end(&mut self, task: &TaskId, report: &AgentReport) {
        let tried = self.trials.extract_if(.., |_, other| other == task);
        let tried: Vec<AccountName> = tried.map(|(account, _)| account).collect();
        let is_answered = match report.refusal {
            None => matches!(report.ended, Ended::Exited(_) | Ended::Lingered),
            Some(ServiceRefusal::ContextTooLong | ServiceRefusal::RefusedByModel) => true,
            Some(_) => false,
        };
        for account in tried.into_iter().filter(|_| is_answered) {
            self.said.remove(&account);
            self.passed.insert(account);
        }
    }

    pub(super) fn note_limit(
        &mut self,
        (account, task): (AccountName, &TaskId),
        until: Option<Timestamp>,
        now: Timestamp,
    ) {
        self.refused_at.insert(account.clone(), now);
        self.passed.remove(&account);
        let mut is_long = until.is_some_and(|until| until.since(now) > BELIEVED_MS);
        if self.trials.get(&account) == Some(task) {
            self.trials.remove(&account);
            self.said.remove(&account);
            let before = self.limited_since.remove(&account);
            is_long |= before.is_some_and(|(_, is_long)| is_long);
        }
        let since = self.limited_since.entry(account.clone());
        since.or_insert((now, false)).1 |= is_long;
        if let Some(until) = until {
            let cooldown = self.cooldowns.entry(account).or_default();
            *cooldown = (*cooldown).max(until.min(now.plus(DAY_MS)));
        }
    }

    pub(super) fn note_refused(&mut self, account: AccountName, task: &TaskId, now: Timestamp) {
        match self.said.get(&account) {
            Some((other, _)) if other != task => drop(self.refused.insert(account)),
            Some(_) => {}
            None => {
                self.trials.remove(&account);
                self.said.insert(account, (task.clone(), now));
            }
        }
    }

    /// An answer to a task is one to all where others said something else long enough before; a limit counts where it
    /// stands.
    pub(super) fn note_answered(
        &mut self,
        (account, task): (AccountName, &TaskId),
        is_limited: bool,
        now: Timestamp,
    ) {
        let limited_at = (self.refused_at.get(&account).copied()).filter(|_| is_limited);
        let of_others = self.said.get(&account).filter(|(other, _)| other != task);
        let refused_at = of_others.map(|(_, at)| *at);
        let last = limited_at.max(refused_at);
        if last.is_some_and(|at| now.since(at) >= ANSWERED_AFTER_MS) {
            if refused_at.is_some() {
                self.said.remove(&account);
                self.trials.remove(&account);
            }
            self.passed.insert(account);
        }
    }

    pub(super) fn hear(&mut self, event: &Event, now: Timestamp) {
        match event {
            Event::AgentAvailable { account } => {
                let cooldown = self.cooldowns.remove(account).unwrap_or_default();
                self.limited_since.remove(account);
                assert!(
                    cooldown <= now || self.passed.remove(account),
                    "the wall before `{account}` stands"
                );
            }
            Event::AttemptEnded {
                task,
                failure: None,
                reason,
                ..
            } if !reason.is_empty() => {
                let ended = self.ended_by_people.entry(task.clone()).or_default();
                *ended += 1;
                assert!(
                    *ended <= self.orders + self.breaks,
                    "`{task}` was ended by people who asked for nothing"
                );
            }
            Event::AttemptEnded {
                failure: Some(failure),
                reason,
                ..
            } => self.note_end(*failure, reason),
            Event::AttemptEnded {
                failure: None,
                reason,
                ..
            } if reason.is_empty() => self.same = None,
            Event::RunPaused { why: Some(_) }
            | Event::RunStopping {
                why: StopReason::Breaker,
            } => self.note_break(),
            Event::RunContinued => self.count_nothing_before(),
            Event::RunResumed { .. } if self.is_broken => self.count_nothing_before(),
            Event::TaskReopened { task } => *self.opened.entry(task.clone()).or_default() += 1,
            _ => {}
        }
    }

    /// Somebody looked after the run.
    pub(super) fn count_nothing_before(&mut self) {
        (self.same, self.is_broken) = (None, false);
    }

    /// Counts ends in a row that are the same, but for those that tell nothing of the surroundings.
    fn note_end(&mut self, failure: Failure, reason: &str) {
        let is_left_out = matches!(
            failure,
            Failure::RateLimited
                | Failure::ContextTooLong
                | Failure::RefusedByModel
                | Failure::Auth
                | Failure::Stopped
                | Failure::RedQuestioned
                | Failure::Conflict
                | Failure::LandingRegression
        );
        if is_left_out {
            return;
        }
        let before = self
            .same
            .take()
            .filter(|(kind, words, _)| *kind == failure && words == reason);
        self.same = Some((
            failure,
            reason.to_owned(),
            before.map_or(1, |(_, _, count)| count + 1),
        ));
    }

    /// Checks that enough in a row was the same.
    fn note_break(&mut self) {
        (self.breaks, self.is_broken) = (self.breaks + 1, true);
        let count = self.same.as_ref().map_or(0, |(_, _, count)| *count);
        assert!(
            count >= 3,
            "the run is broken off after {count} ends that were the same"
        );
    }

    /// Checks that nothing is started after more ends in a row that were the same than the breaker allows.
    pub(super) fn check_breaker(&self, limits: &Limits) {
        let count = self.same.as_ref().map_or(0, |(_, _, count)| *count);
        let most = limits.breaker.attempts.map_or(u32::MAX, NonZeroU32::get);
        // As many as there are slots may be lost at the same time, which is one of a row.
        let is_lost = (self.same.as_ref()).is_some_and(|(kind, ..)| *kind == Failure::Lost);
        let at_once = if is_lost { limits.slots.get() } else { 1 };
        let most = most.saturating_mul(at_once);
        assert!(
            !self.is_broken && count < most,
            "{count} ends in a row were the same, and agents are started still"
        );
    }

    /// Checks that an agent may be started now, and that the task has not been tried too often.
    pub(super) fn check_start(
        &mut self,
        task: &TaskId,
        account: &AccountName,
        retries: u32,
        now: Timestamp,
    ) {
        assert!(
            !self.refused.contains(account),
            "`{task}` starts with refused credentials"
        );
        let cooldown = self.cooldowns.get(account).copied().unwrap_or_default();
        if cooldown > now || self.said.contains_key(account) {
            let (since, is_long) = self.limited_since.get(account).copied().unwrap_or_default();
            let is_doubted = is_long || self.said.contains_key(account);
            let may_be_tried = is_doubted && now.since(since) >= TRIED_AFTER_MS;
            assert!(
                cooldown <= now || may_be_tried,
                "`{task}` starts behind a wall"
            );
            assert!(
                (self.said.get(account)).is_none_or(|(other, _)| other != task),
                "`{task}` tries its own word"
            );
            let other = self.trials.insert(account.clone(), task.clone());
            assert!(
                other.is_none(),
                "`{task}` is a second trial, beside {other:?}"
            );
        }
        let of = |counts: &BTreeMap<TaskId, u32>| counts.get(task).copied().unwrap_or_default();
        let most = (retries + 1 + 10) * (1 + of(&self.opened)) + of(&self.ended_by_people);
        let started = self.started.entry(task.clone()).or_default();
        *started += 1;
        assert!(
            *started <= most,
            "`{task}` is tried for the {started}th time, {most} are the most"
        );
    }

    /// Checks that no task was tried more often than the limits allow when nobody asked for more than to go on.
    pub(super) fn check_without_people(&self, retries: u32) {
        assert!(
            self.orders <= self.breaks
                && self
                    .started
                    .values()
                    .all(|&started| started <= retries + 11)
        );
    }
}
