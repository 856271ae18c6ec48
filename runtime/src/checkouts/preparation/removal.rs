//! Removes what programs have left, whatever they made of it: links themselves and never what they lead to, folders that
//! nobody may write to, folders deeper than files can be held open.

use super::folder::{Folder, kind};
use rustix::fs::{AtFlags, FileType, Mode, chmodat, renameat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use tm_worktrees::PathPatterns;

/// What is deeper is moved up first.
const DEEPEST: u32 = 64;

/// Removes what is at these places in a folder; what `caches` covers stays, with the folders on the way to it.
pub(super) fn remove(folder: &Folder, places: &[PathBuf], caches: &PathPatterns) -> io::Result<()> {
    let mut removal = Removal {
        top: folder,
        caches,
        moved_up: Vec::new(),
        number: 0,
    };
    for place in places {
        if let Some((parent, name)) = folder.parent_of(place)? {
            removal.remove(&parent, name, place, 0)?;
        }
    }
    while let Some(name) = removal.moved_up.pop() {
        removal.remove(folder, &name, Path::new(&name), 0)?;
    }
    Ok(())
}

struct Removal<'a> {
    top: &'a Folder,
    caches: &'a PathPatterns,
    moved_up: Vec<OsString>,
    number: u32,
}

impl Removal<'_> {
    fn remove(&mut self, parent: &Folder, name: &OsStr, path: &Path, depth: u32) -> io::Result<()> {
        let Some(stat) = parent.stat(name)?.filter(|_| !self.caches.covers(path)) else {
            return Ok(());
        };
        if kind(&stat) != FileType::Directory {
            return Ok(unlinkat(parent, name, AtFlags::empty())?);
        }
        if !Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU) {
            // It is a folder and not a link: the system was asked right before, and nothing else runs here.
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
        }
        if depth >= DEEPEST {
            return self.move_up(parent, name);
        }
        let folder = parent.child(name)?;
        for name in folder.names()? {
            self.remove(&folder, &name, &path.join(&name), depth + 1)?;
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            // A cache is in it.
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn move_up(&mut self, parent: &Folder, name: &OsStr) -> io::Result<()> {
        loop {
            self.number += 1;
            let new = OsString::from(format!(".tm-removed-{}", self.number));
            if self.top.stat(&new)?.is_none() {
                renameat(parent, name, self.top, &new)?;
                self.moved_up.push(new);
                return Ok(());
            }
        }
    }
}
