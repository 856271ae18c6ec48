//! What git itself reads in a folder that others write, looked at before it is asked anything there: the rules of each
//! folder (`.gitignore` and the like), and what lies in repositories within. git waits for a pipe for ever, reads a device
//! without an end, and includes what settings name.
//!
//! Only what is read as regular files of a bounded length may be there, and not too much of it. Starts nothing.

use crate::git::path_of;
use crate::indexed::INDEX_BYTES;
use crate::{Error, Result};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{DirEntry, FileType, Metadata};
use std::io::ErrorKind;
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
/// How a file begins that leads to git's folder.
const GITDIR: &[u8] = b"gitdir: ";
/// The setting that says in which form references are kept, and where.
const REFERENCE_STORAGE: &str = "refstorage";
/// Where its references are.
const REFERENCES: [&str; 2] = ["refs", "reftable"];
/// A table of references is as long as the file of all of them.
const OF_TABLES: &str = "reftable";

/// The files that git reads in any folder of a worktree.
const RULES: [&str; 3] = [GITMODULES, ATTRIBUTES, IGNORED];
pub(crate) const ATTRIBUTES: &str = ".gitattributes";
pub(crate) const IGNORED: &str = ".gitignore";
/// The one of them that is opened also where it is a link; the others are not since git 2.32.
const GITMODULES: &str = ".gitmodules";
/// How long each is at the most, and all together, in bytes: git reads 100 MiB of attributes, and before 2.46 patterns
/// without an end, keeps those of all folders on the way at once, and compares each line with each path. Attributes that
/// name every large file of a repository one by one are some MiB.
const OF_RULES: u64 = 16 * 1024 * 1024;
const OF_ALL_RULES: u64 = 64 * 1024 * 1024;

/// Refuses a folder in which git can't be let look: by its rules, or by a repository that lies in it. What is within paths
/// that are passed over is not looked at, they themselves are.
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
            folders.extend(look.within(&folder)?);
        }
    }
    // To tell whether one that lies within another is ignored, git reads the rules on the way to it.
    let within = passed_over.iter().flat_map(|path| path.ancestors().skip(1));
    let mut on_the_way = within.filter(|path| path.ancestors().any(|it| passed_over.contains(it)));
    on_the_way.try_for_each(|folder| look.rules_by_name(folder))
}

/// Refuses folders in which git can't be let read rules when an index names them: it is led through links then, and into
/// what is passed over elsewhere.
pub(crate) fn assert_git_may_read_rules<T: AsRef<Path>>(
    root: &Path,
    folders: impl IntoIterator<Item = T>,
) -> Result<()> {
    let (mut look, mut folders) = (Look::default(), folders.into_iter());
    folders.try_for_each(|folder| look.rules_by_name(&root.join(folder)))
}

/// Refuses a folder in which git can't be let read some of the rules.
pub(crate) fn assert_git_may_read(root: &Path, rules: &[&str]) -> Result<()> {
    let (mut look, mut rules) = (Look::default(), rules.iter());
    rules.try_for_each(|name| look.rules(&root.join(name)))
}

/// Refuses repositories into which git can't be let look when an index names them, also where nobody can list what lies
/// above them.
pub(crate) fn assert_git_may_enter(root: &Path, repositories: &[PathBuf]) -> Result<()> {
    let (mut look, mut paths) = (Look::default(), repositories.iter());
    paths.try_for_each(|path| look.repository_in(&root.join(path)))
}

/// Whether a name may mean one of the files of rules, also to a file system that knows no small letters.
fn is_rules(name: &OsStr) -> bool {
    RULES.iter().any(|rules| name.eq_ignore_ascii_case(rules))
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
    /// So many bytes of rules.
    rules: u64,
}

