//! Keeps a second run on the same repository from starting, whatever home folder each of them has.
//!
//! What decides is the kernel's lock on the folder that all worktrees of the repository share: it ends with the process
//! however that ends, and nobody can take its folder away and leave the repository where it is. Two files tell who holds
//! it, one in that folder and one in the project's. They are locked too: for file systems that lock no folders, and for
//! earlier versions of tm. Those files can be removed by anyone, so their holder looks after them.

mod kernel;

use super::home::shared_lock_file;
use super::{Holder, ProjectDirectory};
use crate::Error;
use kernel::{LockedFile, LockedFolder, look};
use std::path::{Path, PathBuf};
use tm_scheduler::RunId;

/// The right to be the one live run of a repository; ends when dropped, or with the process.
#[derive(Debug)]
pub struct RunLock {
    // Dropped first: who sees the folder free finds the files free.
    files: Vec<LockedFile>,
    folder: Option<LockedFolder>,
    holder: Holder,
}

impl RunLock {
    /// Takes the lock and records `holder` as who has it; creates the project's folders when missing.
    ///
    /// Fails with [`Error::Held`] when another process has it.
    pub fn acquire(project: &ProjectDirectory, holder: &Holder) -> Result<Self, Error> {
        project.create()?;
        let paths = files(project);
        let folder = project
            .repository()
            .map(|path| LockedFolder::take(path, &paths))
            .transpose()?
            .flatten();
        let files = paths
            .iter()
            .map(|path| LockedFile::take(path, &paths))
            .collect::<Result<_, _>>()?;
        let lock = Self {
            files,
            folder,
            holder: holder.clone(),
        };
        lock.write_records()?;
        Ok(lock)
    }

    /// Records the run that the holder of the lock performs.
    pub fn set_run_id(&mut self, run_id: &RunId) -> Result<(), Error> {
        self.holder.run_id = Some(run_id.clone());
        self.write_records()
    }

    /// Records that attempts of this run of waves are under way.
    pub fn begin_attempts(&mut self, run_id: &RunId) -> Result<(), Error> {
        self.holder.has_attempts = true;
        self.set_run_id(run_id)
    }

    /// Records that no attempts are under way any more.
    pub fn end_attempts(&mut self) -> Result<(), Error> {
        self.holder.has_attempts = false;
        self.write_records()
    }

    /// Makes sure that the lock is still where others look for it, and puts its files back where somebody removed or
    /// changed them; to be called again and again while the lock is held.
    ///
    /// Fails with [`Error::RepositoryReplaced`] or [`Error::LockLost`] when others could start a run, or have.
    pub fn renew(&mut self) -> Result<(), Error> {
        if let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_in_place()) {
            return Err(Error::RepositoryReplaced {
                path: folder.path().to_owned(),
            });
        }
        for file in &mut self.files {
            let kept = file.renew(&self.holder);
            match kept {
                Err(Error::Held(holder)) => {
                    return Err(Error::LockLost {
                        path: file.path().to_owned(),
                        holder,
                    });
                }
                // A disk may be full for a while: nobody has taken the lock, and the next call tries again.
                Err(error) => {
                    tracing::warn!(%error, "the run lock is not where others look for it");
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Returns who holds the lock now, nothing when it is free.
    pub fn holder(project: &ProjectDirectory) -> Result<Option<Holder>, Error> {
        let paths = files(project);
        let folder = project.repository().map(Path::to_owned);
        for path in folder.iter().chain(&paths) {
            if let Some(holder) = look(path, &paths)? {
                return Ok(Some(holder));
            }
        }
        Ok(None)
    }

    /// Returns who holds the lock of the repository with this common git dir, by what lies in there alone.
    pub fn holder_in(common_git_dir: &Path) -> Option<Holder> {
        let records = [shared_lock_file(common_git_dir)];
        let paths = [common_git_dir.to_owned(), records[0].clone()];
        paths
            .iter()
            .find_map(|path| look(path, &records).ok().flatten())
    }

    /// Returns the kind of file system (`nfs`, `fuse`, …) when the lock lies on one where another machine may not see
    /// it.
    pub fn unreliable_file_system(&self) -> Option<&'static str> {
        self.files
            .iter()
            .find_map(LockedFile::unreliable_file_system)
    }

    fn write_records(&self) -> Result<(), Error> {
        self.files
            .iter()
            .try_for_each(|file| file.write(&self.holder))
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        self.files.iter().for_each(LockedFile::clear);
    }
}

/// The files that tell who holds the lock, that of the repository first.
fn files(project: &ProjectDirectory) -> Vec<PathBuf> {
    project
        .shared_lock_file()
        .into_iter()
        .chain([project.lock_file()])
        .collect()
}

#[cfg(test)]
mod tests;
