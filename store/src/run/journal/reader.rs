//! Reads a journal back: each record that was written, or an error, and never one that was not.

use super::{JournalEnd, MOST_BYTES, OLDEST_VERSION, VERSION, checksum};
use crate::Error;
use crate::run::directory::TASKS;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::io::ErrorKind;
use std::path::Path;
use tm_scheduler::Timestamp;

/// All that a journal holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JournalContents<H, R> {
    /// What the journal was created with.
    pub header: H,
    /// The records in the order they were appended.
    pub records: Vec<JournalRecord<R>>,
    /// Where to go on.
    pub end: JournalEnd,
    /// The last line, when a crash left only a part of it.
    pub torn: Option<TornLine>,
}

/// A record and when it was appended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JournalRecord<R> {
    /// The time that was given with it.
    pub at: Timestamp,
    /// The record.
    pub record: R,
}

/// A last line that was written in part, and is left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TornLine {
    /// The line, counted from 1.
    pub line: usize,
    /// How many bytes of it there are.
    pub length: u64,
}

/// Reads the journal at `path`.
///
/// A last line that has no line break or is no JSON is dropped and reported. Any other damage is
/// [`Error::JournalDamaged`], another format [`Error::JournalVersion`], and a journal whose first line was never
/// finished [`Error::JournalUnstarted`]: nothing can have happened in its run. So is one that is not there, in the folder
/// of a run without attempts; where there are some, somebody removed it.
pub fn read_journal<H: DeserializeOwned, R: DeserializeOwned>(
    path: &Path,
) -> Result<JournalContents<H, R>, Error> {
    let bytes = tm_untrusted::read(path, MOST_BYTES).or_else(|error| match error.kind() {
        ErrorKind::NotFound if has_no_attempts(path) => Ok(Vec::new()),
        _ => Err(Error::read(path)(error)),
    })?;
    parse_journal(path, &bytes)
}

fn has_no_attempts(journal: &Path) -> bool {
    journal
        .with_file_name(TASKS)
        .read_dir()
        .is_ok_and(|mut tasks| tasks.next().is_none())
}

/// Reads the bytes of the journal at `path`.
pub(super) fn parse_journal<H, R>(path: &Path, bytes: &[u8]) -> Result<JournalContents<H, R>, Error>
where
    H: DeserializeOwned,
    R: DeserializeOwned,
{
    let damaged = |line, why| Error::JournalDamaged {
        path: path.to_path_buf(),
        line,
        why,
    };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').zip(1..);
    let Some(first) = lines.next().and_then(|(line, _)| line.strip_suffix(b"\n")) else {
        return Err(Error::JournalUnstarted {
            path: path.to_path_buf(),
        });
    };
    let version = readable_version(path, first)?;
    let header = parse_header(first).map_err(|why| damaged(1, why))?;
    let end = JournalEnd {
        version,
        length: first.len() as u64 + 1,
        next_sequence: 1,
    };
    let mut contents = JournalContents {
        header,
        records: Vec::new(),
        end,
        torn: None,
    };
    for (bytes_of_line, line) in lines {
        let length = bytes_of_line.len() as u64;
        let is_last = contents.end.length + length == bytes.len() as u64;
        match parse_record(bytes_of_line, contents.end.next_sequence) {
            Ok(record) => contents.push(record, length),
            Err(LineFault::Torn(_)) if is_last => contents.torn = Some(TornLine { line, length }),
            Err(LineFault::Torn(why) | LineFault::Wrong(why)) => return Err(damaged(line, why)),
        }
    }
    Ok(contents)
}

impl<H, R> JournalContents<H, R> {
    fn push(&mut self, record: JournalRecord<R>, length: u64) {
        self.records.push(record);
        self.end.length += length;
        self.end.next_sequence += 1;
    }
}

/// What is wrong with a line.
enum LineFault {
    /// It is no whole line, which a crash explains when it is the last one.
    Torn(String),
    /// It is a whole line, but not one that was written there.
    Wrong(String),
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine<'a> {
    version: u64,
    #[serde(borrow)]
    crc: &'a str,
    #[serde(borrow)]
    header: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine<'a> {
    at: Timestamp,
    seq: u64,
    #[serde(borrow)]
    crc: &'a str,
    #[serde(borrow)]
    record: &'a RawValue,
}

/// Returns the version, which is asked before anything else of the line, since nothing else is known to stay.
fn readable_version(path: &Path, first_line: &[u8]) -> Result<u64, Error> {
    let path = path.to_path_buf();
    match serde_json::from_slice(first_line) {
        Ok(AnyVersion {
            version: version @ OLDEST_VERSION..=VERSION,
        }) => Ok(version),
        Ok(AnyVersion { version: found }) => Err(Error::JournalVersion {
            path,
            found,
            oldest: OLDEST_VERSION,
            newest: VERSION,
        }),
        Err(error) => Err(Error::JournalDamaged {
            path,
            line: 1,
            why: format!("it is no journal's first line: {error}"),
        }),
    }
}

/// Returns the header of a first line as it was written.
pub(super) fn header_of(first_line: &[u8]) -> Result<&RawValue, String> {
    let line: HeaderLine<'_> =
        serde_json::from_slice(first_line).map_err(|error| error.to_string())?;
    if checksum(&[line.version], line.header.get().as_bytes()) != line.crc {
        return Err("its checksum does not match".to_owned());
    }
    Ok(line.header)
}

fn parse_header<H: DeserializeOwned>(first_line: &[u8]) -> Result<H, String> {
    serde_json::from_str(header_of(first_line)?.get())
        .map_err(|error| format!("the header is not understood: {error}"))
}

fn parse_record<R: DeserializeOwned>(
    line: &[u8],
    sequence: u64,
) -> Result<JournalRecord<R>, LineFault> {
    let whole = line
        .strip_suffix(b"\n")
        .ok_or_else(|| LineFault::Torn("it has no end".to_owned()))?;
    let line: RecordLine<'_> =
        serde_json::from_slice(whole).map_err(|error| LineFault::Torn(error.to_string()))?;
    let wrong = |why: String| Err(LineFault::Wrong(why));
    if checksum(&[line.at.0, line.seq], line.record.get().as_bytes()) != line.crc {
        return wrong("its checksum does not match".to_owned());
    }
    if line.seq != sequence {
        return wrong(format!(
            "it is number {}, and number {sequence} should follow",
            line.seq
        ));
    }
    match serde_json::from_str(line.record.get()) {
        Ok(record) => Ok(JournalRecord {
            at: line.at,
            record,
        }),
        Err(error) => wrong(format!("the record is not understood: {error}")),
    }
}
