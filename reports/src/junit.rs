//! The summary of a run as `JUnit` XML: a pair is a suite; its RED, its GREEN and their landing are the cases.

use crate::html::milliseconds;
use crate::{Summary, TaskSummary, Verdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;
use tm_scheduler::{GateResult, Phase, in_a_line};

/// Returns the summary as `JUnit` XML. What XML can't hold is left out of it.
pub fn junit_xml(summary: &Summary) -> String {
    let mut report = Report::new("tm");
    report.set_time(Duration::from_millis(summary.wall_ms));
    for task in summary.tasks.iter().filter(|task| task.phase != Phase::Red || !has_green(summary, task)) {
        report.add_test_suite(suite(summary, task));
    }
    report.to_string().expect("a report in memory can be written")
}

/// Whether the RED is a case of another suite.
fn has_green(summary: &Summary, red: &TaskSummary) -> bool {
    red.pair.as_ref().is_some_and(|green| summary.tasks.iter().any(|task| task.id == *green))
}

fn suite(summary: &Summary, task: &TaskSummary) -> TestSuite {
    let mut suite = TestSuite::new(format!("{} {}", task.id, task.title));
    let red = task.pair.as_ref().and_then(|id| summary.tasks.iter().find(|red| red.id == *id));
    if let Some(red) = red {
        suite.add_test_case(case("RED", red));
    }
    let name = match task.phase {
        Phase::Red => "RED",
        Phase::Green => "GREEN",
        Phase::None => "work",
    };
    suite.add_test_case(case(name, task));
    let last = task.attempts.last().and_then(|attempt| attempt.proof.as_ref());
    for gate in last.iter().flat_map(|proof| &proof.gates) {
        suite.add_test_case(of_gate(gate, task));
    }
    suite.add_test_case(landing(task));
    let time: Duration = suite.test_cases.iter().filter_map(|case| case.time).sum();
    suite.set_time(time);
    let facts = [("tm.branch", &task.branch), ("tm.commit", &task.commit)];
    for (name, value) in facts {
        if let Some(value) = value {
            suite.add_property((name, value.as_str()));
        }
    }
    if let Some(strength) = task.strength() {
        suite.add_property(("tm.proof", strength.as_str()));
    }
    suite
}

fn case(name: &str, task: &TaskSummary) -> TestCase {
    let status = match task.verdict {
        Verdict::Pass | Verdict::Partial => TestCaseStatus::success(),
        Verdict::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let failure = task.failure.map_or("failed", tm_scheduler::Failure::as_str);
            status.set_type(failure);
            let reason = task.reason.clone().unwrap_or_default();
            status.set_message(format!("{failure} after {} attempts: {}", task.attempts.len(), in_a_line(&reason)));
            status.set_description(reason);
            status
        }
        Verdict::Blocked => skipped(format!("blocked by {}", task.blocked_by.join(", "))),
        Verdict::NotRun => skipped(task.state.clone()),
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(task.id.as_str());
    case.set_time(work(task));
    case
}

/// What a gate said of the last attempt's work.
fn of_gate(gate: &GateResult, task: &TaskSummary) -> TestCase {
    let status = if gate.outcome.holds() {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(gate.outcome.as_str());
        status.set_message(format!("the gate {} is {}", gate.name, gate.outcome.as_str()));
        status.set_description(gate.findings.join("\n"));
        status
    };
    let mut case = TestCase::new(format!("gate {}", gate.name), status);
    case.set_classname(task.id.as_str());
    case
}

fn landing(task: &TaskSummary) -> TestCase {
    let status = match task.verdict {
        Verdict::Fail if task.failure.is_none() => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("in doubt");
            status.set_message(task.reason.clone().unwrap_or_default());
            status
        }
        _ if task.landed => TestCaseStatus::success(),
        Verdict::Pass | Verdict::Partial => skipped("the work stays on its own branch"),
        Verdict::Fail | Verdict::Blocked | Verdict::NotRun => skipped("there is nothing to land"),
    };
    let mut case = TestCase::new("landing", status);
    case.set_classname(task.id.as_str());
    case
}

fn skipped(why: impl Into<quick_junit::XmlString>) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

/// How long its agents worked, all attempts together.
fn work(task: &TaskSummary) -> Duration {
    let of_one = |start: &Option<String>, end: &Option<String>| {
        let (start, end) = (start.as_ref()?, end.as_ref()?);
        Some(milliseconds(end).saturating_sub(milliseconds(start)))
    };
    let all = task.attempts.iter().filter_map(|one| of_one(&one.agent_started_at, &one.agent_ended_at));
    Duration::from_millis(all.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::summary;

    #[test]
    fn a_pair_is_a_suite_of_three_cases() {
        insta::assert_snapshot!(junit_xml(&summary()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tm" tests="6" skipped="2" failures="1" errors="0" time="7.000">
            <testsuite name="1 Add numbers" tests="3" skipped="0" errors="0" failures="0" time="7.000">
                <properties>
                    <property name="tm.branch" value="tm/b"/>
                    <property name="tm.commit" value="green0123456789"/>
                    <property name="tm.proof" value="proven"/>
                </properties>
                <testcase name="RED" classname="1:red" time="2.000"/>
                <testcase name="GREEN" classname="1" time="5.000"/>
                <testcase name="landing" classname="1"/>
            </testsuite>
            <testsuite name="2 Subtract | numbers" tests="3" skipped="2" errors="0" failures="1" time="2.000">
                <testcase name="RED" classname="2:red" time="2.000">
                    <failure message="red-passed after 1 attempts: no new test fails" type="red-passed">no new test fails</failure>
                </testcase>
                <testcase name="GREEN" classname="2" time="0.000">
                    <skipped message="blocked by 2:red"/>
                </testcase>
                <testcase name="landing" classname="2">
                    <skipped message="there is nothing to land"/>
                </testcase>
            </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn what_agents_print_can_not_break_the_document() {
        let mut summary = summary();
        summary.tasks[3].reason = Some("]]></failure><b> & \u{1b}[31mred\u{0}\u{b}".to_owned());
        let xml = junit_xml(&summary);
        assert!(!xml.contains("<b>") && !xml.contains('\u{1b}') && !xml.contains('\u{0}'), "{xml}");
    }
}
