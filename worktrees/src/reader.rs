//! Reads refs, commits, trees and files in this process, where the library can read the repository.
//!
//! An answer is one that git would give: what the library can't read, or finds damaged or missing, has no answer here,
//! and git is asked. Nothing is written, and no file that an agent can write decides what is read besides refs and
//! objects: the library opens a git folder of tm's own, whose objects are those of the repository by `alternates`, so
//! that its commit graph is none; what an object holds is compared with its name by the library at each reading.

use crate::clean::Known;
use crate::files::{beginning, is_link_to, replace};
use crate::git::path_of;
use crate::own::HEAD_BYTES;
use crate::{Error, Head, TreeId};
use git2::{ErrorCode, ObjectType, Oid, RepositoryOpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tm_scheduler::CommitId;

/// The modes that git writes into trees; older ones are git's to read.
const MODES: [i32; 5] = [0o040_000, 0o100_644, 0o100_755, 0o120_000, 0o160_000];
const FOLDER: i32 = 0o040_000;
/// The mode of a repository within a repository.
pub(crate) const NESTED: i32 = 0o160_000;

/// One file of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) mode: i32,
    pub(crate) id: String,
    pub(crate) path: Vec<u8>,
}

/// A file that differs between two trees.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Difference {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: DifferenceKind,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum DifferenceKind {
    Added,
    Deleted,
    Modified,
}

/// What was found under a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Found<T> {
    Here(T),
    Nothing,
}

/// The library, opened once for a run.
pub(crate) struct Reader {
    library: Option<Mutex<git2::Repository>>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("reads", &self.library.is_some()).finish()
    }
}

impl Reader {
    /// Makes a git folder for reading from one of tm's own that has the settings, and opens it.
    pub(crate) fn open(folder: &Path, common: &Path, of_repository: &Path) -> Result<Self, Error> {
        let objects = of_repository.join("objects");
        let info = folder.join("objects/info");
        std::fs::create_dir_all(&info).map_err(Error::file("create", &info))?;
        let mut alternates = objects.as_os_str().as_encoded_bytes().to_owned();
        alternates.push(b'\n');
        replace(&info.join("alternates"), &alternates)?;
        for name in ["config", "HEAD"] {
            let content = std::fs::read(common.join(name)).map_err(Error::file("read", common))?;
            replace(&folder.join(name), &content)?;
        }
        for name in ["refs", "packed-refs"] {
            let (target, link) = (of_repository.join(name), folder.join(name));
            if !is_link_to(&link, &target) {
                let _nothing_there = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(&target, &link).map_err(Error::file("link", &link))?;
            }
        }
        // A path with a line feed is none that `alternates` can name. Where history ends, git knows.
        let is_plain = !objects.as_os_str().as_encoded_bytes().contains(&b'\n');
        let is_readable = is_plain && !of_repository.join("shallow").exists();
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
        let nowhere: [&OsStr; 0] = [];
        let library = git2::Repository::open_ext(folder, flags, nowhere).ok().filter(|_| is_readable);
        Ok(Self { library: library.map(Mutex::new) })
    }

    /// Tells whether the library can read the repository.
    #[cfg(test)]
    pub(crate) const fn reads(&self) -> bool {
        self.library.is_some()
    }

