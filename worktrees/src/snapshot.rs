//! The user's checkout as it is at a moment, to see whether somebody wrote there, and the user's other worktrees, to say
//! what changed there while an agent worked.

use crate::git::{fields, path_of};
use crate::quiet::{Checkout, Statuses, is_same};
use crate::repository::git_folders::GitFolders;
use crate::repository::of_lfs;
use crate::repository::watched::{self, Watched, changed, gone};
use crate::work::line_counts;
use crate::{Repository, Result};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;
use tm_scheduler::CommitId;

/// So many changes are named at the most.
const SHOWN: usize = 40;
/// Lines of new files up to so many bytes are counted.
const COUNTED: u64 = 1024 * 1024;

/// What is compared: HEAD, its branch, the default branch, and every path that differs from HEAD.
#[derive(Clone, Debug, Default)]
pub struct CheckoutSnapshot {
    head: String,
    branch: Option<String>,
    default_branch: Option<String>,
    paths: Paths,
    watched: Watched,
    /// Where whoever works there was given git's folders.
    git_folders: Option<GitFolders>,
}

/// What is different in the user's checkout, in words.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CheckoutChanges {
    /// What people change when they work: where HEAD and the default branch are, and files.
    pub work: Vec<String>,
    /// What decides how git works.
    pub settings: Vec<String>,
}

/// The state of a path: what git says of it, and size and time of the file, so that a change to a file that differed
/// before is seen.
type PathState = (Vec<u8>, Option<(u64, Option<SystemTime>)>);

/// Paths that differ from HEAD.
type Paths = BTreeMap<PathBuf, PathState>;

impl CheckoutSnapshot {
    /// Takes a snapshot that leaves out files which tm itself writes.
    ///
    /// # Errors
    /// git refused.
    pub fn take(repository: &Repository, own_files: &[PathBuf]) -> Result<Self> {
        let git_folders = GitFolders::at_the_top(repository);
        let head = repository.head()?;
        let default_branch = repository.default_branch()?;
        // What the remote calls the default branch need not be here.
        let tip =
            default_branch.and_then(|name| repository.resolve(&format!("refs/heads/{name}")).ok());
        let root = repository.checkout_root();
        let mut paths = BTreeMap::new();
        for (letters, path) in statuses(repository, &head.commit, own_files)? {
            let file = root.join(&path);
            if !own_files.iter().any(|own| is_same(own, &file)) {
                paths.insert(path, path_state(letters, &file));
            }
        }
        Ok(Self {
            head: head.commit.to_string(),
            branch: head.branch,
            default_branch: tip.map(|tip| tip.to_string()),
            paths,
            watched: repository.watched(&git_folders)?,
            git_folders: None,
        })
    }

    /// Takes a snapshot of what decides how git works, and of no work.
    ///
    /// # Errors
    /// git refused.
    pub fn of_settings(repository: &Repository) -> Result<Self> {
        let git_folders = GitFolders::look(repository);
        let settings = Self::of_settings_in(repository, &git_folders)?;
        Ok(Self {
            git_folders: Some(git_folders.with_believed(repository)),
            ..settings
        })
    }

    /// Takes a snapshot of what decides how git works, where git's folders were looked through.
    ///
    /// # Errors
    /// git refused.
    pub fn of_settings_in(repository: &Repository, folders: &GitFolders) -> Result<Self> {
        Ok(Self {
            watched: repository.watched(folders)?,
            ..Self::default()
        })
    }

    /// Takes a snapshot of what decides how the next agent is held, and of nothing else.
    pub fn of_settings_of_tm(repository: &Repository) -> Self {
        Self {
            watched: repository.settings_of_tm(),
            ..Self::default()
        }
    }

    /// Takes away what is in git's folders since, and neither a file nor a folder: git would write where it leads, or wait
    /// for it for ever. Has git's folders found as before, and returns in words what that was, and what lies there; asks git
    /// nothing before that. `None` where they were given to nobody.
    pub fn put_git_right(&self, repository: &Repository) -> Option<(Vec<String>, GitFolders)> {
        let (words, folders) = self.git_folders.as_ref()?.put_right(repository);
        Some((first_of(words, SHOWN), folders))
    }

    /// Returns what is different later, each with what happened to it and how many lines that are.
    ///
    /// It says how things are now, and not how they were: so two looks of which one began earlier say the same.
    pub fn changes(&self, later: &Self, repository: &Repository) -> CheckoutChanges {
        let mut changes = Vec::new();
        if (&self.head, &self.branch) != (&later.head, &later.branch) {
            changes.push(format!("HEAD (now {})", later.place()));
        }
        if self.default_branch != later.default_branch {
            let now = later.default_branch.as_deref().map_or("nowhere", short);
            changes.push(format!("the default branch (now at {now})"));
        }
        let counts = if later.paths == self.paths {
            BTreeMap::new()
        } else {
            changed_lines(repository)
        };
        changes.extend(
            changed(&self.paths, &later.paths).map(|(path, (letters, _))| {
                let what = what_happened(letters, self.paths.get(path));
                let lines = lines_of(repository, path, letters, &counts);
                format!("{} ({what}{lines})", path.display())
            }),
        );
        let back = "was changed before, and is as in HEAD now";
        changes.extend(
            gone(&self.paths, &later.paths).map(|path| format!("{} ({back})", path.display())),
        );
        CheckoutChanges {
            work: first_of(changes, SHOWN),
            settings: first_of(watched::changes(&self.watched, &later.watched), SHOWN),
        }
    }

    fn place(&self) -> String {
        match &self.branch {
            Some(branch) => format!("{branch} at {}", short(&self.head)),
            None => short(&self.head).to_owned(),
        }
    }
}

