//! What becomes of lines that two sides changed in the same place: pure texts in, a text or a reason out.
//!
//! Does not know git, files or tests: whatever comes out of here is proven as any work before it lands.

mod gate;
mod lock_files;
mod segments;
mod union;

pub use gate::wrong_resolution;
pub use lock_files::{LockFile, lock_file};
pub use segments::{Segment, marker_size, segments, with_ended_line};
pub use union::{is_joined_by_lines, union, without_removed};

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a merge came about where merging lines alone gives none.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resolution {
    /// Both sides only added lines in the same place; both are taken, what had landed first.
    Union,
    /// Lock files were made again from what they are made of.
    LockFile,
    /// The merge program that the user named did it.
    Driver,
    /// The task's agent did it.
    Agent,
}

impl Resolution {
    /// The trailer of commits that came about so.
    pub const TRAILER: &str = "Resolution";

    /// Every one.
    pub const ALL: [Self; 4] = [Self::Union, Self::LockFile, Self::Driver, Self::Agent];

    /// Returns the word that trailers and reports use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Union => "union",
            Self::LockFile => "lockfile",
            Self::Driver => "driver",
            Self::Agent => "agent",
        }
    }

    /// Returns the one that a trailer names.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|resolution| resolution.as_str() == word)
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
