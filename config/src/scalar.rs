//! Values with a range or a spelling of their own: percentages, dollars, texts that may be written as numbers.

use crate::inlined::inlined;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A percentage from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "f64")]
pub struct CoverageThreshold(f64);

impl CoverageThreshold {
    /// Returns the percentage.
    pub const fn percent(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for CoverageThreshold {
    type Error = &'static str;

    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        if (0.0..=100.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err("out of range")
        }
    }
}

inlined!(CoverageThreshold, {"title": "a percentage from 0 to 100", "type": "number", "minimum": 0, "maximum": 100});

/// An amount of US dollars, not negative.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "f64")]
pub struct Dollars(f64);

impl Dollars {
    /// Returns the amount.
    pub const fn amount(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Dollars {
    type Error = &'static str;

    fn try_from(amount: f64) -> Result<Self, Self::Error> {
        if amount.is_finite() && amount >= 0.0 {
            Ok(Self(amount))
        } else {
            Err("out of range")
        }
    }
}

inlined!(Dollars, {"title": "an amount of dollars, not negative", "type": "number", "minimum": 0});

/// A text that may be written as a whole number or a truth value, as the value of an environment variable often is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => Ok(Self(text)),
            serde_json::Value::Bool(truth) => Ok(Self(truth.to_string())),
            serde_json::Value::Number(number) if !number.is_f64() => Ok(Self(number.to_string())),
            _ => Err(de::Error::custom("no text")),
        }
    }
}

inlined!(Text, {
    "title": "a text (in quotes when it looks like a number with a point)",
    "type": ["string", "integer", "boolean"],
});

/// An amount of bytes: a number, or one with a unit such as `8GiB` or `512 MiB`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Bytes(u64);

/// Units and their bytes; decimal ones mean the binary ones, as people do.
const UNITS: [(&str, u64); 4] = [
    ("t", 1 << 40),
    ("g", 1 << 30),
    ("m", 1 << 20),
    ("k", 1 << 10),
];

impl Bytes {
    /// Returns how many they are.
    pub const fn count(self) -> u64 {
        self.0
    }

    fn of(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        let unit = text[digits.len()..].trim();
        let unit = unit
            .strip_suffix("ib")
            .or_else(|| unit.strip_suffix('b'))
            .unwrap_or(unit);
        let bytes = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, bytes)) => *bytes,
            None if unit.is_empty() => 1,
            None => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(bytes).map(Self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Number(number) => number.as_u64().map(Self),
            serde_json::Value::String(text) => Self::of(&text),
            _ => None,
        };
        bytes.ok_or_else(|| de::Error::custom("no amount of bytes"))
    }
}

inlined!(Bytes, {
    "title": "an amount of bytes such as `8GiB` or `512MiB`",
    "type": ["string", "integer"],
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn percentages_end_at_a_hundred() {
        for (value, is_one) in [
            (json!(0), true),
            (json!(80.5), true),
            (json!(100), true),
            (json!(101), false),
        ] {
            assert_eq!(
                serde_json::from_value::<CoverageThreshold>(value.clone()).is_ok(),
                is_one,
                "{value}"
            );
        }
        assert!(serde_json::from_value::<CoverageThreshold>(json!(-1)).is_err());
    }

    #[test]
    fn bytes_have_units() {
        for (value, bytes) in [
            (json!(12), Some(12)),
            (json!("12"), Some(12)),
            (json!("8GiB"), Some(8 << 30)),
            (json!("512 mb"), Some(512 << 20)),
            (json!("1k"), Some(1024)),
            (json!("-1"), None),
            (json!("8 apples"), None),
            (json!("99999999999TiB"), None),
        ] {
            let read = serde_json::from_value::<Bytes>(value.clone());
            assert_eq!(read.ok().map(Bytes::count), bytes, "{value}");
        }
    }

    #[test]
    fn dollars_are_not_negative() {
        assert!(
            serde_json::from_value::<Dollars>(json!(2.5))
                .is_ok_and(|dollars| dollars.amount() > 2.4)
        );
        assert!(serde_json::from_value::<Dollars>(json!(-0.01)).is_err());
    }

    #[test]
    fn text_keeps_the_spelling_of_whole_numbers_and_refuses_those_with_a_point() {
        for (value, text) in [(json!("a"), "a"), (json!(1), "1"), (json!(true), "true")] {
            assert_eq!(
                serde_json::from_value::<Text>(value).unwrap().as_str(),
                text
            );
        }
        for value in [json!(1.1), json!(null), json!([]), json!({})] {
            assert!(
                serde_json::from_value::<Text>(value.clone()).is_err(),
                "{value}"
            );
        }
    }
}
