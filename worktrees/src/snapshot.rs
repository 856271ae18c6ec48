//! The user's checkout as it is at a moment, to see whether somebody wrote there.

use crate::git::{fields, path_of};
use crate::{Error, Repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is compared: HEAD, its branch, the default branch, and every path that differs from HEAD.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckoutSnapshot {
    head: String,
    branch: Option<String>,
    default_branch: Option<String>,
    paths: BTreeMap<PathBuf, PathState>,
}

/// The state of a path: git's two letters, and size and time of the file, so that a change to a file that differed
/// before is seen.
type PathState = (Vec<u8>, Option<(u64, Option<SystemTime>)>);

impl CheckoutSnapshot {
    /// Takes a snapshot that leaves out files which tm itself writes.
    ///
    /// # Errors
    /// git refused.
    pub fn take(repository: &Repository, own_files: &[PathBuf]) -> Result<Self, Error> {
        let head = repository.head()?;
        let default_branch = repository.default_branch()?;
        let tip = match &default_branch {
            Some(name) => Some(repository.resolve(&format!("refs/heads/{name}"))?.to_string()),
            None => None,
        };
        let root = repository.checkout_root();
        let listing = repository
            .git()
            .args(["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"])
            .bytes()?;
        let mut paths = BTreeMap::new();
        for entry in fields(&listing).filter(|entry| entry.len() > 3) {
            let (letters, path) = (entry[..2].to_vec(), path_of(&entry[3..]));
            if !own_files.iter().any(|own| is_same(own, &root.join(&path))) {
                let metadata = std::fs::symlink_metadata(root.join(&path)).ok();
                paths.insert(path, (letters, metadata.map(|metadata| (metadata.len(), metadata.modified().ok()))));
            }
        }
        Ok(Self { head: head.commit.to_string(), branch: head.branch, default_branch: tip, paths })
    }

    /// Returns what is different later, in words.
    pub fn differences(&self, later: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        if (&self.head, &self.branch) != (&later.head, &later.branch) {
            differences.push("HEAD".to_owned());
        }
        if self.default_branch != later.default_branch {
            differences.push("the default branch".to_owned());
        }
        let changed = later.paths.iter().filter(|(path, state)| self.paths.get(*path) != Some(state));
        differences.extend(changed.map(|(path, _)| path.display().to_string()));
        let gone = self.paths.keys().filter(|path| !later.paths.contains_key(*path));
        differences.extend(gone.map(|path| path.display().to_string()));
        differences
    }
}

/// A file of tm's, or one beside it that a writer makes for a moment.
fn is_same(own: &Path, path: &Path) -> bool {
    if path.starts_with(own) {
        return true;
    }
    let (Some(own_name), Some(name)) = (own.file_name(), path.file_name()) else { return false };
    let name = name.to_string_lossy();
    own.parent() == path.parent() && (name.starts_with(&*own_name.to_string_lossy()) || name.starts_with(".tm-"))
}
