//! What lies in git's folders of the user's repository besides files and folders, and which of its files decide what git
//! runs or where it looks.
//!
//! git writes into whatever a link there leads to, and waits for a pipe for ever. It makes neither, so what somebody leaves
//! there is taken away before any git comes by, and what says where git's folder is gets back what it said. So is what git
//! believes without looking again (`believed.rs`, `user_indexes.rs`, `objects.rs`), where it is new or other.

mod believed;
mod checksum;
mod index_bytes;
mod objects;
mod packs;
mod user_indexes;

use crate::files::{beginning, replace};
use crate::git::is_object_id;
use crate::{OrFailedTo as _, Repository, Result};
use believed::{Believed, InFolder, PUT_ASIDE, resolution_at};
use objects::{ObjectFiles, ObjectFolder, ObjectsBefore, Settled};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::mem;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};
use tm_scheduler::with_causes;
use tm_untrusted::says_what_is_there;
use user_indexes::{INDEX, UserIndexes};

/// Files that decide, wherever they lie: in the folders of a submodule and of another checkout as well.
const DECIDING: [&str; 10] = [
    "alternates",
    "attributes",
    "commondir",
    "config",
    "config.worktree",
    "exclude",
    "gitdir",
    "grafts",
    "shallow",
    "sparse-checkout",
];
/// Folders of which each file does: programs, and places to fetch from.
const DECIDING_FOLDERS: [&str; 3] = ["branches", "hooks", "remotes"];
/// What git goes on with in a checkout; in others people are at work meanwhile.
const UNDER_WAY: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];
/// Where files lie that count for every command in the repository.
const AT_THE_TOP: [&str; 4] = ["", "hooks", "info", "objects/info"];
/// Where names are those of branches.
const OF_BRANCHES: [&str; 2] = ["logs", "refs"];
/// What git writes in the place where it is when it merges, commits and resets.
const MESSAGES: [&str; 7] = [
    "AUTO_MERGE",
    "COMMIT_EDITMSG",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "ORIG_HEAD",
    "SQUASH_MSG",
];
/// What says where git's folders are, and how long it is at the most, in bytes.
pub(crate) const POINTERS: [&str; 2] = ["commondir", "gitdir"];
const SHORT: usize = 8 * 1024;
const TAKEN_AWAY: &str = "taken away";
/// The socket of git's own that watches files; whoever made it has ended.
const OF_WATCHER: &str = "fsmonitor--daemon.ipc";
/// So many files that decide are compared, and so much is looked at in all.
const MOST_DECIDING: usize = 5_000;
const MOST_BELIEVED: usize = 100_000;
const MOST_INDEXES: usize = 5_000;
const MOST_ENTRIES: usize = 2_000_000;

/// What lies in git's folders.
#[derive(Clone, Debug, Default)]
pub struct GitFolders {
    /// Files that decide what git does.
    pub(crate) deciding: Vec<PathBuf>,
    /// What is neither a file nor a folder, or can't be looked at.
    odd: BTreeMap<PathBuf, Odd>,
    /// What the files say by which git finds its folders.
    pointers: BTreeMap<PathBuf, Option<Vec<u8>>>,
    /// What git believes without looking again, and what each goes with.
    believed: BTreeMap<PathBuf, PathBuf>,
    /// What that held, where it is compared later.
    was_believed: Believed,
    /// Whether there is more than anybody looks at.
    is_part: bool,
    /// The indexes of the user's checkouts and submodules, and what they held, where they are compared later.
    indexes: BTreeSet<PathBuf>,
    were_indexes: UserIndexes,
    /// The files of objects, and what they were, where they are compared later.
    objects: ObjectFiles,
    were_objects: ObjectsBefore,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Odd {
    what: String,
    leads_to: Option<PathBuf>,
}

impl GitFolders {
    /// Looks at both folders of the checkout, the common one and its own. Asks git nothing.
    pub(crate) fn look(repository: &Repository) -> Self {
        let mut found = Self {
            pointers: pointers(repository).collect(),
            ..Self::default()
        };
        let (common, own) = (repository.common_dir(), repository.git_dir());
        let mut folders = vec![common.to_owned()];
        folders.extend((!own.starts_with(common)).then(|| own.to_owned()));
        for root in &folders {
            found.note_link(root);
        }
        let mut left = MOST_ENTRIES;
        while let Some(folder) = folders.pop() {
            folders.extend(found.within(&folder, (common, own), &mut left));
        }
        found.is_part = left == 0 || found.believed.len() >= MOST_BELIEVED;
        let is_too_much =
            found.deciding.len() > MOST_DECIDING || found.indexes.len() >= MOST_INDEXES;
        if found.is_part || is_too_much {
            found.note(common, "more files than anybody looks at");
        }
        if left == 0 {
            found.objects.has_more();
        }
        found.deciding.sort();
        found.deciding.truncate(MOST_DECIDING);
        found
    }

