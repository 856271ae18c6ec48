//! A run as OpenTelemetry traces, in the JSON form of OTLP: a span for the run, below it one for each task, each attempt
//! and each step of an attempt.
//!
//! Computed from the summary when a run is over, so the spans are those of the journal, whatever process made them, and
//! the same run always has the same ids.

use crate::moment::milliseconds;
use crate::{AttemptSummary, Summary, TaskSummary, Verdict};
use itertools::Itertools as _;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tm_scheduler::Failure;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
const OK: u8 = 1;
const ERROR: u8 = 2;

/// A span, as OTLP spells it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    #[serde(flatten)]
    place: Place,
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
    let resource = resource
        .iter()
        .map(|(key, value)| attribute(key, &json!(value)));
    json!({"resourceSpans": [{
        "resource": {"attributes": resource.collect_vec()},
        "scopeSpans": [{"scope": {"name": "tm", "version": env!("CARGO_PKG_VERSION")}, "spans": spans(summary)}],
    }]})
}

fn spans(summary: &Summary) -> Vec<Span> {
    let place = Place::root(&summary.run_id);
    let status = summary.status.as_str();
    let failed = matches!(status, "failed" | "interrupted" | "stopped").then_some(status);
    let run = place.span(
        format!("run {}", summary.run_id),
        (&summary.started_at, &summary.ended_at),
        &json!({
            "tm.run.id": summary.run_id,
            "tm.run.status": status,
            "tm.tag": summary.tag,
            "tm.integration.branch": summary.integration_branch,
            "tm.tasks": summary.tasks.len(),
            "tm.slots": summary.max_parallel,
        }),
        ended(failed),
    );
    let tasks = summary.tasks.iter();
    let below = tasks.flat_map(|task| task_spans(&place, task, &summary.ended_at));
    std::iter::once(run).chain(below).collect()
}

/// A task that was never begun has no span: there is no time in which it was.
fn task_spans(run: &Place, task: &TaskSummary, run_ended_at: &str) -> Vec<Span> {
    let (Some(first), Some(last)) = (task.attempts.first(), task.attempts.last()) else {
        return Vec::new();
    };
    let place = run.below(&task.id);
    let ended_at = last.ended_at.as_deref().unwrap_or(run_ended_at);
    let why = task.failure.map_or("", Failure::as_str);
    let whole = place.span(
        format!("task {}", task.id),
        (&first.started_at, ended_at),
        &json!({
            "tm.task.id": task.id,
            "tm.task.title": task.title,
            "tm.task.phase": task.phase,
            "tm.task.verdict": task.verdict,
            "tm.task.landed": task.landed,
            "tm.task.wave": task.wave,
            "tm.task.commit": task.commit,
        }),
        ended((task.verdict == Verdict::Fail).then_some(why)),
    );
    let attempts = task.attempts.iter();
    let below = attempts.flat_map(|attempt| attempt_spans(&place, attempt, run_ended_at));
    std::iter::once(whole).chain(below).collect()
}

fn attempt_spans(task: &Place, attempt: &AttemptSummary, run_ended_at: &str) -> Vec<Span> {
    let place = task.below(&attempt.n.to_string());
    let ended_at = attempt.ended_at.as_deref().unwrap_or(run_ended_at);
    let (tokens, proof) = (attempt.tokens.as_ref(), attempt.proof.as_ref());
    let whole = place.span(
        format!("attempt {}", attempt.n),
        (&attempt.started_at, ended_at),
        &json!({
            "tm.attempt": attempt.n,
            "tm.claim": attempt.claim,
            "tm.agent": attempt.agent,
            "gen_ai.usage.input_tokens": tokens.map(|tokens| tokens.input),
            "gen_ai.usage.output_tokens": tokens.map(|tokens| tokens.output),
            "tm.cost.usd": attempt.cost_usd,
            "tm.tests.passed": proof.map(|proof| proof.passed),
            "tm.tests.failed": proof.map(|proof| proof.failed),
        }),
        ended(attempt.failure.map(Failure::as_str)),
    );
    let step = |(name, began_at, ended_at): (&str, &str, &str)| {
        let step = place.below(name);
        step.span(
            name.to_owned(),
            (began_at, ended_at),
            &Value::Null,
            json!({}),
        )
    };
    let steps = steps(attempt, ended_at).into_iter().map(step);
    std::iter::once(whole).chain(steps).collect()
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
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    #[serde(skip)]
    path: String,
    trace_id: String,
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

    /// A span with those of its attributes that are known.
    fn span(
        &self,
        name: String,
        (began_at, ended_at): (&str, &str),
        attributes: &Value,
        status: Value,
    ) -> Span {
        let known = attributes.as_object().into_iter().flatten();
        let known = known.filter(|(_, value)| !value.is_null());
        Span {
            place: self.clone(),
            name,
            kind: INTERNAL,
            start_time_unix_nano: nanoseconds(began_at),
            end_time_unix_nano: nanoseconds(ended_at),
            attributes: known.map(|(key, value)| attribute(key, value)).collect(),
            status,
        }
    }
}

/// So many bytes as hex, never all zero.
fn hash(text: &str, bytes: usize) -> String {
    let digest = Sha256::digest(text);
    digest[..bytes]
        .iter()
        .format_with("", |byte, write| write(&format_args!("{byte:02x}")))
        .to_string()
}

fn nanoseconds(moment: &str) -> String {
    (u128::from(milliseconds(moment)) * 1_000_000).to_string()
}

/// How it ended: well, or for a reason.
fn ended(failed: Option<&str>) -> Value {
    failed.map_or_else(
        || json!({"code": OK}),
        |why| json!({"code": ERROR, "message": why}),
    )
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Bool(_) => json!({"boolValue": value}),
        // Numbers of 64 bits are text in the JSON form of protobuf.
        Value::Number(number) if !number.is_f64() => json!({"intValue": number.to_string()}),
        Value::Number(_) => json!({"doubleValue": value}),
        _ => json!({"stringValue": value}),
    };
    json!({"key": key, "value": value})
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
            &["run 20261121-014512-3fa9", "task 1:red"],
            &attempt[..],
            &["task 1"],
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
