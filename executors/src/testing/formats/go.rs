//! `go test`, as `-json` or as `-v` prints it.

use crate::testing::Parsed;
use crate::testing::parsed::Room;
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
    let mut reader = Reader::default();
    let mut lines = output.lines().filter(|line| line.starts_with('{'));
    while let Some(line) = lines.next().filter(|_| !reader.parsed.is_full()) {
        if let Ok(happened) = serde_json::from_str(line)
            && let Err(why) = reader.hear(happened)
        {
            reader.parsed.overflows(why);
        }
    }
    reader.end()
}

/// Reads event by event.
#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// What the names of tests and packages take.
    room: Room,
    /// Tests that began, or printed something, and what they printed.
    under_way: BTreeMap<String, UnderWay>,
    open_packages: BTreeSet<String>,
    has_ended_package: bool,
    failed: Failed,
}

#[derive(Default)]
struct UnderWay {
    has_begun: bool,
    said: String,
}

impl Reader {
    fn hear(&mut self, happened: Happened) -> Result<(), String> {
        let Happened {
            action,
            package,
            test,
            output,
        } = happened;
        match (action.as_str(), test) {
            ("run", Some(test)) => self.under_way(&package, &test)?.1.has_begun = true,
            ("output", Some(test)) => {
                let (room, test) = self.under_way(&package, &test)?;
                let lines = output.iter().flat_map(|text| text.trim_end().lines());
                lines.for_each(|line| room.say(&mut test.said, line));
            }
            ("pass" | "fail" | "skip", Some(test)) => {
                self.end_test(&package, &test, outcome(&action));
            }
            ("fail" | "build-fail" | "pass" | "skip", None) => {
                self.has_ended_package = true;
                self.open_packages.remove(&package);
                if action.ends_with("fail") {
                    self.failed.packages.insert(self.room.name(&[&package])?);
                }
            }
            ("start", None) => {
                self.open_packages.insert(self.room.name(&[&package])?);
            }
            (_, _) => {}
        }
        Ok(())
    }

    fn under_way(
        &mut self,
        package: &str,
        test: &str,
    ) -> Result<(&mut Room, &mut UnderWay), String> {
        let name = format!("{package}.{test}");
        if !self.under_way.contains_key(&name) {
            self.room.name(&[&name])?;
        }
        Ok((&mut self.room, self.under_way.entry(name).or_default()))
    }

    fn end_test(&mut self, package: &str, test: &str, outcome: TestOutcome) {
        let name = self.parsed.add(&[package, ".", test], outcome);
        let begun = self.under_way.remove_entry(&format!("{package}.{test}"));
        let said = begun.map_or_else(String::new, |(name, begun)| {
            self.room.forget_name(&name);
            begun.said
        });
        self.room.forget_message(&said);
        if outcome == TestOutcome::Failed {
            self.failed.with_test.insert(package.to_owned());
            self.parsed.say_all(&name, said.lines());
        }
    }

    fn end(mut self) -> Parsed {
        if let Some((name, _)) = self.under_way.iter().find(|(_, test)| test.has_begun) {
            self.parsed
                .breaks(format!("`{name}` began and did not end"));
        }
        if !self.has_ended_package || !self.open_packages.is_empty() {
            self.parsed.breaks("a package ended before its results did");
        }
        self.failed.break_results(&mut self.parsed);
        self.parsed
    }
}

/// Packages that fail.
#[derive(Default)]
struct Failed {
    packages: BTreeSet<String>,
    /// Those of which a test does.
    with_test: BTreeSet<String>,
}

impl Failed {
    /// A package that fails although no test of it does was not built, or died.
    fn break_results(&self, parsed: &mut Parsed) {
        if let Some(package) = self.packages.difference(&self.with_test).next() {
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
    let mut reader = TextReader {
        has_only_summaries: true,
        ..TextReader::default()
    };
    let mut lines = output.lines();
    while let Some(line) = lines.next().filter(|_| !reader.parsed.is_full()) {
        if let Err(why) = reader.read(line) {
            reader.parsed.overflows(why);
        }
    }
    reader.end()
}

/// Reads line by line what is printed without `-json`.
#[derive(Default)]
struct TextReader {
    parsed: Parsed,
    /// What tests and packages take that are not told of yet.
    room: Room,
    /// The tests of the package under way.
    tests: Vec<(String, TestOutcome)>,
    failed: Failed,
    has_only_summaries: bool,
    has_package: bool,
}

impl TextReader {
    fn read(&mut self, line: &str) -> Result<(), String> {
        if let Some(result) = RESULT.captures(line) {
            let name = self.room.name(&[&result[2]])?;
            self.tests.push((name, outcome(&result[1])));
            self.has_only_summaries = false;
        } else if let Some(package) = PACKAGE.captures(line) {
            self.end_package(&package[1], &package[2])?;
        }
        Ok(())
    }

    fn end_package(&mut self, word: &str, name: &str) -> Result<(), String> {
        self.has_package = true;
        if word == "FAIL" {
            self.failed.packages.insert(self.room.name(&[name])?);
        }
        for (test, outcome) in self.tests.drain(..) {
            self.room.forget_name(&test);
            self.parsed.add(&[name, ".", &test], outcome);
            if outcome == TestOutcome::Failed {
                self.failed.with_test.insert(name.to_owned());
            }
        }
        if self.has_only_summaries && word == "ok" {
            self.parsed.add(&[name], TestOutcome::Passed);
        }
        Ok(())
    }

    fn end(mut self) -> Parsed {
        if !self.tests.is_empty() || !self.has_package {
            self.parsed.breaks("a package ended before its results did");
        }
        self.failed.break_results(&mut self.parsed);
        self.parsed
    }
}
