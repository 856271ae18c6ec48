//! What decides how git works for the user, as it is at a moment: configuration, hooks and `info/`.
//!
//! tm itself reads none of it while agents work (`own.rs`); the user's own commands do.

use crate::files::{FileState, beginning, state_of};
use crate::git::fields;
use crate::repository::git_folders::{GitFolders, POINTERS};
use crate::repository::settings::{HooksFolder, Settings};
use crate::{Error, Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use tm_untrusted::entries;

/// What decides how the next agent is held.
pub const SETTINGS_OF_TM: [&str; 3] = [
    ".taskmaster/tm.yaml",
    ".taskmaster/config.json",
    ".claude/agent-alchemy.local.md",
];
/// What is said where git can't read its configuration.
const UNREADABLE: &str = "the configuration can't be read";
/// What keys begin with that say something of a branch.
const OF_BRANCH: &str = "branch.";
/// The digest of a file that names the common folder where it is for every checkout.
const USUAL_COMMON_DIR: u64 = 0;
/// So much of a file is compared.
const MOST_BYTES: usize = 1024 * 1024;
/// So many files of a folder are looked at.
const MOST_FILES: usize = 500;

/// A digest of each thing, by its name.
pub(crate) type Watched = BTreeMap<String, u64>;

/// The configuration that was listed last, and the files that it came from as they were then.
#[derive(Debug, Default)]
pub(crate) struct ListedSettings(Option<(BTreeMap<PathBuf, Seen>, Settings)>);

/// What a file was: its state, and a digest of what it held, which no state tells of where it was written through a mapping.
type Seen = (FileState, Option<u64>);

fn seen(path: &Path) -> Seen {
    let content = tm_untrusted::read_own(path, MOST_BYTES as u64);
    (state_of(path), content.ok().map(|bytes| hash_of(&bytes)))
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Repository {
    /// Looks at everything that is watched.
    pub(crate) fn watched(&self, folders: &GitFolders) -> Result<Watched> {
        let settings = match self.live_settings() {
            Ok(settings) => settings,
            // Whoever made it so is told from that it could be read before.
            Err(Error::Git { .. }) => return Ok(Watched::from([(UNREADABLE.to_owned(), 0)])),
            Err(error) => return Err(error),
        };
        let mut watched = settings.digests();
        let common = self.common_dir();
        let named = |path: PathBuf| {
            let within = path.strip_prefix(common).unwrap_or(&path);
            let name = format!(".git/{}", within.display());
            (path, name)
        };
        let mut files: Vec<_> = folders.deciding.iter().cloned().map(named).collect();
        let mut folders = vec![(common.join("refs/replace"), "refs/replace")];
        if let HooksFolder::Named(path) = settings.hooks(self)
            && path.is_absolute()
        {
            folders.push((path, "core.hooksPath"));
        }
        for (folder, name) in folders {
            files.extend(entries(&folder).take(MOST_FILES).map(|entry| {
                let file = entry.file_name().to_string_lossy().into_owned();
                (entry.path(), format!("{name}/{file}"))
            }));
        }
        watched.extend(
            files
                .into_iter()
                .filter_map(|(path, name)| Some((name, digest_of_file(&path)?))),
        );
        if self.of_user.is_written_by_agents() {
            watched.extend(self.settings_of_tm());
            watched.extend(self.replaced());
        }
        let git = self.checkout_root().join(".git");
        watched.extend(digest_of_git(&git).map(|digest| (".git".to_owned(), digest)));
        Ok(watched)
    }

    /// Looks at which objects git takes for others, wherever it keeps that.
    fn replaced(&self) -> Watched {
        let git = self.git_as_user("for-each-ref --format=%(refname)%20%(objectname) refs/replace");
        let digest = |line: String| {
            let (name, id) = line.split_once(' ')?;
            Some((name.to_owned(), hash_of(id.as_bytes())))
        };
        git.lines().map_or_else(
            |_| Watched::from([("refs/replace".to_owned(), 0)]),
            |lines| lines.into_iter().filter_map(digest).collect(),
        )
    }

    /// Looks at what decides how the next agent is held.
    pub(crate) fn settings_of_tm(&self) -> Watched {
        let digest = |name: &str| {
            let digest = digest_of_settings(&self.checkout_root().join(name))?;
            Some((name.to_owned(), digest))
        };
        SETTINGS_OF_TM.into_iter().filter_map(digest).collect()
    }

    /// The configuration as it is now in the user's checkout; asked of git again only when one of its files changed.
    pub(crate) fn live_settings(&self) -> Result<Settings> {
        let mut listed = self.listed.lock();
        if let Some((files, settings)) = &listed.0
            && files.iter().all(|(path, before)| seen(path) == *before)
        {
            return Ok(settings.clone());
        }
        let origins = self
            .git_as_user("config --list --includes --show-origin --name-only -z")
            .bytes()?;
        let named = fields(&origins).step_by(2).filter_map(|origin| {
            let path = std::str::from_utf8(origin).ok()?.strip_prefix("file:")?;
            Some(self.checkout_root().join(path))
        });
        let environment = &self.of_user;
        // Those that are not there yet can come.
        let usual = [
            Some(self.common_dir().join("config")),
            Some(self.git_dir().join("config.worktree")),
            Some(environment.home_path("~/.gitconfig")),
            environment.path("GIT_CONFIG_GLOBAL"),
            environment
                .configuration_folder()
                .map(|folder| folder.join("git/config")),
        ];
        let files = named
            .chain(usual.into_iter().flatten())
            .map(|path| (path.clone(), seen(&path)))
            .collect();
        let settings = Settings::of(self.git_as_user("config"))?;
        // What they include may come from a file that is not there yet, or once another branch is checked out.
        let includes = |(key, _): &(String, Option<String>)| key.starts_with("include");
        let is_all = !settings.entries.iter().any(includes);
        listed.0 = is_all.then(|| (files, settings.clone()));
        Ok(settings)
    }
}

/// Returns what is different later, in words.
pub(crate) fn changes(before: &Watched, later: &Watched) -> Vec<String> {
    if later.contains_key(UNREADABLE) && !before.contains_key(UNREADABLE) {
        return vec![format!("git's settings: {UNREADABLE}")];
    }
    let new_or_other = changed(before, later).map(|(name, _)| {
        let what = if before.contains_key(name) {
            "changed"
        } else {
            "new"
        };
        (name, what)
    });
    let gone = gone(before, later).map(|name| (name, "gone"));
    // A checkout comes and goes with what says where it is.
    let is_everyday = |name: &str, what: &str| match (what, pointer_of_checkout(name)) {
        ("gone", Some(_)) | ("new", Some("gitdir")) => true,
        ("new", Some(_)) => later.get(name) == Some(&USUAL_COMMON_DIR),
        (_, _) => false,
    };
    new_or_other
        .chain(gone)
        .filter(|(name, what)| !is_everyday(name, what))
        .map(|(name, what)| {
            let is_of_tm = SETTINGS_OF_TM.contains(&name.as_str());
            let whose = if is_of_tm { "tm" } else { "git" };
            format!("{whose}'s settings: {name} ({what})")
        })
        .collect()
}

/// Returns which of the files that say where another checkout's folders are this is.
fn pointer_of_checkout(name: &str) -> Option<&'static str> {
    let (_, file) = name.strip_prefix(".git/worktrees/")?.split_once('/')?;
    POINTERS.into_iter().find(|it| *it == file)
}

/// Returns what is new later, or other than before.
pub(crate) fn changed<'a, K: Ord, V: PartialEq>(
    before: &'a BTreeMap<K, V>,
    later: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, &'a V)> {
    later
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value))
}

