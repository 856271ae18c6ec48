//! What git believes without looking at objects again: commit graphs, indexes of many packs, and resolutions of conflicts.
//!
//! Whoever writes one has `git log`, `git diff` and `git merge` tell of other parents and trees than those of the commits, or
//! take words of his into the user's next merge. Where git's folders were given to somebody, what is new or other then goes:
//! git makes graphs and indexes anew, and without resolutions asks the user. It is compared by its content, since no time
//! tells of what is written through a mapping. What is gone is nobody's doing: git collects.

use super::{is_repository, take_away};
use crate::files::is_gone;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Folders below that of a repository, and what the names of files begin with there that git believes.
const FILES: [(&str, &str); 4] = [
    ("objects/info", "commit-graph"),
    ("objects/info/commit-graphs", ""),
    ("objects/pack", "multi-pack-index"),
    ("objects/pack/multi-pack-index.d", ""),
];
/// What git is still writing, and reads under no such name.
const UNFINISHED: (&str, &str) = ("tmp_", ".lock");
/// Resolutions of conflicts, a folder each; that this folder is there has git use and keep them.
const RESOLUTIONS: &str = "rr-cache";
/// What the names of files in such a folder begin with that hold a conflict, and what git puts in its place: whatever the
/// second says that the first does not.
const CONFLICT: &str = "preimage";
const RESOLVED: &str = "postimage";
/// Which conflicts are being resolved in a checkout, and so where the next resolution is taken from.
const UNDER_WAY: &str = "MERGE_RR";
/// What was put aside for a merge: the next commit, of a merge or not, brings it into the checkout.
pub(super) const PUT_ASIDE: &str = "MERGE_AUTOSTASH";
/// So much is read of all files together, in bytes; what is beyond that can't be told from what is new.
const MOST_BYTES: u64 = 4 * 1024 * 1024 * 1024;
const TOO_MUCH: &str =
    "more than is compared of what git believes, so nothing of that is taken away";
/// So much is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// What git believed at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Believed {
    contents: BTreeMap<PathBuf, Content>,
    /// Whether that is all that was there: what nobody looked at is not new later.
    is_whole: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Content {
    Folder,
    File { length: u64, digest: [u8; 32] },
}

impl Believed {
    /// Reads what lies at some paths. What is gone counts as not there.
    pub(super) fn at<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut left = MOST_BYTES;
        let (mut contents, mut is_whole) = (BTreeMap::new(), true);
        for path in paths {
            match Content::of(path, &mut left) {
                Some(content) => drop(contents.insert(path.clone(), content)),
                None => is_whole &= is_gone(path),
            }
        }
        Self { contents, is_whole }
    }

    /// Says that there was more.
    pub(super) fn in_part(self) -> Self {
        Self {
            is_whole: false,
            ..self
        }
    }

    /// Tells whether what is new now can be told from what nobody looked at.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Takes away what is new or other now, each thing with what it goes with; returns in words what stays. Where there was
    /// more than anybody looked at, only the folder of all resolutions goes where it was not there, which is known: the rest
    /// may be the user's.
    pub(super) fn put_right(&self, now: &BTreeMap<PathBuf, PathBuf>, common: &Path) -> Vec<String> {
        let others = self.others(now, &common.join(RESOLUTIONS));
        let is_left = |path: &&&PathBuf| {
            let taken = take_away(path, remove).err();
            taken.is_some_and(|error| error.kind() != io::ErrorKind::NotFound)
        };
        let said = |path: &Path, what| format!("in git's folder: {} ({what})", path.display());
        let left = others.iter().filter(is_left);
        let left = left.map(|path| said(path, "new, and can't be taken away"));
        let unknown = (!self.is_whole).then(|| said(common, TOO_MUCH));
        left.chain(unknown).collect()
    }

    /// Returns what goes with what is new or other now.
    fn others<'a>(
        &self,
        now: &'a BTreeMap<PathBuf, PathBuf>,
        resolutions: &Path,
    ) -> BTreeSet<&'a PathBuf> {
        let is_known = |path: &Path| self.is_whole || path == resolutions;
        let others = now.iter().filter(|(path, whole)| {
            is_known(path) && !self.is_of_user(path, whole) && !self.holds_still(path)
        });
        others.map(|(_, whole)| whole).collect()
    }

    /// Tells whether something has no part in a resolution, in the folder of one that was there: git notes a conflict
    /// whenever the user meets it, and that of a resolution only once.
    fn is_of_user(&self, path: &Path, whole: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_resolved = || {
            let resolved = name.replacen(CONFLICT, RESOLVED, 1);
            resolved.starts_with(RESOLVED)
                && (resolved == name || self.contents.contains_key(&path.with_file_name(resolved)))
        };
        path != whole && self.contents.contains_key(whole) && !is_resolved()
    }

    /// Returns the paths of what was read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.contents.keys()
    }

    /// Tells whether something is as it was.
    pub(super) fn holds_still(&self, path: &Path) -> bool {
        let before = self.contents.get(path);
        before.is_some_and(|before| before.is_still_at(path))
    }
}

