//! Settings about agents: which ones work, within which limits, and how each is started.
//!
//! A recipe here is what somebody wrote down, every part optional; what makes a whole one is the business of `presets`.

use crate::command::AgentCommand;
use crate::duration;
use crate::engines::RunsOn;
use crate::inlined::inlined;
use crate::scalar::{self, Dollars};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;
use tm_scheduler::{OutputFormat, StopSignal};

/// Which agents work, and within which limits.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The agent for whatever nothing else is set for.
    pub default: String,
    /// How long one attempt may take; without one it depends on the complexity of the task.
    #[serde(with = "duration::OptionalPositive")]
    pub timeout: Option<Duration>,
    /// How long an attempt may show neither output nor file changes; without one it may be silent to its end.
    #[serde(with = "duration::OptionalPositive")]
    pub stall: Option<Duration>,
    /// How long an agent may go on after its result, or after it was asked to stop.
    #[serde(with = "duration::Any")]
    pub grace: Duration,
    /// Mebibytes of what an agent prints, and of what it complains about, that are kept: half of them the beginning.
    pub max_log_mib: NonZeroU32,
    /// The model for agents that take one and name none themselves.
    pub model: Option<String>,
    /// What agents may do without asking: a mode that each of them has.
    pub permissions: Option<String>,
    /// Other agents for some kinds of work.
    pub by_phase: ByPhase,
    /// Agents that take over, in this order, when the service behind the one before refuses.
    pub fallback: Vec<String>,
    /// Whether what agents found out in earlier runs is told, and kept for later ones.
    pub notes: bool,
    /// Dollars after which nothing more is started.
    pub max_cost: Option<Dollars>,
    /// Tokens, read and written together, after which nothing more is started.
    pub max_tokens: Option<u64>,
    /// Dollars after which no further attempt at the same task is started.
    pub max_cost_per_task: Option<Dollars>,
    /// Tokens, read and written together, after which no further attempt at the same task is started.
    pub max_tokens_per_task: Option<u64>,
}

impl Agent {
    /// Returns the name of the agent for a phase: `red`, `green`, or anything else for work outside pairs.
    pub fn for_phase(&self, phase: &str) -> &str {
        self.of_phase(phase)
            .and_then(|chosen| chosen.agent.as_deref())
            .unwrap_or(&self.default)
    }

    /// Returns how many bytes of each log of an agent are kept.
    pub const fn max_log_bytes(&self) -> u64 {
        self.max_log_mib.get() as u64 * 1024 * 1024
    }

    /// Returns the model that a phase asks for, when it does.
    pub fn model_for_phase(&self, phase: &str) -> Option<&str> {
        self.of_phase(phase)?.model.as_deref()
    }

    fn of_phase(&self, phase: &str) -> Option<&PhaseAgent> {
        match phase {
            "red" => self.by_phase.red.as_ref(),
            "green" => self.by_phase.green.as_ref(),
            _ => self.by_phase.none.as_ref(),
        }
    }
}

/// Other agents for some kinds of work.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ByPhase {
    /// Who writes failing tests: the name of an agent, or a map of `agent` and `model`.
    pub red: Option<PhaseAgent>,
    /// Who makes them pass.
    pub green: Option<PhaseAgent>,
    /// Who does tasks outside any pair.
    pub none: Option<PhaseAgent>,
}

/// Who does one kind of work: the default agent where none is named, with a model of its own where one is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written")]
pub struct PhaseAgent {
    agent: Option<String>,
    model: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Written {
    Name(String),
    Chosen {
        agent: Option<String>,
        model: Option<String>,
    },
}

impl TryFrom<Written> for PhaseAgent {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let (agent, model) = match written {
            // A map that is written as one text is none.
            Written::Name(name) if !is_plain_name(&name) => {
                return Err("a text that is no name of an agent");
            }
            Written::Name(name) => (Some(name), None),
            Written::Chosen { agent, model } => (agent, model),
        };
        if agent.is_none() && model.is_none() {
            return Err("a map with neither `agent` nor `model`");
        }
        Ok(Self { agent, model })
    }
}

/// Tells whether a name can be that of an agent or of a gate: those become parts of file names.
pub fn is_plain_name(name: &str) -> bool {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    !name.is_empty() && name.chars().all(is_allowed)
}

// The properties stand within an alternative, so that the whole is one setting and no section.
inlined!(PhaseAgent, {
    "anyOf": [
        {"title": "the name of an agent", "type": "string"},
        {
            "title": "a map of `agent` and `model`",
            "type": "object",
            "properties": {"agent": {"type": "string"}, "model": {"type": "string"}},
            "additionalProperties": false,
        },
    ],
});

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
    /// The account behind it: a limit of its service holds up all agents that share it. Without one the program that it
    /// starts.
    pub account: Option<String>,
    /// What people are to do when its service refuses its credentials.
    pub if_refused: Option<String>,
    /// What it needs where it is held.
    pub sandbox: AgentSandbox,
    /// Where it runs in runs, instead of where set-ups and tests do.
    pub on: Option<RunsOn>,
    /// What it may do without asking: one of its `permission_modes`; without one `agent.permissions`, else `bypass`.
    pub permissions: Option<String>,
    /// The modes that it can be started in, by name. Their arguments stand where `{permissions}` is in the command.
    pub permission_modes: BTreeMap<String, PermissionMode>,
    /// Arguments that make its program print its version.
    pub version: Option<Vec<String>>,
    /// The signal that asks it to stop.
    pub polite_stop: Option<StopSignal>,
    /// How long it may go on after its result, or after it was asked to stop; without one `agent.grace`.
    #[serde(with = "duration::OptionalAny")]
    pub grace: Option<Duration>,
}

/// What an agent needs of what is its user's where it is held: it has a home of its own and an environment from a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentSandbox {
    /// Files and folders of the home folder (`~/…`) that it reads: files are copied into its own, folders shown there.
    pub read: Option<Vec<String>>,
    /// Files of the home folder that it keeps up to date, such as credentials: what it changes there stays.
    pub write: Option<Vec<String>>,
    /// Hosts that it reaches where `sandbox.agents.network` is `api`: `example.org`, `*.example.org`, with a port or not.
    pub hosts: Option<Vec<String>>,
    /// Variables of the user's that it gets: names, or beginnings that end with `*`.
    pub pass: Option<Vec<String>>,
    /// Variables that are set for it where it is held.
    pub env: BTreeMap<String, scalar::Text>,
    /// Variables that name a folder of its program's, and where in the home folder that is without them.
    pub homes: BTreeMap<String, String>,
    /// Whether it runs commands in terminals that it makes. With Landlock that opens all terminals of its user to it;
    /// with bubblewrap each program makes its own.
    pub terminals: Option<bool>,
}

/// A mode that an agent can be started in.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionMode {
    /// The arguments that choose it, with `{placeholders}`.
    pub arguments: Vec<String>,
    /// What it lets the agent do, and why.
    pub why: String,
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

/// Words in the output of an agent by which a refusal of the service behind it is known, whatever their case.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalPatterns {
    /// A rate or usage limit.
    pub rate_limited: Option<Vec<String>>,
    /// Refused credentials.
    pub auth: Option<Vec<String>>,
}
