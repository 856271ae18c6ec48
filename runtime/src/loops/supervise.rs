//! All loops of tags beside each other, heard in one place; what happens in each is told to people and written to
//! `activity.jsonl`.

use super::LoopSetup;
use super::tag_loop::TagLoop;
use crate::attempt::ConcurrentAttempts;
use crate::{Error, now};
use serde::Serialize;
use std::sync::Arc;
use tm_scheduler::iteration::{Iteration, IterationFailure, IterationRecord, LoopStatus};
use tm_scheduler::{StopMode, Tag, Timestamp};
use tm_store::run::ActivityLog;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

/// What a lane came to.
#[derive(Debug)]
pub struct TagLoopOutcome {
    /// The lane.
    pub lane: Tag,
    /// Its machine, with every record.
    pub machine: Iteration,
    /// How it ended.
    pub status: LoopStatus,
    /// Why.
    pub reason: String,
    /// The branch that its work is on, when that is one of tm's.
    pub branch: Option<String>,
    /// The progress file.
    pub progress_file: String,
    /// When it was over.
    pub ended_at: Timestamp,
}

/// Carries out lanes that share a loop until all are over; a stop reaches every one of them.
///
/// # Errors
/// A durable file can't be written. Lanes that are under way then are stopped with their agents.
pub async fn run_loops(
    lanes: Vec<LoopSetup>,
    mut stops: mpsc::UnboundedReceiver<StopMode>,
    mut tell: impl FnMut(&TaggedLoopEvent),
) -> Result<Vec<TagLoopOutcome>, Error> {
    let Some(first) = lanes.first() else {
        return Ok(Vec::new());
    };
    let mut activity = ActivityLog::open(&first.directory.activity())?;
    let (stop, stopping) = watch::channel(false);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (mut running, concurrent) = (JoinSet::new(), Arc::<ConcurrentAttempts>::default());
    for setup in lanes {
        let teller = Teller {
            tag: setup.lane.clone(),
            sender: sender.clone(),
        };
        teller.tell(LoopEvent::Started {
            loop_id: setup.id.to_string(),
            prompt: setup.prompt.name(),
            iterations: setup.limits.iterations.get(),
            branch: setup.place.branch(),
        });
        let tag_loop = TagLoop::new(setup, Arc::clone(&concurrent), teller);
        running.spawn(tag_loop.run(stopping.clone()));
    }
    drop(sender);
    loop {
        tokio::select! {
            biased;
            Some(_) = stops.recv() => drop(stop.send_replace(true)),
            event = receiver.recv() => {
                let Some(event) = event else { break };
                write_down(&mut activity, &event)?;
                tell(&event);
            }
        }
    }
    let mut outcomes = Vec::new();
    while let Some(joined) = running.join_next().await {
        let why = |error: JoinError| Error::LaneLost {
            why: error.to_string(),
        };
        outcomes.push(joined.map_err(why)??);
    }
    outcomes.sort_by(|left, right| left.lane.cmp(&right.lane));
    Ok(outcomes)
}

/// Tells what happens in the loop of a tag.
#[derive(Clone, Debug)]
pub(super) struct Teller {
    tag: Tag,
    sender: mpsc::UnboundedSender<TaggedLoopEvent>,
}

impl Teller {
    pub(super) fn tell(&self, event: LoopEvent) {
        let event = TaggedLoopEvent {
            at: now(),
            lane: self.tag.clone(),
            event,
        };
        // Nobody listens once the whole loop is given up.
        let _nobody_listens = self.sender.send(event);
    }

    pub(super) fn warn(&self, message: String) {
        self.tell(LoopEvent::Warning { message });
    }
}

/// An event as a line of `activity.jsonl`.
#[derive(serde::Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a LoopEvent,
    tag: &'a Tag,
}

fn write_down(activity: &mut ActivityLog, told: &TaggedLoopEvent) -> Result<(), Error> {
    let TaggedLoopEvent {
        at,
        lane: tag,
        event,
    } = told;
    if !matches!(event, LoopEvent::Output(_)) {
        activity.append(*at, &Line { event, tag })?;
        activity.flush()?;
    }
    Ok(())
}

/// Something that happened in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct TaggedLoopEvent {
    /// When.
    pub at: Timestamp,
    /// In which lane.
    pub lane: Tag,
    /// What.
    pub event: LoopEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum LoopEvent {
    /// A lane began.
    #[serde(rename = "loop:started")]
    Started {
        /// The loop.
        loop_id: String,
        /// The preset, or the path of the prompt.
        prompt: String,
        /// How many iterations it may use.
        iterations: u32,
        /// The branch that it works on, when that is one of tm's.
        branch: Option<String>,
    },
    /// An agent is started.
    #[serde(rename = "iteration:started")]
    IterationStarted {
        /// The iteration.
        iteration: u32,
        /// The last one there can be.
        last: u32,
        /// The try at it.
        attempt: u32,
    },
    /// What the agent prints, line by line; not written down, its log holds it.
    #[serde(skip)]
    Output(String),
    /// The tests are run.
    #[serde(rename = "test:run")]
    Verifying {
        /// The command.
        command: String,
    },
    /// An iteration, or a try that does not count, is over.
    #[serde(rename = "iteration:ended")]
    IterationEnded {
        /// What it came to.
        #[serde(flatten)]
        record: Box<IterationRecord>,
    },
    /// The loop waits.
    #[serde(rename = "loop:waiting")]
    Waiting {
        /// Until when.
        until: Timestamp,
        /// The failure that is waited out.
        failure: Option<IterationFailure>,
    },
    /// A lane is over.
    #[serde(rename = "loop:ended")]
    Ended {
        /// How.
        status: LoopStatus,
        /// Why.
        reason: String,
        /// Tasks that became done.
        tasks_completed: usize,
    },
    /// Trouble that does not end anything.
    #[serde(rename = "warning")]
    Warning {
        /// What.
        message: String,
    },
}
