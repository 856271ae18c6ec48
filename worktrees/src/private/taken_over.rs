//! Takes commits over from a store of objects that anybody may have written.
//!
//! Nothing in it is believed but what follows from content. Loose objects and packs are copied, within bounds, to where
//! nobody else writes; of packs the indexes are made anew, and no other file of the store is looked at, so it can't name
//! other stores. From the copy and the repository together git packs what the commits need and the repository has not,
//! and names that by its content. Only when that is whole, well formed and complete, it is put into the repository.

use super::{name_store, refused};
use crate::files::{create_folder, names_in};
use crate::git::Git;
use crate::lengths::longest_object;
use crate::owned::OwnedFolder;
use crate::repository::own::OwnGit;
use crate::{Error, ObjectCheck, OrFailedTo as _, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tm_scheduler::CommitId;

/// So much is copied, each file as long as a disk counts it at the least.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
const LEAST_BYTES: u64 = 4 * 1024;
/// So many objects are in packs.
const MOST_OBJECTS: u64 = 2_000_000;
/// A few bytes of a pack can be made to cost hours.
const LONGEST: Duration = Duration::from_mins(10);
/// The objects are no longer than this together, when they are unpacked.
const MOST_UNPACKED: u64 = 4 * MOST_BYTES;
/// git takes no more memory than this for one object (`GIT_ALLOC_LIMIT`); of longer ones it has a part in memory.
const MOST_MEMORY: &str = "1g";
/// So many objects and more stay a pack in the repository, as git itself does it with what it fetches.
const PACKED_FROM: u64 = 100;
/// So much of what git says is told, in characters.
const MOST_SAID: usize = 2_000;

impl OwnedFolder {
    /// Brings commits into the repository that are in a git folder of an agent's own, with all that they need.
    pub(super) fn take_over_commits(
        &self,
        folder: &Path,
        tips: &[&CommitId],
        base: &CommitId,
    ) -> Result<()> {
        // Whole: a tm that was killed may have put a part of it there.
        let is_here = |tip: &CommitId| {
            let repository = &self.repository;
            let found = repository.resolve(tip.as_str());
            found.is_ok_and(|found| found == *tip)
                && repository
                    .check_new_objects(tip, base, ObjectCheck::Names)
                    .is_ok()
        };
        let tips: Vec<_> = tips.iter().filter(|tip| !is_here(tip)).collect();
        if tips.is_empty() {
            return Ok(());
        }
        // Whoever is killed leaves it to what forgets the worktree.
        let scratch = tempfile::tempdir_in(&self.own).or_failed_to("write", &self.own)?;
        let store = scratch.path().join("objects");
        let until = Instant::now() + LONGEST;
        let guarded = |words| {
            let git = self.repository.git_on_objects(words).until(until);
            git.variable("GIT_ALLOC_LIMIT", MOST_MEMORY)
        };
        let git = |words| guarded(words).variable("GIT_OBJECT_DIRECTORY", &store);
        for pack in copy_objects(folder, &store)? {
            // The bound of memory is one for each object that is unpacked, and each thread unpacks some.
            git("index-pack --threads=1")
                .arg(pack)
                .done()
                .map_err(not_as_git)?;
        }
        let all = git("cat-file --batch-all-objects --unordered")
            .arg("--batch-check=%(objecttype) %(objectsize) %(objectname)")
            .text()
            .map_err(not_as_git)?;
        let is_commit = |tip: &CommitId| {
            let mut stored = stored(&all).filter(|(kind, ..)| *kind == "commit");
            stored.any(|(.., id)| id == tip.as_str())
        };
        if let Some(tip) = tips.iter().find(|tip| !is_commit(tip)) {
            return Err(refused(format!("there is no commit `{tip}`")));
        }
        name_store(&store, &self.objects())?;
        if assert_within_bounds(stored(&all), |_| "").is_err() {
            // What nobody committed is nobody's work. Folders are walked to tell.
            let of_folders = stored(&all).filter(|(kind, ..)| *kind != "blob");
            assert_within_bounds(of_folders, |_| "")?;
            let reached = reached(git("rev-list --objects --missing=allow-any"), &tips, base)?;
            let reached_alone = stored(&all).filter(|(.., id)| reached.contains_key(*id));
            assert_within_bounds(reached_alone, |id| &reached[id])?;
        }
        if self.own_git().is_partial {
            refuse_missing(git("rev-list --objects --missing=print"), &tips, base)?;
        }
        let pack = scratch.path().join("taken.pack");
        let named = tips.iter().map(|tip| format!("{tip}\n"));
        let wanted = named.chain([format!("^{base}\n")]).collect::<String>();
        git("pack-objects --revs --local --stdout -q --window=0")
            .input(wanted)
            .output_to(pack.clone())
            .done()
            .map_err(not_as_git)?;
        let index = scratch.path().join("taken.idx");
        guarded("index-pack --threads=1")
            .arg(strictness(self.own_git()))
            .arg("-o")
            .args([&index, &pack])
            .done()
            .map_err(not_as_git)?;
        let kept = if objects_in(&pack)? < PACKED_FROM {
            "unpack-objects -q"
        } else {
            "index-pack --stdin"
        };
        let put = self.repository.git_on_objects(kept).input_from(pack);
        put.done()
    }
}

/// Refuses what names objects that are nowhere here: whoever needs them would fetch them in the user's name.
fn refuse_missing(git: Git, tips: &[&&CommitId], base: &CommitId) -> Result<()> {
    let listing = git.args(range(tips, base)).text().map_err(not_as_git)?;
    let missing = listing.lines().find_map(|line| line.strip_prefix('?'));
    missing.map_or(Ok(()), |id| {
        Err(refused(format!(
            "it names the object `{id}`, which is not here"
        )))
    })
}

/// Copies loose objects and packs to a store; returns the packs there.
fn copy_objects(folder: &Path, store: &Path) -> Result<Vec<PathBuf>> {
    let mut packs = Vec::new();
    let (mut left, mut number) = (MOST_BYTES, 0);
    let objects = Path::new("common/objects");
    create_folder(&store.join("pack"))?;
    for kind in names_in(&folder.join(objects)) {
        let is_pack = kind == "pack";
        if !(is_pack || is_hex(&kind, &[2])) {
            continue;
        }
        create_folder(&store.join(&kind))?;
        let from = objects.join(&kind);
        for name in names_in(&folder.join(&from)) {
            let to = if !is_pack && is_hex(&name, &[38, 62]) {
                store.join(&kind).join(&name)
            } else if is_pack && Path::new(&name).extension() == Some("pack".as_ref()) {
                packs.push(store.join(format!("pack/{}.pack", packs.len())));
                packs[packs.len() - 1].clone()
            } else {
                continue;
            };
            left = copy(folder, &from.join(&name), &to, left)?;
            if is_pack {
                number += objects_in(&to)?;
            }
            if number > MOST_OBJECTS {
                let why = format!("its packs have more than {MOST_OBJECTS} objects");
                return Err(refused(why));
            }
        }
    }
    Ok(packs)
}

fn is_hex(name: &OsString, lengths: &[usize]) -> bool {
    let name = name.as_encoded_bytes();
    lengths.contains(&name.len()) && name.iter().all(u8::is_ascii_hexdigit)
}

/// Copies a file of at most so many bytes; returns how many are left.
fn copy(folder: &Path, file: &Path, to: &Path, most: u64) -> Result<u64> {
    let shown = file.display();
    let from = tm_untrusted::open_beneath(folder, file)
        .map_err(|error| refused(format!("`{shown}` can't be read: {error}")))?;
    let length = from.metadata().or_failed_to("look at", file)?.len();
    let Some(left) = most.checked_sub(length.max(LEAST_BYTES)) else {
        let why = format!("its store of objects is longer than {MOST_BYTES} bytes");
        return Err(refused(why));
    };
    let mut copy = File::create(to).or_failed_to("write", to)?;
    // It may grow meanwhile: what is not copied then is missing.
    io::copy(&mut from.take(length), &mut copy).or_failed_to("write", to)?;
    Ok(left)
}

/// Returns the kind, the length and the id of each object that is listed. What can't be read is said to be missing, and so
/// it is.
fn stored(listing: &str) -> impl Iterator<Item = (&str, u64, &str)> {
    listing.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?.parse().ok()?, words.next()?))
    })
}

