//! Commits that are made to be tested and never land: a tree with other texts, or with files of another commit.
//!
//! Where the library can write the object store, it takes no process: what is made here may be lost with the power, since
//! it is made again, whatever the settings say of how objects are written.

use crate::git::path_of;
use crate::library::{LINK, PLAIN};
use crate::names::path_named;
use crate::new_commit::NewCommit;
use crate::reader::{Entry, Reader, id};
use crate::{MergePreview, Repository, Result, TreeId};
use git2::FileMode;
use git2::build::TreeUpdateBuilder;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tm_scheduler::CommitId;

/// The message of a commit that is made of a tree only to be tested.
const TREE_TO_TEST: &str = "tm: a tree to be tested\n";

impl Repository {
    /// Makes a commit of a tree, on no branch, so that it can be checked out and tested.
    ///
    /// # Errors
    /// There is no such tree or commit, or the object store can't be written.
    pub fn commit_to_test(&self, tree: &TreeId, on: &CommitId) -> Result<CommitId> {
        self.tree_to_test(tree, &[on])
    }

    /// Makes the merge a commit on no branch, so that it can be tested, and others be merged into it.
    ///
    /// # Errors
    /// The object store can't be written.
    pub fn merge_to_test(&self, preview: &MergePreview) -> Result<CommitId> {
        self.tree_to_test(&preview.tree, &[&preview.head, &preview.commit])
    }

    fn tree_to_test(&self, tree: &TreeId, parents: &[&CommitId]) -> Result<CommitId> {
        let new = NewCommit {
            tree,
            parents,
            message: TREE_TO_TEST,
        };
        let people = self.people()?;
        self.read_or(
            |reader| new.made(&reader.writer()?, people?),
            || self.commit_tree(tree, parents, TREE_TO_TEST),
        )
    }

    /// Makes a commit, on no branch, of a tree in which these files are as they are in `from`: with its content, or not
    /// there at all.
    ///
    /// # Errors
    /// There is no such tree or commit, or the object store can't be written.
    pub fn with_files_of(
        &self,
        tree: &TreeId,
        files: &[String],
        from: &CommitId,
    ) -> Result<CommitId> {
        let files: Vec<PathBuf> = files
            .iter()
            .map(|file| path_of(&path_named(file)))
            .collect();
        let made = self.with_paths_of(tree, &files, from)?;
        self.commit_to_test(&made, from)
    }

    /// Makes a commit, on no branch, of a tree in which these files have these texts. A file that is there keeps its
    /// mode; a symbolic link gives way to a file.
    ///
    /// # Errors
    /// There is no such tree, or the object store can't be written.
    pub fn with_texts(
        &self,
        tree: &TreeId,
        texts: &[(String, String)],
        parent: &CommitId,
    ) -> Result<CommitId> {
        let texts: BTreeMap<Vec<u8>, &str> = texts
            .iter()
            .map(|(path, text)| (path_named(path), text.as_str()))
            .collect();
        let modes: BTreeMap<Vec<u8>, i32> = self
            .files(tree, &|mode, path| mode != LINK && texts.contains_key(path))?
            .into_iter()
            .map(|Entry { mode, path, .. }| (path, mode))
            .collect();
        let mode_of = |path: &[u8]| modes.get(path).copied().unwrap_or(PLAIN);
        let texts: Vec<(&[u8], i32, &str)> = texts
            .iter()
            .map(|(path, text)| (&**path, mode_of(path), *text))
            .collect();
        let made = self.read_or(
            |reader| reader.with_texts(tree, &texts),
            || {
                let files = texts.iter();
                let files =
                    files.map(|(path, mode, text)| (format!("{mode:06o}"), *path, text.as_bytes()));
                self.tree_with_files(tree, files)
            },
        )?;
        self.commit_to_test(&made, parent)
    }
}

impl Reader {
    /// Makes a tree in which files have these modes and texts.
    fn with_texts(&self, tree: &TreeId, texts: &[(&[u8], i32, &str)]) -> Option<TreeId> {
        let git = self.writer()?;
        let mut update = TreeUpdateBuilder::new();
        for (path, mode, text) in texts {
            let mode = if *mode == PLAIN {
                FileMode::Blob
            } else {
                FileMode::BlobExecutable
            };
            update.upsert(*path, git.blob(text.as_bytes()).ok()?, mode);
        }
        let base = git.find_tree(id(&tree.0)?).ok()?;
        Some(TreeId(update.create_updated(&git, &base).ok()?.to_string()))
    }
}
