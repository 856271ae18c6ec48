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