    fn library(&self) -> Option<MutexGuard<'_, git2::Repository>> {
        // It is only read, so whoever died with it left it whole.
        Some(self.library.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the id at a full name of a reference. One that names another one is git's to follow.
    pub(crate) fn reference(&self, name: &str) -> Option<Found<String>> {
        match self.library()?.find_reference(name) {
            Ok(reference) => Some(Found::Here(reference.target()?.to_string())),
            Err(error) if error.code() == ErrorCode::NotFound => Some(Found::Nothing),
            Err(_) => None,
        }
    }

    /// Returns the full names of references that begin so, with their ids, in order.
    pub(crate) fn references(&self, beginning: &str) -> Option<Vec<(String, String)>> {
        let library = self.library()?;
        let mut found = Vec::new();
        for reference in library.references().ok()? {
            let reference = reference.ok()?;
            let name = std::str::from_utf8(reference.name_bytes()).ok()?;
            if name.starts_with(beginning) {
                // One that names another one is git's to follow.
                found.push((name.to_owned(), reference.target()?.to_string()));
            }
        }
        found.sort();
        Some(found)
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_of(&self, commit: &str) -> Option<String> {
        Some(self.library()?.find_commit(id(commit)?).ok()?.tree_id().to_string())
    }

    /// Returns the commit that a whole id or a full name of a reference stands for.
    pub(crate) fn commit(&self, revision: &str) -> Option<Found<CommitId>> {
        let named = match revision.starts_with("refs/").then(|| self.reference(revision)) {
            Some(found) => found?,
            None => Found::Here(revision.to_owned()),
        };
        let Found::Here(named) = named else { return Some(Found::Nothing) };
        // What is no commit may lead to one.
        let commit = self.library()?.find_commit(id(&named)?).ok()?.id();
        Some(Found::Here(CommitId::new(commit.to_string())))
    }

    /// Returns where a checkout stands, by its own git folder.
    pub(crate) fn head(&self, git_dir: &Path) -> Option<Head> {
        let text = String::from_utf8(beginning(&git_dir.join("HEAD"), HEAD_BYTES).ok()?).ok()?;
        let text = text.strip_suffix('\n')?;
        let named = text.strip_prefix("ref: ");
        let Found::Here(commit) = self.commit(named.unwrap_or(text))? else { return None };
        Some(Head { commit, branch: named.and_then(|name| name.strip_prefix("refs/heads/")).map(ToOwned::to_owned) })
    }

    /// Tells that a tree is here.
    pub(crate) fn has_tree(&self, tree: &str) -> Option<()> {
        self.library()?.find_tree(id(tree)?).ok().map(drop)
    }

    /// Returns the parents of a commit.
    pub(crate) fn parents(&self, commit: &CommitId) -> Option<Vec<CommitId>> {
        let library = self.library()?;
        let commit = library.find_commit(id(commit.as_str())?).ok()?;
        Some(commit.parent_ids().map(|parent| CommitId::new(parent.to_string())).collect())
    }

    /// Tells whether one commit is reachable from another.
    pub(crate) fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Option<bool> {
        let (ancestor, descendant) = (id(ancestor.as_str())?, id(descendant.as_str())?);
        let library = self.library()?;
        library.find_commit(ancestor).ok()?;
        library.graph_descendant_of(descendant, ancestor).ok()
    }

    /// Returns every file of a tree, in git's order.
    pub(crate) fn entries(&self, tree: &TreeId) -> Option<Vec<Entry>> {
        let library = self.library()?;
        let mut found = Vec::new();
        collect(&library, id(&tree.0)?, &mut Vec::new(), &mut |mode, id, path| {
            found.push(Entry { mode, id: id.to_string(), path: path.to_owned() });
        })?;
        Some(found)
    }

    /// Returns what differs between two trees, in git's order.
    pub(crate) fn differences(&self, one: &str, other: &str) -> Option<Vec<Difference>> {
        let library = self.library()?;
        let mut found = Vec::new();
        let tree = |id: Oid| library.find_commit(id).map_or(id, |commit| commit.tree_id());
        differ(&library, Some(tree(id(one)?)), Some(tree(id(other)?)), &mut Vec::new(), &mut found)?;
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Some(found)
    }

    /// Returns the paths of an index of tm's own.
    pub(crate) fn paths_of_index(&self, index: &Path) -> Option<Known> {
        // One whose ids are of another kind is not known as such.
        self.library.as_ref()?;
        let index = git2::Index::open(index).ok()?;
        let nested = u32::try_from(NESTED).ok()?;
        Some(index.iter().map(|entry| (path_of(&entry.path).into_os_string(), entry.mode == nested)).collect())
    }

    /// Returns the content of a file, or the target of a link, in a tree.
    pub(crate) fn file(&self, tree: &str, path: &str) -> Option<Found<Vec<u8>>> {
        let library = self.library()?;
        let mut at = id(tree)?;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let Some((mode, found)) =
                library.find_tree(at).ok()?.get_name(name).map(|entry| (entry.filemode_raw(), entry.id()))
            else {
                return Some(Found::Nothing);
            };
            if names.peek().is_some() && mode != FOLDER {
                return Some(Found::Nothing);
            }
            at = found;
        }
        content(&library, at).map(Found::Here)
    }

    /// Returns the content of a blob.
    pub(crate) fn blob(&self, blob: &str) -> Option<Vec<u8>> {
        content(&*self.library()?, id(blob)?)
    }
}

fn content(library: &git2::Repository, blob: Oid) -> Option<Vec<u8>> {
    let odb = library.odb().ok()?;
    let object = odb.read(blob).ok()?;
    (object.kind() == ObjectType::Blob).then(|| object.data().to_owned())
}

/// A full id of the kind that the library reads.
fn id(text: &str) -> Option<Oid> {
    (text.len() == 40).then(|| Oid::from_str(text).ok())?
}

/// Tells each file below a tree.
fn collect(
    library: &git2::Repository,
    tree: Oid,
    folder: &mut Vec<u8>,
    tell: &mut impl FnMut(i32, Oid, &[u8]),
) -> Option<()> {
    let tree = library.find_tree(tree).ok()?;
    for entry in &tree {
        let mode = entry.filemode_raw();
        if !MODES.contains(&mode) {
            return None;
        }
        let length = folder.len();
        folder.extend_from_slice(entry.name_bytes());
        if mode == FOLDER {
            folder.push(b'/');
            collect(library, entry.id(), folder, tell)?;
        } else {
            tell(mode, entry.id(), folder);
        }
        folder.truncate(length);
    }
    Some(())
}

type Names = BTreeMap<Vec<u8>, (i32, Oid)>;

fn names(library: &git2::Repository, tree: Option<Oid>) -> Option<Names> {
    let Some(tree) = tree else { return Some(Names::new()) };
    let tree = library.find_tree(tree).ok()?;
    let named: Names =
        tree.iter().map(|entry| (entry.name_bytes().to_owned(), (entry.filemode_raw(), entry.id()))).collect();
    named.values().all(|(mode, _)| MODES.contains(mode)).then_some(named)
}

/// Compares two trees, below which only what differs is looked at.
fn differ(
    library: &git2::Repository,
    one: Option<Oid>,
    other: Option<Oid>,
    folder: &mut Vec<u8>,
    found: &mut Vec<Difference>,
) -> Option<()> {
    if one == other {
        // It is there, or git is to say that it is not.
        return library.find_tree(one?).ok().map(drop);
    }
    let (before, after) = (names(library, one)?, names(library, other)?);
    let all: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
    for name in all {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        let length = folder.len();
        folder.extend_from_slice(name);
        let is_folder = |entry: Option<&(i32, Oid)>| entry.filter(|(mode, _)| *mode == FOLDER).map(|(_, id)| *id);
        let is_file = |entry: Option<&(i32, Oid)>| entry.is_some_and(|(mode, _)| *mode != FOLDER);
        let kind = match (is_file(old), is_file(new)) {
            (true, true) => Some(DifferenceKind::Modified),
            (true, false) => Some(DifferenceKind::Deleted),
            (false, true) => Some(DifferenceKind::Added),
            (false, false) => None,
        };
        found.extend(kind.map(|kind| Difference { path: folder.clone(), kind }));
        let (old, new) = (is_folder(old), is_folder(new));
        if old.is_some() || new.is_some() {
            folder.push(b'/');
            differ(library, old, new, folder, found)?;
        }
        folder.truncate(length);
    }
    Some(())
}
