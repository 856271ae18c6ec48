//! What a file holds of a task, written out for programs without making a copy of it.
//!
//! Comes out as `serde_json` reads and writes it: the last of several members with one name counts, numbers are spelled in
//! one way, and what can't be read as a whole is nothing at all.

use super::document::{Kind, Value};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Something that a file holds: an entry of a backlog, or a value within one.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'d>(Value<'d>);

impl<'d> Entry<'d> {
    /// Takes a value; nothing where it can't be read as a whole.
    pub(super) fn of(value: Value<'d>) -> Option<Self> {
        is_readable(value).then_some(Self(value))
    }

    /// Returns the value itself.
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(self.0.raw()).unwrap_or_default()
    }

    /// Returns the members of a map, each name once: the last of several counts, in the place of the first.
    pub fn members(self) -> Vec<(Cow<'d, str>, Self)> {
        let members = self.0.members();
        once(members.map(|(name, value)| (name, Self(value))).collect())
    }

    /// Returns a member of a map.
    pub fn get(self, name: &str) -> Option<Self> {
        self.0.get(name).map(Self)
    }

    /// Returns the elements of a list.
    pub fn elements(self) -> impl Iterator<Item = Self> {
        self.0.elements().map(Self)
    }

    /// Tells whether this is a list.
    pub fn is_list(self) -> bool {
        self.0.kind() == Kind::Array
    }

    /// Tells whether it is nothing.
    pub fn is_null(self) -> bool {
        self.0.kind() == Kind::Null
    }

    /// Tells whether it is a number or a text.
    pub fn is_number_or_text(self) -> bool {
        matches!(self.0.kind(), Kind::Number | Kind::Text | Kind::EscapedText)
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = self.0.raw();
        match self.0.kind() {
            Kind::Object => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in self.members() {
                    map.serialize_entry(&name, &value)?;
                }
                map.end()
            }
            Kind::Array => serializer.collect_seq(self.elements()),
            Kind::Text | Kind::EscapedText => {
                serializer.serialize_str(&self.0.text().unwrap_or_default())
            }
            Kind::Number => number(raw).map_err(S::Error::custom)?.serialize(serializer),
            Kind::Boolean => serializer.serialize_bool(raw == "true"),
            Kind::Null => serializer.serialize_unit(),
        }
    }
}

fn number(raw: &str) -> serde_json::Result<serde_json::Number> {
    serde_json::from_str(raw)
}

/// Of so few members each is compared with those before it.
const FEW: usize = 24;

/// Keeps each name once.
fn once<'d>(members: Vec<(Cow<'d, str>, Entry<'d>)>) -> Vec<(Cow<'d, str>, Entry<'d>)> {
    let is_repeated = |at: usize| members[..at].iter().any(|(name, _)| *name == members[at].0);
    if members.len() <= FEW && !(1..members.len()).any(is_repeated) {
        return members;
    }
    let mut places = BTreeMap::new();
    let mut once: Vec<(Cow<'d, str>, Entry<'d>)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let place = *places.entry(name.clone()).or_insert(once.len());
        match once.get_mut(place) {
            Some(known) => known.1 = value,
            None => once.push((name, value)),
        }
    }
    once
}

/// Values may stand so deep in one another, as `serde_json` has it.
const DEEPEST: usize = 127;
/// A whole number of so many digits fits whatever they are.
const DIGITS: usize = 18;

/// Tells whether `serde_json` reads it, which refuses half a surrogate pair, a number too great and too many levels.
fn is_readable(value: Value<'_>) -> bool {
    // Where the containers end that are open.
    let mut ends: Vec<usize> = Vec::new();
    value.and_all_within().all(|value| {
        let is_open = |end: &usize| value.node_index() < *end;
        while !ends.last().is_none_or(is_open) {
            ends.pop();
        }
        match value.kind() {
            Kind::EscapedText => {
                let raw = value.raw();
                !raw.contains("\\u") || serde_json::from_str::<String>(raw).is_ok()
            }
            Kind::Number => {
                value.raw().len() <= DIGITS && !value.raw().contains(['e', 'E'])
                    || number(value.raw()).is_ok()
            }
            Kind::Object | Kind::Array => {
                ends.push(value.end_of_nodes());
                ends.len() <= DEEPEST
            }
            Kind::Text | Kind::Boolean | Kind::Null => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::super::document::tests::json;
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value as Json;

    /// What comes out, and what a reader and writer of JSON makes of it.
    fn both(text: &str) -> (Option<String>, Option<String>) {
        let document = Document::parse(text.to_owned()).expect("JSON");
        let entry = document.root().and_then(Entry::of);
        let own = entry.map(|entry| serde_json::to_string_pretty(&entry).expect("written"));
        let read = serde_json::from_str::<Json>(text).ok();
        (own, read.map(|read| format!("{read:#}")))
    }

    #[test]
    fn an_entry_comes_out_as_it_was_read() {
        for text in [
            r#"{"a": 1, "b": 2, "a": {"c": [], "c": {}}, "d": "\u00e9\/\n\ud83d\ude00"}"#,
            "[1.0, 1e2, -0, -0.0, 0.1, 123456789012345678901234567890, 18446744073709551615]",
            r#"{"a": "\ud83d", "b": 1}"#,
            "[1e999]",
            r#""\u0000\u001f\b""#,
        ] {
            let (own, read) = both(text);
            assert_eq!(own, read, "{text}");
        }
        for levels in 1..200 {
            let (own, read) = both(&("[".repeat(levels) + &"]".repeat(levels)));
            assert_eq!(own, read, "{levels} levels");
        }
        let many: Vec<String> = (0..60)
            .map(|at| format!("\"k{}\": {at}", at % 50))
            .collect();
        let (own, read) = both(&format!("{{{}}}", many.join(",")));
        assert_eq!(own, read);
    }

    proptest! {
        #[test]
        fn any_entry_comes_out_as_it_was_read(text in json()) {
            let (own, read) = both(&text);
            prop_assert_eq!(own, read);
        }
    }
}
