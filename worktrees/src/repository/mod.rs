//! The repository and what can be read of it.

mod calls;
mod content;
mod extent;
pub(crate) mod git_folders;
pub(crate) mod gitmodules;
mod handed_down;
mod held_filters;
mod lfs;
#[cfg_attr(not(target_os = "linux"), path = "no_new_names.rs")]
mod new_names;
pub(crate) mod own;
pub(crate) mod own_objects;
mod partial;
mod places;
pub(crate) mod settings;
pub(crate) mod watched;

pub(crate) use content::is_plain;
pub use content::{ContentAtHead, ContentRules, FilterNeed};
pub use held_filters::{FilterHolder, HeldFilters};
use lfs::LfsState;
pub(crate) use lfs::{OrdersToLfs, lfs_settings, not_here, of_lfs};

use crate::asked::Asking;
use crate::git::StayingGit;
use crate::left_locks::{LeftLock, left_locks};
use crate::reader::{Head, Reader};
use crate::{Environment, Error, OrFailedTo as _, Result, TreeId};
use content::KnownContent;
use extent::KnownExtents;
use own::OwnGit;
use parking_lot::Mutex;
use places::Places;
use settings::TAKEN;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tm_scheduler::CommitId;
use watched::ListedSettings;

/// A repository, seen from the user's checkout.
#[derive(Clone, Debug)]
pub struct Repository {
    checkout_root: PathBuf,
    /// git's own folder of this checkout.
    git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    pub(crate) environment: Environment,
    /// The same without the settings that tm keeps.
    pub(crate) of_user: Environment,
    /// The configuration that was looked at last.
    pub(crate) listed: Arc<Mutex<ListedSettings>>,
    /// The git folders of tm's own, once they are made: what else lies in the repository is not read any more.
    own: Option<Arc<OwnGit>>,
    /// Found once: it is asked for before every change of a branch, and what a name means does not change meanwhile.
    default_branch: Arc<OnceLock<String>>,
    /// The trees of commits that were asked for: a commit never gets another one.
    pub(crate) trees: Arc<Mutex<BTreeMap<CommitId, TreeId>>>,
    /// The trees that were found to be no larger than may be.
    pub(crate) extents: Arc<Mutex<KnownExtents>>,
    is_nameless: bool,
    /// Whether what it makes is looked at and never kept, so that nobody is asked for a key.
    pub(crate) is_unsigned: bool,
    /// What is brought into checkouts besides files of trees, and what trees say of it.
    pub(crate) content_rules: ContentRules,
    pub(crate) known_content: KnownContent,
    /// What is fetched of files that LFS keeps.
    lfs: Arc<LfsState>,
    /// Who holds the commands of the user's filters in checkouts of tm's own.
    pub(crate) filter_holder: Option<FilterHolder>,
}

impl Repository {
    /// Finds the repository of a folder.
    ///
    /// # Errors
    /// There is none, it has no checkout, or nothing has been committed yet.
    pub fn discover(start: &Path) -> Result<Self> {
        Self::discover_in(start, Environment::default())
    }

    /// As `discover`, with variables for every call of git.
    ///
    /// # Errors
    /// As `discover`.
    pub fn discover_in(start: &Path, environment: Environment) -> Result<Self> {
        let environment = environment.around(start);
        let Places {
            common_dir,
            checkout_root,
            git_dir,
            has_commits,
        } = Places::find(&environment, start)?;
        if !has_commits {
            return Err(Error::NoCommits(checkout_root));
        }
        let mut repository = Self {
            checkout_root,
            git_dir,
            common_dir,
            of_user: environment.clone(),
            environment,
            listed: Arc::default(),
            own: None,
            default_branch: Arc::default(),
            trees: Arc::default(),
            extents: Arc::default(),
            is_nameless: false,
            is_unsigned: false,
            content_rules: ContentRules::default(),
            known_content: KnownContent::default(),
            lfs: Arc::default(),
            filter_holder: None,
        };
        repository.name_somebody()?;
        Ok(repository)
    }

    /// Where git knows nobody to name as author, tm names itself.
    fn name_somebody(&mut self) -> Result<()> {
        let knows = |variable: &str| self.git("var").arg(variable).succeeds();
        if !knows("GIT_COMMITTER_IDENT")? || !knows("GIT_AUTHOR_IDENT")? {
            self.environment = self.environment.clone().of_tm();
            self.of_user = self.environment.clone();
            self.is_nameless = true;
        }
        Ok(())
    }

