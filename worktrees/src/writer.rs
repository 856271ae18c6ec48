//! Who writes objects: the library, and git; whoever has to find what is new is told when there may be some.

use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often somebody began or ended to write in this process.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Returns a number that is another one whenever somebody may have written since.
pub(crate) fn writes() -> u64 {
    WRITES.load(Ordering::SeqCst)
}

/// Says that somebody begins to write, or has ended.
pub(crate) fn note_write() {
    WRITES.fetch_add(1, Ordering::SeqCst);
}

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
        note_write();
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
        note_write();
        self.idle.lock().extend(self.git.take());
    }
}
