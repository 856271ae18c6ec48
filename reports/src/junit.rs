//! The summary of a run as `JUnit` XML: a pair is a suite; its RED, its GREEN and their landing are the cases.

use crate::html::milliseconds;
use crate::junit_document::{JunitCase, JunitDocument, JunitFault, JunitSuite};
use crate::{Summary, TaskSummary, Verdict};
use std::time::Duration;
use tm_scheduler::{Failure, GateResult, Phase, in_a_line};

/// Returns the summary as `JUnit` XML. What XML can't hold is left out of it.
pub fn junit_xml(summary: &Summary) -> String {
    let tasks = summary
        .tasks
        .iter()
        .filter(|task| task.phase != Phase::Red || !has_green(summary, task));
    let suites = tasks.map(|task| suite(summary, task)).collect();
    let seconds = Duration::from_millis(summary.wall_ms).as_secs_f64();
    JunitDocument {
        name: "tm",
        seconds: Some(seconds),
        suites,
    }
    .to_xml()
}

/// Whether the RED is a case of another suite.
fn has_green(summary: &Summary, red: &TaskSummary) -> bool {
    red.pair
        .as_ref()
        .is_some_and(|green| summary.tasks.iter().any(|task| task.id == *green))
}

fn suite(summary: &Summary, task: &TaskSummary) -> JunitSuite {
    let red = task
        .pair
        .as_ref()
        .and_then(|id| summary.tasks.iter().find(|red| red.id == *id));
    let name = match task.phase {
        Phase::Red => "RED",
        Phase::Green => "GREEN",
        Phase::None => "work",
    };
    let mut cases: Vec<_> = red.map(|red| of_work("RED", red)).into_iter().collect();
    cases.push(of_work(name, task));
    cases.extend(
        task.attempts
            .last()
            .iter()
            .flat_map(|last| last.gates())
            .map(|gate| of_gate(gate, task)),
    );
    cases.push(case("landing".to_owned(), task, landing(task)));
    let strength = task.strength().map(|strength| strength.as_str().to_owned());
    let facts = [
        ("tm.branch", task.branch.clone()),
        ("tm.commit", task.commit.clone()),
        ("tm.proof", strength),
    ];
    let properties = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    JunitSuite {
        name: format!("{} {}", task.id, task.title),
        properties,
        cases,
    }
}

fn case(name: String, task: &TaskSummary, fault: Option<JunitFault>) -> JunitCase {
    JunitCase {
        name,
        class: task.id.clone(),
        seconds: None,
        fault,
    }
}

fn of_work(name: &str, task: &TaskSummary) -> JunitCase {
    let fault = match task.verdict {
        Verdict::Pass | Verdict::Partial => None,
        Verdict::Fail => {
            let kind = task.failure.map_or("failed", Failure::as_str);
            let reason = task.reason.clone().unwrap_or_default();
            let message = format!(
                "{kind} after {} attempts: {}",
                task.attempts.len(),
                in_a_line(&reason)
            );
            Some(failed(kind, message, reason))
        }
        Verdict::Blocked => Some(JunitFault::skipped(format!(
            "blocked by {}",
            task.blocked_by.join(", ")
        ))),
        Verdict::NotRun => Some(JunitFault::skipped(task.state.clone())),
    };
    JunitCase {
        seconds: Some(work(task).as_secs_f64()),
        ..case(name.to_owned(), task, fault)
    }
}

/// What a gate said of the last attempt's work.
fn of_gate(gate: &GateResult, task: &TaskSummary) -> JunitCase {
    let kind = gate.outcome.as_str();
    let message = format!("the gate {} is {kind}", gate.name);
    let fault = (!gate.outcome.holds()).then(|| failed(kind, message, gate.findings.join("\n")));
    case(format!("gate {}", gate.name), task, fault)
}

fn landing(task: &TaskSummary) -> Option<JunitFault> {
    match task.verdict {
        Verdict::Fail if task.failure.is_none() => Some(failed(
            "in doubt",
            task.reason.clone().unwrap_or_default(),
            String::new(),
        )),
        _ if task.landed => None,
        Verdict::Pass | Verdict::Partial => Some(JunitFault::skipped(
            "the work stays on its own branch".to_owned(),
        )),
        Verdict::Fail | Verdict::Blocked | Verdict::NotRun => {
            Some(JunitFault::skipped("there is nothing to land".to_owned()))
        }
    }
}

fn failed(kind: &'static str, message: String, details: String) -> JunitFault {
    JunitFault {
        tag: "failure",
        kind: Some(kind),
        message,
        details,
    }
}

/// How long its agents worked, all attempts together.
fn work(task: &TaskSummary) -> Duration {
    let of_one = |start: &Option<String>, end: &Option<String>| {
        let (start, end) = (start.as_ref()?, end.as_ref()?);
        Some(milliseconds(end).saturating_sub(milliseconds(start)))
    };
    let all = task
        .attempts
        .iter()
        .filter_map(|one| of_one(&one.agent_started_at, &one.agent_ended_at));
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
            <testsuite name="1 Add numbers" tests="3" skipped="0" failures="0" errors="0" time="7.000">
                <properties>
                    <property name="tm.branch" value="tm/b"/>
                    <property name="tm.commit" value="green0123456789"/>
                    <property name="tm.proof" value="proven"/>
                </properties>
                <testcase name="RED" classname="1:red" time="2.000"/>
                <testcase name="GREEN" classname="1" time="5.000"/>
                <testcase name="landing" classname="1"/>
            </testsuite>
            <testsuite name="2 Subtract | numbers" tests="3" skipped="2" failures="1" errors="0" time="2.000">
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
        assert!(
            !xml.contains("<b>") && !xml.contains('\u{1b}') && !xml.contains('\u{0}'),
            "{xml}"
        );
    }
}