/// Returns the first of some changes, and how many more there are.
fn first_of(mut changes: Vec<String>, shown: usize) -> Vec<String> {
    let more = changes.len().saturating_sub(shown);
    if more > 0 {
        changes.truncate(shown);
        changes.push(format!("and {more} more"));
    }
    changes
}

/// Returns what differs from HEAD in the user's checkout; in a run git is asked only where something was written since.
pub(crate) fn statuses(
    repository: &Repository,
    head: &CommitId,
    own_files: &[PathBuf],
) -> Result<Statuses> {
    let ask = |words| repository.git_comparing(words).statuses().map_err(of_lfs);
    let Some(last) = repository.own().map(|own| &own.last_status) else {
        return ask("status --untracked-files=all");
    };
    let checkout = Checkout {
        root: repository.checkout_root(),
        index: repository.git_dir().join("index"),
        head,
        own_files,
    };
    let ask_for_all = || ask("status --untracked-files=all --ignored=matching");
    last.lock().statuses(&checkout, ask_for_all)
}

/// Returns the state of a path now.
fn path_state(said: Vec<u8>, path: &Path) -> PathState {
    let metadata = std::fs::symlink_metadata(path).ok();
    (
        said,
        metadata.map(|metadata| (metadata.len(), metadata.modified().ok())),
    )
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Says what git's two letters mean.
fn what_happened(letters: &[u8], before: Option<&PathState>) -> &'static str {
    match (letters, before) {
        (_, Some(_)) => "changed again",
        (b"??", None) => "new",
        (letters, None) if letters.contains(&b'D') => "deleted",
        (letters, None) if letters.contains(&b'A') => "added",
        (_, None) => "modified",
    }
}

/// Returns the lines that are new and gone since HEAD, nothing where they can't be counted.
fn lines_of(
    repository: &Repository,
    path: &Path,
    letters: &[u8],
    counts: &BTreeMap<PathBuf, String>,
) -> String {
    if letters == b"??" {
        let bytes = tm_untrusted::read(&repository.checkout_root().join(path), COUNTED);
        let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        return text.map_or_else(String::new, |text| format!(", +{}", text.lines().count()));
    }
    counts.get(path).cloned().unwrap_or_default()
}

/// Returns the lines that are new and gone since HEAD in each file that git knows and whose lines it counts.
fn changed_lines(repository: &Repository) -> BTreeMap<PathBuf, String> {
    let listing = repository
        .git_comparing("diff --numstat -z --no-renames HEAD")
        .bytes();
    line_counts(&listing.unwrap_or_default())
        .filter_map(|(lines, path)| lines.map(|(new, gone)| (path, format!(", +{new} -{gone}"))))
        .collect()
}

/// So many changes in other worktrees are named at the most.
const SHOWN_OF_OTHERS: usize = 20;

/// The user's other worktrees: where each of them stands, and every path in it that differs from its HEAD.
///
/// People work in them meanwhile, so a change there fails nobody. Worktrees of tm's own are left out: what does not
/// belong there never gets into a commit that was not proven.
#[derive(Clone, Debug)]
pub struct OtherWorktrees(BTreeMap<PathBuf, State>);

#[derive(Clone, Debug, Default)]
struct State {
    /// Commit and branch, as git says it.
    head: Vec<String>,
    paths: Paths,
}

impl OtherWorktrees {
    /// Looks at all worktrees but the user's checkout and those below `own`.
    ///
    /// # Errors
    /// git refused.
    pub fn take(repository: &Repository, own: &Path) -> Result<Self> {
        // git lists them by their real paths.
        let real = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        let is_plain = |path: &Path| path.components().all(|part| part != Component::ParentDir);
        // Whose name leads there is not looked at: a run has many.
        let is_named_own =
            |root: &Path| (root.starts_with(own) || root.starts_with(&real)) && is_plain(root);
        let own = &real;
        let mut others = BTreeMap::new();
        for (_, folder) in repository.main_and_linked_but(is_named_own) {
            let is_other = folder != repository.checkout_root() && !folder.starts_with(own);
            // A bare repository has no files, and a worktree that was deleted has none any more.
            if is_other && folder.join(".git").exists() {
                let state = State::of(repository, &folder)?;
                others.insert(folder, state);
            }
        }
        Ok(Self(others))
    }

    /// Returns what is different later, in words.
    pub fn changes(&self, later: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (folder, now) in &later.0 {
            let before = self.0.get(folder).cloned().unwrap_or_default();
            if before.head != now.head {
                changes.push(format!("HEAD of {}", folder.display()));
            }
            changes.extend(
                changed(&before.paths, &now.paths)
                    .map(|(path, _)| path)
                    .chain(gone(&before.paths, &now.paths))
                    .map(|path| folder.join(path).display().to_string()),
            );
        }
        first_of(changes, SHOWN_OF_OTHERS)
    }
}

impl State {
    fn of(repository: &Repository, folder: &Path) -> Result<Self> {
        let listing = repository
            .git_at_other_checkout(folder)?
            .line("status --porcelain=v2 --branch -z --no-renames --untracked-files=all")
            .bytes()?;
        let mut state = Self::default();
        for entry in fields(&listing) {
            // The path comes last, after so many words.
            let words = match entry.first() {
                Some(b'#') => {
                    state.head.push(String::from_utf8_lossy(entry).into_owned());
                    continue;
                }
                Some(b'1') => 9,
                Some(b'u') => 11,
                _ => 2,
            };
            let Some(path) = entry
                .splitn(words, |&byte| byte == b' ')
                .nth(words - 1)
                .map(path_of)
            else {
                continue;
            };
            let now = path_state(entry.to_vec(), &folder.join(&path));
            state.paths.insert(path, now);
        }
        Ok(state)
    }
}
