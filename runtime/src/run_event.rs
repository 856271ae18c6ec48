//! What people may want to see of a run while it goes on.

use tm_scheduler::{Event, TaskId, Tokens};

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
    /// Nothing has happened for a second; the time has gone on.
    Pulse,
    /// What people may like to know, such as what else was written with a status.
    Note(String),
    /// Trouble that does not end anything, such as a backlog that can't be written now.
    Warning(String),
}
