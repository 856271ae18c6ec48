//! Shows commits to a person at the terminal, through the pager that git chooses (`GIT_PAGER`, `core.pager`, `PAGER`).

use crate::git::Git;
use crate::{Repository, Result, RunHooks};
use tm_scheduler::CommitId;

impl Repository {
    /// Shows what differs between two commits: a summary of the files, then the lines.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn show_diff(&self, from: &CommitId, to: &CommitId) -> Result<()> {
        self.in_terminal()
            .line("diff --stat --patch")
            .commit(from)
            .commit(to)
            .arg("--")
            .shown()
    }

    /// Shows the commits that `to` has and `from` has not, the last one first, with the size of each.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn show_log(&self, from: &CommitId, to: &CommitId) -> Result<()> {
        let left_out = format!("^{from}");
        self.in_terminal()
            .line("log --stat")
            .commit(to)
            .arg(left_out)
            .arg("--")
            .shown()
    }

    fn in_terminal(&self) -> Git {
        let git = Git::in_terminal(&self.environment, self.checkout_root(), RunHooks::No).reading();
        match self.own() {
            Some(own) => git.variable("GIT_DIR", own.common()),
            None => git,
        }
    }
}
