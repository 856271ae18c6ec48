//! Trees: what one holds, which files differ between two, and those that are made of others, or of what lies in a folder.

use crate::as_written::reading_every_file;
use crate::files::copy_with_time;
use crate::git::{Git, entry, fields, joined, pairs, path_of};
use crate::indexed::listed_repositories;
use crate::lengths::LONGEST_TEXT;
use crate::library::{LINK, NESTED};
use crate::names::{name_of, path_named};
use crate::reader::Entry;
use crate::{Error, PathPatterns, Repository, Result, TreeId, Treeish};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;
use tm_scheduler::verdict::{Change, ChangeKind};
use tm_untrusted::MappedWrites;

impl Repository {
    /// Returns the files that differ between two trees, or those of two commits; a renamed one counts as deleted and
    /// added. Bytes of a path that are no UTF-8 are letters that stand for nothing else.
    ///
    /// # Errors
    /// There is no such commit or tree.
    pub fn changed_files(&self, from: &dyn Treeish, to: &dyn Treeish) -> Result<Vec<Change>> {
        let differing = self.differing(from, to)?.into_iter();
        let changes = differing.map(|(path, kind)| Change {
            path: name_of(&path),
            kind,
        });
        Ok(changes.collect())
    }

    /// As `changed_files`, their paths alone.
    ///
    /// # Errors
    /// There is no such commit or tree.
    pub fn changed_between(&self, from: &dyn Treeish, to: &dyn Treeish) -> Result<Vec<String>> {
        Ok(self
            .changed_files(from, to)?
            .into_iter()
            .map(|file| file.path)
            .collect())
    }

    /// As `changed_files`, their paths as git has them.
    pub(crate) fn differing(
        &self,
        from: &dyn Treeish,
        to: &dyn Treeish,
    ) -> Result<Vec<(Vec<u8>, ChangeKind)>> {
        self.assert_walkable(from)?;
        self.assert_walkable(to)?;
        let (from, to) = (from.to_string(), to.to_string());
        let change = |(status, path): (&[u8], &[u8])| {
            let kind = match status {
                [b'A', ..] => ChangeKind::Added,
                [b'D', ..] => ChangeKind::Deleted,
                _ => ChangeKind::Modified,
            };
            (path.to_owned(), kind)
        };
        let of_git = || {
            let listing = self
                .git("diff-tree -r -z --no-renames --name-status")
                .args(["--end-of-options", &from, &to])
                .bytes()?;
            Ok(pairs(&listing).map(change).collect())
        };
        self.read_or(|reader| reader.differences(&from, &to), of_git)
    }

