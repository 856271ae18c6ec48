//! What an index of tm's own says: which paths are known, and what their files were when they were written.

use crate::as_written::{AsWritten, Found, Stamp};
use crate::files::beginning;
use crate::git::{Git, entry, fields, path_of};
use crate::index_entry::{COUNT, Entry, FORM, HEADER, extensions, number};
use crate::library::{FOLDER, NESTED};
use crate::names::name_of;
use crate::{OrFailedTo as _, Result};
use foldhash::fast::RandomState;
use git2::Oid;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_untrusted::MappedWrites;

/// An index is no longer than this.
pub(crate) const INDEX_BYTES: usize = 256 * 1024 * 1024;
/// How an index begins, and the forms of those whose entries hold whole paths.
const MARK: &[u8] = b"DIRC";
const FORMS: [u32; 2] = [2, 3];
/// A file system keeps times by ticks of so many milliseconds at the most, where it is worth the wait.
const LONGEST_TICK: u64 = 20;

/// What an index knows of one folder, by name.
pub(crate) type KnownFolder = HashMap<Box<OsStr>, Indexed, RandomState>;

/// The paths that an index knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Every folder in which something is, however deep.
    pub(crate) folders: HashMap<Box<OsStr>, KnownFolder, RandomState>,
    /// The objects of the files that say how files are written, by path.
    pub(crate) attributes: BTreeMap<Vec<u8>, String>,
    /// How many of them are files or links.
    pub(crate) files: usize,
}

/// What an index says of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Indexed {
    /// A repository within.
    Repository,
    /// A file or a link, and what it was when it was written, where that is known for certain.
    File(Option<AsWritten>),
}

impl Known {
    /// Reads an index of tm's own, of files on a file system of this kind; `None` for one of a form that only git reads.
    pub(crate) fn read(index: &Path, mapped_writes: MappedWrites) -> Option<Self> {
        let mut known = Self::default();
        each_entry(index, |entry, is_certain| {
            let id = || entry.id().map(|id| id.to_string()).unwrap_or_default();
            let written = is_certain.then(|| AsWritten::of(entry, mapped_writes));
            known.add(entry.path, entry.mode(), written.flatten(), id);
        })?;
        Some(known)
    }

    /// Reads what `ls-files --stage -z` lists; nothing is certain of files then.
    pub(crate) fn list(git: Git) -> Result<Self> {
        let listing = git.bytes()?;
        let mut known = Self::default();
        for ([mode, id, _], path) in fields(&listing).filter_map(entry) {
            let mode = i32::from_str_radix(&mode, 8).unwrap_or_default();
            known.add(path, mode, None, || id);
        }
        Ok(known)
    }

    fn add(
        &mut self,
        path: &[u8],
        mode: i32,
        as_written: Option<AsWritten>,
        id: impl FnOnce() -> String,
    ) {
        if is_attributes(path) {
            self.attributes.insert(path.to_owned(), id());
        }
        let indexed = if mode == NESTED {
            Indexed::Repository
        } else {
            Indexed::File(as_written)
        };
        self.files += usize::from(indexed != Indexed::Repository);
        let at = path.iter().rposition(|&byte| byte == b'/');
        let (folder, name) = at.map_or((&[][..], path), |at| (&path[..at], &path[at + 1..]));
        let (folder, name) = (OsStr::from_bytes(folder), OsStr::from_bytes(name));
        if let Some(known) = self.folders.get_mut(folder) {
            known.insert(name.into(), indexed);
            return;
        }
        for above in Path::new(folder).ancestors().skip(1) {
            self.folders.entry(above.as_os_str().into()).or_default();
        }
        self.folders
            .entry(folder.into())
            .or_default()
            .insert(name.into(), indexed);
    }

    /// Returns the files of which it says what they were, by path.
    pub(crate) fn files_written(&self) -> impl Iterator<Item = (PathBuf, AsWritten)> {
        self.folders.iter().flat_map(|(folder, files)| {
            files.iter().filter_map(|(name, file)| match file {
                Indexed::File(Some(written)) => {
                    Some((Path::new(folder).join(Path::new(name)), *written))
                }
                Indexed::File(None) | Indexed::Repository => None,
            })
        })
    }

    /// Tells whether there are repositories within.
    pub(crate) fn has_repositories(&self) -> bool {
        let mut all = self.folders.values().flat_map(HashMap::values);
        all.any(|indexed| *indexed == Indexed::Repository)
    }

    /// Returns what is known of a folder; `None` where nothing in it is.
    pub(crate) fn folder(&self, path: &Path) -> Option<&KnownFolder> {
        self.folders.get(path.as_os_str())
    }
}

/// Whether a file says how files are written.
pub(crate) fn is_attributes(path: &[u8]) -> bool {
    path.rsplit(|&byte| byte == b'/').next() == Some(b".gitattributes")
}

/// What may follow the entries (gitformat-index): trees, resolved conflicts, what is untracked, what a monitor of files said, and
/// that there may be folders among the entries.
const KNOWN_EXTENSIONS: [&[u8]; 5] = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"sdir"];
/// An index ends with it, in bytes.
const CHECKSUM: usize = 20;

