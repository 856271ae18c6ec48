//! A program that is to be held at a level.

use crate::{Confinement, Level};
use std::path::PathBuf;

/// The word with which tm calls itself to become a held program ([`crate::enter`]); not for people.
pub const ENTRY: &str = "sandbox-enter";

/// How a program is held, and by whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sandbox {
    /// By which means.
    pub level: Level,
    /// What it is given.
    pub confinement: Confinement,
    /// This program.
    pub tm_program: PathBuf,
}