    /// Has what git believes now found again later.
    pub(crate) fn with_believed(mut self, repository: &Repository) -> Self {
        self.was_believed = Believed::at(self.believed.keys());
        if self.is_part {
            self.was_believed = self.was_believed.in_part();
        }
        self.were_indexes = UserIndexes::at(&self.indexes, repository);
        let (objects, id_length) = (mem::take(&mut self.objects), self.were_indexes.id_length());
        let settled = Settled::now(repository.common_dir());
        self.were_objects = ObjectsBefore::at(&objects, id_length, settled);
        self
    }

    /// Looks at what counts for the user's commands in the repository, and no further: people work there meanwhile.
    pub(crate) fn at_the_top(repository: &Repository) -> Self {
        let (common, own) = (repository.common_dir(), repository.git_dir());
        let mut found = Self::default();
        for folder in AT_THE_TOP.map(|name| common.join(name)) {
            found.within(&folder, (common, own), &mut MOST_DECIDING.clone());
        }
        found.deciding.sort();
        found
    }

    /// Takes in what lies in a folder, and returns the folders among it.
    fn within(
        &mut self,
        folder: &Path,
        (common, own): (&Path, &Path),
        left: &mut usize,
    ) -> Vec<PathBuf> {
        let entries = match folder.read_dir() {
            Ok(entries) => entries,
            // git collects objects and removes branches meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.note(
                    folder,
                    &format!("a folder that nobody can look into ({error})"),
                );
                return Vec::new();
            }
        };
        let believed = InFolder::of(folder, common, own);
        let of_objects = ObjectFolder::of(folder, common);
        if is_checkout_alone(folder, common) {
            self.deciding.push(folder.join("HEAD"));
        }
        let mut folders = Vec::new();
        for entry in entries.flatten().take(*left) {
            *left -= 1;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    self.note_believed(&path, resolution_at(&path, common));
                    folders.push(path);
                    continue;
                }
                Ok(kind) if kind.is_file() => {
                    self.note_believed(&path, believed.goes_with(&path));
                    self.note_index(&path, (common, own));
                    self.objects.note(&path, of_objects);
                }
                Ok(kind) if is_usual(&path, kind) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(_) | Err(_) => self.note(&path, &says_what_is_there(&path)),
            }
            self.deciding
                .extend(decides(&path, common, own).then_some(path));
        }
        folders
    }

    fn note_believed(&mut self, path: &Path, goes_with: Option<PathBuf>) {
        if self.believed.len() < MOST_BELIEVED {
            self.believed
                .extend(goes_with.map(|whole| (path.to_owned(), whole)));
        }
    }

    fn note_index(&mut self, path: &Path, (common, own): (&Path, &Path)) {
        let is_of_git = |folder: &Path| folder == common || folder == own || is_repository(folder);
        let is_one =
            path.file_name() == Some(OsStr::new(INDEX)) && path.parent().is_some_and(is_of_git);
        if is_one && self.indexes.len() < MOST_INDEXES {
            self.indexes.insert(path.to_owned());
        }
    }

    fn note_link(&mut self, path: &Path) {
        if path.is_symlink() {
            self.note(path, &says_what_is_there(path));
        }
    }

    fn note(&mut self, path: &Path, what: &str) {
        let odd = Odd {
            what: what.to_owned(),
            leads_to: path.read_link().ok(),
        };
        self.odd.insert(path.to_owned(), odd);
    }

    /// Takes away what came since and is neither a file nor a folder, and has git's folders found as before; returns in
    /// words what that was, and what lies there. What git believes goes without words, since its own
    /// commands write it each day; but what it put aside is named.
    pub(crate) fn put_right(&self, repository: &Repository) -> (Vec<String>, Self) {
        let mut now = Self::look(repository);
        let objects = mem::take(&mut now.objects);
        let is_new = |(path, odd): &(&PathBuf, &Odd)| self.odd.get(*path) != Some(*odd);
        let odd = now.odd.iter().filter(is_new).map(|(path, odd)| {
            let taken = take_away(path, |it| fs::remove_file(it));
            let then = then(taken.is_ok(), TAKEN_AWAY);
            format!("in git's folder: {} ({}, {then})", path.display(), odd.what)
        });
        let mut words: Vec<String> = odd.collect();
        words.extend(self.put_aside(repository));
        let stays = self
            .was_believed
            .put_right(&now.believed, repository.common_dir());
        words.extend(stays);
        for (path, before) in &self.pointers {
            if now.pointers.get(path) != Some(before) {
                let then = then(put_back(path, before.as_deref()).is_ok(), "put back");
                words.push(format!(
                    "in git's folder: {} (changed, {then})",
                    path.display()
                ));
            }
        }
        words.extend(self.were_objects.put_right(&objects, repository));
        for (path, error) in self.were_indexes.put_right(&now.indexes, repository) {
            let (path, why) = (path.display(), with_causes(&error));
            words.push(format!(
                "in git's folder: {path} (changed, and can't be made anew: failed to {why})"
            ));
        }
        (words, now)
    }

    /// Says in words what git would bring into the checkout with the next commit, before that is taken away: it may be the
    /// user's work, which is nowhere else then.
    fn put_aside(&self, repository: &Repository) -> Option<String> {
        let path = repository.git_dir().join(PUT_ASIDE);
        let said = beginning(&path, SHORT).ok()?;
        let id = str::from_utf8(&said).ok()?.trim();
        let is_new = is_object_id(id) && !self.was_believed.holds_still(&path);
        let path = path.display();
        let then = then(self.was_believed.is_whole(), TAKEN_AWAY);
        is_new.then(|| format!("in git's folder: {path} (new, {then}; it named the stash {id})"))
    }

    /// Returns what git would write into by a link, or wait for, when it notes what it does.
    pub(crate) fn written_elsewhere(repository: &Repository) -> Option<(PathBuf, String)> {
        let roots = [repository.common_dir(), repository.git_dir()];
        let is_noted = |path: &Path| {
            let messages = || MESSAGES.map(|name| path == roots[1].join(name));
            messages().contains(&true) || roots.iter().any(|it| path.starts_with(it.join("logs")))
        };
        let is_plain = |real: PathBuf| {
            let is_within = || roots.iter().any(|root| real.starts_with(root));
            (real.is_dir() || real.is_file()) && is_within()
        };
        let is_elsewhere = |path: &Path| !path.canonicalize().is_ok_and(is_plain);
        let odd = Self::look(repository).odd.into_iter();
        let mut odd = odd.filter(|(path, _)| is_noted(path) && is_elsewhere(path));
        odd.next().map(|(path, odd)| (path, odd.what))
    }
}

