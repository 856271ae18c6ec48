//! Sockets that lie where no rule speaks of: whoever listens there would work for a program.

use super::layers::Mounts;
use crate::view::View;
use rustix::mount::mount_bind;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the kernel tells of sockets that have a name.
const NAMED: &str = "/proc/net/unix";

/// What lies over a socket: a device, in a place where devices are none.
pub(super) const NOTHING: &str = "/dev/null";

/// A socket that has been there for so long is not about to go. Those of other people's test runs come and go all the
/// time, and bubblewrap ends where what it is to cover went a moment ago.
const SETTLED: Duration = Duration::from_mins(1);

/// Those that a program would see.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// Those that bubblewrap covers.
    pub(super) settled: BTreeSet<PathBuf>,
    /// Those that are covered from within, where they still are.
    pub(super) young: BTreeSet<PathBuf>,
}

impl Sockets {
    /// Finds them.
    pub(super) fn visible(view: &View) -> Self {
        Self::among(&std::fs::read(NAMED).unwrap_or_default(), view)
    }

    fn among(listening: &[u8], view: &View) -> Self {
        let mut sockets = Self::default();
        let is_visible = |path: &Path| view.rule_of(path).is_none();
        for line in listening.split(|byte| *byte == b'\n') {
            let Some(start) = line.windows(2).position(|two| two == b" /") else {
                continue;
            };
            let path = Path::new(OsStr::from_bytes(&line[start + 1..]));
            if !is_visible(path) {
                continue;
            }
            // One that is gone has left its name in that list, and a name may have more lines than one.
            let Ok(real) = path.canonicalize() else {
                continue;
            };
            let Some(found) = socket_at(&real).filter(|_| is_visible(&real)) else {
                continue;
            };
            // By a clock that was set back it is of the future.
            let age = found.modified().ok().and_then(|made| made.elapsed().ok());
            // What a process is told on its command line is text.
            let is_settled = age.is_some_and(|age| age >= SETTLED) || real.to_str().is_none();
            let of_its_age = if is_settled {
                &mut sockets.settled
            } else {
                &mut sockets.young
            };
            of_its_age.insert(real);
        }
        sockets
    }
}

/// Returns what the system says of a socket; `None` where none is.
fn socket_at(path: &Path) -> Option<Metadata> {
    let found = path.symlink_metadata().ok()?;
    found.file_type().is_socket().then_some(found)
}

/// Covers sockets from within, those that are there.
///
/// # Errors
/// One is there and can't be covered, or this process could not stay who it is.
pub(super) fn cover(sockets: &BTreeSet<PathBuf>, mounts: &mut Mounts) -> io::Result<()> {
    for socket in sockets {
        match mounts.mount(|| Ok(mount_bind(NOTHING, socket)?))? {
            Err(error) if socket_at(socket).is_some() => {
                let words = format!("{} can't be covered: {error}", socket.display());
                return Err(io::Error::new(error.kind(), words));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Access;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_listens_where_no_rule_speaks_of_is_found_by_its_name_and_its_age() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let [open, hidden] = ["open", "hidden"].map(|name| root.join(name));
        std::fs::create_dir(&hidden).expect("made");
        let odd = root.join(OsStr::from_bytes(b"of\xff bytes"));
        let names = ["a socket", "old", "of the future", "hidden/socket"];
        let [young, old, of_future, unseen] = names.map(|name| root.join(name));
        let all = [&young, &old, &of_future, &unseen, &odd];
        let _listening = all.map(|path| UnixListener::bind(path).expect("bound"));
        let now = std::time::UNIX_EPOCH.elapsed().expect("after it");
        let set = |path: &Path, time: Duration| {
            let time = rustix::fs::Timespec::try_from(time).expect("a time");
            let times = rustix::fs::Timestamps {
                last_access: time,
                last_modification: time,
            };
            let flags = rustix::fs::AtFlags::empty();
            rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).expect("set");
        };
        set(&old, Duration::ZERO);
        set(&of_future, now + SETTLED * 2);
        let mut text = std::fs::read(NAMED).expect("what the kernel tells");
        let line = format!(
            "0: 00000002 00000000 00010000 0001 01 1 {}\n",
            open.display()
        );
        text.extend(line.as_bytes());
        std::fs::File::create(&open).expect("a file");
        let mut view = View::default();
        view.add(&hidden, Access::Hidden);
        let found = Sockets::among(&text, &view);
        for (path, of_its_age) in [
            (&young, &found.young),
            (&of_future, &found.young),
            (&old, &found.settled),
            (&odd, &found.settled),
        ] {
            assert!(of_its_age.contains(path), "{path:?} {found:?}");
        }
        for path in [&unseen, &open] {
            assert!(!found.young.contains(path) && !found.settled.contains(path));
        }
        view.add(&root, Access::Write);
        assert!(!Sockets::among(&text, &view).young.contains(&young));
    }

    #[test]
    fn what_went_before_it_was_covered_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = BTreeSet::from([folder.path().join("gone"), folder.path().join("no/folder")]);
        cover(&gone, &mut Mounts::default()).expect("nothing to cover");
    }
}
