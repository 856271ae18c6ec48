//! The indexes of the user's checkouts and submodules, and what git believes in them.
//!
//! Whoever writes an index has the user's git take files for unchanged by their times, leave others out of sight, and commit
//! trees that nobody staged. Where git's folders were given to somebody, an index that is new or other then is made anew of
//! what is staged in it: git looks at each file again. It is git that joins an index of several files and reckons the
//! checksum, in a folder of tm's own, so that no setting from where the index lies has a part in it.

use super::believed::Believed;
use super::checksum::{LONG_ID, SHORT_ID};
use super::index_bytes::{Hidden, StaysHidden, hidden, without_belief};
use crate::files::{beginning, names_in, replace};
use crate::git::{GitPlace, gits_are_ending, patience};
use crate::indexed::INDEX_BYTES;
use crate::left_locks::LeftLock;
use crate::pause::pause;
use crate::{Error, OrFailedTo as _, Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};

/// The name of an index, and what those begin with of which others are changes.
pub(super) const INDEX: &str = "index";
const SHARED: &str = "sharedindex.";
/// So many of those are looked at.
const MOST_SHARED: usize = 100;
/// All indexes together take no longer, and no longer than gits go on where all is to stop: somebody may make any number.
const LONGEST: Duration = Duration::from_mins(2);
/// Who may do what with an index, and nothing else that a mode says.
const RIGHTS: u32 = 0o777;
/// The files that say whether git leaves files out of a checkout.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Indexes as they were at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct UserIndexes {
    were: Believed,
    /// The files at which git didn't look.
    hidden: BTreeMap<PathBuf, Hidden>,
    /// How long ids are, in bytes, where git could say it.
    id_length: Option<usize>,
}

impl UserIndexes {
    /// Reads indexes. What can't be read counts as not there.
    pub(super) fn at(paths: &BTreeSet<PathBuf>, repository: &Repository) -> Self {
        let id_length = id_length(repository);
        let length = id_length.unwrap_or(SHORT_ID);
        let were = Believed::at(paths);
        let (repository, until) = in_time(repository);
        let in_time = were.paths().take_while(|_| Instant::now() < until);
        let hidden = |path: &PathBuf| Some((path.clone(), hidden_of(path, length, &repository)?));
        let hidden = in_time.filter_map(hidden).collect();
        Self {
            were,
            hidden,
            id_length,
        }
    }

    pub(super) const fn id_length(&self) -> Option<usize> {
        self.id_length
    }

    /// Makes those anew that are new or other now; returns which can't be, and why.
    pub(super) fn put_right(
        &self,
        now: &BTreeSet<PathBuf>,
        repository: &Repository,
    ) -> Vec<(PathBuf, Error)> {
        self.put_right_with(now, repository, &mut patience())
    }

    /// Their locks share the patience: somebody may hold any number of them.
    fn put_right_with(
        &self,
        now: &BTreeSet<PathBuf>,
        repository: &Repository,
        patience: &mut dyn Iterator<Item = Duration>,
    ) -> Vec<(PathBuf, Error)> {
        let (repository, until) = in_time(repository);
        let mut make_anew = |path: &PathBuf| {
            if Instant::now() < until && !gits_are_ending() {
                return self.make_anew(path, &repository, patience);
            }
            Err(io::ErrorKind::TimedOut.into()).or_failed_to("read", path)
        };
        let others = now.iter().filter(|path| !self.were.holds_still(path));
        let failed = others.filter_map(|path| Some((path.clone(), make_anew(path).err()?)));
        failed.collect()
    }

    /// Holds the lock only while it looks whether the index is what it was: the user's git may want it meanwhile. One that
    /// is not is made anew under the lock, where no git writes it again.
    fn make_anew(
        &self,
        index: &Path,
        repository: &Repository,
        patience: &mut dyn Iterator<Item = Duration>,
    ) -> Result<()> {
        let copied = Believed::at([&index.to_owned()]);
        let mut anew = self.anew(index, repository)?;
        let lock = locked(index, patience)?;
        if !copied.holds_still(index) {
            anew = self.anew(index, repository)?;
        }
        put(&anew.path().join(INDEX), lock, index).or_failed_to("write", index)
    }

    /// Returns a folder with a copy of an index in which nothing is to be believed.
    fn anew(&self, index: &Path, repository: &Repository) -> Result<TempDir> {
        let folder = as_one_file(index, repository)?;
        let copy = folder.path().join(INDEX);
        let none = Hidden::new();
        let stays = StaysHidden {
            before: self.hidden.get(index).unwrap_or(&none),
            is_sparse: is_sparse(index, repository)?,
        };
        let bytes = beginning(&copy, INDEX_BYTES)?;
        let anew = without_belief(bytes, self.id_length.unwrap_or(SHORT_ID), stays);
        let anew = anew.ok_or_else(|| io::ErrorKind::InvalidData.into());
        replace(&copy, &anew.or_failed_to("read", index)?)?;
        write_by_git(folder.path(), repository)?;
        Ok(folder)
    }
}

fn in_time(repository: &Repository) -> (Repository, Instant) {
    let until = Instant::now() + LONGEST;
    (repository.until(until), until)
}

/// Where git can't say it, an index that has others is none, and that is told.
fn id_length(repository: &Repository) -> Option<usize> {
    let format = repository.git_on_objects("rev-parse --show-object-format");
    let is_long = format.text().ok()? == "sha256";
    Some(if is_long { LONG_ID } else { SHORT_ID })
}

