//! Makes this process the parent of orphaned descendants, so that none gets out of sight.

use crate::Error;
use std::sync::OnceLock;

/// Makes this process adopt descendants whose parents ended; done once, repeated calls are free.
///
/// Trees call it themselves; a caller that does so at its start learns early of a system that refuses. Does nothing
/// where the operating system has no such thing, and orphans are found by what was seen of them before.
pub fn become_subreaper() -> Result<(), Error> {
    static OUTCOME: OnceLock<Result<(), rustix::io::Errno>> = OnceLock::new();
    (*OUTCOME.get_or_init(set)).map_err(|errno| Error::Use {
        what: "become the parent of orphaned processes".to_owned(),
        source: errno.into(),
    })
}

#[cfg(target_os = "linux")]
fn set() -> Result<(), rustix::io::Errno> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
}

#[cfg(not(target_os = "linux"))]
fn set() -> Result<(), rustix::io::Errno> {
    Ok(())
}
