//! Looks closer at conflicts of lines: where each is, the tree in which both sides' added lines stand, and whether the tree
//! of a merge is what merging gives, by the way that the merge itself names.

use crate::tree::index_entry;
use crate::{Conflict, ConflictedText, Landing, OrFailedTo as _, Repository, Result, TreeId};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tm_scheduler::CommitId;
use tm_scheduler::merging::{
    Resolution, Segment, is_joined_by_lines, lock_file, marker_size, segments, union,
    with_ended_line, without_removed,
};
use tm_scheduler::verdict::is_test_path;

/// Marks as long as a line of the text wants them, at each of its lines, are no longer than this, in bytes: the usual ones
/// are in a text of nothing but ends of lines.
const LONGEST_MARKS: usize = 128 * 1024 * 1024;

/// What a file becomes in a merged tree.
#[derive(Debug)]
pub struct MergedFile<'a> {
    /// The conflict that it settles.
    pub of: &'a ConflictedText,
    /// Its content.
    pub content: Vec<u8>,
}

/// What the tree of a merge is to its parents.
#[derive(Debug, Eq, PartialEq)]
pub enum MergedTree {
    /// What merging them gives; where lines alone give nothing, what both sides added.
    AsMerged,
    /// Where merging lines gives nothing, something else made it so, and touched nothing but what conflicts.
    Resolved,
    /// Another one than merging them gives.
    Other,
    /// Merging them gives none: they conflict in these files.
    Conflict(Vec<String>),
}

impl MergedTree {
    /// Tells whether it is what merging the parents gives, by the way that the merge itself names.
    pub const fn is_what_parents_give(&self) -> bool {
        matches!(self, Self::AsMerged | Self::Resolved)
    }
}

impl Repository {
    /// As `land`, with what both sides only added taken from both.
    ///
    /// # Errors
    /// git refused.
    pub fn land_united(&self, head: &CommitId, commit: &CommitId) -> Result<Landing> {
        let conflict = match self.land(head, commit)? {
            Landing::Conflict(conflict) => conflict,
            landing => return Ok(landing),
        };
        Ok(match self.united(&conflict)? {
            Some(tree) => Landing::clean(tree, head, commit, Some(Resolution::Union)),
            None => Landing::Conflict(conflict),
        })
    }

    /// Returns the tree in which what both sides added stands, what is merged into first; `None` where a line is at odds.
    ///
    /// # Errors
    /// git refused.
    pub fn united(&self, conflict: &Conflict) -> Result<Option<TreeId>> {
        self.settled(conflict, |of| self.united_text(of))
    }

    /// The tree in which each file in conflict is what `settle` makes of it; `None` where it makes nothing of one.
    fn settled(
        &self,
        conflict: &Conflict,
        settle: impl Fn(&ConflictedText) -> Result<Option<Vec<u8>>>,
    ) -> Result<Option<TreeId>> {
        let Some(texts) = &conflict.texts else {
            return Ok(None);
        };
        let mut files = Vec::new();
        for of in texts {
            let Some(content) = settle(of)? else {
                return Ok(None);
            };
            files.push(MergedFile { of, content });
        }
        self.with_merged(&conflict.marked, &files).map(Some)
    }

