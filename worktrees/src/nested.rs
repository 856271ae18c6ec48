//! Repositories within a folder that others write, looked at before git is asked anything there: git opens what lies in
//! theirs, waits for a pipe for ever, reads a device without an end, and includes what their settings name.
//!
//! Only those may be there of which git reads regular files of a bounded length, and not too many of them. Starts nothing.

use crate::indexed::INDEX_BYTES;
use crate::surrounding::path_in_pointer;
use crate::{Error, Result};
use std::collections::HashSet;
use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};

/// So many repositories are in a folder at the most, and so many references in all of them.
const MOST_REPOSITORIES: usize = 5_000;
const MOST_REFERENCES: usize = 100_000;
/// The files that git reads of a repository to find out where it is, and how long each is at the most, in bytes.
const FILES: [(&str, u64); 8] = [
    ("HEAD", SHORT),
    ("commondir", SHORT),
    ("gitdir", SHORT),
    ("config", SETTINGS),
    ("config.worktree", SETTINGS),
    ("shallow", SETTINGS),
    ("index", INDEX_BYTES as u64),
    ("packed-refs", INDEX_BYTES as u64),
];
const SHORT: u64 = 8 * 1024;
const SETTINGS: u64 = 1024 * 1024;
/// Where its references are.
const REFERENCES: [&str; 2] = ["refs", "reftable"];
/// A table of references is as long as the file of all of them.
const OF_TABLES: &str = "reftable";

/// Refuses a folder in which a repository lies that git can't be let look at. What is within paths that are passed over
/// is not looked at, they themselves are.
pub(crate) fn assert_git_may_look(root: &Path, passed_over: &[PathBuf]) -> Result<()> {
    let passed_over: HashSet<PathBuf> = passed_over
        .iter()
        .map(|path| root.join(path.components().as_path()))
        .collect();
    let (mut look, mut folders) = (Look::default(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        if folder != root {
            look.repository_in(&folder)?;
        }
        if !passed_over.contains(&folder) {
            let within = tm_untrusted::entries(&folder)
                .filter(|entry| is_folder(entry) && entry.file_name() != ".git");
            folders.extend(within.map(|entry| entry.path()));
        }
    }
    Ok(())
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn refused(path: &Path, why: impl Into<String>) -> Error {
    Error::NotForGit {
        path: path.to_owned(),
        why: why.into(),
    }
}

/// What was looked at so far.
#[derive(Default)]
struct Look {
    /// git's folders, which several checkouts may have in common.
    seen: HashSet<PathBuf>,
    references: usize,
}

impl Look {
    /// Looks at the repository whose files lie in a folder, where there is one.
    fn repository_in(&mut self, folder: &Path) -> Result<()> {
        let named = folder.join(".git");
        // What leads nowhere is no repository for git either.
        let Ok(git) = named.canonicalize() else {
            return Ok(());
        };
        let Ok(kind) = git.symlink_metadata().map(|found| found.file_type()) else {
            return Ok(());
        };
        if kind.is_dir() {
            return self.git_folder(&git);
        }
        assert_regular(&named, kind)?;
        let pointer = tm_untrusted::read(&git, SHORT).unwrap_or_default();
        let Some(pointer) = pointer.strip_prefix(b"gitdir:") else {
            return Ok(());
        };
        let leads_to = folder.join(path_in_pointer(pointer)).canonicalize();
        leads_to.map_or(Ok(()), |git| self.git_folder(&git))
    }

    fn git_folder(&mut self, git: &Path) -> Result<()> {
        if !self.seen.insert(git.to_owned()) {
            return Ok(());
        }
        if self.seen.len() > MOST_REPOSITORIES {
            return Err(refused(
                git,
                format!("there are more than {MOST_REPOSITORIES} repositories"),
            ));
        }
        for (name, most) in FILES {
            assert_short(&git.join(name), most)?;
        }
        for settings in ["config", "config.worktree"] {
            assert_includes_nothing(&git.join(settings))?;
        }
        assert_leads_to_reference(&git.join("HEAD"))?;
        for folder in REFERENCES {
            self.references(git.join(folder))?;
        }
        self.common(git)
    }

    /// What a worktree's folder of git's shares with others.
    fn common(&mut self, git: &Path) -> Result<()> {
        let Ok(pointer) = tm_untrusted::read(&git.join("commondir"), SHORT) else {
            return Ok(());
        };
        let common = git.join(path_in_pointer(&pointer)).canonicalize();
        common.map_or(Ok(()), |common| self.git_folder(&common))
    }

    fn references(&mut self, folder: PathBuf) -> Result<()> {
        if folder.is_symlink() {
            return Err(refused(&folder, it_is(&folder)));
        }
        let is_of_tables = folder.ends_with(OF_TABLES);
        let most = if is_of_tables {
            INDEX_BYTES as u64
        } else {
            SHORT
        };
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            for entry in tm_untrusted::entries(&folder) {
                self.count_reference(&folder)?;
                let path = entry.path();
                if is_folder(&entry) {
                    folders.push(path);
                    continue;
                }
                assert_short(&path, most)?;
                if !is_of_tables {
                    assert_leads_to_reference(&path)?;
                }
            }
        }
        Ok(())
    }

    fn count_reference(&mut self, folder: &Path) -> Result<()> {
        self.references += 1;
        if self.references > MOST_REFERENCES {
            return Err(refused(
                folder,
                format!("there are more than {MOST_REFERENCES} references"),
            ));
        }
        Ok(())
    }
}

fn it_is(path: &Path) -> String {
    format!("it is {}", tm_untrusted::says_what_is_there(path))
}

fn assert_regular(path: &Path, kind: FileType) -> Result<()> {
    if kind.is_file() {
        Ok(())
    } else {
        Err(refused(path, it_is(path)))
    }
}

/// Refuses what is there and no regular file, or a longer one.
fn assert_short(path: &Path, most: u64) -> Result<()> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    assert_regular(path, found.file_type())?;
    if found.len() > most {
        return Err(refused(path, format!("it is longer than {most} bytes")));
    }
    Ok(())
}

