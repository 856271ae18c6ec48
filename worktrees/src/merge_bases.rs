//! Where commits part. That never changes, so it is found once.

use git2::{ErrorClass, ErrorCode, Oid};
use std::collections::HashMap;

/// So many answers are kept, some hundred bytes each; they can be found again.
const MOST_KEPT: usize = 10_000;

/// The library for ways through history alone: what it has parsed otherwise it does not keep as it read it, and would read
/// from the disk again on each way.
pub(crate) struct MergeBases {
    git: git2::Repository,
    known: HashMap<(Oid, Oid), Vec<Oid>>,
}

impl MergeBases {
    pub(crate) fn new(git: git2::Repository) -> Self {
        Self {
            git,
            known: HashMap::new(),
        }
    }

    /// Returns the best common ancestors of two commits, none where they have nothing in common; `None` where the library
    /// can't tell.
    pub(crate) fn of(&mut self, one: Oid, other: Oid) -> Option<Vec<Oid>> {
        if let Some(known) = self.known.get(&(one, other)) {
            return Some(known.clone());
        }
        let bases = match self.git.merge_bases(one, other) {
            Ok(bases) => bases.to_vec(),
            // An object that is not there is of another class.
            Err(none)
                if none.code() == ErrorCode::NotFound && none.class() == ErrorClass::Merge =>
            {
                Vec::new()
            }
            Err(_) => return None,
        };
        if self.known.len() >= MOST_KEPT {
            self.known.clear();
        }
        self.known.insert((one, other), bases.clone());
        Some(bases)
    }
}