    /// Tells whether git knows nobody to name as author, so that tm names itself.
    pub const fn is_nameless(&self) -> bool {
        self.is_nameless
    }

    /// Returns the names of the remotes.
    ///
    /// # Errors
    /// git refused.
    pub fn remotes(&self) -> Result<Vec<String>> {
        self.git("remote").lines()
    }

    /// Returns the top of the user's checkout.
    pub fn checkout_root(&self) -> &Path {
        &self.checkout_root
    }

    /// Returns the repository seen from another of its checkouts, by what git's own files say of that: nothing is believed
    /// that lies in the checkout.
    ///
    /// # Errors
    /// It is the top of none.
    pub fn at_checkout(&self, root: &Path) -> Result<Self> {
        let all = self.main_and_linked().into_iter();
        let mut found = all.filter(|(_, top)| root.canonicalize().is_ok_and(|root| root == *top));
        let (git_dir, checkout_root) = found
            .next()
            .ok_or_else(|| Error::NoCheckout(root.to_owned()))?;
        Ok(Self {
            checkout_root,
            git_dir,
            listed: Arc::default(),
            ..self.clone()
        })
    }

    /// Returns the folder that all worktrees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the repository for a time in which agents that are held write the user's checkout: what lies there is run by
    /// nobody else.
    #[must_use]
    pub fn written_by_agents(&self) -> Self {
        Self {
            environment: self.environment.clone().written_by_agents(),
            of_user: self.of_user.clone().written_by_agents(),
            ..self.clone()
        }
    }

    /// Returns the repository as it is now to git: with configuration, hooks and `info/` as they are at this moment, or
    /// as they were when this was asked for with the same folder before. Refs and objects stay the repository's.
    ///
    /// # Errors
    /// The folder can't be written, or git refused.
    pub fn with_settings_kept_in(&self, folder: &Path) -> Result<Self> {
        if self.own.is_some() {
            return Ok(self.clone());
        }
        let own = Arc::new(OwnGit::open(folder, self)?);
        let kept = Self {
            environment: own.environment(&self.environment),
            own: Some(Arc::clone(&own)),
            ..self.clone()
        };
        kept.keep_addresses(&own)?;
        Ok(kept)
    }

    /// Returns the repository with the settings that are kept in a folder; as it is where none are.
    ///
    /// # Errors
    /// The folder can't be used.
    pub fn with_settings_of(&self, folder: &Path) -> Result<Self> {
        let kept = self.with_settings_if_kept(folder)?;
        Ok(kept.unwrap_or_else(|| self.clone()))
    }

    /// As `with_settings_of`; `None` where no settings are kept.
    pub(crate) fn with_settings_if_kept(&self, folder: &Path) -> Result<Option<Self>> {
        let is_kept = folder.join(TAKEN).exists();
        is_kept
            .then(|| self.with_settings_kept_in(folder))
            .transpose()
    }

    /// Returns the repository with what is brought into checkouts of it besides the files of their trees.
    #[must_use]
    pub fn with_content(&self, content_rules: ContentRules) -> Self {
        Self {
            content_rules,
            ..self.clone()
        }
    }

    /// Returns the repository where nothing is fetched yet of files that LFS keeps, and nobody has said for what.
    pub(crate) fn fetching_anew(self) -> Self {
        Self {
            lfs: Arc::default(),
            ..self
        }
    }

    /// Returns the repository whose filters are held by somebody in the checkouts that are made of it from now on.
    #[must_use]
    pub fn with_held_filters(&self, holder: FilterHolder) -> Self {
        Self {
            filter_holder: Some(holder),
            ..self.clone()
        }
    }

    /// Returns the repository for looking alone: what it makes is named by nothing, and never signed.
    #[must_use]
    pub fn unsigned(&self) -> Self {
        Self {
            is_unsigned: true,
            ..self.clone()
        }
    }

    /// Tells whether what submodules hold is wanted in worktrees.
    pub fn brings_submodules(&self) -> bool {
        self.content_rules.submodules != tm_scheduler::Bring::Off
    }

