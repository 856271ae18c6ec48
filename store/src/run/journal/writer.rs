//! Appends to a journal: many records in memory, one write, one flush to disk.
//!
//! Knows nothing of when that must happen: who acts on a record that can't be undone calls `sync` before.

use super::reader::header_of;
use super::{JournalEnd, MOST_BYTES, VERSION, checksum};
use crate::Error;
use crate::atomic::{folder_of, replace_as_only_writer, sync_folder};
use serde::Serialize;
use serde::ser::Error as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tm_scheduler::Timestamp;

/// As many bytes are kept in memory before they are written unasked.
const BUFFER: usize = 64 * 1024;

/// A journal that is open for appending. Dropping it writes what is still in memory, without a flush to disk.
#[derive(Debug)]
pub struct JournalWriter {
    path: PathBuf,
    file: File,
    /// Where the next write goes; a write that failed half-way is done again at the same place.
    end: JournalEnd,
    unwritten: Vec<u8>,
    /// One record as JSON; kept for its memory.
    json: Vec<u8>,
    durability: Durability,
}

/// Whether what was written is on disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Durability {
    /// It is.
    Synced,
    /// It is with the operating system.
    Unsynced,
    /// A flush failed. The kernel may count the pages as clean then, so a later success would mean nothing.
    Unknown,
}

impl JournalWriter {
    /// Creates the journal with its header, which is on disk when this returns; an existing file is an error.
    pub fn create(path: &Path, header: &impl Serialize) -> Result<Self, Error> {
        let mut writer = Self::begin(path, header)?;
        writer.sync()?;
        sync_folder(folder_of(path)).map_err(Error::write(path))?;
        Ok(writer)
    }

    /// Creates the journal with its header still in memory.
    pub(super) fn begin(path: &Path, header: &impl Serialize) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(Error::write(path))?;
        let mut writer = Self::new(
            path,
            file,
            JournalEnd {
                version: VERSION,
                length: 0,
                next_sequence: 1,
            },
        );
        writer.put_json(header)?;
        let checksum = checksum(&[VERSION], &writer.json);
        writer.put_line(format_args!(
            "{{\"version\":{VERSION},\"crc\":\"{checksum}\",\"header\":"
        ));
        // It has the whole plan, and no record is nearly as long.
        writer.json = Vec::new();
        Ok(writer)
    }

    /// Goes on where reading ended, and cuts off the torn line behind it. A journal of an older version becomes one of
    /// this version first, whole or not at all: what is appended may be nothing that the older one knows.
    pub fn append_to(path: &Path, end: JournalEnd) -> Result<Self, Error> {
        let end = if end.version == VERSION {
            end
        } else {
            raise(path, end)?
        };
        let file = tm_untrusted::open_writable(path).map_err(Error::write(path))?;
        let mut writer = Self::new(path, file, end);
        writer.cut().map_err(Error::write(path))?;
        Ok(writer)
    }

    fn new(path: &Path, file: File, end: JournalEnd) -> Self {
        let (path, durability) = (path.to_path_buf(), Durability::Synced);
        Self {
            path,
            file,
            end,
            unwritten: Vec::new(),
            json: Vec::new(),
            durability,
        }
    }

    /// Appends a record; it may stay in memory until [`JournalWriter::flush`] or [`JournalWriter::sync`].
    pub fn append(&mut self, at: Timestamp, record: &impl Serialize) -> Result<(), Error> {
        self.put_json(record)?;
        let (at, sequence) = (at.0, self.end.next_sequence);
        let checksum = checksum(&[at, sequence], &self.json);
        self.put_line(format_args!(
            "{{\"at\":{at},\"seq\":{sequence},\"crc\":\"{checksum}\",\"record\":"
        ));
        self.end.next_sequence += 1;
        if self.unwritten.len() >= BUFFER {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Hands everything over to the operating system, where it survives the end of this process. After an error it can
    /// be tried again.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        if self.durability == Durability::Synced {
            self.durability = Durability::Unsynced;
        }
        let written = tm_faults::check("journal: write")
            .and_then(|()| self.file.write_all_at(&self.unwritten, self.end.length));
        written.map_err(Error::write(&self.path))?;
        tm_faults::point("journal: written");
        self.end.length += self.unwritten.len() as u64;
        self.unwritten.clear();
        self.unwritten.shrink_to(BUFFER);
        Ok(())
    }

    /// Brings everything to disk, where it survives a power loss; does nothing when nothing is new.
    ///
    /// Once a flush to disk has failed, every later one fails too, since nobody can say what is on disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        let synced = match self.durability {
            Durability::Synced => Ok(()),
            Durability::Unsynced => {
                tm_faults::check("journal: sync").and_then(|()| self.file.sync_data())
            }
            Durability::Unknown => Err(io::Error::other("an earlier flush to disk failed")),
        };
        self.durability = if synced.is_ok() {
            Durability::Synced
        } else {
            Durability::Unknown
        };
        synced.map_err(Error::write(&self.path))
    }

    /// Turns a value into one line of JSON.
    fn put_json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.json.clear();
        let mut written = serde_json::to_writer(&mut self.json, value);
        if self.json.contains(&b'\n') {
            // Only JSON text that was passed through unread can hold one.
            written = Err(serde_json::Error::custom(
                "a journal line must not hold a line break",
            ));
        }
        written.map_err(Error::serialize(&self.path))
    }

    /// Appends a line that ends with the last value that was turned into JSON.
    fn put_line(&mut self, start: std::fmt::Arguments<'_>) {
        self.unwritten
            .write_fmt(start)
            .expect("writing to memory can't fail");
        self.unwritten.extend_from_slice(&self.json);
        self.unwritten.extend_from_slice(b"}\n");
    }

    fn cut(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.end.length {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "shorter than when it was read",
            ));
        }
        if length > self.end.length {
            self.file.set_len(self.end.length)?;
            self.durability = Durability::Unsynced;
        }
        Ok(())
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            tracing::warn!(%error, "the end of the journal is lost");
        }
    }
}

