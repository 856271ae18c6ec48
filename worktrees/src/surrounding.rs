//! Which repository a folder lies in, and where a repository's checkouts are, told from the files alone.
//!
//! For questions whose answer must not depend on a `git` program or an environment that somebody else may have chosen.

use crate::Repository;
use crate::git::path_of;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The longest pointer from one folder of git's to another that is read, in bytes.
const LONGEST: u64 = 8 * 1024;

/// Returns the folder that all worktrees of the repository around `folder` share, with all links followed; nothing
/// where there is no repository.
pub fn common_dir_around(folder: &Path) -> Option<PathBuf> {
    folder
        .canonicalize()
        .ok()?
        .ancestors()
        .find_map(common_dir_at)
}

/// Returns the top of the checkout around `folder`, with all links followed, whether anything is committed or not; nothing
/// where there is none.
pub fn checkout_root_around(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_owned)
}

impl Repository {
    /// Returns the main checkout and the linked ones whose folders are there, each as git's own folder and its top, by
    /// what git's files say.
    pub(crate) fn main_and_linked(&self) -> Vec<(PathBuf, PathBuf)> {
        self.main_and_linked_but(|_| false)
    }

    /// Returns the same without linked ones that are left out, by their tops as git's files name them.
    pub(crate) fn main_and_linked_but(
        &self,
        is_left_out: impl Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, PathBuf)> {
        let common = self.common_dir();
        let main = common
            .parent()
            .filter(|_| common.file_name().is_some_and(|name| name == ".git"));
        let mut found: Vec<_> = main
            .map(|main| (common.to_owned(), main.to_owned()))
            .into_iter()
            .collect();
        let linked = tm_untrusted::entries(&common.join("worktrees"));
        found.extend(linked.map(|entry| entry.path()).filter_map(|git_dir| {
            let link = tm_untrusted::read_beginning(&git_dir.join("gitdir"), LONGEST).ok()?;
            // A relative one counts from git's folder on.
            let named = git_dir.join(path_in_pointer(&link));
            let root = Some(named.parent()?).filter(|root| !is_left_out(root));
            let root = root?.canonicalize().ok()?;
            root.is_dir().then_some((git_dir, root))
        }));
        found
    }
}

fn common_dir_at(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return common_dir_of(&git);
    }
    if git.is_file() {
        return common_dir_of(&folder.join(pointer(&git)?.strip_prefix("gitdir:")?.trim()));
    }
    let is_git_dir = folder.join("HEAD").is_file()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir();
    is_git_dir.then(|| common_dir_of(folder))?
}

/// A worktree's own folder names the one that it shares.
fn common_dir_of(git_dir: &Path) -> Option<PathBuf> {
    let shared = git_dir.join("commondir");
    let common = if shared.is_file() {
        git_dir.join(pointer(&shared)?.trim())
    } else {
        git_dir.to_owned()
    };
    common.canonicalize().ok()
}

/// The path that a pointer from one folder of git's to another names.
pub(crate) fn path_in_pointer(pointer: &[u8]) -> PathBuf {
    path_of(pointer.trim_ascii())
}

/// Of a longer file the beginning counts, as it does for git: an agent could make its own longer.
fn pointer(file: &Path) -> Option<String> {
    let mut text = String::new();
    let file = tm_untrusted::open_own(file).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    fn write(path: &Path, text: &str) {
        use std::io::Write as _;
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    #[test]
    fn all_worktrees_of_a_repository_share_one_folder() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().canonicalize().unwrap().join(name);
        write(&path("app/.git/HEAD"), "ref: refs/heads/main\n");
        fs::create_dir_all(path("app/.git/objects")).unwrap();
        fs::create_dir_all(path("app/.git/refs")).unwrap();
        fs::create_dir_all(path("app/deep/er")).unwrap();
        write(&path("app/.git/worktrees/other/commondir"), "../..\n");
        write(
            &path("other/.git"),
            &format!("gitdir: {}\n", path("app/.git/worktrees/other").display()),
        );
        write(
            &path("relative/.git"),
            "gitdir: ../app/.git/worktrees/other\n",
        );
        let padding = "\n".repeat(20_000);
        write(
            &path("app/.git/worktrees/padded/commondir"),
            &format!("../..{padding}"),
        );
        let padded = path("app/.git/worktrees/padded");
        write(
            &path("padded/.git"),
            &format!("gitdir: {}{padding}", padded.display()),
        );
        std::os::unix::fs::symlink(path("app/deep"), path("link")).unwrap();
        for folder in [
            "app",
            "app/deep/er",
            "app/.git",
            "app/.git/refs",
            "other",
            "relative",
            "padded",
            "link/er",
        ] {
            assert_eq!(
                common_dir_around(&path(folder)),
                Some(path("app/.git")),
                "{folder}"
            );
        }
    }

    #[test]
    fn where_no_repository_is_none_is_found() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("broken/.git"), "gitdir: ../nowhere\n");
        for folder in ["", "broken", "none"] {
            assert_eq!(
                common_dir_around(&root.path().join(folder)),
                None,
                "{folder}"
            );
        }
    }
}
