//! A run of waves: performs the scheduler's effects and feeds it what happened, in one loop.
//!
//! Knows how an attempt goes from its worktree to its landing; what is done next is decided in the scheduler.

mod attestation;
mod cleaned;
mod effect_runner;
mod evidence;
mod integration;
mod looking_ahead;
mod main_loop;
mod mending;
mod notes;
mod replay;
mod resolving;
mod run_backlog;
mod run_setup;
mod statuses;
pub mod steering;
mod step_message;
mod steps;

pub use integration::{Integration, Tip};
pub use main_loop::{Outcome, Run};
pub use notes::{with_found_out, with_section};
pub use replay::JournalHeader;
pub use replay::{Replayed, replay};
pub use run_backlog::RunBacklog;
pub use run_setup::{AgentChoice, RunSetup, place_asked_for};
pub use steps::gate_phase;
pub(crate) use steps::{Landed, judged_merge};
