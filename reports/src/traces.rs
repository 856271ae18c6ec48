//! A run as OpenTelemetry traces, in the JSON form of OTLP: a span for the run, below it one for each task, each attempt
//! and each step of an attempt.
//!
//! Computed from the summary when a run is over, so the spans are those of the journal, whatever process made them, and
//! the same run always has the same ids.

use crate::{AttemptSummary, Summary, TaskSummary, Verdict};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
const OK: u8 = 1;
const ERROR: u8 = 2;

/// A span, as OTLP spells it.
#[expect(clippy::struct_field_names, reason = "the names are the format's")]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Value>,
    status: Value,
}

/// Returns the traces of a run, as `/v1/traces` of a collector takes them. `resource` describes the service: its name,
/// and whatever else the user says of it.
pub fn traces_json(summary: &Summary, resource: &[(String, String)]) -> Value {
    let resource: Vec<Value> = resource
        .iter()
        .map(|(key, value)| text(key, value))
        .collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "tm", "version": env!("CARGO_PKG_VERSION")}, "spans": spans(summary)}],
    }]})
}

fn spans(summary: &Summary) -> Vec<Span> {
    let place = Place::root(&summary.run_id);
    let failed = matches!(
        summary.status.as_str(),
        "failed" | "interrupted" | "stopped"
    );
    let mut spans = vec![place.span(
        format!("run {}", summary.run_id),
        (&summary.started_at, &summary.ended_at),
        vec![
            text("tm.run.id", &summary.run_id),
            text("tm.run.status", &summary.status),
            text("tm.tag", &summary.tag),
            text("tm.integration.branch", &summary.integration_branch),
            number("tm.tasks", summary.tasks.len() as u64),
            number("tm.slots", u64::from(summary.max_parallel)),
        ],
        status(failed, &summary.status),
    )];
    for task in &summary.tasks {
        task_spans(&mut spans, &place, task, &summary.ended_at);
    }
    spans
}

/// A task that was never begun has no span: there is no time in which it was.
fn task_spans(spans: &mut Vec<Span>, run: &Place, task: &TaskSummary, run_ended_at: &str) {
    let Some(first) = task.attempts.first() else {
        return;
    };
    let place = run.below(&task.id);
    let ended_at = task
        .attempts
        .last()
        .and_then(|last| last.ended_at.as_deref())
        .unwrap_or(run_ended_at);
    let mut attributes = vec![
        text("tm.task.id", &task.id),
        text("tm.task.title", &task.title),
        text("tm.task.phase", task.phase.as_str()),
        text("tm.task.verdict", task.verdict.as_str()),
        flag("tm.task.landed", task.landed),
        number("tm.task.wave", u64::from(task.wave)),
    ];
    attributes.extend(
        task.commit
            .iter()
            .map(|commit| text("tm.task.commit", commit)),
    );
    let why = task.failure.map_or("", tm_scheduler::Failure::as_str);
    let status = status(task.verdict == Verdict::Fail, why);
    spans.push(place.span(
        format!("task {}", task.id),
        (&first.started_at, ended_at),
        attributes,
        status,
    ));
    for attempt in &task.attempts {
        attempt_spans(spans, &place, attempt, run_ended_at);
    }
}

fn attempt_spans(
    spans: &mut Vec<Span>,
    task: &Place,
    attempt: &AttemptSummary,
    run_ended_at: &str,
) {
    let place = task.below(&attempt.n.to_string());
    let ended_at = attempt.ended_at.as_deref().unwrap_or(run_ended_at);
    let mut attributes = vec![
        number("tm.attempt", u64::from(attempt.n)),
        text("tm.claim", &attempt.claim),
    ];
    attributes.extend(attempt.agent.iter().map(|agent| text("tm.agent", agent)));
    attributes.extend(attempt.tokens.iter().flat_map(|tokens| {
        [
            number("gen_ai.usage.input_tokens", tokens.input),
            number("gen_ai.usage.output_tokens", tokens.output),
        ]
    }));
    attributes.extend(
        attempt
            .cost_usd
            .map(|cost| attribute("tm.cost.usd", &json!({"doubleValue": cost}))),
    );
    attributes.extend(attempt.proof.iter().flat_map(|proof| {
        [
            number("tm.tests.passed", proof.passed),
            number("tm.tests.failed", proof.failed),
        ]
    }));
    let why = attempt.failure.map_or("", tm_scheduler::Failure::as_str);
    let status = status(attempt.failure.is_some(), why);
    spans.push(place.span(
        format!("attempt {}", attempt.n),
        (&attempt.started_at, ended_at),
        attributes,
        status,
    ));
    for (name, began_at, ended_at) in steps(attempt, ended_at) {
        spans.push(place.below(name).span(
            name.to_owned(),
            (began_at, ended_at),
            Vec::new(),
            json!({}),
        ));
    }
}

