//! Builds without Kubernetes, which say so.

use super::PodsOf;
use std::path::Path;
use tm_executors::Error;
use tm_executors::engine::node::JobDescription;
use tm_executors::engine::{Executor, PlaceFinding};

pub(crate) fn known(executor: Executor, _pods: PodsOf<'_>) -> Executor {
    executor
}

/// Says that no jobs can be pods.
///
/// # Errors
/// Always.
pub fn check(_pods: PodsOf<'_>, _folders: &[&Path]) -> Result<(), Error> {
    Err(not_in_this_build())
}

/// Finds nothing.
pub fn findings(_pods: PodsOf<'_>) -> impl Future<Output = Vec<PlaceFinding>> {
    std::future::ready(Vec::new())
}

/// Says that nothing can be applied.
///
/// # Errors
/// Always.
pub fn manifest(
    _pods: PodsOf<'_>,
    _folder: &str,
    _about: &JobDescription,
) -> Result<String, Error> {
    Err(not_in_this_build())
}

fn not_in_this_build() -> Error {
    let words = "this build of tm has no Kubernetes: `cargo build --features kubernetes` makes one that has";
    Error::PlaceSettings(words.to_owned())
}