impl Look {
    /// Looks at the rules in a folder, and returns the folders in it.
    fn within(&mut self, folder: &Path) -> Result<Vec<PathBuf>> {
        let Ok(entries) = folder.read_dir() else {
            // git may still open what it knows to be there.
            self.rules_by_name(folder)?;
            return Ok(Vec::new());
        };
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if is_folder(&entry) {
                folders.extend((name != ".git").then(|| entry.path()));
            } else if is_rules(&name) {
                self.rules(&entry.path())?;
            }
        }
        Ok(folders)
    }

    fn rules_by_name(&mut self, folder: &Path) -> Result<()> {
        let mut all = RULES.iter().map(|name| folder.join(name));
        all.try_for_each(|path| self.rules(&path))
    }

    /// Refuses rules that git would wait for, or that are too long. A folder has none, and neither has what is not there.
    fn rules(&mut self, path: &Path) -> Result<()> {
        let is_followed = path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(GITMODULES));
        let found = if is_followed {
            path.metadata()
        } else {
            path.symlink_metadata()
        };
        match found {
            Ok(found) if !found.is_dir() && !found.is_symlink() => self.read_rules(path, &found),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn read_rules(&mut self, path: &Path, found: &Metadata) -> Result<()> {
        assert_regular(path, found.file_type())?;
        assert_no_longer(path, found, OF_RULES)?;
        self.rules = self.rules.saturating_add(found.len());
        if self.rules > OF_ALL_RULES {
            return Err(refused(
                path,
                format!("all such files are longer than {OF_ALL_RULES} bytes"),
            ));
        }
        Ok(())
    }

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
        // Of a longer one git strips the end.
        assert_short(&git, SHORT)?;
        let pointer = tm_untrusted::read(&git, SHORT).unwrap_or_default();
        match pointer.strip_prefix(GITDIR) {
            Some(pointer) => self.led_from(&named, folder, pointer),
            None => Ok(()),
        }
    }

    /// Looks at the folder of git's to which a pointer leads, which has to read the same for everybody.
    fn led_from(&mut self, named: &Path, folder: &Path, pointer: &[u8]) -> Result<()> {
        let path = pointer.strip_suffix(b"\n").unwrap_or(pointer);
        if path.trim_ascii() != path || path.iter().any(u8::is_ascii_control) {
            return Err(refused(named, "it leads to what may be read in two ways"));
        }
        match folder.join(path_of(path)).canonicalize() {
            Ok(git) => self.git_folder(&git),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(refused(named, format!("it leads nowhere: {error}"))),
        }
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
            assert_leads_nowhere_else(&git.join(settings))?;
        }
        assert_leads_to_reference(&git.join("HEAD"))?;
        assert_names_tables(&git.join(OF_TABLES).join("tables.list"))?;
        for folder in REFERENCES {
            self.references(git.join(folder))?;
        }
        self.common(git)
    }

    /// What a worktree's folder of git's shares with others.
    fn common(&mut self, git: &Path) -> Result<()> {
        let named = git.join("commondir");
        let pointer = tm_untrusted::read(&named, SHORT);
        pointer.map_or(Ok(()), |pointer| self.led_from(&named, git, &pointer))
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
    assert_no_longer(path, &found, most)
}

