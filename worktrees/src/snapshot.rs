//! The user's checkout as it is at a moment, to see whether somebody wrote there.

use crate::watched::{self, Watched};
use crate::work::line_counts;
use crate::{Error, Repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// So many changes are named at the most.
const SHOWN: usize = 40;
/// Lines of new files up to so many bytes are counted.
const COUNTED: u64 = 1024 * 1024;

/// What is compared: HEAD, its branch, the default branch, and every path that differs from HEAD.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckoutSnapshot {
    head: String,
    branch: Option<String>,
    default_branch: Option<String>,
    paths: BTreeMap<PathBuf, PathState>,
    watched: Watched,
}

/// The state of a path: what git says of it, and size and time of the file, so that a change to a file that differed
/// before is seen.
pub(crate) type PathState = (Vec<u8>, Option<(u64, Option<SystemTime>)>);

impl CheckoutSnapshot {
    /// Takes a snapshot that leaves out files which tm itself writes.
    ///
    /// # Errors
    /// git refused.
    pub fn take(repository: &Repository, own_files: &[PathBuf]) -> Result<Self, Error> {
        let head = repository.head()?;
        let default_branch = repository.default_branch()?;
        // What the remote calls the default branch need not be here.
        let tip =
            default_branch.and_then(|name| repository.resolve(&format!("refs/heads/{name}")).ok());
        let root = repository.checkout_root();
        let statuses = repository.git().statuses("--untracked-files=all");
        let mut paths = BTreeMap::new();
        for (letters, path) in statuses.map_err(crate::content::of_lfs)? {
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
            watched: repository.watched()?,
        })
    }

    /// Returns what is different later, each with what happened to it and how many lines that are.
    pub fn changes(&self, later: &Self, repository: &Repository) -> Vec<String> {
        let mut changes = Vec::new();
        if (&self.head, &self.branch) != (&later.head, &later.branch) {
            changes.push(format!(
                "HEAD (now {}, before {})",
                later.place(),
                self.place()
            ));
        }
        if self.default_branch != later.default_branch {
            let place = |tip: &Option<String>| tip.as_deref().map_or("nowhere", short).to_owned();
            let (now, before) = (place(&later.default_branch), place(&self.default_branch));
            changes.push(format!(
                "the default branch (now at {now}, before at {before})"
            ));
        }
        changes.extend(watched::changes(&self.watched, &later.watched));
        let counts = if later.paths == self.paths {
            BTreeMap::new()
        } else {
            changed_lines(repository)
        };
        let changed = later
            .paths
            .iter()
            .filter(|(path, state)| self.paths.get(*path) != Some(state));
        changes.extend(changed.map(|(path, (letters, _))| {
            let what = what_happened(letters, self.paths.get(path));
            format!(
                "{} ({what}{})",
                path.display(),
                lines_of(repository, path, letters, &counts)
            )
        }));
        let gone = self.paths.keys();
        let gone = gone.filter(|path| !later.paths.contains_key(*path));
        let back = "was changed before, and is as in HEAD now";
        changes.extend(gone.map(|path| format!("{} ({back})", path.display())));
        first_of(changes, SHOWN)
    }

    fn place(&self) -> String {
        match &self.branch {
            Some(branch) => format!("{branch} at {}", short(&self.head)),
            None => short(&self.head).to_owned(),
        }
    }
}

/// Returns the first of some changes, and how many more there are.
pub(crate) fn first_of(mut changes: Vec<String>, shown: usize) -> Vec<String> {
    let more = changes.len().saturating_sub(shown);
    if more > 0 {
        changes.truncate(shown);
        changes.push(format!("and {more} more"));
    }
    changes
}

/// Returns the state of a path now.
pub(crate) fn path_state(said: Vec<u8>, path: &Path) -> PathState {
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
    let git = repository.git();
    let listing = git.line("diff --numstat -z --no-renames HEAD").bytes();
    line_counts(&listing.unwrap_or_default())
        .filter_map(|(lines, path)| lines.map(|(new, gone)| (path, format!(", +{new} -{gone}"))))
        .collect()
}

/// A file of tm's, or one beside it that a writer makes for a moment.
fn is_same(own: &Path, path: &Path) -> bool {
    if path.starts_with(own) {
        return true;
    }
    let (Some(own_name), Some(name)) = (own.file_name(), path.file_name()) else {
        return false;
    };
    let name = name.to_string_lossy();
    own.parent() == path.parent()
        && (name.starts_with(&*own_name.to_string_lossy()) || name.starts_with(".tm-"))
}
