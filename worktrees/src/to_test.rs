//! Commits that are made to be tested and never land: a tree with other texts, or with files of another commit.
//!
//! Where the library can write the object store, it takes no process: what is made here may be lost with the power, since
//! it is made again. What is to last is git's to write.

use crate::reader::{Entry, Reader};
use crate::trees::{LINK, PLAIN};
use crate::{Error, Repository, TreeId};
use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tm_scheduler::CommitId;

/// The message of a commit that is made of a tree only to be tested.
const TREE_TO_TEST: &str = "tm: a tree to be tested";

impl Repository {
    /// Makes a commit of a tree, on no branch, so that it can be checked out and tested.
    ///
    /// # Errors
    /// There is no such tree or commit, or the object store can't be written.
    pub fn commit_to_test(&self, tree: &TreeId, on: &CommitId) -> Result<CommitId, Error> {
        self.commit_tree(tree, &[on], &format!("{TREE_TO_TEST}\n"))
    }

    /// Makes a commit, on no branch, of a tree in which these files are as they are in `from`: with its content, or not
    /// there at all.
    ///
    /// # Errors
    /// There is no such tree or commit, or the object store can't be written.
    pub fn with_files_of(&self, tree: &TreeId, files: &[String], from: &CommitId) -> Result<CommitId, Error> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let made = self.with_paths_of(tree, &files, from)?;
        self.commit_to_test(&made, from)
    }

    /// Makes a commit, on no branch, of a tree in which these files have these texts. A file that is there keeps its
    /// mode; a symbolic link gives way to a file.
    ///
    /// # Errors
    /// There is no such tree, or the object store can't be written.
    pub fn with_texts(&self, tree: &TreeId, texts: &[(String, String)], parent: &CommitId) -> Result<CommitId, Error> {
        let is_meant = |path: &[u8]| texts.iter().any(|(meant, _)| meant.as_bytes() == path);
        let there = self.files(tree, &|mode, path| mode != LINK && is_meant(path))?;
        let modes: BTreeMap<Vec<u8>, i32> = there.into_iter().map(|Entry { mode, path, .. }| (path, mode)).collect();
        let mode_of = |path: &str| modes.get(path.as_bytes()).copied().unwrap_or(PLAIN);
        let texts: Vec<(&str, i32, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), mode_of(path), text.as_str())).collect();
        let made = match self.reader().and_then(|reader| reader.with_texts(tree, &texts)) {
            Some(made) => made,
            None => self.with_texts_by_git(tree, &texts)?,
        };
        self.commit_to_test(&made, parent)
    }

    fn with_texts_by_git(&self, tree: &TreeId, texts: &[(&str, i32, &str)]) -> Result<TreeId, Error> {
        let mut changes = Vec::new();
        for (path, mode, text) in texts {
            let write = self.git_on_objects().args(["hash-object", "-w", "--stdin"]);
            let id = write.input(text.as_bytes()).object_id()?;
            changes.extend_from_slice(format!("{mode:06o} {id}\t{path}\0").as_bytes());
        }
        self.tree_with(tree, changes)
    }
}

impl Reader {
    /// Makes a tree in which files have these modes and texts.
    fn with_texts(&self, tree: &TreeId, texts: &[(&str, i32, &str)]) -> Option<TreeId> {
        let git = self.writer()?;
        let mut update = TreeUpdateBuilder::new();
        for (path, mode, text) in texts {
            let mode = if *mode == PLAIN { FileMode::Blob } else { FileMode::BlobExecutable };
            update.upsert(*path, git.blob(text.as_bytes()).ok()?, mode);
        }
        let base = git.find_tree(Oid::from_str(&tree.0).ok()?).ok()?;
        Some(TreeId(update.create_updated(&git, &base).ok()?.to_string()))
    }
}
