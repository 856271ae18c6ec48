//! Gives each task a git worktree, brings its branch home, loses nothing.
//!
//! The only crate that talks to git, always through the `git` program. Knows nothing of tasks, attempts or agents: it is given branch names, commits and
//! folders, and hands back worktrees and commits. Every call is synchronous and may wait for the disk.

mod accepted;
mod agent_history;
mod apart;
mod as_cloned;
mod as_written;
mod asked;
mod broken;
mod checked_objects;
mod checkout;
mod clean;
mod collection;
mod difference;
mod environment;
mod error;
mod export;
mod files;
mod found;
mod git;
mod history;
mod hooks;
mod ignored;
mod in_checkout;
mod index_entry;
mod indexed;
mod left_locks;
mod lengths;
mod library;
mod merge;
mod merge_bases;
mod merge_into_checkout;
mod merged;
mod names;
mod nested;
mod new_commit;
mod objects;
#[cfg_attr(not(target_os = "linux"), path = "no_opened.rs")]
mod opened;
mod owned;
mod patterns;
mod pause;
mod pool;
mod private;
mod quiet;
mod reader;
mod reference_updates;
mod refs;
mod repository;
mod said;
mod sealed;
mod searched;
mod signed;
mod snapshot;
mod submodules;
mod surrounding;
mod taken_back;
mod terminal;
#[cfg(test)]
mod tests;
mod to_test;
mod traced;
mod tree;
mod tree_id;
mod tree_of_index;
mod united;
mod version;
mod work;
mod work_of_others;
mod writer;

pub use agent_history::{AgentCommit, BroughtFile, HistoryBounds};
pub use broken::BrokenReference;
pub use checked_objects::CheckedObjects;
pub use checkout::CommitFiles;
pub use environment::Environment;
pub use error::{Error, Protection};
pub(crate) use error::{OrFailedTo, Result};
pub use export::{apply_patch, create_repository};
pub use git::{RunHooks, end_gits, staying_processes};
pub use history::{Author, PastCommit};
pub use hooks::{
    FoundHook, HookCall, HookEnd, HookState, Hooked, HookedCommit, HookedWork, RunHook,
};
pub use in_checkout::GitInCheckout;
pub use left_locks::LeftLock;
pub use merge::{Conflict, ConflictedText, Conflicts, Landing, MergePreview};
pub use merge_into_checkout::{BroughtIn, FastForwardPolicy};
pub use merged::{Besides, Merged, OwnReference};
pub use objects::ObjectCheck;
pub use owned::{LONGEST_LOOK, Lister, Looker, OwnedHead};
pub use patterns::PathPatterns;
pub use pool::{
    Captured, InspectionWorktree, JudgeCheckout, PruneOutcome, Pruned, Pruning, Returning,
    Worktree, WorktreePool,
};
pub use private::PrivateGit;
pub use reader::Head;
pub use refs::Kept;
pub use repository::git_folders::GitFolders;
pub use repository::watched::SETTINGS_OF_TM;
pub use repository::{
    ContentAtHead, ContentRules, FilterHolder, FilterNeed, HeldFilters, Repository,
};
pub use sealed::{GitOfCommands, git_of_commands};
pub use searched::leads_into;
pub use signed::Signing;
pub use snapshot::{CheckoutChanges, CheckoutSnapshot, OtherWorktrees};
pub use surrounding::{checkout_root_around, common_dir_around};
pub use terminal::Coloured;
pub use traced::TracedCommands;
pub use tree_id::{TreeId, Treeish};
pub use united::{MergedFile, MergedTree, VersionFiles};
pub use version::{GitVersion, check_git};
pub use work::{Diffstat, Patch, WorkSnapshot};
