//! What a run checked of all that came after one commit: it is looked at and not read again, as long as the file in which it
//! lies is the same and no pack came, which git would read first.
//!
//! It saves reading between two landings, and no more than that: a file can be written to without a trace by who has mapped it
//! or swaps folders in the right moment. So everything is read again as often as the number of times has doubled; whoever wants to be
//! sure at the end reads it without this. So that the thousandth landing costs what the tenth does, one looks at so many files
//! ([`MOST_LOOKED_AT`]) of what was there before, those first that were looked at longest ago.

use crate::files::{FileState, state_of};
use crate::library::Fresh;
use crate::repository::own_objects::OwnObjects;
use git2::Oid;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tm_scheduler::CommitId;

/// A file whose inode changed so shortly before it was read may have been written again in the same tick of the clock by
/// which the system says when that was: it is read once more.
const TICKS: Duration = Duration::from_millis(50);
/// Where files have whole seconds.
const COARSE_TICKS: Duration = Duration::from_secs(2);

/// So many files are looked at each time: the objects of some hundred landings.
const MOST_LOOKED_AT: usize = 500;

/// What was checked after a commit, with all that it leads to.
#[derive(Debug)]
pub struct CheckedObjects {
    known: CommitId,
    /// All of it.
    checked: HashSet<Oid>,
    /// What each file was when it was read, by when it was looked at.
    files: VecDeque<(Oid, FileState)>,
    /// Those whose file does not tell whether it is still the same: they are read again.
    unsettled: Vec<Oid>,
    /// The packs that there were.
    packs: BTreeMap<PathBuf, FileState>,
    /// How often it was asked.
    times: u32,
}

/// Tells whether a file was what it is already before a moment, so that whoever writes to it by its name from then on
/// changes its state.
pub(crate) fn is_older_than(state: [u64; 5], moment: Duration) -> bool {
    let [.., seconds, nanoseconds] = state;
    let ticks = if nanoseconds == 0 {
        COARSE_TICKS
    } else {
        TICKS
    };
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds) + ticks < moment
}

impl CheckedObjects {
    /// Begins with nothing but a commit that is known.
    pub fn since(known: CommitId) -> Self {
        Self {
            known,
            checked: HashSet::new(),
            files: VecDeque::new(),
            unsettled: Vec::new(),
            packs: BTreeMap::new(),
            times: 0,
        }
    }

    /// Returns the commit that is known.
    pub const fn known(&self) -> &CommitId {
        &self.known
    }

    /// Tells whether all of it need not be read again as long as nobody writes to it.
    #[cfg(test)]
    pub(crate) const fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Tells whether there is any.
    #[cfg(test)]
    pub(crate) fn has_some(&self) -> bool {
        !self.checked.is_empty()
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
        let packs = objects.packs().into_iter();
        let packs = packs.map(|pack| (pack.clone(), state_of(&pack))).collect();
        // Where it comes to no end, nothing was checked.
        let next = Self {
            packs,
            times: self.times.saturating_add(1),
            ..Self::since(self.known.clone())
        };
        let mut before = std::mem::replace(self, next);
        if before.packs != self.packs || self.times.is_power_of_two() {
            before = Self::since(self.known.clone());
        }
        let mut read = before.unsettled;
        for _ in 0..before.files.len().min(MOST_LOOKED_AT) {
            let (id, state) = before.files.pop_front()?;
            if state == state_of(&objects.file(id)) {
                before.files.push_back((id, state));
            } else {
                read.push(id);
            }
        }
        for id in &read {
            fresh.object(*id)?;
        }
        fresh.seen = before.checked;
        fresh.are_as_named(of, Oid::from_str(self.known.as_str()).ok()?)?;
        read.append(&mut fresh.read);
        objects.keep(read.iter().copied());
        self.checked = std::mem::take(&mut fresh.seen);
        self.files = before.files;
        for id in read {
            match state_of(&objects.file(id)) {
                Some(state) if is_older_than(state, begun) => {
                    self.files.push_back((id, Some(state)));
                }
                Some(_) | None => self.unsettled.push(id),
            }
        }
        Some(())
    }
}
