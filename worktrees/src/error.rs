//! Everything that can go wrong between tm and git.

mod trouble;

pub(crate) use trouble::{
    says_passing_trouble, says_trouble_of_disk, says_trouble_of_machine, trouble_in,
};

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_scheduler::{BranchName, BranchNameError, CommitId, quoted_files};
use trouble::{COLLECTED_WORDS, says};

/// What everything here returns that can fail.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// So much of a command is told, in characters.
const MOST_OF_COMMAND: usize = 200;

/// What went wrong; the text follows "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not installed or can't be started.
    #[error("start `git`")]
    GitMissing {
        /// What the system says.
        source: io::Error,
    },
    /// The folder in which git was to work is not there any more.
    #[error("work in `{0}`: the folder is gone")]
    FolderGone(PathBuf),
    /// The program is too old.
    #[error("use git `{found}`: version {needed} or later is needed")]
    GitTooOld {
        /// What `git --version` says.
        found: String,
        /// The oldest version that works.
        needed: String,
    },
    /// git refused or broke down.
    #[error("run `git {}`: {message}", beginning(.command))]
    Git {
        /// The arguments.
        command: String,
        /// What it wrote to stderr.
        message: String,
    },
    /// git took longer than it may: what it works on was made so, or is larger than anything.
    #[error("run `git {}`: it was ended because it took longer than {}", beginning(.command), tm_scheduler::counted(.longest.as_secs().div_ceil(60), "minute"))]
    GitTookTooLong {
        /// The arguments.
        command: String,
        /// How long it may take.
        longest: Duration,
    },
    /// git was ended because all is to stop at once.
    #[error("run `git {}`: it was ended to stop at once", beginning(.0))]
    GitStopped(String),
    /// A tree stands for so much that nobody walks it to an end.
    #[error(
        "work with the tree `{tree}`: it stands for more than {most} files and folders, or for too long or too deep paths"
    )]
    TreeTooLarge {
        /// Its id, or that of its commit.
        tree: String,
        /// So many there may be, as often as each stands there.
        most: u64,
    },
    /// A folder is in no repository.
    #[error("find a git repository at `{0}`")]
    NoRepository(PathBuf),
    /// A folder is in a repository, but in no checkout of it: it is bare, or the folder lies inside `.git` or is tm's.
    #[error(
        "find a checkout at `{0}`: the repository is bare, or the folder belongs to git or tm itself"
    )]
    NoCheckout(PathBuf),
    /// The repository has no commit that work could start from.
    #[error("find a commit in `{0}`: nothing has been committed yet")]
    NoCommits(PathBuf),
    /// A revision names no commit.
    #[error("find a commit for `{0}`")]
    UnknownRevision(String),
    /// A text is no valid branch name.
    #[error(transparent)]
    BranchName(#[from] BranchNameError),
    /// A branch can't exist beside another one, because one would be a folder and a file at once.
    #[error(
        "create the branch `{wanted}` beside the branch `{existing}`: one name is a folder of the other"
    )]
    BranchClash {
        /// The branch that was wanted.
        wanted: BranchName,
        /// The branch that is in the way.
        existing: String,
    },
    /// A branch exists already.
    #[error("create the branch `{branch}`: it exists, at `{at}`")]
    BranchTaken {
        /// The branch.
        branch: BranchName,
        /// Its commit.
        at: CommitId,
    },
    /// A branch is never moved, created or deleted by tm.
    #[error("touch the branch `{branch}`: it is {protection}")]
    RefusedDefaultBranch {
        /// The branch.
        branch: BranchName,
        /// Why it is not tm's to touch.
        protection: Protection,
    },
    /// Somebody else moved a reference first: look again and repeat.
    #[error("move `{reference}` from `{expected}`: it is at {}", found.as_ref().map_or("nothing".to_owned(), |found| format!("`{found}`")))]
    Moved {
        /// The reference.
        reference: String,
        /// Where it was expected.
        expected: CommitId,
        /// Where it is; `None` when it is gone.
        found: Option<CommitId>,
    },
    /// A base does not contain what a task depends on.
    #[error("use the base `{base}`: it does not contain `{missing}`")]
    MissingDependency {
        /// The base.
        base: CommitId,
        /// The commit of the dependency.
        missing: CommitId,
    },
    /// A worktree is not where it was put.
    #[error("check out `{expected}` in `{path}`: its HEAD is elsewhere")]
    WrongHead {
        /// The worktree.
        path: PathBuf,
        /// The commit or branch that was wanted.
        expected: String,
    },
    /// A folder is not a free worktree of the pool.
    #[error("take over the worktree `{path}`: {why}")]
    NotInPool {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// git refused a commit: a hook, signing, or its configuration.
    #[error("commit: git refused it: {why}\n{output}")]
    CommitRefused {
        /// The line that says why.
        why: String,
        /// What git and the hooks wrote.
        output: String,
    },
    /// A hook refused a commit or a merge.
    #[error("commit: the hook `{hook}` refuses it{}{why}\n{output}", if why.is_empty() { " and says nothing" } else { ": " })]
    HookRefused {
        /// Its name.
        hook: &'static str,
        /// The line that says why.
        why: String,
        /// What it wrote.
        output: String,
    },
    /// A worktree holds repositories of their own, whose files git would leave out.
    #[error("commit repositories inside the worktree: {}", named(.0))]
    NestedRepositories(Vec<PathBuf>),
    /// A commit is of another tree than was proven.
    #[error("use the commit `{commit}`: its tree is `{found}`, and `{expected}` was proven")]
    OtherTree {
        /// The commit.
        commit: CommitId,
        /// The tree that was proven.
        expected: String,
        /// Its tree.
        found: String,
    },
    /// Objects of the repository are not there, or are something else than their names say.
    #[error("believe objects of the repository: they are not what their names say: {0}")]
    ObjectsNotAsNamed(String),
    /// A merge would write over files of the user's that git ignores.
    #[error("merge over files that git ignores: {}", named(.0))]
    IgnoredInTheWay(Vec<PathBuf>),
    /// git would write through a link in its folder, or wait for what stands there.
    #[error("let git write into its folder: `{}` is {}", .0.display(), .1)]
    WrittenElsewhere(PathBuf, String),
    /// A folder is not the one that tm made there; nothing in it is touched.
    #[error("work in `{0}`: it is not the folder that tm made there")]
    NotOwn(PathBuf),
    /// git's own files of a worktree were changed by whoever worked there.
    #[error("take the work: git's own files were changed: {}", named(.0))]
    GitFilesChanged(Vec<PathBuf>),
    /// git can't take what is in a worktree as a tree.
    #[error("take the work: git refused it: {0}")]
    NotTaken(String),
    /// In a worktree lies what git would wait for, or read without an end.
    #[error("have git look at `{}`: {why}", path.display())]
    NotForGit {
        /// The file or folder.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// What was committed with a git folder of an agent's own is not as git leaves it, or more than may be.
    #[error("take over what was committed in the worktree: {0}")]
    NotTakenOver(String),
    /// A submodule can't be brought into a checkout.
    #[error(
        "get the submodule `{path}` at `{commit}`: {message}; `worktree.submodules: off` leaves its folder empty"
    )]
    Submodule {
        /// Where it belongs.
        path: PathBuf,
        /// The commit that the tree names.
        commit: CommitId,
        /// What stands in the way.
        message: String,
    },
    /// A tree has files that Git LFS keeps, and its program is not there.
    #[error(
        "check out files that Git LFS keeps: `git-lfs` is not installed; `worktree.lfs: off` does without them"
    )]
    LfsMissing,
    /// Git LFS can't bring a file.
    #[error(
        "check out files that Git LFS keeps: {0}; `git lfs fetch --all` brings them, `worktree.lfs: off` does without"
    )]
    LfsObjects(String),
    /// A file of a tree that is not the user's is kept by Git LFS elsewhere.
    #[error(
        "check out `{0}`, which Git LFS keeps: it is not here, and nothing is fetched for what agents wrote; `git lfs fetch --all` brings what its server has, `worktree.lfs: off` does without"
    )]
    LfsNotHere(String),
    /// A filter of the user's can't write a file of a tree.
    #[error("check out a tree, of which a smudge filter failed to write a file: {0}")]
    FilterFailed(String),
    /// A pattern for paths can't be read.
    #[error("read the pattern `{pattern}`")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A reference is not under `refs/tm/`.
    #[error("keep work under `{0}`: only names under `refs/tm/` are tm's")]
    ForeignReference(String),
    /// A file or folder can't be read or changed.
    #[error("{action} `{path}`")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// git answered in a form that tm does not know.
    #[error("understand what `git {command}` answered: {answer}")]
    Answer {
        /// The arguments.
        command: String,
        /// The beginning of the answer.
        answer: String,
    },
}