/// A reference may name any file in git's folder, and that is read whole.
fn assert_leads_to_reference(path: &Path) -> Result<()> {
    let text = tm_untrusted::read(path, SHORT).unwrap_or_default();
    match text.strip_prefix(b"ref:") {
        Some(name) if !name.trim_ascii_start().starts_with(b"refs/") => {
            Err(refused(path, "it leads to what is no reference"))
        }
        _ => Ok(()),
    }
}

fn assert_includes_nothing(settings: &Path) -> Result<()> {
    let text = tm_untrusted::read(settings, SETTINGS).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let mut sections = text.split('[').skip(1).map(str::trim_start);
    if sections.any(|section| section.starts_with("include")) {
        return Err(refused(settings, "its settings include others"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{create_folder, replace};
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A folder with a repository in `a/b`.
    fn folder() -> TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let git = root.path().join("a/b/.git");
        for folder in ["objects", "refs/heads"] {
            create_folder(&git.join(folder)).expect("made");
        }
        for (name, text) in [
            ("HEAD", "ref: refs/heads/main\n"),
            ("config", "[core]\n\tbare = false\n"),
            (
                "refs/heads/main",
                "fb7fa7f5b3f15d726933c1c7a97d9c9495b4b684\n",
            ),
        ] {
            replace(&git.join(name), text.as_bytes()).expect("written");
        }
        root
    }

    fn pipe(path: &Path) {
        let _nothing = std::fs::remove_file(path);
        mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).expect("a pipe");
    }

    fn said(root: &Path) -> String {
        let looked = assert_git_may_look(root, &[]);
        looked
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn what_git_would_wait_for_or_read_without_an_end_is_refused_and_named() {
        let at = |root: &TempDir, name: &str| root.path().join("a/b").join(name);
        assert_eq!(said(folder().path()), "");
        for name in [
            "HEAD",
            "config",
            "index",
            "commondir",
            "packed-refs",
            "refs/heads/x",
        ] {
            let root = folder();
            pipe(&at(&root, ".git").join(name));
            let said = said(root.path());
            assert!(said.ends_with(&format!("/{name}`: it is a pipe")), "{said}");
            assert!(assert_git_may_look(root.path(), &["a".into()]).is_ok());
            assert!(assert_git_may_look(root.path(), &["a/b/".into()]).is_err());
        }
        for (name, text, words) in [
            (
                ".git/HEAD",
                "ref: objects/x",
                "it leads to what is no reference",
            ),
            (
                ".git/refs/heads/main",
                "ref:objects/x",
                "it leads to what is no reference",
            ),
            (
                ".git/config",
                "[core]\n[ includeIf \"x\"]\n",
                "its settings include others",
            ),
        ] {
            let root = folder();
            replace(&at(&root, name), text.as_bytes()).expect("written");
            assert!(said(root.path()).ends_with(words), "{name}");
        }
        let root = folder();
        symlink("/dev/zero", at(&root, ".git/refs/heads/zero")).expect("a link");
        assert!(said(root.path()).ends_with("it is a link to `/dev/zero`"));
        let root = folder();
        let index = std::fs::File::create(at(&root, ".git/index")).expect("a file");
        index.set_len(1 << 40).expect("a hole");
        assert!(said(root.path()).contains("it is longer than"));
    }

    #[test]
    fn wherever_a_repository_says_that_it_lies_is_looked_at() {
        let (root, elsewhere) = (folder(), folder());
        let git = elsewhere.path().join("a/b/.git");
        let pointer = format!("gitdir: {}\n", git.display());
        replace(&root.path().join("a/.git"), pointer.as_bytes()).expect("written");
        assert_eq!(said(root.path()), "");
        pipe(&git.join("packed-refs"));
        assert!(said(root.path()).ends_with("it is a pipe"));
        std::fs::remove_file(root.path().join("a/.git")).expect("gone");
        assert_eq!(said(root.path()), "");
        replace(
            &root.path().join("a/b/.git/commondir"),
            git.as_os_str().as_encoded_bytes(),
        )
        .expect("written");
        assert!(said(root.path()).ends_with("it is a pipe"));
        pipe(&root.path().join("a/.git"));
        assert!(said(root.path()).ends_with("it is a pipe"));
    }

    #[test]
    fn too_many_repositories_are_refused() {
        let root = tempfile::tempdir().expect("a folder");
        for number in 0..=MOST_REPOSITORIES {
            create_folder(&root.path().join(format!("{number}/.git"))).expect("made");
        }
        assert!(said(root.path()).ends_with("more than 5000 repositories"));
        std::fs::remove_dir(root.path().join("7/.git")).expect("gone");
        assert_eq!(said(root.path()), "");
    }
}
