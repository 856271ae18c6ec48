//! Pushes branches to a remote, and says which remote is meant. Never forces, never pushes the default branch.

use crate::git::{Git, Hooks};
use crate::{BranchName, Error, Repository};

impl Repository {
    /// Returns the remote that work is pushed to: where the checked-out branch is pulled from, else `origin`, else the
    /// only one there is.
    ///
    /// # Errors
    /// git refused.
    pub fn remote(&self) -> Result<Option<String>, Error> {
        if let Some(branch) = self.head()?.branch {
            let key = format!("branch.{branch}.remote");
            let configured = self.git().line("config --get").arg(&key).text_if_any()?;
            // A dot is this repository itself.
            if let Some(remote) = configured.filter(|remote| remote != ".") {
                return Ok(Some(remote));
            }
        }
        let listing = self.git().arg("remote").text()?;
        let remotes: Vec<&str> = listing.lines().collect();
        let origin = remotes.iter().find(|remote| **remote == "origin");
        let only = if remotes.len() == 1 {
            remotes.first()
        } else {
            None
        };
        Ok(origin.or(only).map(|remote| (*remote).to_owned()))
    }

    /// Tells whether there is a remote of that name.
    ///
    /// # Errors
    /// git refused.
    pub fn has_remote(&self, remote: &str) -> Result<bool, Error> {
        Ok(self
            .git()
            .arg("remote")
            .text()?
            .lines()
            .any(|known| known == remote))
    }

    /// Pushes branches, all or none, with hooks and credentials as the user has them set up; git may ask at the
    /// terminal.
    ///
    /// # Errors
    /// A branch is the default one, the remote has other work under its name, or git refused.
    pub fn push(&self, remote: &str, branches: &[BranchName]) -> Result<(), Error> {
        for branch in branches {
            self.assert_not_protected(branch)?;
        }
        let references = branches
            .iter()
            .map(BranchName::reference)
            .map(|name| format!("{name}:{name}"));
        Git::in_terminal(self.environment(), self.checkout_root(), Hooks::Configured)
            .line("push --quiet --atomic --")
            .arg(remote)
            .args(references)
            .shown()
    }
}
