//! The traces of a run, as a collector on loopback gets them.

use crate::scene::{HONEST, Scene};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

/// Answers one request; returns its head and its body.
fn answer_one(listener: &TcpListener) -> (String, Value) {
    let (mut stream, _) = listener.accept().expect("a request");
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        .expect("an answer");
    (head, serde_json::from_slice(&body).expect("JSON"))
}

#[test]
fn a_collector_gets_the_spans_of_a_run() {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let collector = std::thread::spawn(move || answer_one(&listener));
    let output = scene
        .run_command(&[])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
        .env("OTEL_SERVICE_NAME", "nightly")
        .output()
        .expect("tm");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (head, body) = collector.join().expect("a request");
    assert!(
        head.starts_with("POST /v1/traces ") && head.contains("Bearer abc"),
        "{head}"
    );
    let traces = &body["resourceSpans"][0];
    assert_eq!(
        traces["resource"]["attributes"][0]["value"]["stringValue"], "nightly",
        "{body}"
    );
    let spans = traces["scopeSpans"][0]["spans"].as_array().expect("spans");
    let names: Vec<&str> = spans
        .iter()
        .filter_map(|span| span["name"].as_str())
        .collect();
    for name in [
        "task 1:red",
        "task 1",
        "attempt 1",
        "prepare",
        "agent",
        "prove, commit and land",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let time = |span: &Value, key: &str| {
        span[key]
            .as_str()
            .and_then(|time| time.parse::<u64>().ok())
            .expect("a time")
    };
    assert!(
        spans
            .iter()
            .all(|span| time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano")),
        "{body}"
    );
}

#[test]
fn a_collector_that_is_not_there_changes_nothing_about_the_run() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let output = scene
        .run_command(&[])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(0) && words.contains("failed to export traces"),
        "{words}"
    );
}
