//! Test Anything Protocol, versions 12 to 14: one stream, or several one after another.
//!
//! A stream that does not keep its plan, or that bails out, is broken: its missing tests must not look like success.

use crate::testing::Parsed;
use crate::testing::parsed::Room;
use tm_scheduler::TestOutcome;

patterns! {
    /// An exception with its class that a runner wrote behind the name: it says why a test failed, and goes when it passes.
    RAISED = r"^(\S.*?): ((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?::.*)?)$";
}

/// Spaces by which a subtest is indented.
const INDENTATION: usize = 4;
/// Subtests are read so deep; deeper ones belong to their parent's line.
const MOST_LEVELS: usize = 16;

/// One test as it was read.
struct Line {
    name: String,
    outcome: TestOutcome,
    said: String,
}

/// The tests of one stream, or of one subtest, as far as it has come.
#[derive(Default)]
struct Level {
    planned: Option<u64>,
    seen: u64,
    lines: Vec<Line>,
}

/// Reads line by line.
#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// What the lines of the stream under way take.
    room: Room,
    /// What the stream under way is called.
    stream: String,
    /// A name that was announced and is not met yet.
    announced: Option<String>,
    /// The stream at 0, and the subtests that are open.
    levels: Vec<Level>,
    /// The level of the last result, whose explanations follow.
    last: Option<usize>,
    /// The indentation of a YAML block.
    block: Option<usize>,
    plans: u32,
}

/// Tells whether the output is in this format: it begins with such a document, or holds one that is whole. A part of one
/// in the midst of something else is printed by the code under test.
pub(super) fn looks_like(output: &str) -> bool {
    let has_document = output
        .lines()
        .any(|line| line.starts_with("TAP version ") || plan(line).is_some())
        && output
            .lines()
            .any(|line| plan(line).is_some() || result(line).is_some());
    has_document && (begins_with_tap(output) || parse(output).broken.is_none())
}

/// Comments, and what package managers print first, may stand before it.
fn begins_with_tap(output: &str) -> bool {
    output
        .lines()
        .find(|line| !line.is_empty() && !line.starts_with(['#', '>', '$']))
        .is_some_and(|line| {
            line.starts_with("TAP version ") || plan(line).is_some() || result(line).is_some()
        })
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut reader = Reader::default();
    let mut lines = output.lines();
    while let Some(line) = lines.next().filter(|_| !reader.parsed.is_full()) {
        reader.read(line);
    }
    reader.end_stream();
    if reader.plans == 0 {
        reader.parsed.breaks("there is no plan");
    }
    reader.parsed
}

impl Reader {
    fn read(&mut self, line: &str) {
        let text = line.trim_start_matches(' ');
        let indentation = line.len() - text.len();
        if let Some(block) = self.block {
            if text == "..." && indentation == block {
                self.block = None;
            }
            self.explain(text);
            return;
        }
        let level = indentation / INDENTATION;
        let is_level = indentation.is_multiple_of(INDENTATION) && level < MOST_LEVELS;
        if let Some(why) = text.strip_prefix("Bail out!") {
            self.parsed
                .breaks(format!("the suite bailed out: {}", why.trim()));
        } else if let Some(name) = text
            .strip_prefix("# Subtest: ")
            .filter(|_| is_level && level == 0)
        {
            self.announced = Some(name.trim().to_owned());
        } else if indentation == 0 && text.starts_with("TAP version ") {
            if self.has_begun() {
                self.end_stream();
            }
        } else if let Some(count) = plan(text).filter(|_| is_level) {
            self.plan(level, count);
        } else if let Some((outcome, name)) = result(text).filter(|_| is_level) {
            let (name, raised) = split_raised(&name);
            self.result(level, outcome, &name);
            self.explain(&raised);
        } else if text.starts_with("---") && self.last.is_some() {
            self.block = Some(indentation);
            self.explain(text);
        } else if line.starts_with(['#', ' ']) {
            self.explain(text.trim_start_matches('#').trim());
        }
    }

    fn has_begun(&self) -> bool {
        self.levels
            .first()
            .is_some_and(|stream| stream.seen > 0 || stream.planned.is_some())
    }

    /// A name that no result has met begins a stream of that name.
    fn begin_announced_stream(&mut self) {
        if let Some(name) = self.announced.take() {
            if self.has_begun() {
                self.end_stream();
            }
            self.stream = format!("{name}: ");
        }
    }

    fn plan(&mut self, level: usize, count: u64) {
        if level == 0 {
            self.begin_announced_stream();
            self.plans += 1;
            if self.level(0).planned.is_some() {
                self.end_stream();
            }
        }
        self.level(level).planned = Some(count);
    }

