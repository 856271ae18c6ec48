//! A loop: one agent after the other, each with a fresh context, until there is nothing left to do.

mod standing;
mod tag_loops;

pub use standing::{LoopStanding, live_loop, loop_standing, loop_standings};

use crate::after::{OnComplete, channels, deliver};
use crate::agents::find_program;
use crate::error::Error;
use crate::holding::{Waiting, end_abandoned, lock, stop_orders, while_held};
use crate::judging::test_command;
use crate::notice;
use crate::plan::new_id;
use crate::project::Project;
use crate::setup::presets;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use tag_loops::Common;
use tm_config::{AgentCommand, Argument, PromptDelivery};
use tm_executors::engine::Holding;
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, PromptTemplate, Recipe, loop_prompt, recipe};
use tm_reports::{LoopFacts, LoopSummary, TagLoopSummary, TrySummary, summarize_loop};
use tm_runtime::loops::{LoopSetup, SharedCost, TagLoopOutcome, TaggedLoopEvent, run_loops};
use tm_runtime::notices::{Channel, Notice};
use tm_runtime::now;
use tm_runtime::preflight::BrokenBase;
use tm_scheduler::iteration::{Goal, LoopStatus};
use tm_scheduler::{Status, StopMode, Tag, Timestamp};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{HeldFor, LoopDirectory, RunLock, write_json};

/// What a loop is to do; the settings say with whom.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
#[derive(Clone, Debug)]
pub struct LoopOrder {
    /// Where paths begin.
    pub start: PathBuf,
    /// Iterations at the most.
    pub iterations: NonZeroU32,
    /// A preset, or the path of a prompt.
    pub prompt: String,
    /// The memory of the loop.
    pub progress_file: Option<PathBuf>,
    /// The pause between iterations.
    pub sleep: Duration,
    /// A command that `sh` runs when everything is complete.
    pub on_complete: Option<String>,
    /// Channels that are told when it is over.
    pub notify: Vec<String>,
    /// Only tasks with these tags.
    pub tag: Vec<String>,
    /// Only tasks with these statuses.
    pub status: Vec<String>,
    /// The backlog.
    pub backlog: Option<PathBuf>,
    /// Whether tests must pass after each iteration.
    pub verify: bool,
    /// What becomes of it when tests can't be run before the first.
    pub broken: BrokenBase,
    /// Whether it works on a branch of its own in a worktree.
    pub worktree: bool,
    /// Whether there is a loop for each tag.
    pub parallel: bool,
    /// Whether Claude Code works in a Docker sandbox, which holds it in the place of what the settings say.
    pub docker: bool,
    /// What agents may cost in US dollars.
    pub max_cost: Option<f64>,
}

/// A loop that is about to begin; holds the run lock.
#[derive(Debug)]
pub struct Loop {
    /// When it begins.
    pub started_at: Timestamp,
    /// What goes on at the same time.
    pub tag_loops: Vec<LoopSetup>,
    facts: LoopFacts,
    lock: RunLock,
    after: After,
}

/// What is done when it is over.
#[derive(Debug)]
struct After {
    project: Project,
    directory: LoopDirectory,
    on_complete: Option<String>,
    channels: Vec<Channel>,
}

/// A loop that is over; holds the run lock.
#[derive(Debug)]
pub struct EndedLoop {
    /// What it did.
    pub summary: LoopSummary,
    /// Whether the run lock was kept to the end.
    pub kept: Result<(), Error>,
    after: After,
    _lock: RunLock,
}

