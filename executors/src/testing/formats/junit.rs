//! `JUnit` XML, as pytest, nextest, surefire, jest-junit and many others write it.
//!
//! There is no binding schema; read are `testsuite`, `testcase` with `classname` and `name`, and within it `failure`,
//! `error` and `skipped`.

use crate::testing::Parsed;
use crate::xml::{Part, attribute, parts};
use quick_xml::events::BytesStart;
use tm_scheduler::TestOutcome;

/// Tells whether the text is such a document.
pub(super) fn looks_like(output: &str) -> bool {
    let start = output.trim_start_matches('\u{feff}').trim_start();
    start.starts_with('<') && (start.contains("<testsuite") || start.contains("<testsuites"))
}

/// The test under way.
struct Case {
    name: String,
    outcome: TestOutcome,
    said: String,
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    if let Err(why) = read(output, &mut parsed) {
        parsed.breaks(format!("the JUnit document can't be read: {why}"));
    }
    parsed
}

fn read(output: &str, parsed: &mut Parsed) -> Result<(), String> {
    let (mut case, mut suites, mut is_of_bun) = (None, 0, false);
    parts(output, |part| match part {
        Part::Begins(element) => {
            // The outermost one says so.
            is_of_bun |= suites == 0 && attribute(element, "name") == "bun test";
            suites += u32::from(element.name().as_ref().starts_with("testsuite"));
            begin(element, &mut case, is_of_bun);
        }
        Part::Says(text) => say(&mut case, text),
        Part::Ends("testcase") => finish(&mut case, parsed),
        Part::Ends(_) => {}
    })?;
    if suites == 0 {
        return Err("there is no test suite in it".to_owned());
    }
    Ok(())
}

fn begin(element: &BytesStart<'_>, case: &mut Option<Case>, is_of_bun: bool) {
    let outcome = match element.name().as_ref() {
        "testcase" => {
            // The classes of bun are the suites within a file, so tests of two files may have one name.
            let file = if is_of_bun {
                attribute(element, "file") + "::"
            } else {
                String::new()
            };
            *case = Some(Case {
                name: file + &case_name(element),
                outcome: TestOutcome::Passed,
                said: String::new(),
            });
            return;
        }
        "failure" | "error" => TestOutcome::Failed,
        "skipped" => TestOutcome::Skipped,
        _ => return,
    };
    if let Some(case) = case {
        // A test that is skipped and fails besides has failed.
        if case.outcome != TestOutcome::Failed {
            case.outcome = outcome;
        }
        case.said.push_str(&attribute(element, "message"));
        case.said.push('\n');
    }
}

fn case_name(element: &BytesStart<'_>) -> String {
    let (class, name) = (attribute(element, "classname"), attribute(element, "name"));
    match (class.is_empty(), name.is_empty()) {
        (true, _) => name,
        (false, true) => class,
        (false, false) => format!("{class}::{name}"),
    }
}

fn say(case: &mut Option<Case>, text: &str) {
    if let Some(case) = case
        .as_mut()
        .filter(|case| case.outcome == TestOutcome::Failed && case.said.len() < 16_384)
    {
        case.said.push_str(text);
    }
}

fn finish(case: &mut Option<Case>, parsed: &mut Parsed) {
    if let Some(case) = case.take() {
        let name = parsed.add(&[&case.name], case.outcome);
        parsed.say_all(
            &name,
            case.said.lines().filter(|line| !line.trim().is_empty()),
        );
    }
}
