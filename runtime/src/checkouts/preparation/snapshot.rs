//! What the user's checkout has that git ignores and worktrees need, copied once when the run begins.
//!
//! Worktrees get their copies from here, so that nothing that an agent does to the checkout later reaches a judge. The
//! copies are looked at each time before they are used, also by the process that takes the run up.

use super::copying::{self, Copying, Moved};
use super::folder::{Folder, remove};
use super::manifest::Manifest;
use super::{Error, PreparationBasis, Role};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tm_worktrees::PathPatterns;

/// The file in a checkout's root that names what is copied, as `.gitignore` is written.
const INCLUDE_FILE: &str = ".worktreeinclude";
/// More of it is not read.
const INCLUDE_BYTES: u64 = 1024 * 1024;

/// The copies.
#[derive(Debug)]
pub(super) struct Snapshot {
    checkout: PathBuf,
    /// Where they are, at the places that they have in the checkout.
    files: PathBuf,
    record: Record,
    manifest: Manifest,
}

/// What is written down about them.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    version: u32,
    /// What each worktree gets a copy of.
    copied: Vec<OsString>,
    /// What the worktrees of agents get a link to.
    linked: Vec<OsString>,
    /// The digest of the manifest.
    digest: String,
}

impl Snapshot {
    /// Takes up the copies in the folder of the run, or makes them there.
    pub(super) fn begin(basis: &PreparationBasis) -> Result<Self, Error> {
        let (files, written) = (basis.folder.join("files"), basis.folder.join("record.json"));
        let (record, manifest) = if written.exists() {
            taken_up(&files, &written)?
        } else {
            copied_out(basis, &files, &written)?
        };
        Ok(Self {
            checkout: basis.repository.checkout_root().to_owned(),
            files,
            record,
            manifest,
        })
    }

    /// Returns a text that other copies do not have.
    pub(super) fn digest(&self) -> &str {
        &self.record.digest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// Puts copies, or links where the role has them, into a checkout; what the tree itself has there stays.
    pub(super) fn put_into(&self, folder: &Path, role: Role) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        self.assert_untouched()?;
        let (from, to) = (open(&self.files)?, open(folder)?);
        let moved = Moved::new(&self.checkout, folder);
        let copying = Copying {
            left_out: &[],
            named: folder,
            moved: Some(&moved),
        };
        let links = paths(&self.record.linked);
        let copies =
            paths(&self.record.copied).chain(links.clone().filter(|_| role == Role::Judge));
        for place in copies {
            copying.copy(&from, &to, place)?;
        }
        for place in links.filter(|_| role == Role::Agent) {
            self.link(&to, place)
                .map_err(Error::file("link", &folder.join(place)))?;
        }
        Ok(())
    }

    fn link(&self, to: &Folder, place: &Path) -> std::io::Result<()> {
        match to.make_parent_of(place)? {
            Some((parent, name)) => copying::link(&parent, name, &self.checkout.join(place)),
            None => Ok(()),
        }
    }

    fn assert_untouched(&self) -> Result<(), Error> {
        let folder = open(&self.files)?;
        let differences = self.manifest.differences(&folder, &PathPatterns::default());
        let differences = differences.map_err(Error::file("read", &self.files))?;
        let mut changed = differences.changed.into_iter().chain(differences.added);
        match changed.next() {
            Some(changed) => Err(Error::CopiesChanged {
                folder: self.files.clone(),
                changed,
            }),
            None => Ok(()),
        }
    }
}

impl PreparationBasis {
    /// Finds what is to be copied and what is to be linked, nothing twice.
    fn places(&self) -> Result<Record, Error> {
        let included = include_file(self.repository.checkout_root())?;
        let own = self.own_places();
        let is_own = |path: &PathBuf| own.iter().any(|own| path.starts_with(own));
        let find = |patterns: &[String]| -> Result<Vec<PathBuf>, Error> {
            let mut found = self.repository.ignored_paths(patterns)?;
            found.retain(|path| !is_own(path));
            Ok(found)
        };
        let linked = find(&self.settings.link)?;
        let mut copied = find(&self.settings.copy)?;
        copied.extend(find(&included)?);
        copied.sort();
        copied.dedup();
        copied.retain(|path| !linked.iter().any(|linked| path.starts_with(linked)));
        let names = |paths: Vec<PathBuf>| paths.into_iter().map(PathBuf::into_os_string).collect();
        Ok(Record {
            version: 1,
            copied: names(copied),
            linked: names(linked),
            digest: String::new(),
        })
    }

