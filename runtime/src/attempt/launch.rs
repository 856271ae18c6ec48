//! What starts an agent: its prompt, its command line, its environment, and what it is given where it is held.

use crate::StepError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tm_config::{AgentSandbox, PromptDelivery};
use tm_executors::agent::{AgentCommand, AttemptLimits, Held, RefusalPatterns};
use tm_executors::engine::Executor;
use tm_executors::environment::{AgentHome, HomeNeeds};
use tm_executors::process::{Besides, Inherited, JobKind, Needs, Stdin, TreeCommand};
use tm_executors::proxy::AllowList;
use tm_presets::{Placeholders, Recipe};
use tm_scheduler::{Complexity, RunId, Tag};
use tm_store::run::AttemptDirectory;

/// One start of one agent.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) executor: Executor,
    pub(crate) directory: &'a AttemptDirectory,
    pub(crate) worktree: &'a Path,
    pub(crate) prompt: &'a str,
    pub(crate) task_id: String,
    pub(crate) phase: &'a str,
    /// How large the task is, where it says.
    pub(crate) complexity: Option<Complexity>,
    pub(crate) attempt: u32,
    pub(crate) tag: &'a Tag,
    pub(crate) run_id: &'a RunId,
    /// This program.
    pub(crate) tm_program: &'a Path,
    /// What the agent's environment has besides the paths that every start has.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The variables by which every process of this start is known, and unlike those of any other.
    pub(crate) env_markers: Vec<(String, String)>,
    pub(crate) limits: AttemptLimits,
    /// What it is given besides where jobs are held; without it, this one never is.
    pub(crate) besides: Option<Besides>,
}

/// Returns the folder in which an agent that is held where that is asked for leaves what it has for tm.
pub(crate) fn told_folder(executor: &Executor, directory: &AttemptDirectory) -> AttemptDirectory {
    if executor.holds() {
        directory.own()
    } else {
        directory.clone()
    }
}

