//! A program that is to be held at a level.

use crate::view::{Access, is_private};
use crate::{Confinement, Level};
use std::path::{Path, PathBuf};

/// The word with which tm calls itself to become a held program ([`crate::enter`]); not for people.
pub const ENTRY: &str = "sandbox-enter";

/// How a program is held, and by whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sandbox {
    /// By which means.
    pub level: Level,
    /// What it is given.
    pub confinement: Confinement,
    /// The folder of the control group that it joins before it begins, which bounds its memory and its processes.
    pub group: Option<PathBuf>,
    /// A number by which whoever has started it knows every process of it where it has no processes of its own (Landlock):
    /// its limit for file locks, which the system goes by for nothing.
    pub stamp: Option<u64>,
    /// This program.
    pub tm_program: PathBuf,
}

impl Sandbox {
    /// Returns what the program may do with a real path; what is layered it may change, or else no more than read.
    pub fn gives(&self, path: &Path) -> Access {
        match self.confinement.view.rule_of(path) {
            Some((rule, _)) if self.level == Level::Bwrap && is_private(rule) => Access::Write,
            Some((_, access)) => access,
            None => Access::Read,
        }
    }
}
