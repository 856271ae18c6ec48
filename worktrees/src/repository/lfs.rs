//! How Git LFS brings files into tm's checkouts: what is here is written, and nothing is fetched but for the commit that a run
//! began with. A tree of an agent's says in `.lfsconfig` where files are, and would be asked for them in the user's name.

use super::ContentRules;
use crate::error::says_trouble_of_disk;
use crate::files::{create_folder, names_in, replace};
use crate::git::{Git, LONGEST_OF_NETWORK};
use crate::{Environment, Error, Repository, Result, TreeId};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::OnceLock;
use tm_scheduler::{Bring, CommitId};

/// Has LFS ask nobody, and fail for a file that is not here: a place that is none, reached by a program that is not there.
const ASKS_NOBODY: [&str; 4] = [
    "lfs.url=https://tm.invalid/",
    "lfs.standalonetransferagent=tm-asks-nobody",
    "lfs.customtransfer.tm-asks-nobody.path=/dev/null/none",
    "lfs.skipdownloaderrors=false",
];
/// Which files stay the few lines that name them, because the user wants no more of them.
const LEFT_OUT: [&str; 2] = ["lfs.fetchinclude", "lfs.fetchexclude"];
/// The variable by which all files stay such lines.
const NO_SMUDGE: &str = "GIT_LFS_SKIP_SMUDGE";
/// Where a tree says what LFS is to do.
const OF_TREE: &str = ".lfsconfig";

/// So many bytes are taken over of what hooks had it keep.
const MOST_TAKEN: u64 = 1024 * 1024 * 1024;
/// Begins what a held filter says among what git says.
const FILTER_SAYS: &str = "filter: ";

/// What is known of files that LFS keeps, as long as a pool is open.
#[derive(Debug, Default)]
pub(crate) struct LfsState {
    /// The commit of the user's, whose files may be fetched.
    base: OnceLock<CommitId>,
    is_fetched: Mutex<bool>,
    /// The settings of [`LEFT_OUT`], as they are for all trees.
    left_out: OnceLock<Vec<String>>,
}

/// Settings for a call of git that writes files, whatever the tree, the user and the environment say.
#[derive(Debug)]
pub(crate) struct OrdersToLfs(Vec<String>);

impl OrdersToLfs {
    /// Has what is here written, and nothing asked for.
    pub(crate) fn asking_nobody() -> Self {
        Self(ASKS_NOBODY.map(str::to_owned).to_vec())
    }

    /// Adds them to a call that has no words yet.
    pub(crate) fn to(&self, git: Git) -> Git {
        let settings = self.0.iter();
        let given = settings.fold(git, |git, setting| git.setting(setting));
        given.variable(NO_SMUDGE, "0")
    }
}

impl Repository {
    /// Says once which commit is the user's: what LFS keeps of it is fetched where it is not here, and of nothing else.
    ///
    /// What a partial clone lacks of it is fetched now, as git itself does, since nothing is later.
    ///
    /// # Errors
    /// git could not fetch it.
    pub fn fetches_for(&self, base: &CommitId) -> Result<()> {
        self.lfs.base.get_or_init(|| base.clone());
        self.bring_lacking(base)
    }

    /// Refuses a tree whose files can't be written as they are, because the program that keeps them is not there.
    pub(crate) fn assert_lfs(&self, tree: &TreeId) -> Result<()> {
        let lfs = self.content_rules.lfs;
        if lfs == Bring::Off || !self.content_of(tree)?.has_lfs || is_lfs_there() {
            return Ok(());
        }
        Err(Error::LfsMissing)
    }

    /// Returns what LFS is told where files of a tree are written.
    pub(crate) fn orders_to_lfs(&self, tree: &TreeId) -> Result<OrdersToLfs> {
        let mut orders = OrdersToLfs::asking_nobody();
        // The user's own attributes may give files to LFS where the tree's don't.
        if self.content_rules.lfs == Bring::Off || !self.content_of(tree)?.has_lfs {
            return Ok(orders);
        }
        if self.lfs.left_out.get().is_none() {
            let left_out = self.left_out()?;
            self.lfs.left_out.get_or_init(|| left_out);
        }
        orders
            .0
            .extend(self.lfs.left_out.get().into_iter().flatten().cloned());
        Ok(orders)
    }

