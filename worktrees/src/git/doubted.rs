//! Doubts what git says of the machine: names of files and the words of filters and hooks stand in what it prints, so
//! whoever works in a worktree can have it say anything. Trouble of the machine is believed where tm meets it itself.

use super::path_of;
use crate::error::{says_trouble_of_machine, trouble_in};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// What stands before a line that is not believed, so that it is git's no more.
const NOT_MET: &str = "not met by tm itself: ";
/// So much is written where git could not write, in bytes: more than fits beside an inode.
const TRIED: [u8; 16 * 1024] = [0; 16 * 1024];
/// A pointer from one folder of git's to another is no longer than this, in bytes.
const LONGEST_POINTER: u64 = 8 * 1024;
/// What a file system says to whoever writes there, whatever modes and owners its folders have.
const OF_FILE_SYSTEM: [Errno; 8] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::ROFS,
    Errno::IO,
    Errno::STALE,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
];

/// Where a call works, and by which program.
#[derive(Debug)]
pub(super) struct Tried {
    program: OsString,
    folder: PathBuf,
    /// Folders of git's own, which nobody writes but tm and the user.
    of_git: BTreeSet<PathBuf>,
    /// The top of the files, which others write.
    files: Option<PathBuf>,
}

impl Tried {
    /// Tells it by the variables of a call.
    pub(super) fn of(command: &Command, folder: &Path) -> Self {
        let variable = |name: &str| {
            let mut all = command.get_envs();
            let value = all.find_map(|(key, value)| (key == name).then_some(value)?);
            value.map(|value| folder.join(value))
        };
        let git_dir = variable("GIT_DIR").or_else(|| git_dir_at(folder));
        let index = variable("GIT_INDEX_FILE");
        let beside = index.as_deref().and_then(Path::parent).map(Path::to_owned);
        let common = git_dir.as_deref().and_then(common_of);
        let of_git: Vec<_> = git_dir.into_iter().chain(common).chain(beside).collect();
        // git names some of them as they are, and others as they were given.
        let real: Vec<_> = of_git
            .iter()
            .filter_map(|at| at.canonicalize().ok())
            .collect();
        Self {
            program: command.get_program().to_owned(),
            folder: folder.to_owned(),
            of_git: BTreeSet::from_iter([of_git, real].concat()),
            files: variable("GIT_WORK_TREE"),
        }
    }

    /// Returns what git said, with another beginning where it tells of trouble that tm does not meet.
    pub(super) fn doubt(&self, said: String) -> String {
        if !says_trouble_of_machine(&said) || self.is_met(&said) {
            return said;
        }
        let marked = |line: &str| match trouble_in(line) {
            Some(_) => format!("{NOT_MET}{line}"),
            None => line.to_owned(),
        };
        said.lines().map(marked).collect::<Vec<_>>().join("\n")
    }

    fn is_met(&self, said: &str) -> bool {
        let locks = said.lines().filter_map(trouble_in);
        tm_faults::check("git: before").is_err()
            || locks.flat_map(quoted).any(|path| self.is_lock(path))
            || self.is_met_by_writing(said)
            || self.starts_nothing()
    }

    /// A lock that git names lies in a folder of git's own, and is there.
    fn is_lock(&self, path: &str) -> bool {
        let path = self.folder.join(path);
        path.extension() == Some(OsStr::new("lock"))
            && self.is_of_git(&path)
            && path.symlink_metadata().is_ok()
    }

    fn is_met_by_writing(&self, said: &str) -> bool {
        let named = said.lines().filter_map(trouble_in).flat_map(quoted);
        let named = named.map(|path| self.folder.join(path));
        let named = named.filter(|path| self.is_of_git(path));
        let folders =
            named.filter_map(|path| path.ancestors().find(|at| at.is_dir()).map(Path::to_owned));
        let mut of_git = self.of_git.iter().cloned().chain(folders);
        let is_refused =
            |files: &PathBuf| write_in(files).is_err_and(|error| is_of_file_system(&error));
        of_git.any(|folder| is_closed(&folder)) || self.files.as_ref().is_some_and(is_refused)
    }

