//! Where loops stand, for whoever looks from elsewhere.

use crate::error::Error;
use crate::project::Project;
use serde::Serialize;
use std::path::PathBuf;
use tm_runtime::loops::{LoopState, states};
use tm_scheduler::RunId;
use tm_store::run::RunLock;

/// Where a loop stands.
#[derive(Clone, Debug, Serialize)]
pub struct LoopStanding {
    /// The loop.
    pub loop_id: RunId,
    /// Whether a process carries it out now.
    pub is_live: bool,
    /// Where the loop of each tag stands.
    #[serde(rename = "lanes")]
    pub tags: Vec<LoopState>,
    /// Its folder.
    pub directory: PathBuf,
}

/// Returns the loop that is live.
///
/// # Errors
/// It can't be told who has the run lock.
pub fn live_loop(project: &Project) -> Result<Option<RunId>, Error> {
    let holder = RunLock::holder(&project.directory)?;
    let loops = project.directory.loops()?;
    let id = holder.and_then(|holder| holder.run_id);
    Ok(id.filter(|id| loops.contains(id)))
}

/// Returns where a loop stands, the live or last one when none is named.
///
/// # Errors
/// There is none, or its folder can't be read.
pub fn loop_standing(project: &Project, name: Option<&str>) -> Result<LoopStanding, Error> {
    let mut known = project.directory.loops()?;
    let id = match name {
        Some(name) => RunId::from(name),
        None => known.pop().ok_or(Error::NoLoop)?,
    };
    if name.is_some() && !known.contains(&id) {
        return Err(Error::UnknownLoop(id));
    }
    standing(project, id, live_loop(project)?.as_ref())
}

/// Returns where all loops stand, the oldest first.
///
/// # Errors
/// The folder of one can't be read.
pub fn loop_standings(project: &Project) -> Result<Vec<LoopStanding>, Error> {
    let live = live_loop(project)?;
    let known = project.directory.loops()?.into_iter();
    known
        .map(|id| standing(project, id, live.as_ref()))
        .collect()
}

fn standing(project: &Project, id: RunId, live: Option<&RunId>) -> Result<LoopStanding, Error> {
    let directory = project.directory.loop_directory(&id)?;
    let mut tags = states(&directory)?;
    tags.sort_by(|one, other| one.tag.cmp(&other.tag));
    Ok(LoopStanding {
        is_live: live == Some(&id),
        loop_id: id,
        tags,
        directory: directory.path().to_owned(),
    })
}
