//! Durations as people write them: `5m`, `90s`, `1h 30m`, `PT5M`, or whole seconds as a number.
//!
//! A day is 24 hours; months and years have no fixed length and are refused.

use jiff::{SignedDuration, Span, SpanRelativeTo};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serializer, de};
use std::borrow::Cow;
use std::time::Duration;

/// How a field that holds a duration is read and written: one of so many seconds at the least.
pub(crate) struct AtLeast<const SECONDS: u64>;
/// One that may be zero.
pub(crate) type Any = AtLeast<0>;
/// One longer than zero.
pub(crate) type Positive = AtLeast<1>;

/// How a field is read and written that holds such a duration, or nothing.
pub(crate) struct Optional<const SECONDS: u64>;
/// One that may be zero, or nothing.
pub(crate) type OptionalAny = Optional<0>;
/// One longer than zero, or nothing.
pub(crate) type OptionalPositive = Optional<1>;

impl<const SECONDS: u64> JsonSchema for AtLeast<SECONDS> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let longer = if SECONDS == 0 {
            ""
        } else {
            " longer than zero"
        };
        let title = format!("a duration{longer} such as `5m`, `90s` or `1h 30m`, or whole seconds");
        json_schema!({"title": title, "type": ["string", "integer"], "minimum": SECONDS})
    }
}

impl<const SECONDS: u64> JsonSchema for Optional<SECONDS> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OptionalDuration".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<AtLeast<SECONDS>>::json_schema(generator)
    }
}

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
            Self::Text(text) => parse_duration(text),
        }
    }
}

/// Reads a duration as people write it: a number alone is seconds.
///
/// # Errors
/// It is none, in words.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
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

impl<const SECONDS: u64> AtLeast<SECONDS> {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let read = Optional::<SECONDS>::deserialize(deserializer)?;
        read.ok_or_else(|| de::Error::custom("it is nothing"))
    }

    /// Writes a duration so that it can be read back.
    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match SignedDuration::try_from(*duration) {
            Ok(signed) => serializer.collect_str(&format_args!("{signed:#}")),
            Err(_) => serializer.serialize_u64(duration.as_secs()),
        }
    }
}

impl<const SECONDS: u64> Optional<SECONDS> {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let Some(written) = Option::<Written>::deserialize(deserializer)? else {
            return Ok(None);
        };
        match written.duration() {
            Ok(duration) if duration.is_zero() && SECONDS > 0 => {
                Err(de::Error::custom("it is zero"))
            }
            duration => duration.map(Some).map_err(de::Error::custom),
        }
    }

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => AtLeast::<SECONDS>::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
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
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_secs(expected)),
                "`{text}`"
            );
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
            assert!(parse_duration(text).is_err(), "`{text}`");
        }
    }

    #[test]
    fn written_duration_reads_back_the_same() {
        for seconds in [0, 1, 59, 61, 3_600, 86_399, 1_000_000] {
            let duration = Duration::from_secs(seconds);
            let text = Any::serialize(&duration, serde_json::value::Serializer).unwrap();
            assert_eq!(Any::deserialize(text.clone()).unwrap(), duration, "{text}");
        }
    }
}
