//! All lanes of a loop beside each other, heard in one place.

use super::tag_loop::TagLoop;
use super::{LoopEvent, LoopSetup, TaggedLoopEvent};
use crate::attempt::ConcurrentAttempts;
use crate::{Error, now};
use std::sync::Arc;
use tm_scheduler::iteration::{Iteration, LoopStatus};
use tm_scheduler::{StopMode, Tag, Timestamp};
use tm_store::run::ActivityLog;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

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
        let events = tagged(setup.lane.clone(), sender.clone());
        let _nobody_listens = events.send(LoopEvent::Started {
            loop_id: setup.id.to_string(),
            prompt: setup.prompt.name(),
            iterations: setup.limits.iterations.get(),
            branch: setup.place.branch(),
        });
        let stopping = stopping.clone();
        running.spawn(TagLoop::new(setup, Arc::clone(&concurrent), events).run(stopping));
    }
    drop(sender);
    let mut heard = |event: TaggedLoopEvent, activity: &mut ActivityLog| -> Result<(), Error> {
        write_down(activity, &event)?;
        tell(&event);
        Ok(())
    };
    let mut outcomes = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = stops.recv() => drop(stop.send_replace(true)),
            event = receiver.recv() => match event {
                Some(event) => heard(event, &mut activity)?,
                None => break,
            },
        }
    }
    while let Some(joined) = running.join_next().await {
        outcomes.push(joined.map_err(|error| Error::LaneLost {
            why: error.to_string(),
        })??);
    }
    outcomes.sort_by(|left, right| left.lane.cmp(&right.lane));
    Ok(outcomes)
}

/// Returns a sender of events that are told as those of a lane.
fn tagged(
    lane: Tag,
    sender: mpsc::UnboundedSender<TaggedLoopEvent>,
) -> mpsc::UnboundedSender<LoopEvent> {
    let (events, mut receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = receiver.recv().await {
            let event = TaggedLoopEvent {
                at: now(),
                lane: lane.clone(),
                event,
            };
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    events
}

/// An event as a line of `activity.jsonl`.
#[derive(serde::Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    event: &'a LoopEvent,
    tag: &'a Tag,
}

fn write_down(activity: &mut ActivityLog, event: &TaggedLoopEvent) -> Result<(), Error> {
    if matches!(event.event, LoopEvent::Output(_)) {
        return Ok(());
    }
    activity.append(
        event.at,
        &Line {
            event: &event.event,
            tag: &event.lane,
        },
    )?;
    Ok(activity.flush()?)
}
