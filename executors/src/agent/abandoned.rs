//! Ends what an agent left running whose tm is gone.

use super::identity::AgentIdentity;
use crate::process::{ProcessIdentity, ProcessTree};
use std::path::Path;

/// Ends the agent that `identity_file` names, with everything that its marks tell to be its own; returns how many
/// processes that were. A process that has its number by now and is another is left alone.
pub async fn end_abandoned(identity_file: &Path, marks: &[(String, String)]) -> u32 {
    let leader = AgentIdentity::read(identity_file).map(AgentIdentity::process);
    let was_alive = leader.is_some_and(ProcessIdentity::is_alive);
    let leftovers = ProcessTree::adopt(leader, marks).kill().await.leftovers;
    leftovers + u32::from(was_alive)
}
