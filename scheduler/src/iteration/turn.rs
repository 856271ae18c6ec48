//! The way of one iteration: look at the backlog, run the agent, verify, look again, settle, pause.

use super::judge::{Judged, NOTHING_LEFT, Seen, count, judge, some_of, task_of};
use super::{
    AgentEnd, BacklogView, Goal, Iteration, IterationFailure, IterationRecord, IterationStatus,
    LoopEffect, LoopStatus, Verification, find_marker,
};
use crate::budget::{LONGEST_DECLARED_MS, declared_reset, is_too_late};
use crate::{AgentVerdict, Failure, Policy, Timestamp, judge_agent};

/// Where the loop stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// `Begin` is waited for.
    New,
    /// The backlog is looked at before an iteration.
    LookingBefore,
    /// The agent runs.
    Running {
        /// The backlog before it.
        before: BacklogView,
    },
    /// The tests run.
    Verifying(Box<Finished>),
    /// The backlog is looked at after an iteration.
    LookingAfter(Box<Finished>),
    /// It waits for the next iteration.
    Sleeping,
    /// It is over.
    Ended(LoopStatus),
}

/// An agent that has ended, and what is known so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finished {
    before: BacklogView,
    end: AgentEnd,
    verified: Option<Result<(), String>>,
}

impl Iteration {
    pub(super) fn start(&mut self, now: Timestamp, view: BacklogView) {
        self.last = view.clone();
        self.at_first.get_or_insert_with(|| view.clone());
        let is_checked = self.goal == Goal::Backlog && !self.is_unverified;
        if is_checked && view.open.is_empty() {
            return self.end(LoopStatus::AllComplete, NOTHING_LEFT);
        }
        if is_checked && view.workable.is_empty() {
            let open = count(view.open.len() as u64, "open task waits", "open tasks wait");
            let reason = format!("{open} for others that are not: {}", some_of(&view.open));
            return self.end(LoopStatus::Blocked, reason);
        }
        if let Some((status, reason)) = self.used_up(now) {
            return self.end(status, reason);
        }
        if let Some(until) = self.limited_elsewhere.filter(|&until| until > now) {
            return self.sleep(until, Some(IterationFailure::Attempt(Failure::RateLimited)));
        }
        self.state = State::Running { before: view };
        self.effects.push(LoopEffect::RunAgent {
            iteration: self.number,
            attempt: self.attempt,
        });
    }

    pub(super) fn agent_ended(&mut self, end: AgentEnd) {
        let State::Running { before } = self.take_state() else {
            return;
        };
        let is_worth_it = judge_agent(&end.report) == AgentVerdict::WorthProving;
        let finished = Box::new(Finished {
            before,
            end,
            verified: None,
        });
        if is_worth_it && self.verification == Verification::Each && !self.is_stopping {
            self.state = State::Verifying(finished);
            self.effects.push(LoopEffect::Verify);
        } else {
            self.look(State::LookingAfter(finished));
        }
    }

    fn take_state(&mut self) -> State {
        std::mem::replace(&mut self.state, State::New)
    }

    pub(super) fn look(&mut self, state: State) {
        self.state = state;
        self.effects.push(LoopEffect::LookAtBacklog);
    }

    pub(super) fn verified(&mut self, result: Result<(), String>) {
        let State::Verifying(mut finished) = self.take_state() else {
            return;
        };
        // Tests that were cut off say nothing.
        finished.verified = (!self.is_stopping).then_some(result);
        self.look(State::LookingAfter(finished));
    }

    /// Judges the iteration, writes it down, and goes on or ends.
    pub(super) fn settle(&mut self, now: Timestamp, looked: Result<BacklogView, String>) {
        let State::LookingAfter(finished) = self.take_state() else {
            return;
        };
        let Finished {
            before,
            mut end,
            verified,
        } = *finished;
        end.report.forget_impossible_figures();
        // What can't be read is taken as unchanged.
        let after = looked.as_ref().unwrap_or(&before).clone();
        let shifts = before.shifts(&after);
        let claim = find_marker(&end.final_message, &end.prompt);
        let judged = judge(&Seen {
            goal: self.goal,
            report: &end.report,
            claim: claim.as_ref(),
            work: &end.work,
            verified: verified.as_ref(),
            shifts: &shifts,
            after: &after,
        });
        let judged = match looked {
            Ok(_) => judged,
            Err(why) => judged.lost_backlog(why),
        };
        self.is_unverified = verified.as_ref().map_or(self.is_unverified, Result::is_err);
        self.last = after;
        self.spent.add((end.report.tokens, end.report.cost_usd));
        let record = IterationRecord {
            iteration: self.number,
            attempt: self.attempt,
            status: judged.status,
            failure: judged.failure,
            message: judged.message.clone(),
            final_message: end.final_message,
            claim,
            task_id: task_of(&shifts),
            tasks: shifts,
            work: end.work,
            verified: verified.map(|result| result.is_ok()),
            started_at: end.report.started_at,
            duration_ms: end.report.ended_at.since(end.report.started_at),
            tokens: end.report.tokens,
            cost_usd: end.report.cost_usd,
        };
        self.records.push(record.clone());
        self.effects.push(LoopEffect::Record(Box::new(record)));
        self.go_on(now, &judged);
    }

