//! The library where it writes objects.

use parking_lot::Mutex;
use std::ops::Deref;

/// The library as long as it writes; then it is kept for whoever writes next.
pub(crate) struct Writer<'a> {
    git: Option<git2::Repository>,
    idle: &'a Mutex<Vec<git2::Repository>>,
}

impl<'a> Writer<'a> {
    /// Takes one that is idle, or opens another one.
    pub(crate) fn begin(
        idle: &'a Mutex<Vec<git2::Repository>>,
        open: impl FnOnce() -> Option<git2::Repository>,
    ) -> Option<Self> {
        let known = idle.lock().pop();
        let git = Some(known.or_else(open)?);
        Some(Self { git, idle })
    }
}

impl Deref for Writer<'_> {
    type Target = git2::Repository;

    fn deref(&self) -> &git2::Repository {
        self.git
            .as_ref()
            .expect("it is there until this is dropped")
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.idle.lock().extend(self.git.take());
    }
}