    fn is_of_git(&self, path: &Path) -> bool {
        let leads_up = path.components().any(|part| part == Component::ParentDir);
        !leads_up && self.of_git.iter().any(|folder| path.starts_with(folder))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "nothing is asked of it but to begin"
    )]
    fn starts_nothing(&self) -> bool {
        let mut command = Command::new(&self.program);
        let command = command.arg("--version").stdin(Stdio::null());
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        !started.is_ok_and(|status| status.success())
    }
}

/// git's folder of the checkout that begins here.
fn git_dir_at(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let pointer = tm_untrusted::read(&git, LONGEST_POINTER).ok()?;
    let named = pointer.strip_prefix(b"gitdir:")?;
    Some(folder.join(path_of(named.trim_ascii())))
}

/// The folder that a worktree's own folder of git's shares with others.
fn common_of(git_dir: &Path) -> Option<PathBuf> {
    let pointer = tm_untrusted::read(&git_dir.join("commondir"), LONGEST_POINTER).ok()?;
    Some(git_dir.join(path_of(pointer.trim_ascii_end())))
}

/// What stands between quotation marks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('\'').skip(1).step_by(2)
}

/// Whether git can't write in a folder of its own, in that of its objects, or in one of those.
fn is_closed(folder: &Path) -> bool {
    let objects = folder.join("objects");
    let is_shut = |entry: std::fs::DirEntry| {
        tm_untrusted::is_folder(&entry.path()) && access(entry.path(), Access::WRITE_OK).is_err()
    };
    write_in(folder).is_err()
        || objects.is_dir() && write_in(&objects).is_err()
        || tm_untrusted::entries(&objects).any(is_shut)
}

/// Writes in a folder what has no name and leaves nothing.
fn write_in(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&TRIED)?;
    file.sync_all()
}

fn is_of_file_system(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    number.is_some_and(|number| OF_FILE_SYSTEM.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "fatal: cannot use 'x: No space left on device'";

    fn tried(git_dir: &Path) -> Tried {
        let mut command = crate::Environment::default().git(&[]);
        command.env("GIT_DIR", git_dir);
        command.env("GIT_WORK_TREE", std::env::temp_dir());
        Tried::of(&command, git_dir)
    }

    #[test]
    fn trouble_of_the_machine_is_believed_where_it_is_met() {
        let git_dir = tempfile::tempdir().expect("a folder");
        let doubted = |said: &str| tried(git_dir.path()).doubt(said.to_owned());
        for words in [
            FULL,
            "error: 'x' Permission denied",
            "error: Unable to create 'x/index.lock': File exists.",
            "fatal: cannot open 'x': Cannot allocate memory",
        ] {
            assert_eq!(doubted(words), format!("{NOT_MET}{words}"));
            assert!(!says_trouble_of_machine(&doubted(words)));
        }
        assert_eq!(doubted("fatal: bad object"), "fatal: bad object");
        // Nobody can write there.
        assert_eq!(tried(Path::new("/proc")).doubt(FULL.to_owned()), FULL);
    }

    #[test]
    fn a_lock_is_believed_where_it_is_there_and_gits() {
        let place = tempfile::tempdir().expect("a folder");
        let git_dir = place.path().join("git");
        std::fs::create_dir(&git_dir).expect("a folder");
        for name in ["git/index.lock", "Cargo.lock"] {
            crate::files::replace(&place.path().join(name), b"").expect("written");
        }
        let is_believed = |path: &Path| {
            let said = format!("fatal: Unable to create '{}': File exists.", path.display());
            tried(&git_dir).doubt(said.clone()) == said
        };
        assert!(is_believed(&git_dir.join("index.lock")));
        for other in ["HEAD.lock", "../Cargo.lock"] {
            assert!(!is_believed(&git_dir.join(other)), "{other}");
        }
        assert!(!is_believed(&place.path().join("Cargo.lock")));
        let checkout = place.path().join("checkout");
        std::fs::create_dir(&checkout).expect("a folder");
        crate::files::replace(&checkout.join(".git"), b"gitdir: ../git\n").expect("written");
        let lock = checkout.join("../git").join("index.lock");
        let said = format!("fatal: Unable to create '{}': File exists.", lock.display());
        let tried = Tried::of(&crate::Environment::default().git(&[]), &checkout);
        let real = said.replace("checkout/../", "");
        assert_eq!(tried.doubt(real.clone()), real);
    }
}
