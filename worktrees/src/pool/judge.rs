//! A checkout in which tm judges a tree: made by tm, never given to an agent, cleaned of everything before each use.

use super::WorktreePool;
use crate::hooks::{self, Hooked, HookedCommit, RunHook};
use crate::indexed::{WrittenSince, written_since};
use crate::names::name_of;
use crate::owned::{Lister, OwnedFolder, OwnedHead};
use crate::{Error, Result, TreeId};
use git2::Oid;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_scheduler::CommitId;

/// A program is given so many paths at once.
const MOST_PATHS: usize = 200;

/// A checkout of a judge's; given back when it is dropped.
#[derive(Debug)]
pub struct JudgeCheckout {
    pool: WorktreePool,
    folder: OwnedFolder,
    holds: Option<TreeId>,
}

impl JudgeCheckout {
    pub(crate) const fn new(
        pool: WorktreePool,
        folder: OwnedFolder,
        holds: Option<TreeId>,
    ) -> Self {
        Self {
            pool,
            folder,
            holds,
        }
    }

    /// Returns its folder.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Checks a commit out: every file as it is there, and nothing else but what is kept. What commands write into git's
    /// settings here reaches nobody.
    ///
    /// # Errors
    /// The folder is not tm's any more, or git refused.
    pub fn check_out(&mut self, commit: &CommitId, kept: &[PathBuf]) -> Result<()> {
        let held = self.holds.take();
        let head = OwnedHead::Detached(commit);
        let checked_out = self.folder.check_out(commit, &head, kept, held.as_ref());
        match checked_out {
            Err(error) if !error.is_of_content() => self.go_elsewhere(commit, error)?,
            checked_out => checked_out?,
        }
        self.folder.seal(&OwnedHead::Detached(commit))?;
        self.holds = Some(self.folder.repository.tree_of(commit)?);
        Ok(())
    }

    /// Goes on in a folder in which nobody was, where tests left something in this one that can't be removed.
    fn go_elsewhere(&mut self, commit: &CommitId, error: Error) -> Result<()> {
        let anew = || {
            let folder = self.pool.new_of_judge(commit)?;
            let head = OwnedHead::Detached(commit);
            folder.check_out(commit, &head, &[], None).map(|()| folder)
        };
        self.folder = self.pool.instead_of(&self.folder.path, error, anew)?;
        Ok(())
    }

    /// Removes what is there and not in the commit, but for what is kept.
    ///
    /// # Errors
    /// The folder is not tm's any more, or the disk refused.
    pub fn clean(&self, kept: &[PathBuf]) -> Result<()> {
        self.folder.clean(kept)
    }

    /// Returns the wanted files of the commit that were written to, replaced or removed since they were checked out,
    /// whatever they hold by now; none where only git can read the index.
    pub fn rewritten(&self, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
        let (folder, index) = (&self.folder, self.folder.index_file());
        let look = || written_since(&index, &folder.path, folder.mapped_writes(), is_wanted);
        let WrittenSince {
            mut names,
            of_other_content,
        } = folder.repository.read(|_| look()).unwrap_or_default();
        for some in of_other_content.chunks(MOST_PATHS) {
            names.extend(self.not_by_rules(some));
        }
        names
    }

    /// Returns the files that git would take for other ones than these, by the filters and rules that are for them.
    fn not_by_rules(&self, files: &[(PathBuf, Oid)]) -> Vec<String> {
        let hash = self.folder.git("hash-object --");
        let ids = hash.args(files.iter().map(|(path, _)| path)).lines();
        // Where one can't be taken, nobody knows of any.
        let ids = ids.unwrap_or_default();
        let is_other = |(at, (_, id)): &(usize, &(PathBuf, Oid))| {
            ids.get(*at).is_none_or(|found| *found != id.to_string())
        };
        let others = files.iter().enumerate().filter(is_other);
        others
            .map(|(_, (path, _))| name_of(path.as_os_str().as_encoded_bytes()))
            .collect()
    }

    /// Has git take one file here as it would be committed, by the filters that are for it; nothing is kept.
    ///
    /// # Errors
    /// A filter fails, or git refused.
    pub fn try_filter(&self, file: &str) -> Result<()> {
        if !self.folder.path.join(file).is_file() {
            // What made the checkout ready has taken it away.
            return Ok(());
        }
        self.folder.git("hash-object --").arg(file).done()
    }

    /// Returns what lists the untracked files here.
    pub fn lister(&self) -> Lister {
        Lister(Arc::new(self.folder.clone()))
    }

    /// Returns everything that is here as a tree, without what the tree's own rules leave out and what is kept.
    ///
    /// # Errors
    /// The folder is not tm's any more, or git refused.
    pub fn tree(&mut self) -> Result<TreeId> {
        self.holds = None;
        self.folder.tree()
    }

    /// Runs the hooks of a commit, or of a merge, whose files are here after `check_out`, with what starts them.
    ///
    /// # Errors
    /// A hook refused (`HookRefused`, with its words), what it staged can't be taken, git refused, or a hook could not be run.
    pub fn run_hooks<E: From<Error>>(
        &mut self,
        commit: &HookedCommit<'_>,
        run: RunHook<'_, E>,
    ) -> std::result::Result<Hooked, E> {
        self.holds = None;
        self.folder.stage_checked_out(commit.tree, &commit.head())?;
        hooks::run(&self.folder, commit, run)
    }
}

impl Drop for JudgeCheckout {
    fn drop(&mut self) {
        // Somebody else's folder in its place is nobody's to use or to remove.
        if self.folder.assert_own().is_ok() {
            self.pool
                .give_back_judge(self.folder.clone(), self.holds.take());
        }
    }
}
