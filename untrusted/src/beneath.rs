//! Opens what lies beneath a folder that is trusted, by a path on which no part is a link.
//!
//! A link in the place of a parent leads away as well as one in the place of the file. Linux resolves the whole path in
//! one call that refuses links; elsewhere, and on a kernel without it, one folder is opened after the other.

use crate::open::{CAREFULLY, invalid, regular, trouble, whole};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens a file for reading that lies beneath a folder; the folder's own path may have links, the rest may not.
///
/// # Errors
/// It is not there, it can't be read, it is no regular file, or the way leads through a link or out of the folder.
pub fn open_beneath(root: &Path, relative: &Path) -> io::Result<File> {
    regular(resolve(&open_folder(root)?, &parts(relative)?)?.into())
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::open(path, FOLDER, Mode::empty()).map_err(trouble)
}

/// Reads a file that lies beneath a folder; a longer one than `limit` bytes is an error.
///
/// # Errors
/// As [`open_beneath`], or it is too long.
pub fn read_beneath(root: &Path, relative: &Path, limit: u64) -> io::Result<Vec<u8>> {
    whole(open_beneath(root, relative)?, limit)
}

/// Reads a file of a tree that others can write: links may lead within the tree, as those of a repository do, but not
/// out of it. A longer file than `limit` bytes is an error.
///
/// # Errors
/// As [`read_beneath`].
pub fn read_within(root: &Path, relative: &Path, limit: u64) -> io::Result<Vec<u8>> {
    parts(relative)?;
    whole(open_within(root, relative)?, limit)
}

fn open_within(root: &Path, relative: &Path) -> io::Result<File> {
    match resolved(&open_folder(root)?, relative, Links::Within) {
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_where_it_leads(root, relative),
        Err(Errno::XDEV) => Err(out_of_the_folder()),
        opened => regular(opened.map_err(trouble)?.into()),
    }
}

/// Looks where the links lead, then opens that without following any.
fn open_where_it_leads(root: &Path, relative: &Path) -> io::Result<File> {
    let root = root.canonicalize()?;
    let place = root.join(relative).canonicalize()?;
    let inside = place.strip_prefix(&root).map_err(|_| out_of_the_folder())?;
    open_beneath(&root, inside)
}

fn out_of_the_folder() -> io::Error {
    invalid("its path leads out of the folder")
}

/// The names on the way, none of which leads upwards.
fn parts(relative: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |part| match part {
        Component::Normal(name) => Some(Ok(name)),
        Component::CurDir => None,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            Some(Err(out_of_the_folder()))
        }
    };
    relative.components().filter_map(name).collect()
}

fn resolve(root: &OwnedFd, parts: &[&OsStr]) -> io::Result<OwnedFd> {
    let path: PathBuf = parts.iter().collect();
    match resolved(root, &path, Links::Nowhere) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => step_by_step(root, parts),
        opened => opened.map_err(trouble),
    }
}

/// Where links on the way may lead.
#[derive(Clone, Copy)]
enum Links {
    Nowhere,
    Within,
}

#[cfg(target_os = "linux")]
fn resolved(folder: &OwnedFd, path: &Path, links: Links) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let how = match links {
        Links::Nowhere => beneath | ResolveFlags::NO_SYMLINKS,
        Links::Within => beneath,
    };
    openat2(folder, path, OFlags::RDONLY | CAREFULLY, Mode::empty(), how)
}

#[cfg(not(target_os = "linux"))]
fn resolved(_: &OwnedFd, _: &Path, _: Links) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn step_by_step(root: &OwnedFd, parts: &[&OsStr]) -> io::Result<OwnedFd> {
    let Some((file, folders)) = parts.split_last() else {
        return Err(io::Error::new(
            ErrorKind::IsADirectory,
            "it is a folder, not a file",
        ));
    };
    let mut folder = root.as_fd().try_clone_to_owned()?;
    for name in folders {
        folder =
            openat(&folder, *name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(|errno| {
                match errno {
                    // A link that is to be a folder is none.
                    Errno::NOTDIR => invalid("its path leads through what is no folder"),
                    other => trouble(other),
                }
            })?;
    }
    openat(
        &folder,
        *file,
        OFlags::RDONLY | OFlags::NOFOLLOW | CAREFULLY,
        Mode::empty(),
    )
    .map_err(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_read_beneath_a_folder_and_no_link_leads_anywhere() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("a/b")).expect("folders");
        std::fs::create_dir(place.path().join("home")).expect("a folder");
        for path in ["root/a/b/file", "home/file"] {
            File::create(place.path().join(path))
                .and_then(|mut file| file.write_all(b"text"))
                .expect("a file");
        }
        symlink("../home", root.join("away")).expect("a link");
        symlink("a", root.join("within")).expect("a link");
        symlink("../../../home/file", root.join("a/b/link")).expect("a link");
        symlink("root", place.path().join("linked-root")).expect("a link");
        for root in [root.clone(), place.path().join("linked-root")] {
            let folder = rustix::fs::open(&root, FOLDER, Mode::empty()).expect("a folder");
            let by_steps = |path: &str| {
                parts(path.as_ref())
                    .and_then(|parts| regular(step_by_step(&folder, &parts)?.into()))
            };
            assert_eq!(
                read_beneath(&root, "a/./b/file".as_ref(), 4).expect("read"),
                b"text"
            );
            assert!(by_steps("a/b/file").is_ok());
            for bad in [
                "away/file",
                "within/b/file",
                "a/b/link",
                "../home/file",
                "/etc/passwd",
                "a/b",
                "",
                "none",
            ] {
                assert!(read_beneath(&root, bad.as_ref(), 4).is_err(), "{bad}");
                assert!(by_steps(bad).is_err(), "{bad}");
            }
            assert!(read_beneath(&root, "a/b/file".as_ref(), 3).is_err());
            let where_it_leads = |path: &str| open_where_it_leads(&root, path.as_ref());
            assert_eq!(
                read_within(&root, "within/b/file".as_ref(), 4).expect("read"),
                b"text"
            );
            assert!(where_it_leads("within/b/file").is_ok());
            for bad in [
                "away/file",
                "a/b/link",
                "../home/file",
                "/etc/passwd",
                "a/b",
                "",
                "none",
            ] {
                assert!(read_within(&root, bad.as_ref(), 4).is_err(), "{bad}");
            }
            assert!(where_it_leads("away/file").is_err() && where_it_leads("a/b/link").is_err());
        }
    }
}
