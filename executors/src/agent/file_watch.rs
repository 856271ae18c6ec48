//! Tells when files come, are written or grow, as far as the kernel says so.
//!
//! Does not know whose files these are. What is told is a reason to look and no more than that: it may be missing where a
//! file changes on another machine, so whoever waits looks now and then all the same.

#[cfg(not(target_os = "linux"))]
use no_kernel as kernel;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Notify;

#[cfg(target_os = "linux")]
use super::inotify as kernel;

/// What was seen of a file.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Sign {
    /// The result has been written.
    Result,
    /// Something was printed, or may have been.
    Output,
    /// A file that is kept up to date has been written.
    Kept,
}

/// What was seen and not yet asked for.
#[derive(Debug, Default)]
pub(super) struct Heard {
    signs: Mutex<BTreeSet<Sign>>,
    told: Notify,
    /// The kernel's numbers of what is watched for it: others watch thousands more.
    #[cfg(target_os = "linux")]
    pub(super) watched: Mutex<BTreeSet<i32>>,
}

impl Heard {
    /// Notes a sign.
    pub(super) fn note(&self, sign: Sign) {
        self.signs.lock().insert(sign);
        self.told.notify_one();
    }
}

/// Listens for one who waits; dropping it ends that.
#[derive(Debug, Default)]
pub(super) struct FileWatch {
    heard: Arc<Heard>,
}

impl FileWatch {
    /// Listens from now on whether a file of this name has been written to its end or put there; tells whether that will be
    /// told. Its folder has to be there.
    pub(super) fn file(&self, path: &Path, sign: Sign) -> bool {
        kernel::watch_file(path, sign, &self.heard)
    }

    /// Listens whether a file that is there grows, until it does; tells whether that will be told.
    pub(super) fn growth(&self, path: &Path) -> bool {
        kernel::watch_growth(path, Sign::Output, &self.heard)
    }

    /// Waits for signs. May be dropped and called again.
    pub(super) async fn next(&self) -> BTreeSet<Sign> {
        loop {
            let signs = std::mem::take(&mut *self.heard.signs.lock());
            if !signs.is_empty() {
                return signs;
            }
            self.heard.told.notified().await;
        }
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        kernel::forget(&self.heard);
    }
}

/// Systems on which nobody tells.
#[cfg(not(target_os = "linux"))]
mod no_kernel {
    use super::{Arc, Heard, Path, Sign};

    pub(super) fn watch_file(_: &Path, _: Sign, _: &Arc<Heard>) -> bool {
        false
    }

    pub(super) fn watch_growth(_: &Path, _: Sign, _: &Arc<Heard>) -> bool {
        false
    }

    pub(super) fn forget(_: &Arc<Heard>) {}
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "as agents write")]
mod tests {
    use super::*;
    use std::fs::{File, rename, write};
    use std::io::Write as _;

    #[tokio::test]
    async fn a_result_is_told_of_however_it_comes_and_other_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let watch = FileWatch::default();
        assert!(watch.file(&path("result.md"), Sign::Result));
        for round in 0..3 {
            write(path("other"), "x").expect("written");
            rename(path("other"), path("result.md")).expect("renamed");
            assert_eq!(watch.next().await, [Sign::Result].into(), "{round}");
        }
        write(path("result.md"), "x").expect("written");
        assert_eq!(watch.next().await, [Sign::Result].into());
        std::fs::remove_file(path("result.md")).expect("removed");
        write(path("other"), "x").expect("written");
        std::fs::hard_link(path("other"), path("result.md")).expect("linked");
        assert_eq!(watch.next().await, [Sign::Output].into(), "it may be one");
    }

    #[tokio::test]
    async fn a_log_that_grows_is_told_of_once_until_somebody_listens_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = File::create(&path).expect("a log");
        let watch = FileWatch::default();
        for _ in 0..3 {
            assert!(watch.growth(&path));
            for _ in 0..100 {
                log.write_all(b"line\n").expect("written");
            }
            assert_eq!(watch.next().await, [Sign::Output].into());
            assert!(watch.heard.signs.lock().is_empty());
        }
        assert!(!watch.growth(&folder.path().join("none")));
    }

    #[tokio::test]
    async fn many_listen_in_one_folder_and_each_hears_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let watches = ["1", "2", "3"].map(|name| {
            let watch = FileWatch::default();
            assert!(watch.file(&path(name), Sign::Result));
            (name, watch)
        });
        let [(_, first), second, third] = watches;
        drop(first);
        for (name, watch) in [second, third] {
            write(path("1"), "x").expect("written");
            write(path(name), "x").expect("written");
            // That it is there may be told before it is written.
            while !watch.next().await.contains(&Sign::Result) {}
            assert!(watch.heard.signs.lock().is_empty());
        }
    }
}
