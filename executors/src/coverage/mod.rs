//! Reads how many lines tests cover, from the report that the test command wrote.
//!
//! Reports of runs before do not count: only files that are newer than the start of the command are read.

#[cfg(test)]
mod tests;

use crate::xml::{attribute, elements};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tm_scheduler::Coverage;

/// Covered lines and all lines.
type Lines = (u64, u64);

/// Where reports usually are, those of whole projects first; the end of the name tells the format.
const PLACES: &str = "coverage/coverage-summary.json coverage-summary.json coverage/lcov.info lcov.info \
    coverage/lcov-report/lcov.info target/llvm-cov/lcov.info coverage.lcov coverage.json \
    target/llvm-cov/coverage.json coverage/coverage.json coverage.xml cobertura.xml \
    coverage/cobertura-coverage.xml target/cobertura.xml";

/// So much of a report is read at the most.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The clock by which files are dated is this much coarser than the one that tells the time.
const COARSENESS: Duration = Duration::from_millis(20);

/// Returns what the report says that a command wrote into the worktree which began at `started`; `None` without one.
pub fn read(worktree: &Path, started: SystemTime) -> Option<Coverage> {
    PLACES.split_whitespace().find_map(|place| {
        let path = worktree.join(place);
        let bytes = std::fs::symlink_metadata(&path)
            .ok()?
            .modified()
            .is_ok_and(|modified| modified + COARSENESS >= started)
            .then(|| tm_untrusted::read_beneath(worktree, Path::new(place), MOST_BYTES).ok())
            .flatten()?;
        let text = String::from_utf8(bytes).ok()?;
        let lines = match path.extension()?.to_str()? {
            "json" => json(&text),
            "xml" => cobertura(&text),
            _ => lcov(&text),
        };
        let (covered, total) = lines.filter(|(covered, total)| covered <= total)?;
        Some(Coverage {
            covered,
            total,
            source: place.to_owned(),
        })
    })
}

/// The JSON of coverage.py, of llvm-cov, or the summary of istanbul, told apart by what is in it.
fn json(text: &str) -> Option<Lines> {
    let document: Value = serde_json::from_str(text).ok()?;
    let number = |place: &str| document.pointer(place)?.as_u64();
    [
        ("/totals/covered_lines", "/totals/num_statements"),
        ("/data/0/totals/lines/covered", "/data/0/totals/lines/count"),
        ("/total/lines/covered", "/total/lines/total"),
    ]
    .iter()
    .find_map(|(covered, total)| number(covered).zip(number(total)))
}

/// lcov's tracefiles, as geninfo, grcov, cargo-llvm-cov and istanbul write them. Lines of a file that is told of twice
/// count once, covered when either says so.
fn lcov(text: &str) -> Option<Lines> {
    let mut lines: BTreeMap<(&str, u64), bool> = BTreeMap::new();
    let mut file = None;
    let mut has_end = false;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = Some(path);
            has_end = false;
        } else if let Some((number, count)) = line
            .strip_prefix("DA:")
            .and_then(|data| data.split_once(','))
        {
            let count = count.split(',').next().unwrap_or_default();
            let (number, count): (u64, i64) = (number.parse().ok()?, count.parse().ok()?);
            *lines.entry((file?, number)).or_default() |= count > 0;
        } else if line == "end_of_record" {
            has_end = true;
        }
    }
    // A tracefile that ends within a record was cut off.
    has_end.then(|| counted(&lines))
}

/// Cobertura's XML, which coverage.py, gcovr, tarpaulin and many others write. Lines that are listed under methods as well
/// count once.
fn cobertura(text: &str) -> Option<Lines> {
    let mut lines: BTreeMap<(String, u64), bool> = BTreeMap::new();
    let (mut file, mut is_coverage) = (String::new(), false);
    let read = elements(text, |element| match element.name().as_ref() {
        "coverage" => is_coverage = true,
        "class" => file = attribute(element, "filename"),
        "line" => {
            let [number, hits] =
                ["number", "hits"].map(|name| attribute(element, name).parse::<u64>());
            if let (Ok(number), Ok(hits)) = (number, hits) {
                *lines.entry((file.clone(), number)).or_default() |= hits > 0;
            }
        }
        _ => {}
    });
    (read.is_ok() && is_coverage).then(|| counted(&lines))
}

fn counted<Line>(lines: &BTreeMap<Line, bool>) -> Lines {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    (
        count(lines.values().filter(|covered| **covered).count()),
        count(lines.len()),
    )
}
