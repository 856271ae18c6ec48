//! How much a tree stands for, before anybody walks it: ten trees of ten entries each that name one another stand for 10^10
//! files, and have a kilobyte together.
//!
//! Each tree is read once, and those that were found to be no larger than may be are known from then on.

use crate::asked::{AskedGit, Asking, hex};
use crate::git::{entry, fields};
use crate::indexed::folders;
use crate::library::FOLDER;
use crate::{Error, Repository, Result, Treeish};
use std::path::Path;

/// A tree has so many files and folders at the most, each as often as it stands there, besides those that there may be
/// because the user's tree has them.
const MOST_ENTRIES: u64 = 1_000_000;
/// So many times the files and folders of the user's tree.
const TIMES_OF_USER: u64 = 2;
/// The user's tree is taken for the user's up to this size: in a checkout where agents commit it may be theirs.
const MOST_OF_USER: u64 = 20_000_000;
/// The bytes of the paths are so many for each of the files that there may be.
const BYTES_OF_ENTRY: u64 = 512;
/// A folder is in no more folders than this.
const DEEPEST: u64 = 1_000;
/// A path is no longer than this, in bytes: three quarters of what a system takes, the rest of which leads to the checkout.
const LONGEST_PATH: u64 = 3_072;
/// So many trees that can't be read are passed over: whoever walks there will say so.
const MOST_UNREADABLE: usize = 100;
/// So many trees are known at the most.
const MOST_KNOWN: usize = 1_000_000;
/// What of a mode says what it is the mode of.
const KIND: i32 = 0o170_000;

/// How much a tree stands for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Extent {
    /// Files and folders, at whatever depth.
    entries: u64,
    /// Their paths.
    bytes: u64,
    /// How many folders lie in one another.
    depth: u64,
    /// The longest of the paths.
    longest: u64,
}

/// How much each tree stands for, by the bytes of its id or of that of its commit.
type KnownTrees = foldhash::HashMap<Box<[u8]>, Extent>;

/// The trees that are no larger than may be.
#[derive(Debug, Default)]
pub(crate) struct KnownExtents {
    pub(crate) known: KnownTrees,
    most: Option<u64>,
    /// Reads what the library does not.
    asked: AskedGit,
}

impl Repository {
    /// Makes sure that whoever walks a tree, or that of a commit, comes to an end soon.
    ///
    /// # Errors
    /// It stands for more than may be (`TreeTooLarge`).
    pub(crate) fn assert_walkable(&self, of: &dyn Treeish) -> Result<()> {
        if self.own().is_none() {
            // The user's own commands ask git as the user would.
            return Ok(());
        }
        self.assert_committed_walkable(of)
    }

    /// Makes sure of the same where agents commit without a run.
    pub(crate) fn assert_committed_walkable(&self, of: &dyn Treeish) -> Result<()> {
        self.assert_all_walkable(&[of.to_string()])
    }

    /// Makes sure of the same for HEAD of the user's checkout and its index, where agents may have written both.
    pub(crate) fn assert_checkout_walkable(&self) -> Result<()> {
        if self.own().is_none() {
            return Ok(());
        }
        self.assert_walkable(&self.head()?.commit)?;
        self.assert_index_walkable(&self.git_dir().join("index"))
    }

    /// Makes sure of the same for an index, which may have folders as a whole: git writes down all that they hold.
    pub(crate) fn assert_index_walkable(&self, index: &Path) -> Result<()> {
        if !index.exists() {
            return Ok(());
        }
        let of_git = || -> Result<Vec<String>> {
            let git = self
                .git_on_objects("ls-files --sparse --stage -z")
                .reading();
            let listing = git.variable("GIT_INDEX_FILE", index).bytes()?;
            let entries = fields(&listing).filter_map(entry);
            let is_folder = |mode: &str| i32::from_str_radix(mode, 8) == Ok(FOLDER);
            let folders = entries.filter(|([mode, ..], _)| is_folder(mode));
            Ok(folders.map(|([_, id, _], _)| id).collect())
        };
        let folders = folders(index).map_or_else(of_git, Ok)?;
        if folders.is_empty() {
            return Ok(());
        }
        self.assert_all_walkable(&folders)
    }

    fn assert_all_walkable(&self, ids: &[String]) -> Result<()> {
        let KnownExtents { known, most, asked } = &mut *self.extents.lock();
        let is_known = |id: &String| known.contains_key(&*bytes_of(id));
        if most.is_some() && matches!(ids, [id] if is_known(id)) {
            return Ok(());
        }
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        let of_user = || self.head().ok().map(|head| head.commit.to_string());
        if most.is_none() {
            let of_user = self
                .counting(asked, known, MOST_OF_USER)
                .all(of_user().as_slice());
            let of_user = of_user.map_or(0, |extent| extent.entries);
            *most = Some(MOST_ENTRIES + TIMES_OF_USER * of_user);
        }
        let most = most.unwrap_or(MOST_ENTRIES);
        let extent = self.counting(asked, known, most).all(ids);
        extent.map(drop).ok_or_else(|| Error::TreeTooLarge {
            tree: ids.first().cloned().unwrap_or_default(),
            most,
        })
    }

