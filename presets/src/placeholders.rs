//! Fills `{placeholders}` into arguments, each value within the one argument that names it.
//!
//! Knows no shell: an argument stays one argument whatever it holds.

use std::collections::BTreeMap;

/// What stands for each placeholder, by its name without braces.
pub type Placeholders = BTreeMap<&'static str, String>;

/// Every placeholder, with the environment variable that holds the same value, when there is one.
pub(crate) const KNOWN: [(&str, Option<&str>); 13] = [
    ("prompt", None),
    ("prompt_file", Some("TM_PROMPT_FILE")),
    ("result_file", Some("TM_RESULT_FILE")),
    ("context_file", Some("TM_CONTEXT_FILE")),
    ("attempt_folder", None),
    ("worktree", Some("TM_WORKTREE")),
    ("task_id", Some("TM_TASK_ID")),
    ("phase", Some("TM_PHASE")),
    ("attempt", Some("TM_ATTEMPT")),
    ("run_id", Some("TM_RUN_ID")),
    ("tag", Some("TM_TAG")),
    ("model", None),
    ("tm", None),
];

/// A part of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Part<'text> {
    /// Text that stands for itself.
    Text(&'text str),
    /// A placeholder, without its braces.
    Placeholder(&'text str),
}

/// Takes a text apart.
///
/// A placeholder is `{name}` in lower-case letters and `_`. Other braces stand for themselves, as do `${name}` of a
/// shell and, without the outer braces, `{{name}}`.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from_brace) = rest.split_at(start);
        parts.push(Part::Text(before));
        let (part, after) = part_at_brace(from_brace, before.ends_with('$'));
        parts.push(part);
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| *part != Part::Text(""));
    parts
}

/// Returns what a text begins with that begins with a brace, and what follows it.
fn part_at_brace(text: &str, is_variable: bool) -> (Part<'_>, &str) {
    if let Some(doubled) = text.strip_prefix('{').filter(|inner| inner.starts_with('{'))
        && let Some(length) = braced_length(doubled)
        && doubled[length..].starts_with('}')
    {
        return (Part::Text(&doubled[..length]), &doubled[length + 1..]);
    }
    match braced_length(text) {
        Some(length) if is_variable => (Part::Text(&text[..length]), &text[length..]),
        Some(length) => (Part::Placeholder(&text[1..length - 1]), &text[length..]),
        None => (Part::Text(&text[..1]), &text[1..]),
    }
}

/// Returns the length of the `{name}` that a text begins with.
fn braced_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let name = inner.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')?;
    (name > 0 && inner[name..].starts_with('}')).then_some(name + 2)
}

/// Tells whether tm knows a placeholder.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// Returns the environment variable that holds the value of a placeholder.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == name).and_then(|(_, variable)| *variable)
}

/// Returns the names of all placeholders, for messages.
pub(crate) fn known_names() -> String {
    let names: Vec<String> = KNOWN.iter().map(|(name, _)| format!("`{{{name}}}`")).collect();
    names.join(", ")
}

/// Fills in a text; the error is the name of a placeholder that has no value.
pub(crate) fn fill<'text>(text: &'text str, placeholders: &Placeholders) -> Result<String, &'text str> {
    let mut filled = String::with_capacity(text.len());
    for part in parts(text) {
        filled.push_str(match part {
            Part::Text(text) => text,
            Part::Placeholder(name) => placeholders.get(name).ok_or(name)?,
        });
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        [("tm", "/bin/tm".to_owned()), ("task_id", "{tm} \"$(x)\"".to_owned())].into()
    }

    #[test]
    fn values_are_filled_in_once_and_never_read_as_placeholders() {
        assert_eq!(fill("a={task_id};{tm}", &placeholders()), Ok("a={tm} \"$(x)\";/bin/tm".to_owned()));
    }

    #[test]
    fn braces_that_are_no_placeholder_stand_for_themselves() {
        let texts = [
            "",
            "{",
            "}",
            "{}",
            "{ tm }",
            "{TM}",
            "{tm",
            "${tm}",
            "a{b c}",
            "{\"a\":{\"b\":1}}",
            "x={name=\"y\"}",
            "{{",
            "é{é}",
            "{tm1}",
            "{{}}",
        ];
        for text in texts {
            assert_eq!(fill(text, &placeholders()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn doubled_braces_are_a_way_to_write_a_placeholder_down() {
        assert_eq!(fill("{{tm}}-{tm}", &placeholders()), Ok("{tm}-/bin/tm".to_owned()));
        assert_eq!(fill("{{tm}", &placeholders()), Ok("{/bin/tm".to_owned()));
    }

    #[test]
    fn placeholder_without_a_value_is_named() {
        assert_eq!(fill("a {model} {tm}", &placeholders()), Err("model"));
    }
}
