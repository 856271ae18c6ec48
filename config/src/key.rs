//! The path of a setting through the sections, and the tree of values it leads into.

use serde_json::{Map, Value};
use std::fmt;

/// The names of the sections that lead to a setting, and its own name last; shown with dots between.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key(Vec<String>);

impl Key {
    /// Returns the key of that name below this one.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// Returns the key of the first of its names alone.
    pub(crate) fn first(&self, count: usize) -> Self {
        Self(self.0[..count].to_vec())
    }

    /// Returns the names, outermost first.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the value at this key.
    #[cfg(test)]
    pub(crate) fn get<'tree>(&self, tree: &'tree Value) -> Option<&'tree Value> {
        self.0.iter().try_fold(tree, |value, name| value.get(name))
    }

    /// Puts a value at this key, making the maps on the way.
    pub(crate) fn set(&self, tree: &mut Value, value: Value) {
        let place = self.0.iter().fold(tree, |place, name| {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            &mut place[name.as_str()]
        });
        *place = value;
    }
}

impl From<&str> for Key {
    fn from(dotted: &str) -> Self {
        Self(dotted.split('.').map(str::to_owned).collect())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn value_that_is_set_is_found_again_and_disturbs_no_other() {
        let mut tree = json!({"a": {"b": 1, "c": 2}, "d": null});
        Key::from("a.b").set(&mut tree, json!(3));
        Key::from("d.e.f").set(&mut tree, json!("x"));
        assert_eq!(tree, json!({"a": {"b": 3, "c": 2}, "d": {"e": {"f": "x"}}}));
        assert_eq!(Key::from("d.e.f").get(&tree), Some(&json!("x")));
        assert_eq!(Key::from("d.x.f").get(&tree), None);
    }

    #[test]
    fn key_is_shown_with_dots() {
        assert_eq!(Key::from("a").child("b.c").to_string(), "a.b.c");
        assert_eq!(Key::from("a.b").names(), ["a", "b"]);
    }
}
