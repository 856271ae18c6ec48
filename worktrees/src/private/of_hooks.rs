//! Git folders of hooks: as those of agents, for one commit of tm's that is about to be made.

use super::refused;
use crate::files::{beginning, create_folder, replace};
use crate::hooks::HookedCommit;
use crate::indexed::INDEX_BYTES;
use crate::owned::OwnedFolder;
use crate::{PrivateGit, Result, TreeId};
use std::path::Path;
use tm_scheduler::CommitId;

impl OwnedFolder {
    /// Has git in the folder work with a git folder of its own, as if the commit were about to be made by hand: what is
    /// staged is its tree, and its branch is where it is made. Nothing is written down of it: whoever is killed has made no
    /// commit.
    pub(crate) fn begin_hooks(&self, commit: &HookedCommit<'_>) -> Result<PrivateGit> {
        self.assert_own()?;
        self.repository.publish_objects()?;
        self.forget_private()?;
        let folder = self.private_folder();
        let git_dir = self.make_private(&folder)?;
        self.tell_of_filters(&folder)?;
        self.fill(&git_dir, &commit.head())?;
        if let Some(branch) = commit.branch {
            let file = folder.join("common").join(branch.reference());
            create_folder(file.parent().unwrap_or(&folder))?;
            replace(&file, format!("{}\n", commit.on).as_bytes())?;
        }
        if let Some(merged) = commit.merged {
            replace(
                &git_dir.join("MERGE_HEAD"),
                format!("{merged}\n").as_bytes(),
            )?;
        }
        self.point_at(Path::new(""), &git_dir)?;
        self.needed(&folder)
    }

    /// Tells whether what is staged in the git folder of the hooks is what tm staged; refuses what is no index of theirs.
    pub(crate) fn is_staged_as_before(&self) -> Result<bool> {
        let (folder, most) = (self.private_folder(), INDEX_BYTES as u64);
        let left = tm_untrusted::read_beneath(&folder, "git/index".as_ref(), most);
        let left = left
            .map_err(|error| refused(format!("the index of the hooks can't be read: {error}")))?;
        Ok(left == beginning(&self.index_file(), INDEX_BYTES)?)
    }

    /// Takes what hooks staged over, committed on a commit of the repository's; returns its tree.
    pub(crate) fn take_over_staged(&self, staged: &CommitId, on: &CommitId) -> Result<TreeId> {
        self.take_over_commits(&self.private_folder(), &[staged], on)?;
        self.repository.assert_walkable(staged)?;
        self.repository
            .take_over_lfs(&self.private_folder(), "common/lfs/objects")?;
        self.repository.tree_of(staged)
    }
}
