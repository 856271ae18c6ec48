//! Coverage in JSON: coverage.py's, llvm-cov's, and the summary of istanbul.

use super::Lines;
use serde_json::Value;

/// The JSON of coverage.py or of llvm-cov, told apart by what is in it.
pub(super) fn any(text: &str) -> Option<Lines> {
    let document: Value = serde_json::from_str(text).ok()?;
    coverage_py(&document)
        .or_else(|| llvm(&document))
        .or_else(|| istanbul(&document))
}

/// `coverage-summary.json`.
pub(super) fn istanbul_summary(text: &str) -> Option<Lines> {
    istanbul(&serde_json::from_str(text).ok()?)
}

fn coverage_py(document: &Value) -> Option<Lines> {
    let totals = &document["totals"];
    Some((
        totals["covered_lines"].as_u64()?,
        totals["num_statements"].as_u64()?,
    ))
}

fn llvm(document: &Value) -> Option<Lines> {
    let lines = &document["data"][0]["totals"]["lines"];
    Some((lines["covered"].as_u64()?, lines["count"].as_u64()?))
}

fn istanbul(document: &Value) -> Option<Lines> {
    let lines = &document["total"]["lines"];
    Some((lines["covered"].as_u64()?, lines["total"].as_u64()?))
}
