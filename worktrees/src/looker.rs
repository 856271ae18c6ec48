//! Looks at what is in a worktree while its agent works, for whoever has not the worktree itself.

use crate::all_but::all_but;
use crate::changes::copy_with_time;
use crate::git::{Git, GitPlace, Hooks};

use crate::{Error, Repository, TreeId};
use std::path::PathBuf;
use tm_scheduler::CommitId;

/// Looks into a worktree of tm's own, by an index that is a copy: neither the agent nor tm's own next step is in its way.
#[derive(Clone, Debug)]
pub struct Looker {
    pub(crate) repository: Repository,
    pub(crate) path: PathBuf,
    pub(crate) place: GitPlace,
    pub(crate) base: CommitId,
    /// Untracked paths that are part of no work.
    pub(crate) kept: Vec<PathBuf>,
}

impl Looker {
    /// Returns what is there now as a commit on the worktree's base, on no branch; what is being written may be in it by half.
    ///
    /// # Errors
    /// git can't take what is there, or the disk refused.
    pub fn commit(&self) -> Result<CommitId, Error> {
        let folder = tempfile::tempdir().map_err(Error::file("write in", std::env::temp_dir()))?;
        let (own, copy) = (
            self.place.git_dir.join("index"),
            folder.path().join("index"),
        );
        copy_with_time(&own, &copy).map_err(Error::file("copy", &own))?;
        let place = GitPlace {
            index: Some(copy),
            ..self.place.clone()
        };
        let git = || {
            Git::new(self.repository.environment(), &self.path, Hooks::Off)
                .at(&place)
                .once()
        };
        git()
            .line("add --all --")
            .args(all_but(&self.kept, || git().reading())?)
            .done()?;
        let tree = TreeId(git().arg("write-tree").object_id()?);
        self.repository.commit_to_test(&tree, &self.base)
    }
}
