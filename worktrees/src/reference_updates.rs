//! Moves references by compare-and-swap, by gits that stay: one transaction each, one process for all that come one after
//! the other.
//!
//! Knows nothing of what a reference is for. What does not go through is no answer: whoever asked has a git of its own say
//! why.

use crate::git::{StayingGit, is_object_id};
use crate::{Error, Result};
use parking_lot::Mutex;
use tm_scheduler::CommitId;

/// The gits that wait for the next transaction: as many as were at work at the same time.
#[derive(Debug, Default)]
pub(crate) struct ReferenceUpdates(Mutex<Vec<StayingGit>>);

#[cfg(test)]
impl ReferenceUpdates {
    /// Returns how many gits wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().len()
    }
}

impl ReferenceUpdates {
    /// Moves a reference from where it is expected; with nothing expected it is made. Tells whether git has done so.
    pub(crate) fn is_moved(
        &self,
        start: impl FnOnce() -> Result<StayingGit>,
        reference: &str,
        (from, to): (Option<&CommitId>, &CommitId),
    ) -> bool {
        let idle = self.0.lock().pop();
        let staying = idle.map_or_else(start, Ok);
        let moved = staying.and_then(|mut git| {
            moved(&mut git, reference, to, from)?;
            Ok(git)
        });
        // One that refused has ended.
        moved.map(|git| self.0.lock().push(git)).is_ok()
    }
}

/// One transaction: git says that it began, that it can be made, and that it is.
fn moved(
    git: &mut StayingGit,
    reference: &str,
    to: &CommitId,
    from: Option<&CommitId>,
) -> Result<()> {
    let mut ids = [Some(to), from].into_iter().flatten();
    if let Some(no_id) = ids.find(|id| !is_object_id(id.as_str())) {
        return Err(Error::unknown(no_id));
    }
    let change = from.map_or_else(
        || format!("create {reference}\0{to}\0"),
        |from| format!("update {reference}\0{to}\0{from}\0"),
    );
    let request = format!("start\0{change}prepare\0commit\0");
    git.changes(
        request.as_bytes(),
        &["start: ok", "prepare: ok", "commit: ok"],
    )
}
