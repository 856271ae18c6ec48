//! `JUnit` XML, as pytest, nextest, surefire, jest-junit and many others write it.
//!
//! There is no binding schema; read are `testsuite`, `testcase` with `classname` and `name`, and within it `failure`,
//! `error` and `skipped`.

use crate::testing::Parsed;
use crate::xml::attribute;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use tm_scheduler::TestOutcome;

/// A document is nested so deep at the most.
const MOST_LEVELS: usize = 64;

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
    let mut reader = Reader::from_str(output.trim_start_matches('\u{feff}').trim_start());
    let (mut levels, mut suites) = (0, 0_u32);
    let mut case: Option<Case> = None;
    let mut is_of_bun = false;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(element) => {
                levels += 1;
                if levels > MOST_LEVELS {
                    return Err("it is nested too deep".to_owned());
                }
                suites += u32::from(element.name().as_ref().starts_with("testsuite"));
                is_of_bun |= levels == 1 && attribute(&element, "name") == "bun test";
                begin(&element, &mut case, is_of_bun);
            }
            Event::Empty(element) => {
                suites += u32::from(element.name().as_ref().starts_with("testsuite"));
                begin(&element, &mut case, is_of_bun);
                if element.name().as_ref() == "testcase" {
                    finish(&mut case, parsed);
                }
            }
            Event::End(element) => {
                levels = levels.saturating_sub(1);
                if element.name().as_ref() == "testcase" {
                    finish(&mut case, parsed);
                }
            }
            Event::Text(text) => say(&mut case, &text),
            Event::CData(text) => say(&mut case, &text),
            Event::GeneralRef(entity) => say(&mut case, entity_text(&entity)),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    match (levels, suites) {
        (0, 1..) => Ok(()),
        (0, 0) => Err("there is no test suite in it".to_owned()),
        (_, _) => Err("it ends in the middle".to_owned()),
    }
}

/// The predefined entities; nothing else is expanded, so that no document grows while it is read.
fn entity_text(name: &str) -> &str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        "#10" | "#xA" | "#xa" => "\n",
        _ => " ",
    }
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
            let name = file + &case_name(element);
            *case = Some(Case {
                name,
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
        let name = parsed.add(&case.name, case.outcome);
        let lines = case.said.lines();
        parsed.say_all(&name, lines.filter(|line| !line.trim().is_empty()));
    }
}
