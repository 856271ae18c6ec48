//! What whoever worked in a folder of tm's own left there: HEAD, an index, files that no tree has. Read with care, since
//! anybody may have written it; nothing here changes anything.

use crate::Error;
use crate::files::{beginning, replace};
use crate::git::{Hooks, fields, is_object_id, path_of};
use crate::owned::OwnedFolder;
use std::path::PathBuf;
use tm_scheduler::CommitId;

/// A HEAD is no longer than this.
const SHORT: usize = 8 * 1024;

impl OwnedFolder {
    /// Returns the commit at which whoever worked in the folder left HEAD; `None` when it names none.
    pub(crate) fn head_that_was_left(&self) -> Option<CommitId> {
        let text = beginning(&self.git_dir().join("HEAD"), SHORT).ok()?;
        let text = String::from_utf8(text).ok()?;
        let text = text.trim_end();
        if is_object_id(text) {
            return self.repository().resolve(text).ok();
        }
        let reference = text.strip_prefix("ref: ")?;
        self.repository()
            .resolve(reference)
            .ok()
            .or_else(|| self.last_in_log())
    }

    /// Returns where HEAD was last, where its branch was deleted.
    fn last_in_log(&self) -> Option<CommitId> {
        const LOG_BYTES: usize = 4 * 1024 * 1024;
        let log = beginning(&self.git_dir().join("logs/HEAD"), LOG_BYTES).ok()?;
        let log = String::from_utf8_lossy(&log).into_owned();
        let id = log.lines().last()?.split(' ').nth(1)?;
        if is_object_id(id) {
            self.repository().resolve(id).ok()
        } else {
            None
        }
    }

    /// Returns the paths that whoever worked in the folder put into an index although the rules leave them out.
    pub(crate) fn forced_by_others(&self) -> Vec<PathBuf> {
        const INDEX_BYTES: usize = 256 * 1024 * 1024;
        let listed = || -> Result<Vec<PathBuf>, Error> {
            // A copy: nobody can change it while git reads it.
            let index = beginning(&self.git_dir().join("index"), INDEX_BYTES)?;
            let copy = tempfile::NamedTempFile::new_in(self.own_folder())
                .map_err(Error::file("write", self.own_folder()))?;
            replace(copy.path(), &index)?;
            let git = self
                .git(Hooks::Off)
                .reading()
                .variable("GIT_INDEX_FILE", copy.path());
            let listing = git
                .line("ls-files --cached --ignored --exclude-standard -z")
                .bytes()?;
            Ok(fields(&listing).map(path_of).collect())
        };
        // An index that can't be read says nothing.
        listed().unwrap_or_default()
    }

    /// Returns what lies in the folder and is left out by the rules of the tree.
    pub(crate) fn ignored(&self) -> Result<Vec<PathBuf>, Error> {
        let git = self.git(Hooks::Off).reading();
        let listing = git
            .line("ls-files --others --ignored --exclude-standard --directory -z")
            .bytes()?;
        Ok(fields(&listing).map(path_of).collect())
    }
}
