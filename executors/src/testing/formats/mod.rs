//! The formats of test results, one file each: how each is known, and how it is read.

mod cargo;
mod go;
mod jest;
mod junit;
mod nextest;
mod node;
mod pytest;
mod rspec;
mod tap;
#[cfg(test)]
mod tests;
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
        .find(|row| row.format == format)
        .map(|row| (row.parse)(output))
}

/// A format, and how it is known and read.
struct Reader {
    format: ResultFormat,
    looks_like: fn(&str) -> bool,
    parse: fn(&str) -> Parsed,
}

/// Every format, the most telling signs first. TAP comes last, since any code can print it.
const READERS: [Reader; 10] = [
    Reader {
        format: ResultFormat::Junit,
        looks_like: junit::looks_like,
        parse: junit::parse,
    },
    Reader {
        format: ResultFormat::Jest,
        looks_like: jest::looks_like,
        parse: jest::parse,
    },
    Reader {
        format: ResultFormat::Rspec,
        looks_like: rspec::looks_like,
        parse: rspec::parse,
    },
    Reader {
        format: ResultFormat::Go,
        looks_like: go::looks_like,
        parse: go::parse,
    },
    Reader {
        format: ResultFormat::Nextest,
        looks_like: nextest::looks_like,
        parse: nextest::parse,
    },
    Reader {
        format: ResultFormat::Node,
        looks_like: node::looks_like,
        parse: node::parse,
    },
    Reader {
        format: ResultFormat::Cargo,
        looks_like: cargo::looks_like,
        parse: cargo::parse,
    },
    Reader {
        format: ResultFormat::Pytest,
        looks_like: pytest::looks_like,
        parse: pytest::parse,
    },
    Reader {
        format: ResultFormat::Unittest,
        looks_like: unittest::looks_like,
        parse: unittest::parse,
    },
    Reader {
        format: ResultFormat::Tap,
        looks_like: tap::looks_like,
        parse: tap::parse,
    },
];

/// The format among some that an output is in.
fn told_by_looking(among: &[ResultFormat], output: &str) -> Option<ResultFormat> {
    let is_among = |format| among == [ResultFormat::Auto] || among.contains(&format);
    READERS
        .iter()
        .find(|row| is_among(row.format) && (row.looks_like)(output))
        .map(|row| row.format)
}
