//! The words for each kind of setting, and the schema of a file against the defaults.

use super::*;
use tm_scheduler::OutputFormat;

fn expected(key: &str) -> &'static str {
    Shape::root()
        .at(&Key::from(key))
        .expect("a setting")
        .expected()
}

#[test]
fn every_kind_of_setting_has_words_for_what_it_may_hold() {
    let outputs: Vec<String> = OutputFormat::ALL
        .iter()
        .map(|format| format!("`{format}`"))
        .collect();
    let (last, before) = outputs.split_last().expect("formats");
    let outputs = format!("{} or {last} or `null`", before.join(", "));
    let words = [
        ("waves", "a map"),
        ("waves.max_parallel", "a whole number from 1"),
        ("waves.retries", "a whole number from 0"),
        ("waves.dispatch", "`rolling` or `barrier`"),
        ("tdd.mode", "`auto`, `explicit` or `off`"),
        ("tdd.refactor", "`true` or `false`"),
        (
            "tdd.coverage_threshold",
            "a percentage from 0 to 100, or `null`",
        ),
        (
            "test.command",
            "a command: a text for `sh`, or a list of texts, or `null`",
        ),
        ("test.results", "a text, or `null`"),
        (
            "worktree.setup",
            "a command for `sh`, or a list of commands: texts for `sh`, or lists of texts, or `null`",
        ),
        (
            "test.timeout",
            "a duration longer than zero such as `5m`, `90s` or `1h 30m`, or whole seconds",
        ),
        (
            "agent.grace",
            "a duration such as `5m`, `90s` or `1h 30m`, or whole seconds",
        ),
        (
            "gates",
            "a list of maps with `agent`, `command`, `lines`, `max_tokens`, `name`, `new_only`, `phases`, `prompt`, \
             `results`, `timeout`",
        ),
        ("agent.default", "a text"),
        ("agent.fallback", "a list of texts"),
        (
            "agent.max_cost",
            "an amount of dollars, not negative, or `null`",
        ),
        ("agent.max_tokens", "a whole number from 0, or `null`"),
        ("agents", "a map"),
        ("agents.mine", "a map"),
        ("agents.mine.prompt", "`stdin`, `arg` or `file` or `null`"),
        ("agents.mine.output", outputs.as_str()),
        (
            "agents.mine.env.A",
            "a text (in quotes when it looks like a number with a point)",
        ),
    ];
    for (key, words) in words {
        assert_eq!(expected(key), words, "`{key}`");
    }
}

#[test]
fn no_setting_lacks_words_or_documentation() {
    for key in Shape::root().keys(&Key::default()) {
        assert!(
            !expected(&key.to_string()).contains("value of type"),
            "`{key}`"
        );
    }
    assert_documented(&SCHEMA, "");
}

fn assert_documented(schema: &Value, place: &str) {
    assert!(
        schema["description"].is_string() || place.contains("[]"),
        "`{place}`"
    );
    if let Some(properties) = schema["properties"].as_object() {
        properties
            .iter()
            .for_each(|(name, schema)| assert_documented(schema, &format!("{place}.{name}")));
    }
    if schema["additionalProperties"].is_object() {
        assert_documented(&schema["additionalProperties"], &format!("{place}[]"));
    }
}

#[test]
fn schema_of_a_file_shows_every_default_and_requires_nothing() {
    let schema = schema();
    // A gate that is named in a list needs its name, a part its paths and its command, a volume both of its names.
    let mut others = schema.clone();
    others["properties"]["gates"].take();
    others["properties"]["test"]["properties"]["parts"].take();
    others["properties"]["kubernetes"]["properties"]["volumes"].take();
    assert!(!others.to_string().contains("\"required\":["));
    for key in Shape::root().keys(&Key::default()) {
        let place = key
            .names()
            .iter()
            .fold(&schema, |schema, name| &schema["properties"][name]);
        assert_eq!(place.get("default"), key.get(defaults()), "`{key}`");
        assert!(place.get("default").is_some(), "`{key}` has no default");
    }
}
