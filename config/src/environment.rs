//! Settings from `TM_*` environment variables: `TM_WAVES_MAX_PARALLEL=5` is `waves.max_parallel: 5`.
//!
//! Variables that mean something else to tm, or nothing, are left alone; one that is close to a setting is a warning.

use crate::key::Key;
use crate::layer::{Layer, closest};
use crate::shape::{Shape, accepts};
use crate::{Source, Warning, yaml};
use serde_json::Value;

/// What every variable of tm begins with.
pub(crate) const PREFIX: &str = "TM_";

/// Variables of tm and of Task Master that are no settings.
const NO_SETTINGS: [&str; 15] = [
    "TM_HOME",
    "TM_LOG",
    "TM_LOG_LEVEL",
    "TM_HIDE_BANNER",
    "TM_TASK_ID",
    "TM_PHASE",
    "TM_ATTEMPT",
    "TM_RUN_ID",
    "TM_REPOSITORY",
    "TM_WORKTREE",
    "TM_PROMPT_FILE",
    "TM_RESULT_FILE",
    "TM_CONTEXT_FILE",
    "TM_TAG",
    "TM_REPLAY_DIR",
];

const AGENTS: &str = "agents";

/// Returns what the variables say.
pub(crate) fn layer(variables: &[(String, String)]) -> Layer {
    let mut layer = Layer::default();
    for (name, text) in variables {
        // CI systems set a variable to nothing where they have no value for it.
        if name.starts_with(PREFIX) && !NO_SETTINGS.contains(&name.as_str()) && !text.is_empty() {
            read(&mut layer, name, text);
        }
    }
    layer
}

fn read(layer: &mut Layer, name: &str, text: &str) {
    match key_of(name) {
        Some(key) => layer.add(&key, value_of(&key, text), &|_| {
            Source::Environment(name.to_owned())
        }),
        None => layer.warnings.extend(misspelt(name)),
    }
}

fn key_of(name: &str) -> Option<Key> {
    settings()
        .into_iter()
        .find(|key| variable(key) == name)
        .or_else(|| agent_key_of(name))
}

/// Returns the key of `TM_AGENTS_<NAME>_<FIELD>`; the longest field that fits is the one.
fn agent_key_of(name: &str) -> Option<Key> {
    let rest = name.strip_prefix("TM_AGENTS_")?;
    let fields = Shape::root()
        .at(&Key::from(AGENTS).child(rest))?
        .keys(&Key::default());
    let agent_of = |field: &Key| {
        rest.strip_suffix(&format!("_{}", capitals(field)))
            .filter(|agent| !agent.is_empty())
    };
    let field = fields
        .iter()
        .filter(|field| agent_of(field).is_some())
        .max_by_key(|field| capitals(field).len())?;
    let agent = Key::from(AGENTS).child(&agent_of(field)?.to_lowercase());
    Some(
        field
            .names()
            .iter()
            .fold(agent, |key, name| key.child(name)),
    )
}

/// Returns every setting that has a variable of its own.
fn settings() -> Vec<Key> {
    let keys = Shape::root().keys(&Key::default()).into_iter();
    keys.filter(|key| key.names() != [AGENTS]).collect()
}

fn variable(key: &Key) -> String {
    format!("{PREFIX}{}", capitals(key))
}

fn capitals(key: &Key) -> String {
    key.names().join("_").to_uppercase()
}

fn misspelt(name: &str) -> Option<Warning> {
    let variables: Vec<String> = settings().iter().map(variable).collect();
    let without_prefix = variables
        .iter()
        .filter_map(|variable| variable.strip_prefix(PREFIX));
    let meant =
        closest(name.strip_prefix(PREFIX)?, without_prefix).map(|rest| format!("{PREFIX}{rest}"));
    let is_about_agents = name.starts_with("TM_AGENTS_");
    (meant.is_some() || is_about_agents).then(|| Warning::MisspeltVariable {
        name: name.to_owned(),
        meant,
    })
}

