//! Flags as settings: each with the setting that it gives.

use clap::ValueEnum;
use serde_json::Value;
use tm_config::Override;

/// The settings that flags give.
#[derive(Debug, Default)]
pub(crate) struct Flags(Vec<Override>);

impl Flags {
    /// Adds a setting, where its flag is given.
    pub(crate) fn set(mut self, key: &str, flag: &str, value: Option<impl Into<Value>>) -> Self {
        self.0
            .extend(value.map(|value| Override::new(key, flag, value)));
        self
    }

    /// Adds the agent and its command.
    pub(crate) fn agent(self, agent: Option<String>, command: Option<String>) -> Self {
        let custom = (command.is_some() && agent.is_none()).then_some("custom");
        self.set("agent.default", "--agent", agent)
            .set("agents.custom.command", "--agent-command", command)
            .set("agent.default", "--agent-command", custom)
    }

    /// Returns all.
    pub(crate) fn given(self) -> Vec<Override> {
        self.0
    }
}

/// Returns the word of the command line for a value.
pub(crate) fn word(value: Option<impl ValueEnum>) -> Option<String> {
    Some(value?.to_possible_value()?.get_name().to_owned())
}
