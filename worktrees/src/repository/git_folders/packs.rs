//! The packs in git's folders, and that their indexes are those that git makes of them.
//!
//! git believes where an index says that an object lies. A pack and what lies beside it end with a checksum: what ends as
//! before and has that checksum is as before, whatever its times say, which git sets whenever it meets an object again.

use super::believed::digest_of;
use super::checksum::{LONG_ID, LookTime, ends_with, last_words};
use super::objects::{Settled, not_looked_at, said};
use super::user_indexes::put;
use super::{TAKEN_AWAY, take_away, then};
use crate::files::{FileState, is_gone, names_in, replace, state_of};
use crate::git::GitPlace;
use crate::repository::own::NO_HEAD;
use crate::{Error, OrFailedTo as _, Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tm_scheduler::with_causes;

/// A pack, and what lies beside it that git believes: where each object is, what is where, and what leads to what.
const PARTS: [&str; 4] = [PACK, INDEX, REVERSE, "bitmap"];
const PACK: &str = "pack";
const INDEX: &str = "idx";
const REVERSE: &str = "rev";
/// What git's names begin with of packs whose files it renames one after another, the index last.
const UNFINISHED: &str = ".tmp-";
/// What is about several packs: `believed.rs` compares it, and it goes where a pack is another one.
const OF_MANY: &str = "multi-pack-index";
const OF_MANY_IN_LAYERS: &str = "multi-pack-index.d";
const LOCK: &str = ".lock";
const MOST_PACKS: usize = 5_000;
/// How a pack is called while an index is made of it.
const MADE: &str = "made.pack";
/// What indexes of the second version begin with; those of the first have nothing like it.
const BEGINNING: &[u8] = b"\xfftOc";

/// The packs of which something is there at a moment, by the path that the pack itself has.
#[derive(Clone, Debug, Default)]
pub(super) struct PackFiles(BTreeSet<PathBuf>);

impl PackFiles {
    /// Takes in a file beside packs; tells whether there was room.
    pub(super) fn note(&mut self, path: &Path) -> bool {
        let is_one = |kind: &&str| path.extension() == Some(OsStr::new(*kind));
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(OF_MANY.as_bytes()) || !PARTS.iter().any(is_one) {
            return true;
        }
        let pack = path.with_extension(PACK);
        let has_room = self.0.len() < MOST_PACKS || self.0.contains(&pack);
        if has_room {
            self.0.insert(pack);
        }
        has_room
    }
}

/// Packs as they were at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct PacksBefore {
    files: BTreeMap<PathBuf, FileBefore>,
    /// How long ids are, in bytes, where git could say it.
    id_length: Option<usize>,
}

/// What tells whether a file is as it was.
#[derive(Clone, Debug)]
struct FileBefore {
    state: Option<FileState>,
    length: u64,
    checksum: Vec<u8>,
}

impl PacksBefore {
    pub(super) fn at(found: &PackFiles, id_length: Option<usize>, settled: Settled) -> Self {
        let parts = |pack: &PathBuf| PARTS.map(|kind| pack.with_extension(kind));
        let before = |path: PathBuf| {
            let state = settled.state_of(&path);
            // A link has a state alone.
            let checksum = id_length.and_then(|length| last_words(&path, length));
            let before = FileBefore {
                state,
                length: tm_untrusted::size(&path),
                checksum: checksum.unwrap_or_default(),
            };
            (!is_gone(&path)).then_some((path, before))
        };
        Self {
            files: found.0.iter().flat_map(parts).filter_map(before).collect(),
            id_length,
        }
    }

    /// Has each pack that is new or other now, or has something beside it that is, found by the index that git makes of it;
    /// returns in words what was another one.
    pub(super) fn put_right(
        &self,
        now: &PackFiles,
        repository: &Repository,
        time: LookTime,
    ) -> Vec<String> {
        let words = now.0.iter().filter_map(|pack| {
            let put_right = self.put_pack_right(pack, repository, time);
            put_right.unwrap_or_else(|error| Some(said(pack, &not_looked_at(&error))))
        });
        words.collect()
    }

    fn put_pack_right(
        &self,
        pack: &Path,
        repository: &Repository,
        time: LookTime,
    ) -> io::Result<Option<String>> {
        let [_, index, reverse, bitmap] = PARTS.map(|kind| pack.with_extension(kind));
        let is_being_named = is_unfinished(pack);
        if is_being_named && is_gone(pack) {
            return Ok(None);
        }
        let is_pack_still = self.is_still(pack, time)?;
        if is_pack_still && self.is_still(&index, time)? {
            for path in [reverse, bitmap] {
                if !self.is_still(&path, time)? {
                    take_away_unsaid(&path);
                }
            }
            return Ok(None);
        }
        // They may be about other packs of that name.
        if !is_being_named {
            take_away_unsaid(&bitmap);
        }
        if !is_pack_still {
            take_away_those_of_many(pack);
        }
        Ok(self.put_indexes_right(pack, repository, time))
    }

    /// Tells whether a file is as before; what is gone leads nobody astray.
    fn is_still(&self, path: &Path, time: LookTime) -> io::Result<bool> {
        let Some(before) = self.files.get(path).filter(|_| !is_gone(path)) else {
            return Ok(is_gone(path));
        };
        if before.state.is_some_and(|state| state == state_of(path)) {
            return Ok(true);
        }
        if tm_untrusted::size(path) != before.length {
            return Ok(is_gone(path));
        }
        match ends_with(path, &before.checksum, time) {
            // git collects meanwhile.
            Err(_) if is_gone(path) => Ok(true),
            told => told,
        }
    }

