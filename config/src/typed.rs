//! A setting as a person types it, checked as a file with it would be.

use crate::key::Key;
use crate::layer::Layer;
use crate::load::problem;
use crate::{Error, Source, environment, yaml};
use serde_json::Value;
use std::path::Path;

/// Where it is said to come from.
const PLACE: &str = "tm config";

/// A setting, and what it is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedSetting {
    /// The names of the sections that lead to it, and its own last.
    pub names: Vec<String>,
    /// Its value, as a settings file has it.
    pub value: Value,
}

impl TypedSetting {
    /// Reads `waves.max_parallel` and `5`, as `TM_WAVES_MAX_PARALLEL=5` is read.
    ///
    /// # Errors
    /// There is no such setting, or it can't have that value.
    pub fn parse(key: &str, text: &str) -> Result<Self, Error> {
        let key = Key::from(key);
        let value = environment::value_of(&key, text);
        let mut layer = Layer::default();
        layer.add(&key, value.clone(), &|_| Source::Flag(PLACE.to_owned()));
        let mut errors = layer.errors;
        errors.extend(layer.entries.iter().filter_map(problem));
        match Error::all(errors) {
            Some(error) => Err(error),
            None => Ok(Self {
                names: key.names().to_vec(),
                value,
            }),
        }
    }

    /// Returns the names of a setting.
    ///
    /// # Errors
    /// There is no such setting.
    pub fn names(key: &str) -> Result<Vec<String>, Error> {
        // Nothing stands for whatever it may be: only the name is looked at.
        let mut layer = Layer::default();
        let key = Key::from(key);
        layer.add(&key, Value::Null, &|_| Source::Flag(PLACE.to_owned()));
        match Error::all(layer.errors) {
            Some(error) => Err(error),
            None => Ok(key.names().to_vec()),
        }
    }
}

/// Returns the text of a settings file, nothing where there is none.
///
/// # Errors
/// It can't be read, or is no settings file by its size.
pub fn settings_text(path: &Path) -> Result<String, Error> {
    Ok(yaml::read_file(path, path)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_typed_is_the_value_of_the_setting_or_refused_as_in_a_file() {
        let parsed = |key, text| TypedSetting::parse(key, text).map(|setting| setting.value);
        assert_eq!(
            parsed("waves.max_parallel", "5").expect("a number"),
            json!(5)
        );
        assert_eq!(
            parsed("test.command", "npm test").expect("a text"),
            json!("npm test")
        );
        assert_eq!(
            parsed("agents.mine.command", "[a, b]").expect("a list"),
            json!(["a", "b"])
        );
        assert_eq!(
            parsed("sandbox.agents", "{network: off}").expect("a map"),
            json!({"network": "off"})
        );
        for (key, text, why) in [
            (
                "waves.max_paralel",
                "5",
                "did you mean `waves.max_parallel`?",
            ),
            (
                "waves.max_parallel",
                "0",
                "expected a whole number from 1, found the number `0`",
            ),
            ("sandbox.agents", "{colour: red}", "no such setting"),
            ("agents.a/b.model", "x", "as the name of an agent"),
            ("waves", "5", "found the number `5`"),
        ] {
            let error = parsed(key, text).expect_err("refused").to_string();
            assert!(error.contains(why), "{key}: {error}");
        }
    }

    #[test]
    fn a_setting_is_known_by_its_name_alone() {
        assert_eq!(
            TypedSetting::names("waves.keep").expect("known"),
            ["waves", "keep"]
        );
        assert!(TypedSetting::names("waves.kept").is_err());
    }
}