impl Launch<'_> {
    /// Writes the prompt and returns everything that starting the agent needs.
    ///
    /// What others wrote into the prompt, be it a task, an agent or a test, has no secrets in it.
    pub(crate) fn prepare(self) -> Result<Box<AgentCommand>, StepError> {
        let prompt = tm_untrusted::clean(self.prompt);
        let Launch {
            recipe,
            directory,
            worktree,
            ..
        } = self;
        directory.create()?;
        let written = tm_store::atomic::replace_own(&directory.prompt(), prompt.as_bytes());
        written.map_err(|source| tm_store::Error::Write {
            path: directory.prompt(),
            source,
        })?;
        let told = self.told();
        let placeholders = self.placeholders(&told, prompt);
        let line = recipe.command_line(&placeholders)?;
        let own = recipe.environment(&placeholders)?;
        let mut line = line.into_iter().map(OsString::from);
        let held = self.held(&told);
        let home = held.as_ref().map(|held| &held.home);
        let needs = home.map(|home| self.needs(home, &told, &own)).transpose()?;
        let dropped = || Inherited::AllBut(recipe.dropped.clone());
        Ok(Box::new(AgentCommand {
            tree: TreeCommand {
                program: line.next().unwrap_or_default(),
                arguments: line.collect(),
                working_folder: worktree.to_owned(),
                environment: self.environment(&told, home, own),
                inherited: home.map_or_else(dropped, |_| Inherited::Nothing),
                stdin: match recipe.prompt {
                    PromptDelivery::Stdin => Stdin::File(directory.prompt()),
                    PromptDelivery::Arg | PromptDelivery::File => Stdin::Closed,
                },
                stdout: directory.stdout(),
                stderr: directory.stderr(),
                env_markers: self.env_markers.clone(),
                needs,
                complexity: self.complexity,
                ..TreeCommand::default()
            },
            identity_file: directory.agent(),
            result_file: told.result(),
            held,
            agent: recipe.name.clone(),
            executor: self.executor.clone(),
            limits: self.limits,
            polite_stop: recipe.stop,
            output: recipe.output,
            refusal_patterns: RefusalPatterns {
                rate_limited: recipe.rate_limited.clone(),
                auth: recipe.auth.clone(),
            },
        }))
    }

    /// Where it leaves what it has for tm.
    fn told(&self) -> AttemptDirectory {
        match self.besides {
            Some(_) => told_folder(&self.executor, self.directory),
            None => self.directory.clone(),
        }
    }

    /// What it has beside it, where it is held.
    fn held(&self, told: &AttemptDirectory) -> Option<Held> {
        if told == self.directory {
            return None;
        }
        let AgentSandbox {
            read,
            write,
            pass,
            homes,
            env,
            hosts: _,
            terminals: _,
        } = self.recipe.sandbox.clone();
        let needs = HomeNeeds {
            read: read.unwrap_or_default(),
            write: write.unwrap_or_default(),
            pass: pass.unwrap_or_default(),
            set: env
                .into_iter()
                .map(|(name, value)| (name, value.as_str().to_owned()))
                .collect(),
            homes,
        };
        let left = [told.result(), told.context()];
        Some(Held {
            home: AgentHome::new(told.path().to_owned(), needs),
            left: left
                .iter()
                .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
                .collect(),
        })
    }

    /// Whom it reaches besides its own hosts, where that is not everybody.
    fn reached(&self) -> Result<Option<AllowList>, StepError> {
        let of_all = self.executor.holding().and_then(|held| held.hosts.as_ref());
        let Some(of_all) = of_all else {
            return Ok(None);
        };
        let mut hosts = self.recipe.sandbox.hosts.clone().unwrap_or_default();
        hosts.extend_from_slice(of_all);
        let read = AllowList::read(hosts.iter().map(String::as_str));
        read.map(Some)
            .map_err(|error| StepError::of_task(error.to_string()))
    }

    fn needs(
        &self,
        home: &AgentHome,
        told: &AttemptDirectory,
        own: &[(String, String)],
    ) -> Result<Needs, StepError> {
        let by_user = self.placeholders_without_words(told);
        let line = self.recipe.command_line(&by_user)?;
        let words = line.iter().flat_map(|word| word.split_whitespace());
        let words = words.map(|word| word.trim_matches(['\'', '"', ';']));
        let variables = self.recipe.environment(&by_user)?;
        let said_by_others = own.iter().filter(|it| !variables.contains(it));
        let mut besides = self.besides.clone().unwrap_or_default();
        besides.terminals = self.recipe.sandbox.terminals.unwrap_or_default();
        besides.read.extend(home.folders());
        besides.read.push(self.directory.path().to_owned());
        // What its user's settings name to it.
        let is_whole = |path: &PathBuf| path.is_absolute();
        let named = variables.iter().map(|(_, value)| PathBuf::from(value));
        besides.read.extend(named.filter(is_whole));
        besides.named = words.map(PathBuf::from).filter(is_whole).collect();
        Ok(Needs {
            kind: JobKind::Agent,
            only_reads: false,
            own_folder: home.folder().to_owned(),
            besides,
            hosts: self.reached()?,
            network: None,
            said_by_others: said_by_others.map(|(name, _)| name.clone()).collect(),
            pass: home.pass().to_vec(),
        })
    }

    /// What a recipe may name.
    fn placeholders(&self, told: &AttemptDirectory, prompt: String) -> Placeholders {
        let directory = self.directory;
        Placeholders::from([
            ("prompt", prompt),
            ("prompt_file", directory.prompt().display().to_string()),
            ("result_file", told.result().display().to_string()),
            ("context_file", told.context().display().to_string()),
            ("attempt_folder", told.path().display().to_string()),
            ("worktree", self.worktree.display().to_string()),
            ("task_id", self.task_id.clone()),
            ("phase", self.phase.to_owned()),
            ("attempt", self.attempt.to_string()),
            ("tag", self.tag.to_string()),
            ("run_id", self.run_id.to_string()),
            ("tm", self.tm_program.display().to_string()),
        ])
    }

    /// The same without the words of others: what stands there is what the user wrote, and places of tm's own.
    fn placeholders_without_words(&self, told: &AttemptDirectory) -> Placeholders {
        let mut placeholders = self.placeholders(told, String::new());
        for name in ["task_id", "tag"] {
            placeholders.insert(name, String::new());
        }
        placeholders
    }

    /// The recipe's own variables, then those of every start, then those of this one; a later one wins.
    fn environment(
        &self,
        told: &AttemptDirectory,
        home: Option<&AgentHome>,
        own: Vec<(String, String)>,
    ) -> Vec<(OsString, OsString)> {
        let directory = self.directory;
        let of_user = home.map(AgentHome::variables).unwrap_or_default();
        let paths: [(OsString, OsString); 4] = [
            ("TM_WORKTREE".into(), self.worktree.into()),
            ("TM_PROMPT_FILE".into(), directory.prompt().into()),
            ("TM_RESULT_FILE".into(), told.result().into()),
            ("TM_CONTEXT_FILE".into(), told.context().into()),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        of_user
            .into_iter()
            .chain(own)
            .chain(paths)
            .chain(self.variables.iter().cloned())
            .collect()
    }
}
