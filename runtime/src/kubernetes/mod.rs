//! What the settings say of jobs that are pods of Kubernetes, for builds that have it; others say that they don't.

#[cfg(feature = "kubernetes")]
mod with;
#[cfg(not(feature = "kubernetes"))]
mod without;

#[cfg(feature = "kubernetes")]
pub(crate) use with::known;
#[cfg(feature = "kubernetes")]
pub use with::{check, findings, manifest};
#[cfg(not(feature = "kubernetes"))]
pub(crate) use without::known;
#[cfg(not(feature = "kubernetes"))]
pub use without::{check, findings, manifest};

use std::path::Path;
use tm_config::Settings;
use tm_store::run::ProjectDirectory;

/// A project, as pods are made for it.
#[derive(Clone, Copy, Debug)]
pub struct PodsOf<'a> {
    /// Its folder of tm's.
    pub project: &'a ProjectDirectory,
    /// Its checkout, from which paths of the settings are seen.
    pub root: &'a Path,
    /// Its settings.
    pub settings: &'a Settings,
}