/// Returns the value that a text means for a setting: `null` where that is allowed, the text itself, what it is as
/// YAML, or a list of what is between its commas; the first that the setting accepts, else as YAML or text.
pub(crate) fn value_of(key: &Key, text: &str) -> Value {
    let as_yaml = yaml::parse(text).ok();
    let null = (text == "null").then_some(Value::Null);
    let as_text = Value::from(text);
    let as_list: Value = text.split(',').map(str::trim).collect();
    let shape = Shape::root().at(key);
    if matches!(shape, Some(Shape::Section(_) | Shape::Open(_))) {
        return as_yaml.unwrap_or(as_text);
    }
    let list_as_yaml = as_yaml.clone().filter(Value::is_array);
    let candidates = [
        null,
        list_as_yaml,
        Some(as_text.clone()),
        as_yaml.clone(),
        Some(as_list),
    ];
    let accepted = candidates
        .into_iter()
        .flatten()
        .find(|value| accepts(key, value));
    accepted.or(as_yaml).unwrap_or(as_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn key(name: &str) -> Option<String> {
        key_of(name).map(|key| key.to_string())
    }

    #[test]
    fn every_setting_has_a_variable_of_its_own() {
        let settings = settings();
        for setting in &settings {
            assert_eq!(key_of(&variable(setting)).as_ref(), Some(setting));
        }
        assert!(NO_SETTINGS.iter().all(|name| key_of(name).is_none()));
        assert!(settings.contains(&Key::from("waves.max_parallel")));
    }

    #[test]
    fn variable_of_an_agent_names_the_agent_and_a_field() {
        let keys = [
            ("TM_AGENTS_CUSTOM_COMMAND", Some("agents.custom.command")),
            (
                "TM_AGENTS_MY_OWN_POLITE_STOP",
                Some("agents.my_own.polite_stop"),
            ),
            (
                "TM_AGENTS_MINE_REFUSAL_RATE_LIMITED",
                Some("agents.mine.refusal.rate_limited"),
            ),
            ("TM_AGENTS_COMMAND", None),
            ("TM_AGENTS__COMMAND", None),
            ("TM_AGENTS_MINE_COLOUR", None),
        ];
        for (name, expected) in keys {
            assert_eq!(key(name).as_deref(), expected, "`{name}`");
        }
    }

    #[test]
    fn text_becomes_what_the_setting_holds() {
        let values = [
            ("waves.max_parallel", "5", json!(5)),
            ("waves.deadline", "6h", json!("6h")),
            ("waves.deadline", "null", json!(null)),
            ("agent.default", "null", json!("null")),
            ("agent.default", "123", json!("123")),
            ("agent.timeout", "90", json!("90")),
            ("tdd.refactor", "true", json!(true)),
            ("tdd.coverage_threshold", "80.5", json!(80.5)),
            ("test.command", "npm test: all", json!("npm test: all")),
            ("test.command", "[npm, test]", json!(["npm", "test"])),
            (
                "test.command",
                "[ -f x ] && make test",
                json!("[ -f x ] && make test"),
            ),
            (
                "agent.fallback",
                "codex, gemini",
                json!(["codex", "gemini"]),
            ),
            ("agent.fallback", "[codex]", json!(["codex"])),
            ("agents.mine.env", "{A: 1}", json!({"A": 1})),
            ("waves.max_parallel", "many", json!("many")),
        ];
        for (key, text, expected) in values {
            assert_eq!(value_of(&Key::from(key), text), expected, "{key}={text}");
        }
    }

    #[test]
    fn misspelt_variable_is_a_warning_and_others_are_left_alone() {
        let warnings = layer(&variables(&[
            ("TM_WAVES_MAX_PARALEL", "5"),
            ("TM_TEST_CMD", "x"),
        ]))
        .warnings;
        let text: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            text,
            [
                "`TM_WAVES_MAX_PARALEL` is no setting, did you mean `TM_WAVES_MAX_PARALLEL`?",
                "`TM_TEST_CMD` is no setting, did you mean `TM_TEST_COMMAND`?"
            ]
        );
        let others = [
            "TM_HOME",
            "TM_LOG",
            "TM_TASK_ID",
            "TM_TAG",
            "TM_REPLAY_DIR",
            "TM_EXTRA",
            "TMUX",
            "PATH",
            "TM_",
            "TM_PROJECT_X",
        ];
        let layer = layer(&others.map(|name| (name.to_owned(), "x".to_owned())));
        assert!(
            layer.entries.is_empty() && layer.warnings.is_empty() && layer.errors.is_empty(),
            "{layer:?}"
        );
    }

    #[test]
    fn unknown_field_of_an_agent_is_a_warning() {
        let warnings = layer(&variables(&[("TM_AGENTS_MINE_COLOUR", "x")])).warnings;
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn empty_variable_says_nothing() {
        let layer = layer(&variables(&[
            ("TM_TEST_COMMAND", ""),
            ("TM_WAVES_MAX_PARALEL", ""),
        ]));
        assert!(layer.entries.is_empty() && layer.warnings.is_empty());
    }
}
