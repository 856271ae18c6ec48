//! Which files differ between two commits.

use crate::git::{Hooks, fields};
use crate::{Error, Repository, TreeId};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;

/// The message of a commit that is made of a tree only to be tested.
pub(crate) const TREE_TO_TEST: &str = "tm: a tree to be tested";

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
    /// Its path, relative to the repository; what is no UTF-8 in it is replaced.
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
    pub fn changed_files_to_tree(&self, from: &CommitId, to: &TreeId) -> Result<Vec<ChangedFile>, Error> {
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
        let library = self.library()?;
        let tree = library.find_tree(object_id(&tree.0)?).map_err(|_| unknown(&tree.0))?;
        let Ok(entry) = tree.get_path(Path::new(path)) else { return Ok(None) };
        let blob = library.find_blob(entry.id()).ok();
        Ok(blob.and_then(|blob| String::from_utf8(blob.content().to_vec()).ok()))
    }

    /// Makes a commit, on no branch, of a tree in which these files are as they are in `from`: with its content, or not
    /// there at all.
    ///
    /// # Errors
    /// There is no such tree or commit, or the object store can't be written.
    pub fn with_files_of(&self, tree: &TreeId, files: &[String], from: &CommitId) -> Result<CommitId, Error> {
        let library = self.library()?;
        let find = |id: &str| library.find_tree(object_id(id)?).map_err(|_| unknown(id));
        let (tree, source) = (find(&tree.0)?, find(&self.tree_of(from)?.0)?);
        let mut update = git2::build::TreeUpdateBuilder::new();
        for file in files {
            match source.get_path(Path::new(file)) {
                Ok(entry) => {
                    let mode = match entry.filemode() {
                        0o100_755 => git2::FileMode::BlobExecutable,
                        0o120_000 => git2::FileMode::Link,
                        _ => git2::FileMode::Blob,
                    };
                    update.upsert(file, entry.id(), mode);
                }
                Err(_) if tree.get_path(Path::new(file)).is_ok() => {
                    update.remove(file);
                }
                Err(_) => {}
            }
        }
        let made = update.create_updated(&library, &tree).map_err(|_| unknown(from.as_str()))?;
        self.commit_tree(&TreeId(made.to_string()), &[from], &format!("{TREE_TO_TEST}\n"))
    }

    /// Returns everything in a checkout of this repository as a tree, ignored files left out, without touching its index.
    ///
    /// # Errors
    /// The folder is no checkout of this repository, or git refused.
    pub fn tree_of_checkout(&self, folder: &Path) -> Result<TreeId, Error> {
        let git = || self.git_in(folder, Hooks::Off);
        let own = git().args(["rev-parse", "--path-format=absolute", "--git-path", "index"]).path()?;
        let mut name = OsString::from(own.as_os_str());
        name.push(format!(".tm-{}", std::process::id()));
        let copy = PathBuf::from(name);
        if own.exists() {
            copy_with_time(&own, &copy).map_err(Error::file("copy", &own))?;
        }
        let git = || git().variable("GIT_INDEX_FILE", copy.as_os_str());
        let tree = git().args(["add", "--all", "--", "."]).done().and_then(|()| git().arg("write-tree").object_id());
        // A copy that stays does no harm: it is written anew each time.
        let _written_anew = std::fs::remove_file(&copy);
        tree.map(TreeId)
    }

    /// Returns the commit where two histories part; `None` when they have nothing in common.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, Error> {
        let library = self.library()?;
        let found = library.merge_base(object_id(one.as_str())?, object_id(other.as_str())?);
        Ok(found.ok().map(|id| CommitId::new(id.to_string())))
    }

    /// Returns the first parent of a commit; `None` for one without.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn first_parent(&self, commit: &CommitId) -> Result<Option<CommitId>, Error> {
        let library = self.library()?;
        let found = library.find_commit(object_id(commit.as_str())?).map_err(|_| unknown(commit.as_str()))?;
        Ok(found.parent_id(0).ok().map(|id| CommitId::new(id.to_string())))
    }

    fn changes(&self, from: &CommitId, to: &str) -> Result<Vec<ChangedFile>, Error> {
        let listing =
            self.git().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]).commit(from).arg(to).bytes()?;
        let mut entries = fields(&listing);
        let mut changes = Vec::new();
        while let (Some(status), Some(path)) = (entries.next(), entries.next()) {
            let change = match status.first() {
                Some(b'A') => Change::Added,
                Some(b'D') => Change::Deleted,
                _ => Change::Modified,
            };
            changes.push(ChangedFile { path: String::from_utf8_lossy(path).into_owned(), change });
        }
        Ok(changes)
    }
}

/// Copies an index with its time of change: git takes a file for unchanged whose size and time the index has, unless
/// that time is not before the index's own.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)
}

fn object_id(id: &str) -> Result<git2::Oid, Error> {
    git2::Oid::from_str(id).map_err(|_| unknown(id))
}

fn unknown(id: &str) -> Error {
    Error::UnknownRevision { revision: id.to_owned() }
}
