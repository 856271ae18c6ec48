//! Where the settings of a project are read: in its folder, or as a commit has them.
//!
//! Does not know what a commit is: whoever has one brings the texts.

use crate::{Error, yaml};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of a project that hold settings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProjectFiles {
    /// Those in the folder that holds `.taskmaster/` and `.claude/`.
    InFolder(PathBuf),
    /// Those of a commit, by their paths from the top of the project on; others are not there.
    Committed(BTreeMap<String, String>),
}

impl Default for ProjectFiles {
    fn default() -> Self {
        Self::InFolder(PathBuf::default())
    }
}

impl ProjectFiles {
    /// Returns the text of a file, `None` when there is none.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, Error> {
        match self {
            Self::InFolder(root) => yaml::read_file(&root.join(path), Path::new(path)),
            Self::Committed(texts) => Ok(texts.get(path).map(|text| yaml::without_mark(text))),
        }
    }

    /// Tells whether a file is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        match self {
            Self::InFolder(root) => root.join(path).is_file(),
            Self::Committed(texts) => texts.contains_key(path),
        }
    }
}
