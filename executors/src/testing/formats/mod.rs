//! The formats of test results, one file each: how each is known, and how it is read.

mod cargo;
mod go;
mod jest;
mod json;
mod junit;
mod nextest;
mod node;
mod pytest;
pub(super) mod rspec;
mod tap;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_length;
mod unittest;

use super::Parsed;
use super::reading::without_colours;
use tm_scheduler::ResultFormat;

/// Reads an output in one of these formats: the only one, or that which it looks like. `None` when only the exit status
/// tells anything.
pub(super) fn parse(formats: &[ResultFormat], output: &str) -> Option<Parsed> {
    let output = &*without_colours(output);
    let format = match formats {
        [only] if *only != ResultFormat::Auto => *only,
        formats => told_by_looking(formats, output)?,
    };
    READERS
        .iter()
        .find(|row| row.0 == format)
        .map(|(_, _, parse)| parse(output))
}

/// A format, how it is known, and how it is read.
type Reader = (ResultFormat, fn(&str) -> bool, fn(&str) -> Parsed);

/// Every format, the most telling signs first. TAP comes last, since any code can print it.
const READERS: [Reader; 10] = [
    (ResultFormat::Junit, junit::looks_like, junit::parse),
    (ResultFormat::Jest, jest::looks_like, jest::parse),
    (ResultFormat::Rspec, rspec::looks_like, rspec::parse),
    (ResultFormat::Go, go::looks_like, go::parse),
    (ResultFormat::Nextest, nextest::looks_like, nextest::parse),
    (ResultFormat::Node, node::looks_like, node::parse),
    (ResultFormat::Cargo, cargo::looks_like, cargo::parse),
    (ResultFormat::Pytest, pytest::looks_like, pytest::parse),
    (
        ResultFormat::Unittest,
        unittest::looks_like,
        unittest::parse,
    ),
    (ResultFormat::Tap, tap::looks_like, tap::parse),
];

/// The format among some that an output is in.
fn told_by_looking(among: &[ResultFormat], output: &str) -> Option<ResultFormat> {
    let is_among = |format| among == [ResultFormat::Auto] || among.contains(format);
    READERS
        .iter()
        .find(|(format, looks_like, _)| is_among(format) && looks_like(output))
        .map(|row| row.0)
}
