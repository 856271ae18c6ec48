//! Whether the commits of a run can be made: the hooks that they run are looked at, and signing is tried once.
//!
//! Nothing of the work is known here; a trial that fails is told before any agent is paid.

use crate::failure::CommandFailure;
use crate::project::Project;
use tm_config::CommitHooks;
use tm_worktrees::{FoundHook, HookState, Signing};

/// So many lines of what signing printed are told.
const LAST_LINES: usize = 3;

/// What came of a look at one thing.
pub(crate) enum Trial {
    /// It is as it should be; holds what was found.
    Good(String),
    /// A run goes on without it.
    Note(String, String),
    /// No commit can be made.
    Bad(CommandFailure),
}

/// Refuses to go on where no commit could be made.
pub(crate) fn refuse(project: &Project) -> Result<(), CommandFailure> {
    for trial in hooks(project)?.into_iter().chain([signing(project)?]) {
        if let Trial::Bad(failure) = trial {
            return Err(failure);
        }
    }
    Ok(())
}

/// Looks at the hooks that commits and merges run.
pub(crate) fn hooks(project: &Project) -> Result<Vec<Trial>, CommandFailure> {
    let setting = project.loaded.settings.git.hooks;
    let found = project.repository.hooks_of_commits()?;
    Ok(found.into_iter().map(|hook| of_hook(&hook, setting)).collect())
}

fn of_hook(hook: &FoundHook, setting: CommitHooks) -> Trial {
    let FoundHook { name, path, state } = hook;
    let place = format!("`{name}` ({})", path.display());
    match (state, setting) {
        (_, CommitHooks::Off) => Trial::Good(format!("{place}: not run (`git.hooks: off`)")),
        (HookState::Ready, CommitHooks::On) => Trial::Good(place),
        (HookState::Ready, CommitHooks::Commit) => Trial::Good(format!("{place}: run for all but RED")),
        (HookState::NotExecutable, _) => {
            let hint = format!("`chmod +x {}` has git run it", path.display());
            Trial::Note(format!("{place} is not executable, so git leaves it out"), hint)
        }
        (HookState::NoInterpreter(program), _) => Trial::Bad(
            CommandFailure::new(format!("run the hook {place}: `{program}`, which it begins with, is not there"))
                .hint(format!("install `{program}`, or set `git.hooks: off` in .taskmaster/tm.yaml")),
        ),
    }
}

/// Tries to sign, where the user's git signs.
pub(crate) fn signing(project: &Project) -> Result<Trial, CommandFailure> {
    Ok(match project.repository.try_to_sign()? {
        Signing::Off => Trial::Good("commits are not signed".to_owned()),
        Signing::Works(format) => Trial::Good(format!("commits are signed ({format})")),
        Signing::Fails { output, settings } => {
            let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
            let clean = tm_untrusted::clean(&last);
            let failure = CommandFailure::new(format!("sign a commit, as your git configuration asks for:\n  {clean}"));
            Trial::Bad(failure.hint(format!("see to {}", settings.join(", "))))
        }
    })
}
