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

use super::{Parsed, ResultFormat};
use regex::Regex;

/// Reads an output in one of these formats: the only one, or that which it looks like. `None` when only the exit status
/// tells anything.
pub(super) fn parse(formats: &[ResultFormat], output: &str) -> Option<Parsed> {
    let plain = without_colours(output);
    let output = plain.as_deref().unwrap_or(output);
    let format = match formats {
        [ResultFormat::Auto] => told_by_looking(&ResultFormat::ALL, output)?,
        [only] => *only,
        formats => told_by_looking(formats, output)?,
    };
    match format {
        ResultFormat::Tap => Some(tap::parse(output)),
        ResultFormat::Cargo => Some(cargo::parse(output)),
        ResultFormat::Nextest => Some(nextest::parse(output)),
        ResultFormat::Junit => Some(junit::parse(output)),
        ResultFormat::Jest => Some(jest::parse(output)),
        ResultFormat::Go => Some(go::parse(output)),
        ResultFormat::Pytest => Some(pytest::parse(output)),
        ResultFormat::Unittest => Some(unittest::parse(output)),
        ResultFormat::Node => Some(node::parse(output)),
        ResultFormat::Rspec => Some(rspec::parse(output)),
        ResultFormat::Auto | ResultFormat::ExitStatus => None,
    }
}

/// The format among some that an output is in; the most telling signs first. TAP comes last, since any code can print it.
fn told_by_looking(among: &[ResultFormat], output: &str) -> Option<ResultFormat> {
    type Sign = fn(&str) -> bool;
    let signs: [(Sign, ResultFormat); 10] = [
        (junit::looks_like_junit, ResultFormat::Junit),
        (jest::looks_like_jest, ResultFormat::Jest),
        (rspec::looks_like_rspec, ResultFormat::Rspec),
        (go::looks_like_go, ResultFormat::Go),
        (nextest::looks_like_nextest, ResultFormat::Nextest),
        (node::looks_like_node, ResultFormat::Node),
        (cargo::looks_like_cargo, ResultFormat::Cargo),
        (pytest::looks_like_pytest, ResultFormat::Pytest),
        (unittest::looks_like_unittest, ResultFormat::Unittest),
        (tap::looks_like_tap, ResultFormat::Tap),
    ];
    signs.iter().find(|(sign, format)| among.contains(format) && sign(output)).map(|(_, format)| *format)
}

/// The text without the colours that some frameworks print even where there is no terminal; `None` when it has none.
fn without_colours(output: &str) -> Option<String> {
    if !output.contains('\u{1b}') {
        return None;
    }
    let mut plain = String::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|character: char| character.is_ascii_digit() || character == ';');
        rest = rest.strip_prefix(|character: char| character.is_ascii_alphabetic()).unwrap_or(rest);
    }
    plain.push_str(rest);
    Some(plain)
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}
