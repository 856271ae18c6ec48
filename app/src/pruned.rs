//! What goes of runs that are over, or stays, and why.

use serde::Serialize;
use tm_scheduler::RunId;

tm_scheduler::words! {
    /// What can go.
    pub enum PrunedKind {
        /// A worktree of tm's.
        Worktree = "worktree",
        /// A branch of a run's.
        Branch = "branch",
        /// Work that was kept and never landed.
        Salvage = "salvage",
        /// The folder of a run.
        Run = "run",
        /// The folder of a loop.
        Loop = "loop",
    }
}

/// One thing that goes or stays.
#[derive(Clone, Debug, Serialize)]
pub struct PrunedItem {
    /// What it is.
    pub kind: PrunedKind,
    /// Its name.
    pub name: String,
    /// Its run or loop, as far as it has one.
    pub run: Option<RunId>,
    /// Whether it goes: it has, unless that is only foreseen.
    pub goes: bool,
    /// Why.
    pub why: String,
}