/// Returns what is not there any more later.
pub(crate) fn gone<'a, K: Ord, V>(
    before: &'a BTreeMap<K, V>,
    later: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = &'a K> {
    before.keys().filter(|key| !later.contains_key(key))
}

impl Settings {
    /// A digest of all values of each key.
    fn digests(&self) -> Watched {
        let remotes = self.remotes();
        let mut hashers: BTreeMap<&str, DefaultHasher> = BTreeMap::new();
        let compared = self.entries.iter().filter(|(key, value)| {
            let of_branch = key.strip_prefix(OF_BRANCH);
            !of_branch.is_some_and(|rest| is_everyday(rest, value.as_deref(), &remotes))
        });
        for (key, value) in compared {
            value.hash(hashers.entry(key).or_default());
        }
        hashers
            .into_iter()
            .map(|(key, hasher)| (key.to_owned(), hasher.finish()))
            .collect()
    }

    /// Returns the names of remotes whose addresses are set up, and so compared. What is not ASCII may have been read from
    /// other bytes (`text_of`).
    fn remotes(&self) -> BTreeSet<&str> {
        let is_url = |(name, what): &(&str, &str)| *what == "url" && name.is_ascii();
        let keys = self.entries.iter().map(|(key, _)| key.as_str());
        keys.filter_map(|key| key.strip_prefix("remote.")?.rsplit_once('.'))
            .filter(is_url)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Whether everyday commands write this of a branch, so that it says nothing of how git works. What it is pulled from or
/// pushed to leads elsewhere unless it names a remote: git takes any other value for an address, and runs what lies there.
fn is_everyday(of_branch: &str, value: Option<&str>, remotes: &BTreeSet<&str>) -> bool {
    match of_branch.rsplit_once('.') {
        Some((_, "remote" | "pushremote")) => {
            value.is_some_and(|name| name == "." || remotes.contains(name))
        }
        Some((_, "mergeoptions")) => false,
        Some(_) | None => true,
    }
}

/// Git's folder is another one when its number is, whatever is written in it; a file says where it is.
fn digest_of_git(path: &Path) -> Option<u64> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_dir() {
        return digest_of(path);
    }
    let mut hasher = DefaultHasher::new();
    (metadata.mode(), metadata.dev(), metadata.ino()).hash(&mut hasher);
    Some(hasher.finish())
}

/// Whose hooks lie in the checkout has them run there as they are, links among them.
fn digest_of_file(path: &Path) -> Option<u64> {
    let is_hook = path.iter().any(|part| part == "hooks");
    if is_hook {
        digest_of(path)
    } else {
        digest_of_settings(path)
    }
}

/// Whether a file names the common folder as git does for a checkout of its.
fn is_usual_common_dir(path: &Path) -> bool {
    let said = || beginning(path, MOST_BYTES).ok();
    let is_usual = |said: Vec<u8>| said == b"../.." || said == b"../..\n";
    path.ends_with("commondir") && said().is_some_and(is_usual)
}

/// As `digest_of`, with what a link leads to: settings may lie elsewhere, and be written there.
fn digest_of_settings(path: &Path) -> Option<u64> {
    if is_usual_common_dir(path) {
        return Some(USUAL_COMMON_DIR);
    }
    let own = digest_of(path)?;
    if !path.is_symlink() {
        return Some(own);
    }
    let mut hasher = DefaultHasher::new();
    let led_to = path.canonicalize().ok();
    (own, led_to.as_deref().and_then(digest_of), led_to).hash(&mut hasher);
    Some(hasher.finish())
}

fn digest_of(path: &Path) -> Option<u64> {
    let metadata = path.symlink_metadata().ok()?;
    let mut hasher = DefaultHasher::new();
    metadata.mode().hash(&mut hasher);
    match beginning(path, MOST_BYTES) {
        Ok(bytes) => bytes.hash(&mut hasher),
        // A link, a pipe, or something long is known by its looks.
        Err(_) => (
            metadata.len(),
            metadata.ino(),
            metadata.ctime_nsec(),
            metadata.ctime(),
        )
            .hash(&mut hasher),
    }
    Some(hasher.finish())
}
