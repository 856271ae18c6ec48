//! Hears an agent's log line by line while it grows, however much it prints at once.

use super::StreamState;
use crate::agent::{LogEnd, LogReader};
use std::path::Path;
use tm_scheduler::{OutputFormat, Timestamp};

/// What is written faster than it can be heard is skipped once it is so much: no program prints events like that.
const MOST_BEHIND: u64 = 64 * 1024 * 1024;

/// An agent's log, and what was heard of it.
#[derive(Debug)]
pub(in crate::agent) struct Listener {
    format: OutputFormat,
    log: LogReader,
    heard: StreamState,
}

impl Listener {
    /// Begins at the start of a log.
    pub(in crate::agent) fn new(format: OutputFormat, log: &Path) -> Self {
        Self {
            format,
            log: LogReader::new(log.to_owned()).at_most_behind(MOST_BEHIND),
            heard: StreamState::default(),
        }
    }

    /// Hears what has been written since; a log that is not there says nothing.
    pub(in crate::agent) fn listen(&mut self, now: Timestamp) -> &StreamState {
        self.hear(LogEnd::Growing, now);
        &self.heard
    }

    /// Hears the rest, the unfinished line too.
    pub(in crate::agent) fn finish(mut self, now: Timestamp) -> StreamState {
        while self.hear(LogEnd::Final, now) {}
        self.heard
    }

    /// Tells whether there was something to hear.
    fn hear(&mut self, end: LogEnd, now: Timestamp) -> bool {
        // A log that can't be read says nothing.
        let text = self.log.read(end).unwrap_or_default();
        text.lines()
            .for_each(|line| self.heard.hear(&mut self.format, line, now));
        !text.is_empty()
    }
}