/// Makes sure that objects are no longer than may be, each and together; what is called something is told by its path.
fn assert_within_bounds<'a>(
    objects: impl Iterator<Item = (&'a str, u64, &'a str)>,
    path: impl Fn(&str) -> &'a str,
) -> Result<()> {
    let mut bytes = 0_u64;
    for (kind, size, id) in objects {
        let most = longest_object(kind);
        if size > most {
            let what = match path(id) {
                "" => format!("it has a {kind} of"),
                path => format!("`{}` has", tm_untrusted::line(path, MOST_SAID)),
            };
            return Err(refused(format!(
                "{what} {size} bytes, and {most} is the most"
            )));
        }
        bytes = bytes.saturating_add(size);
    }
    if bytes > MOST_UNPACKED {
        return Err(refused(format!(
            "its objects have {bytes} bytes, and {MOST_UNPACKED} is the most"
        )));
    }
    Ok(())
}

/// Returns the objects that the commits need and the base has not, each with a path that it has.
fn reached(git: Git, tips: &[&&CommitId], base: &CommitId) -> Result<BTreeMap<String, String>> {
    let listing = git.args(range(tips, base)).text().map_err(not_as_git)?;
    let named = |line: &str| {
        let (id, path) = line.split_once(' ').unwrap_or((line, ""));
        (id.to_owned(), path.to_owned())
    };
    Ok(listing.lines().map(named).collect())
}

/// The words that choose what the commits have and the base has not.
fn range(tips: &[&&CommitId], base: &CommitId) -> Vec<String> {
    let tips = tips.iter().map(ToString::to_string);
    tips.chain([format!("^{base}")]).collect()
}

/// What is asked of the objects: that each is well formed, and that what it names is there, where that is not left to be
/// fetched when somebody needs it.
fn strictness(own: &OwnGit) -> &'static str {
    if own.is_partial {
        "--fsck-objects"
    } else {
        "--strict"
    }
}

/// Returns how many objects a pack has, by its head, to which git holds it; none where that is not whole.
fn objects_in(pack: &Path) -> Result<u64> {
    let head = tm_untrusted::read_beginning(pack, 12).or_failed_to("read", pack)?;
    let number = head.get(8..12).and_then(|number| number.try_into().ok());
    Ok(number.map_or(0, u32::from_be_bytes).into())
}

/// What git says of what it can't read, unless the disk is the trouble.
fn not_as_git(error: Error) -> Error {
    match error {
        Error::Git { message, .. } if !crate::error::says_trouble_of_disk(&message) => refused(
            tm_untrusted::shown(&message)
                .chars()
                .take(MOST_SAID)
                .collect::<String>(),
        ),
        other => other,
    }
}
