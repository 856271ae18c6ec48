//! The words of commit messages by a template of the user's own; what tm needs to find its commits again is not in them.

use crate::Error;
use crate::template::filled;
use serde::Serialize;

/// The setting, as it is named in errors.
const SETTING: &str = "git.commit_template";

/// Everything that a commit template can speak of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommitWords {
    /// The task or subtask.
    pub id: String,
    /// Its title, in one line.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// `red`, `green`, `refactor` or `none`; `commit` in autopilot, whose commits hold both halves.
    pub phase: String,
    /// The conventional type, such as `feat`.
    pub r#type: String,
    /// The part of the project that most files are of; empty where nothing tells.
    pub scope: String,
    /// The tag.
    pub tag: String,
    /// The run.
    pub run: String,
    /// The files of the commit.
    pub files: Vec<String>,
}

/// Fills in a template.
///
/// # Errors
/// It is no template, speaks of what there is not, or comes out empty.
pub fn commit_message(template: &str, words: &CommitWords) -> Result<String, Error> {
    let text = filled(SETTING, template, words)?.replace('\0', "");
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::Template {
            name: SETTING.to_owned(),
            why: "it comes out empty".to_owned(),
        });
    }
    Ok(text.to_owned())
}

/// Returns what a template makes of an example, so that one that can't be filled in is known before anything is begun.
///
/// # Errors
/// As for [`commit_message`].
pub fn example_commit_message(template: &str) -> Result<String, Error> {
    let word = || "x".to_owned();
    let words = CommitWords {
        id: "1".to_owned(),
        title: word(),
        description: word(),
        phase: "green".to_owned(),
        r#type: "feat".to_owned(),
        scope: word(),
        tag: word(),
        run: word(),
        files: vec![word()],
    };
    commit_message(template, &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> CommitWords {
        CommitWords {
            id: "3.1".to_owned(),
            title: "Parse {{ id }}".to_owned(),
            r#type: "feat".to_owned(),
            files: vec!["a.rs".to_owned(), "b.rs".to_owned()],
            ..CommitWords::default()
        }
    }

    #[test]
    fn templates_speak_of_the_task_and_of_the_files() {
        let template = "{{ type }}{% if scope %}({{ scope }}){% endif %}: {{ title | lower }} [{{ id }}]\n\n\
                        {% for file in files %}\n- {{ file }}\n{% endfor %}\n{{ description }}";
        assert_eq!(
            commit_message(template, &words()).unwrap(),
            "feat: parse {{ id }} [3.1]\n\n- a.rs\n- b.rs"
        );
    }

    #[test]
    fn templates_that_can_not_be_filled_are_refused_with_the_reason() {
        for (template, part) in [
            ("{{ titel }}", "undefined"),
            ("{{ title", "git.commit_template"),
            (" {# #} ", "empty"),
        ] {
            let error = example_commit_message(template).unwrap_err().to_string();
            assert!(error.contains(part), "{template}: {error}");
        }
        example_commit_message("{{ title }}").unwrap();
    }
}
