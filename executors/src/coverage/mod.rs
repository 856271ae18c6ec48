//! Reads how many lines tests cover, from the report that the test command wrote.
//!
//! Reports of runs before do not count: only files that are newer than the start of the command are read.

#[cfg(test)]
mod tests;

use crate::xml::{attribute, elements};
use serde::Deserialize;
use std::borrow::Cow;
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

/// The JSON of coverage.py, of llvm-cov, or the summary of istanbul, told apart by what is in it. Nothing but its sums is
/// held of a document that may name each line of a project.
fn json(text: &str) -> Option<Lines> {
    let Sums {
        totals,
        data,
        total,
    } = serde_json::from_str(text).ok()?;
    let of_python = totals.and_then(|totals| totals.covered_lines.zip(totals.num_statements));
    let of_llvm = || data.and_then(|[data]| data.totals?.lines?.of(|lines| lines.count));
    let of_istanbul = || total.and_then(|total| total.lines?.of(|lines| lines.total));
    of_python.or_else(of_llvm).or_else(of_istanbul)
}

#[derive(Deserialize)]
struct Sums {
    totals: Option<Totals>,
    data: Option<[OfData; 1]>,
    total: Option<Totals>,
}

#[derive(Deserialize)]
struct OfData {
    totals: Option<Totals>,
}

#[derive(Deserialize)]
struct Totals {
    covered_lines: Option<u64>,
    num_statements: Option<u64>,
    lines: Option<LineCounts>,
}

#[derive(Deserialize)]
struct LineCounts {
    covered: Option<u64>,
    count: Option<u64>,
    total: Option<u64>,
}

impl LineCounts {
    fn of(&self, all: fn(&Self) -> Option<u64>) -> Option<Lines> {
        self.covered.zip(all(self))
    }
}

/// Which lines of which files are covered.
#[derive(Default)]
struct CoveredLines<'a> {
    /// The files by their numbers: each is named once.
    files: BTreeMap<Cow<'a, str>, usize>,
    lines: BTreeMap<(usize, u64), bool>,
}

/// No project has more lines: a report of more is none.
const MOST_LINES: usize = 2_000_000;

impl<'a> CoveredLines<'a> {
    fn file(&mut self, name: Cow<'a, str>) -> usize {
        let number = self.files.len();
        *self.files.entry(name).or_insert(number)
    }

    /// Notes a line, covered when anybody says so; more than anybody's are not noted.
    fn note(&mut self, file: usize, number: u64, is_covered: bool) {
        if self.lines.len() <= MOST_LINES {
            *self.lines.entry((file, number)).or_default() |= is_covered;
        }
    }

    fn counted(&self) -> Option<Lines> {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let covered = self.lines.values().filter(|covered| **covered).count();
        (self.lines.len() <= MOST_LINES).then(|| (count(covered), count(self.lines.len())))
    }
}

/// lcov's tracefiles, as geninfo, grcov, cargo-llvm-cov and istanbul write them. Lines of a file that is told of twice
/// count once, covered when either says so.
fn lcov(text: &str) -> Option<Lines> {
    let mut lines = CoveredLines::default();
    let mut file = None;
    let mut has_end = false;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = Some(lines.file(path.into()));
            has_end = false;
        } else if let Some((number, count)) = line
            .strip_prefix("DA:")
            .and_then(|data| data.split_once(','))
        {
            let count = count.split(',').next().unwrap_or_default();
            let (number, count): (u64, i64) = (number.parse().ok()?, count.parse().ok()?);
            lines.note(file?, number, count > 0);
        } else if line == "end_of_record" {
            has_end = true;
        }
    }
    // A tracefile that ends within a record was cut off.
    has_end.then(|| lines.counted())?
}

/// Cobertura's XML, which coverage.py, gcovr, tarpaulin and many others write. Lines that are listed under methods as well
/// count once.
fn cobertura(text: &str) -> Option<Lines> {
    let mut lines = CoveredLines::default();
    let (mut file, mut is_coverage) = (lines.file("".into()), false);
    let read = elements(text, |element| match element.name().as_ref() {
        "coverage" => is_coverage = true,
        "class" => file = lines.file(attribute(element, "filename").into()),
        "line" => {
            let [number, hits] =
                ["number", "hits"].map(|name| attribute(element, name).parse::<u64>());
            if let (Ok(number), Ok(hits)) = (number, hits) {
                lines.note(file, number, hits > 0);
            }
        }
        _ => {}
    });
    (read.is_ok() && is_coverage).then(|| lines.counted())?
}