    /// tm's own folders that lie in the checkout, from its root.
    fn own_places(&self) -> Vec<PathBuf> {
        let root = self.repository.checkout_root();
        let inside = self.own_folders.iter().filter_map(|folder| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            folder.strip_prefix(root).map(Path::to_owned).ok()
        });
        inside.chain([PathBuf::from(".taskmaster")]).collect()
    }
}

impl Record {
    fn is_empty(&self) -> bool {
        self.copied.is_empty() && self.linked.is_empty()
    }

    fn places(&self) -> impl Iterator<Item = &Path> {
        paths(&self.copied).chain(paths(&self.linked))
    }
}

/// The copies of this run that were made before.
fn taken_up(files: &Path, written: &Path) -> Result<(Record, Manifest), Error> {
    let record: Record = tm_store::run::read_json(written)?;
    let manifest = manifest_of(files, &record)?;
    if manifest.digest() == record.digest {
        return Ok((record, manifest));
    }
    Err(Error::CopiesChanged {
        folder: files.to_owned(),
        changed: files.to_owned(),
    })
}

/// Makes the copies, where there is anything to copy.
fn copied_out(
    basis: &PreparationBasis,
    files: &Path,
    written: &Path,
) -> Result<(Record, Manifest), Error> {
    let mut record = basis.places()?;
    if record.is_empty() {
        return Ok((record, Manifest::default()));
    }
    copy_out(basis, &record, files)?;
    let manifest = manifest_of(files, &record)?;
    std::thread::sleep(manifest.unsettled(SystemTime::now()));
    record.digest = manifest.digest();
    tm_store::run::write_json(written, &record)?;
    Ok((record, manifest))
}

/// Copies everything out of the checkout; what a process that died has left is thrown away first.
fn copy_out(basis: &PreparationBasis, record: &Record, files: &Path) -> Result<(), Error> {
    let folder = &basis.folder;
    std::fs::create_dir_all(folder).map_err(Error::file("create", folder))?;
    remove(&open(folder)?, &["files".into()], &PathPatterns::default())
        .map_err(Error::file("remove", files))?;
    std::fs::create_dir(files).map_err(Error::file("create", files))?;
    let root = basis.repository.checkout_root();
    let (from, to) = (open(root)?, open(files)?);
    let copying = Copying {
        left_out: &basis.own_places(),
        named: root,
        moved: None,
    };
    record
        .places()
        .try_for_each(|place| copying.copy(&from, &to, place))
}

fn manifest_of(files: &Path, record: &Record) -> Result<Manifest, Error> {
    if record.is_empty() {
        return Ok(Manifest::default());
    }
    let places: Vec<PathBuf> = record.places().map(Path::to_owned).collect();
    let manifest = Manifest::take(&open(files)?, &places, &PathPatterns::default(), files);
    manifest.map_err(Error::file("read", files))
}

fn open(folder: &Path) -> Result<Folder, Error> {
    Folder::open(folder).map_err(Error::file("open", folder))
}

fn paths(names: &[OsString]) -> impl Iterator<Item = &Path> + Clone {
    names.iter().map(Path::new)
}

/// The lines of the file that names what is copied; none where there is no such file, or something else in its place.
fn include_file(root: &Path) -> Result<Vec<String>, Error> {
    let path = root.join(INCLUDE_FILE);
    let metadata = path.symlink_metadata();
    if !metadata.is_ok_and(|metadata| metadata.is_file()) {
        return Ok(Vec::new());
    }
    let text = tm_untrusted::read_beginning(&path, INCLUDE_BYTES);
    let text = text.map_err(Error::file("read", &path))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().map(str::to_owned).collect())
}
