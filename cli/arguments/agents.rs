//! The arguments of `tm agents`.

use super::JsonOutput;
use clap::{Args, Subcommand};

/// Commands on agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// List the agents: which are on this machine, which the settings use, what each may do without asking.
    List(JsonOutput),
    /// Show the recipe of an agent.
    Show(AgentChoice),
    /// Look whether agents can be started, and in which version; exit code 1 when one can't.
    Check(CheckAgents),
}

/// An agent to look at.
#[derive(Args, Debug)]
pub(crate) struct AgentChoice {
    /// The agent.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tm agents check`.
#[derive(Args, Debug)]
pub(crate) struct CheckAgents {
    /// The agents; those that the settings use when none is given.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Have each do one trivial task in a repository that is thrown away. It costs what such a task costs.
    #[arg(long)]
    pub(crate) live: bool,
    /// Start what the project's own settings name without asking.
    #[arg(long)]
    pub(crate) trust: bool,
    /// The model for `--live`.
    #[arg(long, requires = "live")]
    pub(crate) model: Option<String>,
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
}
