//! Hears an agent's log line by line while it grows, however much it prints at once.

use super::Heard;
use crate::agent::OutputFormat;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tm_scheduler::Timestamp;

/// So much is read at once.
const PIECE_BYTES: u64 = 256 * 1024;
/// So much is heard at one look, so that whoever else is waited for is not kept waiting.
const MOST_AT_ONCE: u64 = 4 * 1024 * 1024;
/// What is written faster than it can be heard is skipped once it is so much: no program prints events like that.
const MOST_BEHIND: u64 = 64 * 1024 * 1024;
/// A line that is longer is skipped: no event is.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// An agent's log, and what was heard of it.
#[derive(Debug)]
pub(in crate::agent) struct Listener {
    format: OutputFormat,
    offset: u64,
    unfinished: Vec<u8>,
    /// The unfinished line is longer than the longest, and not kept.
    is_skipping: bool,
    heard: Heard,
}

impl Listener {
    /// Begins at the start of a log.
    pub(in crate::agent) fn new(format: OutputFormat) -> Self {
        Self { format, offset: 0, unfinished: Vec::new(), is_skipping: false, heard: Heard::default() }
    }

    /// Hears what has been written since; a log that is not there says nothing.
    pub(in crate::agent) fn listen(&mut self, log: &Path, now: Timestamp) -> &Heard {
        self.hear(log, MOST_AT_ONCE, now);
        &self.heard
    }

    fn hear(&mut self, log: &Path, most: u64, now: Timestamp) {
        let Ok(mut file) = tm_untrusted::open(log) else { return };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length.saturating_sub(self.offset) > MOST_BEHIND {
            self.offset = length - MOST_BEHIND / 4;
            self.unfinished.clear();
            self.is_skipping = true;
        }
        if file.seek(SeekFrom::Start(self.offset)).is_err() {
            return;
        }
        let end = self.offset.saturating_add(most);
        let mut piece = Vec::new();
        while self.offset < end
            && let Ok(bytes @ 1..) = file.by_ref().take(PIECE_BYTES).read_to_end(&mut piece)
        {
            self.offset += bytes as u64;
            self.take(&piece, now);
            piece.clear();
        }
    }

    /// Hears the rest, the unfinished line too.
    pub(in crate::agent) fn finish(mut self, log: &Path, now: Timestamp) -> Heard {
        self.hear(log, u64::MAX, now);
        self.end_line(now);
        self.heard
    }

    fn take(&mut self, bytes: &[u8], now: Timestamp) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Where the middle of a log was given back, zeros are read.
            let zeros = line.iter().take_while(|byte| **byte == 0).count();
            let line = &line[zeros..];
            if self.unfinished.len() + line.len() > LONGEST_LINE {
                self.is_skipping = true;
                self.unfinished.clear();
            }
            if !self.is_skipping {
                self.unfinished.extend_from_slice(line);
            }
            if line.ends_with(b"\n") {
                self.end_line(now);
            }
        }
    }

    fn end_line(&mut self, now: Timestamp) {
        let line = std::mem::take(&mut self.unfinished);
        if !std::mem::take(&mut self.is_skipping) && !line.is_empty() {
            self.heard.hear(&mut self.format, &String::from_utf8_lossy(&line), now);
        }
    }
}
