//! Git folders of tm's own: refs are the repository's, and so are objects but for those that a run makes
//! (`own_objects.rs`); everything else that git reads is tm's.
//!
//! Configuration, hooks, `info/`, the index and HEAD of a worktree decide what git does, and agents can write them all.
//! So no call of a run reads them where they lie: they are taken once, before the first agent, and used from here. The
//! layout is that of a repository with linked worktrees, whose `refs` are links to the real ones.

use crate::asked::AskedGit;
use crate::clean::remove_if_there;
use crate::files::{Identity, beginning, create_folder, link, replace};
use crate::left_locks::remove_abandoned_locks;
use crate::opened::OpenedFiles;
use crate::quiet::LastStatus;
use crate::reader::{HEAD_BYTES, Reader};
use crate::reference_updates::ReferenceUpdates;
use crate::repository::handed_down::handed_down;
use crate::repository::own_objects::OwnObjects;
use crate::repository::partial::{NO_LAZY_FETCH, is_partial};
use crate::repository::settings::{self, Settings};
use crate::{Environment, Error, OrFailedTo as _, Repository, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What is shared with the repository, as git's own linked folders share it.
const SHARED: [&str; 3] = ["refs", "packed-refs", "logs"];
const OBJECTS: &str = "objects";
/// A HEAD that names nothing: what is asked of the shared folder never asks where HEAD is.
pub(crate) const NO_HEAD: &[u8] = b"ref: refs/heads/.invalid\n";

/// Whom commits of a run name, each by name and address.
#[derive(Debug)]
pub(crate) struct People {
    pub(crate) author: (String, String),
    pub(crate) committer: (String, String),
}

/// The git folders of one run.
#[derive(Debug)]
pub(crate) struct OwnGit {
    /// The folder of all of them.
    pub(crate) folder: PathBuf,
    /// The folder as it was when it was opened.
    identity: Identity,
    common_dir: PathBuf,
    /// Whether a HEAD is more than its file.
    pub(crate) is_reftable: bool,
    /// Whether the repository is a partial clone, which lacks objects until somebody needs them.
    pub(crate) is_partial: bool,
    /// The commands of the user's filters by their keys, as they were taken, once somebody asked for them.
    pub(crate) filter_commands: OnceLock<BTreeMap<String, String>>,
    /// Where hooks are: in a copy of tm's, but for a folder elsewhere that the user's configuration names.
    pub(crate) hooks: PathBuf,
    /// Held while a store of a submodule is made or added to.
    pub(crate) modules: Mutex<()>,
    /// Whether the settings have commits signed, once that was asked for: they stay as they were taken.
    pub(crate) signs: OnceLock<bool>,
    /// Whom commits name, by the same settings.
    pub(crate) people: OnceLock<Option<People>>,
    /// The repository's own configuration as it was read last, and the folder of hooks that it names.
    pub(crate) named_hooks: Mutex<Option<(Vec<u8>, String)>>,
    /// What reads refs and objects without a process, opened when all is in its place.
    pub(crate) reader: Option<Reader>,
    /// What git was last asked of the user's checkout.
    pub(crate) last_status: Mutex<LastStatus>,
    /// What reads objects where that can't.
    pub(crate) asked: AskedGit,
    /// The gits that move references.
    pub(crate) reference_updates: ReferenceUpdates,
    /// The files of worktrees that somebody has opened.
    pub(crate) opened: OpenedFiles,
    /// The objects that the run makes; `None` where they are written into the repository.
    pub(crate) objects: Option<OwnObjects>,
}

impl OwnGit {
    /// Opens the folders; takes the settings of the repository as they are now where that was not done before.
    pub(crate) fn open(folder: &Path, repository: &Repository) -> Result<Self> {
        create_folder(folder)?;
        let mut own = Self {
            folder: folder.to_owned(),
            identity: Identity::of_folder(folder).or_failed_to("look at", folder)?,
            common_dir: repository.common_dir().to_owned(),
            is_reftable: repository.common_dir().join("reftable").is_dir(),
            is_partial: false,
            filter_commands: OnceLock::new(),
            hooks: folder.join(settings::HOOKS),
            modules: Mutex::new(()),
            signs: OnceLock::new(),
            people: OnceLock::new(),
            named_hooks: Mutex::new(None),
            reader: None,
            last_status: Mutex::default(),
            asked: AskedGit::default(),
            reference_updates: ReferenceUpdates::default(),
            opened: OpenedFiles::default(),
            objects: None,
        };
        let common = own.common();
        for path in [
            folder.join("worktrees"),
            folder.join("views"),
            common.join("info"),
        ] {
            create_folder(&path)?;
        }
        remove_abandoned_locks(&common);
        // The last file that is written says that all others are there.
        if !own.taken_settings().exists() {
            let mut settings = Settings::of(repository.git("config"))?;
            if repository.environment.is_written_by_agents() {
                settings.leave_out_filters();
            }
            settings::copy_tools(repository, &settings, folder, &common)?;
            own.take_for_commands(repository)?;
            replace(
                &folder.join(settings::FOR_AGENTS),
                settings.for_agents().as_bytes(),
            )?;
            replace(&common.join("config"), settings.format().as_bytes())?;
            replace(&own.taken_settings(), settings.flat(repository).as_bytes())?;
        }
        own.is_partial = is_partial(&own.taken_settings(), &common);
        if let Some(named) = own.taken(repository, settings::HOOKS_PATH)? {
            let named = repository.environment.home_path(&named);
            // A relative one lies in the checkout, and was copied with what it lies in.
            own.hooks = if named.is_absolute() {
                named
            } else {
                folder.join(settings::HOOKS_OF_TREE).join(named)
            };
        }
        let mut text = settings::with_own_paths(&own.common_dir, folder, &own.hooks);
        text.push_str(&own.filters(repository)?);
        text.push_str(super::lfs_settings(repository.content_rules).unwrap_or_default());
        replace(&own.settings_file(), text.as_bytes())?;
        own.share(&common)?;
        own.put_alternates_back()?;
        let objects = own.common_dir.join(OBJECTS);
        own.objects = OwnObjects::open(&common.join(OBJECTS), &objects)?;
        if own.objects.is_none() {
            own.link(OBJECTS, &common)?;
        }
        replace(&common.join("HEAD"), NO_HEAD)?;
        let writes = settings::library_writes(&own.taken_settings(), &repository.environment)?;
        own.reader = Reader::open(&folder.join("reading"), &common, &own.common_dir, writes)?;
        Ok(own)
    }

    /// Removes the folders. The file that says that all others are there goes first: whoever is cut off then leaves what is
    /// made anew, and not what looks whole.
    pub(crate) fn remove(folder: &Path) -> io::Result<()> {
        fs::remove_file(folder.join(settings::TAKEN))?;
        tm_faults::check("settings: remove")?;
        fs::remove_dir_all(folder)
    }

    /// Links what is shared with the repository's; again where the repository was moved.
    fn share(&self, common: &Path) -> Result<()> {
        let reftable = self.is_reftable.then_some("reftable");
        for name in SHARED.into_iter().chain(reftable) {
            self.link(name, common)?;
        }
        Ok(())
    }

    /// Links one thing in a git folder to the repository's.
    pub(crate) fn link(&self, name: &str, common: &Path) -> Result<()> {
        link(&self.common_dir.join(name), &common.join(name))
    }

    /// Tells whether the file that names other stores of objects is as it was.
    pub(crate) fn alternates_are_as_at_start(&self) -> bool {
        let (real, at_start) = self.alternates();
        match beginning(&real, settings::ALTERNATES_BYTES) {
            Ok(now) => now == at_start,
            Err(_) => at_start.is_empty() && real.symlink_metadata().is_err(),
        }
    }

    /// The file, and what it held at the start.
    fn alternates(&self) -> (PathBuf, Vec<u8>) {
        let kept = self.common().join("alternates");
        let at_start = beginning(&kept, settings::ALTERNATES_BYTES).unwrap_or_default();
        (self.common_dir.join(settings::ALTERNATES), at_start)
    }

    /// Puts the file back that names other stores of objects, where somebody changed it: what lies there only is not in
    /// the repository, and whoever clones it has not got it.
    pub(crate) fn put_alternates_back(&self) -> Result<()> {
        if self.alternates_are_as_at_start() {
            return Ok(());
        }
        let (real, at_start) = self.alternates();
        remove_if_there(&real)?;
        // What was opened meanwhile takes for here what lies there.
        self.reader.iter().for_each(Reader::forget_writers);
        if at_start.is_empty() {
            Ok(())
        } else {
            replace(&real, &at_start)
        }
    }

    /// Refuses to go on where somebody put something else in the place of the folder: nothing is written there.
    pub(crate) fn assert_there(&self) -> Result<()> {
        if self.identity.is_at(&self.folder) {
            return Ok(());
        }
        Err(Error::NotOwn(self.folder.clone()))
    }

    /// Returns what one of the settings was when they were taken.
    pub(super) fn taken(&self, repository: &Repository, key: &str) -> Result<Option<String>> {
        let git = repository.git_on_objects("config --file");
        git.arg(self.taken_settings())
            .args(["--get", key])
            .text_if_any()
    }

    /// What the user's files said when it was taken.
    pub(super) fn taken_settings(&self) -> PathBuf {
        self.folder.join(settings::TAKEN)
    }

    /// What git reads: the same, with the places of what was copied.
    fn settings_file(&self) -> PathBuf {
        self.folder.join("gitconfig")
    }

    /// Returns the folder for what is asked of objects and refs alone.
    pub(crate) fn common(&self) -> PathBuf {
        self.folder.join("common")
    }

    /// Returns the variables by which git reads these settings and no others.
    pub(crate) fn environment(&self, of_user: &Environment) -> Environment {
        handed_down(of_user)
            .into_iter()
            .fold(of_user.clone(), |environment, (name, value)| {
                environment.with(name, value)
            })
            .with("GIT_CONFIG_GLOBAL", self.settings_file())
            // What an agent names would be fetched in the user's name: what the run began with is brought before.
            .with(NO_LAZY_FETCH, "1")
            .with("GIT_CONFIG_NOSYSTEM", "1")
    }

    /// Returns a folder whose HEAD is that of a checkout of the user's.
    pub(crate) fn view(&self, git_dir: &Path) -> Result<PathBuf> {
        self.assert_there()?;
        let is_main = git_dir == self.common_dir;
        if is_main && self.is_reftable {
            // HEAD of the main checkout is kept among the refs, which are shared.
            return Ok(self.common());
        }
        let head = beginning(&git_dir.join("HEAD"), HEAD_BYTES)?;
        let name = git_dir
            .file_name()
            .filter(|_| !is_main)
            .unwrap_or_else(|| OsStr::new("main"));
        let view = self.folder.join("views").join(name);
        if beginning(&view.join("HEAD"), HEAD_BYTES).is_ok_and(|known| known == head) {
            return Ok(view);
        }
        begin(&view)?;
        if self.is_reftable {
            let own = view.join("reftable");
            // An empty folder that was made for a worktree of tm's own is none of the user's.
            let _nothing_there = fs::remove_dir(&own);
            link(&git_dir.join("reftable"), &own)?;
        }
        replace(&view.join("HEAD"), &head)?;
        Ok(view)
    }

    /// Returns the folder of a worktree of tm's own, by the worktree's name.
    pub(crate) fn worktree(&self, name: &OsStr) -> Result<PathBuf> {
        self.assert_there()?;
        let folder = self.folder.join("worktrees").join(name);
        if !folder.join("HEAD").exists() {
            begin(&folder)?;
            if self.is_reftable {
                create_folder(&folder.join("reftable"))?;
            }
            replace(&folder.join("HEAD"), NO_HEAD)?;
        }
        Ok(folder)
    }

    /// Returns what hooks are part of: the folder that was copied, or that of the hooks where they lie elsewhere.
    pub(crate) fn all_of_hooks(&self) -> PathBuf {
        let copied = self.folder.join(settings::HOOKS_OF_TREE);
        if self.hooks.starts_with(&copied) {
            return copied;
        }
        self.hooks.clone()
    }

    /// Tells whether there is a hook of that name.
    pub(crate) fn may_have_hook(&self, name: &str) -> bool {
        self.hooks.join(name).exists()
    }
}

fn begin(folder: &Path) -> Result<()> {
    create_folder(folder)?;
    // Relative, because the folders move with the repository.
    replace(&folder.join("commondir"), b"../../common\n")
}
