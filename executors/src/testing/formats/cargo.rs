//! The text of `cargo test`: several test programs one after another, each with its own results.

use crate::patterns::part;
use crate::testing::{Parsed, name_in};
use std::collections::BTreeMap;
use tm_scheduler::TestOutcome;

patterns! {
    SIGN = r"(?m)^test result: |^running .* test|^\s*error: could not compile";
    ANNOUNCEMENT = r"^running \d+ tests?$";
    COUNTS = r"(\d+) passed; (\d+) failed; (\d+) ignored";
    /// The name of a documentation test, the line in it, and what follows.
    DOCUMENTED = r"^(doc .*) \(line (\d+)\)(.*)$";
}

/// What names a test program is no longer.
const PROGRAM_BYTES: usize = 4 * 1024;

/// Tells whether the output is in this format.
pub(super) fn looks_like(output: &str) -> bool {
    SIGN.is_match(output)
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut reader = Reader::default();
    let mut lines = output.lines();
    while let Some(line) = lines.next().filter(|_| !reader.parsed.is_full()) {
        reader.read(line);
    }
    reader.check_the_end();
    without_lines(reader.parsed)
}

/// Names documentation tests by their item and their order in it: the line that cargo names moves with every line above.
fn without_lines(mut parsed: Parsed) -> Parsed {
    let mut by_item: BTreeMap<String, Vec<(u32, String)>> = BTreeMap::new();
    for name in parsed.tests.keys() {
        if let Some(found) = DOCUMENTED.captures(name) {
            let line = found[2].parse().unwrap_or(u32::MAX);
            let item = format!("{}{}", &found[1], &found[3]);
            by_item.entry(item).or_default().push((line, name.clone()));
        }
    }
    for (item, mut tests) in by_item {
        tests.sort();
        let told = tests.into_iter().filter_map(|(_, name)| {
            let outcome = parsed.tests.remove(&name)?;
            Some((outcome, parsed.messages.remove(&name)))
        });
        for (outcome, message) in told.collect::<Vec<_>>() {
            let name = parsed.add(&[&item], outcome);
            parsed
                .messages
                .extend(message.map(|message| (name, message)));
        }
    }
    parsed
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// The test program under way.
    program: String,
    /// Whether it said how many tests it has, and did not sum them up yet.
    is_open: bool,
    /// Whether any program summed up its tests.
    has_summary: bool,
    /// How many of its tests were told of.
    told: usize,
    /// A test whose outcome follows what it prints, as `--nocapture` has it.
    begun: Option<String>,
    /// The test whose output is being read.
    printing: Option<String>,
}

impl Reader {
    fn read(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(summary) = line.strip_prefix("test result: ") {
            self.sum_up(summary);
        } else if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.printing = Some(format!("{}::{name}", self.program));
        } else if line == "failures:" {
            self.printing = None;
        } else if let Some(name) = &self.printing {
            if !trimmed.is_empty() {
                self.parsed.say(name, line);
            }
        } else if let Some(rest) = trimmed
            .strip_prefix("Running ")
            .filter(|_| line.starts_with(' '))
        {
            self.program = program_name(&rest[..rest.floor_char_boundary(PROGRAM_BYTES)]);
        } else if let Some(rest) = trimmed.strip_prefix("Doc-tests ") {
            self.program = format!("doc {}", &rest[..rest.floor_char_boundary(PROGRAM_BYTES)]);
        } else if ANNOUNCEMENT.is_match(line) {
            self.check_the_program();
            (self.is_open, self.told, self.begun) = (true, 0, None);
        } else if let Some(result) = result(line) {
            self.result(result);
        } else if let Some(name) = self.begun.take_if(|_| outcome(trimmed).is_some()) {
            self.add(&name, outcome(trimmed).unwrap_or(TestOutcome::Failed));
        } else if trimmed.starts_with("error: could not compile") || line.starts_with("error[") {
            self.parsed.breaks(trimmed);
        }
    }

    fn result(&mut self, (name, outcome): (&str, Option<TestOutcome>)) {
        match outcome {
            Some(outcome) => self.add(name, outcome),
            None => self.begun = Some(name.to_owned()),
        }
    }

    fn add(&mut self, name: &str, outcome: TestOutcome) {
        self.told += 1;
        self.parsed.add(&[&self.program, "::", name], outcome);
    }

    /// The program counts its tests; who else prints a line of that form does not know how many there are.
    fn sum_up(&mut self, summary: &str) {
        if let Some(counts) = COUNTS.captures(summary) {
            let count = |number| part(&counts, number).parse().unwrap_or(0);
            let ran: usize = (1..=3).map(count).sum();
            if ran != self.told {
                self.parsed.breaks(format!(
                    "a test program counts {ran} tests and told of {}",
                    self.told
                ));
            }
        }
        (self.is_open, self.has_summary, self.told) = (false, true, 0);
        (self.begun, self.printing) = (None, None);
    }

    /// A program that announced tests and never summed them up died on the way.
    fn check_the_program(&mut self) {
        if self.is_open {
            self.parsed
                .breaks("a test program ended before its results did");
        }
    }

    fn check_the_end(&mut self) {
        self.check_the_program();
        if !self.has_summary {
            self.parsed.breaks("cargo ended before any results");
        }
    }
}

