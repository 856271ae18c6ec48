//! The checkouts of a run, made ready before anybody works in them: those of agents, and those in which tm judges.
//!
//! A checkout is set up from the commit that the run began with wherever that has the same lock files, so that nothing of
//! an agent's decides what dependencies are.

mod closing;
mod not_ready;
mod of_agents;
mod ports;
pub mod preparation;

pub use closing::end_tear_downs;
pub(crate) use not_ready::NotReady;

use crate::holding::git_of;
use crate::{
    RunEvent, StepError, TestQueue, Turn, blocking, briefly, environment, in_background,
    tests_at_once,
};
use not_ready::{not_ready, of_content};
use parking_lot::{Mutex, MutexGuard};
use ports::Ports;
pub(crate) use ports::name_of;
use preparation::{
    Error, Preparation, PreparationBasis, PrepareReport, Prepared, PreparedPlace, Role, TreeOf,
    layered,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tm_config::Settings;
use tm_executors::engine::Executor;
use tm_executors::process::{Besides, Caches};
use tm_scheduler::{CommitId, milliseconds};
use tm_worktrees::{JudgeCheckout, Lister, WorktreePool};

/// The folder of what the tests of the base have built.
const BUILT: &str = "built";

/// The checkouts of a run.
#[derive(Clone, Debug)]
pub struct Checkouts {
    pool: WorktreePool,
    preparation: Arc<Preparation>,
    /// What the run began with.
    base: CommitId,
    /// Where copies of ignored files are, and what set-ups print.
    folder: PathBuf,
    /// What is known of each checkout that nobody is in.
    known: Arc<Mutex<BTreeMap<PathBuf, Prepared>>>,
    ports: Ports,
    /// Where set-ups and tests wait for their turn.
    tests: TestQueue,
    /// What people should know, a sentence each.
    noticed: Arc<Mutex<Vec<String>>>,
    /// Who is told of set-ups.
    told: Arc<OnceLock<Listener>>,
}

/// Somebody who is told of set-ups.
struct Listener(Box<dyn Fn(RunEvent) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Listener")
    }
}

impl Checkouts {
    /// Opens the checkouts of a pool; takes what they need out of the user's checkout, which is to be done before any
    /// agent runs. `folder` is for copies and logs, `own_folders` are tm's and never copied.
    ///
    /// # Errors
    /// Something can't be copied, or was changed since it was.
    pub fn open(
        pool: WorktreePool,
        base: CommitId,
        settings: &Settings,
        folder: PathBuf,
        own_folders: Vec<PathBuf>,
        executor: Executor,
    ) -> Result<Self, Error> {
        std::fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        pool.repository().fetches_for(&base)?;
        let tests = TestQueue::new(tests_at_once(settings));
        let preparation = Preparation::begin(PreparationBasis {
            repository: pool.repository().clone(),
            settings: settings.worktree.clone(),
            folder: folder.join("copies"),
            own_folders,
            environment: environment(&settings.test),
            executor,
            tests: tests.clone(),
        })?;
        Ok(Self {
            ports: Ports::of(pool.folder()),
            pool,
            preparation,
            tests,
            base,
            folder,
            known: Arc::default(),
            noticed: Arc::default(),
            told: Arc::default(),
        })
    }

    /// Has somebody told of every set-up from now on.
    pub(crate) fn tell_through(&self, told: impl Fn(RunEvent) + Send + Sync + 'static) {
        // Whoever was there first hears it.
        let _heard_by_another = self.told.set(Listener(Box::new(told)));
    }

    /// Tells how long commands took to make a checkout ready.
    fn tell(&self, folder: &Path, role: Role, report: &PrepareReport) {
        let PrepareReport::Made { took, why } = report else {
            return;
        };
        if !self.has_setup() {
            return;
        }
        let name = name_of(folder);
        let place = match role {
            Role::Agent => format!("worktree {name}"),
            Role::Judge => format!("checkout {name} for judging"),
        };
        let took_ms = milliseconds(*took);
        tracing::info!(place, took_ms, ?why, "set up");
        if let Some(told) = self.told.get() {
            told.0(RunEvent::Setup { place, took_ms });
        }
    }

