//! What an agent is started with, whoever asks for it: an attempt of a run, or an iteration of a loop. Knows recipes
//! and folders of attempts; nothing of tasks.

use crate::now;
use crate::step_error::StepError;
use std::ffi::OsString;
use std::path::Path;
use tm_config::PromptDelivery;
use tm_executors::agent::{AgentCommand, AttemptLimits, RefusalPatterns};
use tm_executors::engine::Executor;
use tm_executors::process::{Inherited, Stdin, TreeCommand};
use tm_presets::{Placeholders, Recipe};
use tm_scheduler::{AgentReport, Ended};
use tm_store::run::AttemptDirectory;

/// One start of one agent.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) executor: &'a Executor,
    pub(crate) directory: &'a AttemptDirectory,
    pub(crate) worktree: &'a Path,
    pub(crate) prompt: &'a str,
    /// What a recipe may name besides the paths that every start has.
    pub(crate) placeholders: Vec<(&'static str, String)>,
    /// What the agent's environment has besides the paths that every start has.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The variables by which every process of this start is known, and unlike those of any other.
    pub(crate) env_markers: Vec<(String, String)>,
    pub(crate) limits: AttemptLimits,
}

impl Launch<'_> {
    /// Writes the prompt and returns everything that starting the agent needs.
    ///
    /// What others wrote into the prompt, be it a task, an agent or a test, has no secrets in it.
    pub(crate) fn prepare(self) -> Result<AgentCommand, StepError> {
        let prompt = tm_untrusted::clean(self.prompt);
        Launch {
            prompt: &prompt,
            ..self
        }
        .prepare_as_it_is()
    }

    fn prepare_as_it_is(self) -> Result<AgentCommand, StepError> {
        let Launch {
            recipe,
            directory,
            worktree,
            ..
        } = self;
        directory.create()?;
        let written = tm_store::atomic::replace_own(&directory.prompt(), self.prompt.as_bytes());
        written.map_err(|source| {
            StepError::of(&tm_store::Error::Write {
                path: directory.prompt(),
                source,
            })
        })?;
        let placeholders = self.all_placeholders();
        let line = recipe.command_line(&placeholders)?;
        let own = recipe.environment(&placeholders)?;
        let mut line = line.into_iter().map(OsString::from);
        Ok(AgentCommand {
            tree: TreeCommand {
                program: line.next().unwrap_or_default(),
                arguments: line.collect(),
                working_folder: worktree.to_owned(),
                environment: self.environment(own),
                inherited: Inherited::AllBut(recipe.dropped.clone()),
                stdin: match recipe.prompt {
                    PromptDelivery::Stdin => Stdin::File(directory.prompt()),
                    PromptDelivery::Arg | PromptDelivery::File => Stdin::Closed,
                },
                stdout: directory.stdout(),
                stderr: directory.stderr(),
                env_markers: self.env_markers,
            },
            identity_file: directory.agent(),
            result_file: directory.result(),
            agent: recipe.name.clone(),
            executor: self.executor.clone(),
            limits: self.limits,
            polite_stop: recipe.stop,
            watched_folder: worktree.to_owned(),
            output: recipe.output,
            refusal_patterns: RefusalPatterns {
                rate_limited: recipe.rate_limited.clone(),
                auth: recipe.auth.clone(),
            },
        })
    }

    fn all_placeholders(&self) -> Placeholders {
        let directory = self.directory;
        let paths = [
            ("prompt", self.prompt.to_owned()),
            ("prompt_file", directory.prompt().display().to_string()),
            ("result_file", directory.result().display().to_string()),
            ("context_file", directory.context().display().to_string()),
            ("attempt_folder", directory.path().display().to_string()),
            ("worktree", self.worktree.display().to_string()),
        ];
        paths
            .into_iter()
            .chain(self.placeholders.iter().cloned())
            .collect()
    }

    /// The recipe's own variables, then those of every start, then those of this one; a later one wins.
    fn environment(&self, own: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
        let directory = self.directory;
        let paths: [(OsString, OsString); 4] = [
            ("TM_WORKTREE".into(), self.worktree.into()),
            ("TM_PROMPT_FILE".into(), directory.prompt().into()),
            ("TM_RESULT_FILE".into(), directory.result().into()),
            ("TM_CONTEXT_FILE".into(), directory.context().into()),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        own.chain(paths)
            .chain(self.variables.iter().cloned())
            .collect()
    }
}

/// The report of an agent that could not be started.
pub(crate) fn not_started(recipe: &Recipe, why: String) -> AgentReport {
    AgentReport::new(recipe.name.clone(), now(), now(), Ended::NotStarted(why))
}
