//! Changes one value in a settings file and leaves every other byte of it, comments too.
//!
//! Knows YAML; does not know which settings there are.

use crate::backlog::{BacklogError, change_yaml};
use serde_json::Value;
use std::path::Path;

/// Returns the text of a settings file in which a setting has a value; `None` takes it out, with the sections that hold
/// nothing then.
///
/// # Errors
/// It is no YAML, or laid out in a way that can't be changed in place.
pub fn with_setting(
    path: &Path,
    text: &str,
    names: &[String],
    value: Option<&Value>,
) -> Result<String, BacklogError> {
    change_yaml(path, text, names, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn changed(text: &str, key: &str, value: Option<&Value>) -> String {
        let names: Vec<String> = key.split('.').map(ToOwned::to_owned).collect();
        with_setting(Path::new("tm.yaml"), text, &names, value).expect("changed")
    }

    #[test]
    fn one_value_changes_and_all_else_stays() {
        let text = "# ours\nwaves:\n  # many\n  max_parallel: 3 # slots\n  retries: 1\ntdd: { mode: off }\n";
        for (key, value, expected) in [
            (
                "waves.max_parallel",
                json!(5),
                text.replace("parallel: 3", "parallel: 5"),
            ),
            (
                "waves.keep",
                json!("30d"),
                text.replace("retries: 1\n", "retries: 1\n  keep: 30d\n"),
            ),
            (
                "tdd.refactor",
                json!(true),
                text.replace("mode: off", "mode: off, refactor: true"),
            ),
            (
                "agent.default",
                json!("codex"),
                format!("{text}agent:\n  default: codex\n"),
            ),
            (
                "agents.mine.command",
                json!(["a", "b c"]),
                format!("{text}agents:\n  mine:\n    command:\n    - a\n    - b c\n"),
            ),
        ] {
            assert_eq!(changed(text, key, Some(&value)), expected, "{key}");
        }
        assert_eq!(
            changed(text, "waves.retries", None),
            text.replace("  retries: 1\n", "")
        );
        assert_eq!(
            changed(text, "tdd.mode", None),
            text.replace("tdd: { mode: off }\n", "")
        );
        assert_eq!(
            changed(text, "tdd.refactor", None),
            text,
            "which is not there"
        );
    }

    #[test]
    fn a_file_of_comments_and_an_empty_section_take_a_first_setting() {
        for (text, expected) in [
            ("", "waves:\n  retries: 1\n"),
            ("# nothing yet\n", "# nothing yet\nwaves:\n  retries: 1\n"),
            (
                "waves:\n  # retries: 3\n",
                "waves:\n  retries: 1\n  # retries: 3\n",
            ),
        ] {
            let changed = changed(text, "waves.retries", Some(&json!(1)));
            let read: Value = serde_yaml::from_str(&changed).expect("YAML");
            assert_eq!(read, json!({"waves": {"retries": 1}}), "{changed}");
            assert!(text.lines().all(|line| changed.contains(line)), "{changed}");
            if text.lines().count() < 2 {
                assert_eq!(changed, expected);
            }
        }
        assert_eq!(
            changed("waves:\n  retries: 1\n", "waves.retries", None).trim(),
            "{}"
        );
    }

    #[test]
    fn what_is_no_yaml_is_refused() {
        let names = ["waves".to_owned()];
        assert!(with_setting(Path::new("tm.yaml"), "a: [", &names, None).is_err());
    }
}
