//! Settings about agents: which ones work, within which limits, and how each is started.
//!
//! A recipe here is what somebody wrote down, every part optional; what makes a whole one is the business of `presets`.

use crate::command::AgentCommand;
use crate::duration;
use crate::scalar::{self, Dollars};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Which agents work, and within which limits.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent for whatever nothing else is set for.
    pub default: String,
    /// How long one attempt may take; without one it depends on the complexity of the task.
    #[serde(deserialize_with = "duration::optional", serialize_with = "duration::write_optional")]
    #[schemars(with = "Option<duration::Positive>")]
    pub timeout: Option<Duration>,
    /// How long an attempt may show neither output nor file changes; without one it may be silent to its end.
    #[serde(deserialize_with = "duration::optional", serialize_with = "duration::write_optional")]
    #[schemars(with = "Option<duration::Positive>")]
    pub stall: Option<Duration>,
    /// How long an agent may go on after its result, or after it was asked to stop.
    #[serde(deserialize_with = "duration::any", serialize_with = "duration::write")]
    #[schemars(with = "duration::Any")]
    pub grace: Duration,
    /// The model for agents that take one and name none themselves.
    pub model: Option<String>,
    /// Other agents for some kinds of work.
    pub by_phase: ByPhase,
    /// Agents that take over, in this order, when the service behind the one before refuses.
    pub fallback: Vec<String>,
    /// Dollars after which nothing more is started.
    pub max_cost: Option<Dollars>,
    /// Tokens, read and written together, after which nothing more is started.
    pub max_tokens: Option<u64>,
}

impl Agent {
    /// Returns the name of the agent for a phase: `red`, `green`, or anything else for work outside pairs.
    pub fn for_phase(&self, phase: &str) -> &str {
        let named = match phase {
            "red" => &self.by_phase.red,
            "green" => &self.by_phase.green,
            _ => &self.by_phase.none,
        };
        named.as_deref().unwrap_or(&self.default)
    }
}

/// Other agents for some kinds of work.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByPhase {
    /// The agent that writes failing tests.
    pub red: Option<String>,
    /// The agent that makes them pass.
    pub green: Option<String>,
    /// The agent for tasks outside any pair.
    pub none: Option<String>,
}

/// How one agent is started and understood; what is left out comes from the agent it extends, or from tm.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentRecipe {
    /// The agent that this one is like, but for what is set here.
    pub extends: Option<String>,
    /// Program and arguments: a text for `sh`, or a list with `{placeholders}`, in which a list within the list is left
    /// out when a placeholder in it has no value.
    pub command: Option<AgentCommand>,
    /// How the agent gets its prompt.
    pub prompt: Option<PromptDelivery>,
    /// How its output is written.
    pub output: Option<OutputFormat>,
    /// The model for `{model}`; without one `agent.model`.
    pub model: Option<String>,
    /// Environment variables that are set for it.
    pub env: BTreeMap<String, scalar::Text>,
    /// Environment variables that it does not get: names, or beginnings that end with `*`.
    pub drop: Option<Vec<String>>,
    /// Words in its output by which a refusal of the service behind it is known.
    pub refusal: RefusalPatterns,
    /// The signal that asks it to stop.
    pub polite_stop: Option<PoliteStop>,
    /// How long it may go on after its result, or after it was asked to stop; without one `agent.grace`.
    #[serde(deserialize_with = "duration::any_optional", serialize_with = "duration::write_optional")]
    #[schemars(with = "Option<duration::Any>")]
    pub grace: Option<Duration>,
}

/// How an agent gets its prompt.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptDelivery {
    /// On its standard input.
    Stdin,
    /// As one argument, in place of `{prompt}` or at the end; fails past 128 KiB.
    Arg,
    /// In the file `{prompt_file}`, which is also `$TM_PROMPT_FILE`; its standard input is closed.
    File,
}

/// How the output of an agent is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Lines for people, or events of one of the other formats.
    Text,
    /// Claude Code's `--output-format stream-json`.
    ClaudeStreamJson,
    /// Codex's `exec --json`.
    CodexJsonl,
    /// Gemini CLI's `-o stream-json`.
    GeminiStreamJson,
    /// opencode's `run --format json`.
    OpencodeJson,
    /// Qwen Code's `-o stream-json`.
    QwenStreamJson,
    /// Cline's `--json`.
    ClineJson,
    /// Aider's lines.
    Aider,
    /// None: tm speaks the Agent Client Protocol with it.
    Acp,
}

impl OutputFormat {
    /// Whether it tells what the attempt cost in dollars, whatever the agent.
    pub const fn tells_cost(self) -> bool {
        matches!(self, Self::ClaudeStreamJson | Self::OpencodeJson | Self::ClineJson | Self::Aider)
    }

    /// Whether it tells how many tokens the attempt took, whatever the agent.
    pub const fn tells_tokens(self) -> bool {
        !matches!(self, Self::Text | Self::Acp)
    }
}

/// The signal that asks an agent to stop.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoliteStop {
    /// SIGTERM.
    Term,
    /// SIGINT.
    Int,
}

/// Words in the output of an agent by which a refusal of the service behind it is known, whatever their case.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalPatterns {
    /// A rate or usage limit.
    pub rate_limited: Option<Vec<String>>,
    /// Refused credentials.
    pub auth: Option<Vec<String>>,
}
