//! One attempt of one agent: a supervised process tree, its logs and its result file.
//!
//! Knows how an agent is started, watched and stopped; what its end means is decided in the scheduler.

mod attempt;
mod bounded;
#[cfg(test)]
mod cassettes;
mod command;
mod follow;
#[cfg(test)]
mod hostile_tests;
mod identity;
mod log_reader;
mod output;
mod result_file;
mod stall;
mod stream;
#[cfg(test)]
mod tests;

pub use attempt::{adopt_attempt, run_attempt};
pub use command::{AgentCommand, AttemptLimits, Progress, RefusalPatterns};
pub use follow::Follower;
#[cfg(test)]
pub(crate) use identity::AgentIdentity;
pub use identity::end_abandoned;
pub use log_reader::{LogEnd, LogReader};
pub use output::{Closing, closing};
pub use result_file::{ResultDraft, parse_result};
