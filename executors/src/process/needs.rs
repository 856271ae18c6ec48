//! What a program is for and what it needs, for whoever decides what it is given.

use crate::proxy::AllowList;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tm_sandbox::{Layers, Network};

/// What a job is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
pub enum JobKind {
    /// A program that does a task.
    Agent,
    /// A command that makes a checkout ready.
    Setup,
    /// A command that runs tests, or another check.
    Tests,
    /// A hook of a commit, or a filter, and git as it runs one.
    Hooks,
}

/// What a job is, and what it needs besides its working folder.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Needs {
    /// What it is.
    pub kind: JobKind,
    /// A folder that is its alone, with `tmp` in it.
    pub own_folder: PathBuf,
    /// What it is given besides.
    pub besides: Besides,
    /// Hosts that it reaches and no others, where that is so: by a proxy that has yet to be started beside it.
    #[serde(default)]
    pub hosts: Option<AllowList>,
    /// What it reaches of the network, where that is not what all of its kind do.
    pub network: Option<Network>,
    /// Whether it changes nothing where it works.
    #[serde(default)]
    pub only_reads: bool,
    /// Variables whose values hold words of others, be it a prompt or a task: nothing is opened that those name.
    #[serde(default)]
    pub said_by_others: Vec<String>,
    /// Variables that it has of its surroundings, besides those that all of its kind have: names, or beginnings that end with
    /// `*`.
    #[serde(default)]
    pub pass: Vec<String>,
}

/// Paths that a program is given besides its folders.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Besides {
    /// Those that it reads.
    pub read: Vec<PathBuf>,
    /// Those that it changes.
    pub write: Vec<PathBuf>,
    /// Paths that its user named in its command: what is a file there is read.
    #[serde(default)]
    pub named: Vec<PathBuf>,
    /// Folders with programs, which are opened with what belongs to them, as those of the search path are.
    #[serde(default)]
    pub programs: Vec<PathBuf>,
    /// What becomes of what it writes to the caches of the user's tools.
    pub caches: Caches,
    /// Whether it makes terminals where it has no place of its own for them.
    pub terminals: bool,
}

/// What becomes of what a program writes to the caches of the user's tools.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub enum Caches {
    /// It is there for everybody: what is run is the user's.
    Written,
    /// It lies on top of them, since agents may have written what is run. Where that can't be had they are only read.
    Layered(Layers),
}

impl Default for Caches {
    fn default() -> Self {
        Self::Layered(Layers::Gone)
    }
}
