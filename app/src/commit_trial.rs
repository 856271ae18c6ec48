//! Whether the commits of a run can be made: the hooks that they run are looked at, and run once where that is asked for;
//! signing is tried once.
//!
//! Nothing of the work is known here; a trial that fails is told before any agent is paid.

use crate::error::Error;
use crate::judging::Judging;
use crate::notice::Notice;
use crate::project::Project;
use std::time::Instant;
use tm_config::CommitHooks;
use tm_runtime::HookRules;
use tm_runtime::preflight::try_hooks as try_hooks_of_commit;
use tm_worktrees::{FoundHook, HookState, Signing};

/// So many lines of what signing printed are told.
const LAST_LINES: usize = 3;

/// What came of a look at one thing.
#[derive(Debug)]
pub enum Trial {
    /// It is as it should be; holds what was found.
    Good(String),
    /// A hook that git leaves out.
    NotExecutable(FoundHook),
    /// A hook refuses a commit that changes nothing; holds its words.
    Refused(String),
    /// No commit can be made.
    Bad(Error),
}

/// Refuses to go on where no commit could be made.
pub(crate) fn refuse_uncommittable(project: &Project) -> Result<(), Error> {
    for trial in hooks(project)?.into_iter().chain([signing(project)?]) {
        if let Trial::Bad(failure) = trial {
            return Err(failure);
        }
    }
    Ok(())
}

/// Looks at the hooks that commits and merges run.
///
/// # Errors
/// git refused.
pub fn hooks(project: &Project) -> Result<Vec<Trial>, Error> {
    let setting = project.loaded.settings.git.hooks;
    Ok(project
        .repository
        .hooks_of_commits()?
        .into_iter()
        .map(|hook| of_hook(&hook, setting))
        .collect())
}

fn of_hook(hook: &FoundHook, setting: CommitHooks) -> Trial {
    let FoundHook { name, path, state } = hook;
    let place = format!("`{name}` ({})", path.display());
    match (state, setting) {
        (_, CommitHooks::Off) => Trial::Good(format!("{place}: not run (`git.hooks: off`)")),
        (HookState::Ready, CommitHooks::On) => Trial::Good(place),
        (HookState::Ready, CommitHooks::Commit) => {
            Trial::Good(format!("{place}: run for all but RED"))
        }
        (HookState::NotExecutable, _) => Trial::NotExecutable(hook.clone()),
        (HookState::NoInterpreter(program), _) => Trial::Bad(Error::HookWithoutInterpreter {
            place,
            program: program.clone(),
        }),
    }
}

/// Runs the hooks, where a run would: those of a commit that changes nothing, in a checkout that is made ready for it.
///
/// # Errors
/// They can't be tried.
pub async fn try_hooks(project: &Project) -> Result<Option<Trial>, Error> {
    let setting = &project.loaded.settings.git;
    let found = project.repository.hooks_of_commits()?;
    let are_run = found
        .iter()
        .any(|hook| matches!(hook.state, HookState::Ready));
    if setting.hooks == CommitHooks::Off || !are_run {
        return Ok(None);
    }
    let template = setting.commit_template.as_deref();
    let subject = template
        .map(tm_presets::example_commit_message)
        .transpose()?;
    let subject = subject.as_deref().unwrap_or("Try the hooks");
    let message = format!("{subject}\n\nTask: 1\nPhase: none\nTag: master\nRun: trial\n");
    project.tell(&Notice::TriesHooks);
    let (base, begun) = (project.repository.resolve("HEAD")?, Instant::now());
    let judging = Judging::open(project, "doctor", base.clone())?;
    let rules = HookRules::of(&project.loaded.settings);
    let tried = try_hooks_of_commit(&base, &message, rules, &judging.result_cache).await;
    project.warn(&judging.result_cache.close().await);
    let refused = tried.map_err(Error::unjudged("try the hooks"))?;
    let took = begun.elapsed().as_secs_f64();
    Ok(Some(refused.map_or_else(
        || Trial::Good(format!("they let a commit pass, tried in {took:.1}s")),
        Trial::Refused,
    )))
}

/// Tries to sign, where the user's git signs.
///
/// # Errors
/// git refused.
pub fn signing(project: &Project) -> Result<Trial, Error> {
    Ok(match project.repository.try_to_sign()? {
        Signing::Off => Trial::Good("commits are not signed".to_owned()),
        Signing::Works(format) => Trial::Good(format!("commits are signed ({format})")),
        Signing::Fails { output, settings } => Trial::Bad(Error::NotSigned {
            output: tm_untrusted::clean(&last_lines(&output)),
            settings,
        }),
    })
}

/// The last lines that hold anything.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ")
}