    fn result(&mut self, level: usize, outcome: TestOutcome, name: &str) {
        if level == 0 {
            if self.announced.as_deref() == Some(name) {
                self.announced = None;
            }
            self.begin_announced_stream();
        }
        let children = self.close_below(level);
        self.level(level).seen += 1;
        for child in children {
            self.room.forget_name(&child.name);
            self.push(
                level,
                &[name, " > ", &child.name],
                child.outcome,
                child.said,
            );
        }
        self.push(level, &[name], outcome, String::new());
        self.last = Some(level);
    }

    fn push(&mut self, level: usize, name: &[&str], outcome: TestOutcome, said: String) {
        match self.room.name(name) {
            Ok(name) => self.level(level).lines.push(Line {
                name,
                outcome,
                said,
            }),
            Err(why) => self.parsed.overflows(why),
        }
    }

    fn level(&mut self, level: usize) -> &mut Level {
        while self.levels.len() <= level {
            self.levels.push(Level::default());
        }
        &mut self.levels[level]
    }

    /// Ends the subtests that are deeper than a level and returns what they held.
    fn close_below(&mut self, level: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        while self.levels.len() > level + 1 {
            let mut closed = self.levels.pop().unwrap_or_default();
            self.check_plan(&closed);
            closed.lines.append(&mut lines);
            lines = closed.lines;
        }
        lines
    }

    /// A subtest without a plan is vouched for by its parent's line; a stream is vouched for by nothing else.
    fn check_plan(&mut self, level: &Level) {
        let seen = level.seen;
        if let Some(planned) = level.planned.filter(|&planned| planned != seen) {
            self.parsed
                .breaks(format!("{planned} tests were planned and {seen} ran"));
        }
    }

    fn end_stream(&mut self) {
        let orphans = self.close_below(0);
        let stream = self.levels.pop().unwrap_or_default();
        if stream.planned.is_none() && stream.seen > 0 {
            self.parsed
                .breaks(format!("{} tests ran without a plan", stream.seen));
        }
        if !orphans.is_empty() {
            self.parsed
                .breaks("a subtest ended without its parent's result");
        }
        self.check_plan(&stream);
        let name = std::mem::take(&mut self.stream);
        self.room = Room::default();
        for line in stream.lines {
            let unique = self.parsed.add(&[&name, &line.name], line.outcome);
            self.parsed.say_all(&unique, line.said.lines());
        }
        self.last = None;
    }

    fn explain(&mut self, text: &str) {
        let line = self
            .last
            .and_then(|level| self.levels.get_mut(level))
            .and_then(|level| level.lines.last_mut());
        let is_wanted = |line: &&mut Line| line.outcome == TestOutcome::Failed;
        if let Some(line) = line.filter(is_wanted).filter(|_| !text.is_empty()) {
            self.room.say(&mut line.said, text.trim());
        }
    }
}

/// The name of a test, and the exception behind it. It is told apart whether the test passes or fails, so that a test has
/// one name.
fn split_raised(description: &str) -> (String, String) {
    RAISED.captures(description).map_or_else(
        || (description.to_owned(), String::new()),
        |parts| (parts[1].to_owned(), parts[2].to_owned()),
    )
}

/// Reads `1..N`, with a reason behind it or not.
fn plan(line: &str) -> Option<u64> {
    line.strip_prefix("1..")?
        .split([' ', '#'])
        .next()?
        .trim()
        .parse()
        .ok()
}

