//! Reads documents of others as trees of values, which take up to a hundred times as much as their text.
//!
//! Where few things are wanted of a document that may honestly be long, a type of one's own is read instead.

use serde::de::Error as _;
use serde_json::Value;

/// So many values one document holds.
const MOST_VALUES: usize = 250_000;

/// Returns the value of a document in JSON.
///
/// # Errors
/// It is none, or holds more values than anybody's.
pub fn json_value(text: impl AsRef<[u8]>) -> serde_json::Result<Value> {
    let text = text.as_ref();
    if signs_of_values(text) > MOST_VALUES {
        let why = format!("it holds more than {MOST_VALUES} values");
        return Err(serde_json::Error::custom(why));
    }
    serde_json::from_slice(text)
}

/// Returns the table of a document in TOML; `None` when it is none, or may hold more values than anybody's.
pub fn toml_table(text: &str) -> Option<toml::Table> {
    let begins_one = |byte: &u8| b",[{=.".contains(byte);
    let has_room = text.bytes().filter(begins_one).count() <= MOST_VALUES;
    has_room.then(|| text.parse().ok())?
}

/// Counts what begins a value, or a list of them, outside of texts, as far as a document is one.
fn signs_of_values(text: &[u8]) -> usize {
    let (mut count, mut is_in_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_text,
            b'"' => is_in_text = !is_in_text,
            b',' | b'[' | b'{' if !is_in_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_more_values_than_anybodys_is_refused_before_it_is_read() {
        let of = |value: &str, count| format!("[{}0]", value.repeat(count));
        for value in ["0,", "[],", "{\"a\":0},", "\"\\\\\\\"\","] {
            assert!(json_value(of(value, 50_000)).is_ok(), "{value}");
            let error = json_value(of(value, 300_000)).expect_err(value);
            assert_eq!(error.to_string(), "it holds more than 250000 values");
        }
        assert!(toml_table(&format!("a = {}", of("0,", 50_000))).is_some());
        assert!(toml_table(&format!("a = {}", of("0,", 300_000))).is_none());
    }

    #[test]
    fn a_long_text_is_one_value() {
        let text = serde_json::json!({"said": "[{\"a\", \\".repeat(300_000)}).to_string();
        assert!(json_value(text).is_ok());
    }

    #[test]
    fn what_is_no_document_is_none() {
        assert!(json_value("{").is_err() && json_value("\"").is_err() && json_value("").is_err());
        assert_eq!(json_value("[1]").ok(), Some(serde_json::json!([1])));
        assert!(toml_table("=").is_none());
    }
}
