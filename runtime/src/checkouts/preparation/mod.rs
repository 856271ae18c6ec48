//! Makes checkouts ready: what the user's checkout has and git ignores, and what the commands of the set-up make.
//!
//! Invariant: what is prepared in a checkout is what tm made there, from copies that were taken before any agent ran and
//! by commands that ran on the tree which was checked out. Whatever was changed since is thrown away and made again, and
//! what was added to it is removed; only caches that the user named stay as they are. Knows neither tasks nor tests; git
//! says what is tracked, through the caller.

mod built;
mod commands;
mod copying;
mod folder;
mod manifest;
mod snapshot;
#[cfg(test)]
mod tests;

pub use commands::{Error, PreparedPlace, Role, SetupEnd, SetupFailed, TreeOf, Untracked};

use crate::TestQueue;
use crate::holding::git_of;
use crate::step_error::in_background;
use built::BuiltCaches;
pub(crate) use commands::{CommandPlace, NO_HOOKS};
use folder::Folder;
use manifest::{Manifest, hexadecimal};
use sha2::{Digest as _, Sha256};
use snapshot::Snapshot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use tm_config::{CommandLine, Commands, Worktree};
use tm_executors::engine::Executor;
use tm_executors::environment::{EnvironmentRules, remove_folder};
use tm_executors::process::{Besides, Caches};
use tm_sandbox::Layers;
use tm_worktrees::{PathPatterns, Repository};

/// What a run makes its checkouts ready with.
#[derive(Debug)]
pub struct Preparation {
    settings: Worktree,
    /// Which files of a tree decide whether the commands are run again.
    pub(crate) setup_when: PathPatterns,
    caches: PathPatterns,
    snapshot: Snapshot,
    /// What tests built in caches before any agent began.
    built: OnceLock<BuiltCaches>,
    environment: EnvironmentRules,
    executor: Executor,
    tests: TestQueue,
}

/// What is needed to begin.
#[derive(Debug)]
pub struct PreparationBasis {
    /// The repository, with the user's checkout.
    pub repository: Repository,
    /// The settings.
    pub settings: Worktree,
    /// A folder of tm's own for this run, out of reach of agents where that can be had.
    pub folder: PathBuf,
    /// Folders of tm's own that may lie in the user's checkout.
    pub own_folders: Vec<PathBuf>,
    /// How the environment of commands is built.
    pub environment: EnvironmentRules,
    /// Where commands are written down while they run.
    pub executor: Executor,
    /// Where they wait for their turn.
    pub tests: TestQueue,
}

/// What is known of one checkout; nothing is prepared in a new one.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    done: Option<Done>,
}

#[derive(Clone, Debug)]
struct Done {
    /// Of everything that decided what was prepared.
    digest: String,
    manifest: Manifest,
}

/// Why a checkout has to be made ready.
#[derive(Debug, Eq, PartialEq)]
pub enum Unprepared {
    /// It never was.
    New,
    /// It was, with other files of those that `worktree.setup_when` names, or for somebody else.
    OtherFiles,
    /// Something that was prepared is gone or was changed since.
    Changed(PathBuf),
}

/// What making a checkout ready took.
#[derive(Debug, Eq, PartialEq)]
pub enum PrepareReport {
    /// It was ready.
    WasReady,
    /// It was made ready.
    Made {
        /// Why that was needed.
        why: Unprepared,
        /// How long it took.
        took: Duration,
    },
}

