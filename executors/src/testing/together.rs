//! Puts the results of several test commands together into those of one, so that each test is compared with itself.
//!
//! Knows names and ends; what they mean for a task is decided in the scheduler.

use super::{Parsed, TestCommand};
use std::collections::BTreeMap;
use tm_scheduler::{CommandEnd, Coverage, Detail, TestOutcome, TestReport};

/// Returns a report with the label of its command before the name of each test.
pub fn labelled(command: &TestCommand, mut report: TestReport) -> TestReport {
    let Some(label) = &command.label else {
        return report;
    };
    report.tests = with_label(label, report.tests);
    report.messages = with_label(label, report.messages);
    report
}

fn with_label<Told>(label: &str, told: BTreeMap<String, Told>) -> BTreeMap<String, Told> {
    let labelled = |(name, told)| (format!("{label}: {name}"), told);
    told.into_iter().map(labelled).collect()
}

/// Returns the results of a command that is made of others, one report for each of them, in their order.
///
/// A command that tells its exit status alone counts as one test by its own name: so its failing is never hidden by that
/// of another, neither before the work nor after it.
pub fn put_together(command: &TestCommand, reports: Vec<TestReport>) -> TestReport {
    let mut all = TestReport::without_results(CommandEnd::Exited(Some(0)));
    all.detail = Detail::PerTest;
    let mut results = Parsed::default();
    for (part, report) in command.each().iter().zip(reports) {
        let words = part.to_string();
        if report.detail == Detail::ExitStatusOnly {
            let outcome = if report.end.succeeded() {
                TestOutcome::Passed
            } else {
                TestOutcome::Failed
            };
            let name = results.add(&[&words], outcome);
            let tail = Some(report.output_tail.clone()).filter(|tail| !tail.is_empty());
            results.messages.extend(tail.map(|tail| (name, tail)));
        }
        let mut of_part = Parsed::default();
        of_part.tests = report.tests;
        of_part.messages = report.messages;
        of_part.broken = report.broken.map(|why| format!("`{words}`: {why}"));
        results.merge(of_part);
        all.load_errors.extend(report.load_errors);
        all.mistakes.extend(report.mistakes);
        all.rewritten.extend(report.rewritten);
        all.refused.extend(report.refused);
        all.coverage = sum(all.coverage, report.coverage);
        if weight(&report.end) > weight(&all.end) {
            all.end = report.end;
        }
        let tail = report.output_tail.trim_end();
        all.output_tail = format!("{}{words}:\n{tail}\n", all.output_tail);
    }
    TestReport {
        tests: results.tests,
        messages: results.messages,
        broken: results.broken,
        ..all
    }
}

/// Returns which commands of several told their exit status alone, by the name of the test that stands for each.
pub fn told_by_exit_status(command: &TestCommand, report: &TestReport) -> Vec<String> {
    command
        .parts
        .iter()
        .map(ToString::to_string)
        .filter(|name| report.tests.contains_key(name))
        .collect()
}

/// How much an end says against the tests as a whole.
const fn weight(end: &CommandEnd) -> u8 {
    match end {
        CommandEnd::Exited(Some(0)) => 0,
        CommandEnd::Exited(Some(_)) => 1,
        CommandEnd::Exited(None) => 2,
        CommandEnd::TimedOut => 3,
        CommandEnd::NotStarted(_) => 4,
    }
}

fn sum(one: Option<Coverage>, other: Option<Coverage>) -> Option<Coverage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Coverage {
            covered: one.covered + other.covered,
            total: one.total + other.total,
            source: format!("{}, {}", one.source, other.source),
        }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> TestCommand {
        TestCommand::shell(text, None).with_label()
    }

    fn per_test(end: i32, tests: &[(&str, TestOutcome)]) -> TestReport {
        let tests = tests
            .iter()
            .map(|(name, outcome)| ((*name).to_owned(), *outcome))
            .collect();
        let nothing = TestReport::without_results(CommandEnd::Exited(Some(end)));
        TestReport {
            tests,
            detail: Detail::PerTest,
            ..nothing
        }
    }

    #[test]
    fn tests_of_the_same_name_in_two_parts_stay_two() {
        let (one, other) = (part("one"), part("other"));
        let of_one = labelled(&one, per_test(0, &[("adds", TestOutcome::Passed)]));
        let of_other = labelled(&other, per_test(1, &[("adds", TestOutcome::Failed)]));
        let both = TestCommand::together(vec![one, other]).expect("two");
        let all = put_together(&both, vec![of_one, of_other]);
        assert_eq!(all.tests["one: adds"], TestOutcome::Passed);
        assert_eq!(all.tests["other: adds"], TestOutcome::Failed);
        assert_eq!(all.end, CommandEnd::Exited(Some(1)));
        assert!(told_by_exit_status(&both, &all).is_empty());
    }

    #[test]
    fn an_exit_status_is_a_test_of_its_own_that_no_other_failure_hides() {
        let both = TestCommand::together(vec![part("one"), part("other")]).expect("two");
        let exit = |code| TestReport::without_results(CommandEnd::Exited(Some(code)));
        let before = put_together(&both, vec![exit(1), exit(0)]);
        let after = put_together(&both, vec![exit(1), exit(1)]);
        assert_eq!(told_by_exit_status(&both, &after), ["one", "other"]);
        let proof = tm_scheduler::verdict::judge_plain(&before, &after, None);
        assert_eq!(proof.regressions, ["other"]);
    }

    #[test]
    fn one_command_is_itself_and_none_is_none() {
        assert_eq!(TestCommand::together(vec![part("one")]), Some(part("one")));
        assert_eq!(
            TestCommand::together(vec![part("one"), part("one")]),
            Some(part("one"))
        );
        assert_eq!(TestCommand::together(Vec::new()), None);
        let both = TestCommand::together(vec![part("cd a && make"), part("make b")]).expect("two");
        assert_eq!(both.to_string(), "(cd a && make) && (make b)");
    }
}
