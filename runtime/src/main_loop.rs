//! The one loop of a run: hears everything, journals it, hands it to the scheduler, has the effects performed.
//!
//! Inputs that come together are journaled together and flushed to disk once, before the first effect that can't be
//! undone.

use crate::crew::{Crew, Heard, Taken, Told};
use crate::setup::RunSetup;
use crate::{Error, Replayed, now};
use std::time::Duration;
use tm_scheduler::{Effect, Input, Limits, RunStatus, Scheduler, StopOrder, Timestamp};
use tm_store::run::{ActivityLog, JournalWriter};
use tokio::sync::mpsc;

/// So many inputs are taken together at the most.
const BATCH: usize = 256;

/// A run in this process that is about to go on.
#[derive(Debug)]
pub struct Run {
    scheduler: Scheduler,
    journal: JournalWriter,
    activity: ActivityLog,
    setup: RunSetup,
    first: Input,
}

/// A run that goes on.
#[derive(Debug)]
struct Loop {
    scheduler: Scheduler,
    journal: JournalWriter,
    activity: ActivityLog,
    crew: Crew,
}

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
    /// Begins a run that has no journal yet.
    ///
    /// # Errors
    /// The run's folder can't be written.
    pub fn begin(setup: RunSetup) -> Result<Self, Error> {
        let journal = JournalWriter::create(&setup.directory.journal(), &setup.header)?;
        let scheduler = Scheduler::new(setup.header.plan.clone(), setup.header.limits.clone());
        Self::new(setup, scheduler, journal, Input::Begin)
    }

    /// Takes up a run where its journal ends.
    ///
    /// # Errors
    /// The run's folder can't be written.
    pub fn resume(setup: RunSetup, replayed: Replayed, limits: Limits) -> Result<Self, Error> {
        let journal = JournalWriter::append_to(&setup.directory.journal(), replayed.end)?;
        Self::new(setup, replayed.scheduler, journal, Input::Resumed(limits))
    }

    fn new(setup: RunSetup, scheduler: Scheduler, journal: JournalWriter, first: Input) -> Result<Self, Error> {
        let activity = ActivityLog::open(&setup.directory.activity())?;
        Ok(Self { scheduler, journal, activity, setup, first })
    }

    /// Carries the run out to its end. Orders to stop come through `orders`; `listener` is told everything that people
    /// may want to see, with the state after it.
    ///
    /// # Errors
    /// The journal can't be written, or tm broke an invariant of its own. The run can be resumed.
    pub async fn carry_out(
        self,
        orders: mpsc::UnboundedReceiver<StopOrder>,
        listener: impl FnMut(Timestamp, &Told, &Scheduler),
    ) -> Result<Outcome, Error> {
        let Self { scheduler, journal, activity, setup, first } = self;
        Loop { scheduler, journal, activity, crew: Crew::new(setup) }.turn(first, orders, listener).await
    }
}

impl Loop {
    async fn turn(
        mut self,
        first: Input,
        mut orders: mpsc::UnboundedReceiver<StopOrder>,
        mut listener: impl FnMut(Timestamp, &Told, &Scheduler),
    ) -> Result<Outcome, Error> {
        let mut inputs = vec![first];
        loop {
            let at = now();
            let effects = self.decide(at, inputs)?;
            for effect in effects {
                if let Effect::Tell(event) = &effect {
                    self.activity.append(at, event)?;
                    listener(at, &Told::Event(event.clone()), &self.scheduler);
                }
                tracing::debug!(?effect, "performs");
                self.crew.perform(effect, &self.scheduler);
            }
            if let Some(status) = self.scheduler.ended() {
                return self.end(status, at, &mut listener).await;
            }
            self.journal.flush()?;
            self.activity.flush()?;
            inputs = self.hear(&mut orders, &mut listener).await;
        }
    }

    /// Journals the inputs and takes the scheduler's decisions.
    fn decide(&mut self, at: Timestamp, inputs: Vec<Input>) -> Result<Vec<Effect>, Error> {
        let mut effects = Vec::new();
        for input in inputs {
            tracing::debug!(?input, "heard");
            self.journal.append(at, &input)?;
            effects.extend(self.scheduler.handle(at, input)?);
        }
        if effects.iter().any(|effect| !matches!(effect, Effect::Tell(_))) {
            self.journal.sync()?;
        }
        Ok(effects)
    }

    /// Waits for the next inputs.
    async fn hear(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<StopOrder>,
        listener: &mut impl FnMut(Timestamp, &Told, &Scheduler),
    ) -> Vec<Input> {
        let mut inputs = Vec::new();
        while inputs.is_empty() {
            let wake = self.scheduler.next_wake().map(|moment| Duration::from_millis(moment.since(now())));
            tokio::select! {
                heard = self.crew.hear() => {
                    self.take(heard, &mut inputs, listener);
                    while inputs.len() < BATCH && let Some(heard) = self.crew.try_hear() {
                        self.take(heard, &mut inputs, listener);
                    }
                }
                Some(order) = orders.recv() => inputs.push(Input::Stop(order)),
                () = sleep(wake) => inputs.push(Input::Tick),
            }
        }
        inputs
    }

    fn take(&mut self, heard: Heard, inputs: &mut Vec<Input>, listener: &mut impl FnMut(Timestamp, &Told, &Scheduler)) {
        match self.crew.take(heard) {
            Taken::Input(input) => inputs.push(*input),
            Taken::Told(told) => listener(now(), &told, &self.scheduler),
            Taken::Nothing => {}
        }
    }

    async fn end(
        mut self,
        status: RunStatus,
        ended_at: Timestamp,
        listener: &mut impl FnMut(Timestamp, &Told, &Scheduler),
    ) -> Result<Outcome, Error> {
        self.journal.sync()?;
        self.activity.flush()?;
        for told in self.crew.finish(status).await {
            listener(now(), &told, &self.scheduler);
        }
        Ok(Outcome { status, scheduler: self.scheduler, ended_at })
    }
}

/// Sleeps so long, or for ever.
async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
