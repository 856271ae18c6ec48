//! The environment that git runs in: the caller's, without what would send git to another repository.

use crate::searched::Searched;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

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
pub(crate) const AS_NAMED: [(&str, &str); 2] = [
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null/none"),
];

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
    /// The checkout in which git is not looked for.
    checkout: Option<Arc<Path>>,
    /// Whether agents write there, so that nothing else is looked for there either.
    is_written: bool,
    /// When each call has ended at the latest.
    until: Option<Instant>,
    /// Found once for all calls.
    searched: Arc<OnceLock<Searched>>,
}

impl Environment {
    /// Returns the environment with one more variable.
    #[must_use]
    pub fn with(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        Arc::make_mut(&mut self.variables)
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self.searched = Arc::default();
        self
    }

    /// Returns the environment in which git is not looked for in the checkout around a folder. What git itself says of that
    /// comes too late.
    pub(crate) fn around(self, start: &Path) -> Self {
        let real = start.canonicalize().unwrap_or_else(|_| start.to_owned());
        let top = real.ancestors().find(|above| above.join(".git").exists());
        Self {
            checkout: Some(top.unwrap_or(&real).into()),
            searched: Arc::default(),
            ..self
        }
    }

    /// Returns the environment for a checkout that agents write.
    pub(crate) fn written_by_agents(self) -> Self {
        Self {
            is_written: true,
            searched: Arc::default(),
            ..self
        }
    }

    /// Returns the environment in which no call goes on after a moment.
    pub(crate) const fn ending(mut self, until: Instant) -> Self {
        self.until = Some(until);
        self
    }

    /// Returns when each call has ended at the latest.
    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Tells whether agents write the checkout.
    pub(crate) const fn is_written_by_agents(&self) -> bool {
        self.is_written
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
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.variables
            .get(OsStr::new(name))
            .cloned()
            .or_else(|| std::env::var_os(name))
            .filter(|value| !value.is_empty())
    }

    /// Returns the path that a variable names.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from)
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
        self.path("XDG_CONFIG_HOME").or_else(of_home)
    }

    fn searched(&self) -> &Searched {
        self.searched.get_or_init(|| {
            let checkout = self.checkout.as_deref();
            Searched::outside(checkout, self.is_written, |name| self.get(name))
        })
    }

    /// Returns git, as it is started.
    pub(crate) fn git_program(&self) -> PathBuf {
        self.searched().git.clone()
    }

    /// Begins a command: nothing that points elsewhere, and what it is told `besides`.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts git"
    )]
    pub(crate) fn git(&self, besides: &[(&str, &str)]) -> Command {
        let searched = self.searched();
        let mut command = Command::new(&searched.git);
        command.arg0("git");
        for name in LOCATION.split_whitespace() {
            command.env_remove(name);
        }
        command
            .envs(besides.iter().copied())
            .envs(AS_NAMED)
            .envs(&*self.variables);
        for (name, value) in &searched.other {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}
