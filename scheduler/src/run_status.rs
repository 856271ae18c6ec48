//! How a run ends, and why it starts nothing more.

use serde::{Deserialize, Serialize};

/// Why a run starts nothing more.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Somebody stopped it.
    Interrupted,
    /// Its time is over.
    Deadline,
    /// Its money or its tokens are spent.
    Budget,
    /// A step can't be done for reasons outside of all tasks: no space, no permission, a lock that stays.
    Surroundings,
    /// Attempts in a row ended the same way, with nothing passed between.
    Breaker,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Every task settled well.
    Completed,
    /// Some tasks failed or are blocked.
    Failed,
    /// It was stopped before all tasks settled.
    Interrupted,
    /// Its deadline or budget ended before all tasks settled.
    Stopped,
}

impl RunStatus {
    /// Returns the word that reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
        }
    }
}
