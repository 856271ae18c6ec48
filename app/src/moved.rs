//! Repositories that were moved: their runs and worktrees are taken along before a run is started or taken up.

use crate::error::Error;
use crate::notice::Notice;
use crate::project::Project;
use std::path::{Path, PathBuf};
use tm_runtime::now;
use tm_scheduler::RunId;
use tm_store::run::{Holder, RunLock};

/// Takes the runs of this repository along from where it was; the project has to be locked.
pub(crate) fn take_along(project: &Project) -> Result<(), Error> {
    let common_dir = project.repository.common_dir();
    if !project.directory.runs()?.is_empty() {
        return Ok(project.directory.remember_place(common_dir, &[])?);
    }
    let branches = project.repository.branches()?;
    let is_of_this = |run: &RunId| branches.iter().any(|branch| branch.contains(run.as_str()));
    let Some((other, whereabouts)) = project.directory.moved_from(is_of_this)? else {
        return Ok(project.directory.remember_place(common_dir, &[])?);
    };
    let _nobody_is_at_work_there =
        RunLock::acquire(&other, &Holder::this_process(now(), Vec::new()))?;
    let from = whereabouts.common_dir.clone();
    project.directory.take_along(&other)?;
    let before: Vec<PathBuf> = whereabouts
        .before
        .into_iter()
        .chain([whereabouts.common_dir])
        .collect();
    project.directory.remember_place(common_dir, &before)?;
    let linked = project
        .repository
        .link_again(&project.directory.worktrees_folder())?;
    project.tell(&Notice::Moved {
        from: &from,
        linked,
    });
    Ok(())
}

/// Returns where a file of the checkout is now that was written down before the repository was moved.
pub(crate) fn now_at(project: &Project, path: &Path) -> Result<PathBuf, Error> {
    if path.exists() {
        return Ok(path.to_owned());
    }
    let before = project
        .directory
        .whereabouts()?
        .map(|whereabouts| whereabouts.before)
        .unwrap_or_default();
    let found = before
        .iter()
        .filter_map(|common_dir| path.strip_prefix(common_dir.parent()?).ok());
    let moved = found
        .map(|rest| project.repository.checkout_root().join(rest))
        .find(|path| path.exists());
    Ok(moved.unwrap_or_else(|| path.to_owned()))
}
