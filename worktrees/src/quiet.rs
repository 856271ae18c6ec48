//! Tells whether anything was written in the user's checkout since git was last asked what differs from HEAD there: where
//! nothing was, the answer is the same.
//!
//! A file is what it was when the kernel says so: its time of change is among that, and no program can set it. What git
//! would not look into is not looked into here either; where other repositories lie within, git is asked each time.

use crate::Result;
use crate::indexed::Known;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tm_scheduler::CommitId;
use tm_untrusted::MappedWrites;

/// What differs from HEAD: two letters of git's and the path of each.
pub(crate) type Statuses = Vec<(Vec<u8>, PathBuf)>;

/// A file that was written just now may be written again in the same tick of the clock.
const JUST_NOW: Duration = Duration::from_millis(100);
/// In a larger checkout git is asked each time.
const MOST_ENTRIES: usize = 500_000;
/// git's letters for what its rules leave out.
const LEFT_OUT: &[u8] = b"!!";

/// What git was last asked of the user's checkout, and said.
#[derive(Debug, Default)]
pub(crate) struct LastStatus {
    /// Folders that are left out as a whole, with nothing in them that git knows.
    passed_over: BTreeSet<PathBuf>,
    /// What the checkout was like before git was asked, and what it said then.
    known: Option<(Footprint, Statuses)>,
}

/// What every file of a checkout is like, and when one was changed last.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Footprint {
    digest: u64,
    entries: usize,
    newest: (i64, i64),
}

#[cfg(test)]
impl LastStatus {
    /// Tells whether git need not be asked while nothing is written.
    pub(crate) const fn is_known(&self) -> bool {
        self.known.is_some()
    }
}

/// The user's checkout, and what is known of it otherwise.
#[derive(Debug)]
pub(crate) struct Checkout<'a> {
    pub(crate) root: &'a Path,
    pub(crate) index: PathBuf,
    pub(crate) head: &'a CommitId,
    /// Files of tm's own.
    pub(crate) own_files: &'a [PathBuf],
}

impl LastStatus {
    /// Returns what differs from HEAD, but perhaps for files of tm's own. git is asked only where something was written
    /// since it last was: for what its rules leave out besides, a folder as a whole.
    pub(crate) fn statuses(
        &mut self,
        checkout: &Checkout<'_>,
        ask: impl FnOnce() -> Result<Statuses>,
    ) -> Result<Statuses> {
        let now = SystemTime::now();
        let before = checkout.footprint(&self.passed_over);
        if let Some((known, statuses)) = &self.known
            && before.as_ref() == Some(known)
        {
            return Ok(statuses.clone());
        }
        self.known = None;
        let (left_out, statuses): (Statuses, Statuses) = ask()?
            .into_iter()
            .partition(|(letters, _)| letters == LEFT_OUT);
        let passed_over = checkout.passed_over(left_out).unwrap_or_default();
        // What was passed over before git was asked has to be what git says may be.
        if passed_over == self.passed_over {
            let settled = before.filter(|before| before.was_settled(now));
            self.known = settled.map(|before| (before, statuses.clone()));
        }
        self.passed_over = passed_over;
        Ok(statuses)
    }
}

impl Checkout<'_> {
    /// The folders among what git leaves out in which it knows nothing.
    fn passed_over(&self, left_out: Statuses) -> Option<BTreeSet<PathBuf>> {
        let known = Known::read(&self.index, MappedWrites::Unnoticed)?;
        let folder = |(_, path): (Vec<u8>, PathBuf)| {
            let path = path.as_os_str().as_bytes().strip_suffix(b"/")?;
            let path = PathBuf::from(OsStr::from_bytes(path));
            known.folder(&path).is_none().then_some(path)
        };
        Some(left_out.into_iter().filter_map(folder).collect())
    }

    /// Looks at every file in the user's checkout, but for those of tm's own; `None` where that does not say all.
    fn footprint(&self, passed_over: &BTreeSet<PathBuf>) -> Option<Footprint> {
        let mut footprint = Footprint {
            digest: digest(&(self.head.as_str(), self.own_files)),
            entries: 0,
            newest: (0, 0),
        };
        footprint.add(Path::new(".git"), &fs::symlink_metadata(&self.index).ok()?);
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder)).ok()? {
                let entry = entry.ok()?;
                let (path, kind) = (folder.join(entry.file_name()), entry.file_type().ok()?);
                if self.own_files.iter().any(|own| is_same(own, &entry.path())) {
                    continue;
                }
                if entry.file_name() == ".git" {
                    if folder.as_os_str().is_empty() {
                        continue;
                    }
                    // What another repository says of itself lies elsewhere.
                    return None;
                }
                if !kind.is_dir() {
                    footprint.add(&path, &entry.metadata().ok()?);
                } else if passed_over.contains(&path) {
                    footprint.count(digest(&path));
                } else {
                    folders.push(path);
                }
            }
            if footprint.entries > MOST_ENTRIES {
                return None;
            }
        }
        Some(footprint)
    }
}

impl Footprint {
    /// Takes in a file, whatever kind it is of.
    fn add(&mut self, path: &Path, found: &Metadata) {
        let changed = (found.ctime(), found.ctime_nsec());
        let modified = (found.mtime(), found.mtime_nsec());
        let which = (found.dev(), found.ino(), found.mode(), found.len());
        self.count(digest(&(path, which, changed, modified)));
        self.newest = self.newest.max(changed);
    }

    /// Takes in something, in whatever order it comes.
    const fn count(&mut self, digest: u64) {
        self.digest = self.digest.wrapping_add(digest);
        self.entries += 1;
    }

    /// Tells whether all of it was written so long before a moment that whatever is written later bears another time.
    fn was_settled(&self, at: SystemTime) -> bool {
        let since = at.duration_since(SystemTime::UNIX_EPOCH);
        let settled = since.ok().and_then(|since| since.checked_sub(JUST_NOW));
        settled.is_some_and(|settled| {
            let seconds = i64::try_from(settled.as_secs()).unwrap_or_default();
            self.newest < (seconds, i64::from(settled.subsec_nanos()))
        })
    }
}

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A file of tm's, or one beside it that a writer makes for a moment.
pub(crate) fn is_same(own: &Path, path: &Path) -> bool {
    if path.starts_with(own) {
        return true;
    }
    let (Some(own_name), Some(name)) = (own.file_name(), path.file_name()) else {
        return false;
    };
    let name = name.to_string_lossy();
    own.parent() == path.parent()
        && (name.starts_with(&*own_name.to_string_lossy()) || name.starts_with(".tm-"))
}
