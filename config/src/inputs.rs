//! Everything that a configuration is loaded from, as plain values.
//!
//! The only place that looks at the process's own environment is `from_process`.

use crate::{ProjectFiles, environment};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What a configuration is loaded from.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The user's own file for all projects; one that does not exist says nothing.
    pub user_config: Option<PathBuf>,
    /// The files of the project.
    pub project: ProjectFiles,
    /// Environment variables; those that do not begin with `TM_` are left alone.
    pub environment: Vec<(String, String)>,
    /// Settings from the command line; a later one of the same key counts.
    pub overrides: Vec<Override>,
}

impl Inputs {
    /// Returns the inputs of this process for a project, without overrides.
    pub fn from_process(project_root: impl Into<PathBuf>) -> Self {
        let variables = std::env::vars_os();
        Self {
            user_config: config_folder().map(|folder| folder.join("tm/config.yaml")),
            project: ProjectFiles::InFolder(project_root.into()),
            environment: variables
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .filter(|(name, _)| name.starts_with(environment::PREFIX))
                .collect(),
            overrides: Vec::new(),
        }
    }
}

/// Where programs keep the settings of this user: as XDG has it, a folder that is not absolute counts for none.
fn config_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".config")))
}

/// One setting from the command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// The setting, with dots: `waves.max_parallel`.
    pub key: String,
    /// The flag, with its dashes: `--max-parallel`.
    pub flag: String,
    /// The value.
    pub value: Value,
}

impl Override {
    /// Returns an override of a value that has its type already.
    pub fn new(key: impl Into<String>, flag: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            key: key.into(),
            flag: flag.into(),
            value: value.into(),
        }
    }
}
