//! Keeps `git gc` out while work is going on: between the making of an object and of the ref that holds it, a
//! collection without a grace period, such as `git gc --prune=now`, would take it away.
//!
//! git itself keeps two collections apart by a file `gc.pid` with the process and the machine; whoever holds it is
//! waited for by nobody, and one whose process is gone is ignored. Collections that git starts by itself are left out
//! silently then, those that a user starts say that one is running.

use rustix::process::{Pid, test_kill_process};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often and how long a collection that is under way is waited for.
const WAITS: u32 = 60;
const WAIT: Duration = Duration::from_millis(50);
/// The file holds one process and one machine.
const MARK_BYTES: u64 = 4 * 1024;

/// The right to collect, held so that nobody does. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct NoCollection {
    /// `None` when somebody else holds it, or it can't be had.
    held: Option<PathBuf>,
    mark: String,
}

impl NoCollection {
    /// Takes the right; a collection that is under way is waited for, but for no longer than three seconds, and this
    /// process, which does not collect while it holds it, is not.
    pub(crate) fn hold(common_dir: &Path) -> Self {
        Self::hold_within(WAITS, common_dir)
    }

    fn hold_within(waits: u32, common_dir: &Path) -> Self {
        let path = common_dir.join("gc.pid");
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let mark = format!("{} {host}", std::process::id());
        let take = || create(&path, &mark) || (is_abandoned(&path, &host) && replace(&path, &mark));
        let mut is_held = take();
        for _ in 0..waits {
            // A file that is not there could not be made, and will not be.
            if is_held || !path.exists() || is_of(&path, &mark) {
                break;
            }
            std::thread::sleep(WAIT);
            is_held = take();
        }
        Self {
            held: is_held.then_some(path),
            mark,
        }
    }

    /// Says that it is still held: git ignores a holder that has not said so for twelve hours.
    pub(crate) fn renew(&self) {
        let Some(path) = &self.held else { return };
        // One that can't be renewed now is renewed with the next worktree.
        let _next_time =
            tm_untrusted::open_writable(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
}

impl Drop for NoCollection {
    fn drop(&mut self) {
        let Some(path) = &self.held else { return };
        if is_of(path, &self.mark) {
            // What stays names a process that is gone, and is ignored.
            let _ignored_by_git = fs::remove_file(path);
        }
    }
}

fn create(path: &Path, mark: &str) -> bool {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(mark.as_bytes()))
        .is_ok()
}

fn replace(path: &Path, mark: &str) -> bool {
    tm_untrusted::remove(path).is_ok() && create(path, mark)
}

/// Whether the file is of the process that leaves a mark.
fn is_of(path: &Path, mark: &str) -> bool {
    tm_untrusted::read(path, MARK_BYTES).is_ok_and(|text| text == mark.as_bytes())
}

/// Whether the file is of a process of this machine that is gone.
fn is_abandoned(path: &Path, host: &str) -> bool {
    let text = String::from_utf8(tm_untrusted::read(path, MARK_BYTES).unwrap_or_default())
        .unwrap_or_default();
    let Some((pid, holder_host)) = text.trim_end().split_once(' ') else {
        return !text.is_empty();
    };
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    holder_host == host
        && pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_is_held_by_one_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.pid");
        let first = NoCollection::hold(folder.path());
        assert!(first.held.is_some() && path.exists());
        let long_ago = SystemTime::UNIX_EPOCH;
        OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        first.renew();
        assert!(fs::metadata(&path).unwrap().modified().unwrap() > long_ago);
        let second = NoCollection::hold(folder.path());
        assert!(second.held.is_none());
        drop(second);
        assert!(path.exists(), "only its holder gives it back");
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn a_process_that_is_gone_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        assert!(create(
            &folder.path().join("gc.pid"),
            &format!("{} {host}", i32::MAX)
        ));
        assert!(NoCollection::hold(folder.path()).held.is_some());
        assert!(create(
            &folder.path().join("gc.pid"),
            &format!("{} elsewhere", i32::MAX)
        ));
        assert!(
            NoCollection::hold_within(1, folder.path()).held.is_none(),
            "nobody knows what goes on on another machine"
        );
    }
}
