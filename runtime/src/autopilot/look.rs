//! What is seen of the tests before a run begins: as waves look before theirs, in a checkout that is made ready.
//!
//! A good look is not taken again at the same tree with the same command and set-up. No proof rests on it: what RED and
//! GREEN are judged by is measured anew.

use super::error::Error;
use super::project::Project;
use super::verify::{close, result_cache};
use crate::preflight::{BrokenBase, look_first};
use serde::{Deserialize, Serialize};
use tm_config::Verify;
use tm_scheduler::preflight::Preflight;
use tm_scheduler::{CommitId, Task};
use tm_store::run::{read_json, write_json};

/// A look that was good.
#[derive(Debug, Deserialize, Serialize)]
struct GoodLook {
    /// Everything that it depends on and that can be named.
    of: String,
    seen: Preflight,
}

/// Looks at what a run would start from, and returns what was seen, in lines. Where results are reported, tm runs nothing.
pub(super) async fn look(
    project: &Project,
    task: &Task,
    base: &CommitId,
    broken: BrokenBase,
) -> Result<Vec<String>, Error> {
    let Some(command) = project
        .test_command(Some(task))
        .filter(|_| project.settings.autopilot.verify == Verify::Run)
    else {
        return Ok(Vec::new());
    };
    let tree = project.checkout.repository().tree_of(base)?;
    let of = format!(
        "{tree} {} {:?}",
        command.identity(),
        project.settings.worktree
    );
    let file = project.folder.good_look();
    if let Some(known) = read_json::<GoodLook>(&file)
        .ok()
        .filter(|known| known.of == of)
    {
        return Ok(known.seen.lines());
    }
    let scratch =
        tempfile::tempdir().map_err(|error| Error::Measuring(format!("make a folder: {error}")))?;
    let result_cache = result_cache(project, &project.checkouts_to_look()?, scratch.path(), base)?;
    let seen = look_first(base, &[command], &result_cache, scratch.path()).await;
    close(&result_cache).await;
    let seen = broken.noted(seen.map_err(|trouble| Error::Measuring(trouble.into()))?);
    if seen.is_good() {
        write_json(
            &file,
            &GoodLook {
                of,
                seen: seen.clone(),
            },
        )?;
    } else {
        // A hint may name a file in it.
        let _kept = scratch.keep();
    }
    Ok(broken.decided(seen).map_err(Error::BrokenBase)?.lines())
}
