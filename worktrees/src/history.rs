//! Reads what a history is made of, all at once: its commits with parents, tree and trailers.

use crate::git::{fields, path_of, unexpected};
use crate::names::{name_of, path_named};
use crate::reader::{Difference, DifferenceKind, Found};
use crate::{Conflict, Error, Landing, Repository, TreeId};
use tm_scheduler::CommitId;
use tm_scheduler::merging::{Resolution, lock_file};

/// One commit of a history.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PastCommit {
    /// Its id.
    pub id: CommitId,
    /// Its parents, the first one first.
    pub parents: Vec<CommitId>,
    /// Its tree.
    pub tree: TreeId,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message.
    pub trailers: Vec<(String, String)>,
}

/// What the tree of a merge is to its parents.
#[derive(Clone, Debug, Eq, PartialEq)]
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

impl Repository {
    /// Returns the commits that any of `tips` has and `from` has not, each after its parents.
    ///
    /// # Errors
    /// There is no such commit, or git refused.
    pub fn history(&self, from: &CommitId, tips: &[CommitId]) -> Result<Vec<PastCommit>, Error> {
        let trailers = "%(trailers:only,unfold,separator=%x1e,key_value_separator=%x1f)";
        let format = format!("--format=%H%n%P%n%T%n%s%n{trailers}");
        let mut git = self
            .git()
            .line("log -z --topo-order --reverse --no-show-signature")
            .arg(&format);
        for tip in tips {
            git = git.commit(tip);
        }
        let listing = git.line("--not").commit(from).arg("--").bytes()?;
        fields(&listing).map(past_commit).collect()
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
    ) -> Result<MergedTree, Error> {
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
    ) -> Result<MergedTree, Error> {
        let files = || MergedTree::Conflict(conflict.files.clone());
        match resolution {
            Resolution::Union => Ok(match self.united(conflict)? {
                Some(united) if united == *tree => MergedTree::AsMerged,
                Some(_) => MergedTree::Other,
                None => files(),
            }),
            Resolution::LockFile | Resolution::Driver => {
                let Some(texts) = &conflict.texts else {
                    return Ok(files());
                };
                let mut free: Vec<&str> = conflict.files.iter().map(String::as_str).collect();
                if resolution == Resolution::LockFile {
                    free.retain(|path| lock_file(path).is_some());
                }
                let changed = self.changed_between(&conflict.marked, tree)?;
                let is_free = |path: &String| free.contains(&path.as_str());
                // What is not free is as both sides added to it.
                for of in texts {
                    let path = of.path.to_string_lossy().into_owned();
                    if is_free(&path) {
                        continue;
                    }
                    let found = self.bytes_in_tree(tree, &path)?;
                    if found.is_none() || found != self.united_text(of)? {
                        return Ok(MergedTree::Other);
                    }
                }
                let is_in_conflict = |path: &String| conflict.files.contains(path);
                Ok(if changed.iter().all(is_in_conflict) {
                    MergedTree::Resolved
                } else {
                    MergedTree::Other
                })
            }
            // An agent's is a commit of the task's, judged as any work.
            Resolution::Agent => Ok(files()),
        }
    }

    /// Returns the paths that differ between two trees.
    ///
    /// # Errors
    /// There is no such tree.
    pub fn changed_between(&self, one: &TreeId, other: &TreeId) -> Result<Vec<String>, Error> {
        let found = self.differing(&one.0, &other.0)?;
        Ok(found
            .into_iter()
            .map(|difference| name_of(&difference.path))
            .collect())
    }

    /// Returns the files that differ between two trees, or those of two commits.
    pub(crate) fn differing(&self, one: &str, other: &str) -> Result<Vec<Difference>, Error> {
        if let Some(found) = self
            .reader()
            .and_then(|reader| reader.differences(one, other))
        {
            return Ok(found);
        }
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-status",
            "--end-of-options",
            one,
            other,
        ];
        let listing = self.git().args(arguments).bytes()?;
        let mut entries = fields(&listing);
        let mut differences = Vec::new();
        while let (Some(status), Some(path)) = (entries.next(), entries.next()) {
            let kind = match status.first() {
                Some(b'A') => DifferenceKind::Added,
                Some(b'D') => DifferenceKind::Deleted,
                _ => DifferenceKind::Modified,
            };
            differences.push(Difference {
                path: path.to_owned(),
                kind,
            });
        }
        Ok(differences)
    }

    /// Returns the content of a file in a tree; `None` where there is none.
    ///
    /// # Errors
    /// git refused.
    pub fn bytes_in_tree(&self, tree: &TreeId, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = path_named(path);
        match self.reader().and_then(|reader| reader.file(&tree.0, &path)) {
            Some(Found::Here(content)) => return Ok(Some(content)),
            Some(Found::Nothing) => return Ok(None),
            None => {}
        }
        let answer = self
            .git()
            .line("cat-file blob")
            .arg(path_of(&[tree.0.as_bytes(), b":", &path].concat()))
            .answer()?;
        Ok((answer.code == 0).then_some(answer.stdout))
    }

    /// Returns the full names of all branches, those of remotes too.
    ///
    /// # Errors
    /// git refused.
    pub fn branch_references(&self) -> Result<Vec<String>, Error> {
        let listing = self
            .git()
            .args([
                "for-each-ref",
                "--format=%(refname)",
                "refs/heads",
                "refs/remotes",
            ])
            .text()?;
        Ok(listing.lines().map(ToOwned::to_owned).collect())
    }

    /// Tells whether a part of the history is not here.
    ///
    /// # Errors
    /// git refused.
    pub fn is_shallow(&self) -> Result<bool, Error> {
        Ok(self
            .git()
            .line("rev-parse --is-shallow-repository")
            .text()?
            == "true")
    }
}

fn past_commit(entry: &[u8]) -> Result<PastCommit, Error> {
    let text = String::from_utf8_lossy(entry);
    let mut parts = text.splitn(5, '\n');
    let mut part = || parts.next().ok_or_else(|| unexpected(&["log"], entry));
    let (id, parents, tree, subject, trailers) = (part()?, part()?, part()?, part()?, part()?);
    let trailer = |trailer: &str| {
        let (name, value) = trailer.split_once('\u{1f}')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    Ok(PastCommit {
        id: CommitId::new(id),
        parents: parents
            .split(' ')
            .filter(|id| !id.is_empty())
            .map(CommitId::new)
            .collect(),
        tree: TreeId::new(tree.to_owned()),
        subject: subject.to_owned(),
        trailers: trailers.split('\u{1e}').filter_map(trailer).collect(),
    })
}
