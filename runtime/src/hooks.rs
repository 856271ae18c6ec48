//! Starts the hooks of commits: held and cut off as tests are, in the environment that tests have, since they run what
//! agents wrote; on this machine, as whoever commits.

use crate::checkouts::name_of;
use crate::holding::git_of_agent;
use crate::{Checkouts, StepError, environment};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use tm_config::{RunsOn, Settings};
use tm_executors::engine::{Executor, Holding, JobEnd};
use tm_executors::environment::{CommandEnvironment, EnvironmentRules};
use tm_executors::process::{Besides, JobKind, Stdin, TreeCommand};
use tm_worktrees::{HookCall, HookEnd};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

/// So much of the end of what a hook printed is looked at.
const OUTPUT_BYTES: u64 = 1024 * 1024;

/// How the settings have hooks run.
#[derive(Clone, Debug)]
pub struct HookRules {
    environment: EnvironmentRules,
    limit: Duration,
}

impl HookRules {
    /// Returns what the settings say.
    pub fn of(settings: &Settings) -> Self {
        Self {
            environment: environment(&settings.test),
            limit: settings.test.timeout,
        }
    }
}

/// Why hooks could not be run to their end, or refused.
#[derive(Debug)]
pub(crate) enum HookTrouble {
    /// A hook refused, what it left can't be taken, or git refused.
    Git(tm_worktrees::Error),
    /// One could not be started or watched.
    NotRun(tm_executors::Error),
}

impl From<tm_worktrees::Error> for HookTrouble {
    fn from(error: tm_worktrees::Error) -> Self {
        Self::Git(error)
    }
}

impl From<tm_executors::Error> for HookTrouble {
    fn from(error: tm_executors::Error) -> Self {
        Self::NotRun(error)
    }
}

impl From<HookTrouble> for StepError {
    fn from(trouble: HookTrouble) -> Self {
        match trouble {
            HookTrouble::Git(error) => Self::of(&error),
            HookTrouble::NotRun(error) => Self::of(&error),
        }
    }
}

/// Starts hooks in one checkout.
#[derive(Debug)]
pub(crate) struct HookRunner {
    executor: Executor,
    rules: HookRules,
    log: PathBuf,
    besides: Besides,
    variables: Vec<(OsString, OsString)>,
}

impl HookRunner {
    /// Returns what starts hooks in a checkout; what they print goes through a file in `scratch`.
    pub(crate) fn new(
        executor: &Executor,
        rules: HookRules,
        (checkouts, checkout): (&Checkouts, &Path),
        scratch: &Path,
    ) -> Self {
        Self {
            executor: executor.starting_on(RunsOn::Local.name()),
            rules,
            // One that is unlike those of other checkouts, and so of hooks that run at the same time.
            log: scratch.join(format!("hooks-{}.log", name_of(checkout))),
            besides: checkouts.besides(checkout),
            variables: checkouts.variables(checkout),
        }
    }

    /// Runs a call to its end.
    pub(crate) fn run(&self, call: &HookCall<'_>) -> Result<HookEnd, HookTrouble> {
        block_in_place(|| Handle::current().block_on(self.ended(call)))
    }

    async fn ended(&self, call: &HookCall<'_>) -> Result<HookEnd, HookTrouble> {
        // Nothing of before may write into the log or the checkout any more.
        self.executor.end_abandoned().await?;
        let failed = |action| {
            move |source| {
                let path = self.log.clone();
                HookTrouble::Git(tm_worktrees::Error::File {
                    action,
                    path,
                    source,
                })
            }
        };
        tm_untrusted::remove(&self.log).map_err(failed("remove"))?;
        let temporary = self.executor.temporary_folder();
        let environment = CommandEnvironment::fresh_in(&temporary, &self.rules.environment)
            .map_err(failed("make an environment beside"))?;
        let mut command = self.tree_command(call, &environment);
        let holding = self.executor.holding();
        if holding.is_some_and(Holding::only_reads_caches) {
            own_index(&mut command).map_err(failed("copy the index of pre-commit beside"))?;
        }
        let end = self.executor.run(&command, self.rules.limit).await?;
        let printed = tm_untrusted::read_end(&self.log, OUTPUT_BYTES).map_err(failed("read"))?;
        let mut output = String::from_utf8_lossy(&printed).into_owned();
        if end != Some(JobEnd::Exited(0)) {
            for line in self.executor.refused(&command, "") {
                output.push('\n');
                output.push_str(&line);
            }
        }
        // What they print can be much, and what of it counts is in evidence.
        tm_untrusted::remove(&self.log).map_err(failed("remove"))?;
        Ok(match end {
            Some(JobEnd::Exited(0)) => HookEnd::Passed(output),
            Some(JobEnd::Exited(_)) => HookEnd::Failed(output),
            None => HookEnd::CutOff {
                why: format!(
                    "it did not end within {} seconds, which is `test.timeout`",
                    self.rules.limit.as_secs()
                ),
                output,
            },
            Some(JobEnd::Killed | JobEnd::TimedOut | JobEnd::Unknown) => HookEnd::CutOff {
                why: "it was killed by a signal".to_owned(),
                output,
            },
        })
    }

