//! What was prepared in a checkout, so exactly that whoever touched any of it is seen.
//!
//! Every change of a file moves its `ctime`, which no program can set; where the file system does not notice what is written
//! through a mapping, as in memory, the files are read as well. Does not know what the files are for.

use super::copying::each_part;
use super::folder::{Folder, kind};
use itertools::Itertools as _;
use rustix::fs::{FileType, Mode, Stat, readlinkat};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tm_untrusted::MappedWrites;
use tm_worktrees::PathPatterns;

/// So long after a change the clock of a file system may still show the time of that change.
const TICK: Duration = Duration::from_millis(20);
/// The same where times are whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Prepared files and folders by their places in the checkout.
#[derive(Clone, Debug, Default)]
pub(super) struct Manifest {
    roots: BTreeMap<PathBuf, Node>,
}

/// One thing that was prepared.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Node {
    /// A file, or something that is neither folder nor link; with what is in it, where the facts do not say all.
    File(Facts, Option<Content>),
    /// A symbolic link, with where it leads.
    Link(Facts, CString),
    /// A folder. Its size and times say nothing, since what was added to it is removed again.
    Folder {
        mode: Mode,
        inode: u64,
        /// The rights that what is made in it gets of it.
        handed_down: Vec<u8>,
        children: BTreeMap<OsString, Self>,
    },
}

/// A digest of what is in a file.
type Content = [u8; 32];

/// What the system says of a file; times in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Facts {
    kind: FileType,
    mode: Mode,
    inode: u64,
    size: i64,
    modified: i128,
    changed: i128,
}

/// How a checkout differs from what was prepared.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// The first thing that is gone or is not what it was.
    pub(super) changed: Option<PathBuf>,
    /// What is new within prepared folders; not complete where something changed.
    pub(super) added: Vec<PathBuf>,
}

impl Manifest {
    /// Writes down what is at these places, but for what `caches` covers. What the file system notices is tried in `beside`.
    pub(super) fn take(
        folder: &Folder,
        places: &[PathBuf],
        caches: &PathPatterns,
        beside: &Path,
    ) -> io::Result<Self> {
        let reading = Reading {
            caches,
            mapped_writes: MappedWrites::of(beside),
        };
        let mut roots = BTreeMap::new();
        for place in places {
            if let Some((parent, name)) = folder.parent_of(place)?
                && let Some(node) = reading.node(&parent, name, place)?
            {
                roots.insert(place.clone(), node);
            }
        }
        Ok(Self { roots })
    }

    /// Returns the places.
    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        self.roots.keys().map(PathBuf::as_path)
    }

    /// Compares with what is there now.
    pub(super) fn differences(
        &self,
        folder: &Folder,
        caches: &PathPatterns,
    ) -> io::Result<Differences> {
        let mut comparison = Comparison {
            caches,
            found: Differences::default(),
        };
        for (place, node) in &self.roots {
            match folder.parent_of(place)? {
                Some((parent, name)) => comparison.compare(node, (&parent, name), place)?,
                None => comparison.found.changed = Some(place.clone()),
            }
            if comparison.found.changed.is_some() {
                break;
            }
        }
        Ok(comparison.found)
    }

    /// Returns how long to wait until a change of any of the files is sure to get another time than it has now.
    pub(super) fn unsettled(&self, now: SystemTime) -> Duration {
        let Some(newest) = self.roots.values().filter_map(Node::newest).max() else {
            return Duration::ZERO;
        };
        let tick = if newest % 1_000_000_000 == 0 {
            COARSE_TICK
        } else {
            TICK
        };
        let since_1970 = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let age = i128::try_from(since_1970.as_nanos()).unwrap_or(i128::MAX) - newest;
        let age = Duration::from_nanos(u64::try_from(age.max(0)).unwrap_or(u64::MAX));
        tick.saturating_sub(age)
    }

    /// Returns a text that another manifest has only when all in it is the same.
    pub(super) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (place, node) in &self.roots {
            node.feed(&mut digest, place.as_os_str());
        }
        hexadecimal(&digest.finalize())
    }
}

/// How what is there is written down.
struct Reading<'a> {
    caches: &'a PathPatterns,
    mapped_writes: MappedWrites,
}

impl Reading<'_> {
    fn node(&self, parent: &Folder, name: &OsStr, path: &Path) -> io::Result<Option<Node>> {
        if self.caches.covers(path) {
            return Ok(None);
        }
        parent.open_up(name, Mode::RUSR | Mode::XUSR)?;
        let Some(stat) = parent.stat(name)? else {
            return Ok(None);
        };
        Ok(Some(match kind(&stat) {
            FileType::Directory => self.folder(&parent.child(name)?, &stat, path)?,
            FileType::Symlink => {
                Node::Link(Facts::of(&stat), readlinkat(parent, name, Vec::new())?)
            }
            FileType::RegularFile if self.mapped_writes == MappedWrites::Unnoticed => {
                Node::File(Facts::of(&stat), content(parent, name))
            }
            _ => Node::File(Facts::of(&stat), None),
        }))
    }

    fn folder(&self, folder: &Folder, stat: &Stat, path: &Path) -> io::Result<Node> {
        let mut children = BTreeMap::new();
        for name in folder.names()? {
            if let Some(node) = self.node(folder, &name, &path.join(&name))? {
                children.insert(name, node);
            }
        }
        Ok(Node::Folder {
            mode: Mode::from_raw_mode(stat.st_mode),
            inode: stat.st_ino,
            handed_down: folder.handed_down(),
            children,
        })
    }
}

