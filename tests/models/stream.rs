//! Answers as they go over the wire: a document, a stream of events, a stream that stops in its middle.

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::Response;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use std::convert::Infallible;

/// Events as text, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(Vec<String>);

impl Events {
    /// Adds an event that has a name, as most protocols have.
    pub(super) fn named(mut self, event: &Value) -> Self {
        let name = event["type"].as_str().unwrap_or_default();
        self.0.push(format!("event: {name}\ndata: {event}\n\n"));
        self
    }

    /// Adds an event without a name.
    pub(super) fn plain(mut self, data: &(impl std::fmt::Display + ?Sized)) -> Self {
        self.0.push(format!("data: {data}\n\n"));
        self
    }

    /// All of them, and the end.
    pub(super) fn response(self) -> Response {
        event_stream(Body::from(self.0.concat()))
    }

    /// The first of them, and then nothing for ever.
    pub(super) fn stalled(self) -> Response {
        let first = self.0.into_iter().next().unwrap_or_default();
        let begun = stream::once(async { Ok::<_, Infallible>(Bytes::from(first)) });
        event_stream(Body::from_stream(begun.chain(stream::pending())))
    }
}

fn event_stream(body: Body) -> Response {
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .body(body);
    response.expect("a valid response")
}

pub(super) fn document(status: StatusCode, document: &Value) -> Response {
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json");
    response
        .body(Body::from(document.to_string()))
        .expect("a valid response")
}
