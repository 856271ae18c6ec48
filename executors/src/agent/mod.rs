//! One attempt of one agent: a supervised process tree, its logs and its result file.
//!
//! Knows how an agent is started, watched and stopped; what its end means is decided in the scheduler.

mod attempt;
#[cfg(test)]
mod cassettes;
mod file_watch;
mod follow;
mod held;
#[cfg(test)]
mod hostile_tests;
mod identity;
#[cfg(target_os = "linux")]
mod inotify;
mod log_reader;
mod output;
mod result_file;
mod seen;
mod stall;
mod stream;
#[cfg(test)]
mod tests;

pub use attempt::{adopt_attempt, run_attempt};
pub use follow::{Follower, spoken};
pub use held::Held;
#[cfg(test)]
pub(crate) use identity::AgentIdentity;
pub use identity::end_abandoned;
pub use log_reader::{LogEnd, LogReader};
pub use output::{Closing, closing};
pub use result_file::{ResultDraft, parse_result};

use crate::engine::{Executor, Whereabouts};
use crate::process::TreeCommand;
use std::path::PathBuf;
use std::time::Duration;
use tm_scheduler::{OutputFormat, StopSignal, Tokens};

/// How one attempt is carried out.
#[derive(Clone, Debug)]
pub struct AgentCommand {
    /// The agent's name, for reports.
    pub agent: String,
    /// Where it is started.
    pub executor: Executor,
    /// The program, the folder whose changes count as signs of life, and the variables by which every process of the
    /// attempt is known.
    pub tree: TreeCommand,
    /// Where it is written down who the process is, so that another tm finds it.
    pub identity_file: PathBuf,
    /// Where it leaves its result.
    pub result_file: PathBuf,
    /// What it has beside it, where it is held.
    pub held: Option<Held>,
    /// How long it may go on.
    pub limits: AttemptLimits,
    /// The signal that asks it to stop.
    pub polite_stop: StopSignal,
    /// How its output is written.
    pub output: OutputFormat,
    /// Words by which a refusal of the service behind it is known.
    pub refusal_patterns: RefusalPatterns,
}

/// How long an attempt may go on, and how much of what it prints is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AttemptLimits {
    /// In all.
    pub timeout: Duration,
    /// Without output and without file changes; for ever when there is no such limit.
    pub stall: Option<Duration>,
    /// After its result, and between asking it to stop and ending it.
    pub grace: Duration,
    /// So many bytes of each log are kept, half of them from its head.
    pub log_bytes: u64,
}

/// Words in the output by which a refusal of the service is known, whatever their case.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RefusalPatterns {
    /// A rate or usage limit.
    pub rate_limited: Vec<String>,
    /// Refused credentials.
    pub auth: Vec<String>,
}

/// What an agent is doing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Progress {
    /// The last line that it printed, made safe for a terminal.
    pub last_line: Option<String>,
    /// Tokens so far, when it reports them.
    pub tokens: Option<Tokens>,
    /// Where it is, where that is not this machine and is news.
    pub whereabouts: Option<Whereabouts>,
}
