//! What settings there are and what each may hold, read off the JSON schema of `Settings`.
//!
//! One truth: a field added to `Settings` is at once a known key, has words for its type, and a place in the schema.

use crate::Settings;
use crate::defaults::defaults;
use crate::key::Key;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What may stand at one key.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A map with these names and no others.
    Section(Vec<(String, Self)>),
    /// A map with any names.
    Open(Box<Self>),
    /// A value; holds what it may be, in words.
    Leaf(String),
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<Settings>()
        .to_value()
});

static ROOT: LazyLock<Shape> = LazyLock::new(|| Shape::of(&SCHEMA));

impl Shape {
    /// Returns the shape of all settings.
    pub(crate) fn root() -> &'static Self {
        &ROOT
    }

    fn of(schema: &Value) -> Self {
        if let Some(properties) = schema["properties"].as_object() {
            return Self::Section(
                properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), Self::of(schema)))
                    .collect(),
            );
        }
        if schema["additionalProperties"].is_object() {
            return Self::Open(Box::new(Self::of(&schema["additionalProperties"])));
        }
        Self::Leaf(words(schema))
    }

    /// Returns the shape of what stands below this one under that name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Section(children) => children
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, shape)| shape),
            Self::Open(shape) => Some(shape),
            Self::Leaf(_) => None,
        }
    }

    /// Returns the shape at a key below this one.
    pub(crate) fn at(&self, key: &Key) -> Option<&Self> {
        key.names()
            .iter()
            .try_fold(self, |shape, name| shape.child(name))
    }

    /// Returns the names that may stand here; none where any may.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Section(children) => children.iter().map(|(name, _)| name.as_str()).collect(),
            Self::Open(_) | Self::Leaf(_) => Vec::new(),
        }
    }

    /// Returns every key below `prefix` that holds a value or a map with any names.
    pub(crate) fn keys(&self, prefix: &Key) -> Vec<Key> {
        match self {
            Self::Section(children) => children
                .iter()
                .flat_map(|(name, shape)| shape.keys(&prefix.child(name)))
                .collect(),
            Self::Open(_) | Self::Leaf(_) => vec![prefix.clone()],
        }
    }

    /// Returns what may stand here, in words.
    pub(crate) fn expected(&self) -> &str {
        match self {
            Self::Section(_) | Self::Open(_) => "a map",
            Self::Leaf(words) => words,
        }
    }
}

/// Tells whether a setting can have a value.
pub(crate) fn accepts(key: &Key, value: &Value) -> bool {
    let mut tree = defaults().clone();
    key.set(&mut tree, value.clone());
    serde_json::from_value::<Settings>(tree).is_ok()
}

/// Returns what a schema allows, in words.
fn words(schema: &Value) -> String {
    let Some(alternatives) = schema["anyOf"].as_array() else {
        return with_null(schema, words_without_null(schema));
    };
    let words: Vec<String> = alternatives.iter().map(words).collect();
    words.join(" or ")
}

fn words_without_null(schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(variants) = schema["oneOf"].as_array() {
        return one_of(
            variants
                .iter()
                .filter_map(|variant| variant["const"].as_str()),
        );
    }
    match first_type(schema) {
        "integer" => format!(
            "a whole number from {}",
            schema["minimum"].as_u64().unwrap_or_default()
        ),
        "number" => "a number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "string" => "a text".to_owned(),
        "array" => list(&schema["items"]),
        "null" => "`null`".to_owned(),
        other => format!("a value of type {other}"),
    }
}

/// A list of texts, or of maps with these keys.
fn list(items: &Value) -> String {
    let Some(keys) = items["properties"].as_object() else {
        return "a list of texts".to_owned();
    };
    // By name, since whether a map keeps its order depends on what else is built with it.
    let keys: BTreeSet<String> = keys.keys().map(|key| format!("`{key}`")).collect();
    let keys: Vec<String> = keys.into_iter().collect();
    format!("a list of maps with {}", keys.join(", "))
}

fn with_null(schema: &Value, words: String) -> String {
    let types = schema["type"].as_array();
    let is_optional = types.is_some_and(|types| types.iter().any(|kind| kind == "null"));
    if is_optional {
        format!("{words}, or `null`")
    } else {
        words
    }
}

fn first_type(schema: &Value) -> &str {
    schema["type"]
        .as_str()
        .or_else(|| schema["type"][0].as_str())
        .unwrap_or("object")
}

fn one_of<'text>(variants: impl Iterator<Item = &'text str>) -> String {
    let quoted: Vec<String> = variants.map(|variant| format!("`{variant}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Returns the JSON schema of a settings file: as the settings themselves, but nothing has to be there, and every setting
/// that has a default shows it.
pub fn schema() -> Value {
    let mut schema = SCHEMA.clone();
    loosen(&mut schema, Some(defaults()));
    schema["title"] = "tm.yaml".into();
    schema
}

fn loosen(schema: &mut Value, default: Option<&Value>) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("required");
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, schema) in properties {
            loosen(schema, default.and_then(|default| default.get(name)));
        }
        return;
    }
    if let Some(inner) = object.get_mut("additionalProperties") {
        loosen(inner, None);
    }
    if let Some(default) = default {
        object.insert("default".to_owned(), default.clone());
    }
}

#[cfg(test)]
mod tests;
