//! What a file was when it was written, and whether it is that still.
//!
//! The time at which anything of a file was changed is the kernel's, and no program can set it. Where the kernel does not
//! notice what is written through a mapping, in memory above all, the file is read as well. Nobody else of tm compares a
//! stamp with a file, and git, which would believe its own, is made to read all of them (`reading_every_file`).

use crate::index_entry::{Entry, number};
use crate::library::LINK;
use crate::{OrFailedTo as _, Result};
use git2::{ObjectType, Oid};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tm_untrusted::MappedWrites;

/// The bit by which git tells files that can be run.
const BY_OWNER: i32 = 0o100;
/// Longer files are not read here.
const LONGEST_READ: u64 = 32 * 1024 * 1024;
/// An index that is as old as this is older than all files that it names: git reads each, for it may have been written since.
const OLDER_THAN_ALL: Duration = Duration::from_secs(1);

/// What an index says of a file or a link, for certain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct AsWritten {
    stamp: Stamp,
    id: Oid,
    times: Times,
}

/// What the times of a file say of its content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Times {
    /// Whether it was written.
    Tell,
    /// That too as long as it has no other name, by which it may have been opened.
    TellOfOneName,
    /// Nothing.
    SayNothing,
}

/// What is found in the place of a file that was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// What was written.
    Same,
    /// A file with the stamp of that one, and other bytes than its object: written by rules, or through a mapping since.
    OtherContent,
    /// Something else.
    Other,
}

/// What nobody changes in a file and leaves as it was, but through a mapping.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    changed: (i32, u32),
    modified: (i32, u32),
    inode: u32,
    size: u32,
    is_link: bool,
    is_executable: bool,
}

impl AsWritten {
    /// Returns what an entry says that was written before its index was; `None` where nobody can tell.
    pub(crate) fn of(entry: &Entry<'_>, mapped_writes: MappedWrites) -> Option<Self> {
        Some(Self {
            stamp: Stamp::of_entry(entry),
            id: entry.id()?,
            times: match mapped_writes {
                MappedWrites::Stamped => Times::Tell,
                MappedWrites::Unnoticed => Times::SayNothing,
            },
        })
    }

    /// Returns the object that was written.
    pub(crate) const fn id(&self) -> Oid {
        self.id
    }

    /// Has its times tell all of it: nobody has opened it by its name since it was compared.
    pub(crate) const fn is_known_by_its_times(&mut self) {
        self.times = Times::TellOfOneName;
    }

    /// Tells whether its times may say nothing.
    #[cfg(test)]
    pub(crate) fn is_to_be_read(&self) -> bool {
        self.times == Times::SayNothing
    }

    /// Tells whether a file, of which the system says this, is what was written.
    pub(crate) fn is_at(&self, path: &Path, says: &Metadata) -> bool {
        self.found_at(path, says) == Found::Same
    }

    /// Tells what a file is, of which the system says this.
    pub(crate) fn found_at(&self, path: &Path, says: &Metadata) -> Found {
        if self.stamp != Stamp::of_file(says) {
            return Found::Other;
        }
        let is_told = match self.times {
            Times::Tell => true,
            Times::TellOfOneName => says.nlink() == 1,
            Times::SayNothing => false,
        };
        if is_told || self.is_content_of(path) {
            Found::Same
        } else {
            Found::OtherContent
        }
    }

    fn is_content_of(&self, path: &Path) -> bool {
        let content = if self.stamp.is_link {
            std::fs::read_link(path).map(|target| target.as_os_str().as_bytes().to_owned())
        } else {
            tm_untrusted::read(path, LONGEST_READ)
        };
        let id = content.map(|content| Oid::hash_object(ObjectType::Blob, &content));
        matches!(id, Ok(Ok(id)) if id == self.id)
    }
}

impl Stamp {
    pub(crate) fn of_entry(entry: &Entry<'_>) -> Self {
        let number = |position| number(entry.fixed, position);
        let time = |position| (number(position).cast_signed(), number(position + 4));
        let is_link = entry.mode() == LINK;
        Self {
            changed: time(0),
            modified: time(8),
            inode: number(20),
            size: number(36),
            is_link,
            is_executable: !is_link && entry.mode() & BY_OWNER != 0,
        }
    }

    pub(crate) fn of_file(file: &Metadata) -> Self {
        let is_link = file.is_symlink();
        Self {
            changed: time(file.ctime(), file.ctime_nsec()),
            modified: time(file.mtime(), file.mtime_nsec()),
            inode: low(file.ino()),
            size: low(file.len()),
            is_link,
            is_executable: !is_link && file.mode().cast_signed() & BY_OWNER != 0,
        }
    }

    /// Tells whether a file was written before an index with this stamp: a later moment bears another one.
    pub(crate) fn is_before(self, index: Self) -> bool {
        self.changed < index.modified
    }
}

/// As git keeps them: the lower half.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an index has room for the lower half"
)]
const fn low(number: u64) -> u32 {
    number as u32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index has room for the lower half"
)]
const fn time(seconds: i64, nanoseconds: i64) -> (i32, u32) {
    (seconds as i32, nanoseconds as u32)
}

/// Does something in which git compares files with an index of tm's own. Where their times do not tell of what was written
/// through a mapping, git reads each of them.
pub(crate) fn reading_every_file<T>(
    index: &Path,
    mapped_writes: MappedWrites,
    compare: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if mapped_writes == MappedWrites::Stamped || !index.exists() {
        return compare();
    }
    let older = SystemTime::UNIX_EPOCH + OLDER_THAN_ALL;
    let before = replace_time(index, older).or_failed_to("look at", index)?;
    let compared = compare();
    let is_old = index.metadata().and_then(|index| index.modified());
    if is_old.is_ok_and(|time| time == older) {
        // Nothing was new, and what the index says is as certain as it was.
        replace_time(index, before).or_failed_to("look at", index)?;
    }
    compared
}

/// Has a file look written now.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Sets the time of a file, and returns the one before.
fn replace_time(path: &Path, time: SystemTime) -> io::Result<SystemTime> {
    let file = tm_untrusted::open_writable(path)?;
    let before = file.metadata()?.modified()?;
    file.set_modified(time)?;
    Ok(before)
}
