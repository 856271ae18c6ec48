//! The one loop of a run: hears everything, journals it, hands it to the scheduler, has the effects performed.
//!
//! Inputs that come together are journaled together and flushed to disk once, before the first effect that can't be
//! undone.

use super::effect_runner::EffectRunner;
use super::run_setup::RunSetup;
use super::steering::{Ask, Reply, Steer, stop_mode};
use super::step_message::StepMessage;
use crate::callers::refusal_of;
use crate::clock::SteadyClock;
use crate::{Error, Replayed, RunEvent};
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;
use tm_executors::engine::end_filters;
use tm_scheduler::{
    Edition, Effect, Input, Limits, Request, RunStatus, Scheduler, StopMode, Timestamp,
};
use tm_store::run::{ActivityLog, JournalWriter};
use tm_worktrees::end_gits;
use tokio::sync::{mpsc, oneshot};

/// So long nothing happens before people are told that the time goes on.
const PULSE: Duration = Duration::from_secs(1);
/// So many inputs are taken together at the most.
const BATCH: usize = 256;

/// What can't be written is tried again after these pauses.
const WRITE_AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(450),
    Duration::from_secs(3),
];

/// A run in this process that is about to go on, or goes on.
#[derive(Debug)]
pub struct Run {
    scheduler: Scheduler,
    journal: JournalWriter,
    activity: ActivityLog,
    clock: SteadyClock,
    effects: EffectRunner,
    /// Why no jobs are taken where they are to run, where that has been told.
    trouble: Option<String>,
    /// What is to be taken in next.
    incoming: Vec<Incoming>,
}

/// Something that came in.
#[derive(Debug)]
enum Incoming {
    /// It goes to the scheduler as it is.
    Input(Box<Input>),
    /// Somebody asked for it and waits for the answer.
    Asked {
        ask: Ask,
        caller: oneshot::Sender<Reply>,
    },
}

/// Somebody who is to be answered.
type Answered = (oneshot::Sender<Reply>, Reply);

/// A run that has come to an end in this process.
#[derive(Debug)]
pub struct Outcome {
    /// How.
    pub status: RunStatus,
    /// Where every task stands.
    pub scheduler: Scheduler,
    /// When the run ended: the moment of its last input, as its journal has it.
    pub ended_at: Timestamp,
}

impl Run {
    /// Begins a run that has no journal yet, on the runtime that this is called on.
    ///
    /// # Errors
    /// The run's folder can't be written.
    pub fn begin(setup: RunSetup) -> Result<Self, Error> {
        let journal = JournalWriter::create(&setup.directory.journal(), &setup.header)?;
        let scheduler = Scheduler::new(Arc::clone(&setup.header.plan), setup.header.limits.clone());
        let clock = SteadyClock::not_before(setup.header.started_at);
        Self::new(setup, scheduler, journal, clock, Input::Begin)
    }

    /// Takes up a run where its journal ends, on the runtime that this is called on.
    ///
    /// # Errors
    /// The run's folder can't be written.
    pub fn resume(setup: RunSetup, replayed: Replayed, mut limits: Limits) -> Result<Self, Error> {
        let journal = JournalWriter::append_to(&setup.directory.journal(), replayed.end)?;
        let clock = SteadyClock::not_before(replayed.last_input_at);
        limits.deadline = limits.deadline.map(|deadline| clock.of(deadline));
        limits.edition = Edition::NEWEST;
        Self::new(
            setup,
            replayed.scheduler,
            journal,
            clock,
            Input::Resumed(limits),
        )
    }

    fn new(
        setup: RunSetup,
        scheduler: Scheduler,
        journal: JournalWriter,
        clock: SteadyClock,
        first: Input,
    ) -> Result<Self, Error> {
        let activity = ActivityLog::open(&setup.directory.activity())?;
        Ok(Self {
            scheduler,
            journal,
            activity,
            clock,
            effects: EffectRunner::new(setup),
            trouble: None,
            incoming: vec![Incoming::Input(Box::new(first))],
        })
    }

