//! Which task a dependency of a subtask means.
//!
//! Knows numbers and ids; what stands in the file is read elsewhere.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The other subtasks of the same task, whose numbers name them in dependencies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Siblings<'a> {
    /// The task's id.
    pub(super) parent: &'a str,
    /// The numbers of all its subtasks.
    pub(super) numbers: &'a BTreeSet<String>,
    /// The number of the subtask itself.
    pub(super) own: &'a str,
}

impl Siblings<'_> {
    /// Returns the absolute id of a subtask.
    pub(super) fn id(&self, number: &str) -> String {
        format!("{}.{number}", self.parent)
    }
}

/// Returns the id that a dependency means: a number that a sibling has names that one, all else is absolute.
pub(super) fn absolute<'w>(within: Option<Siblings<'_>>, written: Cow<'w, str>) -> Cow<'w, str> {
    match within {
        Some(siblings) if siblings.numbers.contains(&*written) && written != siblings.own => {
            siblings.id(&written).into()
        }
        Some(_) | None => written,
    }
}
