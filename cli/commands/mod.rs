//! The commands, one file each.

pub(crate) mod acp;
pub(crate) mod aftermath;
pub(crate) mod agent;
pub(crate) mod agents;
pub(crate) mod autopilot;
pub(crate) mod backlog;
mod budget;
pub(crate) mod ci;
pub(crate) mod configuration;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod interrupted;
pub(crate) mod landing;
pub(crate) mod looking;
pub(crate) mod loop_command;
mod loop_setup;
mod lost_landings;
pub(crate) mod manuals;
pub(crate) mod mcp;
pub(crate) mod moved;
pub(crate) mod plan;
pub(crate) mod presets;
pub(crate) mod pull;
pub(crate) mod reporting;
pub(crate) mod review;
pub(crate) mod run;
mod sandbox;
pub(crate) mod setup;
pub(crate) mod steering;
pub(crate) mod tasks;
mod telling;
#[cfg(feature = "otel")]
mod traces;
pub(crate) mod verify;
pub(crate) mod worktrees;
