//! What git is told by configuration, hooks and `info/`, as it was when a run began.

use crate::files::{create_folder, replace};
use crate::git::{Git, pairs};
use crate::reader::LibraryWrites;
use crate::repository::content::COMMANDS_OF_FILTER;
use crate::repository::handed_down::starts_commands;
use crate::{Environment, OrFailedTo as _, Repository, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use tm_untrusted::entries;

/// The file with what the user's own files say.
pub(crate) const TAKEN: &str = "settings";
/// The file with what agents are told of it in git folders of their own.
pub(crate) const FOR_AGENTS: &str = "settings-for-agents";
/// The file that names other stores of objects.
pub(crate) const ALTERNATES: &str = "objects/info/alternates";
pub(crate) const ALTERNATES_BYTES: usize = 1024 * 1024;
/// The copies of hooks: of those in the repository, and of those in the checkout where the configuration names a folder
/// there.
pub(crate) const HOOKS: &str = "hooks";
pub(crate) const HOOKS_OF_TREE: &str = "hooks-of-tree";
/// So much of a folder in the checkout with hooks is copied, in files.
const MOST_FILES: usize = 1_000;
/// A longer file of settings, or hook, is none that a person wrote.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Sections that say where a repository is, or what is left out of sight, or that other files are read: none of them
/// holds for git folders of tm's own. What a branch is pulled from is nothing to tm.
const LEFT_OUT: [&str; 5] = [
    "include.",
    "includeif.",
    "branch.",
    "extensions.",
    LFS_EXTENSIONS,
];
/// What LFS has commands of the user's for, which it starts in the checkout.
pub(super) const LFS_EXTENSIONS: &str = "lfs.extension.";
/// Tells that there are such, which are not used.
pub(crate) const HAS_LFS_EXTENSIONS: &str = "tm.lfsextensions";
const KEYS_LEFT_OUT: [&str; 6] = [
    "core.worktree",
    "core.bare",
    "core.repositoryformatversion",
    "core.sparsecheckout",
    "core.excludesfile",
    "core.attributesfile",
];
/// The key that names the folder of hooks.
pub(crate) const HOOKS_PATH: &str = "core.hookspath";
const REF_STORAGE: &str = "extensions.refstorage";
/// Keys of the format of a repository that a folder sharing its objects has too.
const FORMAT: [&str; 4] = [
    "core.repositoryformatversion",
    "extensions.objectformat",
    REF_STORAGE,
    "extensions.partialclone",
];

/// What keys begin with that say how git writes objects.
const OF_WRITING: [&str; 3] = ["fsync", "sharedrepository", "commitencoding"];
/// What commands of LFS begin with.
pub(crate) const LFS: &str = "git-lfs ";
/// The variables by which a caller hands settings down to git.
const HANDED_DOWN: [&str; 2] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// What agents are told: how text becomes content, how commits are worded, how changes are shown and merged, and where the
/// repository comes from. Nothing that is there to hold secrets.
const OF_WORK: [&str; 21] = [
    "apply.",
    "commit.cleanup",
    "core.commentchar",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "core.whitespace",
    "diff.",
    "filter.",
    "i18n.",
    "merge.",
    "pull.",
    "rebase.",
    "remote.",
    "submodule.",
    "trailer.",
];

/// The effective configuration, each entry with its key in lower case but for the name in its middle.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) entries: Vec<(String, Option<String>)>,
}

/// What is not UTF-8 is taken for Latin-1, as git takes names that it writes into commits.
fn text_of(bytes: &[u8]) -> String {
    let text = str::from_utf8(bytes).map(ToOwned::to_owned);
    text.unwrap_or_else(|_| bytes.iter().copied().map(char::from).collect())
}

impl Settings {
    /// Reads everything that holds where a call of `config` works, from all files that git reads there.
    pub(crate) fn of(call: Git) -> Result<Self> {
        // Those of the call itself are given to each call, and so are those that a caller has handed down, which may be
        // secrets; but for what starts commands in checkouts.
        Self::of_scope(call, |scope, key| {
            scope != b"command" || starts_commands(key)
        })
    }

    /// Reads what the user's files say, and none of the repository's.
    pub(crate) fn of_user(call: Git) -> Result<Self> {
        Self::of_scope(call, |scope, _| matches!(scope, b"system" | b"global"))
    }

    /// Reads what the repository's own files say, and no others.
    pub(crate) fn of_repository(call: Git) -> Result<Self> {
        Self::of_scope(call, |scope, _| matches!(scope, b"local" | b"worktree"))
    }

