//! The journal of a run: every input of the scheduler with its time, appended and never changed.
//!
//! The first line is `{"version":5,"crc":…,"header":…}`, each further one `{"at":…,"seq":…,"crc":…,"record":…}` with
//! the time in milliseconds, a number that counts up from 1 and a CRC-32 of the line's values. What header and
//! records are is the business of whoever writes them; here they are anything that serde can write.

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::{JournalContents, JournalRecord, TornLine, read_journal};
pub use writer::JournalWriter;

/// The version of the format that is written, the newest that is read. 2 has records of more kinds: what others asked
/// of the live run, and walls of agents. A tm that reads 1 alone would take such a record for damage. In 3, records have
/// the meaning that the limits before them name; a tm that does not know of that would come to other states. 4 has records
/// of what will conflict, and limits that name newer rules, as those of 5 do.
const VERSION: u64 = 5;
/// The oldest version that is read. All of its records are in the newer ones too.
const OLDEST_VERSION: u64 = 1;

/// No journal is longer.
const MOST_BYTES: u64 = 4 << 30;

/// Where a journal goes on: after its last whole line. Of a run without a journal it says nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct JournalEnd {
    /// The version of the format.
    version: u64,
    length: u64,
    next_sequence: u64,
}

impl JournalEnd {
    /// Returns how many bytes of the file are whole lines.
    pub const fn length(self) -> u64 {
        self.length
    }
}

/// Returns the CRC-32 of the numbers and of what follows them, as eight hex digits.
fn checksum(numbers: &[u64], json: &[u8]) -> String {
    let mut hasher = crc32fast::Hasher::new();
    for number in numbers {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(json);
    format!("{:08x}", hasher.finalize())
}
