//! Keeps the runs of autopilot: their state, what happened in them, and which of them is current.
//!
//! Knows names, places and durability; what a state means is decided in the scheduler. `state.json` is the truth of a
//! run; everything else can be written again from it. Time and paths are arguments.

mod folder;
mod run;

pub use crate::run::{autopilot_run_id, is_autopilot_run};
pub use folder::{AutopilotFolder, AutopilotLock, CurrentRun, PointerStatus};
pub use run::AutopilotRun;