    pub(crate) fn own(&self) -> Option<&OwnGit> {
        self.own.as_deref()
    }

    /// Asks what reads without a process: in a run, and where the library can read the repository. git is to be asked
    /// where that has no answer.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Reader) -> Option<T>) -> Option<T> {
        self.own()?.reader.as_ref().and_then(ask)
    }

    /// The same, with how git is asked.
    pub(crate) fn read_or<T>(
        &self,
        ask: impl FnOnce(&Reader) -> Option<T>,
        ask_git: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.read(ask).map_or_else(ask_git, Ok)
    }

    /// Asks the git that stays, in a run in which the library can't read the repository; else, and where it has no answer,
    /// the git program.
    pub(crate) fn ask_or<T>(
        &self,
        ask: impl FnOnce(&Asking<'_>) -> Option<T>,
        ask_git: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let start = || self.staying_git();
        let own = self.own().filter(|own| own.reader.is_none());
        let asked = own.and_then(|own| {
            ask(&Asking {
                asked: &own.asked,
                start: &start,
            })
        });
        asked.map_or_else(ask_git, Ok)
    }

    /// Starts a git that stays and tells what objects hold.
    pub(crate) fn staying_git(&self) -> Result<StayingGit> {
        let git = self.git_on_objects("cat-file --batch-command");
        git.reading().staying()
    }

    /// Returns git's own folder of the user's checkout.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the locks of git that have been there for long.
    pub fn left_locks(&self) -> Vec<LeftLock> {
        let mut folders = vec![self.git_dir(), self.common_dir()];
        folders.dedup();
        left_locks(&folders)
    }

    /// Holds the lock, among all processes, under which git's list of worktrees changes.
    pub(crate) fn changing_worktrees<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let path = self.common_dir.join("tm-worktrees.lock");
        let file = tm_untrusted::append(&path).or_failed_to("create", &path)?;
        file.lock().or_failed_to("lock", &path)?;
        change()
    }

    /// Returns where the user's checkout stands.
    ///
    /// # Errors
    /// git refused.
    pub fn head(&self) -> Result<Head> {
        self.read_or(|reader| reader.head(&self.git_dir), || self.head_by_git())
    }

    fn head_by_git(&self) -> Result<Head> {
        let answer = self
            .git("rev-parse HEAD^{commit} --symbolic-full-name HEAD")
            .text()?;
        let (commit, reference) = answer.split_once('\n').unwrap_or((&answer, ""));
        Ok(Head {
            commit: CommitId::new(commit),
            branch: reference.strip_prefix("refs/heads/").map(ToOwned::to_owned),
        })
    }

    /// Returns the name of the default branch: what the remote calls so, else `init.defaultBranch`, `main` or `master`
    /// where there is one.
    ///
    /// # Errors
    /// git refused.
    pub fn default_branch(&self) -> Result<Option<String>> {
        if let Some(found) = self.default_branch.get() {
            return Ok(Some(found.clone()));
        }
        Ok(self
            .find_default_branch()?
            .map(|name| self.default_branch.get_or_init(|| name).clone()))
    }

    fn find_default_branch(&self) -> Result<Option<String>> {
        let of_remote = self
            .git("symbolic-ref --quiet --short")
            .arg("refs/remotes/origin/HEAD")
            .text_if_any()?;
        if let Some(name) = of_remote
            .as_deref()
            .and_then(|name| name.strip_prefix("origin/"))
        {
            return Ok(Some(name.to_owned()));
        }
        for name in self
            .configured("init.defaultBranch")?
            .as_deref()
            .into_iter()
            .chain(["main", "master"])
        {
            if self.at_reference(&format!("refs/heads/{name}"))?.is_some() {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns what git is told by one of its settings.
    pub(crate) fn configured(&self, key: &str) -> Result<Option<String>> {
        self.git("config --get").arg(key).text_if_any()
    }

    /// Returns the paths in the user's checkout that differ from what is committed.
    ///
    /// # Errors
    /// git refused.
    pub fn uncommitted(&self) -> Result<Vec<PathBuf>> {
        Ok(self
            .git_comparing("status")
            .statuses()
            .map_err(of_lfs)?
            .into_iter()
            .map(|(_, path)| path)
            .collect())
    }
}
