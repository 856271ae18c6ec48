//! Settings in Task Master's `.taskmaster/config.json`: the blocks `autopilot`, `test`, `git` and `storage`.
//!
//! Task Master owns that file, so whatever tm does not know there is left alone without a word, but for thresholds of
//! coverage: whoever set one believes that it is kept.

use crate::key::Key;
use crate::layer::{Layer, snake_case};
use crate::shape::Shape;
use crate::{Error, ProjectFiles, Source, Warning};
use serde_json::Value;

/// The file, from the top of the project on.
pub(crate) const SHOWN: &str = ".taskmaster/config.json";

const BLOCKS: [&str; 4] = ["autopilot", "test", "git", "storage"];

/// Returns what the file of a project says.
pub(crate) fn layer(files: &ProjectFiles) -> Layer {
    Layer::of_project_file(files, SHOWN, |text| {
        let file = serde_json::from_str(text).map_err(|error| Error::Syntax {
            path: SHOWN.into(),
            why: error.to_string(),
        })?;
        Ok(of_file(&file))
    })
}

fn of_file(file: &Value) -> Layer {
    let mut layer = Layer::default();
    for block in BLOCKS {
        for (name, value) in file[block].as_object().into_iter().flatten() {
            if let Some((key, value)) = setting(block, name, value) {
                layer.add(&key, value, &|_| Source::ProjectJson(SHOWN.into()));
            }
        }
    }
    let nested = &file["autopilot"]["storage"];
    for (name, key) in [
        ("location", "storage.location"),
        ("basePath", "storage.base_path"),
    ] {
        if let Some(value) = nested.get(name) {
            layer.add(&key.into(), value.clone(), &|_| {
                Source::ProjectJson(SHOWN.into())
            });
        }
    }
    layer.warnings.extend(thresholds_not_kept(file));
    layer
}

/// Names the thresholds of coverage that nothing is held to.
fn thresholds_not_kept(file: &Value) -> Option<Warning> {
    let thresholds = &file["test"]["coverageThresholds"];
    let is_set = |name: &&str| thresholds[*name].as_f64() > Some(0.0);
    let names = ["branches", "functions", "statements"];
    let names: Vec<&str> = names.into_iter().filter(is_set).collect();
    (!names.is_empty()).then(|| Warning::Ignored {
        path: SHOWN.into(),
        key: format!("test.coverageThresholds.{}", names.join("|")),
        why: "work is held to covered lines alone".to_owned(),
    })
}

/// Returns the setting of tm that a name in a block is, with its value.
fn setting(block: &str, name: &str, value: &Value) -> Option<(Key, Value)> {
    match (block, name) {
        ("autopilot", "testTimeout") => Some(("test.timeout".into(), milliseconds(value))),
        ("test", "coverageThresholds") => {
            Some(("tdd.coverage_threshold".into(), value.get("lines")?.clone()))
        }
        ("git", "branchPattern") => Some(("git.branch".into(), value.clone())),
        // Where Task Master keeps its tasks, not where runs are kept.
        ("storage", "basePath") => None,
        _ => {
            let key = Key::from(block).child(&snake_case(name));
            matches!(Shape::root().at(&key), Some(Shape::Leaf(_))).then(|| (key, value.clone()))
        }
    }
}

fn milliseconds(value: &Value) -> Value {
    if value.is_number() {
        Value::String(format!("{value}ms"))
    } else {
        value.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(file: &Value) -> Vec<(String, Value)> {
        let layer = of_file(file);
        assert!(layer.errors.is_empty());
        layer
            .entries
            .into_iter()
            .map(|entry| (entry.key.to_string(), entry.value))
            .collect()
    }

    #[test]
    fn every_known_name_of_the_four_blocks_is_a_setting() {
        let file = json!({
            "models": {"main": {}},
            "autopilot": {
                "enabled": false,
                "requireCleanWorkingTree": false,
                "commitTemplate": "{msg}",
                "defaultCommitType": "fix",
                "maxGreenAttempts": 7,
                "testTimeout": 300_000,
                "storage": {"location": "project", "basePath": "~/runs"}
            },
            "test": {"runner": "auto", "coverageThresholds": {"lines": 80, "branches": 70}, "targetedRunPattern": "x"},
            "git": {"branchPattern": "{tag}/task-{id}-{slug}", "defaultRemote": "origin"}
        });
        let expected = [
            ("autopilot.enabled", json!(false)),
            ("autopilot.require_clean_working_tree", json!(false)),
            ("autopilot.commit_template", json!("{msg}")),
            ("autopilot.default_commit_type", json!("fix")),
            ("autopilot.max_green_attempts", json!(7)),
            ("test.timeout", json!("300000ms")),
            ("tdd.coverage_threshold", json!(80)),
            ("git.branch", json!("{tag}/task-{id}-{slug}")),
            ("storage.location", json!("project")),
            ("storage.base_path", json!("~/runs")),
        ];
        assert_eq!(
            entries(&file),
            expected.map(|(key, value)| (key.to_owned(), value))
        );
    }

    #[test]
    fn thresholds_that_nothing_is_held_to_are_named() {
        let warnings = |thresholds: Value| -> Vec<String> {
            let file = json!({"test": {"coverageThresholds": thresholds}});
            let warnings = of_file(&file).warnings;
            warnings.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            warnings(json!({"lines": 80, "branches": 75, "functions": 0, "statements": 80.5})),
            [
                "`test.coverageThresholds.branches|statements` of `.taskmaster/config.json` is ignored: work is held to \
              covered lines alone"
            ]
        );
        assert!(warnings(json!({"lines": 80})).is_empty());
        assert!(warnings(json!("80")).is_empty());
    }

    #[test]
    fn what_only_task_master_knows_is_left_alone() {
        let file = json!({
            "storage": {"type": "file", "basePath": ".taskmaster"},
            "autopilot": {"tests": {}, "MaxGreen": 1},
            "test": {"coverageThresholds": {}},
            "waves": {"max_parallel": 9},
            "git": "a text"
        });
        assert_eq!(entries(&file), []);
        assert_eq!(entries(&json!([1])), []);
    }
}
