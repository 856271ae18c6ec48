//! Merges without a checkout: the base of a task, and landing.

use crate::git::{Git, entry, fields, path_of, unexpected};
use crate::new_commit::NewCommit;
use crate::{Error, Repository, Result, TreeId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;
use tm_scheduler::merging::{Resolution, lock_file};

/// What git says of a conflict in which only lines are at odds.
const OF_LINES: &str = "CONFLICT (contents)";
/// What git says of one in which files that are no text are at odds, besides.
const OF_BYTES: &str = "CONFLICT (binary)";
/// What other words of git about a merge begin with, where they tell of a conflict.
const CONFLICT: &str = "CONFLICT";

/// The lines of no more files are looked at: each takes a git or two, and in more nobody resolves them one by one.
const MOST_TEXTS: usize = 500;

/// Commits that can't be merged.
#[derive(Debug, Eq, PartialEq)]
pub struct Conflict {
    /// The files.
    pub files: Vec<String>,
    /// The merged tree, in whose files the conflicts are marked.
    pub marked: TreeId,
    /// The versions of each file, where lines of regular files and lock files are all that is at odds; `None` where
    /// anything else is: a file that is gone or renamed on one side, a link, a submodule, a mode, something that is no
    /// text or longer than texts are, more than some hundred files.
    pub texts: Option<Vec<ConflictedText>>,
}

/// The versions of a file whose lines conflict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConflictedText {
    /// Its path.
    pub path: PathBuf,
    /// Its mode, as git writes it.
    pub mode: String,
    /// The blob of before; `None` where both sides made the file.
    pub base: Option<String>,
    /// The blob of what is merged into.
    pub ours: String,
    /// The blob of what is merged.
    pub theirs: String,
}

/// What landing would come to.
#[derive(Debug, Eq, PartialEq)]
pub enum Landing {
    /// The integration branch contains the commit.
    AlreadyLanded,
    /// The merge, which is on no branch yet.
    Clean(MergePreview),
    /// It can't be merged.
    Conflict(Conflict),
}

/// A merge that is on no branch yet.
#[derive(Debug, Eq, PartialEq)]
pub struct MergePreview {
    /// The merged tree.
    pub tree: TreeId,
    /// Where the integration branch was.
    pub head: CommitId,
    /// What lands.
    pub commit: CommitId,
    /// How it came about, where merging lines alone gives no tree.
    pub resolution: Option<Resolution>,
}

/// How conflicts are dealt with where commits are combined.
#[derive(Clone, Copy, Debug)]
pub enum Conflicts {
    /// They are told of.
    Told,
    /// What both sides only added is taken from both, and the commit says so.
    United,
}

impl Landing {
    pub(crate) fn clean(
        tree: TreeId,
        head: &CommitId,
        commit: &CommitId,
        resolution: Option<Resolution>,
    ) -> Self {
        Self::Clean(MergePreview {
            tree,
            head: head.clone(),
            commit: commit.clone(),
            resolution,
        })
    }
}

impl Repository {
    /// Returns a commit that contains all the given ones: one of them when it does, else a merge, which is signed where
    /// the user's commits are; or what conflicts.
    ///
    /// # Errors
    /// Signing failed, or git refused.
    pub fn combine(
        &self,
        commits: &[CommitId],
        message: &str,
        conflicts: Conflicts,
    ) -> Result<Result<CommitId, Conflict>> {
        let Some((first, rest)) = commits.split_first() else {
            return Err(Error::unknown(""));
        };
        let mut combined = first.clone();
        for commit in rest {
            if self.is_ancestor(commit, &combined)? {
                continue;
            }
            if self.is_ancestor(&combined, commit)? {
                combined = commit.clone();
                continue;
            }
            let (tree, message) = match self.merged_as_far(&combined, commit)? {
                Ok(tree) => (tree, message.to_owned()),
                Err(conflict) => {
                    let united = match conflicts {
                        Conflicts::Told => None,
                        Conflicts::United => self.united(&conflict)?,
                    };
                    match united {
                        Some(tree) => (tree, with_resolution(message, Resolution::Union)),
                        None => return Ok(Err(conflict)),
                    }
                }
            };
            combined = self.commit_as_user(&tree, &[&combined, commit], &message)?;
        }
        Ok(Ok(combined))
    }

    /// Merges a commit into the integration branch, without moving it.
    ///
    /// # Errors
    /// git refused.
    pub fn land(&self, head: &CommitId, commit: &CommitId) -> Result<Landing> {
        if self.is_ancestor(commit, head)? {
            return Ok(Landing::AlreadyLanded);
        }
        Ok(match self.merged_as_far(head, commit)? {
            Ok(tree) => Landing::clean(tree, head, commit, None),
            Err(conflict) => Landing::Conflict(conflict),
        })
    }

    /// Makes the merge a commit on no branch, as it would land, signed where the user's commits are; where lines alone did
    /// not give it, its trailers say so.
    ///
    /// # Errors
    /// Signing failed, or git refused.
    pub fn merge_commit(&self, preview: &MergePreview, message: &str) -> Result<CommitId> {
        self.assert_accepted(&preview.tree, &preview.head)?;
        let message = preview.resolution.map_or_else(
            || message.to_owned(),
            |resolution| with_resolution(message, resolution),
        );
        self.commit_as_user(&preview.tree, &[&preview.head, &preview.commit], &message)
    }

    /// Makes a commit of a tree. It is on no branch yet, and signed by nobody: what becomes part of the user's history is
    /// made by `commit_as_user`.
    ///
    /// # Errors
    /// The object store can't be written.
    pub fn commit_tree(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
    ) -> Result<CommitId> {
        let new = NewCommit {
            tree,
            parents,
            message,
        };
        let by_git = || self.git_commit_tree(tree, parents, message).object_id();
        self.commit_here(&new)
            .map_or_else(|| by_git().map(CommitId::new), Ok)
    }

