//! Layers defaults, files, environment and flags into one typed value that remembers where each setting came from.
//!
//! From low to high: the embedded `default.yaml`, the user's file, Task Master's `config.json`, the project's
//! `tm.yaml`, agent-alchemy's file when asked for, `TM_*` variables, flags. Knows nothing of what a setting does.

mod agent;
mod breaker;
mod command;
mod defaults;
mod duration;
mod engines;
mod environment;
mod error;
mod front_matter;
mod inlined;
mod inputs;
mod key;
mod kubernetes;
mod layer;
mod lines;
mod load;
mod project_files;
mod sandbox;
mod scalar;
mod settings;
mod shape;
mod source;
mod task_master;
mod typed;
mod yaml;

pub use agent::{
    Agent, AgentRecipe, AgentSandbox, ByPhase, PermissionMode, PhaseAgent, PromptDelivery,
    RefusalPatterns, is_plain_name,
};
pub use breaker::Breaker;
pub use command::{AgentCommand, Argument, CommandLine, Commands};
pub use defaults::DEFAULT_YAML;
pub use duration::parse_duration;
pub use engines::{RunsOn, Slurm, SlurmJob};
pub use error::Error;
pub use inputs::{Inputs, Override};
pub use kubernetes::{Kubernetes, KubernetesResources, KubernetesVolume};
pub use load::{Explained, Loaded, PROJECT_FILE, PROJECT_FILES, load, load_of_user};
pub use project_files::ProjectFiles;
pub use sandbox::{
    AgentNetwork, CommandNetwork, GivenTo, Sandbox, SandboxLevel, SandboxedAgents,
    SandboxedCommands, Secret,
};
pub use scalar::{Bytes, CoverageThreshold, Dollars, Text};
pub use settings::{
    Attest, Autopilot, CommitBacklog, CommitHooks, Compat, Escape, Gate, GatePhase, Git, Settings,
    Storage, StorageLocation, Tdd, Test, TestPart, Verify, Waves, Worktree,
};
pub use shape::schema;
pub use source::{Source, Warning};
pub use typed::{TypedSetting, settings_text};
