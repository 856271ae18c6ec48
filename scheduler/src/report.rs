//! How one agent process ended, as the executor saw it.
//!
//! Holds facts alone; what follows from them is decided in `failure`.

use crate::{ResultFile, Timestamp};
use serde::{Deserialize, Serialize};

/// How an agent's process ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// By itself; holds the exit code, `None` when a signal ended it that tm did not send.
    Exited(Option<i32>),
    /// Stopped by tm after the attempt's time limit.
    TimedOut,
    /// Stopped by tm after neither output nor file changes for the stall limit.
    Stalled,
    /// Stopped by tm because the run was told to stop.
    Killed,
    /// Stopped by tm after it had written its result and lived on past the grace period; as good as an exit with 0.
    Lingered,
    /// It vanished while no tm was there to see how.
    Lost,
    /// It could not be started; holds why.
    NotStarted(String),
}

impl Ended {
    /// Returns the word that reports use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Exited(_) | Self::Lingered => "exited",
            Self::TimedOut => "timed-out",
            Self::Stalled => "stalled",
            Self::Killed => "killed",
            Self::Lost => "lost",
            Self::NotStarted(_) => "not-started",
        }
    }

    /// Returns the exit code, when there is one.
    pub const fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) => *code,
            Self::Lingered => Some(0),
            Self::TimedOut | Self::Stalled | Self::Killed | Self::Lost | Self::NotStarted(_) => {
                None
            }
        }
    }
}

/// Tokens that an agent reported, totals of the attempt.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read by the model, cached ones included.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

impl Tokens {
    /// Returns the sum of both.
    #[must_use]
    pub const fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
        }
    }

    /// Returns those read and those written together.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What the agent's own output says of why its service did not do the work.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceRefusal {
    /// A rate or usage limit; holds the moment at which it ends, when the agent said so.
    RateLimited {
        /// When the wall is gone.
        until: Option<Timestamp>,
    },
    /// The credentials were refused.
    Auth,
    /// The request is longer than what the model takes in at once.
    ContextTooLong,
    /// The model, or what stands before it, refuses to work on this.
    RefusedByModel,
    /// It answers with an error of its own.
    ServiceError,
    /// It could not be reached, or its answer broke off.
    ConnectionLost,
}

impl ServiceRefusal {
    /// Returns when it may be asked again, where that was said.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::RateLimited { until } => *until,
            Self::Auth
            | Self::ContextTooLong
            | Self::RefusedByModel
            | Self::ServiceError
            | Self::ConnectionLost => None,
        }
    }
}

/// Everything that is known about one ended agent process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// The recipe that was run.
    pub agent: String,
    /// Where it ran, where that was another machine: a node, and the job as its engine calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was gone.
    pub ended_at: Timestamp,
    /// How it ended.
    pub ended: Ended,
    /// What it left at the place of the result file.
    pub result: ResultFile,
    /// A refusal by the service behind the agent.
    pub refusal: Option<ServiceRefusal>,
    /// Tokens, when the agent reports them.
    pub tokens: Option<Tokens>,
    /// Cost in US dollars, when the agent reports it.
    pub cost_usd: Option<f64>,
    /// The end of its output, at most a few lines.
    pub last_words: String,
    /// Processes of the agent that had to be killed after it ended.
    pub leftovers: u32,
    /// What changed in the user's checkout while the agent ran; empty when nothing did.
    pub escape: Vec<String>,
    /// What else was noticed while it worked, in words: it fails nothing, and people should know.
    #[serde(default)]
    pub noticed: Vec<String>,
}

impl AgentReport {
    /// Forgets a cost that can't be one: less than nothing, or no number. It would make what was spent any less.
    pub fn forget_impossible_figures(&mut self) {
        self.cost_usd = self
            .cost_usd
            .filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
    }

    /// Returns the report of a process of which nothing else is known: no result file, no tokens, no output.
    pub fn new(
        agent: impl Into<String>,
        started_at: Timestamp,
        ended_at: Timestamp,
        ended: Ended,
    ) -> Self {
        Self {
            agent: agent.into(),
            place: None,
            started_at,
            ended_at,
            ended,
            result: ResultFile::Missing,
            refusal: None,
            tokens: None,
            cost_usd: None,
            last_words: String::new(),
            leftovers: 0,
            escape: Vec::new(),
            noticed: Vec::new(),
        }
    }
}