/// Returns the files at which git doesn't look; git joins what is several files.
fn hidden_of(index: &Path, id_length: usize, repository: &Repository) -> Option<Hidden> {
    let of_file = |path: &Path| hidden(beginning(path, INDEX_BYTES).ok()?, id_length);
    of_file(index).or_else(|| {
        let folder = as_one_file(index, repository).ok()?;
        of_file(&folder.path().join(INDEX))
    })
}

/// Takes git's lock of an index, which goes with what is returned. As git's calls are, it is patient with other gits, which
/// hold it for a moment, and not with what one of them left.
fn locked(index: &Path, patience: &mut dyn Iterator<Item = Duration>) -> Result<NamedTempFile> {
    let beside = index.parent().unwrap_or(index);
    let mut lock = tempfile::Builder::new();
    let lock = lock.prefix(INDEX).suffix(".lock").rand_bytes(0);
    loop {
        let taken = lock.tempfile_in(beside);
        let is_held = |error: &io::Error| {
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            is_there && LeftLock::at(index.with_extension("lock")).is_none()
        };
        let next = taken.as_ref().err().filter(|error| is_held(error));
        match next.and_then(|_| patience.next()) {
            Some(length) => pause(length),
            None => return taken.or_failed_to("lock", index),
        }
    }
}

/// Makes a git folder in which nothing is but a copy of an index, as one file.
fn as_one_file(index: &Path, repository: &Repository) -> Result<TempDir> {
    let folder = repository.scratch_git_dir()?;
    let beside = index.parent().unwrap_or(index);
    let is_shared = |name: &OsString| name.as_bytes().starts_with(SHARED.as_bytes());
    for name in names_in(beside).filter(is_shared).take(MOST_SHARED) {
        let (shared, link) = (beside.join(&name), folder.path().join(name));
        symlink(&shared, &link).or_failed_to("link", link)?;
    }
    replace(&folder.path().join(INDEX), &beginning(index, INDEX_BYTES)?)?;
    write_by_git(folder.path(), repository)?;
    Ok(folder)
}

/// Has git write the index in a folder again, as one file.
fn write_by_git(folder: &Path, repository: &Repository) -> Result<()> {
    let git = GitPlace::of(folder).git(&repository.environment);
    git.line("update-index --force-write-index").done()
}

/// Tells whether git leaves files out of the checkout of an index, as far as the repository's own settings say.
fn is_sparse(index: &Path, repository: &Repository) -> Result<bool> {
    let folders = [Some(repository.common_dir()), index.parent()];
    let files = folders
        .into_iter()
        .flatten()
        .flat_map(|folder| SETTINGS.map(|name| folder.join(name)));
    for file in files.filter(|file| file.is_file()) {
        let git = repository.git_on_objects("config --file").arg(file);
        let said = git.line("--type=bool --get core.sparseCheckout");
        if said.text_if_any()?.as_deref() == Some("true") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts a copy in the place of an index, as the index is anybody's to read, by its lock or another file beside it.
pub(super) fn put(copy: &Path, mut lock: NamedTempFile, index: &Path) -> io::Result<()> {
    let was = tm_untrusted::open(index)?.metadata()?;
    io::copy(&mut tm_untrusted::open(copy)?, lock.as_file_mut())?;
    let made = lock.as_file().metadata()?;
    if (made.uid(), made.gid()) != (was.uid(), was.gid()) {
        fchown(lock.as_file(), Some(was.uid()), Some(was.gid()))?;
    }
    let rights = Permissions::from_mode(was.mode() & RIGHTS);
    lock.as_file().set_permissions(rights)?;
    lock.persist(index)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;
    use std::{fs, iter};

    fn repository(folder: &Path) -> Repository {
        let environment = Environment::default()
            .with("HOME", folder)
            .with("GIT_CONFIG_NOSYSTEM", "1")
            .of_tm();
        git(&environment, folder, "init --quiet");
        git(&environment, folder, "commit --quiet --allow-empty -m none");
        Repository::discover_in(folder, environment).expect("a repository")
    }

    fn git(environment: &Environment, folder: &Path, line: &str) {
        let mut git = environment.git(&[]);
        let status = git.args(line.split(' ')).current_dir(folder).status();
        assert!(status.expect("git").success());
    }

    fn stage(repository: &Repository, name: &str) {
        let root = repository.checkout_root();
        replace(&root.join(name), b"new\n").expect("a file");
        git(&repository.environment, root, &format!("add {name}"));
    }

    #[test]
    fn an_index_that_git_has_locked_and_writes_meanwhile_is_made_anew_of_what_it_is_then() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = repository(folder.path());
        let index = repository.git_dir().join(INDEX);
        let lock = index.with_extension("lock");
        let before = UserIndexes::at(&BTreeSet::new(), &repository);
        stage(&repository, "a.txt");
        replace(&lock, b"").expect("a lock");
        let mut pauses = 0;
        let mut patience = iter::from_fn(|| {
            pauses += 1;
            fs::remove_file(&lock).expect("the lock");
            stage(&repository, "b.txt");
            Some(Duration::ZERO)
        });
        let now = BTreeSet::from([index.clone()]);
        let failed = before.put_right_with(&now, &repository, &mut patience);
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(pauses, 1);
        let bytes = fs::read(&index).expect("an index");
        let has = |name: &[u8]| bytes.windows(name.len()).any(|it| it == name);
        assert!(has(b"a.txt") && has(b"b.txt") && !lock.exists());
    }

    #[test]
    fn patience_with_locks_has_an_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join(INDEX);
        let lock = index.with_extension("lock");
        replace(&lock, b"").expect("a lock");
        let mut patience = iter::repeat_n(Duration::ZERO, 3);
        locked(&index, &mut patience).expect_err("held");
        assert_eq!(patience.next(), None);
        assert!(lock.exists(), "it is somebody's");
    }
}