    fn go_on(&mut self, now: Timestamp, judged: &Judged) {
        self.tally(judged);
        self.limited_until = None;
        let end = judged.end.clone().or_else(|| self.no_further(judged));
        if let Some((status, reason)) = end.or_else(|| self.used_up(now)) {
            return self.end(status, reason);
        }
        let (until, is_pause) = self.pause(now, judged);
        let is_limited = judged.failure == Some(IterationFailure::Attempt(Failure::RateLimited));
        self.limited_until = is_limited.then_some(until);
        self.sleep(until, judged.failure.filter(|_| is_pause));
    }

    /// How the loop ends since somebody wants it to, or since too much in a row has failed.
    fn no_further(&self, judged: &Judged) -> Option<(LoopStatus, String)> {
        if self.is_stopping {
            return Some((LoopStatus::Interrupted, "stopped".to_owned()));
        }
        let failures = self.failures_in_a_row;
        (failures > self.limits.retries).then(|| {
            let failures = count(failures.into(), "failure", "failures in a row");
            let why = format!("{failures}, the last one: {}", judged.message);
            (LoopStatus::Error, why)
        })
    }

    fn sleep(&mut self, until: Timestamp, waits_out: Option<IterationFailure>) {
        if is_too_late(until, self.limits.deadline) {
            let why = "the time is used up before the next iteration";
            return self.end(LoopStatus::Deadline, why);
        }
        self.state = State::Sleeping;
        self.effects.push(LoopEffect::Sleep { until, waits_out });
    }

    /// Counts the try, or not, and the failures in a row.
    fn tally(&mut self, judged: &Judged) {
        let policy = judged.failure.and_then(IterationFailure::policy);
        let is_charged = policy.is_none_or(|policy| policy.charged);
        match (judged.failure, &mut self.same_failure) {
            (None, same) => *same = None,
            (Some(failure), Some((same, repeats))) if *same == failure => *repeats += 1,
            (Some(failure), same) => *same = Some((failure, 1)),
        }
        if judged.status != IterationStatus::Error {
            self.failures_in_a_row = 0;
        } else if is_charged {
            self.failures_in_a_row += 1;
        }
        if is_charged {
            self.used += 1;
            self.number += 1;
            self.attempt = 1;
        } else {
            self.attempt += 1;
        }
    }

    /// Until when to wait, and whether that is more than the usual pause.
    fn pause(&self, now: Timestamp, judged: &Judged) -> (Timestamp, bool) {
        let usual = now.plus(self.limits.sleep_ms);
        let pause = self.same_failure.and_then(|(failure, repeats)| {
            let policy = failure.policy()?;
            Some(policy.pause_ms(repeats, Policy::LONGEST_PAUSE_MS))
        });
        let until = declared_reset(now, judged.not_before, LONGEST_DECLARED_MS)
            .unwrap_or_else(|| now.plus(pause.unwrap_or(0)));
        (usual.max(until), until > usual)
    }

    /// Which limit is reached, if any.
    fn used_up(&self, now: Timestamp) -> Option<(LoopStatus, String)> {
        let limits = &self.limits;
        if self.used >= limits.iterations.get() {
            let used = count(self.used.into(), "iteration is", "iterations are");
            return Some((LoopStatus::MaxIterations, format!("{used} used up")));
        }
        if is_too_late(now, limits.deadline) {
            return Some((LoopStatus::Deadline, "the time is used up".to_owned()));
        }
        let mut spent = self.spent;
        spent.add((None, Some(self.cost_elsewhere_usd)));
        spent.uses_up(None, limits.max_cost_usd).then(|| {
            let cost = spent.cost_usd;
            let why = format!("the budget is used up: {cost:.2} dollars");
            (LoopStatus::Budget, why)
        })
    }

    pub(super) fn stop(&mut self) {
        if std::mem::replace(&mut self.is_stopping, true) {
            return;
        }
        match &self.state {
            State::Running { .. } | State::Verifying(_) => self.effects.push(LoopEffect::StopStep),
            State::LookingAfter(_) | State::Ended(_) => {}
            State::New | State::LookingBefore | State::Sleeping => {
                self.end(LoopStatus::Interrupted, "stopped");
            }
        }
    }

    pub(super) fn end(&mut self, status: LoopStatus, reason: impl Into<String>) {
        self.state = State::Ended(status);
        let reason = reason.into();
        self.effects.push(LoopEffect::End { status, reason });
    }
}
