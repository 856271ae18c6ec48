//! `go test`, as `-json` or as `-v` prints it.

use crate::testing::Parsed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::TestOutcome;

patterns! {
    RESULT = r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(";
    PACKAGE = r"^(ok|FAIL|\?)\s*\t(\S+)[\t ]\S.*$";
}

/// One line of `-json`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Happened {
    action: String,
    #[serde(default, alias = "ImportPath")]
    package: String,
    test: Option<String>,
    output: Option<String>,
}

/// Tells whether the output is in this format.
pub(super) fn looks_like(output: &str) -> bool {
    is_json(output)
        || output
            .lines()
            .any(|line| RESULT.is_match(line) || PACKAGE.is_match(line))
}

fn is_json(output: &str) -> bool {
    let is_event = |line: &str| line.starts_with('{') && line.contains("\"Action\":");
    output.lines().any(is_event)
}

pub(super) fn parse(output: &str) -> Parsed {
    if is_json(output) {
        parse_json(output)
    } else {
        parse_text(output)
    }
}

fn parse_json(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut failed_packages: Vec<String> = Vec::new();
    let mut began: BTreeSet<String> = BTreeSet::new();
    let mut open_packages: BTreeSet<String> = BTreeSet::new();
    let mut ended_packages = 0;
    let lines = output.lines().filter(|line| line.starts_with('{'));
    for happened in lines.filter_map(|line| serde_json::from_str::<Happened>(line).ok()) {
        let name = happened
            .test
            .as_ref()
            .map(|test| format!("{}.{test}", happened.package));
        match (happened.action.as_str(), name) {
            ("run", Some(name)) => {
                began.insert(name);
            }
            ("output", Some(name)) => {
                let lines = said.entry(name).or_default();
                if lines.len() < 100 {
                    lines.extend(
                        happened
                            .output
                            .iter()
                            .map(|text| text.trim_end().to_owned()),
                    );
                }
            }
            ("pass" | "fail" | "skip", Some(name)) => {
                began.remove(&name);
                let outcome = outcome(&happened.action);
                let unique = parsed.add(&name, outcome);
                let lines = said.remove(&name).unwrap_or_default();
                if outcome == TestOutcome::Failed {
                    parsed.say_all(&unique, lines.iter().map(String::as_str));
                }
            }
            (action @ ("fail" | "build-fail" | "pass" | "skip"), None) => {
                ended_packages += 1;
                open_packages.remove(&happened.package);
                if action.ends_with("fail") {
                    failed_packages.push(happened.package);
                }
            }
            ("start", None) => {
                open_packages.insert(happened.package);
            }
            (_, _) => {}
        }
    }
    if let Some(name) = began.first() {
        parsed.breaks(format!("`{name}` began and did not end"));
    }
    if ended_packages == 0 || !open_packages.is_empty() {
        parsed.breaks("a package ended before its results did");
    }
    broken_packages(&failed_packages, &mut parsed);
    parsed
}

/// A package that fails although no test of it does was not built, or died.
fn broken_packages(failed: &[String], parsed: &mut Parsed) {
    for package in failed {
        let prefix = format!("{package}.");
        let has_failed_test = parsed
            .tests
            .iter()
            .any(|(name, outcome)| name.starts_with(&prefix) && *outcome == TestOutcome::Failed);
        if !has_failed_test {
            parsed.breaks(format!(
                "the package `{package}` fails although no test of it does"
            ));
        }
    }
}

fn outcome(word: &str) -> TestOutcome {
    match word {
        "pass" | "PASS" => TestOutcome::Passed,
        "skip" | "SKIP" => TestOutcome::Skipped,
        _ => TestOutcome::Failed,
    }
}

/// The name of the package comes after its tests.
fn parse_text(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut tests: Vec<(String, TestOutcome)> = Vec::new();
    let mut failed_packages = Vec::new();
    let (mut has_only_summaries, mut has_package) = (true, false);
    for line in output.lines() {
        if let Some(result) = RESULT.captures(line) {
            tests.push((result[2].to_owned(), outcome(&result[1])));
            has_only_summaries = false;
        } else if let Some(package) = PACKAGE.captures(line) {
            let name = &package[2];
            has_package = true;
            if &package[1] == "FAIL" {
                failed_packages.push(name.to_owned());
            }
            for (test, outcome) in tests.drain(..) {
                parsed.add(&format!("{name}.{test}"), outcome);
            }
            if has_only_summaries && &package[1] == "ok" {
                parsed.add(name, TestOutcome::Passed);
            }
        }
    }
    if !tests.is_empty() || !has_package {
        parsed.breaks("a package ended before its results did");
    }
    broken_packages(&failed_packages, &mut parsed);
    parsed
}
