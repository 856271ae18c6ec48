//! Folders that nobody gets any more: each costs the run itself alone.

use super::WorktreePool;
use crate::owned::OwnedFolder;
use crate::{Error, Result};
use std::mem::take;
use std::path::Path;

impl WorktreePool {
    /// Makes a folder in place of one that can't be brought into order, which nobody gets any more: it is left as it is,
    /// since somebody may want to see why. Where that goes no better, it was not the folder.
    pub(crate) fn instead_of(
        &self,
        used: &Path,
        error: Error,
        anew: impl FnOnce() -> Result<OwnedFolder>,
    ) -> Result<OwnedFolder> {
        let Ok(folder) = anew() else {
            return Err(error);
        };
        self.leave(used, &tm_scheduler::with_causes(&error));
        Ok(folder)
    }

    /// Gives a folder to nobody any more, for a reason that follows "failed to".
    pub fn leave(&self, folder: &Path, why: &str) {
        self.retire(folder);
        let why = tm_untrusted::clean(why);
        let note = format!(
            "`{}` is not used again, and stays for you to look at: failed to {why}",
            folder.display()
        );
        self.state.idle().left.push(note);
    }

    /// Returns what people should know of folders that were left, once.
    pub fn take_notes(&self) -> Vec<String> {
        take(&mut self.state.idle().left)
    }

    /// Gives a worktree to nobody any more when it comes back, since somebody may still be at work there whom nobody
    /// reaches. It stays where it is.
    pub fn retire(&self, path: &Path) {
        let mut idle = self.state.idle();
        idle.retired.insert(path.to_owned());
        idle.folders.retain(|folder| folder.path != path);
        idle.judges.retain(|(folder, _)| folder.path != path);
    }
}
