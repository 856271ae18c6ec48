//! The log of events, one JSON object a line, for people and programs that follow a run.
//!
//! Tells, and is never read back: what a run needs to go on is in its journal.

use super::name::calendar_time;
use crate::Error;
use serde::Serialize;
use serde::ser::Error as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use tm_scheduler::Timestamp;

/// An activity log that is open for appending. Dropping it flushes.
#[derive(Debug)]
pub struct ActivityLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl ActivityLog {
    /// Opens the log at `path`, creates it when missing and removes the half line that a crash left at its end.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let open = || -> io::Result<File> {
            let file = tm_untrusted::append_private(path)?;
            drop_half_line(&file)?;
            Ok(file)
        };
        let file = open().map_err(Error::write(path))?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufWriter::new(file),
        })
    }

    /// Appends an event, see [`event_line`]; it may stay in memory until [`ActivityLog::flush`].
    pub fn append(&mut self, at: Timestamp, event: &impl Serialize) -> Result<(), Error> {
        let line = event_line(at, event).map_err(Error::serialize(&self.path))?;
        self.file
            .write_all(line.as_bytes())
            .map_err(Error::write(&self.path))
    }

    /// Hands everything over to the operating system.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.file.buffer().is_empty() {
            return Ok(());
        }
        tm_faults::check("activity: write")
            .and_then(|()| self.file.flush())
            .map_err(Error::write(&self.path))
    }
}

/// Returns the event as a line: `{"ts":"2026-11-21T01:45:12.345Z",…}` with the event's own fields after the time.
///
/// Fails when the event is not an object.
pub fn event_line(at: Timestamp, event: &impl Serialize) -> Result<String, serde_json::Error> {
    let fields = serde_json::to_string(event)?;
    let Some(fields) = fields.strip_prefix('{') else {
        return Err(serde_json::Error::custom("an event must be an object"));
    };
    let separator = if fields == "}" { "" } else { "," };
    Ok(format!(
        "{{\"ts\":\"{:.3}\"{separator}{fields}\n",
        calendar_time(at)
    ))
}

/// Cuts the file after its last line break.
fn drop_half_line(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut end = length;
    let mut block = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(block.len() as u64);
        let part = &mut block[..usize::try_from(end - start).expect("a block fits into memory")];
        file.read_exact_at(part, start)?;
        if let Some(position) = part.iter().rposition(|byte| *byte == b'\n') {
            end = start + position as u64 + 1;
            break;
        }
        end = start;
    }
    if end < length {
        file.set_len(end)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs::{self, OpenOptions};

    const AT: Timestamp = Timestamp(1_795_225_512_045);

    #[test]
    fn event_begins_with_its_time_in_utc() {
        let line = event_line(AT, &json!({"event": "task:started", "task": "1"})).unwrap();
        assert_eq!(
            line,
            "{\"ts\":\"2026-11-21T01:45:12.045Z\",\"event\":\"task:started\",\"task\":\"1\"}\n"
        );
        assert_eq!(
            event_line(Timestamp(0), &json!({})).unwrap(),
            "{\"ts\":\"1970-01-01T00:00:00.000Z\"}\n"
        );
    }

    #[test]
    fn event_that_is_no_object_is_refused() {
        for event in [json!(1), json!("a"), json!([1]), json!(null)] {
            assert!(event_line(AT, &event).is_err(), "{event}");
        }
    }

    #[test]
    fn log_goes_on_after_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.jsonl");
        for (half_line, number) in [
            (String::new(), 1),
            ("{\"ts".to_owned(), 2),
            ("x".repeat(9_000), 3),
        ] {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)
                .unwrap();
            file.write_all(half_line.as_bytes()).unwrap();
            let mut log = ActivityLog::open(&path).unwrap();
            log.append(AT, &json!({"event": number})).unwrap();
            log.flush().unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let events: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            events
                .iter()
                .map(|event| event["event"].as_i64().unwrap())
                .collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn log_of_half_a_line_alone_becomes_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.jsonl");
        crate::atomic::replace(&path, &[b'x'; 5_000]).unwrap();
        drop(ActivityLog::open(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn events_are_kept_back_until_the_flush() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("activity.jsonl");
        let mut log = ActivityLog::open(&path).unwrap();
        log.append(AT, &json!({"event": "run:started"})).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        log.flush().unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0);
    }
}
