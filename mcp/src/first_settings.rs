//! The settings of projects as this process read them first: whoever calls its tools may write them, and what a tool runs
//! goes by those of whoever started the server.
//!
//! Does not know what a setting means.

use crate::answer::Refusal;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tm_config::{Override, Settings};
use tm_scheduler::quoted_files;

/// What a person can do about it.
const HINT: &str = "put them back; other ones count once a person has started the server anew, or has begun the run in a \
                    terminal: `tm autopilot start`, `tm waves run`";

/// Where a project is.
#[derive(Clone, Debug)]
pub(crate) struct ProjectPlace {
    /// The top of the checkout.
    pub(crate) root: PathBuf,
    /// The folder that all checkouts of its repository share.
    pub(crate) common_dir: Option<PathBuf>,
}

impl ProjectPlace {
    /// Tells whether another project goes by the settings of this one: it lies in its checkout, or is another checkout of its
    /// repository, and so may have been made by whoever calls.
    fn decides_for(&self, other: &Self) -> bool {
        other.root.starts_with(&self.root)
            || (self.common_dir.is_some() && self.common_dir == other.common_dir)
    }
}

/// What was read first of each project, in the order of the calls: what is known later, around a project or within, decides
/// nothing for one that goes by another already.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstSettings {
    known: Arc<Mutex<Vec<(ProjectPlace, Value)>>>,
}

impl FirstSettings {
    /// Refuses settings that are other ones than those that were read first, but for what the call itself gives.
    pub(crate) fn assert_same(
        &self,
        place: ProjectPlace,
        settings: &Settings,
        given: &[Override],
    ) -> Result<(), Refusal> {
        let now = json!(settings);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let first = known.iter().find(|(known, _)| known.decides_for(&place));
        let Some((_, first)) = first else {
            known.push((place, now));
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

    fn place(root: &str, common_dir: &str) -> ProjectPlace {
        ProjectPlace {
            root: root.into(),
            common_dir: Some(common_dir.into()),
        }
    }

    /// Calls about repositories, each with its own `.git`.
    fn same(
        first: &FirstSettings,
        root: &str,
        settings: &Settings,
        given: &[Override],
    ) -> Result<(), Refusal> {
        first.assert_same(place(root, &format!("{root}/.git")), settings, given)
    }

    fn own_and_other() -> (Settings, Settings) {
        (settings(&[]), settings(&[("sandbox.level", json!("none"))]))
    }

    #[test]
    fn what_was_read_first_counts_for_a_project_and_for_what_lies_in_it() {
        let first = FirstSettings::default();
        let (own, other) = own_and_other();
        same(&first, "/a", &own, &[]).unwrap();
        same(&first, "/a", &own, &[]).unwrap();
        for root in ["/a", "/a/nested"] {
            let words = same(&first, root, &other, &[]).unwrap_err().to_string();
            assert!(
                words.contains("since this server began: `sandbox.level`"),
                "{words}"
            );
        }
        same(&first, "/ab", &other, &[]).unwrap();
        assert!(same(&first, "/ab", &own, &[]).is_err());
        let given = [Override::new("sandbox.level", "level", "none")];
        same(&first, "/a", &other, &given).unwrap();
    }

    #[test]
    fn a_project_around_one_that_is_known_goes_by_its_own_and_decides_nothing_there() {
        let first = FirstSettings::default();
        let (own, other) = own_and_other();
        same(&first, "/src/r", &own, &[]).unwrap();
        same(&first, "/src", &other, &[]).unwrap();
        for root in ["/src/r", "/src/r/nested"] {
            same(&first, root, &own, &[]).unwrap();
            assert!(same(&first, root, &other, &[]).is_err(), "{root}");
        }
        assert!(same(&first, "/src/beside", &own, &[]).is_err());
        same(&first, "/src/beside", &other, &[]).unwrap();
    }

    #[test]
    fn all_checkouts_of_a_repository_go_by_the_one_that_was_read_first() {
        let first = FirstSettings::default();
        let (own, other) = own_and_other();
        same(&first, "/a", &own, &[]).unwrap();
        let linked = || place("/elsewhere/x", "/a/.git");
        assert!(first.assert_same(linked(), &other, &[]).is_err());
        first.assert_same(linked(), &own, &[]).unwrap();
        let nowhere = |root: &str| ProjectPlace {
            root: root.into(),
            common_dir: None,
        };
        first.assert_same(nowhere("/b"), &own, &[]).unwrap();
        first.assert_same(nowhere("/c"), &other, &[]).unwrap();
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
