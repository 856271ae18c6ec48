//! Who has jobs started elsewhere: a process has one of each engine for a project, which knows all of its jobs.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tm_store::run::ProjectDirectory;

/// Those of one engine, by the folders of the jobs of projects.
pub(crate) struct Launchers<Launcher>(Mutex<BTreeMap<PathBuf, Arc<Launcher>>>);

impl<Launcher> Launchers<Launcher> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns that of a project, which is made where there is none yet.
    pub(crate) fn of(
        &self,
        project: &ProjectDirectory,
        new: impl FnOnce() -> Launcher,
    ) -> Arc<Launcher> {
        let mut launchers = self.0.lock();
        let own = launchers.entry(project.jobs_folder());
        Arc::clone(own.or_insert_with(|| Arc::new(new())))
    }
}