    /// Returns the pool.
    pub const fn pool(&self) -> &WorktreePool {
        &self.pool
    }

    /// Returns where set-ups and tests wait for their turn.
    pub(crate) const fn tests(&self) -> &TestQueue {
        &self.tests
    }

    /// Has a checkout given to nobody any more where a job may go on that nobody reaches.
    pub(crate) fn retire_unless_reached(&self, checkout: &Path, executor: &Executor) {
        if executor.is_out_of_reach(checkout) {
            self.pool.retire(checkout);
        }
    }

    /// Returns the variables that say which slot a checkout is, and which ports belong to it.
    pub(crate) fn variables(&self, checkout: &Path) -> Vec<(OsString, OsString)> {
        self.ports.variables(checkout)
    }

    /// Tells whether commands make checkouts ready.
    pub(crate) fn has_setup(&self) -> bool {
        self.preparation.has_setup()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Prepared>> {
        self.known.lock()
    }

    fn known_of(&self, checkout: &Path) -> Prepared {
        self.known().get(checkout).cloned().unwrap_or_default()
    }

    /// Gives out a checkout of a commit that no agent ever had, clean and ready.
    pub(crate) async fn judge(
        &self,
        commit: &CommitId,
        turn: &Turn,
    ) -> Result<JudgeCheckout, NotReady> {
        loop {
            let checkout = self.free_checkout(commit).await?;
            let path = checkout.path().to_owned();
            let was_used = self.known().contains_key(&path);
            match self.judge_in(checkout, commit, turn).await {
                Err(NotReady::StepError(trouble)) if was_used => self.leave(&path, &trouble),
                ready => return ready,
            }
        }
    }

    /// Leaves a folder that was used before and can't be made ready: another one may be.
    fn leave(&self, checkout: &Path, trouble: &StepError) {
        self.known().remove(checkout);
        self.pool.leave(checkout, &trouble.after_failed_to());
    }

    async fn judge_in(
        &self,
        mut checkout: JudgeCheckout,
        commit: &CommitId,
        turn: &Turn,
    ) -> Result<JudgeCheckout, NotReady> {
        let mut state = self.known().remove(checkout.path()).unwrap_or_default();
        if !self.preparation.is_needed() {
            return self.check_out(checkout, commit, &Prepared::default()).await;
        }
        checkout = self.check_out(checkout, commit, &state).await?;
        let place = self.place((checkout.path(), Role::Judge), checkout.lister(), turn);
        let named = self.named_files(commit)?;
        let unprepared = self.preparation.unprepared(&place, &state, &named).await;
        if unprepared.map_err(StepError::from)?.is_some() {
            let (source, tree) = self.source(commit, &named)?;
            checkout = self
                .check_out(checkout, source, &Prepared::default())
                .await?;
            let made = self.preparation.prepare(&place, &mut state, &named, tree);
            let made = made.await;
            self.look_at_hooks();
            let report = made.map_err(|error| not_ready(error, tree == TreeOf::User))?;
            self.tell(checkout.path(), Role::Judge, &report);
            // A set-up may write into files of the tree.
            checkout = self.check_out(checkout, commit, &state).await?;
        }
        self.known().insert(checkout.path().to_owned(), state);
        Ok(checkout)
    }

    /// Keeps what the tests of the commit that the run began with have built, in the caches that the user named, for each
    /// checkout that is new from now on. Nobody else's work may have been tested yet.
    pub(crate) async fn keep_built(&self, turn: &Turn) -> Result<(), NotReady> {
        if !self.preparation.has_caches() {
            return Ok(());
        }
        let checkout = self.judge(&self.base, turn).await?;
        let place = self.place((checkout.path(), Role::Judge), checkout.lister(), turn);
        let kept = self.preparation.keep_built(&place, self.folder.join(BUILT));
        Ok(kept.await.map_err(StepError::from)?)
    }

    /// One that nobody is in, the nearest to the commit.
    async fn free_checkout(&self, commit: &CommitId) -> Result<JudgeCheckout, StepError> {
        let (pool, wanted) = (self.pool.clone(), commit.clone());
        blocking(move || {
            let tree = pool.repository().tree_of(&wanted)?;
            pool.judge(&tree, &wanted)
        })
        .await
    }

    /// Gives out a checkout of a commit that no agent ever had, clean, for what needs nothing that a set-up makes.
    pub(crate) async fn unprepared(&self, commit: &CommitId) -> Result<JudgeCheckout, StepError> {
        let checkout = self.free_checkout(commit).await?;
        let state = self.known_of(checkout.path());
        Ok(self.check_out(checkout, commit, &state).await?)
    }

    async fn check_out(
        &self,
        mut checkout: JudgeCheckout,
        commit: &CommitId,
        state: &Prepared,
    ) -> Result<JudgeCheckout, NotReady> {
        let (preparation, commit, state) =
            (self.preparation.clone(), commit.clone(), state.clone());
        let is_of_base = commit == self.base;
        let checked_out = in_background(move || {
            let kept = preparation.kept(&state, || checkout.lister().untracked())?;
            checkout.check_out(&commit, &kept)?;
            Ok(checkout)
        });
        let checked_out = checked_out.await?;
        checked_out.map_err(|error| of_content(&error, is_of_base))
    }

    /// Puts back what a command set for all checkouts, although tm's own folder is all that it was shown.
    pub(crate) fn look_at_hooks(&self) -> Option<String> {
        let words = briefly(|| self.pool.repository().put_hooks_path_back())
            .unwrap_or_else(|trouble| Some(trouble.into()))?;
        self.noticed.lock().push(words.clone());
        Some(words)
    }

    /// Returns when there is no worktree to wait for that is about to come back.
    pub(crate) async fn when_one_is_idle(&self) -> Result<(), StepError> {
        let pool = self.pool.clone();
        let waited = blocking(move || {
            pool.wait_for_idle();
            Ok::<_, tm_worktrees::Error>(())
        });
        waited.await
    }

    /// Returns from which commit a checkout is set up, and whose tree that is: the one that the run began with, wherever a
    /// set-up of it makes the same.
    fn source<'a>(
        &'a self,
        commit: &'a CommitId,
        named_files: &str,
    ) -> Result<(&'a CommitId, TreeOf), StepError> {
        Ok(if named_files == self.named_files(&self.base)? {
            (&self.base, TreeOf::User)
        } else {
            (commit, TreeOf::Agents)
        })
    }

