//! No kernel here says which files somebody has opened: all of them are read where their times do not tell.

use crate::indexed::Known;
use std::path::{Path, PathBuf};

/// Nothing is told.
#[derive(Debug, Default)]
pub(crate) struct OpenedFiles;

impl OpenedFiles {
    /// Nobody vouches for any.
    pub(crate) fn vouch_for(&self, _: &Path, _: &mut Known) {}

    /// Nobody keeps that in mind.
    pub(crate) fn compared(&self, _: &Path, _: &Known, _: &[PathBuf]) {}
}
