//! `JUnit` XML: of a run, in which a pair is a suite with its RED, its GREEN, their gates and their landing as cases.
//!
//! A template writes it; what XML can't hold is left out.

use crate::layout::rendered;
use crate::{AttemptSummary, Summary, TaskSummary, Verdict};
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::json;
use std::time::Duration;
use tm_scheduler::{Failure, GateResult, Phase, in_a_line};

/// Cases that belong together, and what is known of all of them.
#[derive(Serialize)]
pub(crate) struct JunitSuite {
    pub(crate) name: String,
    pub(crate) properties: Vec<(&'static str, Option<String>)>,
    pub(crate) cases: Vec<JunitCase>,
}

/// One case.
#[derive(Serialize)]
pub(crate) struct JunitCase {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) seconds: Option<f64>,
    /// Why it did not pass.
    pub(crate) fault: Option<JunitFault>,
}

/// Why a case did not pass.
#[derive(Serialize)]
pub(crate) struct JunitFault {
    /// `failure`, `error` where it could not be tried, or `skipped`.
    pub(crate) tag: &'static str,
    pub(crate) kind: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) details: String,
}

impl JunitFault {
    pub(crate) fn skipped(message: impl Into<String>) -> Self {
        Self {
            tag: "skipped",
            kind: None,
            message: message.into(),
            details: String::new(),
        }
    }

    fn failed(kind: &'static str, message: String, details: String) -> Self {
        Self {
            tag: "failure",
            kind: Some(kind),
            message,
            details,
        }
    }
}

/// Returns a document of suites of cases, with the seconds that all of it took, where they are known.
pub(crate) fn junit_document(name: &str, seconds: Option<f64>, suites: &[JunitSuite]) -> String {
    let document = json!({"name": name, "seconds": seconds, "suites": suites});
    // A template escapes slashes too, which helps nobody who reads XML.
    let text = rendered("junit.xml", &document).replace("&#x2f;", "/");
    tm_untrusted::shown(&text).replace(['\u{fffe}', '\u{ffff}'], "")
}

/// Returns the summary of a run.
pub(crate) fn junit_xml(summary: &Summary) -> String {
    let is_case_of_another =
        |task: &TaskSummary| task.phase == Phase::Red && summary.partner(task).is_some();
    let tasks = summary.tasks.iter();
    let suites = tasks
        .filter(|task| !is_case_of_another(task))
        .map(|task| suite(summary, task))
        .collect_vec();
    junit_document("tm", Some(seconds(summary.wall_ms)), &suites)
}

fn seconds(milliseconds: u64) -> f64 {
    Duration::from_millis(milliseconds).as_secs_f64()
}

fn suite(summary: &Summary, task: &TaskSummary) -> JunitSuite {
    let name = match task.phase {
        Phase::Red => "RED",
        Phase::Green => "GREEN",
        Phase::None => "work",
    };
    let red = summary.partner(task).map(|red| of_work("RED", red));
    let mut cases = red.into_iter().chain([of_work(name, task)]).collect_vec();
    let gates = task
        .attempts
        .last()
        .into_iter()
        .flat_map(AttemptSummary::gates);
    cases.extend(gates.map(|gate| of_gate(gate, task)));
    cases.push(case("landing", task, landing(task)));
    JunitSuite {
        name: format!("{} {}", task.id, task.title),
        properties: vec![
            ("tm.branch", task.branch.as_ref().map(ToString::to_string)),
            ("tm.commit", task.commit.clone()),
            (
                "tm.proof",
                task.strength().map(|strength| strength.as_str().to_owned()),
            ),
        ],
        cases,
    }
}

fn case(name: impl Into<String>, task: &TaskSummary, fault: Option<JunitFault>) -> JunitCase {
    JunitCase {
        name: name.into(),
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
            let attempts = task.attempts.len();
            let message = format!("{kind} after {attempts} attempts: {}", in_a_line(&reason));
            Some(JunitFault::failed(kind, message, reason))
        }
        Verdict::Blocked => {
            let by = task.blocked_by.join(", ");
            Some(JunitFault::skipped(format!("blocked by {by}")))
        }
        Verdict::NotRun => Some(JunitFault::skipped(&task.state)),
    };
    JunitCase {
        seconds: Some(seconds(
            task.attempts.iter().map(AttemptSummary::work).sum(),
        )),
        ..case(name, task, fault)
    }
}

/// What a gate said of the last attempt's work.
fn of_gate(gate: &GateResult, task: &TaskSummary) -> JunitCase {
    let (name, kind) = (&gate.name, gate.outcome.as_str());
    let message = format!("the gate {name} is {kind}");
    let fault = (!gate.outcome.holds())
        .then(|| JunitFault::failed(kind, message, gate.findings.join("\n")));
    case(format!("gate {name}"), task, fault)
}

fn landing(task: &TaskSummary) -> Option<JunitFault> {
    match task.verdict {
        Verdict::Fail if task.failure.is_none() => {
            let why = task.reason.clone().unwrap_or_default();
            Some(JunitFault::failed("in doubt", why, String::new()))
        }
        _ if task.landed => None,
        Verdict::Pass | Verdict::Partial => {
            Some(JunitFault::skipped("the work stays on its own branch"))
        }
        Verdict::Fail | Verdict::Blocked | Verdict::NotRun => {
            Some(JunitFault::skipped("there is nothing to land"))
        }
    }
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
