//! The part of a view that is laid within. After each of its mounts bubblewrap reads the list of all of them, which takes
//! longer than all else that it does.
//!
//! It has put into its place what may be changed, with whatever lies within, and made everything else read-only. So what is
//! to be seen below something hidden is there before anything is hidden, and is as it is to be: it is opened, and put back over
//! what hides it.

use super::bwrap::{DEVICES, SHARED_MEMORY, TERMINAL};
use super::layers::{LIMITED, Mounts, keep};
use super::sockets::NOTHING;
use crate::Confinement;
use crate::view::{Access, View, is_private};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{mount, mount_bind, mount_bind_recursive};
use std::env::set_current_dir;
use std::fs::{File, create_dir_all, metadata};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// So many rules are laid at most: what each of them is for is open until all are.
const MOST_RULES: usize = 256;

/// Tells whether the rest of a view can be laid within: nothing is put over the root of a process that has begun, and of
/// everybody's devices nothing is there any more but what they share in memory.
pub(super) fn can_lay(view: &View) -> bool {
    let shares = view.names(Path::new(SHARED_MEMORY));
    let is_there = |path: &Path| {
        if path.starts_with(SHARED_MEMORY) {
            shares
        } else {
            !path.starts_with(DEVICES)
        }
    };
    view.of(Path::new("/")) != Access::Hidden
        && view.differing().count() <= MOST_RULES
        && view.differing().all(|(path, _)| is_there(path))
}

/// Lays what bubblewrap has left, and goes to where the program begins.
///
/// # Errors
/// Something could not be laid.
pub(super) fn lay(confinement: &Confinement, mounts: &mut Mounts) -> io::Result<()> {
    // Before anything is opened, since what was opened in another namespace can't be mounted in this one.
    mounts.mount(|| Ok(mount_bind(NOTHING, TERMINAL)?))??;
    keep(Path::new(TERMINAL))?;
    let nothing = opened(Path::new(NOTHING))?;
    let view = &confinement.view;
    let own = confinement.own_folder.join("tmp");
    let parts: Vec<Part<'_>> = view
        .differing()
        .filter_map(|(path, access)| {
            let part = Part::of(path, access, (view, &own)).transpose()?;
            Some(part.map_err(|error| named(path, &error)))
        })
        .collect::<io::Result<_>>()?;
    for part in &parts {
        part.lay(&nothing)
            .map_err(|error| named(part.path, &error))?;
    }
    // Places for what lies below were made in them.
    let is_emptied = |part: &&Part<'_>| matches!(part.what, What::Emptied);
    for part in parts.iter().filter(is_emptied) {
        keep(part.path).map_err(|error| named(part.path, &error))?;
    }
    drop(parts);
    // Where this process stood is covered, and leads up to what is hidden.
    set_current_dir(&confinement.working_folder).or_else(|_| set_current_dir("/"))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    let words = format!("{} can't be laid: {error}", path.display());
    io::Error::new(error.kind(), words)
}

/// What lies at a path.
struct Part<'a> {
    path: &'a Path,
    /// Whether a place has to be made for it.
    is_covered: bool,
    what: What,
}

enum What {
    /// Something that was opened, with all that is mounted below.
    Opened(OwnedFd),
    /// An empty folder.
    Emptied,
    /// What is no folder and can't be read.
    Nothing,
}

impl<'a> Part<'a> {
    /// Returns what has to be laid for a rule, if anything; `own` is where the program has what is private.
    fn of(path: &'a Path, access: Access, (view, own): (&View, &Path)) -> io::Result<Option<Self>> {
        if view.is_below_written(path) {
            return Ok(None);
        }
        let is_covered = view.is_covered(path);
        let what = match access {
            _ if is_private(path) => What::Opened(opened(own)?),
            Access::Hidden if path.is_dir() => What::Emptied,
            Access::Hidden => What::Nothing,
            _ if !is_covered => return Ok(None),
            Access::Read | Access::Layered | Access::Write => match opened(path) {
                // As if it had not been there when the rules were made.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => What::Opened(opened?),
            },
        };
        Ok(Some(Self {
            path,
            is_covered,
            what,
        }))
    }

    fn lay(&self, nothing: &OwnedFd) -> io::Result<()> {
        let Self { path, what, .. } = self;
        if self.is_covered {
            self.make_place()?;
        }
        match what {
            What::Opened(opened) => mount_bind_recursive(within(opened), *path)?,
            What::Emptied => mount("tmpfs", *path, "tmpfs", LIMITED, c"mode=0755")?,
            What::Nothing => {
                mount_bind(within(nothing), *path)?;
                keep(path)?;
            }
        }
        Ok(())
    }

    fn make_place(&self) -> io::Result<()> {
        let is_folder = match &self.what {
            What::Opened(opened) => metadata(within(opened))?.is_dir(),
            What::Emptied => true,
            What::Nothing => false,
        };
        if is_folder {
            return create_dir_all(self.path);
        }
        self.path.parent().map_or(Ok(()), create_dir_all)?;
        match File::create_new(self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop),
        }
    }
}

fn opened(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// The path of what this process has open, wherever that lies by now.
fn within(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}