/// Why a branch is not tm's to touch.
#[derive(Clone, Copy, Debug)]
pub enum Protection {
    /// It is the repository's default branch.
    Default,
    /// It is checked out in the user's checkout.
    CheckedOut,
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Default => "the default branch",
            Self::CheckedOut => "checked out in your checkout",
        })
    }
}

impl Error {
    /// Tells whether the surroundings refused, such as a full disk or a lock of another git, so that the same step may
    /// go well later.
    pub fn is_of_surroundings(&self) -> bool {
        match self {
            Self::File { source, .. } => !tm_untrusted::is_of_what_is_there(source),
            // Whoever mends the repository can have the same step done.
            Self::GitMissing { .. }
            | Self::GitStopped { .. }
            | Self::ObjectsNotAsNamed { .. }
            | Self::LfsMissing
            | Self::LfsObjects { .. }
            | Self::LfsNotHere { .. }
            | Self::Submodule { .. } => true,
            _ => self.words().is_some_and(says_trouble_of_machine),
        }
    }

    /// Tells whether something that belongs to a tree and lies in no object of the repository could not be brought.
    pub const fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::LfsMissing
                | Self::LfsObjects { .. }
                | Self::LfsNotHere { .. }
                | Self::FilterFailed { .. }
                | Self::Submodule { .. }
        )
    }

    /// Tells whether it is the fault of whoever worked in a worktree that its work can't be taken.
    pub fn is_of_work(&self) -> bool {
        matches!(
            self,
            Self::NotOwn { .. }
                | Self::GitFilesChanged { .. }
                | Self::NotTaken { .. }
                | Self::NotForGit { .. }
                | Self::GitTookTooLong { .. }
                | Self::TreeTooLarge { .. }
                | Self::NestedRepositories { .. }
        )
    }

    /// Tells whether objects are missing that were there a moment ago, so that making them again may go well.
    pub fn is_of_collected_objects(&self) -> bool {
        let words = match self {
            Self::UnknownRevision(id) => {
                return id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            }
            Self::ObjectsNotAsNamed(words) => Some(words.as_str()),
            other => other.words(),
        };
        words.is_some_and(|words| says(words, &COLLECTED_WORDS))
    }

    /// Tells whether a git was ended before it had done what it was to do: it would not do it the next time.
    pub(crate) const fn is_of_time(&self) -> bool {
        matches!(self, Self::GitTookTooLong { .. } | Self::GitStopped { .. })
    }

    /// Says that nothing is found for a name.
    pub(crate) fn unknown(revision: impl fmt::Display) -> Self {
        Self::UnknownRevision(revision.to_string())
    }

    /// Says why a folder is not a free worktree of the pool.
    pub(crate) fn not_in_pool(path: &Path, why: &'static str) -> Self {
        Self::NotInPool {
            path: path.to_owned(),
            why,
        }
    }

    /// Returns the words of git, where it refused.
    fn words(&self) -> Option<&str> {
        match self {
            Self::Git { message: words, .. } | Self::CommitRefused { output: words, .. } => {
                Some(words)
            }
            // Hooks say what they want, and run what agents wrote.
            _ => None,
        }
    }
}

/// Says of an error of the system what was tried with which file.
pub(crate) trait OrFailedTo<T> {
    /// Returns what the system gave, or what failed: to `read`, to `write`, this file or folder.
    fn or_failed_to(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> OrFailedTo<T> for io::Result<T> {
    fn or_failed_to(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::File {
            action,
            path: path.into(),
            source,
        })
    }
}

/// The beginning of a command, which may name thousands of files.
fn beginning(command: &str) -> String {
    command.chars().take(MOST_OF_COMMAND).collect()
}

fn named(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| path.display()).collect();
    quoted_files(&names)
}
