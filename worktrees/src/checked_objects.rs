//! What a run checked of all that came after one commit: it is looked at and not read again, as long as the file in which it
//! lies is the same and no pack came, which git would read first.
//!
//! It saves reading between two landings, and no more than that: a file can be written to without a trace by who has mapped it
//! or swaps folders in the right moment. So everything is read again now and then, and before the run ends.

use crate::library::Fresh;
use crate::repository::own_objects::OwnObjects;
use git2::Oid;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_scheduler::CommitId;

/// A file whose inode changed so shortly before it was read may have been written again in the same tick of the clock by
/// which the system says when that was: it is read once more.
const TICKS: Duration = Duration::from_millis(50);
/// Where files have whole seconds.
const COARSE_TICKS: Duration = Duration::from_secs(2);

/// What was checked after a commit, with all that it leads to.
#[derive(Debug)]
pub struct CheckedObjects {
    pub(crate) known: CommitId,
    /// Each object, and what its file was when it was read; `None` where that does not tell whether it is still the same.
    files: HashMap<Oid, Option<Stamp>>,
    /// The packs that there were.
    packs: BTreeMap<PathBuf, Option<Stamp>>,
}

/// What changes when somebody writes to a file by its name. The time at which its inode changed is nobody's to set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    changed: Duration,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let seconds = u64::try_from(found.ctime()).ok()?;
        let nanoseconds = u32::try_from(found.ctime_nsec()).ok()?;
        Some(Self {
            file: (found.dev(), found.ino()),
            length: found.len(),
            changed: Duration::new(seconds, nanoseconds),
        })
    }

    /// Tells whether it was another one already before a moment, so that whoever writes from then on changes it.
    fn is_older_than(&self, moment: Duration) -> bool {
        let ticks = if self.changed.subsec_nanos() == 0 {
            COARSE_TICKS
        } else {
            TICKS
        };
        self.changed + ticks < moment
    }
}

impl CheckedObjects {
    /// Begins with nothing but a commit that is known.
    pub fn since(known: CommitId) -> Self {
        Self {
            known,
            files: HashMap::new(),
            packs: BTreeMap::new(),
        }
    }

    /// Has everything read again.
    pub fn forget(&mut self) {
        self.files.clear();
    }

    /// Tells whether all of it need not be read again as long as nobody writes to it.
    #[cfg(test)]
    pub(crate) fn is_settled(&self) -> bool {
        self.files.values().all(Option::is_some)
    }

    /// Tells whether there is any.
    #[cfg(test)]
    pub(crate) fn has_some(&self) -> bool {
        !self.files.is_empty()
    }

    /// Reads what is not known to be as it was, and whatever else `of` leads to; `None` where something is not what its
    /// name says, or nobody can tell.
    pub(crate) fn read(
        &mut self,
        fresh: &mut Fresh<'_>,
        objects: &OwnObjects,
        of: Oid,
    ) -> Option<()> {
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let packs = objects.packs().into_iter().map(|pack| {
            let stamp = Stamp::of(&pack);
            (pack, stamp)
        });
        let packs = packs.collect();
        if std::mem::replace(&mut self.packs, packs) != self.packs {
            self.forget();
        }
        let is_same = |id: &Oid, stamp: &Option<Stamp>| {
            stamp.is_some() && *stamp == Stamp::of(&objects.file(*id))
        };
        let again: Vec<Oid> = self
            .files
            .iter()
            .filter(|(id, stamp)| !is_same(id, stamp))
            .map(|(id, _)| *id)
            .collect();
        for id in &again {
            fresh.object(*id)?;
        }
        fresh.seen = self.files.keys().copied().collect();
        fresh.are_as_named(of, Oid::from_str(self.known.as_str()).ok()?)?;
        let new: HashSet<Oid> = fresh
            .seen
            .iter()
            .filter(|id| !self.files.contains_key(id))
            .chain(&again)
            .copied()
            .collect();
        objects.keep(new.iter().copied());
        let lasting = |stamp: &Stamp| stamp.is_older_than(begun);
        self.files.extend(
            new.into_iter()
                .map(|id| (id, Stamp::of(&objects.file(id)).filter(lasting))),
        );
        Some(())
    }
}
