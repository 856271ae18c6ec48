//! Tells when a result file may be there: by file notification, with polling behind it.
//!
//! One watcher for the whole process, since systems allow few of them.

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The shortest time between two changes that are told of. Whoever writes all the time takes no time from anything else.
const AT_MOST_EVERY: Duration = Duration::from_millis(5);

type Watched = Arc<Mutex<BTreeMap<PathBuf, Arc<Notify>>>>;

struct Watcher {
    watched: Watched,
    /// `None` where the system has no notification; polling alone does then.
    system: Mutex<Option<RecommendedWatcher>>,
}

fn watcher() -> &'static Watcher {
    static WATCHER: OnceLock<Watcher> = OnceLock::new();
    WATCHER.get_or_init(|| {
        let watched = Watched::default();
        let folders = Arc::clone(&watched);
        let told = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            // Reading is no change: tm's own look would be answered by another one, without an end.
            if event.kind.is_access() {
                return;
            }
            let folders = folders.lock().unwrap_or_else(PoisonError::into_inner);
            for folder in event.paths.iter().filter_map(|path| path.parent()) {
                if let Some(waiting) = folders.get(folder) {
                    waiting.notify_one();
                }
            }
        };
        Watcher { watched, system: Mutex::new(notify::recommended_watcher(told).ok()) }
    })
}

/// A folder that is watched until this is dropped.
pub(super) struct WatchedFolder {
    folder: PathBuf,
    changed: Arc<Notify>,
    told_at: Mutex<Option<Instant>>,
}

impl WatchedFolder {
    /// Watches a folder, not those within it.
    pub(super) fn new(folder: &Path) -> Self {
        let changed = Arc::new(Notify::new());
        let watcher = watcher();
        watcher.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), Arc::clone(&changed));
        if let Some(system) = &mut *watcher.system.lock().unwrap_or_else(PoisonError::into_inner) {
            // Where this fails, as on some network file systems, polling does.
            let _polling_does = system.watch(folder, RecursiveMode::NonRecursive);
        }
        Self { folder: folder.to_owned(), changed, told_at: Mutex::default() }
    }

    /// Waits until something in the folder changed.
    pub(super) async fn changed(&self) {
        let told_at = *self.told_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told_at) = told_at {
            tokio::time::sleep_until(told_at + AT_MOST_EVERY).await;
        }
        self.changed.notified().await;
        *self.told_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Drop for WatchedFolder {
    fn drop(&mut self) {
        let watcher = watcher();
        watcher.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.folder);
        if let Some(system) = &mut *watcher.system.lock().unwrap_or_else(PoisonError::into_inner) {
            // The folder may be gone already.
            let _gone = system.unwatch(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[tokio::test]
    async fn a_reader_changes_nothing() {
        let (read, written) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = read.path().join("file");
        File::create(&file).expect("a file");
        let (of_read, of_written) = (WatchedFolder::new(read.path()), WatchedFolder::new(written.path()));
        std::fs::read(&file).expect("read");
        File::create(written.path().join("file")).expect("a file");
        // Events come in their order.
        of_written.changed().await;
        let told = tokio::time::timeout(Duration::ZERO, of_read.changed()).await;
        assert!(told.is_err() || watcher().system.lock().expect("a watcher").is_none());
    }
}