/// Reads `unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)` as `name src/lib.rs`.
fn program_name(rest: &str) -> String {
    let (what, path) = rest.split_once(" (").unwrap_or((rest, ""));
    let file = name_in(path.trim_end_matches(')'));
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    format!("{name} {}", what.trim_start_matches("unittests "))
        .trim()
        .to_owned()
}

/// Reads a line about a test; without an outcome the test has only begun.
fn result(line: &str) -> Option<(&str, Option<TestOutcome>)> {
    let line = line.strip_prefix("test ")?;
    let (name, word) = line
        .rsplit_once(" ... ")
        .or_else(|| Some((line.strip_suffix(" ...")?, "")))?;
    match outcome(word) {
        Some(outcome) => Some((name.trim_end_matches(" - should panic"), Some(outcome))),
        None => Some((
            line.split_once(" ...")?
                .0
                .trim_end_matches(" - should panic"),
            None,
        )),
    }
}

fn outcome(words: &str) -> Option<TestOutcome> {
    match words.split([',', ' ', '<']).next()? {
        "ok" => Some(TestOutcome::Passed),
        "FAILED" => Some(TestOutcome::Failed),
        "ignored" => Some(TestOutcome::Skipped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OUTPUT: &str = "     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)\n\n\
        running 3 tests\ntest tests::adds ... ok\ntest tests::slow ... ignored, takes long\n\
        test tests::subtracts ... FAILED\n\nfailures:\n\n---- tests::subtracts stdout ----\n\n\
        thread 'tests::subtracts' panicked at src/lib.rs:9:9:\nassertion failed\ntest tests::adds ... ok\n\n\nfailures:\n    tests::subtracts\n\n\
        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n\n\
        \x20  Doc-tests demo\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored\n";

    #[test]
    fn programs_are_told_apart_and_failures_keep_what_they_printed() {
        let parsed = parse(OUTPUT);
        let lines: Vec<String> = parsed
            .tests
            .iter()
            .map(|(name, outcome)| format!("{name} {outcome:?}"))
            .collect();
        assert_eq!(
            lines,
            [
                "demo src/lib.rs::tests::adds Passed",
                "demo src/lib.rs::tests::slow Skipped",
                "demo src/lib.rs::tests::subtracts Failed",
                "doc demo::src/lib.rs - add Passed"
            ]
        );
        assert!(parsed.messages["demo src/lib.rs::tests::subtracts"].contains("assertion failed"));
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn documentation_tests_are_known_by_their_item_and_their_order_in_it() {
        let output = "   Doc-tests demo\n\nrunning 4 tests\n\
            test src/lib.rs - add (line 30) ... FAILED\ntest src/lib.rs - add (line 9) ... ok\n\
            test src/lib.rs - Thing<T>::get (line 7) - compile fail ... ok\ntest src/lib.rs - (line 1) ... ok\n\n\
            failures:\n\n---- src/lib.rs - add (line 30) stdout ----\nit panicked\n\n\n\
            test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let parsed = parse(output);
        let names: Vec<&str> = parsed.tests.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "doc demo::src/lib.rs -",
                "doc demo::src/lib.rs - Thing<T>::get - compile fail",
                "doc demo::src/lib.rs - add",
                "doc demo::src/lib.rs - add #2"
            ]
        );
        assert_eq!(
            parsed.tests["doc demo::src/lib.rs - add #2"],
            TestOutcome::Failed
        );
        assert!(parsed.messages["doc demo::src/lib.rs - add #2"].contains("it panicked"));
        let moved = parse(
            &output
                .replace("line 30", "line 31")
                .replace("line 9)", "line 10)"),
        );
        assert_eq!(moved.tests, parsed.tests, "a line above changes no name");
    }

    #[test]
    fn a_build_that_fails_and_a_program_that_dies_are_broken() {
        let build = parse(
            "error[E0425]: cannot find function `f` in this scope\nerror: could not compile `demo`\n",
        );
        assert_eq!(
            build.broken.as_deref(),
            Some("error[E0425]: cannot find function `f` in this scope")
        );
        let died = parse("running 2 tests\ntest a ... ok\n");
        assert_eq!(
            died.broken.as_deref(),
            Some("a test program ended before its results did")
        );
        assert_eq!(
            parse("").broken.as_deref(),
            Some("cargo ended before any results")
        );
    }

    #[test]
    fn a_test_that_prints_is_told_of_behind_what_it_prints() {
        let output = "running 2 tests\ntest a ... one\ntwo\nok\ntest b ... \nFAILED\n\n\
                      test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let parsed = parse(output);
        assert_eq!(parsed.broken, None);
        assert_eq!(
            parsed.tests.values().collect::<Vec<_>>(),
            [&TestOutcome::Passed, &TestOutcome::Failed]
        );
    }

    #[test]
    fn tests_that_the_program_does_not_count_are_none_of_its() {
        let forged = OUTPUT.replace(
            "test tests::adds ... ok",
            "test tests::adds ... ok\ntest tests::new ... ok",
        );
        assert_eq!(
            parse(&forged).broken.as_deref(),
            Some("a test program counts 3 tests and told of 4")
        );
        let quiet =
            "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n";
        assert_eq!(
            parse(quiet).broken.as_deref(),
            Some("a test program counts 2 tests and told of 0")
        );
    }

    proptest! {
        #[test]
        fn anything_can_be_read(output in "(?s).{0,200}") {
            let parsed = parse(&output);
            prop_assert!(output.contains(" ... ok") || !parsed.tests.values().any(|outcome| *outcome == TestOutcome::Passed));
        }
    }
}
