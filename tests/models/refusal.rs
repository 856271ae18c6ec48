//! How a service says that it refuses, in each protocol, and until when.

use super::server::Protocol;
use super::stream::{Events, document};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Why a request is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// 401.
    Credentials,
    /// 400, since the request is longer than what the model takes in.
    TooLong,
    /// 500.
    Broken,
    /// 429, with the seconds to wait where that is said.
    TooMany(Option<u32>),
    /// 429 for an account whose limit is used up until then.
    UsedUpUntil(SystemTime),
}

/// The first whole second that is at least so far away.
pub(super) fn reset_after(wait: Duration) -> SystemTime {
    let at_least = (SystemTime::now() + wait)
        .duration_since(UNIX_EPOCH)
        .expect("after 1970");
    UNIX_EPOCH + Duration::from_secs(at_least.as_secs() + 1)
}

impl Refusal {
    pub(super) fn response(self, protocol: Protocol) -> Response {
        let mut response = match (self, protocol) {
            // Told within an answer that had begun.
            (Self::UsedUpUntil(_) | Self::TooLong, Protocol::Responses) => self.failed_response(),
            (_, _) => document(self.status(), &self.error(protocol)),
        };
        response.headers_mut().extend(self.headers(protocol));
        response
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::Credentials => StatusCode::UNAUTHORIZED,
            Self::TooLong => StatusCode::BAD_REQUEST,
            Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TooMany(_) | Self::UsedUpUntil(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn error(self, protocol: Protocol) -> Value {
        let (kind, state) = match self {
            Self::Credentials => ("authentication_error", "UNAUTHENTICATED"),
            Self::TooLong => ("invalid_request_error", "INVALID_ARGUMENT"),
            Self::Broken => ("api_error", "INTERNAL"),
            Self::TooMany(_) | Self::UsedUpUntil(_) => ("rate_limit_error", "RESOURCE_EXHAUSTED"),
        };
        let message = self.message(protocol);
        match protocol {
            Protocol::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Protocol::Responses | Protocol::Chat => {
                json!({"error": {"message": message, "type": kind, "code": kind}})
            }
            Protocol::Gemini => {
                let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo",
                                      "retryDelay": format!("{:.3}s", self.wait().as_secs_f64())}]);
                let details = if self.wait().is_zero() {
                    json!([])
                } else {
                    details
                };
                json!({"error": {"code": self.status().as_u16(), "message": message, "status": state,
                                 "details": details}})
            }
        }
    }

    /// The words, which say until when where the protocol has no other place for that.
    fn message(self, protocol: Protocol) -> String {
        let wait = self.wait().as_secs_f64();
        match (self, protocol) {
            (Self::Credentials, _) => "invalid x-api-key".to_owned(),
            (Self::TooLong, Protocol::Anthropic) => {
                "prompt is too long: 214329 tokens > 200000 maximum".to_owned()
            }
            (Self::TooLong, _) => {
                "The input token count (1100032) exceeds the maximum number of tokens allowed (1048576)."
                    .to_owned()
            }
            (Self::Broken, _) => "An internal error has occurred.".to_owned(),
            (Self::UsedUpUntil(_), Protocol::Responses) => {
                format!("Rate limit reached. Please try again in {wait:.3}s.")
            }
            (Self::UsedUpUntil(_), Protocol::Gemini) => {
                format!("You exceeded your current quota. Please retry in {wait:.3}s.")
            }
            (Self::TooMany(_) | Self::UsedUpUntil(_), _) => "Rate limit reached".to_owned(),
        }
    }

    fn failed_response(self) -> Response {
        let code = match self {
            Self::TooLong => "context_length_exceeded",
            _ => "rate_limit_exceeded",
        };
        let error = json!({"code": code, "message": self.message(Protocol::Responses)});
        let failed =
            json!({"id": "resp_failed", "object": "response", "status": "failed", "error": error});
        Events::default()
            .named(&json!({"type": "response.failed", "response": failed}))
            .response()
    }

    fn headers(self, protocol: Protocol) -> Vec<(HeaderName, HeaderValue)> {
        let number = |seconds: u64| HeaderValue::from(seconds);
        match (self, protocol) {
            (Self::TooMany(Some(seconds)), _) => {
                vec![(header::RETRY_AFTER, number(seconds.into()))]
            }
            (Self::UsedUpUntil(reset), Protocol::Anthropic) => {
                let reset = reset
                    .duration_since(UNIX_EPOCH)
                    .expect("after 1970")
                    .as_secs();
                let named = HeaderName::from_static;
                vec![
                    (
                        named("anthropic-ratelimit-unified-status"),
                        HeaderValue::from_static("rejected"),
                    ),
                    (
                        named("anthropic-ratelimit-unified-representative-claim"),
                        HeaderValue::from_static("five_hour"),
                    ),
                    (named("anthropic-ratelimit-unified-reset"), number(reset)),
                ]
            }
            (Self::UsedUpUntil(_), Protocol::Chat) => {
                vec![(header::RETRY_AFTER, number(self.wait().as_secs() + 1))]
            }
            (_, _) => Vec::new(),
        }
    }

    /// What is left of a limit that is used up.
    fn wait(self) -> Duration {
        let Self::UsedUpUntil(reset) = self else {
            return Duration::ZERO;
        };
        reset.duration_since(SystemTime::now()).unwrap_or_default()
    }
}