    /// Returns what a project's commands are given in a checkout.
    pub(crate) fn besides(&self, checkout: &Path) -> Besides {
        Besides {
            caches: self.caches(checkout),
            ..git_of(checkout)
        }
    }

    /// Returns what becomes of what is written to caches by who works in a checkout.
    pub(crate) fn caches(&self, checkout: &Path) -> Caches {
        layered(&self.layers_of(checkout))
    }

    fn layers_of(&self, checkout: &Path) -> PathBuf {
        self.folder.join("layers").join(&*name_of(checkout))
    }

    /// A text for what the files hold that decide whether a checkout is set up again.
    fn named_files(&self, commit: &CommitId) -> Result<String, StepError> {
        if !self.preparation.has_setup() {
            return Ok(String::new());
        }
        let (repository, files) = (self.pool.repository(), &self.preparation.setup_when);
        let covered = briefly(|| repository.files_covered(&repository.tree_of(commit)?, files))?;
        Ok(covered.join("\n"))
    }

    fn place(&self, (folder, role): (&Path, Role), lister: Lister, turn: &Turn) -> PreparedPlace {
        let untracked = Arc::new(move || lister.untracked());
        PreparedPlace {
            folder: folder.to_owned(),
            role,
            log: self.log_of("setup", folder),
            untracked,
            variables: self.variables(folder),
            turn: turn.clone(),
            layers: self.layers_of(folder),
        }
    }

    fn log_of(&self, what: &str, folder: &Path) -> PathBuf {
        self.folder.join(format!("{what}-{}.log", name_of(folder)))
    }
}
