//! Looks at the hooks that a commit or a merge would run, without running them.

use crate::git::Hooks;
use crate::hooks::HookedWork;
use crate::{Error, Repository};
use std::path::{Path, PathBuf};

/// A script's first line is no longer than this.
const FIRST_LINE: u64 = 512;

/// A hook that is there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundHook {
    /// Its name, such as `pre-commit`.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Whether it can run.
    pub state: HookState,
}

/// Whether a hook can run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HookState {
    /// It can, as far as one sees without running it.
    Ready,
    /// It is not executable, so git leaves it out.
    NotExecutable,
    /// The program that runs it is not there.
    NoInterpreter(String),
}

impl Repository {
    /// Returns the hooks that commits and merges run, in the order of their names in git's own.
    ///
    /// # Errors
    /// git refused.
    pub fn hooks_of_commits(&self) -> Result<Vec<FoundHook>, Error> {
        let git = self.git_in(self.checkout_root(), Hooks::Configured);
        let folder = git
            .line("rev-parse --path-format=absolute --git-path hooks")
            .path()?;
        let mut names: Vec<&'static str> = HookedWork::Commit.hooks().to_vec();
        names.extend(HookedWork::Merge.hooks());
        names.sort_unstable();
        names.dedup();
        let found = names
            .into_iter()
            .map(|name| (name, folder.join(name)))
            .filter(|(_, path)| path.is_file());
        Ok(found
            .map(|(name, path)| FoundHook {
                name,
                state: self.state_of(&path),
                path,
            })
            .collect())
    }

    fn state_of(&self, path: &Path) -> HookState {
        use std::os::unix::fs::PermissionsExt as _;
        if !path
            .metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
        {
            return HookState::NotExecutable;
        }
        let beginning = tm_untrusted::read_beginning(path, FIRST_LINE).unwrap_or_default();
        let text = String::from_utf8_lossy(&beginning);
        let Some(words) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else {
            return HookState::Ready;
        };
        match self.missing_interpreter(words) {
            Some(program) => HookState::NoInterpreter(program),
            None => HookState::Ready,
        }
    }

    /// The program of a `#!` line that is not there; `env` looks for the first word that is none of its own.
    fn missing_interpreter(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let program = words.next()?;
        if !Path::new(program).is_file() {
            return Some(program.to_owned());
        }
        if !program.ends_with("/env") {
            return None;
        }
        let looked_for = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        let is_there = Path::new(looked_for).is_file() || self.environment.finds(looked_for);
        (!is_there).then(|| looked_for.to_owned())
    }
}