    /// Carries the run out to its end. Orders to stop and requests come through `steers`; `listener` is told everything that people
    /// may want to see, with the state after it.
    ///
    /// # Errors
    /// The journal can't be written, or tm broke an invariant of its own. The run can be resumed.
    pub async fn run(
        mut self,
        mut steers: mpsc::UnboundedReceiver<Steer>,
        mut listener: impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) -> Result<Outcome, Error> {
        loop {
            let at = self.clock.now();
            let incoming = take(&mut self.incoming);
            let (effects, answers) = self.decide(at, incoming).await?;
            for effect in effects {
                if let Effect::Tell(event) = &effect {
                    self.activity.append(at, event)?;
                    listener(at, &RunEvent::Event(event.clone()), &self.scheduler);
                }
                tracing::debug!(?effect, "performs");
                self.effects.perform(effect, &self.scheduler);
            }
            for (caller, reply) in answers {
                // Whoever asked may have gone.
                let _gone = caller.send(reply.with(self.effects.run_id(), &self.scheduler));
            }
            if let Some(status) = self.scheduler.ended() {
                return self.end(status, at, &mut listener).await;
            }
            patiently(|| self.journal.flush())?;
            patiently(|| self.activity.flush())?;
            self.incoming = self.hear(&mut steers, &mut listener).await;
        }
    }

    /// Journals what came in and takes the scheduler's decisions. Whoever asked is answered once that is durable.
    async fn decide(
        &mut self,
        at: Timestamp,
        incoming: Vec<Incoming>,
    ) -> Result<(Vec<Effect>, Vec<Answered>), Error> {
        let (mut effects, mut answers, mut somebody_waits) = (Vec::new(), Vec::new(), false);
        for one in incoming {
            let input = match one {
                Incoming::Input(input) => Some(*input),
                Incoming::Asked { ask, caller } => {
                    let asked = self.input_of(&ask).await;
                    let (input, reply) = asked.unwrap_or_else(|reply| (None, reply));
                    somebody_waits |= input.is_some();
                    answers.push((caller, reply));
                    input
                }
            };
            if let Some(input) = input {
                effects.extend(self.take_in(at, input)?);
            }
            // Nothing follows an end in the journal: whoever takes the run up asks for every step again.
            if self.scheduler.ended().is_some() {
                break;
            }
        }
        let is_told = |effect: &Effect| matches!(effect, Effect::Tell(_));
        if somebody_waits || !effects.iter().all(is_told) {
            patiently(|| self.journal.flush())?;
            self.journal.sync()?;
        }
        Ok((effects, answers))
    }

    fn take_in(&mut self, at: Timestamp, input: Input) -> Result<Vec<Effect>, Error> {
        tracing::debug!(?input, "heard");
        if matches!(input, Input::Stop(StopMode::Now)) {
            // git waits for filters, and a step for git.
            end_filters();
            end_gits();
        }
        self.journal.append(at, &input)?;
        Ok(self.scheduler.handle(at, input)?)
    }

    /// Returns the input that somebody asks for, when there is one, and what is answered; or why there is none.
    async fn input_of(&mut self, ask: &Ask) -> Result<(Option<Input>, Reply), Reply> {
        let (request, task) = match (ask.request(), ask) {
            (Some(request), _) => (request, None),
            (None, Ask::Add { task }) => {
                let (tasks, task) = self.effects.addition(task, &self.scheduler).await?;
                (Request::Add(tasks), Some(task))
            }
            (None, Ask::Stop { now }) => {
                let stop = Input::Stop(stop_mode(*now));
                return Ok((Some(stop), Reply::done("asked the run to stop")));
            }
            (None, Ask::Refused { .. }) => {
                let why = "note a refusal: you are no agent of the run";
                return Err(Reply::failed("malformed", why));
            }
            (None, _) => return Ok((None, Reply::done("said how the run stands"))),
        };
        if let Some(refusal) = self.scheduler.refusal(&request) {
            return Err(Reply::refused(&refusal));
        }
        if let Some(task) = task {
            self.effects.take_in(task);
        }
        let reply = Reply::done(request.done());
        Ok((Some(Input::Request(request)), reply))
    }