    fn of_scope(call: Git, is_wanted: impl Fn(&[u8], &str) -> bool) -> Result<Self> {
        let listing = call.line("--list --includes --show-scope -z").bytes()?;
        let setting = |(scope, entry)| {
            let text = text_of(entry);
            let (key, value) = match text.split_once('\n') {
                Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                None => (text, None),
            };
            is_wanted(scope, &key).then_some((key, value))
        };
        Ok(Self {
            entries: pairs(&listing).filter_map(setting).collect(),
        })
    }

    /// Leaves out the user's filters but for LFS: whatever their commands look like, they work in the checkout, and would run
    /// what somebody put there.
    pub(crate) fn leave_out_filters(&mut self) {
        let of_others: BTreeSet<String> = self.filters_of_others().map(ToOwned::to_owned).collect();
        let is_of_others = |(name, _): (&str, &str)| of_others.contains(name);
        self.entries
            .retain(|(key, _)| !filter_key(key).is_some_and(is_of_others));
    }

    /// Returns the names of the user's filters that have a command, but for LFS.
    fn filters_of_others(&self) -> impl Iterator<Item = &str> {
        let is_lfs = |command: &str| command.starts_with(LFS);
        self.entries
            .iter()
            .filter(move |(_, command)| !command.as_deref().is_some_and(is_lfs))
            .filter_map(|(key, _)| filter_key(key))
            .filter(|(_, what)| COMMANDS_OF_FILTER.contains(what))
            .map(|(name, _)| name)
    }

    /// Returns settings of a call by which these filters change nothing.
    pub(crate) fn without_filter_commands(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self.filters_of_others().collect();
        let without = |name: &str| {
            let none = COMMANDS_OF_FILTER.map(|what| format!("filter.{name}.{what}="));
            none.into_iter()
                .chain([format!("filter.{name}.required=false")])
        };
        names.into_iter().flat_map(without).collect()
    }

    fn last(&self, key: &str) -> Option<&str> {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .and_then(|(_, value)| value.as_deref())
    }

    /// Returns the entries that say how objects and refs are stored, as a file of git's.
    pub(crate) fn format(&self) -> String {
        self.entries
            .iter()
            .filter(|(key, _)| FORMAT.contains(&key.as_str()))
            .map(line)
            .collect()
    }

    /// Returns the settings for a git folder in which a project's own commands work: no hook of the user's is run there.
    pub(crate) fn sealed(&self) -> String {
        self.format() + &self.kept(|key| key != HOOKS_PATH)
    }

    /// Returns the settings for a git folder of an agent's own, whose refs are files.
    pub(crate) fn for_agents(&self) -> String {
        let of_format = self
            .entries
            .iter()
            .filter(|(key, _)| FORMAT.contains(&key.as_str()) && key != REF_STORAGE);
        let of_work = self.kept(|key| OF_WORK.iter().any(|start| key.starts_with(start)));
        let text = of_format.map(line).collect::<String>() + &of_work;
        tm_untrusted::redacted(&text).into_owned()
    }

    /// Returns the entries that hold elsewhere, as far as they are wanted, as a file of git's.
    fn kept(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let is_kept = |key: &str| {
            !LEFT_OUT.iter().any(|section| key.starts_with(section))
                && !KEYS_LEFT_OUT.contains(&key)
                && is_wanted(key)
        };
        self.entries
            .iter()
            .filter(|(key, _)| is_kept(key))
            .map(line)
            .collect()
    }

    /// Returns all others as a file of git's, without the places of what is copied.
    pub(crate) fn flat(&self, repository: &Repository) -> String {
        let has_copied_hooks = self.hooks(repository) == HooksFolder::OfRepository;
        let kept = self.kept(|key| !has_copied_hooks || key != HOOKS_PATH);
        let is_extension = |(key, _): &&(String, Option<String>)| key.starts_with(LFS_EXTENSIONS);
        let extension = self.entries.iter().find(is_extension);
        let told = extension.map(|(key, _)| lines([(HAS_LFS_EXTENSIONS, key.as_str())]));
        kept + &told.unwrap_or_default()
    }

    /// Returns where hooks are.
    pub(crate) fn hooks(&self, repository: &Repository) -> HooksFolder {
        let usual = repository.common_dir().join("hooks");
        let named = self.last(HOOKS_PATH).map(PathBuf::from);
        named
            .filter(|path| *path != usual)
            .map_or(HooksFolder::OfRepository, HooksFolder::Named)
    }
}

/// Returns the filter of which a key says something, and what.
pub(crate) fn filter_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("filter.")?.rsplit_once('.')
}

/// Where the hooks of a repository are.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum HooksFolder {
    /// In the repository itself: every agent can write them, so they are copied.
    OfRepository,
    /// Where the configuration says: a relative path lies in the user's checkout.
    Named(PathBuf),
}

