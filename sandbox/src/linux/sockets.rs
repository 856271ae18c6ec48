//! Sockets that lie where no rule speaks of: whoever listens there would work for a program.
//!
//! They are covered from within, and not by bubblewrap, which ends where what it is to mount on went a moment ago: those of
//! other people's test runs come and go all the time.

use super::layers::Mounts;
use crate::view::View;
use rustix::mount::mount_bind;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// What the kernel tells of sockets that have a name.
const NAMED: &str = "/proc/net/unix";

/// What lies over a socket: a device, in a place where devices are none.
pub(super) const NOTHING: &str = "/dev/null";

/// Returns those that a program would see.
pub(super) fn visible(view: &View) -> BTreeSet<PathBuf> {
    among(&std::fs::read(NAMED).unwrap_or_default(), view)
}

fn among(listening: &[u8], view: &View) -> BTreeSet<PathBuf> {
    let is_visible = |path: &Path| view.rule_of(path).is_none();
    let named = listening.split(|byte| *byte == b'\n').filter_map(|line| {
        let start = line.windows(2).position(|two| two == b" /")? + 1;
        let path = Path::new(OsStr::from_bytes(&line[start..]));
        // One that is gone has left its name in that list, and a name may have more lines than one.
        let real = is_visible(path)
            .then(|| path.canonicalize().ok())
            .flatten()?;
        (is_socket(&real) && is_visible(&real)).then_some(real)
    });
    named.collect()
}

fn is_socket(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_ok_and(|found| found.file_type().is_socket())
}

/// Covers sockets from within, those that are there.
///
/// # Errors
/// One is there and can't be covered, or this process could not stay who it is.
pub(super) fn cover(sockets: &[OsString], mounts: &mut Mounts) -> io::Result<()> {
    for socket in sockets.iter().map(Path::new) {
        match mounts.mount(|| Ok(mount_bind(NOTHING, socket)?))? {
            Err(error) if is_socket(socket) => {
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
    fn what_listens_where_no_rule_speaks_of_is_found_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let [open, hidden] = ["open", "hidden"].map(|name| root.join(name));
        std::fs::create_dir(&hidden).expect("made");
        let odd = root.join(OsStr::from_bytes(b"of\xff bytes"));
        let sockets = [root.join("a socket"), odd, hidden.join("socket")];
        let _listening = sockets
            .each_ref()
            .map(|path| UnixListener::bind(path).expect("bound"));
        let mut text = std::fs::read(NAMED).expect("what the kernel tells");
        let line = format!(
            "0: 00000002 00000000 00010000 0001 01 1 {}\n",
            open.display()
        );
        text.extend(line.as_bytes());
        std::fs::File::create(&open).expect("a file");
        let mut view = View::default();
        view.add(&hidden, Access::Hidden);
        let found = among(&text, &view);
        for seen in &sockets[..2] {
            assert!(found.contains(seen), "{seen:?} {found:?}");
        }
        assert!(!found.contains(&sockets[2]) && !found.contains(&open));
        view.add(&root, Access::Write);
        assert!(!among(&text, &view).contains(&sockets[0]));
    }

    #[test]
    fn what_went_before_it_was_covered_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = ["gone", "no/folder"].map(|name| folder.path().join(name).into());
        cover(&gone, &mut Mounts::default()).expect("nothing to cover");
    }
}
