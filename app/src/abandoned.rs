//! What a tm that was killed left running, but for agents of a run, which are adopted: ended by whoever has just taken
//! the run lock, before anything else is started.

use crate::error::Error;
use crate::notice::Notice;
use crate::project::Project;
use tm_executors::environment::remove_abandoned_folders;
use tm_runtime::loops::{CutOff, clean_up};

/// Ends it, and returns the loops that were cut off.
pub(crate) async fn end_abandoned(project: &Project) -> Result<Vec<CutOff>, Error> {
    match project.executor().end_abandoned().await? {
        0 => {}
        count => project.tell(&Notice::ProcessesEnded(count)),
    }
    match remove_abandoned_folders() {
        0 => {}
        count => tracing::info!("{count} folders for temporary files of before have been removed"),
    }
    let found = clean_up(&project.directory).await?;
    for cut_off in &found {
        project.tell(&Notice::LoopCutOff(cut_off));
    }
    Ok(found)
}