/// Gives out the entries of an index of tm's own, with whether it is certain what their files were; `None` for one of a form
/// that only git reads.
///
/// What was written in the moment in which the index was may have been written again in the same one: nothing is
/// certain of such a file.
fn each_entry(index: &Path, mut take: impl FnMut(&Entry<'_>, bool)) -> Option<()> {
    let own = Stamp::of_file(&std::fs::symlink_metadata(index).ok()?);
    let bytes = beginning(index, INDEX_BYTES).ok()?;
    let (header, mut rest) = bytes.split_at_checked(HEADER)?;
    if !header.starts_with(MARK) || !FORMS.contains(&number(header, FORM)) {
        return None;
    }
    for _ in 0..number(header, COUNT) {
        let entry = Entry::first_of(rest)?;
        let is_certain = Stamp::of_entry(&entry).is_before(own) && !entry.is_extended();
        take(&entry, is_certain);
        rest = rest.get(entry.length..)?;
    }
    has_known_extensions(rest).then_some(())
}

/// Tells whether all that follows the entries adds none and says of none where it begins: git would read other ones.
fn has_known_extensions(rest: &[u8]) -> bool {
    let is_known = |it: &&[u8]| KNOWN_EXTENSIONS.iter().any(|name| it.starts_with(name));
    let known = extensions(rest).take_while(is_known);
    rest.len() == known.map(<[u8]>::len).sum::<usize>() + CHECKSUM
}

/// Returns the objects of an index of tm's own that says nothing of its entries but which objects they are, without the
/// commits of other repositories; `None` where it says more, or is of a form that only git reads.
pub(crate) fn objects_alone(index: &Path) -> Option<Vec<Oid>> {
    let (mut objects, mut is_more) = (Vec::new(), false);
    each_entry(index, |entry, _| {
        is_more |= entry.is_extended();
        if entry.mode() != NESTED {
            objects.extend(entry.id());
        }
    })?;
    (!is_more).then_some(objects)
}

/// Returns the trees of the folders that an index has as a whole; `None` where it is of a form that only git reads.
pub(crate) fn folders(index: &Path) -> Option<Vec<String>> {
    let mut found = Vec::new();
    each_entry(index, |entry, _| {
        if entry.mode() == FOLDER {
            found.extend(entry.id().map(|id| id.to_string()));
        }
    })?;
    Some(found)
}

/// Returns where an index of tm's own has commits of other repositories; `None` where it is of a form that only git reads.
pub(crate) fn repositories(index: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    each_entry(index, |entry, _| {
        if entry.mode() == NESTED {
            found.push(path_of(entry.path));
        }
    })?;
    Some(found)
}

/// Returns the same by what `ls-files --stage -z` lists: of anybody's index, which may be of several files.
pub(crate) fn listed_repositories(git: Git) -> Result<Vec<PathBuf>> {
    let listing = git.bytes()?;
    let entries = fields(&listing).filter_map(entry);
    let within = entries.filter(|([mode, ..], _)| i32::from_str_radix(mode, 8) == Ok(NESTED));
    Ok(within.map(|(_, path)| path_of(path)).collect())
}

/// The files that are not what they were when an index was written.
#[derive(Debug, Default)]
pub(crate) struct WrittenSince {
    /// For certain.
    pub(crate) names: Vec<String>,
    /// Those that have other bytes than their objects, which git may have written so.
    pub(crate) of_other_content: Vec<(PathBuf, Oid)>,
}

/// Looks for the wanted files below `root` that are not what they were when an index of tm's own was written, as far as that
/// is certain.
pub(crate) fn written_since(
    index: &Path,
    root: &Path,
    mapped_writes: MappedWrites,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<WrittenSince> {
    let mut since = WrittenSince::default();
    each_entry(index, |entry, is_certain| {
        let name = name_of(entry.path);
        if !is_certain || entry.mode() == NESTED || !is_wanted(&name) {
            return;
        }
        let Some(written) = AsWritten::of(entry, mapped_writes) else {
            return;
        };
        let path = path_of(entry.path);
        let file = root.join(&path);
        let found = std::fs::symlink_metadata(&file);
        match found.map_or(Found::Other, |says| written.found_at(&file, &says)) {
            Found::Same => {}
            Found::Other => since.names.push(name),
            Found::OtherContent => since.of_other_content.push((path, written.id())),
        }
    })?;
    Some(since)
}

/// Waits for the file system's clock to leave the moment in which an index was written, so that whatever is written from
/// now on bears a later time than all that the index knows. Where its clock is too slow for that, nothing is certain of
/// the files that were written last.
pub(crate) fn leave_its_moment(index: &Path) -> Result<()> {
    let leave = || -> io::Result<()> {
        let written = std::fs::metadata(index)?.modified()?;
        let folder = index.parent().unwrap_or(index);
        for _ in 0..LONGEST_TICK {
            // The clock by which files are stamped is a coarser one than any that could be asked.
            let now = tempfile::tempfile_in(folder)?.metadata()?.modified()?;
            if now > written {
                return tm_untrusted::open_writable(index)?.set_modified(now);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    leave().or_failed_to("look at", index)
}
