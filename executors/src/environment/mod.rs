//! The environment in which commands of a project are run: built from a list, not handed down.
//!
//! Whatever an agent wrote is run by such a command. What is not on the list does not reach it, so no credential does,
//! and nothing that an agent left in the user's home decides how it ends. Does not know what the command is.

mod agent_home;
mod folder;
mod table;

use crate::process::{Besides, Inherited, JobKind, Needs, is_named};
pub(crate) use agent_home::SeenCopies;
pub use agent_home::{AgentHome, HomeNeeds};
pub(crate) use folder::PrivateFolder;
pub use folder::{remove as remove_folder, remove_abandoned_folders};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
pub(crate) use table::logins;
use table::{COPIED, FIXED, Row, rows};
use tm_scheduler::TestHome;

/// How an environment is built, as the user has set it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub struct EnvironmentRules {
    /// Whose home it has.
    pub home: TestHome,
    /// Variables besides; `None` has the user's value, if there is one.
    pub added: BTreeMap<String, Option<String>>,
}

/// Variables by name.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// The environment of one run of a command. Its folders are gone when it is dropped, so the command has to be too.
#[derive(Debug)]
pub struct CommandEnvironment {
    inherited: Inherited,
    variables: Variables,
    /// Names of those that the user has besides.
    pass: Vec<String>,
    /// Holds home and temporary files, when they are private.
    folder: PrivateFolder,
}

impl CommandEnvironment {
    /// Makes the environment for one run of any command of a project: its tests, what sets a worktree up, a gate.
    ///
    /// # Errors
    /// The private folders can't be made.
    pub fn fresh(rules: &EnvironmentRules) -> std::io::Result<Self> {
        Self::fresh_in(&std::env::temp_dir(), rules)
    }

    /// As [`Self::fresh`], with the private folders in this one, which has to be there.
    ///
    /// # Errors
    /// The private folders can't be made.
    pub fn fresh_in(place: &Path, rules: &EnvironmentRules) -> std::io::Result<Self> {
        let user = std::env::vars_os().collect();
        let folder = PrivateFolder::new_in(place)?;
        match rules.home {
            TestHome::Private => Self::private(folder, rules, &user),
            TestHome::User => Self::of_user(folder, rules, &user),
        }
    }

    /// Returns what a command has of tm's own environment.
    pub fn inherited(&self) -> Inherited {
        self.inherited.clone()
    }

    /// Returns the variables to set, in order of their names.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns the value of a variable that is set; with the user's home also one that is handed down.
    pub fn get(&self, name: &str) -> Option<OsString> {
        let handed_down =
            || std::env::var_os(name).filter(|_| self.inherited != Inherited::Nothing);
        self.variables
            .get(OsStr::new(name))
            .cloned()
            .or_else(handed_down)
    }

    /// Returns what a command in this environment needs of who holds it.
    pub fn needs(&self, kind: JobKind, mut besides: Besides) -> Needs {
        // Where the command has the user's home, it has it.
        let is_open = self.inherited != Inherited::Nothing;
        besides
            .read
            .extend(std::env::home_dir().filter(|_| is_open));
        Needs {
            kind,
            own_folder: self.folder.path().to_owned(),
            besides,
            hosts: None,
            network: None,
            only_reads: false,
            said_by_others: Vec::new(),
            pass: self.pass.clone(),
        }
    }

