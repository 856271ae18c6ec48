//! Commands as a user writes them: a text for `sh`, or a list of arguments; or several of them.
//!
//! Neither starts anything, nor fills in placeholders.

use crate::inlined::inlined;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A command without placeholders.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// A line for `sh -c`.
    Shell(#[serde(deserialize_with = "line")] String),
    /// A program and its arguments, passed as they are.
    Arguments(#[serde(deserialize_with = "words")] Vec<String>),
}

impl CommandLine {
    /// Returns the program and its arguments.
    pub fn arguments(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Arguments(arguments) => arguments.clone(),
        }
    }
}

/// Commands that are run one after the other, at least one.
///
/// A list is a list of commands, whatever is in it: taken for the words of one, a second command would silently be an
/// argument of the first.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written")]
pub struct Commands(Vec<CommandLine>);

impl Commands {
    /// Returns the commands in their order.
    pub fn all(&self) -> &[CommandLine] {
        &self.0
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(#[serde(deserialize_with = "line")] String),
    Several(Vec<CommandLine>),
}

impl TryFrom<Written> for Commands {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::One(line) => Ok(Self(vec![CommandLine::Shell(line)])),
            Written::Several(commands) if commands.is_empty() => Err("a list without a command"),
            Written::Several(commands) => Ok(Self(commands)),
        }
    }
}

/// The command of an agent, with placeholders in its arguments.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum AgentCommand {
    /// A line for `sh -c`; values reach it as environment variables, never as a part of its text.
    Shell(#[serde(deserialize_with = "line")] String),
    /// A program and its arguments.
    Arguments(#[serde(deserialize_with = "words")] Vec<Argument>),
}

/// An argument of an agent's command.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Argument {
    /// One argument.
    Single(String),
    /// Arguments that are left out together when a placeholder in one of them has no value.
    Optional(Vec<String>),
}

impl AsRef<str> for Argument {
    fn as_ref(&self) -> &str {
        match self {
            Self::Single(text) => text,
            Self::Optional(_) => "",
        }
    }
}

/// Reads a line that says something.
fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let line = String::deserialize(deserializer)?;
    if line.trim().is_empty() {
        return Err(D::Error::custom("an empty command"));
    }
    Ok(line)
}

/// Reads a list that begins with a program.
fn words<'de, D: Deserializer<'de>, Word: Deserialize<'de> + AsRef<str>>(
    deserializer: D,
) -> Result<Vec<Word>, D::Error> {
    let words = Vec::<Word>::deserialize(deserializer)?;
    if words
        .first()
        .is_none_or(|program| program.as_ref().is_empty())
    {
        return Err(D::Error::custom("a list that begins with no program"));
    }
    Ok(words)
}

inlined!(CommandLine, {
    "title": "a command: a text for `sh`, or a list of texts",
    "type": ["string", "array"],
    "items": {"type": "string"},
});

inlined!(Commands, {
    "title": "a command for `sh`, or a list of commands: texts for `sh`, or lists of texts",
    "type": ["string", "array"],
    "items": {"type": ["string", "array"], "items": {"type": "string"}},
});

inlined!(AgentCommand, {
    "title": "a command: a text for `sh`, or a list of texts, optional ones in lists of their own",
    "type": ["string", "array"],
    "items": {"type": ["string", "array"], "items": {"type": "string"}},
});

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn command_line(value: serde_json::Value) -> Option<CommandLine> {
        serde_json::from_value(value).ok()
    }

    #[test]
    fn text_is_for_the_shell_and_list_is_passed_as_it_is() {
        let line = command_line(json!("a && b")).unwrap();
        assert_eq!(line.arguments(), ["sh", "-c", "a && b"]);
        let list = command_line(json!(["a", "b c"])).unwrap();
        assert_eq!(list.arguments(), ["a", "b c"]);
    }

    #[test]
    fn empty_commands_are_refused() {
        for value in [
            json!(""),
            json!("  "),
            json!([]),
            json!([""]),
            json!([["a"]]),
            json!(["a", ["b"]]),
            json!([1]),
        ] {
            assert_eq!(command_line(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn commands_are_one_or_several() {
        let commands = |value| serde_json::from_value::<Commands>(value).ok();
        let arguments = |value| {
            let commands = commands(value).expect("commands");
            commands
                .all()
                .iter()
                .map(|command| command.arguments().join(" "))
                .collect::<Vec<_>>()
        };
        assert_eq!(arguments(json!("a && b")), ["sh -c a && b"]);
        assert_eq!(
            arguments(json!(["./a.sh", "npm ci"])),
            ["sh -c ./a.sh", "sh -c npm ci"]
        );
        assert_eq!(
            arguments(json!([["npm", "ci"], "make"])),
            ["npm ci", "sh -c make"]
        );
        for value in [
            json!(""),
            json!([]),
            json!([[]]),
            json!([""]),
            json!(["a b", ""]),
            json!([1]),
            json!({}),
        ] {
            assert_eq!(commands(value.clone()), None, "{value}");
        }
        for value in [
            json!("make"),
            json!(["npm ci", "make"]),
            json!([["a b"]]),
            json!([["a"], "b"]),
        ] {
            let read = commands(value).expect("commands");
            assert_eq!(commands(serde_json::to_value(&read).unwrap()), Some(read));
        }
    }

    #[test]
    fn command_of_an_agent_may_hold_optional_arguments() {
        let value = json!(["a", ["--model", "{model}"]]);
        let command: AgentCommand = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&command).unwrap(), value);
    }
}
