//! Carries out loops: performs the effects of one `Iteration` a tag, and feeds each what happened.
//!
//! What is progress, the end or a failure is decided in the scheduler; here is what touches agents, git, the backlog and
//! the progress file. Loops of several tags run beside each other, each in a worktree of its own, and are heard in one
//! place: what happens in each is told to people and written to `activity.jsonl`.

use crate::attempt::ConcurrentAttempts;
use crate::{Error, now};
pub use progress_file::{LoopHeader, ProgressFile};
use serde::Serialize;
pub use setup::{CutOff, LoopSetup, Place, SharedCost, clean_up, states};
pub use state::LoopState;
use std::sync::Arc;
use tag_loop::TagLoop;
use tm_scheduler::iteration::{Iteration, IterationFailure, IterationRecord, LoopStatus};
use tm_scheduler::{StopMode, Tag, Timestamp};
use tm_store::run::ActivityLog;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};

mod agent;
mod progress_file;
mod setup;
mod state;
mod tag_loop;

/// What the loop of a tag came to.
#[derive(Debug)]
pub struct TagLoopOutcome {
    /// The tag.
    pub tag: Tag,
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

/// Carries out the loops of several tags until all are over; a stop reaches every one of them.
///
/// # Errors
/// A durable file can't be written. Loops that are under way then are stopped with their agents.
pub async fn run_loops(
    tag_loops: Vec<LoopSetup>,
    mut stops: mpsc::UnboundedReceiver<StopMode>,
    mut tell: impl FnMut(&TaggedLoopEvent),
) -> Result<Vec<TagLoopOutcome>, Error> {
    let Some(first) = tag_loops.first() else {
        return Ok(Vec::new());
    };
    let mut activity = ActivityLog::open(&first.directory.activity())?;
    let (stop, stopping) = watch::channel(false);
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (mut running, concurrent) = (JoinSet::new(), Arc::<ConcurrentAttempts>::default());
    for setup in tag_loops {
        let teller = Teller {
            tag: setup.tag.clone(),
            sender: sender.clone(),
        };
        teller.tell(LoopEvent::Started {
            loop_id: setup.id.to_string(),
            prompt: setup.prompt.name.clone(),
            iterations: setup.limits.iterations.get(),
            branch: setup.place.branch(),
            sandbox: setup.sandbox.clone(),
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
        let why = |error: JoinError| Error::TagLoopLost {
            why: error.to_string(),
        };
        outcomes.push(joined.map_err(why)??);
    }
    outcomes.sort_by(|left, right| left.tag.cmp(&right.tag));
    Ok(outcomes)
}

/// Tells what happens in the loop of a tag.
#[derive(Clone, Debug)]
struct Teller {
    tag: Tag,
    sender: mpsc::UnboundedSender<TaggedLoopEvent>,
}

impl Teller {
    fn tell(&self, event: LoopEvent) {
        let event = TaggedLoopEvent {
            at: now(),
            tag: self.tag.clone(),
            event,
        };
        // Nobody listens once the whole loop is given up.
        let _nobody_listens = self.sender.send(event);
    }

    fn warn(&self, message: String) {
        self.tell(LoopEvent::Warning { message });
    }
}

fn write_down(activity: &mut ActivityLog, told: &TaggedLoopEvent) -> Result<(), Error> {
    if !matches!(told.event, LoopEvent::Output(_)) {
        activity.append(told.at, told)?;
        activity.flush()?;
    }
    Ok(())
}

/// Something that happened in the loop of a tag, as a line of `activity.jsonl`, which has the moment besides.
#[derive(Debug, Serialize)]
pub struct TaggedLoopEvent {
    /// When.
    #[serde(skip)]
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: LoopEvent,
    /// Of which tag.
    pub tag: Tag,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event")]
pub enum LoopEvent {
    /// A loop began.
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
        /// How its agents are held, where they are.
        sandbox: Option<String>,
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
    /// A loop is over.
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
