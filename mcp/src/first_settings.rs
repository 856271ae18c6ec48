//! The settings of projects as this process read them first: whoever calls its tools may write them, and what a tool runs
//! goes by those of whoever started the server.
//!
//! Does not know what a setting means.

use crate::answer::Refusal;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tm_config::{Override, Settings};
use tm_scheduler::quoted_files;

/// What a person can do about it.
const HINT: &str = "put them back; other ones count once a person has started the server anew, or has begun the run in a \
                    terminal: `tm autopilot start`, `tm waves run`";

/// What was read first of each project, by the top of its checkout.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstSettings {
    known: Arc<Mutex<BTreeMap<PathBuf, Value>>>,
}

impl FirstSettings {
    /// Refuses settings that are other ones than those that were read first, but for what the call itself gives. What lies
    /// in a checkout that is known goes by that one's: it may have been made by whoever calls.
    pub(crate) fn assert_same(
        &self,
        root: &Path,
        settings: &Settings,
        given: &[Override],
    ) -> Result<(), Refusal> {
        let now = json!(settings);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // What is around another one comes before it.
        let around = known.iter().find(|(known, _)| root.starts_with(known));
        let Some((_, first)) = around else {
            known.insert(root.to_owned(), now);
            return Ok(());
        };
        let mut other = changed(first, &now);
        other.retain(|key| given.iter().all(|given| given.key != *key));
        if other.is_empty() {
            return Ok(());
        }
        let names = quoted_files(&other);
        let words = format!("run anything: the settings changed since this server began: {names}");
        Err(Refusal::of_words(&words, Some(HINT)))
    }
}

/// Returns the keys of the settings that are not the same.
fn changed(first: &Value, now: &Value) -> Vec<String> {
    let (first, now) = (by_key(first), by_key(now));
    let is_other = |key: &&String| first.get(*key) != now.get(*key);
    let mut keys: Vec<String> = first
        .keys()
        .chain(now.keys())
        .filter(is_other)
        .cloned()
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Returns each value with its key, with dots between the sections.
fn by_key(settings: &Value) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let mut open: Vec<(String, Value)> = vec![(String::new(), settings.clone())];
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(section) if !section.is_empty() => open.extend(within(&key, section)),
            value => drop(values.insert(key, value)),
        }
    }
    values
}

fn within(key: &str, section: Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let before = if key.is_empty() {
        String::new()
    } else {
        format!("{key}.")
    };
    section
        .into_iter()
        .map(move |(name, value)| (format!("{before}{name}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_config::Inputs;

    fn settings(given: &[(&str, Value)]) -> Settings {
        let given = given.iter();
        let given = given.map(|(key, value)| Override::new(*key, "flag", value.clone()));
        let inputs = Inputs {
            overrides: given.collect(),
            ..Inputs::default()
        };
        tm_config::load(&inputs).unwrap().settings
    }

    #[test]
    fn what_was_read_first_counts_for_a_project_and_for_what_lies_in_it() {
        let first = FirstSettings::default();
        let (own, other) = (settings(&[]), settings(&[("sandbox.level", json!("none"))]));
        let same = |root: &str, settings, given: &[Override]| {
            first.assert_same(Path::new(root), settings, given)
        };
        same("/a", &own, &[]).unwrap();
        same("/a", &own, &[]).unwrap();
        for root in ["/a", "/a/nested"] {
            let words = same(root, &other, &[]).unwrap_err().to_string();
            assert!(
                words.contains("since this server began: `sandbox.level`"),
                "{words}"
            );
        }
        same("/ab", &other, &[]).unwrap();
        assert!(same("/ab", &own, &[]).is_err());
        let given = [Override::new("sandbox.level", "level", "none")];
        same("/a", &other, &given).unwrap();
    }

    #[test]
    fn a_section_that_is_new_is_named_by_its_values_and_many_are_counted() {
        let secret = json!({"X": {"command": "echo a", "for": ["tests"]}});
        let keys = changed(
            &json!({"secrets": {}, "test": {"command": "a"}}),
            &json!({"secrets": secret, "test": {"command": "b"}}),
        );
        assert_eq!(
            keys,
            [
                "secrets",
                "secrets.X.command",
                "secrets.X.for",
                "test.command"
            ]
        );
    }
}
