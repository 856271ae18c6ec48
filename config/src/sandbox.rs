//! Settings of the sandbox: how agents, set-ups and tests are held.

use crate::command::CommandLine;
use crate::inlined::inlined;
use crate::scalar::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How agents, set-ups and tests are held to what is theirs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// By which means of the system.
    pub level: SandboxLevel,
    /// Paths besides that may be read: from the project, or from the home folder with `~/`.
    pub read: Vec<String>,
    /// Paths besides that may be changed.
    pub write: Vec<String>,
    /// Memory that one process may write to; without it as much as there is.
    pub memory: Option<Bytes>,
    /// Processes of one job at the same time.
    pub processes: Option<NonZeroU32>,
    /// How large a file may become.
    pub file_size: Option<Bytes>,
    /// What agents may do besides.
    pub agents: SandboxedAgents,
    /// What set-ups may do besides.
    pub setup: SandboxedCommands,
    /// What tests and gates may do besides.
    pub tests: SandboxedCommands,
}

/// A variable whose value a command tells.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// The command: a text for `sh`, or a list; the first line that it prints is the value.
    pub command: CommandLine,
    /// Which processes have the variable; agents alone where nothing is said.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub given_to: Option<Vec<GivenTo>>,
}

inlined!(Secret, {
    "title": "a map of `command` and, where not agents alone have it, `for`: [agents, setup, tests]",
    "type": "object",
    "allOf": [{
        "properties": {
            "command": {"type": ["string", "array"], "items": {"type": "string"}},
            "for": {"type": "array", "items": {"enum": ["agents", "setup", "tests"]}},
        },
        "additionalProperties": false,
    }],
});

/// Which processes are given something.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GivenTo {
    /// Agents.
    Agents,
    /// Commands that make a checkout ready.
    Setup,
    /// Tests and gates.
    Tests,
}

/// What agents may do besides.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxedAgents {
    /// What they reach of the network.
    pub network: AgentNetwork,
    /// Hosts that all of them reach with `api`, besides those of their recipes.
    pub hosts: Vec<String>,
}

/// What commands of the project may do besides.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxedCommands {
    /// Whether they reach the network.
    pub network: CommandNetwork,
}

/// By which means of the system jobs are held to what is theirs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// The best that works here, none where nothing does.
    Auto,
    /// The best that works here; where nothing does, nothing is started.
    Required,
    /// Namespaces of their own, by bubblewrap.
    Bwrap,
    /// Rules of Landlock and a filter of system calls.
    Landlock,
    /// None.
    None,
}

/// What agents reach of the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentNetwork {
    /// All that tm does.
    On,
    /// The hosts that their recipes and the settings name, by a proxy of tm's.
    Api,
    /// Nothing but what they serve themselves.
    Off,
}

/// Whether commands reach the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandNetwork {
    /// As tm does.
    On,
    /// Nothing but what they serve themselves.
    Off,
}
