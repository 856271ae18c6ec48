//! Brings an integration branch into the branch that the user has checked out: the one thing that moves it, and only
//! when the user says so.

use crate::git::path_of;
use crate::repository::git_folders::GitFolders;
use crate::{Error, Landing, ObjectCheck, Repository, Result};
use std::path::{Path, PathBuf};
use tm_scheduler::verdict::ChangeKind;
use tm_scheduler::{BranchName, CommitId};

/// So many paths are told to git as arguments.
const MOST_ARGUMENTS: usize = 200;

/// How a branch is brought in.
#[derive(Clone, Copy, Debug)]
pub enum FastForwardPolicy {
    /// The user's branch moves forward where it can; else there is a merge commit.
    ForwardOrMerge,
    /// There is a merge commit in any case.
    MergeCommit,
}

impl Repository {
    /// Merges a branch into the checkout, with hooks and signing as the user has them set up. What can't be merged is
    /// left as it was, a merge of the user's own among that.
    ///
    /// # Errors
    /// git would write through a link (`WrittenElsewhere`), what it brings is not what its name says (`ObjectsNotAsNamed`),
    /// ignored files are in the way (`IgnoredInTheWay`), or git refused: a conflict, other files in the way, a hook.
    pub fn merge_into_checkout(
        &self,
        branch: &BranchName,
        how: FastForwardPolicy,
    ) -> Result<CommitId> {
        self.assert_git_writes_nowhere_else()?;
        let git = |words| self.git_with_hooks(words);
        let flag = match how {
            FastForwardPolicy::ForwardOrMerge => "--ff",
            FastForwardPolicy::MergeCommit => "--no-ff",
        };
        let reference = format!("refs/heads/{branch}");
        let (head, tip) = (self.head()?.commit, self.resolve(&reference)?);
        // git would check out whatever stands under the names.
        self.check_new_objects(&tip, &head, ObjectCheck::Names)?;
        self.assert_no_ignored_file_is_lost(&head, &tip)?;
        let is_under_way = self.git_dir().join("MERGE_HEAD").exists();
        let merged = git("merge --quiet --no-edit")
            .args([flag, &reference])
            .once()
            .done();
        if let Err(error) = merged {
            // A merge that stopped halfway is taken back; one that never began has nothing to take back. What was under
            // way before is the user's.
            if !is_under_way {
                let _not_begun = git("merge --abort").once().done();
            }
            return Err(error);
        }
        Ok(self.head()?.commit)
    }

    /// Refuses a git folder in which a message or a log is a link to elsewhere: git writes it anew where that leads.
    fn assert_git_writes_nowhere_else(&self) -> Result<()> {
        match GitFolders::written_elsewhere(self) {
            Some((path, what)) => Err(Error::WrittenElsewhere(path, what)),
            None => Ok(()),
        }
    }

    /// Refuses a merge that brings files where the checkout has ignored ones: git spares what is untracked, and writes
    /// over what is ignored.
    fn assert_no_ignored_file_is_lost(&self, head: &CommitId, tip: &CommitId) -> Result<()> {
        let Landing::Clean(merged) = self.land(head, tip)? else {
            return Ok(());
        };
        let taken: Vec<PathBuf> = self
            .differing(head, &merged.tree)?
            .iter()
            .filter(|(_, change)| *change == ChangeKind::Added)
            .filter_map(|(path, _)| in_the_way(self.checkout_root(), &path_of(path)))
            .collect();
        if taken.is_empty() {
            return Ok(());
        }
        let mut paths: Vec<PathBuf> = Vec::new();
        // git reads them from nowhere but its arguments, which are longer than the system takes at some point.
        for some in taken.chunks(MOST_ARGUMENTS) {
            let found: Vec<PathBuf> = self
                .git_in(self.checkout_root())
                .reading()
                .line("ls-files --others --ignored --exclude-standard -z --")
                .args(some)
                .variable("GIT_LITERAL_PATHSPECS", "1")
                .paths()?;
            paths.extend(found);
        }
        if paths.is_empty() {
            Ok(())
        } else {
            Err(Error::IgnoredInTheWay(paths))
        }
    }

    /// Moves the branch that the user has checked out from one commit to the next, which changes one file and nothing
    /// else. The file in the checkout stays as it is; git is told of the new content first, so that a death in between
    /// leaves a change that is not committed yet, and none that undoes the commit.
    ///
    /// # Errors
    /// The branch is elsewhere, or git refused.
    pub fn advance_checkout(&self, from: &CommitId, to: &CommitId, path: &str) -> Result<()> {
        self.assert_git_writes_nowhere_else()?;
        self.publish_objects()?;
        let git = |words| self.where_rules_are_read(self.git_in(self.checkout_root()), words);
        let entry = git("ls-tree -z --full-tree")
            .commit(to)
            .args(["--", path])
            .variable("GIT_LITERAL_PATHSPECS", "1")
            .bytes()?;
        git("update-index -z --index-info").input(entry).done()?;
        git("update-ref -m")
            .args(["tm: statuses", "HEAD"])
            .commit(to)
            .commit(from)
            .once()
            .done()
    }
}

/// Returns what is where a file is to be: something of its name, or what is no folder above it.
fn in_the_way(root: &Path, path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().collect::<Vec<_>>().into_iter().rev();
    for part in above.skip(1) {
        let there = root.join(part).symlink_metadata().ok()?;
        if part == path || !there.is_dir() {
            return Some(part.to_owned());
        }
    }
    None
}
