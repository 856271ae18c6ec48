//! Where the repository around a folder is, as git says.

use crate::git::{Git, is_object_id, path_of};
use crate::{Environment, Error, Result};
use std::path::{Path, PathBuf};

/// Where a repository is.
pub(super) struct Places {
    /// The folder that all worktrees share.
    pub(super) common_dir: PathBuf,
    /// The top of the checkout.
    pub(super) checkout_root: PathBuf,
    /// git's own folder of it.
    pub(super) git_dir: PathBuf,
    /// Whether anything is committed there.
    pub(super) has_commits: bool,
}

impl Places {
    /// Finds them from a folder on, by one call where nothing is missing.
    pub(super) fn find(environment: &Environment, start: &Path) -> Result<Self> {
        let ask = |words| {
            let call = Git::new(environment, start).reading();
            call.line("rev-parse --path-format=absolute").line(words)
        };
        let all = ask("--git-common-dir --show-toplevel --absolute-git-dir HEAD^{commit}").bytes();
        let lines: Vec<_> = all
            .iter()
            .flat_map(|all| all.split(|&byte| byte == b'\n'))
            .collect();
        if let [paths @ .., head, b""] = lines.as_slice()
            && let [common_dir, checkout_root, git_dir] = *paths
            && is_object_id(&String::from_utf8_lossy(head))
        {
            let [common_dir, checkout_root, git_dir] =
                [common_dir, checkout_root, git_dir].map(path_of);
            return Ok(Self {
                common_dir,
                checkout_root,
                git_dir,
                has_commits: true,
            });
        }
        // One after the other tells what is missing; a path may have a line feed in it, too.
        let no_repository = |error| match error {
            Error::Git { .. } => Error::NoRepository(start.to_owned()),
            other => other,
        };
        let no_checkout = |_| Error::NoCheckout(start.to_owned());
        Ok(Self {
            common_dir: ask("--git-common-dir").path().map_err(no_repository)?,
            checkout_root: ask("--show-toplevel").path().map_err(no_checkout)?,
            git_dir: ask("--absolute-git-dir").path()?,
            has_commits: ask("--verify --quiet HEAD^{commit}")
                .text_if_any()?
                .is_some(),
        })
    }
}
