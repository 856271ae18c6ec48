//! One attempt of one agent: a supervised process tree, its logs and its result file.
//!
//! Knows how an agent is started, watched and stopped; what its end means is decided in the scheduler.

mod abandoned;
mod attempt;
mod bounded;
#[cfg(test)]
mod cassettes;
mod closing;
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

pub use abandoned::end_abandoned;
pub use attempt::{adopt_attempt, run_attempt};
pub use closing::{Closing, closing};
pub use command::{AgentCommand, AttemptLimits, Progress, RefusalPatterns};
pub use follow::Follower;
#[cfg(test)]
pub(crate) use identity::AgentIdentity;
pub use log_reader::{LogEnd, LogReader};
pub use result_file::{ResultDraft, parse_result};