/// Returns a digest of what is in a file; `None` where it can't be read, and so can't be mapped to be written either before
/// its rights, and with them its times, have changed.
fn content(parent: &Folder, name: &OsStr) -> Option<Content> {
    let (file, length) = parent.file(name).ok()??;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let take_in = |start: u64, part: &mut dyn io::Read| -> io::Result<()> {
        digest.update(start.to_le_bytes());
        loop {
            match part.read(&mut buffer)? {
                0 => return Ok(()),
                read => digest.update(&buffer[..read]),
            }
        }
    };
    each_part(&file, length, take_in).ok()?;
    Some(digest.finalize().into())
}

impl Node {
    fn newest(&self) -> Option<i128> {
        match self {
            Self::File(facts, _) | Self::Link(facts, _) => Some(facts.changed),
            Self::Folder { children, .. } => children.values().filter_map(Self::newest).max(),
        }
    }

    fn feed(&self, digest: &mut Sha256, name: &OsStr) {
        digest.update(name.as_bytes());
        digest.update(b"\0");
        match self {
            Self::File(facts, content) => {
                digest.update(facts.to_text());
                digest.update(content.as_ref().map_or(&[][..], |content| content));
            }
            Self::Link(facts, target) => {
                digest.update(facts.to_text());
                digest.update(target.to_bytes_with_nul());
            }
            Self::Folder {
                mode,
                inode,
                handed_down,
                children,
            } => {
                digest.update(format!(
                    "folder {} {inode} {}\n",
                    mode.as_raw_mode(),
                    children.len()
                ));
                digest.update(handed_down);
                for (name, node) in children {
                    node.feed(digest, name);
                }
            }
        }
    }
}

/// Returns the text of a digest.
pub(super) fn hexadecimal(digest: &[u8]) -> String {
    format!("{:02x}", digest.iter().format(""))
}

/// A look at what is there now, against what was prepared.
struct Comparison<'a> {
    caches: &'a PathPatterns,
    found: Differences,
}

impl Comparison<'_> {
    fn compare(
        &mut self,
        node: &Node,
        (parent, name): (&Folder, &OsStr),
        path: &Path,
    ) -> io::Result<()> {
        let stat = parent.stat(name)?;
        let is_same = match (node, &stat) {
            (_, None) => false,
            (Node::File(facts, was), Some(stat)) => {
                *facts == Facts::of(stat) && (was.is_none() || *was == content(parent, name))
            }
            (Node::Link(facts, target), Some(stat)) => {
                *facts == Facts::of(stat) && *target == readlinkat(parent, name, Vec::new())?
            }
            (Node::Folder { mode, inode, .. }, Some(stat)) => {
                kind(stat) == FileType::Directory
                    && (*mode, *inode) == (Mode::from_raw_mode(stat.st_mode), stat.st_ino)
            }
        };
        if !is_same {
            self.found.changed = Some(path.to_owned());
        } else if let Node::Folder {
            handed_down,
            children,
            ..
        } = node
        {
            let folder = parent.child(name)?;
            if folder.handed_down() != *handed_down {
                self.found.changed = Some(path.to_owned());
                return Ok(());
            }
            self.compare_children(children, &folder, path)?;
        }
        Ok(())
    }

    fn compare_children(
        &mut self,
        children: &BTreeMap<OsString, Node>,
        folder: &Folder,
        path: &Path,
    ) -> io::Result<()> {
        let names = folder.names()?.into_iter();
        let added = names.filter(|name| !children.contains_key(name));
        let added = added.map(|name| path.join(name));
        let added = added.filter(|path| !self.caches.covers(path));
        self.found.added.extend(added);
        for (name, node) in children {
            if self.found.changed.is_some() {
                break;
            }
            self.compare(node, (folder, name), &path.join(name))?;
        }
        Ok(())
    }
}

impl Facts {
    fn of(stat: &Stat) -> Self {
        let time =
            |seconds: i64, nanoseconds: i128| i128::from(seconds) * 1_000_000_000 + nanoseconds;
        Self {
            kind: kind(stat),
            mode: Mode::from_raw_mode(stat.st_mode),
            inode: stat.st_ino,
            size: stat.st_size,
            modified: time(stat.st_mtime, i128::from(stat.st_mtime_nsec)),
            changed: time(stat.st_ctime, i128::from(stat.st_ctime_nsec)),
        }
    }

    fn to_text(self) -> String {
        format!(
            "{} {} {} {} {} {}\n",
            self.kind.as_raw_mode(),
            self.mode.as_raw_mode(),
            self.inode,
            self.size,
            self.modified,
            self.changed
        )
    }
}
