//! Git folders for the commands of a project, in the checkouts in which tm runs them: git finds the repository as it is,
//! and what they write into its settings reaches nobody.
//!
//! Installers of hooks write into the settings that all checkouts share. So where tm runs a project's commands, `.git`
//! names a folder of this kind, made anew for each use; refs and objects are the repository's. tm only writes here.

use crate::clean::remove_if_there;
use crate::files::{Identity, beginning, copy_with_time, create_folder, replace};
use crate::git::Git;
use crate::owned::{OwnedFolder, OwnedHead, dot_git, replace_whatever};
use crate::pool::KEPT_SETTINGS;
use crate::repository::own::{NO_HEAD, OwnGit};
use crate::repository::settings::{HOOKS_PATH, Settings};
use crate::submodules::STORES;
use crate::{OrFailedTo as _, Repository, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of all of them, in the folder of tm's own git folders.
const SEALED: &str = "sealed";
/// What the repository's own settings were, and the folder of hooks that they named, where they did.
const SETTINGS: &str = "sealed-settings";
const NAMED_HOOKS: &str = "hooks-path";
/// Such a file is no longer.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What of git a project's commands need in a checkout of a pool's, besides the repository's history.
#[derive(Debug, Default)]
pub struct GitOfCommands {
    /// Folders that are theirs alone: one for the checkout, and one for each of its submodules.
    pub own: Vec<PathBuf>,
    /// What submodules are made of.
    pub stores: Vec<PathBuf>,
}

/// Returns what of git a project's commands need in a checkout.
pub fn git_of_commands(checkout: &Path) -> GitOfCommands {
    let (Some(beside), Some(name)) = (checkout.parent(), checkout.file_name()) else {
        return GitOfCommands::default();
    };
    let (git, name) = (beside.join(KEPT_SETTINGS), name.as_encoded_bytes());
    let is_own = |path: &PathBuf| {
        let found = path.file_name().map(OsStr::as_encoded_bytes);
        let rest = found.and_then(|found| found.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
    };
    let sealed = tm_untrusted::entries(&git.join(SEALED));
    GitOfCommands {
        own: sealed.map(|entry| entry.path()).filter(is_own).collect(),
        stores: vec![git.join(STORES)],
    }
}

impl OwnGit {
    /// Takes what commands of the project find, before any of them runs.
    pub(crate) fn take_for_commands(&self, repository: &Repository) -> Result<()> {
        let settings = Settings::of_repository(repository.git("config"))?;
        replace(&self.folder.join(SETTINGS), settings.sealed().as_bytes())?;
        replace(
            &self.folder.join(NAMED_HOOKS),
            repository.named_hooks()?.as_bytes(),
        )
    }

    /// Returns the folder of all of them.
    pub(crate) fn sealed_folders(&self) -> PathBuf {
        self.folder.join(SEALED)
    }

    /// Removes what is left of the last use of a checkout's folder.
    pub(crate) fn forget_sealed(&self, name: &Path) -> Result<PathBuf> {
        self.assert_there()?;
        let all = self.sealed_folders();
        let made = fs::create_dir(&all);
        // Another checkout is sealed at the same time, or was before; what somebody put in its place fails.
        if Identity::of_folder(&all).is_err() {
            made.or_failed_to("create", &all)?;
        }
        let folder = all.join(name);
        remove_if_there(&folder)?;
        Ok(folder)
    }

    /// Makes a folder that shares refs and objects with the repository, and nothing else.
    fn make_sealed(&self, name: &Path) -> Result<PathBuf> {
        let (git_dir, common) = self.make_git_folder(&self.forget_sealed(name)?, SETTINGS)?;
        for name in ["objects", "refs", "packed-refs"] {
            self.link(name, &common)?;
        }
        if self.is_reftable {
            self.link("reftable", &common)?;
            fs::create_dir(git_dir.join("reftable")).or_failed_to("create", &git_dir)?;
        }
        Ok(git_dir)
    }

    /// Makes git's two folders of a linked worktree, with settings and rules of tm's and without refs and objects; returns
    /// its own one, and the one that worktrees share.
    pub(crate) fn make_git_folder(
        &self,
        folder: &Path,
        settings: &str,
    ) -> Result<(PathBuf, PathBuf)> {
        let (git_dir, common) = (folder.join("git"), folder.join("common"));
        for path in [&git_dir, &common.join("info")] {
            create_folder(path)?;
        }
        for name in ["info/exclude", "info/attributes", "shallow"] {
            let taken = self.common().join(name);
            if taken.exists() {
                replace(&common.join(name), &beginning(&taken, MOST_BYTES)?)?;
            }
        }
        let mut settings = self.folder.join(settings);
        if !settings.exists() {
            settings = self.common().join("config");
        }
        replace(&common.join("config"), &beginning(&settings, MOST_BYTES)?)?;
        for head in [&git_dir, &common] {
            replace(&head.join("HEAD"), NO_HEAD)?;
        }
        replace(&git_dir.join("commondir"), b"../common\n")?;
        Ok((git_dir, common))
    }
}

impl OwnedFolder {
    /// Has git in the folder work with settings that nobody else reads, until the folder is published again.
    pub(crate) fn seal(&self, head: &OwnedHead<'_>) -> Result<()> {
        self.assert_own()?;
        self.repository.publish_objects()?;
        let git_dir = self
            .own_git()
            .make_sealed(Path::new(self.path.file_name().unwrap_or_default()))?;
        self.fill(&git_dir, head)?;
        self.point_at(Path::new(""), &git_dir)
    }

    /// Writes into a git folder that was made for the folder what belongs to it: HEAD, and what tm's index knows.
    pub(crate) fn fill(&self, git_dir: &Path, head: &OwnedHead<'_>) -> Result<()> {
        let back = format!("{}\n", self.path.join(".git").display());
        replace(&git_dir.join("gitdir"), back.as_bytes())?;
        copy_with_time(&self.index_file(), &git_dir.join("index"))?;
        self.write_head_in(git_dir, head)
    }

    /// Has git in the folder, or in one within, work with this git folder.
    pub(crate) fn point_at(&self, within: &Path, git_dir: &Path) -> Result<()> {
        replace_whatever(&self.path.join(within).join(".git"), &dot_git(git_dir))
    }
}

impl Repository {
    /// Puts the folder of hooks that the repository's settings name back to what it was when the run began; returns what
    /// was found, in words, where it was another one.
    ///
    /// Whoever installs packages in a worktree may set it for all checkouts, the user's included.
    ///
    /// # Errors
    /// git refused.
    pub fn put_hooks_path_back(&self) -> Result<Option<String>> {
        let Some(own) = self.own() else {
            return Ok(None);
        };
        let taken = own.folder.join(NAMED_HOOKS);
        if !taken.exists() {
            return Ok(None);
        }
        let before = String::from_utf8_lossy(&beginning(&taken, MOST_BYTES)?).into_owned();
        let now = self.named_hooks()?;
        if now == before {
            return Ok(None);
        }
        let git = self
            .git_on_objects("config --file")
            .arg(self.common_dir().join("config"));
        if before.is_empty() {
            git.args(["--unset-all", HOOKS_PATH]).done()?;
        } else {
            git.args(["--replace-all", HOOKS_PATH, &before]).done()?;
        }
        let found = if now.is_empty() {
            "was taken away".to_owned()
        } else {
            format!("was set to `{now}`")
        };
        Ok(Some(format!(
            "`core.hooksPath` of the repository {found} while the run went on; it is put back"
        )))
    }

    /// What the file that all checkouts share says of it now; git is asked again only where that file is another one, or
    /// others may be part of it.
    fn named_hooks(&self) -> Result<String> {
        let file = self.common_dir().join("config");
        let git = self.git_on_objects("config --includes --file");
        let asked = |git: Git| {
            git.args(["--get", HOOKS_PATH])
                .text_if_any()
                .map(Option::unwrap_or_default)
        };
        // None that may have git read others.
        let text = beginning(&file, MOST_BYTES).ok().filter(|text| {
            !text
                .to_ascii_lowercase()
                .windows(7)
                .any(|word| word == b"include")
        });
        let (Some(own), Some(text)) = (self.own(), text) else {
            return asked(git.arg(file));
        };
        let mut known = own.named_hooks.lock();
        if let Some((_, named)) = known.as_ref().filter(|(before, _)| *before == text) {
            return Ok(named.clone());
        }
        // What was read, and not what the file may hold by now.
        let named = asked(git.arg("-").input(text.clone()))?;
        *known = Some((text, named.clone()));
        drop(known);
        Ok(named)
    }
}
