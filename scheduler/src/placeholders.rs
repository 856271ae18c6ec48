//! The one language of `{placeholders}`: in arguments of agents, names of branches, subjects of commits.
//!
//! Knows no shell: an argument stays one argument whatever is filled in.

use std::collections::BTreeMap;

/// A placeholder that has no value. Displays as a fragment that follows "failed to".
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("fill in `{{{placeholder}}}` in `{pattern}`")]
pub struct NoValue {
    /// The text that it stands in.
    pub pattern: String,
    /// Its name without braces.
    pub placeholder: String,
}

/// Fills in a text. Values are filled in once and never read as placeholders.
///
/// A placeholder is `{name}`: letters and `_`, the first one in lower case. Other braces stand for themselves, as do
/// `${name}` of a shell and, without the outer braces, `{{name}}`.
///
/// # Errors
/// A placeholder has no value.
pub fn fill(pattern: &str, values: &BTreeMap<&str, String>) -> Result<String, NoValue> {
    let mut filled = String::with_capacity(pattern.len());
    for part in parts(pattern) {
        filled.push_str(match part {
            Part::Text(text) => text,
            Part::Placeholder(name) => values.get(name).ok_or_else(|| NoValue {
                pattern: pattern.to_owned(),
                placeholder: name.to_owned(),
            })?,
        });
    }
    Ok(filled)
}

/// Returns the names of the placeholders in a text.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Placeholder(name) => Some(name),
        Part::Text(_) => None,
    })
}

/// A part of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part<'text> {
    /// Text that stands for itself.
    Text(&'text str),
    /// A placeholder, without its braces.
    Placeholder(&'text str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from_brace) = rest.split_at(start);
        parts.push(Part::Text(before));
        let (part, after) = part_at_brace(before, from_brace);
        parts.push(part);
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| *part != Part::Text(""));
    parts
}

/// Returns what a text begins with that begins with a brace, and what follows it; behind a `$` it is a variable's.
fn part_at_brace<'text>(before: &str, text: &'text str) -> (Part<'text>, &'text str) {
    if let Some(doubled) = text
        .strip_prefix('{')
        .filter(|inner| inner.starts_with('{'))
        && let Some(length) = braced_length(doubled)
        && doubled[length..].starts_with('}')
    {
        return (Part::Text(&doubled[..length]), &doubled[length + 1..]);
    }
    match braced_length(text) {
        Some(length) if before.ends_with('$') => (Part::Text(&text[..length]), &text[length..]),
        Some(length) => (Part::Placeholder(&text[1..length - 1]), &text[length..]),
        None => (Part::Text(&text[..1]), &text[1..]),
    }
}

/// Returns the length of the `{name}` that a text begins with.
fn braced_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('{')?;
    let name = inner.find(|letter: char| !letter.is_ascii_alphabetic() && letter != '_')?;
    let is_name = inner.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    (is_name && inner[name..].starts_with('}')).then_some(name + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> BTreeMap<&'static str, String> {
        [
            ("tm", "/bin/tm".to_owned()),
            ("task_id", "{tm} \"$(x)\"".to_owned()),
        ]
        .into()
    }

    #[test]
    fn values_are_filled_in_once_and_never_read_as_placeholders() {
        assert_eq!(
            fill("a={task_id};{tm}", &values()),
            Ok("a={tm} \"$(x)\";/bin/tm".to_owned())
        );
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
            assert_eq!(fill(text, &values()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn doubled_braces_are_a_way_to_write_a_placeholder_down() {
        assert_eq!(
            fill("{{tm}}-{tm}", &values()),
            Ok("{tm}-/bin/tm".to_owned())
        );
        assert_eq!(fill("{{tm}", &values()), Ok("{/bin/tm".to_owned()));
    }

    #[test]
    fn placeholder_without_a_value_is_named() {
        let error = fill("a {model} {tm}", &values()).expect_err("no value");
        assert_eq!(error.to_string(), "fill in `{model}` in `a {model} {tm}`");
        assert_eq!(
            placeholders("{taskId} {{tm}} ${tm}").collect::<Vec<_>>(),
            ["taskId"]
        );
    }
}
