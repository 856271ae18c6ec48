//! How new values are spelled in YAML: in lines, or between brackets.

use serde_json::Value as Json;

/// A value as YAML spells it, in lines.
pub(super) fn spelled(value: &Json) -> Option<String> {
    let text = serde_yaml::to_string(value).ok()?;
    // Blank lines at the end of a text in lines are lost when something follows.
    Some(if text.starts_with("|+") {
        format!("{value}\n")
    } else {
        text
    })
}

/// What stands behind the colon of a key at `column`, and the lines below it.
pub(super) fn block(value: &Json, column: usize, was_flow: bool) -> Option<(String, String)> {
    let (is_empty, has_map) = match value {
        Json::Array(elements) => (elements.is_empty(), elements.iter().any(Json::is_object)),
        Json::Object(members) => (members.is_empty(), true),
        _ => {
            let text = spelled(value)?;
            let (head, lines) = text.split_once('\n')?;
            return Some((head.to_owned(), indented(lines, column)));
        }
    };
    // Tasks are not put between brackets.
    if is_empty || was_flow && !has_map {
        return Some((flow(value)?, String::new()));
    }
    Some((String::new(), indented(&spelled(value)?, column + 2)))
}

pub(super) fn indented(lines: &str, column: usize) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        if !line.is_empty() {
            text.push_str(&" ".repeat(column));
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

pub(super) fn flow_member((key, value): (&String, &Json)) -> Option<String> {
    let key = flow(&Json::from(key.as_str()))?;
    Some(format!("{key}: {}", flow(value)?))
}

/// A value on one line, fit to stand between brackets.
pub(super) fn flow(value: &Json) -> Option<String> {
    Some(match value {
        Json::Array(elements) => {
            let elements: Option<Vec<String>> = elements.iter().map(flow).collect();
            format!("[{}]", elements?.join(", "))
        }
        Json::Object(members) => {
            let members: Option<Vec<String>> = members.iter().map(flow_member).collect();
            format!("{{{}}}", members?.join(", "))
        }
        Json::String(_) => {
            let plain = spelled(value)?.trim_end().to_owned();
            let is_odd = plain.contains([',', '[', ']', '{', '}', '\n']);
            if is_odd { value.to_string() } else { plain }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    })
}