    const fn counting<'a>(
        &'a self,
        asked: &'a AskedGit,
        known: &'a mut KnownTrees,
        most: u64,
    ) -> Counting<'a> {
        Counting {
            repository: self,
            asked,
            known,
            most,
            unreadable: 0,
        }
    }

    /// Returns what a tree says, or that of a commit, as it is written.
    fn written_tree(&self, asked: &AskedGit, id: &str) -> Option<Vec<u8>> {
        let ask = || {
            let start = &|| self.staying_git();
            Asking { asked, start }.written_tree(id)
        };
        self.read(|reader| reader.written_tree(id)).or_else(ask)
    }
}

struct Counting<'a> {
    repository: &'a Repository,
    asked: &'a AskedGit,
    known: &'a mut KnownTrees,
    most: u64,
    unreadable: usize,
}

impl Counting<'_> {
    /// Returns how much trees stand for together; `None` where that is more than may be.
    fn all(&mut self, ids: &[String]) -> Option<Extent> {
        ids.iter().try_fold(Extent::default(), |mut all, id| {
            all.add(0, Some(self.extent(&bytes_of(id), 0)?));
            self.is_bounded(all).then_some(all)
        })
    }

    const fn is_bounded(&self, extent: Extent) -> bool {
        extent.entries <= self.most
            && extent.bytes <= BYTES_OF_ENTRY * self.most
            && extent.longest <= LONGEST_PATH
    }

    /// Returns how much a tree stands for, so deep in others; `None` where that is more than may be.
    fn extent(&mut self, id: &[u8], depth: u64) -> Option<Extent> {
        if let Some(known) = self.known.get(id) {
            return (depth + known.depth <= DEEPEST).then_some(*known);
        }
        let Some(written) = self.repository.written_tree(self.asked, &hex(id)) else {
            self.unreadable += 1;
            return (self.unreadable <= MOST_UNREADABLE).then(Extent::default);
        };
        let mut extent = Extent::default();
        for WrittenEntry { length, folder } in entries(&written, id.len()) {
            let below = match folder {
                Some(_) if depth == DEEPEST => return None,
                Some(folder) => Some(self.extent(folder, depth + 1)?),
                None => None,
            };
            extent.add(length, below);
            if !self.is_bounded(extent) {
                return None;
            }
        }
        self.known.insert(id.into(), extent);
        Some(extent)
    }
}

impl Extent {
    /// Takes in an entry by the length of its name and, where it is a folder, what it holds.
    fn add(&mut self, length: u64, folder: Option<Self>) {
        let below = folder.unwrap_or_default();
        let entries = below.entries + 1;
        self.entries += entries;
        self.bytes += below.bytes + entries * (length + 1);
        self.longest = self.longest.max(length + 1 + below.longest);
        if folder.is_some() {
            self.depth = self.depth.max(below.depth + 1);
        }
    }
}

/// One entry of a tree, in whatever form it was written.
struct WrittenEntry<'a> {
    /// How long its name is.
    length: u64,
    /// The tree that it names, where it is a folder.
    folder: Option<&'a [u8]>,
}

/// Reads a tree whose ids are so many bytes long; what is no entry ends it.
fn entries(mut written: &[u8], length_of_id: usize) -> impl Iterator<Item = WrittenEntry<'_>> {
    std::iter::from_fn(move || {
        let space = written.iter().position(|&byte| byte == b' ')?;
        let end = written.iter().position(|&byte| byte == 0)?;
        let id = written.get(end + 1..end + 1 + length_of_id)?;
        let mode = str::from_utf8(&written[..space]).ok()?;
        let is_folder = i32::from_str_radix(mode, 8).ok()? & KIND == FOLDER;
        let length = end.checked_sub(space + 1)? as u64;
        written = &written[end + 1 + length_of_id..];
        Some(WrittenEntry {
            length,
            folder: is_folder.then_some(id),
        })
    })
}

/// Returns the bytes that an id stands for; those of what is no id are no tree's.
fn bytes_of(id: &str) -> Vec<u8> {
    let digits = |at| id.get(at..at + 2);
    (0..id.len())
        .step_by(2)
        .map_while(|at| u8::from_str_radix(digits(at)?, 16).ok())
        .collect()
}