/// Whether git takes a folder for one of its own: what is named so within it is no branch.
pub(super) fn is_repository(folder: &Path) -> bool {
    let has = |name: &&str| folder.join(name).symlink_metadata().is_ok();
    let is_whole = || ["objects", "refs"].iter().all(has);
    has(&"HEAD") && (has(&"commondir") || is_whole())
}

/// Whether git takes the folder of another checkout for a whole repository, since nothing there names the common one.
fn is_checkout_alone(folder: &Path, common: &Path) -> bool {
    let is_of_checkout = folder.parent() == Some(&common.join("worktrees"));
    is_of_checkout && is_repository(folder) && !folder.join("commondir").exists()
}

fn then(is_done: bool, what: &str) -> String {
    if is_done {
        what.to_owned()
    } else {
        format!("and can't be {what}")
    }
}

/// Whether git may have made it: a HEAD that is a link to a branch, or the socket of its watcher.
fn is_usual(path: &Path, kind: FileType) -> bool {
    let name = path.file_name();
    if kind.is_socket() {
        return name == Some(OsStr::new(OF_WATCHER));
    }
    let is_of_branch = |target: PathBuf| {
        let is_plain = |part| matches!(part, Component::Normal(_));
        target.starts_with("refs/heads") && target.components().all(is_plain)
    };
    name == Some(OsStr::new("HEAD")) && path.read_link().is_ok_and(is_of_branch)
}

