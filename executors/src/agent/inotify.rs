//! What Linux tells about files: one queue of the kernel's and one thread that reads it, for all who listen in this process.

use super::file_watch::{Heard, Sign};
use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, Event, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::Builder;

/// What is asked of a folder. That a name is there, as by a link, says little: whoever writes there goes on.
const IN_FOLDER: WatchFlags = WatchFlags::MOVED_TO
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::ONLYDIR);
/// What is asked of a log: once, so that one who prints without end is not told of without end.
const OF_LOG: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ONESHOT)
    .union(WatchFlags::DONT_FOLLOW);
/// So much is read of the queue at once.
const BUFFER: usize = 16 * 1024;
/// The thread asks for little.
const STACK: usize = 256 * 1024;

struct Queue {
    inotify: OwnedFd,
    /// By the kernel's number of what is watched. Held while something is added, so that nothing told of it is missed.
    listeners: Mutex<BTreeMap<i32, Vec<Listener>>>,
}

struct Listener {
    heard: Arc<Heard>,
    sign: Sign,
    /// The name in a folder; of a log there is none.
    name: Option<OsString>,
}

/// Listens for a file in its folder.
pub(super) fn watch_file(path: &Path, sign: Sign, heard: &Arc<Heard>) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return false;
    };
    listen(folder, IN_FOLDER, sign, (heard, Some(name.to_owned())))
}

/// Listens for the next growth of a file.
pub(super) fn watch_growth(path: &Path, sign: Sign, heard: &Arc<Heard>) -> bool {
    listen(path, OF_LOG, sign, (heard, None))
}

fn listen(
    path: &Path,
    flags: WatchFlags,
    sign: Sign,
    (heard, name): (&Arc<Heard>, Option<OsString>),
) -> bool {
    let Some(queue) = queue() else { return false };
    let mut listeners = queue.listeners.lock();
    let watch = match inotify::add_watch(&queue.inotify, path, flags) {
        Ok(watch) => watch,
        Err(error) => {
            tracing::debug!(%error, path = %path.display(), "nobody tells of changes");
            return false;
        }
    };
    heard.watched.lock().insert(watch);
    // Nearly all are listened to by one alone, and there are some for each agent.
    let all = listeners
        .entry(watch)
        .or_insert_with(|| Vec::with_capacity(1));
    let is_same = |other: &Listener| {
        Arc::ptr_eq(&other.heard, heard) && other.sign == sign && other.name == name
    };
    if !all.iter().any(is_same) {
        let heard = Arc::clone(heard);
        all.push(Listener { heard, sign, name });
    }
    true
}

/// Forgets one who listened.
pub(super) fn forget(heard: &Arc<Heard>) {
    let Some(queue) = QUEUE.get().and_then(Option::as_ref) else {
        return;
    };
    let mut listeners = queue.listeners.lock();
    for watch in std::mem::take(&mut *heard.watched.lock()) {
        let Some(all) = listeners.get_mut(&watch) else {
            continue;
        };
        all.retain(|listener| !Arc::ptr_eq(&listener.heard, heard));
        if all.is_empty() {
            listeners.remove(&watch);
            // What was removed is not watched any more.
            let _gone_already = inotify::remove_watch(&queue.inotify, watch);
        }
    }
}

static QUEUE: OnceLock<Option<Queue>> = OnceLock::new();

/// Returns the queue of this process; `None` where there is none to be had.
fn queue() -> Option<&'static Queue> {
    let queue = QUEUE.get_or_init(|| {
        let inotify = inotify::init(CreateFlags::CLOEXEC)
            .inspect_err(|error| tracing::warn!(%error, "the system tells nothing of files"))
            .ok()?;
        let thread = Builder::new().name("tm-files".to_owned()).stack_size(STACK);
        thread
            .spawn(|| QUEUE.wait().as_ref().map(hear))
            .inspect_err(|error| tracing::warn!(%error, "nobody hears of files"))
            .ok()?;
        Some(Queue {
            inotify,
            listeners: Mutex::default(),
        })
    });
    queue.as_ref()
}

/// Hears what the kernel tells until it tells nothing any more, which is never.
fn hear(queue: &Queue) {
    let mut buffer = [MaybeUninit::uninit(); BUFFER];
    let mut reader = Reader::new(&queue.inotify, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) => queue.pass_on(&event),
            Err(Errno::INTR) => {}
            Err(error) => {
                tracing::warn!(%error, "nothing is heard of files any more");
                return;
            }
        }
    }
}

impl Queue {
    fn pass_on(&self, event: &Event<'_>) {
        let mut listeners = self.listeners.lock();
        if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            for listener in listeners.values().flatten() {
                listener.heard.note(listener.sign);
            }
            return;
        }
        let name = event.file_name().map(std::ffi::CStr::to_bytes);
        for listener in listeners.get(&event.wd()).into_iter().flatten() {
            let is_meant = match (&listener.name, name) {
                (Some(own), Some(name)) => own.as_bytes() == name,
                (own, _) => own.is_none(),
            };
            let is_there_alone = event.events().contains(ReadFlags::CREATE);
            if is_meant && !event.events().contains(ReadFlags::IGNORED) {
                let sign = [listener.sign, Sign::Output][usize::from(is_there_alone)];
                listener.heard.note(sign);
            }
        }
        if event.events().contains(ReadFlags::IGNORED) {
            for listener in listeners.remove(&event.wd()).unwrap_or_default() {
                listener.heard.watched.lock().remove(&event.wd());
            }
        }
    }
}
