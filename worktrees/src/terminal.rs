//! What git does at the terminal of a person: shows commits through the pager that git chooses (`GIT_PAGER`, `core.pager`,
//! `PAGER`), and pushes branches to a remote. Never forces, never pushes the default branch.

use crate::git::Git;
use crate::{Repository, Result, RunHooks};
use tm_scheduler::{BranchName, CommitId};

/// Whether git colours what a person reads.
#[derive(Clone, Copy, Debug)]
pub enum Coloured {
    /// Where a terminal or a pager is.
    Auto,
    /// In files and pipes too.
    Always,
    /// Nowhere.
    Never,
}

impl Coloured {
    const fn option(self) -> &'static str {
        match self {
            Self::Auto => "--color=auto",
            Self::Always => "--color=always",
            Self::Never => "--color=never",
        }
    }
}

impl Repository {
    /// Returns the remote that work is pushed to: where the checked-out branch is pulled from, else `origin`, else the
    /// only one there is.
    ///
    /// # Errors
    /// git refused.
    pub fn remote(&self) -> Result<Option<String>> {
        if let Some(branch) = self.head()?.branch {
            let configured = self.configured(&format!("branch.{branch}.remote"))?;
            // A dot is this repository itself.
            if let Some(remote) = configured.filter(|remote| remote != ".") {
                return Ok(Some(remote));
            }
        }
        let remotes = self.remotes()?;
        let is_only = remotes.len() == 1;
        Ok(remotes
            .into_iter()
            .find(|remote| is_only || remote == "origin"))
    }

    /// Pushes branches, each as it is here or at a commit, all or none, with hooks and credentials as the user has them set up; git may ask at the
    /// terminal.
    ///
    /// # Errors
    /// A branch is the default one, the remote has other work under its name, or git refused.
    pub fn push(&self, remote: &str, branches: &[(BranchName, Option<CommitId>)]) -> Result<()> {
        for (branch, _) in branches {
            self.assert_not_protected(branch)?;
        }
        let reference = |(branch, tip): &(BranchName, Option<CommitId>)| {
            let name = branch.reference();
            let tip = tip.as_ref().map_or(name.as_str(), CommitId::as_str);
            format!("{tip}:{name}")
        };
        let references = branches.iter().map(reference);
        Git::in_terminal(&self.environment, self.checkout_root(), RunHooks::Yes)
            .line("push --quiet --atomic --")
            .arg(remote)
            .args(references)
            .shown()
    }

    /// Shows what differs between two commits: a summary of the files, then the lines.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn show_diff(&self, (from, to): (&CommitId, &CommitId), colours: Coloured) -> Result<()> {
        self.in_terminal()
            .line("diff --stat --patch")
            .arg(colours.option())
            .commit(from)
            .commit(to)
            .arg("--")
            .shown()
    }

    /// Shows the commits that `to` has and `from` has not, the last one first, with the size of each.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn show_log(&self, (from, to): (&CommitId, &CommitId), colours: Coloured) -> Result<()> {
        let left_out = format!("^{from}");
        self.in_terminal()
            .line("log --stat")
            .arg(colours.option())
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
