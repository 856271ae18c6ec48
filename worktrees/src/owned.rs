//! A folder into which tm checks files out: known by what it is and not by its name, and asked nothing.
//!
//! What lies in it, git's own files among that, is written by agents and by tests. So the index and HEAD that tm uses
//! are elsewhere (`repository/own.rs`), what git's own files in the folder say is only ever written, and nothing is deleted before
//! the folder is asserted to be the one that tm made.

mod git_files;
mod taken;
mod untouched;

pub use git_files::OwnedHead;
pub(crate) use git_files::{SHORT, dot_git, pointed_at, replace_whatever};
pub(crate) use taken::{LOG_BYTES, last_of_log};
pub use taken::{LONGEST_LOOK, Lister, Looker};
#[cfg(test)]
pub(crate) use untouched::ByIndex;

use crate::clean::{KnownFiles, OtherFiles, clean, remove_if_there};
use crate::files::Identity;
use crate::git::{Git, GitPlace, fields, joined, path_of};
use crate::indexed::{Known, leave_its_moment};
use crate::left_locks::remove_abandoned_locks;
use crate::nested::assert_git_may_look;
use crate::repository::own::OwnGit;
use crate::{Error, OrFailedTo as _, Repository, Result, TreeId};
use git_files::{Record, own_folder, own_git};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_scheduler::CommitId;
use tm_untrusted::MappedWrites;

/// A lock that is found on the index is looked at again after these pauses (milliseconds) before it is removed.
const LOCK_PAUSES: [u64; 5] = [20, 60, 180, 540, 1_000];

/// A worktree of tm's own.
#[derive(Clone, Debug)]
pub(crate) struct OwnedFolder {
    pub(crate) repository: Repository,
    pub(crate) path: PathBuf,
    /// The git folder that tm uses for it.
    pub(crate) own: PathBuf,
    record: Record,
}

impl OwnedFolder {
    /// Takes a worktree that git has just made, without its files.
    pub(crate) fn just_made(repository: &Repository, path: PathBuf) -> Result<Self> {
        Self::linked_again(repository, &path)?;
        Self::written_down(repository, path)
    }

    /// Takes a worktree that an earlier process of the run made, by what that one wrote down.
    pub(crate) fn made_before(repository: &Repository, path: PathBuf) -> Result<Self> {
        let folder = Self::written_down(repository, path)?;
        let why = "it is gone, or another folder by now";
        folder
            .assert_own()
            .map_err(|_| Error::not_in_pool(&folder.path, why))?;
        folder.remove_abandoned_lock()?;
        Ok(folder)
    }

