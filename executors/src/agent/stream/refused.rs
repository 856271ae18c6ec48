//! Tells from an agent's error why its service did not do the work, and until when.

use super::moment;
use jiff::tz::TimeZone;
use serde_json::Value;
use tm_scheduler::{ServiceRefusal, Timestamp};

patterns! {
    CONTEXT = r"(?i)context.?(?:window|length|overflow)|(?:prompt|input|conversation) is too long|input token count|exceeds? the maximum number of tokens";
    POLICY = r"(?i)content.?(?:filter|polic|management policy)|usage polic|policy violation|prohibited.?content|blocked by .{0,40}(?:filter|polic|safety)|flagged (?:for|as|by)";
    LIMIT = r"(?i)\b(?:429|503|529)\b|rate.?limit|usage limit|quota.{0,20}(?:exceeded|exhausted)|(?:exceeded|exhausted) your .{0,20}(?:quota|capacity)|resource.?exhausted|overloaded|too many requests|at capacity|hit your .{0,20}limit";
    AUTH = r"(?i)\b(?:401|403)\b|not logged in|invalid.{0,10}api.?key|missing environment variable|authentication|unauthorized|invalid auth";
    CONNECTION = r"(?i)connection.{0,30}(?:lost|dropped|reset|closed|refused|aborted|error)|\bE(?:CONN[A-Z]+|TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE)\b|socket hang up|fetch failed|network error|(?:stream disconnected|premature close)|error sending request|API Error: terminated|cannot connect|request timed out";
    /// Codex calls an error of its service `high demand`, and opencode any that it asks again behind by its type.
    SERVICE = r"(?i)\b(?:500|502|504)\b|internal.?server.?error|\ban internal error|\bserver.?(?:had an )?error|bad.?gateway|gateway time.?out|high demand|\bAI_APICallError";
    /// The moment as seconds since 1970 behind a bar: `limit reached|1795217299`.
    EPOCH = r"\|(\d{10})\b";
    WAIT = r"(?ix) (?:again|retry|resets?|wait) (?:\sagain)? \s (?:in\s|after\s|for\s)?
        ((?: (?: (?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+
               | \d+(?:\.\d+)?\s*(?:ms|milliseconds?|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s) )\b
           [,\s]* (?:and\s)? )+)";
    PIECE = r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)";
}

/// Returns what an HTTP status says; one that says nothing of a refusal, such as 400 or 0, is none.
pub(super) fn status(status: u64, until: Option<Timestamp>) -> Option<ServiceRefusal> {
    match status {
        401 | 403 => Some(ServiceRefusal::Auth),
        429 | 503 | 529 => Some(ServiceRefusal::RateLimited { until }),
        500 | 502 | 504 => Some(ServiceRefusal::ServiceError),
        _ => None,
    }
}

/// Returns what the words of an error say: what is of the request first, what is of the service last.
pub(super) fn by_words(error: &str, now: Timestamp) -> Option<ServiceRefusal> {
    let limit = ServiceRefusal::RateLimited {
        until: until(error, now),
    };
    let kinds = [
        (&CONTEXT, ServiceRefusal::ContextTooLong),
        (&POLICY, ServiceRefusal::RefusedByModel),
        (&LIMIT, limit),
        (&AUTH, ServiceRefusal::Auth),
        (&CONNECTION, ServiceRefusal::ConnectionLost),
        (&SERVICE, ServiceRefusal::ServiceError),
    ];
    let mut kinds = kinds.into_iter();
    kinds
        .find(|(words, _)| words.is_match(error))
        .map(|(_, refusal)| refusal)
}

/// Returns the moment that a number of seconds since 1970 names.
pub(super) fn epoch(seconds: &Value) -> Option<Timestamp> {
    seconds
        .as_u64()
        .map(|seconds| Timestamp(seconds.saturating_mul(1_000)))
}

/// Returns the end of a wait that the words declare.
pub(super) fn until(words: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(found) = EPOCH.captures(words) {
        return found[1]
            .parse::<u64>()
            .ok()
            .map(|seconds| Timestamp(seconds * 1_000));
    }
    let Some(wait) = WAIT.captures(words) else {
        return moment::declared(words, now, &TimeZone::system());
    };
    let milliseconds: f64 = PIECE
        .captures_iter(&wait[1])
        .map(|piece| milliseconds(&piece[1], &piece[2]))
        .sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a wait, never negative; too long is the end of time"
    )]
    Some(now.plus(milliseconds.ceil() as u64))
}

fn milliseconds(count: &str, unit: &str) -> f64 {
    let count: f64 = count.parse().unwrap_or(0.0);
    let unit = unit.to_lowercase();
    count
        * match unit.as_str() {
            "ms" => 1.0,
            unit if unit.starts_with("milli") => 1.0,
            unit if unit.starts_with('d') => 86_400_000.0,
            unit if unit.starts_with('h') => 3_600_000.0,
            unit if unit.starts_with('m') => 60_000.0,
            _ => 1_000.0,
        }
}
