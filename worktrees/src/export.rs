//! Folders that are no checkouts: the files of a tree are written into one, with no git folder, nothing to commit to and
//! nothing to run; a repository is made of one, and a patch applied to one.

use crate::git::Git;
use crate::{Environment, OrFailedTo as _, Repository, Result, TreeId};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

impl Repository {
    /// Writes the files of a tree into an empty folder, so that nobody who is not told to changes them.
    ///
    /// # Errors
    /// git or the disk refused.
    pub fn export(&self, tree: &TreeId, folder: &Path) -> Result<()> {
        self.assert_walkable(tree)?;
        let scratch = tempfile::tempdir_in(folder).or_failed_to("write", folder)?;
        let index = scratch.path().join("index");
        let git = |words| {
            self.git_on_objects(words)
                .variable("GIT_INDEX_FILE", &index)
                .variable("GIT_WORK_TREE", folder)
        };
        git("read-tree").arg(&tree.0).done()?;
        let prefix = format!("--prefix={}/", folder.display());
        let orders = self.orders_to_lfs(tree)?;
        self.writing_lfs(|| {
            let git = orders.to(git(""));
            git.line("checkout-index --all --force").arg(&prefix).done()
        })?;
        drop(scratch);
        make_read_only(folder)
    }
}

/// Files can't be written any more; folders can, so that they can be removed.
fn make_read_only(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).or_failed_to("read", folder)?.flatten() {
        let path = entry.path();
        let kind = entry.file_type().or_failed_to("look at", &path)?;
        if kind.is_dir() {
            make_read_only(&path)?;
        } else if kind.is_file() {
            let file = entry.metadata().or_failed_to("look at", &path)?;
            let read_only = fs::Permissions::from_mode(file.permissions().mode() & !0o222);
            fs::set_permissions(&path, read_only).or_failed_to("write", &path)?;
        }
    }
    Ok(())
}

/// Makes a repository of what is in a folder, with one commit of everything on the branch `main`.
///
/// # Errors
/// git refused, or the folder is in a repository already.
pub fn create_repository(folder: &Path, message: &str) -> Result<Repository> {
    let environment = Environment::default().around(folder).of_tm();
    let git = |words| Git::new(&environment, folder).line(words);
    git("init --quiet --initial-branch=main").done()?;
    git("add --all").done()?;
    git("-c commit.gpgsign=false commit --quiet -m")
        .arg(message)
        .done()?;
    Repository::discover(folder)
}

/// Applies a patch to the files of a folder.
///
/// # Errors
/// It does not apply.
pub fn apply_patch(folder: &Path, patch: &[u8]) -> Result<()> {
    Git::new(&Environment::default().around(folder), folder)
        .line("apply --whitespace=nowarn -")
        .input(patch)
        .done()
}
