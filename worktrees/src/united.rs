//! Looks closer at conflicts of lines: where each is, and the tree in which both sides' added lines stand.

use crate::merge::Merged;
use crate::{Conflict, ConflictedText, Error, Landing, MergePreview, Repository, TreeId};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tm_scheduler::CommitId;
use tm_scheduler::merging::{Resolution, Segment, is_joined_by_lines, marker_size, segments, union};

/// What a file becomes in a merged tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergedFile<'a> {
    /// The conflict that it settles.
    pub of: &'a ConflictedText,
    /// Its content.
    pub content: Vec<u8>,
}

impl Repository {
    /// As `land`, with what both sides only added taken from both.
    ///
    /// # Errors
    /// git refused.
    pub fn land_united(&self, head: &CommitId, commit: &CommitId) -> Result<Landing, Error> {
        let conflict = match self.land(head, commit)? {
            Landing::Conflict(conflict) => conflict,
            landing => return Ok(landing),
        };
        Ok(match self.united(&conflict)? {
            Some(tree) => Landing::Clean(MergePreview {
                tree,
                head: head.clone(),
                commit: commit.clone(),
                resolution: Some(Resolution::Union),
            }),
            None => Landing::Conflict(conflict),
        })
    }

    /// Merges a commit into another as far as that goes: the merged tree, and what conflicts in it, where anything does.
    ///
    /// # Errors
    /// git refused.
    pub fn merged_as_far(&self, into: &CommitId, commit: &CommitId) -> Result<(TreeId, Option<Conflict>), Error> {
        Ok(match self.merge_trees(into, commit)? {
            Merged::Tree(tree) => (tree, None),
            Merged::Conflict(conflict) => (conflict.marked.clone(), Some(conflict)),
        })
    }

    /// Returns the tree in which what both sides added stands, what is merged into first; `None` where a line is at odds.
    ///
    /// # Errors
    /// git refused.
    pub fn united(&self, conflict: &Conflict) -> Result<Option<TreeId>, Error> {
        let Some(texts) = &conflict.texts else { return Ok(None) };
        let mut files = Vec::new();
        for of in texts {
            let Some(content) = self.united_text(of)? else { return Ok(None) };
            files.push(MergedFile { of, content });
        }
        self.with_merged(&conflict.marked, &files).map(Some)
    }

    /// Returns the text in which what both sides added stands.
    ///
    /// # Errors
    /// git refused.
    pub fn united_text(&self, of: &ConflictedText) -> Result<Option<Vec<u8>>, Error> {
        if !is_joined_by_lines(&of.path.to_string_lossy()) {
            return Ok(None);
        }
        let Some(segments) = self.segments(of)? else { return Ok(None) };
        let Some(mut text) = union(&segments) else { return Ok(None) };
        let [_, ours, theirs] = self.versions(of)?;
        // Where no side ends its last line, neither does the merged text.
        if [&ours, &theirs].iter().all(|version| !version.ends_with(b"\n")) {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        Ok(Some(text.into_bytes()))
    }

    /// Returns what is settled in a file and what is not; `None` where a version is no text.
    ///
    /// # Errors
    /// git refused.
    pub fn segments(&self, of: &ConflictedText) -> Result<Option<Vec<Segment>>, Error> {
        let mut texts = Vec::new();
        for version in self.versions(of)? {
            match String::from_utf8(version) {
                Ok(text) if !text.contains('\0') => texts.push(with_ended_line(text)),
                Ok(_) | Err(_) => return Ok(None),
            }
        }
        let [base, ours, theirs] = texts.as_slice() else { unreachable!("there are three versions") };
        let marker = marker_size(&[base, ours, theirs]);
        let folder = tempfile::tempdir().map_err(Error::file("write in", std::env::temp_dir()))?;
        let mut git = self.git_on_objects().args(["merge-file", "-p", "--diff3", &format!("--marker-size={marker}")]);
        for (name, text) in [("ours", ours), ("base", base), ("theirs", theirs)] {
            let path = folder.path().join(name);
            let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
            written.map_err(Error::file("write", &path))?;
            git = git.arg(&path);
        }
        let answer = git.answer()?;
        // The exit code counts the conflicts; beyond 127 it is an error.
        if !(0..128).contains(&answer.code) {
            return Err(answer.into_error(&["merge-file".to_owned()]));
        }
        Ok(String::from_utf8(answer.stdout).ok().and_then(|merged| segments(&merged, marker)))
    }

    /// Returns the content of the three versions of a file in conflict: before (nothing, where both sides made it), what is
    /// merged into, what is merged.
    ///
    /// # Errors
    /// git refused.
    pub fn versions(&self, of: &ConflictedText) -> Result<[Vec<u8>; 3], Error> {
        let content = |blob: &str| self.git_on_objects().args(["cat-file", "blob", blob]).bytes();
        let base = of.base.as_deref().map_or_else(|| Ok(Vec::new()), content)?;
        Ok([base, content(&of.ours)?, content(&of.theirs)?])
    }

    /// Makes a tree of the marked one in which these files are settled.
    ///
    /// # Errors
    /// git refused, or the object store can't be written.
    pub fn with_merged(&self, marked: &TreeId, files: &[MergedFile<'_>]) -> Result<TreeId, Error> {
        let mut changes = Vec::new();
        for MergedFile { of, content } in files {
            let git = self.git_on_objects().args(["hash-object", "-w", "--no-filters", "--stdin"]);
            let blob = git.input(content.clone()).object_id()?;
            changes.extend(entry(&of.mode, &blob, &of.path));
        }
        self.tree_with(marked, changes)
    }

    /// Makes a tree of another one in which these files in conflict are as they are where the merge goes.
    ///
    /// # Errors
    /// git refused, or the object store can't be written.
    pub fn with_ours(&self, tree: &TreeId, files: &[&ConflictedText]) -> Result<TreeId, Error> {
        let changes = files.iter().flat_map(|of| entry(&of.mode, &of.ours, &of.path)).collect();
        self.tree_with(tree, changes)
    }
}

/// An entry in the form of `update-index --index-info`.
fn entry(mode: &str, blob: &str, path: &Path) -> Vec<u8> {
    [format!("{mode} {blob}\t").as_bytes(), path.as_os_str().as_bytes(), b"\0"].concat()
}

/// Ends the last line, as the others are ended, so that lines added after it are no change of it.
fn with_ended_line(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(if text.contains("\r\n") { "\r\n" } else { "\n" });
    }
    text
}
