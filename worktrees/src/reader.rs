//! Reads refs, commits, trees and files in this process, where the library can read the repository.
//!
//! An answer is one that git would give: what the library can't read, or finds damaged or missing, has no answer here,
//! and git is asked. Nothing but objects is written (`to_test.rs`, `new_commit.rs`, `apart.rs`), and no file that an agent
//! can write decides what is read besides refs and objects: the library opens a git folder of tm's own, whose objects are
//! those of the repository and those of the run by `alternates`, so that its commit graph is none; what an object holds is
//! compared with its name by the library at each reading.

use crate::checked_objects::CheckedObjects;
use crate::files::{beginning, create_folder, link, replace};
use crate::library::{Found, Fresh, Library, NESTED, content};
use crate::merge_bases::MergeBases;
use crate::names::name_of;
use crate::repository::own_objects::OwnObjects;
use crate::writer::Writer;
use crate::{OrFailedTo as _, Result, TreeId};
use git2::{ErrorCode, ObjectType, Odb, Oid, References, RepositoryOpenFlags};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tm_scheduler::CommitId;
use tm_scheduler::verdict::ChangeKind;

/// A file `HEAD` is no longer than this.
pub(crate) const HEAD_BYTES: usize = 4 * 1024;

/// One file of a tree.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Entry {
    pub(crate) mode: i32,
    pub(crate) id: String,
    pub(crate) path: Vec<u8>,
}

impl Entry {
    /// Tells whether it is a commit of another repository.
    pub(crate) const fn is_repository(&self) -> bool {
        self.mode == NESTED
    }

    /// Returns its path as text.
    pub(crate) fn name(&self) -> String {
        name_of(&self.path)
    }
}

/// Where a checkout stands.
#[derive(Debug, Eq, PartialEq)]
pub struct Head {
    /// The commit.
    pub commit: CommitId,
    /// The branch; `None` when HEAD is detached.
    pub branch: Option<String>,
}

/// What a reference says.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// The id of an object.
    Object(CommitId),
    /// The full name of another reference.
    Reference(Vec<u8>),
}

/// Which objects the library may write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum LibraryWrites {
    /// Those that are made to be tested alone: the settings say how git writes objects, and the library knows nothing of
    /// that.
    WhatIsTested,
    /// Those of trees besides: it writes them as git does.
    WhatLasts,
}

/// The library, opened once for a run.
pub(crate) struct Reader {
    /// Where objects can be written.
    common: PathBuf,
    writes: LibraryWrites,
    library: Mutex<Library>,
    merge_bases: Mutex<MergeBases>,
    /// What wrote objects before, and does nothing now.
    writers: Mutex<Vec<git2::Repository>>,
    /// Objects of indices of tm's own that were here.
    pub(crate) indexed: Mutex<HashSet<Oid>>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    /// Makes a git folder for reading from one of tm's own that has the settings, and opens it; `None` where the library
    /// can't read the repository.
    pub(crate) fn open(
        folder: &Path,
        common: &Path,
        of_repository: &Path,
        writes: LibraryWrites,
    ) -> Result<Option<Self>> {
        let objects = common.join("objects");
        let info = folder.join("objects/info");
        create_folder(&info)?;
        let mut alternates = objects.as_os_str().as_encoded_bytes().to_owned();
        alternates.push(b'\n');
        replace(&info.join("alternates"), &alternates)?;
        for name in ["config", "HEAD"] {
            let content = std::fs::read(common.join(name)).or_failed_to("read", common)?;
            replace(&folder.join(name), &content)?;
        }
        for name in ["refs", "packed-refs"] {
            link(&of_repository.join(name), &folder.join(name))?;
        }
        // A path with a line feed is none that `alternates` can name. Where history ends, git knows.
        let is_plain = !objects.as_os_str().as_encoded_bytes().contains(&b'\n');
        let is_readable = is_plain && !of_repository.join("shallow").exists();
        let opened = || Some((open(folder)?, open(folder)?));
        let opened = is_readable.then(opened).flatten();
        Ok(opened.map(|(git, history)| Self {
            common: common.to_owned(),
            writes,
            library: Mutex::new(Library::new(git)),
            merge_bases: Mutex::new(MergeBases::new(history)),
            writers: Mutex::default(),
            indexed: Mutex::default(),
        }))
    }