impl Preparation {
    /// Copies what worktrees need out of the user's checkout, before any agent runs; a run that is taken up again finds
    /// the copies that it began with.
    ///
    /// # Errors
    /// A pattern can't be read, something can't be copied, or copies of this run were changed since they were made.
    pub fn begin(basis: PreparationBasis) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            setup_when: PathPatterns::new(&basis.settings.setup_when)?,
            caches: PathPatterns::new(&basis.settings.cache)?,
            snapshot: Snapshot::begin(&basis)?,
            built: OnceLock::new(),
            settings: basis.settings,
            environment: basis.environment,
            executor: basis.executor,
            tests: basis.tests,
        }))
    }

    /// Tells whether a checkout is anything but its tree.
    pub fn is_needed(&self) -> bool {
        self.has_setup() || self.has_caches() || !self.snapshot.is_empty()
    }

    /// Tells whether commands are run.
    pub fn has_setup(&self) -> bool {
        self.settings.setup.is_some()
    }

    /// Tells whether anything stays in a checkout from one use to the next.
    pub fn has_caches(&self) -> bool {
        !self.settings.cache.is_empty()
    }

    /// Tells whether commands are run before a checkout is removed.
    pub fn has_teardown(&self) -> bool {
        self.settings.teardown.is_some()
    }

    /// Returns what a cleaning of a checkout leaves, of what is untracked there: what is prepared, and the caches.
    ///
    /// # Errors
    /// What is untracked can't be listed.
    pub fn kept(
        &self,
        state: &Prepared,
        untracked: impl FnOnce() -> Result<Vec<PathBuf>, tm_worktrees::Error>,
    ) -> Result<Vec<PathBuf>, tm_worktrees::Error> {
        if !self.has_caches() {
            return Ok(state.places().map(Path::to_owned).collect());
        }
        let prepared = state.places().map(Path::to_owned);
        let caches = match untracked() {
            // Nothing else stays where git can't look.
            Err(error) if error.is_of_work() => Vec::new(),
            untracked => self.caches_among(untracked?),
        };
        Ok(prepared.chain(caches).collect())
    }

    /// The places of caches, given what is untracked.
    fn caches_among(&self, mut untracked: Vec<PathBuf>) -> Vec<PathBuf> {
        untracked.retain(|path| self.caches.covers(path));
        // One within a folder of which nothing is tracked is listed with that folder alone.
        let deeper = self.settings.cache.iter();
        untracked.extend(deeper.map(|pattern| pattern.trim_matches('/').into()));
        untracked
    }

    /// Keeps what is in the caches of a checkout for each one that is new from now on. Only tm's own tests of what the run
    /// began with may have been there.
    ///
    /// # Errors
    /// It can't be copied: each checkout has caches of its own then.
    pub async fn keep_built(
        self: &Arc<Self>,
        place: &PreparedPlace,
        folder: PathBuf,
    ) -> Result<(), Error> {
        let copied = self.in_background(place, move |own, place| {
            let caches = own.caches_among((place.untracked)()?);
            BuiltCaches::copy_out(place, &caches, &folder)
        });
        if let Some(built) = copied.await? {
            // What was kept first stays.
            let _kept_before = self.built.set(built);
        }
        Ok(())
    }

    /// Tells why a checkout is not ready, if so. What was added to the prepared folders is removed.
    ///
    /// # Errors
    /// The checkout can't be read.
    pub async fn unprepared(
        self: &Arc<Self>,
        place: &PreparedPlace,
        state: &Prepared,
        named_files: &str,
    ) -> Result<Option<Unprepared>, Error> {
        let Some(done) = state.done.clone() else {
            return Ok(Some(Unprepared::New));
        };
        if done.digest != self.digest(place.role, named_files) {
            return Ok(Some(Unprepared::OtherFiles));
        }
        let restore = move |own: &Self, place: &PreparedPlace| own.restore(place, &done.manifest);
        self.in_background(place, restore).await
    }

    /// Makes a checkout ready, which is done with a look when it is ready already. Its tracked files are those of the
    /// tree, and but for what was kept there is nothing else in it.
    ///
    /// `named_files` stands for what the files of `setup_when` hold. The commands run the scripts of the tree that is
    /// checked out: to judge work that leaves those files alone, have the tree from which that work began checked out.
    /// What commands change in tracked files is for the caller to put back.
    ///
    /// # Errors
    /// A command failed, which is nobody's fault, or a file could not be read or written. The checkout counts as new then.
    pub async fn prepare(
        self: &Arc<Self>,
        place: &PreparedPlace,
        state: &mut Prepared,
        named_files: &str,
        tree: TreeOf,
    ) -> Result<PrepareReport, Error> {
        let Some(why) = self.unprepared(place, state, named_files).await? else {
            return Ok(PrepareReport::WasReady);
        };
        let begun = Instant::now();
        // Whatever becomes of this, it is not what it was.
        *state = Prepared::default();
        let caches_stay = self.in_background(place, Self::renew).await?;
        let caches = match tree {
            TreeOf::User if !caches_stay => Caches::Written,
            TreeOf::User | TreeOf::Agents => Caches::Layered(Layers::Kept(place.layers.clone())),
        };
        self.run(place, commands(self.settings.setup.as_ref()), caches)
            .await?;
        let manifest = self.in_background(place, Self::take_manifest).await?;
        tokio::time::sleep(manifest.unsettled(SystemTime::now())).await;
        let digest = self.digest(place.role, named_files);
        *state = Prepared {
            done: Some(Done { digest, manifest }),
        };
        Ok(PrepareReport::Made {
            why,
            took: begun.elapsed(),
        })
    }

    /// Runs the commands for a checkout that is about to be removed; what goes wrong with them stands in nobody's way.
    ///
    /// # Errors
    /// One of them failed: a warning.
    pub async fn tear_down(&self, place: &PreparedPlace) -> Result<(), Error> {
        let commands = commands(self.settings.teardown.as_ref());
        self.run(place, commands, layered(&place.layers)).await
    }

    async fn run(
        &self,
        place: &PreparedPlace,
        commands: &[CommandLine],
        caches: Caches,
    ) -> Result<(), Error> {
        if commands.is_empty() {
            return Ok(());
        }
        if let Caches::Layered(Layers::Kept(folder)) = &caches {
            std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
        }
        let _admission = self.tests.admit(&place.turn).await;
        let besides = Besides {
            caches,
            ..git_of(&place.folder)
        };
        let place = CommandPlace {
            folder: &place.folder,
            log: &place.log,
            limit: self.settings.setup_timeout,
            environment: &self.environment,
            executor: &self.executor,
            variables: &place.variables,
            besides: &besides,
        };
        place.run_all(commands).await
    }

    /// Does what waits for the disk away from the loop.
    async fn in_background<T: Send + 'static>(
        self: &Arc<Self>,
        place: &PreparedPlace,
        work: impl FnOnce(&Self, &PreparedPlace) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (own, place) = (Arc::clone(self), place.clone());
        in_background(move || work(&own, &place)).await?
    }

    /// A text for everything that decides what is prepared.
    fn digest(&self, role: Role, named_files: &str) -> String {
        let setup = commands(self.settings.setup.as_ref());
        // Without commands nothing is made of the files.
        let named_files = if setup.is_empty() { "" } else { named_files };
        hexadecimal(&Sha256::digest(format!(
            "1 {role:?} {:?} {setup:?} {named_files:?}",
            self.snapshot.digest()
        )))
    }

    /// Removes what was added to prepared folders; tells what is not as it was made.
    fn restore(
        &self,
        place: &PreparedPlace,
        manifest: &Manifest,
    ) -> Result<Option<Unprepared>, Error> {
        let folder = place.open()?;
        let differences = manifest.differences(&folder, &self.caches);
        let differences = differences.map_err(place.failed_to("read"))?;
        if let Some(changed) = differences.changed {
            return Ok(Some(Unprepared::Changed(changed)));
        }
        if !differences.added.is_empty() {
            // A file of the tree may lie in a prepared folder.
            let (added, untracked) = (differences.added.iter(), (place.untracked)()?);
            let strange = added.flat_map(|added| untracked_at(added, &untracked));
            self.remove(place, &folder, &strange.collect::<Vec<_>>())?;
        }
        Ok(None)
    }

    fn remove(&self, place: &PreparedPlace, from: &Folder, what: &[PathBuf]) -> Result<(), Error> {
        folder::remove(from, what, &self.caches).map_err(place.failed_to("clean"))
    }

    /// Throws away everything untracked but caches, and puts the copies in, and what was built where there is nothing yet.
    /// Tells whether caches stay: agents may have written what commands find there.
    fn renew(&self, place: &PreparedPlace) -> Result<bool, Error> {
        if place.layers.exists() {
            remove_folder(&place.layers);
        }
        let untracked = (place.untracked)()?;
        self.remove(place, &place.open()?, &untracked)?;
        let caches = self.caches_among(untracked);
        let stay = (caches.iter()).any(|cache| place.folder.join(cache).symlink_metadata().is_ok());
        self.snapshot.put_into(&place.folder, place.role)?;
        if let Some(built) = self.built.get() {
            built.put_into(place)?;
        }
        Ok(stay)
    }

    /// Whatever is untracked now was prepared, but for the caches.
    fn take_manifest(&self, place: &PreparedPlace) -> Result<Manifest, Error> {
        if self.snapshot.is_empty() && self.settings.setup.is_none() {
            return Ok(Manifest::default());
        }
        let (folder, untracked) = (place.open()?, (place.untracked)()?);
        let manifest = Manifest::take(&folder, &untracked, &self.caches, place.beside());
        manifest.map_err(place.failed_to("read"))
    }
}

impl Prepared {
    /// Returns the places of what is prepared, from the checkout's root.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.done.iter().flat_map(|done| done.manifest.places())
    }
}

/// On top of what a set-up kept in a folder, where it kept anything.
pub(crate) fn layered(folder: &Path) -> Caches {
    let kept = folder.exists().then(|| Layers::Above(folder.to_owned()));
    Caches::Layered(kept.unwrap_or_default())
}

fn commands(commands: Option<&Commands>) -> &[CommandLine] {
    commands.map_or(&[], Commands::all)
}

/// The untracked part of what is at a path.
fn untracked_at(path: &Path, untracked: &[PathBuf]) -> Vec<PathBuf> {
    if untracked.iter().any(|found| path.starts_with(found)) {
        return vec![path.to_owned()];
    }
    untracked
        .iter()
        .filter(|found| found.starts_with(path))
        .cloned()
        .collect()
}
