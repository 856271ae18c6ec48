//! Sockets that lie where no rule speaks of: whoever listens there would work for a program.
//!
//! They are covered from within, and not by bubblewrap, which ends where what it is to mount on went a moment ago: those of
//! other people's test runs come and go all the time.

use super::layers::{LIMITED, Mounts, escaped};
use crate::Confinement;
use crate::view::View;
use rustix::mount::{MountFlags, mount, mount_bind};
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{create_dir_all, remove_dir};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// What the kernel tells of sockets that have a name.
const NAMED: &str = "/proc/net/unix";

/// What is mounted, with the field that says where (proc(5)).
const MOUNTS: &str = "/proc/self/mountinfo";
const POINT: usize = 4;

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

/// Covers sockets from within, those that are there: by their folder where that can be had, else one by one. A service that
/// is started again takes its socket away, with what covers it alone, and has another there.
///
/// # Errors
/// One is there and can't be covered, or this process could not stay who it is.
pub(super) fn cover(
    sockets: &[OsString],
    confinement: &Confinement,
    mounts: &mut Mounts,
) -> io::Result<()> {
    let covered = cover_folders(sockets, confinement, mounts)?;
    let is_left = |socket: &&Path| !covered.iter().any(|folder| socket.starts_with(folder));
    for socket in sockets.iter().map(Path::new).filter(is_left) {
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

/// Returns the folders of sockets that are covered as a whole. In a layer over a folder everything is to be found, and no
/// socket is one that somebody listens at, whether it is there already or comes later.
fn cover_folders<'a>(
    sockets: &'a [OsString],
    confinement: &Confinement,
    mounts: &mut Mounts,
) -> io::Result<Vec<&'a Path>> {
    let folders: BTreeSet<&Path> = (sockets.iter())
        .filter_map(|socket| Path::new(socket).parent())
        .collect();
    let empty = confinement.own_folder.join("nothing");
    if folders.is_empty() || create_dir_all(&empty).is_err() {
        return Ok(Vec::new());
    }
    let points = std::fs::read_to_string(MOUNTS)?;
    let points: Vec<&str> = (points.lines())
        .filter_map(|line| line.split(' ').nth(POINT))
        .collect();
    let mut covered: Vec<&Path> = Vec::new();
    for folder in folders {
        let is_done = covered.iter().any(|above| folder.starts_with(above));
        if is_done || !is_of_one_piece(folder, &confinement.view, &points) {
            continue;
        }
        if mounts.mount(|| lay_over(folder, &empty))?.is_ok() {
            covered.push(folder);
        }
    }
    // The layers keep it; whoever looks into the job's own folder finds what is the job's.
    let _kept = remove_dir(&empty);
    Ok(covered)
}

/// Tells whether nothing below a folder is mounted or has a rule, which would be gone from a layer over it.
fn is_of_one_piece(folder: &Path, view: &View, points: &[&str]) -> bool {
    // The list of mounts has other characters for these.
    let is_plain = |text: &str| !text.contains(|letter: char| letter == '\\' || letter <= ' ');
    let is_below = |point: &&str| Path::new(point).starts_with(folder);
    folder.to_str().is_some_and(is_plain)
        && !points.iter().any(is_below)
        && !view.rules().any(|(rule, _)| rule.starts_with(folder))
}

/// Two folders are needed where nothing is written.
fn lay_over(folder: &Path, empty: &Path) -> io::Result<()> {
    let lower = [escaped(folder), escaped(empty)].join(&b':');
    let options = CString::new([b"userxattr,lowerdir=".to_vec(), lower].concat())?;
    let flags = LIMITED | MountFlags::RDONLY;
    Ok(mount(
        "overlay",
        folder,
        "overlay",
        flags,
        options.as_c_str(),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Access;
    use crate::{Layers, Limits, Network};
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
        let confinement = Confinement {
            view: View::default(),
            working_folder: "/".into(),
            own_folder: folder.path().join("own"),
            layers: Layers::Gone,
            network: Network::On,
            limits: Limits::default(),
        };
        cover(&gone, &confinement, &mut Mounts::default()).expect("nothing to cover");
    }
}
