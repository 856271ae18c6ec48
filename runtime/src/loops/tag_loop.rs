//! The loop of one tag: the machine, and one step at a time that it hears from.

use super::agent::look;
use super::agent::{Try, run_agent};
use super::setup::Standing;
use crate::holding::git_around;

use super::{LoopEvent, LoopSetup, LoopState, TagLoopOutcome, Teller};
use crate::attempt::ConcurrentAttempts;
use crate::{Error, now};
use itertools::Itertools as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tm_executors::testing::{TestPlace, run_tests};
use tm_scheduler::iteration::{
    Iteration, IterationRecord, IterationStatus, LoopEffect, LoopInput, LoopStatus, Verification,
};
use tm_scheduler::{CommandEnd, StopMode, TestOutcome, TestReport, Timestamp};
use tokio::sync::watch;

type Step = Pin<Box<dyn Future<Output = LoopInput> + Send>>;

/// A tag's loop that goes on.
pub(super) struct TagLoop {
    setup: Arc<LoopSetup>,
    machine: Iteration,
    step: Step,
    orders: watch::Sender<Option<StopMode>>,
    concurrent: Arc<ConcurrentAttempts>,
    teller: Teller,
    /// The progress file's length before the agent.
    before: u64,
    iteration: u32,
    attempt: u32,
    is_under_way: bool,
}

impl TagLoop {
    pub(super) fn new(
        setup: LoopSetup,
        concurrent: Arc<ConcurrentAttempts>,
        teller: Teller,
    ) -> Self {
        let verification = if setup.test_command.is_some() {
            Verification::Each
        } else {
            Verification::Off
        };
        Self {
            machine: Iteration::new(setup.goal, verification, setup.limits.clone()),
            setup: Arc::new(setup),
            step: Box::pin(std::future::ready(LoopInput::Begin)),
            orders: watch::channel(None).0,
            concurrent,
            teller,
            before: 0,
            iteration: 0,
            attempt: 0,
            is_under_way: false,
        }
    }

    /// Goes on until the machine says that it is over.
    pub(super) async fn run(
        mut self,
        mut stop: watch::Receiver<bool>,
    ) -> Result<TagLoopOutcome, Error> {
        self.write_state(None)?;
        let (status, reason) = loop {
            let input = tokio::select! {
                biased;
                Ok(_) = stop.wait_for(|stop| *stop), if !self.is_stopping() => self.stopping(),
                input = &mut self.step => input,
            };
            for told in self.setup.cost.exchange(&self.setup.tag, self.standing()) {
                self.machine.handle(now(), told)?;
            }
            let effects = self.machine.handle(now(), input)?;
            if let Some(end) = self.perform(effects)? {
                break end;
            }
        };
        self.finish(status, reason).await
    }

    fn standing(&self) -> Standing {
        Standing {
            spent: self.machine.cost_usd(),
            account: self.setup.recipe.account(),
            limited_until: self.machine.limited_until(),
        }
    }

    fn is_stopping(&self) -> bool {
        *self.orders.borrow() == Some(StopMode::Now)
    }

    fn stopping(&self) -> LoopInput {
        self.orders.send_replace(Some(StopMode::Now));
        LoopInput::Stop
    }

    /// Has the effects performed; returns how the loop ends, when it does.
    fn perform(&mut self, effects: Vec<LoopEffect>) -> Result<Option<(LoopStatus, String)>, Error> {
        for effect in effects {
            let setup = Arc::clone(&self.setup);
            match effect {
                LoopEffect::LookAtBacklog => {
                    self.step = Box::pin(async move { look(&setup).await });
                }
                LoopEffect::RunAgent { iteration, attempt } => {
                    self.run_agent(setup, iteration, attempt)?;
                }
                LoopEffect::Verify => {
                    let command = setup.test_command.as_ref().map(ToString::to_string);
                    let command = command.unwrap_or_default();
                    self.teller.tell(LoopEvent::Verifying { command });
                    let (iteration, attempt) = (self.iteration, self.attempt);
                    let orders = self.orders.subscribe();
                    self.step = Box::pin(verify(setup, iteration, attempt, orders));
                }
                LoopEffect::Record(record) => self.record(record)?,
                LoopEffect::Sleep { until, waits_out } => {
                    self.teller.tell(LoopEvent::Waiting {
                        until,
                        failure: waits_out,
                    });
                    self.step = Box::pin(wake(until));
                }
                // The order has been given when the stop was heard.
                LoopEffect::StopStep => {}
                LoopEffect::End { status, reason } => return Ok(Some((status, reason))),
            }
        }
        Ok(None)
    }

    fn run_agent(
        &mut self,
        setup: Arc<LoopSetup>,
        iteration: u32,
        attempt: u32,
    ) -> Result<(), Error> {
        (self.iteration, self.attempt, self.is_under_way) = (iteration, attempt, true);
        self.write_state(None)?;
        self.before = setup.progress.length();
        self.teller.tell(LoopEvent::IterationStarted {
            iteration,
            last: setup.context.iterations,
            attempt,
        });
        let last = self.machine.records().last();
        let failed = last.filter(|record| record.status == IterationStatus::Error);
        let this = Try {
            iteration,
            attempt,
            last_failure: failed.map(|record| record.message.clone()),
        };
        let (teller, orders) = (self.teller.clone(), self.orders.subscribe());
        let concurrent = Arc::clone(&self.concurrent);
        self.step = Box::pin(async move {
            match run_agent(setup, this, concurrent, orders, &teller).await {
                Ok(end) => LoopInput::AgentEnded(end),
                Err(trouble) => LoopInput::InfrastructureFailed(trouble.into()),
            }
        });
        Ok(())
    }

