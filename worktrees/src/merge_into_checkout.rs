//! Brings an integration branch into the branch that the user has checked out: the one thing that moves it, and only
//! when the user says so.

use crate::git::path_of;
use crate::repository::git_folders::GitFolders;
use crate::repository::settings::HooksFolder;
use crate::{Error, Landing, ObjectCheck, Repository, Result, RunHooks};
use std::path::{Component, Path, PathBuf};
use tm_scheduler::verdict::ChangeKind;
use tm_scheduler::{BranchName, CommitId};

/// So many paths are told to git as arguments.
const MOST_ARGUMENTS: usize = 200;

/// The folder of those hooks that a program lays out which call what lies above.
const OF_WRAPPERS: &str = "_";

/// What a merge came to.
#[derive(Clone, Debug)]
pub struct BroughtIn {
    /// Where the user's branch is.
    pub commit: CommitId,
    /// Files where hooks are that it brought: no hook was run.
    pub brought_hooks: Vec<PathBuf>,
}

/// How a branch is brought in.
#[derive(Clone, Copy, Debug)]
pub enum FastForwardPolicy {
    /// The user's branch moves forward where it can; else there is a merge commit.
    ForwardOrMerge,
    /// There is a merge commit in any case.
    MergeCommit,
}

impl Repository {
    /// Merges a branch into the checkout, with hooks and signing as the user has them set up. Hooks that lie in the checkout, and
    /// are other ones with what is merged, are not run: git would run them before anybody could look at them. What can't be
    /// merged is left as it was, a merge of the user's own among that.
    ///
    /// # Errors
    /// git would write through a link (`WrittenElsewhere`), what it brings is not what its name says (`ObjectsNotAsNamed`),
    /// ignored files are in the way (`IgnoredInTheWay`), or git refused: a conflict, other files in the way, a hook.
    pub fn merge_into_checkout(
        &self,
        branch: &BranchName,
        how: FastForwardPolicy,
    ) -> Result<BroughtIn> {
        self.assert_git_writes_nowhere_else()?;
        let flag = match how {
            FastForwardPolicy::ForwardOrMerge => "--ff",
            FastForwardPolicy::MergeCommit => "--no-ff",
        };
        let reference = format!("refs/heads/{branch}");
        let (head, tip) = (self.head()?.commit, self.resolve(&reference)?);
        // git would check out whatever stands under the names.
        self.check_new_objects(&tip, &head, ObjectCheck::Names)?;
        let changed = match self.land(&head, &tip)? {
            Landing::Clean(merged) => {
                let changed = self.differing(&head, &merged.tree)?;
                self.assert_no_ignored_file_is_lost(&changed)?;
                changed
            }
            // What the other side has otherwise may be brought in until git stops.
            Landing::Conflict(_) => self.differing(&head, &tip)?,
            Landing::AlreadyLanded => Vec::new(),
        };
        let changed: Vec<PathBuf> = changed.iter().map(|(path, _)| path_of(path)).collect();
        let brought_hooks = self.hooks_among(&changed)?;
        let hooks = if brought_hooks.is_empty() {
            RunHooks::Yes
        } else {
            RunHooks::No
        };
        let git = |words| self.git_with(hooks, words);
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
        let commit = self.head()?.commit;
        Ok(BroughtIn {
            commit,
            brought_hooks,
        })
    }

    /// Returns those of some paths that lie where hooks are, as the settings say it.
    fn hooks_among(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let Some(mut folder) = self.hooks_within()? else {
            return Ok(Vec::new());
        };
        if folder.ends_with(OF_WRAPPERS) {
            folder.pop();
        }
        let of_hooks = paths.iter().filter(|path| path.starts_with(&folder));
        Ok(of_hooks.cloned().collect())
    }

    /// Returns the folder of a checkout in which hooks are, from the checkout's top; `None` where they are not in one.
    pub(crate) fn hooks_within(&self) -> Result<Option<PathBuf>> {
        let HooksFolder::Named(named) = self.live_settings()?.hooks(self) else {
            return Ok(None);
        };
        let within = match named.strip_prefix(self.checkout_root()) {
            Ok(within) => within,
            Err(_) if named.is_relative() => &named,
            Err(_) => return Ok(None),
        };
        Ok(Some(within.components().filter(is_name).collect()))
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
    fn assert_no_ignored_file_is_lost(&self, changed: &[(Vec<u8>, ChangeKind)]) -> Result<()> {
        let taken: Vec<PathBuf> = changed
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

fn is_name(part: &Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
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