/// Returns the file that git reads: what was taken, with the places of what was copied to `folder`.
pub(crate) fn with_own_paths(common_dir: &Path, folder: &Path, hooks: &Path) -> String {
    let entry = |key: &str, path: &Path| line(&(key.to_owned(), Some(path.display().to_string())));
    // What the user says of LFS comes later, and counts.
    let mut text = entry("lfs.storage", &common_dir.join("lfs"));
    text.push_str(&entry("include.path", Path::new(TAKEN)));
    text.push_str(&entry("core.excludesfile", &folder.join("excludes")));
    text.push_str(&entry("core.attributesfile", &folder.join("attributes")));
    text + &entry(HOOKS_PATH, hooks)
}

/// Returns what the library may write by the settings that were taken: where they say how objects get to the disk, or who
/// can read them, git writes all that lasts.
pub(crate) fn library_writes(taken: &Path, environment: &Environment) -> Result<LibraryWrites> {
    let text = tm_untrusted::read_own(taken, u64::MAX).or_failed_to("read", taken)?;
    let text = String::from_utf8_lossy(&text).to_lowercase();
    let says_how = |line: &str| {
        OF_WRITING
            .iter()
            .any(|key| line.trim_start().starts_with(key))
    };
    let is_handed_down = HANDED_DOWN.iter().any(|name| environment.has(name));
    Ok(if is_handed_down || text.lines().any(says_how) {
        LibraryWrites::WhatIsTested
    } else {
        LibraryWrites::WhatLasts
    })
}

/// Copies what else git reads: patterns of paths, attributes, hooks, and where a shallow history ends.
pub(crate) fn copy_tools(
    repository: &Repository,
    settings: &Settings,
    folder: &Path,
    common: &Path,
) -> Result<()> {
    let (from, environment) = (repository.common_dir(), &repository.environment);
    for (key, name, copy) in [
        ("core.excludesfile", "ignore", "excludes"),
        ("core.attributesfile", "attributes", "attributes"),
    ] {
        // Where the user has none, it is empty: git would look for one elsewhere.
        replace(&folder.join(copy), b"")?;
        let usual = || Some(environment.configuration_folder()?.join("git").join(name));
        let named = settings.last(key).map(|path| environment.home_path(path));
        if let Some(path) = named.or_else(usual) {
            copy_file(&path, &folder.join(copy))?;
        }
    }
    copy_file(&from.join(ALTERNATES), &common.join("alternates"))?;
    for name in ["info/exclude", "info/attributes", "shallow"] {
        copy_file(&from.join(name), &common.join(name))?;
    }
    if let HooksFolder::Named(path) = settings.hooks(repository)
        && path.is_relative()
        && let Some(Component::Normal(top)) = path.components().next()
    {
        // Hooks use what lies beside and above them.
        copy_folder(
            &repository.checkout_root().join(top),
            &folder.join(HOOKS_OF_TREE).join(top),
            &mut 0,
        )?;
    }
    let hooks = folder.join(HOOKS);
    create_folder(&hooks)?;
    for hook in entries(&from.join("hooks")).map(|entry| entry.path()) {
        if hook.extension().is_none_or(|kind| kind != "sample") {
            copy_file(&hook, &hooks.join(hook.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// Copies files and folders, no links.
fn copy_folder(from: &Path, to: &Path, count: &mut usize) -> Result<()> {
    create_folder(to)?;
    for entry in entries(from) {
        *count += 1;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && *count < MOST_FILES => copy_folder(&path, &copy, count)?,
            Ok(kind) if kind.is_file() && *count < MOST_FILES => {
                copy_file(&path, &copy)?;
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Copies a file, where there is one that a person may have written.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let is_one = |file: &fs::Metadata| file.is_file() && file.len() < MOST_BYTES;
    let Some(file) = fs::metadata(from).ok().filter(is_one) else {
        return Ok(());
    };
    let content = tm_untrusted::read_own(from, MOST_BYTES).or_failed_to("read", from)?;
    replace(to, &content)?;
    fs::set_permissions(to, file.permissions()).or_failed_to("write", to)
}

/// Returns entries as a file of git's.
pub(crate) fn lines<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    entries
        .into_iter()
        .map(|(key, value)| line(&(key.to_owned(), Some(value.to_owned()))))
        .collect()
}

/// Writes an entry as git reads it: a section of its own, everything quoted.
fn line((key, value): &(String, Option<String>)) -> String {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let (middle, name) = rest
        .rsplit_once('.')
        .map_or((None, rest), |(middle, name)| (Some(middle), name));
    let mut text = format!("[{section}");
    if let Some(middle) = middle {
        let _ = write!(
            text,
            " \"{}\"",
            middle.replace('\\', "\\\\").replace('"', "\\\"")
        );
    }
    let _ = write!(text, "]\n\t{name}");
    if let Some(value) = value {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\t', "\\t");
        let _ = write!(text, " = \"{value}\"");
    }
    text.push('\n');
    text
}
