//! What an agent sends to a model, whichever protocol it speaks: what was said, which tools there are, how often they answered.

use super::script::Move;
use serde_json::{Map, Value, json};

/// A request to a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    /// Everything that was said to the model by people and by the agent.
    pub(super) said: String,
    /// The tools that it may call.
    pub(super) tools: Vec<Tool>,
    /// How often tools have answered so far.
    pub(super) answers: usize,
}

/// A tool that an agent offers.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// Its name.
    pub(super) name: String,
    /// The schema of its arguments.
    pub(super) schema: Value,
}

/// What a model answers.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// Calls a tool.
    Call {
        /// Its name.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// Says something.
    Say(String),
}

/// Names of tools that run a command, as agents call them.
const SHELLS: [&str; 7] = [
    "exec_command",
    "shell_command",
    "shell",
    "bash",
    "Bash",
    "run_shell_command",
    "execute_command",
];
/// Names of tools that write a file.
const WRITERS: [&str; 3] = ["Write", "write", "write_file"];

impl Tool {
    /// Takes name and schema from an offer, whose schema stands at `key`.
    pub(super) fn offered(offer: &Value, key: &str) -> Option<Self> {
        Some(Self {
            name: offer["name"].as_str()?.to_owned(),
            schema: offer[key].clone(),
        })
    }

    /// Fills in every argument that `value` knows.
    fn call(&self, value: impl Fn(&str, &Value) -> Option<Value>) -> Reply {
        let mut arguments = Map::new();
        for (name, schema) in self.schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value(name, schema) {
                arguments.insert(name.clone(), value);
            }
        }
        Reply::Call {
            tool: self.name.clone(),
            arguments: Value::Object(arguments),
        }
    }
}

impl Conversation {
    /// Begins with the tools that are offered.
    pub(super) fn with(tools: impl Iterator<Item = Tool>) -> Self {
        Self {
            tools: tools.collect(),
            ..Self::default()
        }
    }

    /// Adds what was said.
    pub(super) fn hear(&mut self, text: &str) {
        self.said.push_str(text);
        self.said.push('\n');
    }

    /// Adds every text within a value.
    pub(super) fn hear_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.hear(text),
            Value::Array(parts) => parts.iter().for_each(|part| self.hear_all(part)),
            Value::Object(fields) => self.hear_all(fields.get("text").unwrap_or(&Value::Null)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Makes a move with the tools at hand.
    pub(super) fn reply(&self, to_do: Move) -> Reply {
        match to_do {
            Move::Say(text) => Reply::Say(text),
            Move::Run(command) => self.run(&command),
            Move::Write { path, text } => match self.tool(&WRITERS) {
                Some(tool) => tool.call(|name, _| match name {
                    "content" => Some(text.as_str().into()),
                    name if name.to_lowercase().contains("path") => Some(path.as_str().into()),
                    _ => None,
                }),
                None => self.run(&format!(
                    "mkdir -p \"$(dirname '{path}')\" && cat > '{path}' <<'END'\n{text}END"
                )),
            },
        }
    }

    fn run(&self, command: &str) -> Reply {
        let Some(tool) = self.tool(&SHELLS) else {
            return Reply::Say("there is no shell".to_owned());
        };
        tool.call(|name, schema| match name {
            "command" | "cmd" if schema["type"] == "array" => Some(json!(["sh", "-c", command])),
            "command" | "cmd" => Some(command.into()),
            "description" => Some("a step of the task".into()),
            "is_background" => Some(false.into()),
            _ => None,
        })
    }

    fn tool(&self, names: &[&str]) -> Option<&Tool> {
        names
            .iter()
            .find_map(|name| self.tools.iter().find(|tool| tool.name == *name))
    }
}
