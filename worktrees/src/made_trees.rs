//! Trees that are made of other trees, or of what lies in a folder.

use crate::files::copy_with_time;
use crate::git::{Git, path_of};
use crate::reader::Entry;
use crate::{Error, PathPatterns, Repository, Result, TreeId};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

impl Repository {
    /// Makes a tree in which these paths are as they are in `from`: with its content, or not there at all.
    pub(crate) fn with_paths_of(
        &self,
        tree: &TreeId,
        paths: &[PathBuf],
        from: &CommitId,
    ) -> Result<TreeId> {
        if paths.is_empty() {
            return Ok(tree.clone());
        }
        let wanted: BTreeSet<&[u8]> = paths
            .iter()
            .map(|path| path.as_os_str().as_bytes())
            .collect();
        let source = self.tree_of(from)?;
        let found = self.files(&source, &|_, path| wanted.contains(path))?;
        let there: BTreeSet<&[u8]> = found.iter().map(|entry| &*entry.path).collect();
        let nothing = "0".repeat(source.0.len());
        // What is gone comes first, so that a file can stand where a folder was.
        let gone = wanted
            .difference(&there)
            .map(|path| index_entry(0, &nothing, path));
        let kept = found
            .iter()
            .map(|Entry { mode, id, path }| index_entry(format_args!("{mode:06o}"), id, path));
        self.tree_with(tree, gone.chain(kept).collect::<Vec<_>>().concat())
    }

    /// Makes a tree in which all that these patterns cover is as it is in `from`; returns which paths differed.
    ///
    /// # Errors
    /// There is no such tree or commit, or git refused.
    pub fn without(
        &self,
        covered: &PathPatterns,
        tree: &TreeId,
        from: &CommitId,
    ) -> Result<(TreeId, Vec<PathBuf>)> {
        let covered: Vec<PathBuf> = self
            .differing(from, tree)?
            .iter()
            .map(|(path, _)| path_of(path))
            .filter(|path| covered.covers(path))
            .collect();
        Ok((self.with_paths_of(tree, &covered, from)?, covered))
    }

    /// Makes a tree of another one and changes in the form of `update-index --index-info`.
    pub(crate) fn tree_with(&self, tree: &TreeId, changes: Vec<u8>) -> Result<TreeId> {
        let folder = self.scratch()?;
        let index = folder.path().join("index");
        let git = |words| {
            self.git_on_objects(words)
                .variable("GIT_INDEX_FILE", &index)
        };
        git("read-tree")
            .arg(&tree.0)
            .done()
            .map_err(|_| Error::unknown(tree))?;
        git("update-index -z --replace --index-info")
            .input(changes)
            .done()?;
        git("write-tree").tree()
    }

    /// Makes a tree of another one in which files have these modes and contents: each with its mode, its path, its content.
    pub(crate) fn tree_with_files<'a>(
        &self,
        tree: &TreeId,
        files: impl IntoIterator<Item = (String, &'a [u8], &'a [u8])>,
    ) -> Result<TreeId> {
        let mut changes = Vec::new();
        for (mode, path, content) in files {
            let id = self.write_blob(content)?;
            changes.extend(index_entry(mode, &id, path));
        }
        self.tree_with(tree, changes)
    }

    /// Writes what a file holds into the object store, as it is.
    pub(crate) fn write_blob(&self, content: impl Into<Vec<u8>>) -> Result<String> {
        self.git_on_objects("hash-object -w --no-filters --stdin")
            .input(content)
            .object_id()
    }

    /// Returns everything in a checkout of this repository as a tree, ignored files left out, without touching its index.
    ///
    /// # Errors
    /// The folder is no checkout of this repository, or git refused.
    pub fn tree_of_checkout(&self, folder: &Path) -> Result<TreeId> {
        let git = |words| {
            if folder == self.checkout_root() {
                self.git_at_checkout(words)
            } else {
                self.git_in(folder).line(words)
            }
        };
        let own = git("rev-parse --path-format=absolute --git-path index").path()?;
        let mut name = OsString::from(own.as_os_str());
        name.push(format!(".tm-{}", std::process::id()));
        let copy = PathBuf::from(name);
        if own.exists() {
            copy_with_time(&own, &copy)?;
        }
        let git = |words| git(words).variable("GIT_INDEX_FILE", copy.as_os_str());
        let tree = git("add --all -- .")
            .done()
            .and_then(|()| git("write-tree").tree());
        // A copy that stays does no harm: it is written anew each time.
        let _written_anew = std::fs::remove_file(&copy);
        tree
    }
}

impl Git {
    /// Runs the call and returns the tree that it wrote.
    pub(crate) fn tree(self) -> Result<TreeId> {
        self.object_id().map(TreeId)
    }
}

/// A change of a tree, in the form of `update-index --index-info`.
pub(crate) fn index_entry(mode: impl fmt::Display, id: &str, path: &[u8]) -> Vec<u8> {
    [format!("{mode} {id}\t").as_bytes(), path, b"\0"].concat()
}
