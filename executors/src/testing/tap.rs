//! Test Anything Protocol, versions 12 to 14: one stream, or several one after another.
//!
//! A stream that does not keep its plan, or that bails out, is broken: its missing tests must not look like success.

use super::Parsed;
use tm_scheduler::TestOutcome;

/// One stream as far as it has come.
#[derive(Default)]
struct Stream {
    prefix: String,
    planned: Option<u64>,
    seen: u64,
    last: Option<String>,
}

/// Tells whether the output is in this format.
pub(super) fn looks_like_tap(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("TAP version ") || plan(line).is_some())
        && output.lines().any(|line| plan(line).is_some() || result(line).is_some())
}

pub(super) fn parse(output: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut stream = Stream::default();
    let mut streams = 0;
    for line in output.lines() {
        if let Some(why) = line.strip_prefix("Bail out!") {
            parsed.breaks(format!("the suite bailed out: {}", why.trim()));
        } else if let Some(name) = line.strip_prefix("# Subtest: ") {
            if stream.seen > 0 || stream.planned.is_some() {
                end(&mut stream, &mut parsed);
            }
            stream.prefix = format!("{}: ", name.trim());
        } else if line.starts_with("TAP version ") {
            if stream.seen > 0 || stream.planned.is_some() {
                end(&mut stream, &mut parsed);
            }
        } else if let Some(count) = plan(line) {
            if stream.planned.is_some() {
                end(&mut stream, &mut parsed);
            }
            stream.planned = Some(count);
            streams += 1;
        } else if let Some((outcome, name)) = result(line) {
            stream.seen += 1;
            stream.last = Some(parsed.add(&format!("{}{name}", stream.prefix), outcome));
        } else if let Some(last) = &stream.last {
            let is_diagnostic = line.starts_with('#') || line.starts_with(' ');
            if is_diagnostic && parsed.tests.get(last) == Some(&TestOutcome::Failed) {
                let last = last.clone();
                parsed.say(&last, line.trim_start_matches('#').trim());
            }
        }
    }
    end(&mut stream, &mut parsed);
    if streams == 0 {
        parsed.breaks("there is no plan");
    }
    parsed
}

/// Checks that a stream kept its plan.
fn end(stream: &mut Stream, parsed: &mut Parsed) {
    let Stream { planned, seen, .. } = std::mem::take(stream);
    match planned {
        Some(planned) if planned != seen => parsed.breaks(format!("{planned} tests were planned and {seen} ran")),
        None if seen > 0 => parsed.breaks(format!("{seen} tests ran without a plan")),
        Some(_) | None => {}
    }
}

/// Reads `1..N`, with a reason behind it or not.
fn plan(line: &str) -> Option<u64> {
    let count = line.strip_prefix("1..")?;
    count.split([' ', '#']).next()?.trim().parse().ok()
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
    let rest = rest.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = split_directive(rest);
    let directive = directive.to_ascii_lowercase();
    let outcome = match (directive.starts_with("skip"), directive.starts_with("todo"), is_ok) {
        (true, _, _) | (false, true, false) => TestOutcome::Skipped,
        (false, _, true) => TestOutcome::Passed,
        (false, false, false) => TestOutcome::Failed,
    };
    Some((outcome, name.trim().to_owned()))
}

/// Splits at the first `#` that stands behind a space and is not escaped.
fn split_directive(rest: &str) -> (&str, &str) {
    rest.split_once(" # ").or_else(|| rest.split_once(" #")).map_or_else(
        || rest.strip_prefix("# ").map_or((rest, ""), |directive| ("", directive)),
        |(name, directive)| (name, directive.trim_start()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(parsed: &Parsed) -> Vec<String> {
        parsed.tests.iter().map(|(name, outcome)| format!("{name} {outcome:?}")).collect()
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
        assert_eq!(parsed.messages["subtracts"], "expected 1, got 2\n---\nat: 3\n...\n");
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn a_stream_that_does_not_keep_its_plan_is_broken() {
        for (output, why) in [
            ("1..3\nok 1\nok 2\n", "3 tests were planned and 2 ran"),
            ("ok 1\nok 2\n1..1\n", "1 tests were planned and 2 ran"),
            ("ok 1\n", "1 tests ran without a plan"),
            ("1..2\nok 1\nBail out! no database\n", "the suite bailed out: no database"),
            ("", "there is no plan"),
            ("hello\n", "there is no plan"),
        ] {
            assert_eq!(parse(output).broken.as_deref(), Some(why), "{output}");
        }
        assert_eq!(parse("1..0 # SKIP nothing to do\n").broken, None);
    }

    #[test]
    fn several_streams_are_named_apart() {
        let parsed = parse("# Subtest: t/a.t\n1..1\nok 1 - works\n# Subtest: t/b.t\nnot ok 1 - works\n1..1\n");
        assert_eq!(lines(&parsed), ["t/a.t: works Passed", "t/b.t: works Failed"]);
        assert_eq!(parsed.broken, None);
    }

    #[test]
    fn a_subtest_counts_as_its_own_line() {
        let parsed = parse("1..1\n    ok 1 - inner\n    1..1\nok 1 - outer\n");
        assert_eq!(lines(&parsed), ["outer Passed"]);
        assert_eq!(parsed.broken, None);
    }

    proptest! {
        #[test]
        fn anything_can_be_read_and_nothing_passes_out_of_nothing(output in "(?s).{0,200}") {
            let parsed = parse(&output);
            let has_ok_line = output.lines().any(|line| line.starts_with("ok"));
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