/// Gives a journal a first line of this version; the records stay as they are.
fn raise(path: &Path, end: JournalEnd) -> Result<JournalEnd, Error> {
    let damaged = |why| Error::JournalDamaged {
        path: path.to_path_buf(),
        line: 1,
        why,
    };
    let bytes = tm_untrusted::read(path, MOST_BYTES).map_err(Error::read(path))?;
    let whole = usize::try_from(end.length)
        .ok()
        .and_then(|length| bytes.get(..length));
    let (first, records) = whole
        .and_then(|whole| whole.split_at_checked(whole.iter().position(|byte| *byte == b'\n')?))
        .ok_or_else(|| damaged("it is shorter than it was".to_owned()))?;
    let header = header_of(first).map_err(damaged)?.get();
    let checksum = checksum(&[VERSION], header.as_bytes());
    let mut raised =
        format!("{{\"version\":{VERSION},\"crc\":\"{checksum}\",\"header\":{header}}}")
            .into_bytes();
    raised.extend_from_slice(records);
    replace_as_only_writer(path, &raised).map_err(Error::write(path))?;
    Ok(JournalEnd {
        version: VERSION,
        length: raised.len() as u64,
        ..end
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{JournalContents, read_journal};
    use std::fs;
    use tempfile::TempDir;

    fn journal() -> (TempDir, PathBuf, JournalWriter) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let writer = JournalWriter::create(&path, &"header").unwrap();
        (folder, path, writer)
    }

    fn records(path: &Path) -> Vec<String> {
        let contents: JournalContents<String, String> = read_journal(path).unwrap();
        contents
            .records
            .into_iter()
            .map(|line| line.record)
            .collect()
    }

    #[test]
    fn records_are_kept_back_until_the_flush() {
        let (_folder, path, mut writer) = journal();
        let header = fs::metadata(&path).unwrap().len();
        writer.append(Timestamp(1), &"a").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), header);
        writer.flush().unwrap();
        assert_eq!(records(&path), ["a"]);
    }

    #[test]
    fn full_buffer_is_written_unasked() {
        let (_folder, path, mut writer) = journal();
        writer.append(Timestamp(1), &"a".repeat(BUFFER)).unwrap();
        assert_eq!(records(&path).len(), 1);
    }

    #[test]
    fn dropped_writer_has_written_everything() {
        let (_folder, path, mut writer) = journal();
        writer.append(Timestamp(1), &"a").unwrap();
        drop(writer);
        assert_eq!(records(&path), ["a"]);
    }

    #[test]
    fn existing_journal_is_never_begun_anew() {
        let (_folder, path, mut writer) = journal();
        writer.append(Timestamp(1), &"a").unwrap();
        writer.sync().unwrap();
        let error = JournalWriter::create(&path, &"other").unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
        assert_eq!(records(&path), ["a"]);
    }

    #[test]
    fn record_that_can_not_be_written_leaves_no_gap() {
        let (_folder, path, mut writer) = journal();
        let line_break = serde_json::value::RawValue::from_string("[1,\n2]".to_owned()).unwrap();
        assert!(matches!(
            writer.append(Timestamp(1), &line_break),
            Err(Error::Serialize { .. })
        ));
        let no_text_key = std::collections::BTreeMap::from([(vec![1], 1)]);
        assert!(matches!(
            writer.append(Timestamp(1), &no_text_key),
            Err(Error::Serialize { .. })
        ));
        writer.append(Timestamp(2), &"a").unwrap();
        writer.sync().unwrap();
        assert_eq!(records(&path), ["a"]);
    }

    #[test]
    fn journal_that_became_shorter_is_not_appended_to() {
        let (_folder, path, writer) = journal();
        let end = JournalEnd {
            length: writer.end.length + 1,
            ..writer.end
        };
        assert!(matches!(
            JournalWriter::append_to(&path, end),
            Err(Error::Write { .. })
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_lost_when_the_disk_was_full_for_a_while() {
        let (_folder, path, mut writer) = journal();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let real = std::mem::replace(&mut writer.file, full);
        writer.append(Timestamp(1), &"a").unwrap();
        writer.flush().unwrap_err();
        writer.append(Timestamp(2), &"b").unwrap();
        writer.sync().unwrap_err();
        writer.file = real;
        writer.flush().unwrap();
        assert_eq!(records(&path), ["a", "b"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_new_needs_no_flush_to_disk_and_a_failed_one_is_never_forgotten() {
        let (_folder, _path, mut writer) = journal();
        // It takes every write and refuses to flush.
        let null = OpenOptions::new().write(true).open("/dev/null").unwrap();
        let real = std::mem::replace(&mut writer.file, null);
        writer.sync().unwrap();
        writer.append(Timestamp(1), &"a").unwrap();
        writer.sync().unwrap_err();
        writer.file = real;
        writer.sync().unwrap_err();
        writer.append(Timestamp(2), &"b").unwrap();
        writer.sync().unwrap_err();
    }
}
