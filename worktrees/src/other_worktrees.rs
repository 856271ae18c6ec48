//! The user's other worktrees as they are at a moment, to say what changed there while an agent worked.
//!
//! People work in them meanwhile, so a change there fails nobody. Worktrees of tm's own are left out: what does not
//! belong there never gets into a commit that was not proven.

use crate::git::{fields, path_of};
use crate::snapshot::{PathState, first_of, path_state};
use crate::{Error, Repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many changes are named at the most.
const SHOWN: usize = 20;
/// Where git's folder of a worktree says that it lies.
const MOST_BYTES: u64 = 16 * 1024;

/// Where each of them stands, and every path in it that differs from its HEAD.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct OtherWorktrees(BTreeMap<PathBuf, State>);

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct State {
    /// Commit and branch, as git says it.
    head: Vec<String>,
    paths: BTreeMap<PathBuf, PathState>,
}

impl OtherWorktrees {
    /// Looks at all worktrees but the user's checkout and those below `own`.
    ///
    /// # Errors
    /// git refused.
    pub fn take(repository: &Repository, own: &Path) -> Result<Self, Error> {
        // git lists them by their real paths.
        let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        let mut others = BTreeMap::new();
        for (_, folder) in repository.main_and_linked() {
            let is_other = folder != repository.checkout_root() && !folder.starts_with(&own);
            // A bare repository has no files, and a worktree that was deleted has none any more.
            if is_other && folder.join(".git").exists() {
                let state = State::of(repository, &folder)?;
                others.insert(folder, state);
            }
        }
        Ok(Self(others))
    }

    /// Returns what is different later, in words.
    pub fn changes(&self, later: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (folder, now) in &later.0 {
            let before = self.0.get(folder).cloned().unwrap_or_default();
            if before.head != now.head {
                changes.push(format!("HEAD of {}", folder.display()));
            }
            let changed = now
                .paths
                .iter()
                .filter(|(path, state)| before.paths.get(*path) != Some(state));
            let back = before
                .paths
                .keys()
                .filter(|path| !now.paths.contains_key(*path));
            let paths = changed.map(|(path, _)| path).chain(back);
            changes.extend(paths.map(|path| folder.join(path).display().to_string()));
        }
        first_of(changes, SHOWN)
    }
}

impl State {
    fn of(repository: &Repository, folder: &Path) -> Result<Self, Error> {
        let call = repository
            .git_at_other_checkout(folder)?
            .line("status --porcelain=v2 --branch -z --no-renames --untracked-files=all");
        let listing = call.bytes()?;
        let mut state = Self::default();
        for entry in fields(&listing) {
            // The path comes last, after so many words.
            let words = match entry.first() {
                Some(b'#') => {
                    state.head.push(String::from_utf8_lossy(entry).into_owned());
                    continue;
                }
                Some(b'1') => 9,
                Some(b'u') => 11,
                _ => 2,
            };
            let Some(path) = entry
                .splitn(words, |&byte| byte == b' ')
                .nth(words - 1)
                .map(path_of)
            else {
                continue;
            };
            let now = path_state(entry.to_vec(), &folder.join(&path));
            state.paths.insert(path, now);
        }
        Ok(state)
    }
}

impl Repository {
    /// Returns the main checkout and the linked ones whose folders are there, each as git's own folder and its top, by
    /// what git's files say.
    pub(crate) fn main_and_linked(&self) -> Vec<(PathBuf, PathBuf)> {
        let common = self.common_dir();
        let main = common
            .parent()
            .filter(|_| common.file_name().is_some_and(|name| name == ".git"));
        let mut found: Vec<_> = main
            .map(|main| (common.to_owned(), main.to_owned()))
            .into_iter()
            .collect();
        let linked = std::fs::read_dir(common.join("worktrees"))
            .into_iter()
            .flatten()
            .flatten();
        found.extend(linked.map(|entry| entry.path()).filter_map(|git_dir| {
            let link = tm_untrusted::read(&git_dir.join("gitdir"), MOST_BYTES).ok()?;
            // A relative one counts from git's folder on.
            let root = git_dir
                .join(path_of(link.trim_ascii_end()))
                .parent()?
                .canonicalize()
                .ok()?;
            root.is_dir().then_some((git_dir, root))
        }));
        found
    }
}