    fn private(
        folder: PrivateFolder,
        rules: &EnvironmentRules,
        user: &Variables,
    ) -> std::io::Result<Self> {
        make_home(folder.path(), user)?;
        let mut variables: Variables = FOLDERS
            .iter()
            .map(|(name, within)| (name.into(), folder.path().join(within).into()))
            .collect();
        variables.extend(passed(user));
        variables.extend(
            FIXED
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        variables.extend(added(rules, user));
        Ok(Self {
            inherited: Inherited::Nothing,
            pass: of_user(rules),
            variables,
            folder,
        })
    }

    fn of_user(
        folder: PrivateFolder,
        rules: &EnvironmentRules,
        user: &Variables,
    ) -> std::io::Result<Self> {
        make_folder(&folder.path().join("tmp"))?;
        let mut variables = Variables::from([("PYTHONDONTWRITEBYTECODE".into(), "1".into())]);
        variables.extend(added(rules, user));
        Ok(Self {
            inherited: Inherited::AllBut(vec!["GIT_*".to_owned(), "TM_*".to_owned()]),
            pass: Vec::new(),
            variables,
            folder,
        })
    }
}

/// The private folders of one run, each below its own, and the variables that name them.
const FOLDERS: [(&str, &str); 9] = [
    ("HOME", "home"),
    ("XDG_RUNTIME_DIR", "run"),
    ("TMPDIR", "tmp"),
    ("TMP", "tmp"),
    ("TEMP", "tmp"),
    ("XDG_CONFIG_HOME", "home/.config"),
    ("XDG_CACHE_HOME", "home/.cache"),
    ("XDG_DATA_HOME", "home/.local/share"),
    ("XDG_STATE_HOME", "home/.local/state"),
];

fn make_home(folder: &Path, user: &Variables) -> std::io::Result<()> {
    for name in ["home", "run", "tmp"] {
        make_folder(&folder.join(name))?;
    }
    let home = folder.join("home");
    std::fs::File::create(home.join(".gitconfig"))?.write_all(GIT_CONFIGURATION.as_bytes())?;
    let own = find_home(user)
        .map(|own| own.join(COPIED))
        .filter(|path| path.is_file());
    // Without it the command may find no version of its language, and says so itself.
    let _says_so_itself = own.map(|own| std::fs::copy(own, home.join(COPIED)));
    Ok(())
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

/// Tests that commit need a name; that of the user is not theirs to use. The worktree may belong to somebody else, as in
/// containers.
const GIT_CONFIGURATION: &str = "[user]\n\tname = tm\n\temail = tm@localhost\n[init]\n\tdefaultBranch = main\n\
    [safe]\n\tdirectory = *\n";

/// The variables of the user that are on the list, and what was found without one.
fn passed(user: &Variables) -> Variables {
    let given = |name: &str| {
        user.get(OsStr::new(name))
            .filter(|value| !value.is_empty() && !holds_login(value))
            .cloned()
    };
    let value = |row: &Row| {
        let found = || find(row.place?, user).map(PathBuf::into_os_string);
        given(row.name).or_else(found)
    };
    let mut passed: Variables = rows()
        .filter_map(|row| Some((row.name.into(), value(&row)?)))
        .collect();
    passed
        .entry("PATH".into())
        .or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    passed
}

/// Returns what a held program of a kind has of surroundings, these variables besides: of those of tm's own process where
/// it runs on this machine, else of those that it finds there.
pub(crate) fn of_surroundings(kind: JobKind, pass: &[String], user: &Variables) -> Variables {
    let is_passed = |name: &OsStr| match kind {
        JobKind::Agent => agent_home::is_passed(name, pass),
        JobKind::Setup | JobKind::Tests | JobKind::Hooks => is_named(pass, name),
    };
    let named = user.iter().filter(|(name, _)| is_passed(name));
    let mut variables = passed(user);
    variables.extend(named.map(|(name, value)| (name.clone(), value.clone())));
    variables
}

/// The names of variables that have the user's values.
fn of_user(rules: &EnvironmentRules) -> Vec<String> {
    let of_user = rules.added.iter().filter(|(_, given)| given.is_none());
    of_user.map(|(name, _)| name.clone()).collect()
}

fn added(rules: &EnvironmentRules, user: &Variables) -> Variables {
    let value = |name: &str, value: &Option<String>| match value {
        Some(value) => Some(value.into()),
        None => user.get(OsStr::new(name)).cloned(),
    };
    rules
        .added
        .iter()
        .filter_map(|(name, given)| Some((name.into(), value(name, given)?)))
        .collect()
}

fn find_home(user: &Variables) -> Option<PathBuf> {
    user.get(OsStr::new("HOME"))
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
}

/// Returns where something of the user's is, when it is there.
fn find((kind, name): (&str, &str), user: &Variables) -> Option<PathBuf> {
    let home = find_home(user)?;
    let xdg = |variable: &str, within: &str| {
        user.get(OsStr::new(variable))
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .unwrap_or_else(|| home.join(within))
    };
    let library = home.join("Library");
    // macOS has folders of its own, which not every program keeps to.
    let folders = match kind {
        "cache" => vec![xdg("XDG_CACHE_HOME", ".cache"), library.join("Caches")],
        "data" => vec![
            xdg("XDG_DATA_HOME", ".local/share"),
            library.join("Application Support"),
            library,
        ],
        "config" => vec![
            xdg("XDG_CONFIG_HOME", ".config"),
            library.join("Application Support"),
        ],
        _ => vec![home],
    };
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
}

/// Tells whether a value is an address with a login in it, such as that of a proxy.
fn holds_login(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let authority = |rest: &str| {
        rest.split(['/', '?', '#', ',', ' '])
            .next()
            .is_some_and(|host| host.contains('@'))
    };
    value.split("://").skip(1).any(authority)
}

#[cfg(test)]
mod tests;