/// Reads a result line at the top level; indented ones belong to a subtest, whose own line sums them up.
fn result(line: &str) -> Option<(TestOutcome, String)> {
    let (is_ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest
        .trim_start()
        .trim_start_matches(|letter: char| letter.is_ascii_digit())
        .trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = split_directive(rest);
    let directive = directive.to_ascii_lowercase();
    let outcome = match (
        directive.starts_with("skip"),
        directive.starts_with("todo"),
        is_ok,
    ) {
        (true, _, _) | (false, true, false) => TestOutcome::Skipped,
        (false, _, true) => TestOutcome::Passed,
        (false, false, false) => TestOutcome::Failed,
    };
    Some((outcome, name.trim().to_owned()))
}

/// Splits at the first `#` that stands behind a space and is not escaped.
fn split_directive(rest: &str) -> (&str, &str) {
    rest.split_once(" # ")
        .or_else(|| rest.split_once(" #"))
        .map_or_else(
            || {
                rest.strip_prefix("# ")
                    .map_or((rest, ""), |directive| ("", directive))
            },
            |(name, directive)| (name, directive.trim_start()),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(parsed: &Parsed) -> Vec<String> {
        parsed
            .tests
            .iter()
            .map(|(name, outcome)| format!("{name} {outcome:?}"))
            .collect()
    }

    #[test]
    fn results_directives_and_diagnostics_are_read() {
        let parsed = parse(
            "TAP version 13\n1..6\nok 1 - adds\nnot ok 2 - subtracts\n# expected 1, got 2\n  ---\n  at: 3\n  ...\n\
             ok 3 # SKIP no network\nnot ok 4 - later # TODO not yet\nok 5\nok - adds\n",
        );
        assert_eq!(
            lines(&parsed),
            [
                "adds Passed",
                "adds #2 Passed",
                "later Skipped",
                "subtracts Failed",
                "unnamed Skipped",
                "unnamed #2 Passed"
            ]
        );
        assert_eq!(
            parsed.messages["subtracts"],
            "expected 1, got 2\n---\nat: 3\n...\n"
        );
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn a_stream_that_does_not_keep_its_plan_is_broken() {
        for (output, why) in [
            ("1..3\nok 1\nok 2\n", "3 tests were planned and 2 ran"),
            ("ok 1\nok 2\n1..1\n", "1 tests were planned and 2 ran"),
            ("ok 1\n", "1 tests ran without a plan"),
            (
                "1..2\nok 1\nBail out! no database\n",
                "the suite bailed out: no database",
            ),
            ("", "there is no plan"),
            ("hello\n", "there is no plan"),
        ] {
            assert_eq!(parse(output).broken.as_deref(), Some(why), "{output}");
        }
        assert_eq!(parse("1..0 # SKIP nothing to do\n").broken, None);
    }

    #[test]
    fn several_streams_are_named_apart() {
        let parsed = parse(
            "# Subtest: t/a.t\n1..1\nok 1 - works\n# Subtest: t/b.t\nnot ok 1 - works\n1..1\n",
        );
        assert_eq!(
            lines(&parsed),
            ["t/a.t: works Passed", "t/b.t: works Failed"]
        );
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn a_subtest_counts_as_its_own_line() {
        let parsed = parse("1..1\n    ok 1 - inner\n    1..1\nok 1 - outer\n");
        assert_eq!(lines(&parsed), ["outer Passed", "outer > inner Passed"]);
        assert_eq!(parsed.broken, None);
        let short = parse("1..1\n    ok 1 - inner\n    1..2\nok 1 - outer\n");
        assert_eq!(
            short.broken.as_deref(),
            Some("2 tests were planned and 1 ran")
        );
        assert!(parse("ok 1 - a\n1..1\n    ok 1 - inner\n").broken.is_some());
    }

    #[test]
    fn nodes_announcements_name_no_streams() {
        let parsed = parse(
            "TAP version 13\n# Subtest: suite\n    # Subtest: a\n    ok 1 - a\n      ---\n      duration_ms: 1\n      ...\n    \
             # Subtest: b\n    not ok 2 - b\n      ---\n      error: 'ok 3 - not a result'\n      ...\n    1..2\n\
             not ok 1 - suite\n  ---\n  type: 'suite'\n  ...\n# Subtest: c\nok 2 - c\n1..2\n# tests 3\n# fail 1\n",
        );
        assert_eq!(
            lines(&parsed),
            [
                "c Passed",
                "suite Failed",
                "suite > a Passed",
                "suite > b Failed"
            ]
        );
        assert_eq!(parsed.broken, None);
        assert!(parsed.messages["suite > b"].contains("not a result"));
    }

    proptest! {
        #[test]
        fn anything_can_be_read_and_nothing_passes_out_of_nothing(output in "(?s).{0,200}") {
            let parsed = parse(&output);
            let has_ok_line = output.lines().any(|line| line.trim_start().starts_with("ok"));
            prop_assert!(has_ok_line || !parsed.tests.values().any(|outcome| *outcome == TestOutcome::Passed));
        }

        #[test]
        fn a_cut_stream_is_broken_or_whole(tests in 1_u32..20, keep in 0_usize..400) {
            let lines: Vec<String> = (1..=tests).map(|number| format!("ok {number} - t{number}\n")).collect();
            let whole = format!("1..{tests}\n{}", lines.concat());
            let cut = &whole[..keep.min(whole.len())];
            let parsed = parse(cut);
            prop_assert!(parsed.broken.is_some() || parsed.tests.len() == tests as usize);
        }
    }
}
