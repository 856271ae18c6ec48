//! One layer of settings: values by key, each with where it came from.
//!
//! Does not know which layer lies above which.

use crate::key::Key;
use crate::shape::Shape;
use crate::{Error, ProjectFiles, Source, Warning, yaml};
use serde_json::Value;
use std::path::Path;

/// One value as a layer has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Which setting.
    pub(crate) key: Key,
    /// Its value, not yet checked.
    pub(crate) value: Value,
    /// Where it was written.
    pub(crate) source: Source,
}

/// What one layer says.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    /// Its values; a later one of the same key counts.
    pub(crate) entries: Vec<Entry>,
    /// What is wrong with it.
    pub(crate) errors: Vec<Error>,
    /// What is odd about it.
    pub(crate) warnings: Vec<Warning>,
}

impl Layer {
    /// Returns what `of_text` makes of the text of a file; nothing where there is none. `shown` is its path for messages.
    pub(crate) fn of_file(
        path: &Path,
        shown: &Path,
        of_text: impl FnOnce(&str) -> Result<Self, Error>,
    ) -> Self {
        Self::of_read(yaml::read_file(path, shown), of_text)
    }

    /// The same of a file of a project, by its path from the top on.
    pub(crate) fn of_project_file(
        files: &ProjectFiles,
        path: &str,
        of_text: impl FnOnce(&str) -> Result<Self, Error>,
    ) -> Self {
        Self::of_read(files.text(path), of_text)
    }

    fn of_read(
        read: Result<Option<String>, Error>,
        of_text: impl FnOnce(&str) -> Result<Self, Error>,
    ) -> Self {
        let made =
            read.and_then(|text| text.map_or_else(|| Ok(Self::default()), |text| of_text(&text)));
        made.unwrap_or_else(|error| Self {
            errors: vec![error],
            ..Self::default()
        })
    }

    /// Takes a tree of values apart, down to the settings in it.
    pub(crate) fn add(&mut self, key: &Key, value: Value, source_of: &dyn Fn(&Key) -> Source) {
        let Some(shape) = Shape::root().at(key) else {
            return self.errors.push(unknown(key, source_of(key)));
        };
        match (shape, value) {
            (Shape::Leaf(_), value) => self.entries.push(Entry {
                key: key.clone(),
                value,
                source: source_of(key),
            }),
            // A section whose settings are all commented out.
            (_, Value::Null) => {}
            (_, Value::Object(map)) => {
                for (name, value) in map {
                    self.add(&key.child(&name), value, source_of);
                }
            }
            (shape, value) => {
                let error = wrong_type(key, shape, &value, source_of(key));
                self.errors.push(error);
            }
        }
    }
}

/// Returns the error for a value that a setting can't have.
pub(crate) fn wrong_type(key: &Key, shape: &Shape, value: &Value, source: Source) -> Error {
    Error::WrongType {
        key: key.to_string(),
        source_of_key: source,
        expected: shape.expected().to_owned(),
        found: describe(value),
    }
}

fn unknown(key: &Key, source: Source) -> Error {
    Error::UnknownKey {
        key: key.to_string(),
        source_of_key: source,
        meant: meant(key),
    }
}

/// Returns the setting that was probably meant: one beside it, else one of exactly that name elsewhere.
fn meant(key: &Key) -> Option<String> {
    let is_known = |count: &usize| Shape::root().at(&key.first(*count)).is_some();
    let known = (0..key.names().len()).take_while(is_known).last()?;
    let parent = key.first(known);
    let name = snake_case(&key.names()[known]);
    let siblings = Shape::root().at(&parent)?.names();
    let beside = closest(&name, siblings).map(|name| parent.child(name));
    let elsewhere = || {
        let mut keys = Shape::root().keys(&Key::default()).into_iter();
        keys.find(|key| key.names().last() == Some(&name))
    };
    Some(beside.or_else(elsewhere)?.to_string())
}

/// Returns a name as tm spells names of settings.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.extend(if character == '-' { '_' } else { character }.to_lowercase());
    }
    snake
}

/// Returns the candidate that a word was probably meant to be.
pub(crate) fn closest<'text>(
    word: &str,
    candidates: impl IntoIterator<Item = &'text str>,
) -> Option<&'text str> {
    let similarity = |candidate: &str| strsim::jaro_winkler(word, candidate);
    let best = candidates
        .into_iter()
        .max_by(|left, right| similarity(left).total_cmp(&similarity(right)))?;
    (similarity(best) > 0.85).then_some(best)
}

/// So many characters of a text are shown.
const LONGEST: usize = 60;

/// Returns what a value is, in words.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) => format!("the text `{}`", quoted(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

/// Returns the beginning of a text with every blank of it, since one may be what is wrong; what can't be seen is escaped.
fn quoted(text: &str) -> String {
    let seen = |letter: char| match letter {
        '"' | '\'' | '\\' => letter.to_string(),
        other => other.escape_debug().to_string(),
    };
    let mut letters = text.chars();
    let beginning: String = letters.by_ref().take(LONGEST).map(seen).collect();
    beginning + letters.next().map_or("", |_| "…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn misspelt_key_is_traced_to_the_one_that_was_meant() {
        let meant_by = [
            ("wave.max_parallel", Some("waves")),
            ("waves.max_paralel", Some("waves.max_parallel")),
            ("waves.maxParallel", Some("waves.max_parallel")),
            ("waves.max-parallel", Some("waves.max_parallel")),
            ("waves.retry", Some("waves.retries")),
            ("max_parallel", Some("waves.max_parallel")),
            ("coverage-threshold", Some("tdd.coverage_threshold")),
            ("agents.mine.comand", Some("agents.mine.command")),
            (
                "agents.mine.refusal.rate_limit",
                Some("agents.mine.refusal.rate_limited"),
            ),
            ("agent.by_phase.gren", Some("agent.by_phase.green")),
            ("colour", None),
            ("waves.zzz", None),
        ];
        for (key, expected) in meant_by {
            assert_eq!(meant(&Key::from(key)).as_deref(), expected, "`{key}`");
        }
    }

    #[test]
    fn found_value_is_described_on_one_short_line() {
        assert_eq!(describe(&json!(null)), "nothing");
        assert_eq!(describe(&json!("a\nb")), r"the text `a\nb`");
        assert_eq!(describe(&json!(" a  b ")), "the text ` a  b `");
        assert_eq!(
            describe(&json!("é\u{200b}\u{1b}[31m'\u{a0}")),
            r"the text `é\u{200b}\u{1b}[31m'\u{a0}`"
        );
        assert_eq!(describe(&json!(1.5)), "the number `1.5`");
        assert_eq!(describe(&json!([1])), "a list");
        assert!(describe(&json!("x".repeat(500))).chars().count() < 80);
    }

    #[test]
    fn empty_section_says_nothing() {
        let mut layer = Layer::default();
        layer.add(
            &Key::default(),
            json!({"waves": null, "agents": {"mine": null}}),
            &|_| Source::BuiltIn,
        );
        assert!(layer.entries.is_empty() && layer.errors.is_empty());
    }
}
