//! Limits of services that stand, for whoever asks where a run stands.

use crate::moment::moment;
use serde::{Deserialize, Serialize};
use tm_scheduler::{Scheduler, Timestamp};

/// A limit of the service behind an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallSummary {
    /// The account.
    pub account: String,
    /// The agent that ran into it first.
    pub agent: String,
    /// When the service may be asked again.
    pub until: String,
    /// Milliseconds until then.
    pub left_ms: u64,
}

/// Returns the limits that stand at a moment; those of a run that has settled hold up nobody.
pub(crate) fn cooldown_summaries(scheduler: &Scheduler, now: Timestamp) -> Vec<WallSummary> {
    let is_waited_for = scheduler.tasks().any(|view| !view.state.is_settled());
    let standing = scheduler
        .cooldowns()
        .filter(|(_, wall)| is_waited_for && wall.until > now);
    let summaries = standing.map(|(account, wall)| WallSummary {
        account: account.to_string(),
        agent: wall.agent.to_string(),
        until: moment(wall.until),
        left_ms: wall.until.since(now),
    });
    summaries.collect()
}
