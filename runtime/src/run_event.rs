//! What people may want to see of a run while it goes on.

use crate::PlaceNews;
use serde_json::{Value, json};
use tm_executors::engine::Whereabouts;
use tm_scheduler::{AttemptNumber, Event, TaskId, Tokens};

/// Something that people may want to see.
#[derive(Debug)]
pub enum RunEvent {
    /// An event of the run.
    Event(Event),
    /// What an agent printed last.
    Output {
        /// The task.
        task: TaskId,
        /// The line.
        line: String,
        /// Tokens of its attempt so far, when it reports them.
        tokens: Option<Tokens>,
    },
    /// A checkout was made ready by the commands of the settings.
    Setup {
        /// Which one, in words.
        place: String,
        /// How long that took in milliseconds.
        took_ms: u64,
    },
    /// Tests of a task's work wait for a place, or go on.
    Place {
        /// The task.
        task: TaskId,
        /// What is to be said of it.
        news: PlaceNews,
    },
    /// An agent waits for a place on another machine, or runs on one.
    Whereabouts {
        /// The task.
        task: TaskId,
        /// Which attempt at it.
        attempt: AttemptNumber,
        /// Where it is.
        whereabouts: Whereabouts,
    },
    /// Nothing has happened for a second; the time has gone on.
    Pulse,
    /// What people may like to know, such as what else was written with a status.
    Note(String),
    /// Trouble that does not end anything, such as a backlog that can't be written now.
    Warning(String),
}

impl RunEvent {
    /// Returns what `activity.jsonl` and `--json` say of what steps notice, apart from events of the scheduler, which are
    /// said as they are; `None` for what nobody looks up later.
    pub fn noticed(&self) -> Option<Value> {
        match self {
            Self::Setup { place, took_ms } => {
                Some(json!({"event": "setup:done", "place": place, "took_ms": took_ms}))
            }
            Self::Place { task, news } => Some(json!({"event": news.as_str(), "task": task})),
            Self::Whereabouts {
                task,
                attempt,
                whereabouts,
            } => Some(match whereabouts {
                Whereabouts::Waiting(why) => {
                    json!({"event": "agent:waiting", "task": task, "attempt": attempt, "why": why})
                }
                Whereabouts::On(place) => {
                    json!({"event": "agent:placed", "task": task, "attempt": attempt, "place": place})
                }
            }),
            Self::Warning(warning) => Some(json!({"event": "warning", "message": warning})),
            Self::Note(note) => Some(json!({"event": "note", "message": note})),
            Self::Event(_) | Self::Output { .. } | Self::Pulse => None,
        }
    }
}
