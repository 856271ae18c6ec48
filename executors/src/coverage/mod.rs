//! Reads how many lines tests cover, from the report that the test command wrote.
//!
//! Reports of runs before do not count: only files that are newer than the start of the command are read.

mod json;
mod lcov;
#[cfg(test)]
mod tests;
mod xml;

use std::path::Path;
use std::time::{Duration, SystemTime};
use tm_scheduler::Coverage;

/// Covered lines and all lines.
type Lines = (u64, u64);

/// Reads one format; `None` for anything else.
type Reader = fn(&str) -> Option<Lines>;

/// Where reports usually are, those of whole projects first, and how each is read.
const PLACES: [(&str, Reader); 14] = [
    ("coverage/coverage-summary.json", json::istanbul_summary),
    ("coverage-summary.json", json::istanbul_summary),
    ("coverage/lcov.info", lcov::lcov),
    ("lcov.info", lcov::lcov),
    ("coverage/lcov-report/lcov.info", lcov::lcov),
    ("target/llvm-cov/lcov.info", lcov::lcov),
    ("coverage.lcov", lcov::lcov),
    ("coverage.json", json::any),
    ("target/llvm-cov/coverage.json", json::any),
    ("coverage/coverage.json", json::any),
    ("coverage.xml", xml::cobertura),
    ("cobertura.xml", xml::cobertura),
    ("coverage/cobertura-coverage.xml", xml::cobertura),
    ("target/cobertura.xml", xml::cobertura),
];

/// So much of a report is read at the most.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The clock by which files are dated is this much coarser than the one that tells the time.
const COARSENESS: Duration = Duration::from_millis(20);

/// Returns what the report says that a command wrote into the worktree which began at `started`; `None` without one.
pub fn read(worktree: &Path, started: SystemTime) -> Option<Coverage> {
    PLACES.iter().find_map(|(place, reader)| {
        let path = worktree.join(place);
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        let is_fresh = metadata
            .modified()
            .is_ok_and(|modified| modified + COARSENESS >= started);
        let bytes = is_fresh
            .then(|| tm_untrusted::read_beneath(worktree, Path::new(place), MOST_BYTES).ok())
            .flatten()?;
        let text = String::from_utf8(bytes).ok()?;
        let (covered, total) = reader(&text).filter(|(covered, total)| covered <= total)?;
        Some(Coverage {
            covered,
            total,
            source: (*place).to_owned(),
        })
    })
}