/// Whether a file decides what git does in a checkout. The values of the repository's own configuration are compared one by
/// one.
fn decides(path: &Path, common: &Path, own: &Path) -> bool {
    let (within, base) = path
        .strip_prefix(common)
        .map_or((path, Path::new("")), |within| (within, common));
    let words: Vec<&OsStr> = within.iter().collect();
    let is_one = |word: &OsStr, of: &[&str]| of.iter().any(|it| word == *it);
    let Some((name, folders)) = words.split_last() else {
        return false;
    };
    // The innermost repository: somebody may make the folder above a submodule of that name look like one.
    let is_of_branch = || {
        let above = |at: usize| base.join(folders[..at].iter().collect::<PathBuf>());
        let innermost = (0..=folders.len())
            .rev()
            .find(|at| is_repository(&above(*at)));
        let first = innermost.and_then(|at| folders.get(at));
        first.is_some_and(|folder| is_one(folder, &OF_BRANCHES))
    };
    let is_under_way = path.strip_prefix(own).is_ok_and(|within| {
        let first = within.iter().next();
        first.is_some_and(|folder| is_one(folder, &UNDER_WAY))
    });
    let is_top = folders.is_empty() && *name == "config";
    let is_in = folders
        .iter()
        .any(|folder| is_one(folder, &DECIDING_FOLDERS));
    (is_under_way || is_in || is_one(name, &DECIDING) && !is_top) && !is_of_branch()
}

/// A checkout with a git folder in it has no file that leads there.
fn pointers(repository: &Repository) -> impl Iterator<Item = (PathBuf, Option<Vec<u8>>)> {
    let said = |path: PathBuf| {
        let said = beginning(&path, SHORT).ok();
        (path, said)
    };
    let of_git = POINTERS.map(|name| repository.git_dir().join(name));
    let of_checkout = said(repository.checkout_root().join(".git"));
    let of_checkout = Some(of_checkout).filter(|(_, said)| said.is_some());
    of_git.into_iter().map(said).chain(of_checkout)
}

fn put_back(path: &Path, said: Option<&[u8]>) -> Result<()> {
    match said {
        Some(said) => replace(path, said),
        None => tm_untrusted::remove(path).or_failed_to("remove", path),
    }
}

/// Removes something, also from a folder that its owner may not change.
pub(super) fn take_away(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    remove(path).or_else(|error| {
        let is_kept = error.kind() == io::ErrorKind::PermissionDenied;
        tm_untrusted::open_up(path.parent().filter(|_| is_kept).ok_or(error)?)?;
        remove(path)
    })
}
