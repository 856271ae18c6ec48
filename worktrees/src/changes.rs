//! Which files differ between two commits.

use crate::git::Hooks;
use crate::names::name_of;
use crate::own::OwnGit;
use crate::reader::{Difference, DifferenceKind, Entry};
use crate::{Error, Repository, TreeId};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

/// What happened to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// It is new.
    Added,
    /// Its content, mode or kind is another.
    Modified,
    /// It is gone.
    Deleted,
}

/// A file that differs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedFile {
    /// Its path, relative to the repository; bytes in it that are no UTF-8 are letters that stand for nothing else.
    pub path: String,
    /// What happened to it.
    pub change: Change,
}

impl Repository {
    /// Returns the files that differ; a renamed one counts as deleted and added.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn changed_files(&self, from: &CommitId, to: &CommitId) -> Result<Vec<ChangedFile>, Error> {
        self.changes(from, to.as_str())
    }

    /// As `changed_files`, against a tree that is not committed.
    ///
    /// # Errors
    /// There is no such commit or tree.
    pub fn changed_files_to_tree(
        &self,
        from: &CommitId,
        to: &TreeId,
    ) -> Result<Vec<ChangedFile>, Error> {
        self.changes(from, &to.0)
    }

    /// Returns the text of a file in a commit; `None` where there is none, or where it is no UTF-8.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn text_at(&self, commit: &CommitId, path: &str) -> Result<Option<String>, Error> {
        self.text_in_tree(&self.tree_of(commit)?, path)
    }

    /// As `text_at`, in a tree that is not committed.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn text_in_tree(&self, tree: &TreeId, path: &str) -> Result<Option<String>, Error> {
        match self.bytes_in_tree(tree, path)? {
            Some(content) => Ok(String::from_utf8(content).ok()),
            None if self.has_tree(tree)? => Ok(None),
            None => Err(unknown(&tree.0)),
        }
    }

    fn has_tree(&self, tree: &TreeId) -> Result<bool, Error> {
        match self.reader().and_then(|reader| reader.has_tree(&tree.0)) {
            Some(()) => Ok(true),
            None => Ok(self.git().line("cat-file -e").arg(&tree.0).answer()?.code == 0),
        }
    }

    /// Makes a tree in which these paths are as they are in `from`: with its content, or not there at all.
    pub(crate) fn with_paths_of(
        &self,
        tree: &TreeId,
        paths: &[PathBuf],
        from: &CommitId,
    ) -> Result<TreeId, Error> {
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
        let mut changes = Vec::new();
        // What is gone comes first, so that a file can stand where a folder was.
        for path in wanted.difference(&there) {
            let nothing = format!("0 {}\t", "0".repeat(source.0.len()));
            changes.extend([nothing.as_bytes(), path, b"\0"].concat());
        }
        for Entry { mode, id, path } in &found {
            let entry = format!("{mode:06o} {id}\t");
            changes.extend([entry.as_bytes(), path, b"\0"].concat());
        }
        self.tree_with(tree, changes)
    }

    /// Makes a tree of another one and changes in the form of `update-index --index-info`.
    pub(crate) fn tree_with(&self, tree: &TreeId, changes: Vec<u8>) -> Result<TreeId, Error> {
        let common = self
            .own()
            .map_or_else(|| self.common_dir.clone(), OwnGit::common);
        let folder = tempfile::tempdir_in(&common).map_err(Error::file("write", &common))?;
        let index = folder.path().join("index");
        let git = || self.git_on_objects().variable("GIT_INDEX_FILE", &index);
        git()
            .args(["read-tree", &tree.0])
            .done()
            .map_err(|_| unknown(&tree.0))?;
        git()
            .line("update-index -z --replace --index-info")
            .input(changes)
            .done()?;
        git().arg("write-tree").object_id().map(TreeId)
    }

    /// Returns everything in a checkout of this repository as a tree, ignored files left out, without touching its index.
    ///
    /// # Errors
    /// The folder is no checkout of this repository, or git refused.
    pub fn tree_of_checkout(&self, folder: &Path) -> Result<TreeId, Error> {
        let git = || {
            if folder == self.checkout_root() {
                self.git_at_checkout()
            } else {
                self.git_in(folder, Hooks::Off)
            }
        };
        let own = git()
            .line("rev-parse --path-format=absolute --git-path index")
            .path()?;
        let mut name = OsString::from(own.as_os_str());
        name.push(format!(".tm-{}", std::process::id()));
        let copy = PathBuf::from(name);
        if own.exists() {
            copy_with_time(&own, &copy).map_err(Error::file("copy", &own))?;
        }
        let git = || git().variable("GIT_INDEX_FILE", copy.as_os_str());
        let tree = git()
            .line("add --all -- .")
            .done()
            .and_then(|()| git().arg("write-tree").object_id());
        // A copy that stays does no harm: it is written anew each time.
        let _written_anew = std::fs::remove_file(&copy);
        tree.map(TreeId)
    }

    /// Returns the commit where two histories part; `None` when they have nothing in common.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, Error> {
        let found = self
            .git()
            .arg("merge-base")
            .commit(one)
            .commit(other)
            .text_if_any()?;
        Ok(found.map(CommitId::new))
    }

    /// Returns the first parent of a commit; `None` for one without.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn first_parent(&self, commit: &CommitId) -> Result<Option<CommitId>, Error> {
        Ok(self.parents(commit)?.into_iter().next())
    }

    /// Returns the parents of a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn parents(&self, commit: &CommitId) -> Result<Vec<CommitId>, Error> {
        if let Some(parents) = self.reader().and_then(|reader| reader.parents(commit)) {
            return Ok(parents);
        }
        let parents = self
            .git()
            .line("log -1 --format=%P")
            .commit(commit)
            .text()?;
        Ok(parents
            .split(' ')
            .filter(|id| !id.is_empty())
            .map(CommitId::new)
            .collect())
    }

    fn changes(&self, from: &CommitId, to: &str) -> Result<Vec<ChangedFile>, Error> {
        let change = |Difference { path, kind }: Difference| ChangedFile {
            path: name_of(&path),
            change: match kind {
                DifferenceKind::Added => Change::Added,
                DifferenceKind::Deleted => Change::Deleted,
                DifferenceKind::Modified => Change::Modified,
            },
        };
        Ok(self
            .differing(from.as_str(), to)?
            .into_iter()
            .map(change)
            .collect())
    }
}

/// Copies an index with its time of change: git takes a file for unchanged whose size and time the index has, unless
/// that time is not before the index's own.
pub(crate) fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    std::fs::File::options()
        .write(true)
        .open(to)?
        .set_modified(modified)
}

fn unknown(id: &str) -> Error {
    Error::UnknownRevision {
        revision: id.to_owned(),
    }
}