    /// What the user left out, by settings or in the commit that is the user's: no other tree has a say.
    fn left_out(&self) -> Result<Vec<String>> {
        let base = self.lfs.base.get();
        let of_base = match base {
            Some(base) if self.text_at(base, OF_TREE)?.is_some() => Some(base),
            Some(_) | None => None,
        };
        let mut found = Vec::new();
        for key in LEFT_OUT {
            let of_user = self.configured(key)?;
            let of_tree = |base| {
                let blob = format!("--blob={base}:{OF_TREE}");
                let git = self.git_on_objects("config").arg(blob);
                git.args(["--get", key]).text_if_any()
            };
            let value = match (of_user, of_base) {
                (None, Some(base)) => of_tree(base)?,
                (of_user, _) => of_user,
            };
            found.push(format!("{key}={}", value.unwrap_or_default()));
        }
        Ok(found)
    }

    /// Fetches what is not here of the user's commit, once, as `git lfs fetch` does in the user's checkout; tells whether
    /// there is such a commit.
    fn fetch_lfs(&self) -> Result<bool> {
        let Some(base) = self
            .lfs
            .base
            .get()
            .filter(|_| !self.environment.is_written_by_agents())
        else {
            return Ok(false);
        };
        // Whoever comes meanwhile waits for what is fetched.
        let mut is_fetched = self.lfs.is_fetched.lock();
        if !*is_fetched {
            let git = self
                .git_at_checkout("lfs fetch")
                .at_most(LONGEST_OF_NETWORK);
            let git = match self.lfs_remote()? {
                Some(remote) => git.arg(remote).commit(base),
                None => git,
            };
            git.done().map_err(not_fetched)?;
            *is_fetched = true;
        }
        Ok(true)
    }