impl Content {
    fn of(path: &Path, left: &mut u64) -> Option<Self> {
        if tm_untrusted::is_folder(path) {
            return Some(Self::Folder);
        }
        let length = tm_untrusted::size(path);
        *left = left.checked_sub(length)?;
        let digest = digest_of(path, length).ok()?;
        Some(Self::File { length, digest })
    }

    /// Nothing is read of what has another length: somebody else chose that.
    fn is_still_at(&self, path: &Path) -> bool {
        match self {
            Self::Folder => tm_untrusted::is_folder(path),
            Self::File { length, digest } => {
                tm_untrusted::size(path) == *length
                    && digest_of(path, *length).is_ok_and(|now| now == *digest)
            }
        }
    }
}

/// Returns the digest of as much of a file, a piece at a time.
pub(super) fn digest_of(path: &Path, length: u64) -> io::Result<[u8; 32]> {
    let mut file = tm_untrusted::open(path)?.take(length);
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&piece[..count]),
        }
    }
}

/// Removes a file, or a folder with all that is in it.
fn remove(path: &Path) -> io::Result<()> {
    if tm_untrusted::is_folder(path) {
        tm_untrusted::remove_folder(path)
    } else {
        fs::remove_file(path)
    }
}

/// What git believes in one of its folders, of submodules as well.
pub(super) struct InFolder<'a> {
    common: &'a Path,
    /// What the names of such files begin with.
    beginnings: Vec<&'static str>,
    is_of_resolutions: bool,
}

impl<'a> InFolder<'a> {
    pub(super) fn of(folder: &Path, common: &'a Path, own: &Path) -> Self {
        let above = |below: &str| folder.ancestors().nth(Path::new(below).iter().count());
        let is_of = |below: &str| {
            let repository = || above(below).is_some_and(|it| is_one(it, common));
            folder.ends_with(below) && repository()
        };
        let of_objects = FILES.iter().filter(|(below, _)| is_of(below));
        let under_way = [UNDER_WAY, PUT_ASIDE].into_iter().filter(|_| folder == own);
        Self {
            common,
            beginnings: of_objects.map(|(_, name)| *name).chain(under_way).collect(),
            is_of_resolutions: resolution_at(folder, common).is_some(),
        }
    }

    /// Returns what a file in it goes with, if git believes that.
    pub(super) fn goes_with(&self, file: &Path) -> Option<PathBuf> {
        if self.is_of_resolutions {
            return resolution_at(file, self.common);
        }
        if self.beginnings.is_empty() {
            return None;
        }
        let name = file.file_name()?.to_string_lossy();
        let is_finished = !name.starts_with(UNFINISHED.0) && !name.ends_with(UNFINISHED.1);
        let is_one = is_finished && self.beginnings.iter().any(|it| name.starts_with(it));
        is_one.then(|| file.to_owned())
    }
}

/// Returns the resolution of which something is part, or the folder of all of them.
pub(super) fn resolution_at(path: &Path, common: &Path) -> Option<PathBuf> {
    let within = path.strip_prefix(common).ok()?;
    let is_of_repository = |folder: &&Path| {
        let above = folder.parent().map(|above| common.join(above));
        folder.ends_with(RESOLUTIONS) && above.is_some_and(|above| is_one(&above, common))
    };
    let folder = within.ancestors().filter(is_of_repository).last()?;
    let rest = within.strip_prefix(folder).ok()?;
    let parts = common.iter().chain(folder).chain(rest.iter().take(1));
    Some(parts.collect())
}

/// The repository itself is one whatever somebody took away from it.
fn is_one(folder: &Path, common: &Path) -> bool {
    folder == common || is_repository(folder)
}
