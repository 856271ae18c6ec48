//! Settings in the front matter of `.claude/agent-alchemy.local.md`, in both of its shapes.
//!
//! Another program owns that file: what is wrong there is a warning, what is unknown is left alone.

use crate::layer::{Entry, Layer};
use crate::{ProjectFiles, Source, Warning, yaml};
use serde_json::Value;

pub(crate) const SHOWN: &str = ".claude/agent-alchemy.local.md";

/// Where each setting may stand, the first that is there counts.
const SETTINGS: [(&str, &[(&str, &str)]); 3] = [
    (
        "waves.max_parallel",
        &[
            ("execute-tdd-tasks", "max_parallel"),
            ("execute-tasks", "max_parallel"),
            ("run-tasks", "max_parallel"),
            ("", "max_parallel"),
        ],
    ),
    ("tdd.strictness", &[("tdd", "strictness")]),
    (
        "tdd.coverage_threshold",
        &[("tdd", "coverage-threshold"), ("tdd", "coverage_threshold")],
    ),
];

/// Returns what the file of a project says.
pub(crate) fn layer(files: &ProjectFiles) -> Layer {
    Layer::of_project_file(files, SHOWN, |text| Ok(of_text(text)))
}

fn of_text(text: &str) -> Layer {
    match front_matter(text).map(yaml::parse) {
        None => Layer::default(),
        Some(Ok(tree)) => of_tree(&tree),
        Some(Err(why)) => Layer {
            warnings: vec![Warning::Ignored {
                path: SHOWN.into(),
                key: String::new(),
                why,
            }],
            ..Layer::default()
        },
    }
}

/// Returns what stands between the first line, `---`, and the next such line.
fn front_matter(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

fn of_tree(tree: &Value) -> Layer {
    let mut layer = Layer::default();
    for (key, places) in SETTINGS {
        if let Some(value) = places
            .iter()
            .find_map(|(section, name)| find(tree, section, name))
        {
            let value = if key == "tdd.coverage_threshold" {
                clamped(value)
            } else {
                value.clone()
            };
            layer.entries.push(Entry {
                key: key.into(),
                value,
                source: Source::AgentAlchemy(SHOWN.into()),
            });
        }
    }
    layer
}

/// Finds a name in a section, in a list of one-key maps that is the section, or under `section.name`.
fn find<'tree>(tree: &'tree Value, section: &str, name: &str) -> Option<&'tree Value> {
    if section.is_empty() {
        return tree.get(name);
    }
    let flat = || tree.get(format!("{section}.{name}"));
    match tree.get(section) {
        Some(Value::Array(maps)) => maps.iter().find_map(|map| map.get(name)).or_else(flat),
        Some(map) => map.get(name).or_else(flat),
        None => flat(),
    }
}

/// agent-alchemy takes thresholds outside 0 to 100 for the nearest end.
fn clamped(value: &Value) -> Value {
    value.as_f64().map_or_else(
        || value.clone(),
        |percent| Value::from(percent.clamp(0.0, 100.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(text: &str) -> Vec<(String, Value)> {
        let layer = of_text(text);
        assert!(
            layer.errors.is_empty() && layer.warnings.is_empty(),
            "{layer:?}"
        );
        layer
            .entries
            .into_iter()
            .map(|entry| (entry.key.to_string(), entry.value))
            .collect()
    }

    fn owned<const N: usize>(expected: [(&str, Value); N]) -> Vec<(String, Value)> {
        expected
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    #[test]
    fn nested_shape_with_a_list_of_one_key_maps_is_read() {
        let text = "---\nauthor: X\nexecute-tasks:\n  - max_parallel: 4\ntdd:\n  framework: auto\n  \
                    coverage-threshold: 75\n  strictness: strict\n---\n\n# Notes\ntdd: {strictness: relaxed}\n";
        let expected = [
            ("waves.max_parallel", json!(4)),
            ("tdd.strictness", json!("strict")),
            ("tdd.coverage_threshold", json!(75.0)),
        ];
        assert_eq!(entries(text), owned(expected));
    }

    #[test]
    fn flat_shape_with_dotted_keys_is_read() {
        let text = "---\nrun-tasks.max_parallel: 3\nrun-tasks.max_retries: 2\ntdd.strictness: relaxed\n---\n";
        assert_eq!(
            entries(text),
            owned([
                ("waves.max_parallel", json!(3)),
                ("tdd.strictness", json!("relaxed"))
            ])
        );
    }

    #[test]
    fn section_may_be_a_plain_map_and_the_tdd_one_comes_first() {
        let text = "---\nexecute-tasks: {max_parallel: 2}\nexecute-tdd-tasks: {max_parallel: 6}\nmax_parallel: 9\n---\n";
        assert_eq!(entries(text), owned([("waves.max_parallel", json!(6))]));
        assert_eq!(
            entries("---\nmax_parallel: 9\n---\n"),
            owned([("waves.max_parallel", json!(9))])
        );
    }

    #[test]
    fn threshold_is_clamped() {
        let text = "---\ntdd: {coverage-threshold: 150}\n---\n";
        assert_eq!(
            entries(text),
            owned([("tdd.coverage_threshold", json!(100.0))])
        );
    }

    #[test]
    fn malformed_front_matter_is_a_warning_and_a_missing_one_nothing() {
        let layer = of_text("---\ntdd: [\n---\n");
        assert!(layer.entries.is_empty());
        assert!(
            layer.warnings[0]
                .to_string()
                .starts_with("`.claude/agent-alchemy.local.md` is ignored: ")
        );
        for text in [
            "",
            "# Notes\n",
            "---\nmax_parallel: 3\n",
            "\n---\nmax_parallel: 3\n---\n",
            "---\n---\n",
        ] {
            assert_eq!(entries(text), [], "{text:?}");
        }
    }

    #[test]
    fn windows_line_ends_are_read() {
        assert_eq!(
            entries("---\r\nmax_parallel: 3\r\n---\r\n"),
            owned([("waves.max_parallel", json!(3))])
        );
    }
}