    /// Waits for the next inputs.
    async fn hear(
        &mut self,
        steers: &mut mpsc::UnboundedReceiver<Steer>,
        listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) -> Vec<Incoming> {
        let mut inputs = Vec::new();
        while inputs.is_empty() {
            self.tell_trouble(listener);
            let wake = self
                .scheduler
                .next_wake()
                .map(|moment| Duration::from_millis(moment.since(self.clock.now())));
            tokio::select! {
                heard = self.effects.hear() => {
                    self.take(heard, &mut inputs, listener);
                    while inputs.len() < BATCH && let Some(heard) = self.effects.try_hear() {
                        self.take(heard, &mut inputs, listener);
                    }
                    // Who follows the run elsewhere sees it now; what can't be written is tried again with the next input.
                    let _later = self.activity.flush();
                }
                Some(steer) = steers.recv() => inputs.extend(self.steered(steer, listener)),
                () = sleep(wake) => inputs.push(Incoming::Input(Box::new(Input::Tick))),
                () = tokio::time::sleep(PULSE) => listener(self.clock.now(), &RunEvent::Pulse, &self.scheduler),
            }
        }
        inputs
    }

    /// Says once that no jobs are taken where they are to run, and once that they are again.
    fn tell_trouble(&mut self, listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler)) {
        let trouble = self.effects.trouble();
        if trouble.is_some() == self.trouble.is_some() {
            return;
        }
        let told = match &trouble {
            Some(words) => RunEvent::Warning(format!("what is to be started waits: {words}")),
            None => RunEvent::Note("jobs are taken again".to_owned()),
        };
        self.trouble = trouble;
        self.tell(&told, listener);
    }

    /// Tells of something, and keeps it.
    fn tell(
        &mut self,
        told: &RunEvent,
        listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) {
        let at = self.clock.now();
        // What can't be written now is told all the same.
        let _left_out = self.activity.append(at, &told.noticed());
        listener(at, told, &self.scheduler);
    }

    /// Returns what is to be done for somebody who steers the run.
    fn steered(
        &mut self,
        steer: Steer,
        listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) -> Option<Incoming> {
        match steer {
            Steer::Stop(order) => Some(Incoming::Input(Box::new(Input::Stop(order)))),
            Steer::Ask(ask, caller) => Some(Incoming::Asked { ask, caller }),
            Steer::Refused(caller, what, noted) => {
                let words = refusal_of(&what);
                if self.effects.note_refusal(&caller, &words) {
                    let told = RunEvent::Warning(format!("{caller}: {words}"));
                    listener(self.clock.now(), &told, &self.scheduler);
                }
                // Whoever called may have gone.
                let _gone = noted.send(());
                None
            }
        }
    }

    fn take(
        &mut self,
        heard: StepMessage,
        inputs: &mut Vec<Incoming>,
        listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) {
        let input = match heard {
            StepMessage::Done(done) => self.effects.take(*done).map(Box::new),
            StepMessage::Seen(input) => Some(input),
            StepMessage::RunEvent(
                told @ (RunEvent::Setup { .. }
                | RunEvent::Place { .. }
                | RunEvent::Whereabouts { .. }),
            ) => {
                self.tell(&told, listener);
                None
            }
            StepMessage::RunEvent(told) => {
                listener(self.clock.now(), &told, &self.scheduler);
                None
            }
        };
        inputs.extend(input.map(Incoming::Input));
    }

    async fn end(
        mut self,
        status: RunStatus,
        ended_at: Timestamp,
        listener: &mut impl FnMut(Timestamp, &RunEvent, &Scheduler),
    ) -> Result<Outcome, Error> {
        patiently(|| self.journal.flush())?;
        self.journal.sync()?;
        patiently(|| self.activity.flush())?;
        let (told, statuses, landed) = self.effects.finish(status).await;
        for told in told {
            listener(self.clock.now(), &told, &self.scheduler);
        }
        statuses.map_err(|error| Error::StatusesUnwritten {
            why: error.after_failed_to(),
        })?;
        landed.map_err(|error| Error::LandedChanged {
            why: error.after_failed_to(),
        })?;
        Ok(Outcome {
            status,
            scheduler: self.scheduler,
            ended_at,
        })
    }
}

/// Writes, and again after a pause where that failed: without its journal nothing may go on, and a disk that is full
/// for a moment should not end the agents.
fn patiently(
    mut write: impl FnMut() -> Result<(), tm_store::Error>,
) -> Result<(), tm_store::Error> {
    for pause in WRITE_AGAIN_AFTER {
        if write().is_ok() {
            return Ok(());
        }
        std::thread::sleep(pause);
    }
    write()
}

/// Sleeps so long, or for ever.
async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