    /// Has the index that git makes of a pack lie in the place of another one, or none where it makes none, and keeps no other
    /// reverse one than git's; returns in words what was done. git reads no pack without an index.
    fn put_indexes_right(
        &self,
        pack: &Path,
        repository: &Repository,
        time: LookTime,
    ) -> Option<String> {
        let [_, index, reverse, _] = PARTS.map(|kind| pack.with_extension(kind));
        // An index that comes meanwhile is of a git that is at work.
        let is_none = is_gone(&index);
        let made = self.made_of(pack, &index, repository, time);
        let what = match made {
            Ok(folder) => {
                let made = folder.path().join(MADE);
                if !is_alike(&reverse, &made.with_extension(REVERSE)) {
                    take_away_unsaid(&reverse);
                }
                let made = made.with_extension(INDEX);
                (!is_none)
                    .then(|| other_than_made(&index, &made))
                    .flatten()?
            }
            // git collects meanwhile.
            Err(_) if is_none || is_gone(&index) => return None,
            Err(error) if is_of_pack(&error) => {
                take_away_unsaid(&reverse);
                let (then, why) = (taken_away(&index), with_causes(&error));
                format!("git makes none of its pack, {then}: failed to {why}")
            }
            Err(error) => format!("can't be looked at: failed to {}", with_causes(&error)),
        };
        Some(said(&index, &what))
    }

    /// Returns a folder with the index that git makes of a pack. It is a git folder with nothing in it: git compares what it
    /// meets with what is there of the same name.
    fn made_of(
        &self,
        pack: &Path,
        index: &Path,
        repository: &Repository,
        time: LookTime,
    ) -> Result<TempDir> {
        let folder = repository.scratch()?;
        for name in ["objects", "refs"] {
            let path = folder.path().join(name);
            fs::create_dir(&path).or_failed_to("create", path)?;
        }
        replace(&folder.path().join("HEAD"), NO_HEAD)?;
        let link = folder.path().join(MADE);
        symlink(pack, &link).or_failed_to("link", link)?;
        let git = GitPlace::of(folder.path()).git(&repository.environment);
        let git = git.until(time.end()).in_bounded_memory();
        let git = git.setting("pack.writeReverseIndex=true");
        let git = git.arg("index-pack").arg(version_of(index));
        let id_length = self.id_length.ok_or(io::ErrorKind::Unsupported.into());
        let id_length = id_length.or_failed_to("tell how long ids are of", pack)?;
        let format = (id_length == LONG_ID).then_some("--object-format=sha256");
        git.args(format).arg(MADE).once().done()?;
        Ok(folder)
    }
}

/// Tells whether it is the pack that git refused, and no memory that was missing.
fn is_of_pack(error: &Error) -> bool {
    let is_said = |message: &str| ["memory", "killed"].iter().all(|it| !message.contains(it));
    let is_of_git = matches!(error, Error::Git { message, .. } if is_said(message));
    is_of_git && !error.is_of_surroundings()
}

fn version_of(index: &Path) -> &'static str {
    let beginning = tm_untrusted::read_beginning(index, BEGINNING.len() as u64);
    if beginning.is_ok_and(|beginning| beginning == BEGINNING) {
        "--index-version=2"
    } else {
        "--index-version=1"
    }
}

/// Puts the index that git made in the place of another one; returns in words what was done, `None` where they are alike.
fn other_than_made(index: &Path, made: &Path) -> Option<String> {
    if is_gone(index) || is_alike(index, made) {
        return None;
    }
    let then = match put_in_place(made, index) {
        Ok(()) => "made anew".to_owned(),
        // git collects meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => taken_away(index),
    };
    Some(format!("not that of its pack, {then}"))
}

fn is_alike(one: &Path, other: &Path) -> bool {
    let length = tm_untrusted::size(one);
    let digest = |path| digest_of(path, length).ok();
    tm_untrusted::size(other) == length && digest(one) == digest(other)
}

/// Tells whether a pack has the name of one that git is about to give its own, with what lies beside it.
fn is_unfinished(pack: &Path) -> bool {
    let name = pack.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(UNFINISHED.as_bytes())
}

fn put_in_place(made: &Path, index: &Path) -> io::Result<()> {
    let beside = index.parent().unwrap_or(index);
    // By such a name git removes what somebody left.
    let anew = tempfile::Builder::new()
        .prefix("tmp_idx_")
        .tempfile_in(beside)?;
    put(made, anew, index)
}

fn taken_away(path: &Path) -> String {
    let taken = take_away(path, |it| fs::remove_file(it));
    then(taken.is_ok() || is_gone(path), TAKEN_AWAY)
}

/// What git makes anew by itself.
fn take_away_unsaid(path: &Path) {
    let _nothing_there = take_away(path, |it| fs::remove_file(it));
}

/// But for what git is writing.
fn take_away_those_of_many(pack: &Path) {
    let beside = pack.parent().unwrap_or(pack);
    let is_one = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(OF_MANY.as_bytes()) && !name.ends_with(LOCK.as_bytes())
    };
    for folder in [beside.join(OF_MANY_IN_LAYERS), beside.to_owned()] {
        for name in names_in(&folder).filter(is_one) {
            take_away_unsaid(&folder.join(name));
        }
    }
}