    /// Removes the lock of a git that was killed with its tm; one that is still at work is given a moment.
    fn remove_abandoned_lock(&self) -> Result<()> {
        let lock = self.own.join("index.lock");
        for pause in LOCK_PAUSES {
            if !lock.exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(pause));
        }
        remove_if_there(&lock)
    }

    /// Takes a worktree by what was written down of it, whatever became of its folder.
    pub(crate) fn written_down(repository: &Repository, path: PathBuf) -> Result<Self> {
        let own = own_folder(repository, &path)?;
        let record = Record::read(&own)
            .ok_or_else(|| Error::not_in_pool(&path, "tm knows nothing of it"))?;
        Ok(Self {
            repository: repository.clone(),
            path,
            own,
            record,
        })
    }

    /// Has the folder name the repository's own git folder again, so that git can link a moved worktree.
    pub(crate) fn unseal(repository: &Repository, path: &Path) -> Result<()> {
        let folder = Self::written_down(repository, path.to_owned())?;
        replace_whatever(&path.join(".git"), &folder.record.dot_git)
    }

    /// Writes down anew what git's own files say, after git itself has linked a moved worktree again.
    pub(crate) fn linked_again(repository: &Repository, path: &Path) -> Result<()> {
        Record::of(path)?.write(&own_folder(repository, path)?)
    }

    /// Writes down which untracked paths stay, and are part of no work.
    pub(crate) fn keep(&mut self, paths: &[PathBuf]) -> Result<()> {
        let paths = joined(paths);
        if self.record.kept == paths {
            return Ok(());
        }
        self.record.kept = paths;
        self.record.write(&self.own)
    }

    /// Returns the untracked paths that stay.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        fields(&self.record.kept).map(path_of).collect()
    }

    fn place(&self) -> GitPlace {
        GitPlace::of(&self.own).with_files(&self.path)
    }

    /// Returns git's own folder of the worktree in the repository.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.record.git_dir
    }

    /// Returns the git folders of tm's own.
    pub(crate) fn own_git(&self) -> &OwnGit {
        own_git(&self.repository)
    }

    /// A call of git on the files in the folder, by the index and HEAD that tm keeps.
    pub(crate) fn git(&self, words: &str) -> Git {
        remove_abandoned_locks(&self.own);
        let git = self.place().git(&self.repository.environment);
        git.alone_with(&self.index_file()).line(words)
    }

    /// Refuses a folder that is another one than tm made, whatever its name.
    pub(crate) fn assert_own(&self) -> Result<()> {
        let found = Identity::of_folder(&self.path).or_else(|error| {
            // Where rights can be changed, another agent may have closed the folder of all of them.
            self.path.parent().map(tm_untrusted::open_up_if_closed);
            Identity::of_folder(&self.path).map_err(|_| error)
        });
        match found {
            Ok(found) if found == self.record.folder => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::FolderGone(self.path.clone()))
            }
            Ok(_) | Err(_) => Err(Error::NotOwn(self.path.clone())),
        }
    }

    /// Tells what of git's own files is not as tm made it; empty when all is.
    pub(crate) fn changed_git_files(&self) -> Vec<PathBuf> {
        let mut changed = self.record.changed(&self.path);
        if self.works_with_private() {
            changed.retain(|path| *path != self.path.join(".git"));
        }
        changed
    }

    /// Checks a commit out: every file as it is there, and nothing else but what is kept. `held` is the tree that the
    /// index holds, where that is known.
    pub(crate) fn check_out(
        &self,
        commit: &CommitId,
        head: &OwnedHead<'_>,
        kept: &[PathBuf],
        held: Option<&TreeId>,
    ) -> Result<()> {
        self.assert_own()?;
        let tree = self.repository.tree_of(commit)?;
        self.repository.assert_walkable(&tree)?;
        self.repository.assert_lfs(&tree)?;
        let mut known = self.known()?;
        if !known.folders.is_empty()
            && known.attributes != self.repository.content_of(&tree)?.attributes
        {
            // What a file looks like follows from them too: all of them are written anew.
            self.forget_files()?;
            known = Known::default();
        }
        let all_kept: Vec<PathBuf> = self
            .places_of_submodules(&tree)?
            .into_iter()
            .chain(kept.iter().cloned())
            .collect();
        let files = clean(&self.path, &known, &all_kept, OtherFiles::Removed)?;
        self.assert_git_may_write_in(kept, &tree)?;
        let is_there = files == KnownFiles::AsIndexed && held == Some(&tree);
        if !is_there {
            self.repository
                .writing_lfs(|| self.switch(commit, &tree, files))?;
        }
        self.vouch_for_files(is_there.then_some(known), &all_kept);
        self.bring_submodules(&tree)?;
        self.set_head(head)?;
        self.publish(head)
    }

    /// Refuses a folder in which git would write into what is kept, by rules that it finds there and can't be let read.
    fn assert_git_may_write_in(&self, kept: &[PathBuf], tree: &TreeId) -> Result<()> {
        for kept in kept {
            if self.repository.has_path(tree, kept)? {
                assert_git_may_look(&self.path.join(kept), &[])?;
            }
        }
        Ok(())
    }

    /// Has git write the files of a commit. Where all of them are as the index knows them, those that differ between the
    /// two trees are all that it looks at.
    fn switch(&self, commit: &CommitId, tree: &TreeId, files: KnownFiles) -> Result<()> {
        let orders = self.repository.orders_to_lfs(tree)?;
        let read_tree = |how| {
            orders
                .to(self.git(""))
                .args(["read-tree", how, "-u"])
                .commit(commit)
                .done()
        };
        let switched = match files {
            KnownFiles::AsIndexed => read_tree("-m").or_else(|error| {
                if error.is_of_time() {
                    return Err(error);
                }
                read_tree("--reset")
            }),
            KnownFiles::Unsure => read_tree("--reset"),
        };
        match switched {
            Err(error) if error.is_of_collected_objects() => {
                // The index names objects that another git has collected.
                self.forget_files()?;
                read_tree("--reset")?;
            }
            switched => switched?,
        }
        leave_its_moment(&self.index_file())
    }

    /// Returns the folder's name, which is unlike that of any other of the run.
    pub(crate) fn name(&self) -> String {
        name_of_folder(&self.path)
    }

    fn forget_files(&self) -> Result<()> {
        remove_file(&self.index_file())
    }

    /// Returns what tm's index knows.
    pub(crate) fn known(&self) -> Result<Known> {
        let index = self.index_file();
        if !index.exists() {
            return Ok(Known::default());
        }
        // One whose ids are of a kind that the library does not read is git's to list.
        let of_git = || Known::list(self.git("ls-files --stage -z").reading());
        self.repository.read_or(|_| self.known_by(&index), of_git)
    }

    /// Returns what an index of tm's own knows, as far as tm reads it itself.
    pub(crate) fn known_by(&self, index: &Path) -> Option<Known> {
        let mapped_writes = self.mapped_writes();
        let mut known = Known::read(index, mapped_writes)?;
        if mapped_writes == MappedWrites::Unnoticed {
            self.own_git().opened.vouch_for(&self.path, &mut known);
        }
        Some(known)
    }

    /// Takes note that every file of tm's index was compared with it or written by git just now, but for what is kept, and
    /// that nobody else was at work here meanwhile. `known` is what the index says, where that was read.
    fn vouch_for_files(&self, known: Option<Known>, kept: &[PathBuf]) {
        if self.mapped_writes() == MappedWrites::Stamped {
            return;
        }
        // Which folders there are is all that is wanted of it.
        let anew = || Known::read(&self.index_file(), MappedWrites::Unnoticed);
        if let Some(known) = known.or_else(anew) {
            self.own_git().opened.compared(&self.path, &known, kept);
        }
    }

    /// Removes what is in the folder and not in the index, but for what is kept.
    pub(crate) fn clean(&self, kept: &[PathBuf]) -> Result<()> {
        self.assert_own()?;
        clean(&self.path, &self.known()?, kept, OtherFiles::Kept).map(drop)
    }

    /// Removes the folder, and git's entry of it.
    pub(crate) fn remove(&self) -> Result<()> {
        self.assert_own()?;
        crate::clean::remove(&self.path)?;
        self.forget()
    }

    /// Removes what is known of it.
    pub(crate) fn forget(&self) -> Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        self.own_git().forget_sealed(Path::new(name))?;
        let git_dir = &self.record.git_dir;
        if self.record.git_dir_identity.is_at(git_dir) {
            crate::clean::remove(git_dir)?;
            // As git does: not empty while there are others.
            let _others = std::fs::remove_dir(self.repository.common_dir().join("worktrees"));
        }
        crate::clean::remove(&self.own)
    }

    /// What becomes of the times of files here that are written through a mapping.
    pub(crate) fn mapped_writes(&self) -> MappedWrites {
        // Tried beside the worktree, and not where an agent works.
        MappedWrites::of(&self.own)
    }

    /// Returns tm's index.
    pub(crate) fn index_file(&self) -> PathBuf {
        self.own.join("index")
    }

    /// Forgets what tm's index says of files, so that all of them are looked at.
    pub(crate) fn forget_index(&self, commit: &CommitId) -> Result<()> {
        self.git("read-tree --reset").commit(commit).done()
    }
}

/// Returns the name of a folder as text.
pub(crate) fn name_of_folder(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Removes a file that may be gone already.
fn remove_file(path: &Path) -> Result<()> {
    tm_untrusted::remove(path).or_failed_to("remove", path)
}
