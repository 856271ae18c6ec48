//! Carries out loops: performs the effects of one `Iteration` a lane, and feeds each what happened.
//!
//! What is progress, the end or a failure is decided in the scheduler; here is what touches agents, git, the backlog and
//! the progress file. Several lanes run beside each other, each in a worktree of its own.

mod agent;
mod progress_file;
mod recovery;
mod setup;
mod supervise;
mod tag_loop;

pub use progress_file::{LoopHeader, ProgressFile};
pub use recovery::{CutOff, LoopState, clean_up};
pub use setup::{LoopSetup, Place, SharedCost};
pub use supervise::{LoopEvent, TaggedLoopEvent};
pub use supervise::{TagLoopOutcome, run_loops};
