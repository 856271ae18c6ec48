//! Partial clones: git would fetch what one lacks as soon as anybody names it, in the user's name, and agents name what they
//! like. So what the commit that a run began with lacks is fetched when the run begins, and nothing later.

use super::own::OwnGit;
use crate::git::LONGEST_OF_NETWORK;
use crate::{Repository, Result};
use std::fs;
use std::path::Path;
use tm_scheduler::CommitId;

/// By this git, from 2.44 on, fetches nothing that is missing in a partial clone.
pub(super) const NO_LAZY_FETCH: &str = "GIT_NO_LAZY_FETCH";
/// How git itself fetches objects that a partial clone lacks.
const AS_LAZILY: &str =
    "--quiet --no-tags --no-write-fetch-head --recurse-submodules=no --filter=blob:none --stdin";

/// Tells by the settings that were taken, and by the format, whether a repository is a partial clone.
pub(super) fn is_partial(taken: &Path, common: &Path) -> bool {
    let says = |file: &Path, word: &str| {
        let text = fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&text).to_lowercase().contains(word)
    };
    says(taken, "promisor") || says(&common.join("config"), "partialclone")
}

impl Repository {
    /// Fetches the objects of a commit's tree that a partial clone lacks, as git itself does.
    pub(super) fn bring_lacking(&self, base: &CommitId) -> Result<()> {
        let Some(own) = self.own().filter(|own| own.is_partial) else {
            return Ok(());
        };
        let listing = self
            .git_on_objects("rev-list --objects --no-object-names --missing=print --no-walk")
            .commit(base)
            .text()?;
        let missing: Vec<&str> = listing
            .lines()
            .filter_map(|line| line.strip_prefix('?'))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let Some(remote) = own.promisor(self)? else {
            return Ok(());
        };
        self.git_at_checkout("-c fetch.negotiationAlgorithm=noop fetch")
            .arg(remote)
            .at_most(LONGEST_OF_NETWORK)
            .line(AS_LAZILY)
            .input(missing.join("\n") + "\n")
            .done()
    }
}

impl OwnGit {
    /// Returns the remote that has promised what is lacking.
    fn promisor(&self, repository: &Repository) -> Result<Option<String>> {
        let taken = self.taken_settings();
        let git = repository.git_on_objects("config --file").arg(taken);
        let named = git.args(["--name-only", "--get-regexp", r"^remote\..*\.promisor$"]);
        let named = named.text_if_any()?.unwrap_or_default();
        let first = named.lines().next();
        let remote = first.and_then(|key| key.strip_prefix("remote.")?.strip_suffix(".promisor"));
        match remote {
            Some(remote) => Ok(Some(remote.to_owned())),
            None => repository.configured("extensions.partialclone"),
        }
    }
}