fn assert_no_longer(path: &Path, found: &Metadata, most: u64) -> Result<()> {
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

/// git opens whatever path is named among the tables of references.
fn assert_names_tables(list: &Path) -> Result<()> {
    assert_short(list, SETTINGS)?;
    let names = tm_untrusted::read(list, SETTINGS).unwrap_or_default();
    if names.contains(&b'/') {
        return Err(refused(list, "it names tables in other folders"));
    }
    Ok(())
}

/// Refuses settings that include others, and those by which references are elsewhere.
fn assert_leads_nowhere_else(settings: &Path) -> Result<()> {
    let text = tm_untrusted::read(settings, SETTINGS).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let mut sections = text.split('[').skip(1).map(str::trim_start);
    if sections.any(|section| section.starts_with("include")) {
        return Err(refused(settings, "its settings include others"));
    }
    let is_plain = |line: &str| {
        let value = line.trim().strip_prefix(REFERENCE_STORAGE);
        let value = value.and_then(|value| value.trim_start().strip_prefix('='));
        value.is_some_and(|value| ["files", "reftable"].contains(&value.trim()))
    };
    let mut of_storage = text.lines().filter(|line| line.contains(REFERENCE_STORAGE));
    if !of_storage.all(is_plain) {
        return Err(refused(settings, "its references may be elsewhere"));
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
    fn rules_that_git_would_wait_for_or_read_without_an_end_are_refused_in_every_folder() {
        for folder in ["", "a", "a/b"] {
            for name in [
                ".gitattributes",
                ".gitignore",
                ".gitmodules",
                ".GitIgnore",
                ".GITATTRIBUTES",
            ] {
                let root = self::folder();
                let path = root.path().join(folder).join(name);
                replace(&path, b"*.x\n").expect("written");
                assert_eq!(said(root.path()), "", "{path:?}");
                pipe(&path);
                let words = said(root.path());
                assert!(
                    words.ends_with(&format!("/{name}`: it is a pipe")),
                    "{words}"
                );
            }
        }
        let root = folder();
        for name in ["x.gitignore", ".gitignored", ".gitkeep", ".mailmap", ".git"] {
            pipe(&root.path().join(name));
        }
        create_folder(&root.path().join("a/.gitignore/x")).expect("made");
        create_folder(&root.path().join(".gitmodules")).expect("made");
        assert_eq!(said(root.path()), "");
        pipe(&root.path().join(".gitmodules/.gitignore"));
        assert!(said(root.path()).ends_with("/.gitmodules/.gitignore`: it is a pipe"));
    }

    #[test]
    fn of_links_those_are_refused_that_git_follows_to_what_it_would_wait_for() {
        let root = folder();
        let at = |name: &str| root.path().join(name);
        pipe(&at("pipe"));
        for (name, target) in [
            (".gitignore", "pipe"),
            (".gitattributes", "/dev/zero"),
            ("a/.gitmodules", "b"),
            ("a/b/.gitmodules", "nowhere"),
        ] {
            symlink(target, at(name)).expect("a link");
        }
        assert_eq!(said(root.path()), "");
        symlink("pipe", at(".gitmodules")).expect("a link");
        assert!(said(root.path()).ends_with("/.gitmodules`: it is a link to `pipe`"));
    }

    #[test]
    fn rules_that_are_too_long_are_refused() {
        let root = folder();
        let long = |name: &str, length| {
            let file = std::fs::File::create(root.path().join(name)).expect("a file");
            file.set_len(length).expect("a hole");
        };
        for number in 0..OF_ALL_RULES / OF_RULES {
            create_folder(&root.path().join(number.to_string())).expect("made");
            long(&format!("{number}/.gitignore"), OF_RULES);
        }
        assert_eq!(said(root.path()), "");
        long("a/.gitattributes", 1);
        assert!(said(root.path()).contains("all such files are longer than"));
        long("a/.gitattributes", 0);
        long("0/.gitignore", OF_RULES + 1);
        assert!(said(root.path()).contains("/0/.gitignore`: it is longer than"));
    }

    #[test]
    fn rules_in_what_is_passed_over_are_looked_at_where_git_reads_them() {
        let root = folder();
        pipe(&root.path().join("a/.gitignore"));
        let looked = |passed_over: &[&str]| {
            let passed_over: Vec<PathBuf> = passed_over.iter().map(PathBuf::from).collect();
            assert_git_may_look(root.path(), &passed_over)
        };
        assert!(looked(&["a"]).is_ok());
        assert!(looked(&["a/b/.git"]).is_err());
        assert!(looked(&["a", "a/b"]).is_err());
        symlink("a", root.path().join("link")).expect("a link");
        for (folder, is_read) in [("a", false), ("link", false), ("a/b", true), ("gone", true)] {
            let read = assert_git_may_read_rules(root.path(), [folder]);
            assert_eq!(read.is_ok(), is_read, "{folder}");
        }
    }

    #[test]
    fn pointers_that_git_may_read_otherwise_are_refused() {
        let padded = format!("gitdir: b/.git{}", "\n".repeat(20_000));
        for (text, is_taken) in [
            ("gitdir: b/.git\n", true),
            ("gitdir: b/.git", true),
            ("gitdir: gone\n", true),
            ("no pointer\n", true),
            ("gitdir: b/.git\0junk", false),
            ("gitdir: b/.git \n", false),
            ("gitdir:  b/.git\n", false),
            ("gitdir: b/.git\n\n", false),
            (padded.as_str(), false),
        ] {
            let root = folder();
            replace(&root.path().join("a/.git"), text.as_bytes()).expect("written");
            assert_eq!(said(root.path()).is_empty(), is_taken, "{text:.30}");
        }
        for (name, text, words) in [
            ("commondir", "../../c\0j", "may be read in two ways"),
            ("reftable/tables.list", "../../../x\n", "in other folders"),
            (
                "config",
                "[extensions]\nrefStorage = \"reftable:/\"/x\n",
                "may be elsewhere",
            ),
        ] {
            let root = folder();
            let path = root.path().join("a/b/.git").join(name);
            create_folder(path.parent().expect("a folder")).expect("made");
            replace(&path, text.as_bytes()).expect("written");
            assert!(said(root.path()).ends_with(words), "{name}");
        }
        let root = folder();
        let git = root.path().join("a/b/.git");
        create_folder(&git.join("reftable")).expect("made");
        replace(&git.join("reftable/tables.list"), b"0x1-0x2-a.ref\n").expect("written");
        replace(
            &git.join("config"),
            b"[extensions]\n\trefstorage = reftable\n",
        )
        .expect("written");
        assert_eq!(said(root.path()), "");
    }

    #[test]
    fn a_repository_that_an_index_names_is_looked_at_wherever_it_lies() {
        let root = folder();
        let all = ["a/b".into(), "a".into(), "gone".into()];
        assert!(assert_git_may_enter(root.path(), &all).is_ok());
        pipe(&root.path().join("a/b/.git/HEAD"));
        assert!(assert_git_may_enter(root.path(), &all).is_err());
        symlink("a", root.path().join("link")).expect("a link");
        assert!(assert_git_may_enter(root.path(), &["link/b".into()]).is_err());
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
