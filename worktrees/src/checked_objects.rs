//! What a run checked of all that came after one commit: it is looked at and not read again, as long as the file in which it
//! lies is the same and no pack came, which git would read first.
//!
//! It saves reading between two landings, and no more than that: a file can be written to without a trace by who has mapped it
//! or swaps folders in the right moment. So everything is read again as often as the number of times has doubled; whoever wants to be
//! sure at the end reads it without this.

use crate::files::{FileState, state_of};
use crate::library::Fresh;
use crate::repository::own_objects::OwnObjects;
use git2::Oid;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
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
    known: CommitId,
    /// Each object, and what its file was when it was read; `None` where that does not tell whether it is still the same.
    files: HashMap<Oid, FileState>,
    /// The packs that there were.
    packs: BTreeMap<PathBuf, FileState>,
    /// How often it was asked.
    times: u32,
}

/// Tells whether a file was what it is already before a moment, so that whoever writes to it by its name from then on
/// changes its state.
fn is_older_than(state: [u64; 5], moment: Duration) -> bool {
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
            files: HashMap::new(),
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
        let packs = objects.packs().into_iter();
        let packs = packs.map(|pack| (pack.clone(), state_of(&pack))).collect();
        let were = std::mem::replace(&mut self.packs, packs);
        self.times = self.times.saturating_add(1);
        if were != self.packs || self.times.is_power_of_two() {
            self.files.clear();
        }
        let is_same =
            |id: Oid, state: FileState| state.is_some() && state == state_of(&objects.file(id));
        let again: Vec<Oid> = self
            .files
            .iter()
            .filter(|(id, state)| !is_same(**id, **state))
            .map(|(id, _)| *id)
            .collect();
        for id in &again {
            fresh.object(*id)?;
        }
        fresh.seen = self.files.keys().copied().collect();
        fresh.are_as_named(of, Oid::from_str(self.known.as_str()).ok()?)?;
        let is_new = |id: &&Oid| !self.files.contains_key(*id);
        let read: Vec<Oid> = fresh
            .seen
            .iter()
            .filter(is_new)
            .chain(&again)
            .copied()
            .collect();
        objects.keep(read.iter().copied());
        let lasting = |state: &[u64; 5]| is_older_than(*state, begun);
        let states = read
            .into_iter()
            .map(|id| (id, state_of(&objects.file(id)).filter(lasting)));
        self.files.extend(states);
        Some(())
    }
}
