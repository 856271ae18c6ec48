//! Durations as people write them: `5m`, `90s`, `1h 30m`, `PT5M`, or whole seconds as a number.
//!
//! A day is 24 hours; months and years have no fixed length and are refused.

use crate::inlined::inlined;
use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::{Deserialize, Deserializer, Serializer, de};
use std::time::Duration;

/// The schema of a duration that may be zero.
pub(crate) struct Any;

/// The schema of a duration longer than zero.
pub(crate) struct Positive;

inlined!(Any, {
    "title": "a duration such as `5m`, `90s` or `1h 30m`, or whole seconds",
    "type": ["string", "integer"],
    "minimum": 0,
});

inlined!(Positive, {
    "title": "a duration longer than zero such as `5m`, `90s` or `1h 30m`, or whole seconds",
    "type": ["string", "integer"],
    "minimum": 1,
});

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Seconds(u64),
    Text(String),
}

impl Written {
    fn duration(&self) -> Result<Duration, String> {
        match self {
            Self::Seconds(seconds) => Ok(Duration::from_secs(*seconds)),
            Self::Text(text) => parse(text),
        }
    }
}

/// Reads a duration as people write it.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let span: Span = text
        .parse()
        .map_err(|error: jiff::Error| error.to_string())?;
    let signed = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|error| error.to_string())?;
    Duration::try_from(signed).map_err(|error| error.to_string())
}

/// Reads a duration that may be zero.
pub(crate) fn any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Written::deserialize(deserializer)?
        .duration()
        .map_err(de::Error::custom)
}

/// Reads a duration that may be zero, or nothing.
pub(crate) fn any_optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let written = Option::<Written>::deserialize(deserializer)?;
    written
        .map(|written| written.duration())
        .transpose()
        .map_err(de::Error::custom)
}

/// Reads a duration longer than zero.
pub(crate) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    longer_than_zero(any(deserializer)?)
}

/// Reads a duration longer than zero, or nothing.
pub(crate) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    any_optional(deserializer)?
        .map(longer_than_zero)
        .transpose()
}

fn longer_than_zero<E: de::Error>(duration: Duration) -> Result<Duration, E> {
    if duration.is_zero() {
        Err(E::custom("it is zero"))
    } else {
        Ok(duration)
    }
}

/// Writes a duration so that it can be read back.
pub(crate) fn write<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    match SignedDuration::try_from(*duration) {
        Ok(signed) => serializer.collect_str(&format_args!("{signed:#}")),
        Err(_) => serializer.serialize_u64(duration.as_secs()),
    }
}

/// Writes a duration, or nothing, so that it can be read back.
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
pub(crate) fn write_optional<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match duration {
        Some(duration) => write(duration, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let seconds = [
            ("5m", 300),
            ("90s", 90),
            ("1h 30m", 5400),
            ("1.5h", 5400),
            ("2 hours, 3 mins", 7380),
            ("PT5M", 300),
            ("1d", 86_400),
            ("90", 90),
            (" 5m ", 300),
            ("0s", 0),
            ("0", 0),
        ];
        for (text, expected) in seconds {
            assert_eq!(parse(text), Ok(Duration::from_secs(expected)), "`{text}`");
        }
    }

    #[test]
    fn what_is_no_duration_of_fixed_length_is_refused() {
        for text in [
            "",
            "soon",
            "-5m",
            "5m ago",
            "1mo",
            "1y",
            "5 m h",
            "99999999999h",
            "-1",
        ] {
            assert!(parse(text).is_err(), "`{text}`");
        }
    }

    #[test]
    fn written_duration_reads_back_the_same() {
        for seconds in [0, 1, 59, 61, 3_600, 86_399, 1_000_000] {
            let duration = Duration::from_secs(seconds);
            let text = write(&duration, serde_json::value::Serializer).unwrap();
            assert_eq!(any(text.clone()).unwrap(), duration, "{text}");
        }
    }
}