    fn record(&mut self, record: Box<IterationRecord>) -> Result<(), Error> {
        self.warn_of(self.setup.progress.entry(&record, self.before));
        self.teller.tell(LoopEvent::IterationEnded { record });
        self.is_under_way = false;
        self.write_state(None)
    }

    /// Says that the progress file could not be written.
    fn warn_of(&self, written: std::io::Result<()>) {
        if let Err(error) = written {
            let path = self.setup.progress.path().display();
            self.teller
                .warn(format!("failed to write `{path}`: {error}"));
        }
    }

    fn write_state(&self, ended: Option<LoopStatus>) -> Result<(), Error> {
        let setup = &self.setup;
        let worktree = setup.place.worktree().map(|worktree| {
            let branch = worktree.branch().to_string();
            (worktree.path().to_owned(), branch, worktree.base().clone())
        });
        let state = LoopState {
            version: 1,
            id: setup.id.clone(),
            tag: setup.tag.clone(),
            progress_file: setup.progress.path().to_owned(),
            iteration: self.iteration,
            is_under_way: self.is_under_way,
            attempt: self.attempt,
            worktree,
            sandbox: setup.sandbox.clone(),
            ended,
        };
        state.write(&setup.directory)
    }

    /// Writes the footer and the last state, gives the worktree back, and tells how it ended.
    async fn finish(self, status: LoopStatus, reason: String) -> Result<TagLoopOutcome, Error> {
        let ended_at = now();
        let progress = &self.setup.progress;
        let progress_file = progress.path().display().to_string();
        self.warn_of(progress.end(&self.machine, status, &reason, ended_at));
        self.write_state(Some(status))?;
        let (tag, branch) = (self.setup.tag.clone(), self.setup.place.branch());
        let Self {
            setup,
            machine,
            step,
            teller,
            ..
        } = self;
        drop(step);
        // Nothing else has it once the last step is dropped.
        if let Some(setup) = Arc::into_inner(setup) {
            for words in setup.give_back().await {
                teller.warn(words);
            }
        }
        teller.tell(LoopEvent::Ended {
            status,
            reason: reason.clone(),
            tasks_completed: machine.tasks_completed(),
        });
        Ok(TagLoopOutcome {
            tag,
            machine,
            status,
            reason,
            branch,
            progress_file,
            ended_at,
        })
    }
}

async fn wake(until: Timestamp) -> LoopInput {
    let pause = Duration::from_millis(until.since(now()));
    tokio::time::sleep(pause).await;
    LoopInput::Woke
}

/// Runs the tests where the agent worked; a stop cuts them off.
async fn verify(
    setup: Arc<LoopSetup>,
    iteration: u32,
    attempt: u32,
    mut orders: watch::Receiver<Option<StopMode>>,
) -> LoopInput {
    let Some(command) = &setup.test_command else {
        return LoopInput::Verified(Ok(()));
    };
    let tag = setup.tag.as_str();
    let directory = setup.directory.attempt(tag, iteration, attempt);
    let (executor, variables) = (&setup.executor, &setup.place.variables());
    let place = TestPlace {
        worktree: setup.place.folder(),
        scratch: directory.path(),
        executor,
        variables,
        besides: &git_around(setup.place.folder()),
    };
    tokio::select! {
        report = run_tests(command, place, "tests") => LoopInput::Verified(match report {
            Ok(report) if is_green(&report) => Ok(()),
            Ok(report) => Err(what_fails(&report)),
            Err(error) => Err(format!("they could not be started: {}", error.with_causes())),
        }),
        _ = orders.wait_for(|order| *order == Some(StopMode::Now)) => LoopInput::Verified(Err("cut off".to_owned())),
    }
}

fn is_green(report: &TestReport) -> bool {
    report.end.succeeded() && report.broken.is_none()
}

/// So many failing tests are named.
const SHOWN: usize = 5;

fn what_fails(report: &TestReport) -> String {
    match (&report.end, &report.broken) {
        (CommandEnd::NotStarted(why), _) => format!("they could not be started: {why}"),
        (CommandEnd::TimedOut, _) => "they did not end within their limit".to_owned(),
        (_, broken) => failing_tests(report)
            .or(broken.clone())
            .unwrap_or_else(|| last_line(report)),
    }
}

fn failing_tests(report: &TestReport) -> Option<String> {
    let is_failed = |(_, outcome): &(_, &TestOutcome)| **outcome == TestOutcome::Failed;
    let failed = report.tests.iter().filter(is_failed);
    let (failed, all) = (
        failed.map(|(name, _)| name).collect_vec(),
        report.tests.len(),
    );
    let more = if failed.len() > SHOWN { ", …" } else { "" };
    let shown = failed.iter().take(SHOWN).join(", ");
    let words = format!("{} of {all} fail: {shown}{more}", failed.len());
    (!failed.is_empty()).then_some(words)
}

fn last_line(report: &TestReport) -> String {
    let mut lines = report.output_tail.lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let shown: String = last.chars().take(200).collect();
    format!("the command fails: {shown}")
}