    fn tree_command(&self, call: &HookCall<'_>, environment: &CommandEnvironment) -> TreeCommand {
        let mut besides = self.besides.clone();
        let git = git_of_agent(call.git.clone(), &self.executor);
        besides.read.extend(git.read);
        besides.write.extend(git.write);
        besides.programs.extend(git.programs);
        let of_call = call.variables.iter().cloned();
        let of_place = self.variables.iter().cloned();
        TreeCommand {
            program: call.program.clone().into(),
            arguments: call.arguments.clone(),
            working_folder: call.folder.to_owned(),
            inherited: environment.inherited(),
            environment: environment
                .variables()
                .into_iter()
                .chain(of_place)
                .chain(of_call)
                .collect(),
            stdin: Stdin::Closed,
            stdout: self.log.clone(),
            stderr: self.log.clone(),
            env_markers: vec![("TM_HOOKS_LOG".to_owned(), self.log.display().to_string())],
            needs: Some(environment.needs(JobKind::Hooks, besides)),
            ..TreeCommand::default()
        }
    }
}

/// Where the framework of hooks called pre-commit keeps what it has installed, by an index that it writes each time. Where
/// nothing can lie on top of that, it has a copy of the index, which names the rest by where it is.
const PRE_COMMIT_HOME: &str = "PRE_COMMIT_HOME";

fn own_index(command: &mut TreeCommand) -> io::Result<()> {
    let Some(needs) = &mut command.needs else {
        return Ok(());
    };
    let is_named = |(name, _): &&mut (OsString, OsString)| name == PRE_COMMIT_HOME;
    let Some((_, home)) = command.environment.iter_mut().find(is_named) else {
        return Ok(());
    };
    let copy = needs.own_folder.join("pre-commit");
    fs::create_dir(&copy)?;
    let installed = PathBuf::from(std::mem::replace(home, copy.clone().into()));
    for file in tm_untrusted::entries(&installed) {
        if file.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::copy(file.path(), copy.join(file.file_name()))?;
        }
    }
    needs.besides.read.push(installed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_pre_commit_is_the_hooks_own_and_names_what_is_installed() {
        let folder = tempfile::tempdir().expect("a folder");
        let installed = folder.path().join("installed");
        fs::create_dir_all(installed.join("repo")).expect("made");
        tm_store::atomic::replace(&installed.join("db.db"), b"index").expect("written");
        let environment = CommandEnvironment::fresh_in(folder.path(), &EnvironmentRules::default());
        let environment = environment.expect("an environment");
        let mut command = TreeCommand {
            environment: vec![(PRE_COMMIT_HOME.into(), installed.clone().into())],
            needs: Some(environment.needs(JobKind::Hooks, Besides::default())),
            ..TreeCommand::default()
        };
        own_index(&mut command).expect("copied");
        let own = PathBuf::from(&command.environment[0].1);
        let needs = command.needs.expect("needs");
        assert!(own.starts_with(&needs.own_folder), "{own:?}");
        assert_eq!(
            fs::read_to_string(own.join("db.db")).expect("a copy"),
            "index"
        );
        assert!(!own.join("repo").exists());
        assert_eq!(needs.besides.read, [installed]);
    }
}
