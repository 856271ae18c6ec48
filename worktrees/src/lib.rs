//! Gives each task a git worktree, brings its branch home, loses nothing.
//!
//! The only crate that talks to git, always through the `git` program. Knows nothing of tasks, attempts or agents: it is given branch names, commits and
//! folders, and hands back worktrees and commits. Every call is synchronous and may wait for the disk.

mod agent_history;
mod branch;
mod bring;
mod changes;
mod checkout;
mod clean;
mod collection;
mod created;
mod diffstat;
mod elsewhere;
mod environment;
mod error;
mod files;
mod git;
mod history;
mod hooks;
mod ignored;
mod judge;
mod lister;
mod merge;
mod notes;
mod objects;
mod opened;
mod own;
mod owned;
mod patterns;
mod pool;
mod prune;
mod published;
mod refs;
mod remote;
mod repository;
mod settings;
mod slug;
mod snapshot;
mod surrounding;
#[cfg(test)]
mod tests;
mod variant;
mod version;
mod view;
mod watched;
mod work;
mod worktree;

pub use agent_history::{AgentCommit, Author, BroughtFile, HistoryBounds};
pub use branch::BranchName;
pub use bring::BringHow;
pub use changes::{Change, ChangedFile};
pub use checkout::{Checkout, CommitFiles};
pub use created::{apply_patch, create_repository};
pub use diffstat::Diffstat;
pub use elsewhere::OtherWorktrees;
pub use environment::Environment;
pub use error::{Error, Protection};
pub use history::{MergedTree, PastCommit};
pub use hooks::Hooked;
pub use judge::JudgeCheckout;
pub use lister::Lister;
pub use merge::{Conflict, Landing, MergeOutcome, MergePreview};
pub use objects::ObjectCheck;
pub use opened::Opened;
pub use patterns::PathPatterns;
pub use pool::WorktreePool;
pub use prune::{PruneOutcome, Pruned};
pub use refs::{BranchStart, Kept};
pub use repository::{Head, Repository, TreeId};
pub use slug::{branch_from_pattern, slug};
pub use snapshot::CheckoutSnapshot;
pub use surrounding::common_dir_around;
pub use version::{GitVersion, check_git};
pub use work::{Work, WorkSnapshot};
pub use worktree::{Captured, Worktree};
