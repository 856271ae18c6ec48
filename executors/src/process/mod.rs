//! Spawns a process tree, knows all of it, and ends all of it.
//!
//! Knows processes and nothing of agents, tests or results. A tree is a started program with every descendant, those
//! in groups and sessions of their own included: killing the group is not enough, because programs start tools and
//! daemons outside of it. Descendants are found by their parents, by links seen earlier, by the tree's marks in their
//! environment or on the process itself, and, since this process adopts orphans, by having become its children.

mod attended;
mod beginning;
mod bound;
mod command;
mod detached;
mod identity;
mod leader;
mod lineage;
mod needs;
mod observer;
mod ownership;
mod program;
mod registry;
mod signal;
mod stamp;
mod subreaper;
mod table;
mod tree;
mod trees_by_mark;

#[cfg(not(target_os = "linux"))]
#[path = "table_ps.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "table_proc.rs"]
mod system;

pub(crate) use attended::shell_quoted;
pub use attended::{Captured, run_attended, run_captured, run_within, shell_words};
pub(crate) use command::is_named;
pub use command::{Inherited, Stdin, TreeCommand};
pub use detached::Detached;
pub use identity::ProcessIdentity;
pub use lineage::{Ancestor, lineage};
pub use needs::{Besides, Caches, JobKind, Needs};
pub use program::{RunningProgram, running};
pub use registry::{env_markers_of, own_children_are};
pub(crate) use signal::send;
pub(crate) use stamp::stamp_of;
pub use subreaper::become_subreaper;
pub use tree::ProcessTree;

/// The variable that spares a process of tm's own: an orphan that has it in its environment is nobody's leftover.
///
/// For programs that tm runs outside of any tree and that may leave a daemon people want to keep, such as the
/// key agent behind a signed commit.
pub const SPARED: &str = "TM_SPARED";
