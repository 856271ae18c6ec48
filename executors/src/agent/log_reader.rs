//! Reads a log that grows by whole lines: the one place that knows how far a log has been read.
//!
//! Does not know what a line says. Whoever prints faster than it can be read is caught up with, not waited for.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// So much is read at once, so that whoever else is waited for is not kept waiting.
const AT_ONCE: u64 = 4 * 1024 * 1024;
/// A line that is longer is skipped: no event is.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// A log, and up to where it has been read.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    offset: u64,
    /// More than this is never read; the beginning of it is skipped.
    most_behind: u64,
    /// The rest of the line that the next read begins with is left out.
    is_within_line: bool,
}

/// Whether a log still grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogEnd {
    /// Its last line may be half written.
    Growing,
    /// Nothing more comes.
    Final,
}

impl LogReader {
    /// Begins at the start of a log, which need not be there yet, and reads all of it.
    pub const fn new(path: PathBuf) -> Self {
        Self {
            path,
            offset: 0,
            most_behind: u64::MAX,
            is_within_line: false,
        }
    }

    /// Skips to the end of what is written between two reads once that is more than so many bytes; a quarter of them
    /// is read.
    #[must_use]
    pub fn at_most_behind(self, most_behind: u64) -> Self {
        Self {
            most_behind,
            ..self
        }
    }

    /// Returns the lines that have been finished since, with their ends; at the end, the unfinished one too. There may
    /// be more: nothing is returned once there is not.
    ///
    /// # Errors
    /// The log can't be read; one that is not there is empty.
    pub fn read(&mut self, end: LogEnd) -> io::Result<String> {
        loop {
            let before = self.offset;
            let read = match self.fresh(end) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
                read => read?,
            };
            if !read.is_empty() || self.offset == before {
                return Ok(read);
            }
        }
    }

    fn fresh(&mut self, end: LogEnd) -> io::Result<String> {
        let mut file = tm_untrusted::open(&self.path)?;
        let length = file.metadata()?.len();
        if length.saturating_sub(self.offset) > self.most_behind {
            self.offset = length - self.most_behind / 4;
            self.is_within_line = true;
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.by_ref().take(AT_ONCE).read_to_end(&mut bytes)?;
        if !bytes.contains(&b'\n') {
            file.take(LONGEST_LINE - AT_ONCE).read_to_end(&mut bytes)?;
        }
        let whole_lines = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let is_all = self.offset + bytes.len() as u64 >= length;
        let is_too_long = whole_lines == 0 && bytes.len() as u64 >= LONGEST_LINE;
        if is_too_long || is_all && end == LogEnd::Final {
            self.offset += bytes.len() as u64;
        } else {
            self.offset += whole_lines as u64;
            bytes.truncate(whole_lines);
        }
        let skipped = match (
            self.is_within_line,
            bytes.iter().position(|byte| *byte == b'\n'),
        ) {
            (false, _) => 0,
            (true, Some(line_end)) => line_end + 1,
            (true, None) => bytes.len(),
        };
        self.is_within_line =
            is_too_long || self.is_within_line && skipped == bytes.len() && !bytes.ends_with(b"\n");
        let kept = if is_too_long { &[] } else { &bytes[skipped..] };
        // Where the middle of a log was given back, zeros are read.
        Ok(String::from_utf8_lossy(kept).replace('\0', ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write as _;

    fn log() -> (tempfile::TempDir, PathBuf, File) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let file = File::create(&path).expect("a log");
        (folder, path, file)
    }

    impl LogReader {
        fn text(&mut self, end: LogEnd) -> String {
            self.read(end).expect("a log")
        }
    }

    #[test]
    fn whole_lines_are_read_once_and_the_rest_at_the_end() {
        let (_folder, path, mut file) = log();
        let mut reader = LogReader::new(path);
        assert_eq!(reader.text(LogEnd::Growing), "");
        file.write_all(b"one\ntwo\nthr").expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "one\ntwo\n");
        assert_eq!(reader.text(LogEnd::Growing), "");
        file.write_all(b"ee\n\0\0four").expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "three\n");
        assert_eq!(reader.text(LogEnd::Final), "four");
        assert_eq!(reader.text(LogEnd::Final), "");
        assert_eq!(
            LogReader::new("/nowhere/at/all".into()).text(LogEnd::Final),
            ""
        );
    }

    #[test]
    fn who_is_too_far_behind_goes_on_with_the_next_whole_line() {
        let (_folder, path, mut file) = log();
        let mut reader = LogReader::new(path).at_most_behind(100);
        file.write_all(&b"123456789\n".repeat(10)).expect("written");
        assert_eq!(reader.text(LogEnd::Growing).lines().count(), 10);
        file.write_all(&b"123456789\n".repeat(11)).expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "123456789\n123456789\n");
    }

    #[test]
    fn a_line_that_is_longer_than_any_event_is_skipped_however_it_comes() {
        let (_folder, path, mut file) = log();
        let mut reader = LogReader::new(path);
        let part = vec![b'x'; usize::try_from(LONGEST_LINE).expect("it fits") - 1];
        file.write_all(&part).expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "", "it may still end");
        file.write_all(b"xxx").expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "");
        file.write_all(b"xxx\nthe next\nlast").expect("written");
        assert_eq!(reader.text(LogEnd::Growing), "the next\n");
        assert_eq!(reader.text(LogEnd::Final), "last");
    }
}