    /// Returns the text of a file in a commit; `None` where there is none, where it is no UTF-8, or where it
    /// is longer than any that tm understands.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn text_at(&self, commit: &CommitId, path: &str) -> Result<Option<String>> {
        self.text_in_tree(&self.tree_of(commit)?, path)
    }

    /// Returns mode and text of a regular file in a commit; `None` where there is none, a link or a submodule among that,
    /// or where it is no UTF-8.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn regular_file_at(&self, commit: &CommitId, path: &str) -> Result<Option<(i32, String)>> {
        let name = path_named(path);
        let found = self.files_at(&self.tree_of(commit)?, &BTreeSet::from([name]))?;
        let is_regular = |file: &Entry| ![LINK, NESTED].contains(&file.mode);
        let Some(file) = found.into_iter().find(is_regular) else {
            return Ok(None);
        };
        let text = String::from_utf8(self.blob(&file.id)?).ok();
        Ok(text.map(|text| (file.mode, text)))
    }

    /// As `text_at`, in a tree that is not committed.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn text_in_tree(&self, tree: &TreeId, path: &str) -> Result<Option<String>> {
        let found = self.bytes_up_to(tree, path, LONGEST_TEXT)?;
        if found.is_none() && !self.has_tree(tree)? {
            return Err(Error::unknown(tree));
        }
        Ok(found.and_then(|content| String::from_utf8(content).ok()))
    }

    fn has_tree(&self, tree: &TreeId) -> Result<bool> {
        let of_git = || self.git("cat-file -e").arg(&tree.0).succeeds();
        self.read_or(|reader| reader.has_tree(&tree.0).map(|()| true), of_git)
    }

    /// Returns the content of a file in a tree; `None` where there is none.
    ///
    /// # Errors
    /// git refused.
    pub fn bytes_in_tree(&self, tree: &TreeId, path: &str) -> Result<Option<Vec<u8>>> {
        self.bytes_up_to(tree, path, u64::MAX)
    }

    /// As `bytes_in_tree`; what is longer counts as not there.
    fn bytes_up_to(&self, tree: &TreeId, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let path = path_named(path);
        let of_git = || {
            let place = path_of(&[tree.0.as_bytes(), b":", &path].concat());
            let answer = self.git("cat-file blob").arg(place).answer()?;
            Ok((answer.code == 0).then_some(answer.stdout))
        };
        self.read_or(
            |reader| Some(reader.file(&tree.0, &path, most)?.here()),
            || self.ask_or(|asked| asked.file(&tree.0, &path).map(Some), of_git),
        )
    }

    /// Returns the paths of all files of a tree, symbolic links among them.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn paths(&self, tree: &TreeId) -> Result<BTreeSet<String>> {
        Ok(self
            .files(tree, &|_, _| true)?
            .iter()
            .map(Entry::name)
            .collect())
    }

    /// Returns the paths of the repositories within a tree (submodules).
    ///
    /// # Errors
    /// There is no such tree.
    pub fn nested_repositories(&self, tree: &TreeId) -> Result<Vec<String>> {
        Ok(self
            .files(tree, &|mode, _| mode == NESTED)?
            .iter()
            .map(Entry::name)
            .collect())
    }

    /// Returns the symbolic links of a tree: where each leads to, by its path.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn links(&self, tree: &TreeId) -> Result<BTreeMap<String, String>> {
        self.files(tree, &|mode, _| mode == LINK)?
            .iter()
            .map(|link| Ok((link.name(), name_of(&self.blob(&link.id)?))))
            .collect()
    }

    /// Returns mode, kind, id and path of each file of a tree that the patterns cover, a line each.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn files_covered(&self, tree: &TreeId, patterns: &PathPatterns) -> Result<Vec<String>> {
        let covered = self.files(tree, &|_, path| patterns.covers(&path_of(path)))?;
        let line = |Entry { mode, id, path }: Entry| {
            let kind = if mode == NESTED { "commit" } else { "blob" };
            format!("{mode:06o} {kind} {id}\t{}", name_of(&path))
        };
        Ok(covered.into_iter().map(line).collect())
    }

    /// The files of a tree that are wanted by mode and path.
    pub(crate) fn files(
        &self,
        tree: &TreeId,
        is_wanted: &dyn Fn(i32, &[u8]) -> bool,
    ) -> Result<Vec<Entry>> {
        self.assert_walkable(tree)?;
        let wanted = |bytes: &[u8]| {
            let ([mode, _, id], path) = entry(bytes)?;
            let (mode, path) = (i32::from_str_radix(&mode, 8).ok()?, path.to_owned());
            is_wanted(mode, &path).then_some(Entry { mode, id, path })
        };
        let of_git = || {
            let call = self.git("ls-tree -r -z --full-tree").arg(&tree.0);
            let listing = call.bytes()?;
            Ok(fields(&listing).filter_map(wanted).collect())
        };
        self.read_or(
            |reader| reader.entries(tree, is_wanted),
            || self.ask_or(|asked| asked.entries(&tree.0, is_wanted), of_git),
        )
    }

    /// The content of a blob.
    pub(crate) fn blob(&self, id: &str) -> Result<Vec<u8>> {
        let of_git = || self.git_on_objects("cat-file blob").arg(id).bytes();
        self.read_or(
            |reader| reader.blob(id),
            || self.ask_or(|asked| asked.blob(id), of_git),
        )
    }

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
        let found = self.files_at(&source, &wanted)?;
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
    /// There is no such tree or commit, what else differs is too long to be read (`NotTaken`), or git refused.
    pub fn without(
        &self,
        covered: &PathPatterns,
        tree: &TreeId,
        from: &CommitId,
    ) -> Result<(TreeId, Vec<PathBuf>)> {
        let differing = self.differing(from, tree)?.into_iter();
        let (covered, others): (BTreeSet<_>, BTreeSet<_>) = differing
            .map(|(path, _)| path)
            .partition(|path| covered.covers(&path_of(path)));
        self.assert_short(tree, &others)?;
        let covered: Vec<PathBuf> = covered.iter().map(|path| path_of(path)).collect();
        Ok((self.with_paths_of(tree, &covered, from)?, covered))
    }

    /// Returns what of a tree may be committed on a base, whoever made it: what is never committed is as in the base. Names
    /// the paths that differed there, and refuses a tree that has repositories of its own which the base has not.
    pub(crate) fn committable(
        &self,
        whole: &TreeId,
        base: &CommitId,
        never_commit: &PathPatterns,
    ) -> Result<(TreeId, Vec<PathBuf>)> {
        let known = self.content_of(&self.tree_of(base)?)?.places();
        let mut nested = self.content_of(whole)?.places();
        nested.retain(|path| !known.contains(path));
        if !nested.is_empty() {
            return Err(Error::NestedRepositories(nested));
        }
        let (tree, left_out) = self.without(never_commit, whole, base)?;
        self.assert_accepted(&tree, base)?;
        Ok((tree, left_out))
    }

    /// Makes a tree of another one and changes in the form of `update-index --index-info`.
    pub(crate) fn tree_with(&self, tree: &TreeId, changes: Vec<u8>) -> Result<TreeId> {
        self.assert_walkable(tree)?;
        let folder = self.scratch()?;
        let index = folder.path().join("index");
        let git = |words| {
            self.git_on_objects(words)
                .variable("GIT_INDEX_FILE", &index)
        };
        git("read-tree")
            .arg(&tree.0)
            .done()
            .map_err(|error| match error {
                Error::Git { .. } => Error::unknown(tree),
                error => error,
            })?;
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

    /// Returns everything in the checkout as a tree, ignored files left out, without touching its index.
    ///
    /// # Errors
    /// git refused.
    pub fn tree_of_checkout(&self) -> Result<TreeId> {
        let (folder, git) = (self.checkout_root(), |words| self.git_at_checkout(words));
        let own = git("rev-parse --path-format=absolute --git-path index").path()?;
        // Nobody else writes there: whoever works in the checkout may write beside the index.
        let scratch = self.scratch()?;
        let copy = scratch.path().join("index");
        if own.exists() {
            copy_with_time(&own, &copy)?;
            self.assert_index_walkable(&copy)?;
        }
        let git = |words| git(words).variable("GIT_INDEX_FILE", copy.as_os_str());
        if !copy.exists() {
            // What is ignored and tracked is known by the commit alone then.
            git("read-tree HEAD").done()?;
        }
        // git would ask the one that is there what it holds, and that one has settings of its own, which may name programs.
        let within = listed_repositories(git("ls-files --stage -z"))?;
        if !within.is_empty() {
            git("update-index --skip-worktree -z --stdin")
                .input(joined(&within))
                .done()?;
        }
        let beside = own.parent().unwrap_or(folder);
        let add = || git("add --all -- .").done();
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let mapped_writes = if device(beside) == device(folder) {
            MappedWrites::of(beside)
        } else {
            MappedWrites::Unnoticed
        };
        reading_every_file(&copy, mapped_writes, add)?;
        git("write-tree").tree()
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
