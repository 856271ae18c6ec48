//! Puts together what a loop is carried out with, and checks it before anything is started.

use super::{LoopOrder, goal};
use crate::error::Error;
use crate::judging::checkouts;
use crate::notice::Notice;
use crate::preflight::{before_loop, unless_interrupted};
use crate::project::Project;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::agent::AttemptLimits;
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, PromptTemplate, Recipe, shell_word};
use tm_runtime::loops::{
    CutOff, LoopHeader, LoopSetup, LoopState, Place, ProgressFile, SharedCost,
};
use tm_runtime::{Checkouts, HookRules, attempt_limits, never_commit, now, run_hooks};
use tm_scheduler::iteration::LoopLimits;
use tm_scheduler::{
    BranchName, CommitId, Limits, RunId, Tag, Timestamp, branch_from_pattern, milliseconds,
};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{LoopDirectory, safe_name};
use tm_worktrees::{Repository, RunHooks};

/// How long an agent may work when the settings name no time.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(Limits::DEFAULT_TIMEOUT_MINUTES);

/// What the loops of all tags have in common.
pub(crate) struct Common<'a> {
    pub(crate) project: &'a Project,
    pub(crate) order: &'a LoopOrder,
    pub(crate) id: RunId,
    pub(crate) started_at: Timestamp,
    pub(crate) directory: LoopDirectory,
    pub(crate) prompt: PromptTemplate,
    pub(crate) recipe: Recipe,
    pub(crate) sandbox: Option<String>,
    pub(crate) test_command: Option<TestCommand>,
    pub(crate) backlog: Option<(BacklogSource, Backlog)>,
    pub(crate) tags: Vec<Option<Tag>>,
    pub(crate) cut_off: Vec<CutOff>,
    pub(crate) cost: SharedCost,
}