/// The parts of an attempt, as far as it came.
fn steps<'a>(
    attempt: &'a AttemptSummary,
    ended_at: &'a str,
) -> Vec<(&'static str, &'a str, &'a str)> {
    let (Some(agent_began), Some(agent_ended)) =
        (&attempt.agent_started_at, &attempt.agent_ended_at)
    else {
        return vec![("prepare", &attempt.started_at, ended_at)];
    };
    vec![
        ("prepare", &attempt.started_at, agent_began),
        ("agent", agent_began, agent_ended),
        ("prove, commit and land", agent_ended, ended_at),
    ]
}

/// Where a span is: its ids follow from the names above it.
#[derive(Debug)]
struct Place {
    trace_id: String,
    path: String,
    span_id: String,
    parent_span_id: String,
}

impl Place {
    fn root(run: &str) -> Self {
        Self {
            trace_id: hash(run, 16),
            path: run.to_owned(),
            span_id: hash(run, 8),
            parent_span_id: String::new(),
        }
    }

    fn below(&self, name: &str) -> Self {
        // Names hold anything; a line feed keeps `a`, `b` and `a/b` apart.
        let path = format!("{}\n{name}", self.path);
        Self {
            trace_id: self.trace_id.clone(),
            span_id: hash(&path, 8),
            parent_span_id: self.span_id.clone(),
            path,
        }
    }

    fn span(
        &self,
        name: String,
        (began_at, ended_at): (&str, &str),
        attributes: Vec<Value>,
        status: Value,
    ) -> Span {
        Span {
            trace_id: self.trace_id.clone(),
            span_id: self.span_id.clone(),
            parent_span_id: self.parent_span_id.clone(),
            name,
            kind: INTERNAL,
            start_time_unix_nano: nanoseconds(began_at),
            end_time_unix_nano: nanoseconds(ended_at),
            attributes,
            status,
        }
    }
}

/// So many bytes as hex, never all zero.
fn hash(text: &str, bytes: usize) -> String {
    Sha256::digest(text)
        .iter()
        .take(bytes)
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

fn nanoseconds(moment: &str) -> String {
    let parsed: Result<jiff::Timestamp, _> = moment.parse();
    parsed
        .map_or(0, jiff::Timestamp::as_nanosecond)
        .max(0)
        .to_string()
}

fn status(failed: bool, why: &str) -> Value {
    if failed {
        json!({"code": ERROR, "message": why})
    } else {
        json!({"code": OK})
    }
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": value})
}

fn text(key: &str, value: &str) -> Value {
    attribute(key, &json!({"stringValue": value}))
}

fn number(key: &str, value: u64) -> Value {
    // Numbers of 64 bits are text in the JSON form of protobuf.
    attribute(key, &json!({"intValue": value.to_string()}))
}

fn flag(key: &str, value: bool) -> Value {
    attribute(key, &json!({"boolValue": value}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::summary;
    use std::collections::BTreeSet;

    #[test]
    fn every_span_has_its_parent_and_an_id_of_its_own() {
        let traces = traces_json(&summary(), &[("service.name".to_owned(), "tm".to_owned())]);
        let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap();
        let ids: BTreeSet<&str> = spans
            .iter()
            .map(|span| span["spanId"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), spans.len());
        assert!(
            spans[0]["parentSpanId"] == "" && spans[0]["traceId"].as_str().unwrap().len() == 32
        );
        assert!(
            spans[1..]
                .iter()
                .all(|span| ids.contains(span["parentSpanId"].as_str().unwrap())),
            "{spans:#?}"
        );
        let names: Vec<&str> = spans
            .iter()
            .map(|span| span["name"].as_str().unwrap())
            .collect();
        let attempt = ["attempt 1", "prepare", "agent", "prove, commit and land"];
        let expected = [
            &["run 20261121-014512-3fa9", "task 1"],
            &attempt[..],
            &["task 1:red"],
            &attempt,
            &["task 2:red"],
            &attempt,
        ];
        assert_eq!(names, expected.concat());
        assert_eq!(
            traces,
            traces_json(&summary(), &[("service.name".to_owned(), "tm".to_owned())])
        );
    }

    #[test]
    fn failures_and_tests_are_on_the_spans() {
        let traces = traces_json(&summary(), &[]);
        let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"]
            .as_array()
            .unwrap();
        let red = spans
            .iter()
            .find(|span| span["name"] == "task 2:red")
            .unwrap();
        assert_eq!(red["status"], json!({"code": 2, "message": "red-passed"}));
        let passed = json!({"key": "tm.tests.passed", "value": {"intValue": "4"}});
        assert!(
            spans
                .iter()
                .any(|span| span["attributes"].as_array().unwrap().contains(&passed))
        );
    }
}