    pub(crate) fn git_commit_tree(
        &self,
        tree: &TreeId,
        parents: &[&CommitId],
        message: &str,
    ) -> Git {
        let git = self.git_on_objects("commit-tree").commit(tree);
        parents
            .iter()
            .fold(git, |git, parent| git.arg("-p").commit(*parent))
            .line("-F -")
            .input(message)
    }

    /// Merges a commit into another as far as that goes: the merged tree, or what conflicts.
    ///
    /// # Errors
    /// git refused.
    pub fn merged_as_far(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Result<TreeId, Conflict>> {
        self.assert_walkable(ours)?;
        self.assert_walkable(theirs)?;
        match self.read(|reader| reader.merged_apart(ours, theirs)) {
            Some(tree) => Ok(Ok(tree)),
            None => self.merged_by_git(ours, theirs),
        }
    }

    pub(crate) fn merged_by_git(
        &self,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Result<TreeId, Conflict>> {
        let call = self
            // Whoever looks at a conflict sees what there was before, too.
            .git_on_objects("-c merge.conflictStyle=diff3")
            // How files are merged is said by the tree that is merged into, and by no file that lies about.
            .variable("GIT_ATTR_SOURCE", ours.as_str())
            .merging()
            .line("merge-tree --write-tree -z --messages")
            .commit(ours)
            .commit(theirs);
        let answer = call.answer_up_to(1)?;
        let parts: Vec<&[u8]> = fields(&answer.stdout).collect();
        let Some((tree, rest)) = parts.split_first() else {
            return Err(unexpected(&["merge-tree"], &answer.stdout));
        };
        let tree = TreeId(String::from_utf8_lossy(tree).trim().to_owned());
        Ok(match answer.code {
            0 => Ok(tree),
            _ => Err(self.without_long_texts(conflict(tree, rest))?),
        })
    }
}

/// Adds the trailer; tm's own messages end with trailers, or are one line.
fn with_resolution(message: &str, resolution: Resolution) -> String {
    let message = message.trim_end();
    let gap = match message.rsplit_once('\n') {
        Some((_, last)) if last.contains(": ") => "\n",
        _ => "\n\n",
    };
    format!("{message}{gap}{}: {resolution}\n", Resolution::TRAILER)
}

/// Reads what git says of a conflict: the versions of the files, nothing, and what happened.
fn conflict(marked: TreeId, parts: &[&[u8]]) -> Conflict {
    let end = parts
        .iter()
        .position(|part| part.is_empty())
        .unwrap_or(parts.len());
    let versions: Vec<Version> = parts[..end]
        .iter()
        .filter_map(|part| Version::of(part))
        .collect();
    let mut of_files: BTreeMap<&PathBuf, Vec<&Version>> = BTreeMap::new();
    for version in &versions {
        of_files.entry(&version.path).or_default().push(version);
    }
    let is_of_lines = of_files.len() <= MOST_TEXTS
        && is_of_lines(parts.get(end + 1..).unwrap_or_default()) == Some(true);
    let texts = is_of_lines.then(|| {
        of_files
            .iter()
            .map(|(path, of)| text_of(path, of))
            .collect()
    });
    let files = of_files
        .keys()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    Conflict {
        files,
        marked,
        texts: texts.flatten(),
    }
}

/// Whether nothing conflicts but lines, and lock files as a whole: of each message there are the number of its paths, the
/// paths, its kind, its words.
fn is_of_lines(mut parts: &[&[u8]]) -> Option<bool> {
    let mut is_of_lines = true;
    while let Some((count, rest)) = parts.split_first() {
        let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
        let kind = String::from_utf8_lossy(rest.get(count)?);
        let is_lock = || {
            rest[..count]
                .iter()
                .all(|path| lock_file(&String::from_utf8_lossy(path)).is_some())
        };
        is_of_lines &=
            !kind.starts_with(CONFLICT) || kind == OF_LINES || kind == OF_BYTES && is_lock();
        parts = rest.get(count + 2..).unwrap_or_default();
    }
    Some(is_of_lines)
}

/// One version of a file in conflict.
struct Version {
    mode: String,
    blob: String,
    stage: String,
    path: PathBuf,
}

impl Version {
    fn of(part: &[u8]) -> Option<Self> {
        let ([mode, blob, stage], path) = entry(part)?;
        Some(Self {
            mode,
            blob,
            stage,
            path: path_of(path),
        })
    }
}

/// A file of which both sides have a regular version; its mode is the one that a side changed.
fn text_of(path: &Path, versions: &[&Version]) -> Option<ConflictedText> {
    let version = |stage: &str| {
        let mut versions = versions.iter().copied();
        versions.find(|version| version.stage == stage)
    };
    let (base, ours, theirs) = (version("1"), version("2")?, version("3")?);
    let is_regular = |version: &&Version| version.mode.starts_with("100");
    if ![base, Some(ours), Some(theirs)]
        .iter()
        .flatten()
        .all(is_regular)
    {
        return None;
    }
    let mode = match base {
        Some(base) if base.mode == ours.mode => &theirs.mode,
        Some(base) if base.mode == theirs.mode => &ours.mode,
        _ if ours.mode == theirs.mode => &ours.mode,
        _ => return None,
    };
    Some(ConflictedText {
        path: path.to_owned(),
        mode: mode.clone(),
        base: base.map(|base| base.blob.clone()),
        ours: ours.blob.clone(),
        theirs: theirs.blob.clone(),
    })
}
