//! Tells when a result file may be there: by file notification, with polling behind it.
//!
//! One watcher for the whole process, since systems allow few of them.

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::Notify;

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
        Self { folder: folder.to_owned(), changed }
    }

    /// Waits until something in the folder changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
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