    /// Takes files over that LFS keeps in a folder which anybody may have written, each by its content, within bounds.
    pub(crate) fn take_over_lfs(&self, folder: &Path, objects: &str) -> Result<()> {
        let store = self.common_dir().join("lfs/objects");
        let mut left = MOST_TAKEN;
        for first in names_in(&folder.join(objects)) {
            for second in names_in(&folder.join(objects).join(&first)) {
                let within = Path::new(objects).join(&first).join(&second);
                for name in names_in(&folder.join(&within)) {
                    let kept = store.join(&first).join(&second).join(&name);
                    if !kept.exists() {
                        left = take_file(folder, &within.join(&name), &kept, left)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The remote that LFS takes where none is named.
    fn lfs_remote(&self) -> Result<Option<String>> {
        if let Some(branch) = self.head()?.branch
            && let Some(remote) = self.configured(&format!("branch.{branch}.remote"))?
        {
            return Ok(Some(remote));
        }
        if let Some(remote) = self.configured("remote.lfsdefault")? {
            return Ok(Some(remote));
        }
        let mut remotes = self.remotes()?;
        Ok(match remotes.len() {
            0 | 1 => remotes.pop(),
            _ => Some("origin".to_owned()),
        })
    }

    /// Has git write files of a tree; where one is not here that LFS keeps, what may be fetched is, and git has another try.
    pub(crate) fn writing_lfs(&self, write: impl Fn() -> Result<()>) -> Result<()> {
        match write() {
            Err(error) if is_not_here(&error) && self.fetch_lfs()? => write().map_err(not_here),
            written => written.map_err(not_here),
        }
    }
}

/// Copies a file to where its content says that it belongs; returns how many bytes are left to be taken.
fn take_file(folder: &Path, file: &Path, kept: &Path, left: u64) -> Result<u64> {
    let shown = file.display();
    let refused = |why: String| Error::NotTakenOver(format!("`{shown}` of LFS: {why}"));
    let content = tm_untrusted::read_beneath(folder, file, left)
        .map_err(|error| refused(error.to_string()))?;
    let digest = Sha256::digest(&content);
    let id = digest
        .iter()
        .fold(String::new(), |id, byte| id + &format!("{byte:02x}"));
    if kept.file_name().is_none_or(|name| name != &*id)
        || !kept.ends_with(format!("{}/{}/{id}", &id[..2], &id[2..4]))
    {
        return Err(refused(
            "its content is another one than its name says".to_owned(),
        ));
    }
    create_folder(kept.parent().unwrap_or(kept))?;
    replace(kept, &content)?;
    Ok(left - content.len() as u64)
}

/// Whether the program is in the search path.
fn is_lfs_there() -> bool {
    Environment::default().finds("git-lfs")
}

/// Returns what git's own settings say of LFS on top of the user's: `None` where those count.
pub(crate) fn lfs_settings(rules: ContentRules) -> Option<&'static str> {
    match (rules.lfs, is_lfs_there()) {
        // Whoever has never run `git lfs install` has no filter.
        (Bring::Auto | Bring::On, true) => Some(
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\
             \tprocess = git-lfs filter-process\n\trequired = true\n",
        ),
        (Bring::Auto | Bring::On, false) => None,
        (Bring::Off, true) => Some(
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge --skip -- %f\n\
             \tprocess = git-lfs filter-process --skip\n\trequired = true\n",
        ),
        (Bring::Off, false) => {
            Some("[filter \"lfs\"]\n\tclean =\n\tsmudge =\n\tprocess =\n\trequired = false\n")
        }
    }
}

/// Says that it is LFS which could not bring a file, where it is.
pub(crate) fn of_lfs(error: Error) -> Error {
    match error {
        Error::Git { message, .. } if is_of_filter(&message) && !is_lfs_there() => {
            Error::LfsMissing
        }
        Error::Git { message, .. } if is_of_filter(&message) && !says_trouble_of_disk(&message) => {
            Error::LfsObjects(told(&message))
        }
        Error::Git { message, .. } if message.contains(SMUDGE_FAILED) => {
            Error::FilterFailed(told(&message))
        }
        error => error,
    }
}

/// By these words git says that a filter could not write a file.
const SMUDGE_FAILED: &str = ": smudge filter ";

/// Whether LFS would have had to fetch a file.
fn is_not_here(error: &Error) -> bool {
    matches!(error, Error::Git { message, .. } if is_of_filter(message) && message.contains("ownloading"))
}

/// Says which file is not here, or what else of LFS went wrong.
pub(crate) fn not_here(error: Error) -> Error {
    match &error {
        Error::Git { message, .. } if is_lfs_there() && is_not_here(&error) => {
            Error::LfsNotHere(file_of(message))
        }
        _ => of_lfs(error),
    }
}

fn not_fetched(error: Error) -> Error {
    match error {
        Error::Git { message, .. } if !says_trouble_of_disk(&message) => {
            Error::LfsObjects(told(&message))
        }
        error => error,
    }
}

/// The file that git names as the one that it could not write.
fn file_of(message: &str) -> String {
    let named = message
        .lines()
        .find_map(|line| line.trim().strip_suffix(": smudge filter lfs failed"));
    let named = named.map(|line| {
        line.trim_start_matches("fatal: ")
            .trim_start_matches("error: ")
    });
    named.unwrap_or("a file").to_owned()
}

fn is_of_filter(message: &str) -> bool {
    let words = ["smudge filter lfs failed", "filter-process", "git-lfs"];
    // What other filters say is theirs.
    let mut lines = message
        .lines()
        .filter(|line| !line.starts_with(FILTER_SAYS));
    lines.any(|line| words.iter().any(|word| line.contains(word)))
}

/// The lines that say why, without those that say where to look for more.
fn told(message: &str) -> String {
    let is_said_besides = |line: &str| {
        ["Errors logged", "hint:", "Use `git lfs logs"]
            .iter()
            .any(|words| line.starts_with(words))
    };
    message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !is_said_besides(line))
        .take(6)
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "Downloading a b.bin (8 B)\n\
        Error downloading object: a b.bin (434728a): Smudge error: EOF\n\
        error: external filter 'git-lfs filter-process' failed\n\
        fatal: a b.bin: smudge filter lfs failed";

    fn refused(message: &str) -> Error {
        Error::Git {
            command: "read-tree".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_file_that_is_not_here_is_told_from_other_trouble() {
        assert!(is_not_here(&refused(REFUSED)));
        assert!(!is_not_here(&refused(
            "error: external filter 'git-lfs filter-process' failed"
        )));
        assert!(!is_not_here(&refused(
            "fatal: Downloading is no word of a filter"
        )));
        assert_eq!(file_of(REFUSED), "a b.bin");
        assert_eq!(file_of("fatal: the remote end hung up"), "a file");
    }
}
