//! Ends what an agent left running whose tm is gone.

use super::identity::AgentIdentity;
use crate::engine::{Executor, end_all};
use std::path::Path;
use std::time::Duration;

/// Ends the agent that `identity_file` names, with everything that its marks tell to be its own; returns how many
/// processes that were. A process that has its number by now and is another is left alone.
pub async fn end_abandoned(
    executor: &Executor,
    identity_file: &Path,
    env_markers: &[(String, String)],
) -> u32 {
    let identity = AgentIdentity::read(identity_file);
    let job = executor
        .adopt(
            identity.as_ref().map(|identity| &identity.handle),
            env_markers,
        )
        .await;
    end_all(job, Duration::ZERO).await
}