impl Common<'_> {
    /// Puts the loops of all tags together, each with its worktree when it works in one, and has the tests run there that
    /// must pass.
    pub(crate) async fn tag_loops(&self) -> Result<Vec<LoopSetup>, Error> {
        let mut tag_loops = Vec::new();
        if let Err(error) = self.put_together(&mut tag_loops).await {
            for tag_loop in tag_loops {
                self.project.warn(&tag_loop.give_back().await);
            }
            return Err(error);
        }
        Ok(tag_loops)
    }

    async fn put_together(&self, tag_loops: &mut Vec<LoopSetup>) -> Result<(), Error> {
        for tag in &self.tags {
            let tag_loop = self.tag_loop(tag.as_ref()).await?;
            tag_loops.push(tag_loop);
        }
        // All begin at the same commit, but for those that go on with what another one left half done.
        let begins = tag_loops
            .iter()
            .find(|begun| self.left(&begun.tag).is_none());
        if let (Some(command), Some(begun)) = (&self.test_command, begins) {
            before_loop(self.project, command, &begun.place, self.order.broken).await?;
        }
        for (asked_for, tag_loop) in self.tags.iter().zip(tag_loops) {
            self.begin(&tag_loop.progress, asked_for.as_ref(), &tag_loop.tag)?;
        }
        Ok(())
    }

    async fn tag_loop(&self, asked_for: Option<&Tag>) -> Result<LoopSetup, Error> {
        let settings = &self.project.loaded.settings;
        let root = self.project.root();
        let backlog = self.backlog.as_ref();
        let current = backlog.map(|(_, backlog)| &backlog.tag);
        let tag = asked_for
            .or(current)
            .cloned()
            .unwrap_or_else(|| Tag::from("master"));
        let progress = ProgressFile::new(self.progress_path(&tag));
        let backlog_path = backlog
            .map(|(source, _)| std::path::absolute(source.path()))
            .transpose()?;
        let mut own_files = vec![progress.path().to_owned()];
        own_files.extend(self.project.own_folders());
        own_files.extend(backlog_path.clone());
        let never_commit = never_commit(settings, backlog.map(|(source, _)| source), root)?;
        let statuses = self.order.statuses()?;
        let tm_program = std::env::current_exe()?;
        // Last, so that nothing that fails leaves a worktree behind.
        let place = if self.in_worktree() {
            self.worktree(&tag).await?
        } else {
            self.refuse_home_in_checkout()?;
            Place::Checkout(root.to_owned())
        };
        let relative = |path: &PathBuf| path.strip_prefix(root).map(Path::to_owned).ok();
        let left_out = own_files.iter().filter_map(relative).collect();
        // The progress files of other tags are tm's too.
        own_files.extend(
            self.tags
                .iter()
                .flatten()
                .map(|tag| self.progress_path(tag)),
        );
        Ok(LoopSetup {
            id: self.id.clone(),
            goal: goal(&self.prompt),
            limits: self.limits(&tag),
            test_command: self.test_command.clone(),
            prompt: self.prompt.clone(),
            context: self.context(asked_for, &tag, backlog_path, &progress),
            recipe: self.recipe.clone(),
            attempt_limits: self.attempt_limits(),
            backlog: backlog.map(|(source, _)| (source.clone(), ReadOptions::of_tag(&tag))),
            statuses,
            repository: self.repository(&place)?,
            left_out,
            own_files,
            escape: settings.git.escape,
            never_commit,
            hooks: (run_hooks(settings) == RunHooks::Yes).then(|| HookRules::of(settings)),
            place,
            progress,
            executor: self.project.executor(),
            sandbox: self.sandbox.clone(),
            is_held_elsewhere: self.order.docker,
            directory: self.directory.clone(),
            tm_program,
            cost: self.cost.clone(),
            tag,
        })
    }

    /// Landlock excepts nothing in a folder that is written, and what tm keeps decides what it runs.
    fn refuse_home_in_checkout(&self) -> Result<(), Error> {
        let home = self.project.own_folder();
        let executor = self.project.executor();
        let is_open = executor.holding().is_some_and(|held| !held.excepts());
        let is_within = is_open && home.starts_with(self.project.root());
        Error::refuse(is_within.then_some(home), |home| {
            Error::NotHeld(format!(
                "with Landlock agents could change `{}`, where tm keeps what it knows, since it lies in the checkout; \
                 `TM_HOME` says where else",
                home.display()
            ))
        })
    }

    /// The repository as it is looked at: where agents that are held can write what decides how git works, as that is now.
    fn repository(&self, place: &Place) -> Result<Repository, Error> {
        let repository = &self.project.repository;
        let is_kept = self.project.executor().holds() && matches!(place, Place::Checkout(_));
        Ok(if is_kept {
            let repository = repository.written_by_agents();
            repository.with_settings_kept_in(&self.directory.kept_settings())?
        } else {
            repository.clone()
        })
    }

    fn attempt_limits(&self) -> AttemptLimits {
        let agent = &self.project.loaded.settings.agent;
        attempt_limits(agent, agent.timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    fn limits(&self, tag: &Tag) -> LoopLimits {
        let (order, waves) = (self.order, &self.project.loaded.settings.waves);
        let deadline = |after| self.started_at.after(after);
        LoopLimits {
            iterations: order.iterations,
            first: self.cut_off_in(tag).unwrap_or(0).saturating_add(1),
            sleep_ms: milliseconds(order.sleep),
            retries: waves.retries,
            deadline: waves.deadline.map(deadline),
            max_cost_usd: order.max_cost,
        }
    }

    /// The last state of a loop that was cut off, by what it is known by.
    fn cut_off(&self, is_it: impl Fn(&LoopState) -> bool) -> Option<&LoopState> {
        self.cut_off
            .iter()
            .map(|cut_off| &cut_off.state)
            .find(|state| is_it(state))
    }

    /// The iteration in which the loop before was cut off, when it wrote into the same progress file.
    fn cut_off_in(&self, tag: &Tag) -> Option<u32> {
        let path = self.progress_path(tag);
        let before = self.cut_off(|state| state.progress_file == path)?;
        Some(before.iteration).filter(|iteration| *iteration > 0)
    }

    fn progress_path(&self, tag: &Tag) -> PathBuf {
        let path = match &self.order.progress_file {
            Some(path) => self.order.start.join(path),
            None => self.project.root().join(".taskmaster/loop-progress.txt"),
        };
        if !self.order.parallel {
            return path;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let tag = safe_name(&tag.as_str().into());
        path.with_file_name(format!("{stem}-{tag}"))
            .with_added_extension(path.extension().unwrap_or_default())
    }

    /// The worktree of a loop that was cut off at this tag, its branch and where that began, for one that works in one.
    fn left(&self, tag: &Tag) -> Option<&(PathBuf, String, CommitId)> {
        let worktree = self.cut_off(|state| state.tag == *tag)?.worktree.as_ref()?;
        let is_there = self.in_worktree() && worktree.0.join(".git").exists();
        is_there.then_some(worktree)
    }

    const fn in_worktree(&self) -> bool {
        self.order.worktree || self.order.parallel
    }

    /// A worktree on a branch of its own, or the one of a loop that was cut off, with everything that is in it.
    async fn worktree(&self, tag: &Tag) -> Result<Place, Error> {
        let (project, name) = (self.project, safe_name(&tag.as_str().into()));
        let common_dir = project.repository.common_dir();
        project.directory.remember_first_place(common_dir)?;
        let executor = project.executor();
        let copies = self.directory.path().join("lanes").join(&name);
        if let Some(left) = self.left(tag)
            && let Some(folder) = left.0.parent()
        {
            let pool = project.worktrees_in(folder)?;
            return taken_over(
                project,
                checkouts(project, pool, left.2.clone(), (&copies, &executor))?,
                left,
            );
        }
        let base = project.repository.resolve("HEAD")?;
        // A folder for each loop: one that ends cleans up its own.
        let pool = project.worktrees(&format!("{}-{name}", self.id))?;
        let checkouts = checkouts(project, pool, base.clone(), (&copies, &executor))?;
        let names = [("tag", tag.as_str()), ("run", self.id.as_str())];
        let branch = branch_from_pattern("tm/{tag}/loop-{run}", &names)?;
        new_worktree(project, &checkouts, (&branch, &base)).await
    }

    fn context(
        &self,
        asked_for: Option<&Tag>,
        tag: &Tag,
        backlog: Option<PathBuf>,
        progress: &ProgressFile,
    ) -> LoopContext {
        let order = self.order;
        // In a worktree, the backlog is the one of the checkout, which all agents share.
        let is_told = self.in_worktree() || order.backlog.is_some();
        let backlog = backlog
            .filter(|_| is_told)
            .map(|path| (" --backlog ", word(&path)));
        let of_tag = asked_for.map(|tag| (" --tag ", shell_word(tag.as_str())));
        let flags = backlog.into_iter().chain(of_tag);
        let first = self.cut_off_in(tag).unwrap_or(0);
        LoopContext {
            iterations: first.saturating_add(order.iterations.get()),
            tag: asked_for.map(ToString::to_string),
            tm: std::env::current_exe().map_or_else(|_| "tm".to_owned(), |path| word(&path)),
            flags: flags
                .map(|(flag, value)| flag.to_owned() + &value)
                .collect(),
            statuses: order.status.join(","),
            progress_file: progress.path().display().to_string(),
            test_command: self.test_command.as_ref().map(ToString::to_string),
            ..LoopContext::of(&self.project.loaded.settings)
        }
    }

    /// Notes the beginning in the progress file.
    fn begin(
        &self,
        progress: &ProgressFile,
        asked_for: Option<&Tag>,
        tag: &Tag,
    ) -> Result<(), Error> {
        progress
            .begin(&LoopHeader {
                started_at: now(),
                prompt: self.prompt.name.clone(),
                iterations: self.order.iterations.get(),
                tag: asked_for.map(Tag::as_str),
                cut_off: self.cut_off_in(tag),
            })
            .map_err(|source| Error::ProgressUnwritten {
                path: progress.path().to_owned(),
                source,
            })
    }
}

/// A path as a word of a command.
fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Goes on in the worktree of a loop that was cut off, with everything that is in it.
fn taken_over(
    project: &Project,
    checkouts: Checkouts,
    (path, branch, base): &(PathBuf, String, CommitId),
) -> Result<Place, Error> {
    let worktree = checkouts.take_over(path, &BranchName::new(branch.clone())?, base)?;
    project.tell(&Notice::GoesOnWith(branch));
    Ok(Place::Worktree {
        checkouts: Box::new(checkouts),
        worktree: Box::new(worktree),
    })
}

/// Makes a worktree on a branch of that name, or a like one that is free.
async fn new_worktree(
    project: &Project,
    checkouts: &Checkouts,
    (branch, base): (&BranchName, &CommitId),
) -> Result<Place, Error> {
    let repository = &project.repository;
    let branch = repository.free_branch(branch)?;
    if project.loaded.settings.worktree.setup.is_some() {
        project.tell(&Notice::SetsUp);
    }
    let made = unless_interrupted(Place::new_worktree(checkouts.clone(), &branch, base)).await;
    let made = made.and_then(|made| made.map_err(Error::from));
    if made.is_err() {
        project.warn(&checkouts.close().await);
        // It need not have come to be.
        let _stays = repository.remove_branch(&branch, base);
    }
    made
}
