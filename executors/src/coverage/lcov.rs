//! lcov's tracefiles, as geninfo, grcov, cargo-llvm-cov and istanbul write them.

use super::Lines;
use std::collections::BTreeMap;

/// Sums the lines of all files. Lines of a file that is told of twice count once, covered when either says so.
pub(super) fn lcov(text: &str) -> Option<Lines> {
    let mut files: BTreeMap<&str, BTreeMap<u64, bool>> = BTreeMap::new();
    let mut file = None;
    let mut has_end = false;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = Some(path);
            has_end = false;
            files.entry(path).or_default();
        } else if let Some((number, count)) = line
            .strip_prefix("DA:")
            .and_then(|data| data.split_once(','))
        {
            let count = count.split(',').next().unwrap_or_default();
            let (number, count): (u64, i64) = (number.parse().ok()?, count.parse().ok()?);
            *files.entry(file?).or_default().entry(number).or_default() |= count > 0;
        } else if line == "end_of_record" {
            has_end = true;
        }
    }
    // A tracefile that ends within a record was cut off.
    let lines = || files.values().flat_map(BTreeMap::values);
    let count = |covered: usize| u64::try_from(covered).unwrap_or(u64::MAX);
    has_end.then(|| {
        (
            count(lines().filter(|covered| **covered).count()),
            count(lines().count()),
        )
    })
}