    /// Returns the text in which what both sides added stands.
    ///
    /// # Errors
    /// git refused.
    pub fn united_text(&self, of: &ConflictedText) -> Result<Option<Vec<u8>>> {
        let path = of.path.to_string_lossy();
        // Of two files that were made apart, only those of tests are as good one after the other.
        if !is_joined_by_lines(&path) || of.base.is_none() && !is_test_path(&path) {
            return Ok(None);
        }
        let versions = self.versions(of)?;
        let Some(mut text) = self.segments_of(&versions)?.as_deref().and_then(union) else {
            return Ok(None);
        };
        // Where no side ends its last line, neither does the merged text.
        let sides = &versions[1..];
        if sides.iter().all(|version| !version.ends_with(b"\n")) {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        Ok(Some(text.into_bytes()))
    }

    /// Returns the tree without the lines that are taken back, with those that others added around them; `None` where any
    /// other line is at odds.
    pub(crate) fn without_lines_of(&self, conflict: &Conflict) -> Result<Option<TreeId>> {
        self.settled(conflict, |of| {
            if of.base.is_none() || !is_joined_by_lines(&of.path.to_string_lossy()) {
                return Ok(None);
            }
            Ok(self
                .segments(of)?
                .as_deref()
                .and_then(without_removed)
                .map(String::into_bytes))
        })
    }

    /// Returns what is settled in a file and what is not; `None` where a version is no text.
    ///
    /// # Errors
    /// git refused.
    pub fn segments(&self, of: &ConflictedText) -> Result<Option<Vec<Segment>>> {
        self.segments_of(&self.versions(of)?)
    }

    fn segments_of(&self, versions: &[Vec<u8>; 3]) -> Result<Option<Vec<Segment>>> {
        let is_text = |version: &Vec<u8>| {
            let text = std::str::from_utf8(version);
            text.is_ok_and(|text| !text.contains('\0'))
        };
        if !versions.iter().all(is_text) {
            return Ok(None);
        }
        let texts = versions
            .each_ref()
            .map(|version| with_ended_line(String::from_utf8_lossy(version).into_owned()));
        let marker = marker_size(&texts.each_ref().map(String::as_str));
        let lines = texts.iter().map(|text| text.lines().count()).max();
        if lines.unwrap_or_default().saturating_mul(marker) > LONGEST_MARKS {
            return Ok(None);
        }
        let files = VersionFiles::of(texts.each_ref().map(String::as_bytes))?;
        let git = self
            .git_on_objects("merge-file -p --diff3")
            .merging()
            .arg(format!("--marker-size={marker}"))
            .args(["ours", "base", "theirs"].map(|name| files.path().join(name)));
        // The exit code counts the conflicts; beyond 127 it is an error.
        Ok(String::from_utf8(git.answer_up_to(127)?.stdout)
            .ok()
            .and_then(|merged| segments(&merged, marker)))
    }

    /// Returns the content of the three versions of a file in conflict: before (nothing, where both sides made it), what is
    /// merged into, what is merged.
    ///
    /// # Errors
    /// git refused.
    pub fn versions(&self, of: &ConflictedText) -> Result<[Vec<u8>; 3]> {
        let content = |blob: &str| self.blob(blob);
        let base = of.base.as_deref().map_or_else(|| Ok(Vec::new()), content)?;
        Ok([base, content(&of.ours)?, content(&of.theirs)?])
    }

    /// Writes the three versions of a file into a folder of their own.
    ///
    /// # Errors
    /// git or the disk refused.
    pub fn version_files(&self, of: &ConflictedText) -> Result<VersionFiles> {
        let [base, ours, theirs] = self.versions(of)?;
        VersionFiles::of([&base, &ours, &theirs])
    }

    /// Makes a tree of the marked one in which these files are settled.
    ///
    /// # Errors
    /// git refused, or the object store can't be written.
    pub fn with_merged(&self, marked: &TreeId, files: &[MergedFile<'_>]) -> Result<TreeId> {
        let files = files.iter().map(|MergedFile { of, content }| {
            (of.mode.clone(), of.path.as_os_str().as_bytes(), &**content)
        });
        self.tree_with_files(marked, files)
    }

    /// Tells whether the tree of a merge of two is what merging them gives, by the way that the merge itself names.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn merged_tree(
        &self,
        one: &CommitId,
        other: &CommitId,
        tree: &TreeId,
        resolution: Option<Resolution>,
    ) -> Result<MergedTree> {
        match (self.land(one, other)?, resolution) {
            (Landing::Clean(preview), None) if preview.tree == *tree => Ok(MergedTree::AsMerged),
            (Landing::AlreadyLanded, None) if self.tree_of(one)? == *tree => {
                Ok(MergedTree::AsMerged)
            }
            (Landing::Clean(_) | Landing::AlreadyLanded, _) => Ok(MergedTree::Other),
            (Landing::Conflict(conflict), Some(resolution)) => {
                self.resolved_tree(&conflict, tree, resolution)
            }
            (Landing::Conflict(conflict), None) => Ok(MergedTree::Conflict(conflict.files)),
        }
    }

    fn resolved_tree(
        &self,
        conflict: &Conflict,
        tree: &TreeId,
        resolution: Resolution,
    ) -> Result<MergedTree> {
        let files = || MergedTree::Conflict(conflict.files.clone());
        Ok(match (resolution, &conflict.texts) {
            (Resolution::Union, _) => match self.united(conflict)? {
                Some(united) if united == *tree => MergedTree::AsMerged,
                Some(_) => MergedTree::Other,
                None => files(),
            },
            (Resolution::LockFile | Resolution::Driver, Some(texts)) => {
                if self.touches_nothing_else(conflict, texts, tree, resolution)? {
                    MergedTree::Resolved
                } else {
                    MergedTree::Other
                }
            }
            // An agent's is a commit of the task's, judged as any work.
            (Resolution::LockFile | Resolution::Driver | Resolution::Agent, _) => files(),
        })
    }

    /// Tells whether a tree differs from the marked one in nothing but what conflicts, and has what may not be settled by
    /// this way as both sides added to it.
    fn touches_nothing_else(
        &self,
        conflict: &Conflict,
        texts: &[ConflictedText],
        tree: &TreeId,
        resolution: Resolution,
    ) -> Result<bool> {
        let is_free = |path: &str| resolution == Resolution::Driver || lock_file(path).is_some();
        let paths: BTreeSet<&[u8]> = texts
            .iter()
            .map(|of| of.path.as_os_str().as_bytes())
            .collect();
        let files = self.files_at(tree, &paths)?;
        let is_as_it_was = |of: &ConflictedText| {
            let mut files = files.iter();
            let file = files.find(|file| file.path == of.path.as_os_str().as_bytes());
            file.is_some_and(|file| format!("{:06o}", file.mode) == of.mode)
        };
        if !texts.iter().all(is_as_it_was) {
            return Ok(false);
        }
        for of in texts {
            let path = of.path.to_string_lossy();
            if is_free(&path) {
                continue;
            }
            let found = self.bytes_in_tree(tree, &path)?;
            if found.is_none() || found != self.united_text(of)? {
                return Ok(false);
            }
        }
        Ok(self
            .changed_between(&conflict.marked, tree)?
            .iter()
            .all(|path| conflict.files.contains(path)))
    }

    /// Makes a tree of another one in which these files in conflict are as they are where the merge goes.
    ///
    /// # Errors
    /// git refused, or the object store can't be written.
    pub fn with_ours(&self, tree: &TreeId, files: &[&ConflictedText]) -> Result<TreeId> {
        let changes = files
            .iter()
            .flat_map(|of| index_entry(&of.mode, &of.ours, of.path.as_os_str().as_bytes()))
            .collect();
        self.tree_with(tree, changes)
    }
}

/// The versions of a file, as `base`, `ours` and `theirs` in a folder that goes with this.
#[derive(Debug)]
pub struct VersionFiles {
    folder: tempfile::TempDir,
}

impl VersionFiles {
    fn of(versions: [&[u8]; 3]) -> Result<Self> {
        let folder = tempfile::tempdir().or_failed_to("write in", std::env::temp_dir())?;
        for (name, content) in ["base", "ours", "theirs"].into_iter().zip(versions) {
            let path = folder.path().join(name);
            tm_faults::check("versions: before")
                .and_then(|()| std::fs::File::create(&path))
                .and_then(|mut file| file.write_all(content))
                .or_failed_to("write", &path)?;
        }
        Ok(Self { folder })
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
