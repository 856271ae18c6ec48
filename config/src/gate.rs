//! Gates: checks of a project's own beside its tests.

use crate::command::CommandLine;
use crate::duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A check beside the tests: a command, or another agent that reads the work.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Its name, in reports and in names of files.
    pub name: String,
    /// The command; without one an agent judges.
    #[serde(default)]
    pub command: Option<CommandLine>,
    /// The agent that judges, by its name.
    #[serde(default)]
    pub agent: Option<String>,
    /// What the agent is told besides what every reviewer is told.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What it is asked for; without any, all but RED, and for an agent all but RED and landing.
    #[serde(default)]
    pub phases: Vec<GatePhase>,
    /// Whether a finding that was there before does not count.
    #[serde(default = "yes")]
    pub new_only: bool,
    /// The file that the command writes its findings to, from the worktree: SARIF or checkstyle.
    #[serde(default)]
    pub results: Option<String>,
    /// Which of the lines that the command prints are findings, as a regular expression; without one, each is.
    #[serde(default)]
    pub lines: Option<String>,
    /// How long one run may take; without it ten minutes.
    #[serde(default, with = "duration::OptionalPositive")]
    pub timeout: Option<Duration>,
    /// The tokens, read and written, after which the agent is ended.
    #[serde(default)]
    pub max_tokens: Option<u64>,
}

const fn yes() -> bool {
    true
}

/// What a gate is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GatePhase {
    /// Tests that fail.
    Red,
    /// What makes them pass.
    Green,
    /// What tidies up afterwards.
    Refactor,
    /// Tasks outside of pairs.
    Other,
    /// The merged tree.
    Landing,
}

impl Gate {
    /// Tells whether it is asked for this.
    pub fn is_asked_for(&self, phase: GatePhase) -> bool {
        match (self.phases.as_slice(), self.agent.is_some()) {
            ([], false) => phase != GatePhase::Red,
            ([], true) => matches!(phase, GatePhase::Green | GatePhase::Other),
            (phases, _) => phases.contains(&phase),
        }
    }

    /// Returns how long one run may take.
    pub fn limit(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_mins(10))
    }
}
