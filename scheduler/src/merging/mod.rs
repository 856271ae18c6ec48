//! What becomes of lines that two sides changed in the same place: pure texts in, a text or a reason out.
//!
//! Does not know git, files or tests: whatever comes out of here is proven as any work before it lands.

mod gate;
mod lock_files;
mod segments;
mod union;

pub use gate::wrong_resolution;
pub use lock_files::lock_file;
pub use segments::{Segment, marker_size, segments, with_ended_line};
pub use union::{is_joined_by_lines, union, without_removed};

words! {
    /// How a merge came about where merging lines alone gives none.
    pub enum Resolution {
        /// Both sides only added lines in the same place; both are taken, what had landed first.
        Union = "union",
        /// Lock files were made again from what they are made of.
        LockFile = "lockfile",
        /// The merge program that the user named did it.
        Driver = "driver",
        /// The task's agent did it.
        Agent = "agent",
    }
}

impl Resolution {
    /// The trailer of commits that came about so.
    pub const TRAILER: &str = "Resolution";
}
