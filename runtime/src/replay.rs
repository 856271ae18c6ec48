//! Rebuilds the state of a run from its journal; used to resume it, and to look at it while it is live.

use crate::{Error, JournalHeader};
use std::path::Path;
use tm_scheduler::{Input, Scheduler, Timestamp};
use tm_store::run::{JournalContents, JournalEnd, read_journal};

/// A run as its journal tells it.
#[derive(Debug)]
pub struct Replayed {
    /// What it was started with.
    pub header: JournalHeader,
    /// Where it stands.
    pub scheduler: Scheduler,
    /// When the last input came.
    pub last_input_at: Timestamp,
    /// Where the whole records end.
    pub end: JournalEnd,
    /// Whether a torn last line was left out.
    pub is_torn: bool,
}

/// Replays a journal.
///
/// # Errors
/// The journal can't be read, is damaged anywhere but in its last line, or tells of something that can't happen.
pub fn replay(path: &Path) -> Result<Replayed, Error> {
    let contents: JournalContents<JournalHeader, Input> = read_journal(path)?;
    let header = contents.header;
    let mut scheduler = Scheduler::new(header.plan.clone(), header.limits.clone());
    let mut last_input_at = header.started_at;
    for (position, entry) in contents.records.into_iter().enumerate() {
        last_input_at = entry.at;
        scheduler.handle(entry.at, entry.record).map_err(|source| Error::ImpossibleJournal {
            path: path.to_owned(),
            record: position + 1,
            source,
        })?;
    }
    Ok(Replayed { header, scheduler, last_input_at, end: contents.end, is_torn: contents.torn.is_some() })
}