impl Loop {
    /// Checks everything and gets the loop ready.
    ///
    /// # Errors
    /// Something is not there that it needs, or a run is live.
    pub async fn ready(project: Project, order: &LoopOrder) -> Result<Self, Error> {
        let channels = channels(&order.notify)?;
        let prompt = order.prompt()?;
        let recipe = order.agent(&project)?;
        let sandbox = order.sandbox(&project)?;
        let test_command = order.verification(&project)?;
        let backlog = order.backlog(&project, goal(&prompt))?;
        let tags = order.tags(backlog.as_ref())?;
        let mut lock = lock(&project, Waiting::Refuse, HeldFor::Loop)?;
        let cut_off = end_abandoned(&project).await?;
        let started_at = now();
        let id = new_id(started_at);
        lock.set_run_id(&id)?;
        let directory = project.directory.loop_directory(&id)?;
        directory.create()?;
        let facts = LoopFacts {
            loop_id: id.to_string(),
            prompt: prompt.name.clone(),
            agent: recipe.name.clone(),
            sandbox: sandbox.clone(),
            started_at,
            directory: directory.path().display().to_string(),
        };
        let common = Common {
            project: &project,
            order,
            id,
            started_at,
            directory: directory.clone(),
            prompt,
            recipe,
            sandbox,
            test_command,
            backlog,
            tags,
            cut_off,
            cost: SharedCost::default(),
        };
        let tag_loops = common.tag_loops().await?;
        let after = After {
            project,
            directory,
            on_complete: order.on_complete.clone(),
            channels,
        };
        Ok(Self {
            started_at,
            tag_loops,
            facts,
            lock,
            after,
        })
    }

    /// Carries the loop out to its end; `listener` is told everything that people may want to see.
    ///
    /// # Errors
    /// It can't go on.
    pub async fn run(self, listener: impl FnMut(&TaggedLoopEvent)) -> Result<EndedLoop, Error> {
        let Self {
            tag_loops,
            facts,
            mut lock,
            after,
            started_at,
        } = self;
        let (sender, stops) = stop_orders()?;
        let work = run_loops(tag_loops, stops, listener);
        // A loop that is over hears nothing.
        let stop = || sender.send(StopMode::Gently).unwrap_or_default();
        let (outcomes, kept) = Box::pin(while_held(&mut lock, work, stop)).await;
        let outcomes = outcomes?;
        let ended = outcomes.iter().map(|outcome| outcome.ended_at).max();
        let tag_loops = outcomes.into_iter().map(tag_loop_summary).collect();
        let summary = summarize_loop(tag_loops, facts, ended.unwrap_or(started_at));
        write_json(&after.directory.summary_json(), &summary)?;
        Ok(EndedLoop {
            summary,
            kept,
            after,
            _lock: lock,
        })
    }
}

impl EndedLoop {
    /// Runs the command for completion, and delivers the notices.
    pub async fn tell(&self) {
        let After {
            project,
            directory,
            on_complete,
            channels,
        } = &self.after;
        let (summary, root) = (&self.summary, project.root());
        if let (Some(command), LoopStatus::AllComplete) = (on_complete, summary.final_status) {
            let status = summary.final_status.as_str();
            let completed = OnComplete {
                command,
                folder: root,
                log_folder: directory.path(),
                environment: vec![
                    ("TM_LOOP_STATUS".into(), status.into()),
                    ("TM_LOOP_SUMMARY".into(), directory.summary_json().into()),
                ],
                id: &summary.loop_id,
            };
            completed.run(project).await;
        }
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let text = format!(
            "{name}: loop {}: {} ({} tasks completed, {} open)",
            summary.final_status, summary.reason, summary.tasks_completed, summary.tasks_open
        );
        let notice = Notice { text, summary };
        deliver(project, channels, &notice, directory.path()).await;
    }
}

/// The preset `default` works through the backlog, whoever wrote it; all others end when the agent says so.
fn goal(prompt: &PromptTemplate) -> Goal {
    match prompt.name.as_str() {
        "default" => Goal::Backlog,
        _ => Goal::Marker,
    }
}

/// What a loop is asked for, looked up and checked before anything is started.
impl LoopOrder {
    /// The prompt, told apart as a preset or a path.
    fn prompt(&self) -> Result<PromptTemplate, Error> {
        let prompt = loop_prompt(&self.prompt, &self.start, &presets(&self.start))?;
        // A mistake in a preset of the user's own is told now.
        prompt.framed(&LoopContext::default())?;
        Ok(prompt)
    }

    /// The agent, whose program must be there.
    fn agent(&self, project: &Project) -> Result<Recipe, Error> {
        let settings = &project.loaded.settings;
        if self.docker {
            let recipe = in_docker(recipe("claude", settings)?);
            find_program(&recipe, project.root())
                .map_err(|error| Error::NoSandbox(Box::new(error)))?;
            return Ok(recipe);
        }
        let recipe = recipe(settings.agent.for_phase("none"), settings)?;
        find_program(&recipe, project.root())?;
        if self.max_cost.is_some() && !recipe.output.tells_cost() {
            project.tell(&notice::Notice::CostUntold(&recipe.name));
        }
        Ok(recipe)
    }

