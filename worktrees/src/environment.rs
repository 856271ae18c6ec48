//! The environment that git runs in: the caller's, without what would send git to another repository.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// Variables that say where a repository, its index or its objects are, or change what a path means.
///
/// They are set when tm is started from a hook or an alias, and would make every call work on that place.
/// The list is `git rev-parse --local-env-vars` without the configuration that a caller hands down on purpose.
const LOCATION: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE GIT_COMMON_DIR GIT_CONFIG GIT_DIR GIT_EDITOR \
    GIT_EXTERNAL_DIFF GIT_GLOB_PATHSPECS GIT_GRAFT_FILE GIT_ICASE_PATHSPECS GIT_IMPLICIT_WORK_TREE \
    GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX GIT_LITERAL_PATHSPECS GIT_NAMESPACE GIT_NOGLOB_PATHSPECS \
    GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_QUARANTINE_PATH GIT_SHALLOW_FILE \
    GIT_WORK_TREE";

/// Objects are what their names say: nothing stands in for another object, and history is not rewritten on the fly.
///
/// The file can't be there: of one that is, even an empty one, git says a word to whoever runs a hook.
const AS_NAMED: [(&str, &str); 2] = [
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null/none"),
];

/// Lists of folders in which programs and their libraries are looked for. Git works in checkouts, so one that is relative
/// would be a folder of an agent's.
const SEARCHED: [&str; 2] = ["PATH", "LD_LIBRARY_PATH"];

/// Where programs are looked for when nothing else is left.
const ALWAYS_THERE: &str = "/usr/bin:/bin";

/// For calls that no person follows: no questions, messages in English.
pub(crate) const UNATTENDED: [(&str, &str); 4] = [
    ("LC_ALL", "C"),
    ("LANGUAGE", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
];

/// Variables that every call of git gets on top of the caller's environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Shared: each repository and worktree has them.
    variables: Arc<BTreeMap<OsString, OsString>>,
}

impl Environment {
    /// Returns the environment with one more variable.
    #[must_use]
    pub fn with(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        Arc::make_mut(&mut self.variables)
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Returns the environment in which tm names itself as author.
    pub(crate) fn of_tm(self) -> Self {
        ["AUTHOR", "COMMITTER"]
            .into_iter()
            .fold(self, |environment, role| {
                environment
                    .with(format!("GIT_{role}_NAME"), "tm")
                    .with(format!("GIT_{role}_EMAIL"), "tm@localhost")
            })
    }

    /// Returns a variable as git will have it.
    fn get(&self, name: &str) -> Option<OsString> {
        self.variables
            .get(OsStr::new(name))
            .cloned()
            .or_else(|| std::env::var_os(name))
            .filter(|value| !value.is_empty())
    }

    /// Tells whether git will have a variable.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns a path that may begin with `~/`.
    pub(crate) fn home_path(&self, path: &str) -> PathBuf {
        let within_home = path.strip_prefix("~/").zip(self.get("HOME"));
        within_home.map_or_else(
            || PathBuf::from(path),
            |(rest, home)| PathBuf::from(home).join(rest),
        )
    }

    /// Tells whether a program is found by its name.
    pub(crate) fn finds(&self, program: &str) -> bool {
        let path = self.get("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    }

    /// Returns the folder in which programs keep the user's configuration.
    pub(crate) fn configuration_folder(&self) -> Option<PathBuf> {
        let of_home = || {
            self.get("HOME")
                .map(|home| PathBuf::from(home).join(".config"))
        };
        self.get("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(of_home)
    }

    /// Prepares a command: nothing that points elsewhere, and what it is told `besides`.
    pub(crate) fn apply(&self, command: &mut Command, besides: &[(&str, &str)]) {
        for name in LOCATION.split_whitespace() {
            command.env_remove(name);
        }
        command
            .envs(besides.iter().copied())
            .envs(AS_NAMED)
            .envs(&*self.variables);
        for name in SEARCHED {
            if let Some(absolute) = self.get(name).as_deref().and_then(without_relative) {
                command.env(name, absolute);
            }
        }
    }
}

/// Returns a list of folders without those that are relative, where it has any.
fn without_relative(list: &OsStr) -> Option<OsString> {
    let folders = || std::env::split_paths(list);
    if folders().all(|folder| folder.is_absolute()) {
        return None;
    }
    let absolute = std::env::join_paths(folders().filter(|folder| folder.is_absolute()));
    let left = absolute.ok().filter(|list| !list.is_empty());
    Some(left.unwrap_or_else(|| ALWAYS_THERE.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_finds_nothing_in_folders_that_are_relative() {
        let absolute = |list: &str| without_relative(OsStr::new(list));
        for (list, left) in [
            (":/usr/bin", "/usr/bin"),
            ("/usr/bin:.:/bin", "/usr/bin:/bin"),
            ("/opt/lib:", "/opt/lib"),
            ("bin", "/usr/bin:/bin"),
        ] {
            assert_eq!(absolute(list), Some(left.into()), "{list}");
        }
        assert_eq!(absolute("/usr/bin:/bin"), None);
    }
}
