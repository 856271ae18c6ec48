//! What of git somebody is given who works in the user's checkout, and commits there.
//!
//! The branch, the index and new objects are the repository's own, so its git folder is written, but for what decides how
//! git works for the user, what belongs to other checkouts, and the history that is packed. What is not there can't be
//! kept from being made; it is watched (`repository/watched.rs`), and no link or pipe stays (`repository/git_folders.rs`).

use crate::files::replace;
use crate::private::of_agents;
use crate::repository::lfs_settings;
use crate::repository::settings::Settings;
use crate::{Error, PrivateGit, Repository, Result};
use std::path::PathBuf;

/// Below the folder that all checkouts share: what a commit writes.
const WRITTEN: [&str; 5] = ["lfs", "logs", "objects", "refs", "reftable"];
/// Below git's folders: what no commit writes.
const FIXED: [&str; 15] = [
    "branches",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "info",
    "modules",
    "objects/info",
    "objects/pack",
    "packed-refs",
    "remotes",
    "rr-cache",
    "shallow",
    "worktrees",
];
/// What the user has set up, as whoever works there is told of it.
const TOLD: &str = "settings-in-checkout";

/// What of git is given to whoever works in the user's checkout.
#[derive(Clone, Debug)]
pub struct GitInCheckout {
    /// Its files, as far as they are there. Whoever works there may have put links in their places.
    pub git: PrivateGit,
    /// Variables by which git finds the settings that are not the repository's.
    pub variables: [(&'static str, PathBuf); 3],
}

impl Repository {
    /// The file that says where git's folder is, in a checkout that has none of its own.
    fn points_at_git(&self) -> Option<PathBuf> {
        Some(self.checkout_root().join(".git")).filter(|path| path.is_file())
    }

    /// Returns what of git is given to whoever works in the user's checkout, where settings are kept. Hooks are those
    /// that were kept, and nothing is signed.
    ///
    /// # Errors
    /// No settings are kept, git refused, or the disk did.
    pub fn git_in_checkout(&self) -> Result<GitInCheckout> {
        let own = self
            .own()
            .ok_or_else(|| Error::NotOwn(self.git_dir().to_owned()))?;
        let copies = ["excludes", "attributes"].map(|name| own.folder.join(name));
        let mut text = Settings::of_user(self.git_as_user("config"))?.for_agents();
        text.push_str(lfs_settings(self.content_rules).unwrap_or_default());
        text.push_str(&of_agents(
            self,
            own,
            copies.each_ref().map(PathBuf::as_path),
        ));
        let told = own.folder.join(TOLD);
        replace(&told, text.as_bytes())?;
        let common = self.common_dir();
        let git_dirs = [self.git_dir(), common];
        let [excludes, attributes] = copies;
        Ok(GitInCheckout {
            git: PrivateGit {
                filters: Vec::new(),
                writable: [self.git_dir().to_owned()]
                    .into_iter()
                    .chain(WRITTEN.map(|name| common.join(name)))
                    .collect(),
                fixed: git_dirs
                    .iter()
                    .flat_map(|folder| FIXED.map(|name| folder.join(name)))
                    .chain(self.points_at_git())
                    .collect(),
                readable: vec![told.clone(), excludes, attributes, own.hooks.clone()],
            },
            variables: [
                ("GIT_CONFIG_COUNT", "1".into()),
                ("GIT_CONFIG_KEY_0", "include.path".into()),
                ("GIT_CONFIG_VALUE_0", told),
            ],
        })
    }
}