    /// How its agents are held, in words; refused where that was asked for and nothing of it works here.
    fn sandbox(&self, project: &Project) -> Result<Option<String>, Error> {
        let executor = project.executor();
        let held = executor.holding();
        if let Some(held) = held.filter(|held| held.level.is_none()) {
            return Err(Error::NotHeld(held.describe()));
        }
        if !self.docker {
            project.warn_of_unheld_agents();
        }
        let docker = self.docker.then(|| "docker".to_owned());
        Ok(docker.or_else(|| held.map(Holding::describe)))
    }

    /// The test command, when one must pass after each iteration.
    fn verification(&self, project: &Project) -> Result<Option<TestCommand>, Error> {
        self.verify
            .then(|| test_command(project))
            .map(|command| command.ok_or(Error::NothingToVerifyWith))
            .transpose()
    }

    /// The statuses that are asked for.
    fn statuses(&self) -> Result<Vec<Status>, Error> {
        let read = |text: &String| match Status::from(text.trim()) {
            Status::Other(other) => Err(Error::UnknownStatus(other)),
            status => Ok(status),
        };
        self.status.iter().map(read).collect()
    }

    /// The backlog, which only a loop through it needs.
    fn backlog(
        &self,
        project: &Project,
        goal: Goal,
    ) -> Result<Option<(BacklogSource, Backlog)>, Error> {
        let path = self.backlog.as_ref().map(|path| self.start.join(path));
        let tag = self.tag.first().map(String::as_str);
        let is_needed = goal == Goal::Backlog || self.parallel || path.is_some() || tag.is_some();
        match project.backlog(path.as_deref(), tag, None) {
            Err(_) if !is_needed => Ok(None),
            found => found.map(Some),
        }
    }

    /// The tags that have loops; `None` for the one that is current.
    fn tags(&self, backlog: Option<&(BacklogSource, Backlog)>) -> Result<Vec<Option<Tag>>, Error> {
        let given: BTreeSet<Tag> = self.tag.iter().map(|tag| Tag::from(tag.as_str())).collect();
        let tags = match (self.parallel, given.len()) {
            (false, 0) => return Ok(vec![None]),
            (false, 2..) => return Err(Error::SeveralTags),
            (true, 0) => backlog.map(open_tags).transpose()?.unwrap_or_default(),
            (false, 1) | (true, 1..) => given.into_iter().collect(),
        };
        if tags.is_empty() {
            return Err(Error::NoOpenTags);
        }
        Ok(tags.into_iter().map(Some).collect())
    }
}

/// Claude Code in a Docker sandbox.
fn in_docker(claude: Recipe) -> Recipe {
    let words = "docker sandbox run claude -p"
        .split(' ')
        .map(|word| Argument::Single(word.to_owned()));
    Recipe {
        command: Some(AgentCommand::Arguments(words.collect())),
        prompt: PromptDelivery::Arg,
        ..claude
    }
}

/// The tags that have open tasks.
fn open_tags((source, backlog): &(BacklogSource, Backlog)) -> Result<Vec<Tag>, Error> {
    let mut open = Vec::new();
    for tag in &backlog.tags {
        let tasks = source.read(&ReadOptions::of_tag(tag))?.tasks;
        if tasks.iter().any(|task| task.status.is_open()) {
            open.push(tag.clone());
        }
    }
    Ok(open)
}

fn tag_loop_summary(outcome: TagLoopOutcome) -> TagLoopSummary {
    let machine = outcome.machine;
    TagLoopSummary {
        tag: outcome.tag.to_string(),
        final_status: outcome.status,
        reason: outcome.reason,
        branch: outcome.branch,
        progress_file: outcome.progress_file,
        total_iterations: machine.iterations(),
        tasks_completed: machine.tasks_completed(),
        tasks_open: machine.tasks_open(),
        iterations: machine.records().iter().map(TrySummary::of).collect(),
    }
}