    pub(crate) fn library(&self) -> MutexGuard<'_, Library> {
        self.library.lock()
    }

    /// Returns what makes objects that are to last; `None` where the settings say how, and the library knows nothing of that.
    pub(crate) fn writer_of_what_lasts(&self) -> Option<Writer<'_>> {
        (self.writes == LibraryWrites::WhatLasts).then(|| self.writer())?
    }

    /// Has whoever writes next look anew at where objects are.
    pub(crate) fn forget_writers(&self) {
        self.writers.lock().clear();
    }

    /// Returns what makes objects.
    pub(crate) fn writer(&self) -> Option<Writer<'_>> {
        Writer::begin(&self.writers, || open(&self.common))
    }

    /// Returns the id at a full name of a reference. One that names another one is git's to follow.
    pub(crate) fn reference(&self, name: &str) -> Option<Found<CommitId>> {
        match self.library().git.find_reference(name) {
            Ok(reference) => Some(Found::Here(commit_id(reference.target()?))),
            Err(error) if error.code() == ErrorCode::NotFound => Some(Found::Nothing),
            Err(_) => None,
        }
    }

    /// Returns the full names of references in a folder of names, with their ids, in order; no others are read.
    pub(crate) fn references(&self, folder: &str) -> Option<Vec<(String, CommitId)>> {
        // No name of a reference holds what stands for other letters.
        if folder.contains(['*', '?', '[', '\\']) || !folder.ends_with('/') {
            return None;
        }
        let library = self.library();
        let below = library.git.references_glob(&format!("{folder}*")).ok()?;
        told(below)?
            .into_iter()
            .map(|(name, target)| match target {
                Target::Object(id) => Some((String::from_utf8(name).ok()?, id)),
                // git's to follow.
                Target::Reference(_) => None,
            })
            .collect()
    }

    /// Returns the full names of all references in order, and what they say.
    pub(crate) fn all_references(&self) -> Option<Vec<(Vec<u8>, Target)>> {
        told(self.library().git.references().ok()?)
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_of(&self, commit: &str) -> Option<TreeId> {
        let library = self.library();
        let commit = library.git.find_commit(id(commit)?).ok()?;
        Some(TreeId(commit.tree_id().to_string()))
    }

    /// Returns the commit that a whole id or a full name of a reference stands for.
    pub(crate) fn commit(&self, revision: &str) -> Option<Found<CommitId>> {
        let named = if revision.starts_with("refs/") {
            match self.reference(revision)? {
                Found::Here(commit) => id(commit.as_str())?,
                Found::Nothing => return Some(Found::Nothing),
            }
        } else {
            id(revision)?
        };
        // What is no commit may lead to one.
        let commit = self.library().git.find_commit(named).ok()?.id();
        Some(Found::Here(commit_id(commit)))
    }

    /// Returns where a checkout stands, by its own git folder.
    pub(crate) fn head(&self, git_dir: &Path) -> Option<Head> {
        let text = beginning(&git_dir.join("HEAD"), HEAD_BYTES).ok()?;
        let text = str::from_utf8(&text).ok()?.strip_suffix('\n')?;
        let named = text.strip_prefix("ref: ");
        Some(Head {
            commit: self.commit(named.unwrap_or(text))?.here()?,
            branch: named
                .and_then(|name| name.strip_prefix("refs/heads/"))
                .map(ToOwned::to_owned),
        })
    }

    /// Tells that a tree is here.
    pub(crate) fn has_tree(&self, tree: &str) -> Option<()> {
        self.library().git.find_tree(id(tree)?).ok().map(drop)
    }

    /// Returns the parents of a commit.
    pub(crate) fn parents(&self, commit: &CommitId) -> Option<Vec<CommitId>> {
        let library = self.library();
        let commit = library.git.find_commit(id(commit.as_str())?).ok()?;
        Some(commit.parent_ids().map(commit_id).collect())
    }

    /// Tells whether one commit is reachable from another.
    pub(crate) fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Option<bool> {
        let (ancestor, descendant) = (id(ancestor.as_str())?, id(descendant.as_str())?);
        self.library().git.find_commit(ancestor).ok()?;
        self.descends(descendant, ancestor)
    }

    fn descends(&self, descendant: Oid, ancestor: Oid) -> Option<bool> {
        Some(*self.bases(descendant, ancestor)? == [ancestor])
    }

    /// Returns where two commits part, all of them.
    pub(crate) fn bases(&self, one: Oid, other: Oid) -> Option<Vec<Oid>> {
        self.merge_bases.lock().of(one, other)
    }

    /// Returns the files of a tree that are wanted by mode and path, in git's order.
    pub(crate) fn entries(
        &self,
        tree: &TreeId,
        is_wanted: &dyn Fn(i32, &[u8]) -> bool,
    ) -> Option<Vec<Entry>> {
        let mut found = Vec::new();
        self.library()
            .collect(id(&tree.0)?, &mut Vec::new(), &mut |mode, id, path| {
                if is_wanted(mode, path) {
                    found.push(Entry {
                        mode,
                        id: id.to_string(),
                        path: path.to_owned(),
                    });
                }
            })?;
        Some(found)
    }

    /// Returns what differs between two trees, or those of two commits, in git's order.
    pub(crate) fn differences(&self, one: &str, other: &str) -> Option<Vec<(Vec<u8>, ChangeKind)>> {
        let mut library = self.library();
        let tree = |id: Oid| {
            let commit = library.git.find_commit(id);
            commit.map_or(id, |commit| commit.tree_id())
        };
        let (one, other) = (tree(id(one)?), tree(id(other)?));
        let mut found = Vec::new();
        library.differ(Some(one), Some(other), &mut Vec::new(), &mut found)?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(found)
    }

    /// Tells that all objects of a commit or tree that `known` does not have are here, and are what their names say. They
    /// are read from the disk, whatever is known of them; returns which were read.
    pub(crate) fn are_as_named(&self, of: &str, known: &str) -> Option<Vec<Oid>> {
        let mut fresh = self.fresh()?;
        fresh.are_as_named(id(of)?, id(known)?)?;
        Some(fresh.read)
    }

    /// Returns what reads objects from the disk: objects alone, for which no settings have to be read.
    fn fresh(&self) -> Option<Fresh<'_>> {
        let objects = Odb::new().ok()?;
        let folder = self.common.join("objects");
        objects.add_disk_alternate(folder.to_str()?).ok()?;
        let git = git2::Repository::from_odb(objects).ok()?;
        let descends = Box::new(|commit, ancestor| self.descends(commit, ancestor));
        Some(Fresh::new(git, descends))
    }

    /// Tells the same of a commit and what came after a known one, without reading what was checked before and lies in the
    /// same file.
    pub(crate) fn are_as_checked(
        &self,
        of: &str,
        objects: &OwnObjects,
        checked: &mut CheckedObjects,
    ) -> Option<()> {
        let mut fresh = self.fresh()?;
        checked.read(&mut fresh, objects, id(of)?)
    }

    /// Returns what a tree says, or that of a commit, as it is written.
    pub(crate) fn written_tree(&self, tree: &str) -> Option<Vec<u8>> {
        let (library, named) = (self.library(), id(tree)?);
        let commit = library.git.find_commit(named);
        let tree = commit.map_or(named, |commit| commit.tree_id());
        let objects = library.git.odb().ok()?;
        let object = objects.read(tree).ok()?;
        (object.kind() == ObjectType::Tree).then(|| object.data().to_owned())
    }

    /// Returns the content of a blob.
    pub(crate) fn blob(&self, blob: &str) -> Option<Vec<u8>> {
        content(&self.library().git, id(blob)?)
    }
}

/// Returns the names of references in order, and what they say.
fn told(references: References<'_>) -> Option<Vec<(Vec<u8>, Target)>> {
    let mut found = Vec::new();
    for reference in references {
        let reference = reference.ok()?;
        let target = match reference.target() {
            Some(id) => Target::Object(commit_id(id)),
            None => Target::Reference(reference.symbolic_target_bytes()?.to_owned()),
        };
        found.push((reference.name_bytes().to_owned(), target));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Some(found)
}

fn commit_id(id: Oid) -> CommitId {
    CommitId::new(id.to_string())
}

/// A full id of the kind that the library reads.
pub(crate) fn id(text: &str) -> Option<Oid> {
    (text.len() == 40).then(|| Oid::from_str(text).ok())?
}

/// Opens the library on a folder that was made for it, with nothing read yet.
fn open(folder: &Path) -> Option<git2::Repository> {
    let flags =
        RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
    let nowhere: [&OsStr; 0] = [];
    // It would read the head of each file of a tree that it writes. What a tree or a commit names is looked for by whoever
    // makes it, and read before it lands.
    git2::opts::strict_object_creation(false);
    git2::Repository::open_ext(folder, flags, nowhere).ok()
}
