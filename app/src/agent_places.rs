//! Where agents of a run are that are not on this machine, as the run tells in its activity.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tm_executors::engine::Whereabouts;

/// So much of an activity log is read at once, in bytes.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// So much is told of a place, in characters.
const MOST_OF_PLACE: usize = 200;

/// What a run has told so far, by task and attempt.
#[derive(Debug, Default)]
pub struct AgentPlaces {
    read: u64,
    last: BTreeMap<(String, u64), Whereabouts>,
}

impl AgentPlaces {
    /// Reads what a run has told in its activity log since this was called last; tells whether some agent is elsewhere now.
    pub fn read_on(&mut self, activity: &Path) -> bool {
        // One that can't be read tells nothing, and may be there later.
        let told = self.told_since(activity).unwrap_or_default();
        let known = told.lines().filter_map(seen).map(|(of, seen)| {
            self.last.insert(of, seen);
        });
        known.count() > 0
    }

    /// Returns where an attempt is, or was last.
    pub fn of(&self, task: &str, attempt: u32) -> Option<&Whereabouts> {
        self.last.get(&(task.to_owned(), u64::from(attempt)))
    }

    /// The lines that are whole.
    fn told_since(&mut self, activity: &Path) -> io::Result<String> {
        if tm_untrusted::size(activity) <= self.read {
            return Ok(String::new());
        }
        let mut log = tm_untrusted::open(activity)?;
        log.seek(SeekFrom::Start(self.read))?;
        let mut told = Vec::new();
        log.take(MOST_BYTES).read_to_end(&mut told)?;
        let end = told.iter().rposition(|byte| *byte == b'\n');
        told.truncate(end.map_or(0, |at| at + 1));
        self.read += told.len() as u64;
        Ok(String::from_utf8_lossy(&told).into_owned())
    }
}

/// Where an event says that an attempt is.
fn seen(line: &str) -> Option<((String, u64), Whereabouts)> {
    if !line.contains("\"agent:waiting\"") && !line.contains("\"agent:placed\"") {
        return None;
    }
    let event: Value = serde_json::from_str(line).ok()?;
    let said = |field: &str| Some(tm_untrusted::line(event[field].as_str()?, MOST_OF_PLACE));
    let of = (
        event["task"].as_str()?.to_owned(),
        event["attempt"].as_u64()?,
    );
    let waits = || said("why").map(Whereabouts::Waiting);
    Some((of, said("place").map(Whereabouts::On).or_else(waits)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
    fn what_is_told_last_counts_and_half_a_line_waits_for_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let activity = folder.path().join("activity.jsonl");
        let waiting = "{\"ts\":\"x\",\"event\":\"agent:waiting\",\"task\":\"1\",\"attempt\":2,\"why\":\"Resources\"}\n";
        let placed = "{\"ts\":\"x\",\"event\":\"agent:placed\",\"task\":\"1\",\"attempt\":2,\"place\":\"n1\"}\n";
        let mut places = AgentPlaces::default();
        assert!(!places.read_on(&activity), "there is nothing yet");
        std::fs::write(&activity, [waiting, &placed[..30]].concat()).expect("written");
        assert!(places.read_on(&activity));
        let waits = Whereabouts::Waiting("Resources".to_owned());
        assert_eq!(places.of("1", 2), Some(&waits));
        std::fs::write(&activity, [waiting, placed].concat()).expect("written");
        assert!(places.read_on(&activity));
        assert_eq!(places.of("1", 2), Some(&Whereabouts::On("n1".to_owned())));
        assert_eq!(places.of("1", 1), None);
        assert!(!places.read_on(&activity), "there is nothing new");
    }
}
