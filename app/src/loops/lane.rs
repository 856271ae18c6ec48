//! Puts together what a loop is carried out with, and checks it before anything is started.

use super::LoopOrder;
use super::asked_for::{goal, statuses};
use crate::error::Error;
use crate::judging::checkouts;
use crate::notice::Notice;
use crate::preflight::{before_loop, unless_interrupted};
use crate::project::Project;
use crate::setup::never_commit;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::agent::AttemptLimits;
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, LoopPrompt, Recipe, shell_word};
use tm_runtime::loops::{CutOff, LoopHeader, LoopSetup, Place, ProgressFile, SharedCost};
use tm_runtime::now;
use tm_scheduler::iteration::LoopLimits;
use tm_scheduler::{CommitId, Limits, RunId, Tag, Timestamp};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};
use tm_store::run::{LoopDirectory, safe_name};
use tm_worktrees::{BranchName, WorktreePool, branch_from_pattern};

/// The line coverage in percent that the preset `test-coverage` goes for when the settings name none.
const DEFAULT_COVERAGE: &str = "80";

/// What all lanes of a loop have in common.
pub(crate) struct Common<'a> {
    pub(crate) project: &'a Project,
    pub(crate) order: &'a LoopOrder,
    pub(crate) id: RunId,
    pub(crate) started_at: Timestamp,
    pub(crate) directory: LoopDirectory,
    pub(crate) prompt: LoopPrompt,
    pub(crate) recipe: Recipe,
    pub(crate) test_command: Option<TestCommand>,
    pub(crate) backlog: Option<(BacklogSource, Backlog)>,
    pub(crate) tags: Vec<Option<Tag>>,
    pub(crate) cut_off: Vec<CutOff>,
    pub(crate) cost: SharedCost,
}

impl Common<'_> {
    /// Puts the lanes together, each with its worktree when it works in one, and has the tests run there that must pass.
    pub(crate) async fn lanes(&self) -> Result<Vec<LoopSetup>, Error> {
        let mut lanes = Vec::new();
        if let Err(error) = self.put_together(&mut lanes).await {
            for lane in lanes {
                self.project.warn(&lane.give_back().await);
            }
            return Err(error);
        }
        Ok(lanes)
    }

    async fn put_together(&self, lanes: &mut Vec<LoopSetup>) -> Result<(), Error> {
        for tag in &self.tags {
            let lane = self.lane(tag.as_ref()).await?;
            lanes.push(lane);
        }
        // All begin at the same commit, but for those that go on with what another one left half done.
        let begins = lanes.iter().find(|lane| self.left(&lane.lane).is_none());
        if let (Some(command), Some(lane)) = (&self.test_command, begins) {
            before_loop(self.project, command, &lane.place, self.order.broken).await?;
        }
        for (tag, lane) in self.tags.iter().zip(lanes) {
            self.begin(&lane.progress, tag.as_ref(), &lane.lane)?;
        }
        Ok(())
    }

    async fn lane(&self, tag: Option<&Tag>) -> Result<LoopSetup, Error> {
        let settings = &self.project.loaded.settings;
        let root = self.project.repository.checkout_root();
        let backlog = self.backlog.as_ref();
        let current = backlog.map(|(_, backlog)| &backlog.tag);
        let lane = tag.or(current).cloned();
        let lane = lane.unwrap_or_else(|| Tag::from("master"));
        let progress = ProgressFile::new(self.progress_path(&lane));
        let backlog_path = backlog.map(|(source, _)| std::path::absolute(source.path()));
        let backlog_path = backlog_path.transpose()?;
        let relative = |path: &PathBuf| path.strip_prefix(root).map(Path::to_owned).ok();
        let own_files: Vec<PathBuf> = [
            progress.path().to_owned(),
            root.join(".taskmaster/projects"),
        ]
        .into_iter()
        .chain(backlog_path.clone())
        .collect();
        let never_commit = never_commit(settings, backlog_path.as_deref(), root)?;
        let statuses = statuses(self.order)?;
        let elsewhere = backlog_path.as_deref().filter(|_| self.in_worktree());
        let of_lanes = (self.tags.iter().flatten()).map(|tag| self.progress_path(tag));
        let tm_program = std::env::current_exe()?;
        // Last, so that nothing that fails leaves a worktree behind.
        let place = if self.in_worktree() {
            self.worktree(&lane).await?
        } else {
            Place::Checkout(root.to_owned())
        };
        Ok(LoopSetup {
            id: self.id.clone(),
            goal: goal(&self.prompt),
            limits: self.limits(&lane),
            test_command: self.test_command.clone(),
            prompt: self.prompt.clone(),
            context: self.context(tag, &lane, elsewhere, &progress),
            recipe: self.recipe.clone(),
            attempt_limits: self.attempt_limits(),
            backlog: backlog.map(|(source, _)| (source.clone(), ReadOptions::of_tag(&lane))),
            statuses,
            repository: self.project.repository.clone(),
            left_out: own_files.iter().filter_map(relative).collect(),
            // The progress files of other lanes are tm's too.
            own_files: own_files.into_iter().chain(of_lanes).collect(),
            escape: settings.git.escape,
            never_commit,
            hooks: tm_runtime::run_hooks(settings),
            place,
            progress,
            executor: self.project.executor(),
            directory: self.directory.clone(),
            tm_program,
            cost: self.cost.clone(),
            lane,
        })
    }

    fn attempt_limits(&self) -> AttemptLimits {
        let settings = &self.project.loaded.settings.agent;
        let default = Duration::from_mins(Limits::DEFAULT_TIMEOUT_MINUTES);
        AttemptLimits {
            timeout: settings.timeout.unwrap_or(default),
            stall: settings.stall,
            grace: settings.grace,
            log_bytes: settings.max_log_bytes(),
        }
    }

    fn limits(&self, lane: &Tag) -> LoopLimits {
        let settings = &self.project.loaded.settings;
        let milliseconds =
            |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        LoopLimits {
            iterations: self.order.iterations,
            first: self
                .cut_off_in(lane)
                .map_or(1, |iteration| iteration.saturating_add(1)),
            sleep_ms: self.order.sleep.saturating_mul(1_000),
            retries: settings.waves.retries,
            deadline: settings
                .waves
                .deadline
                .map(|deadline| self.started_at.plus(milliseconds(deadline))),
            max_cost_usd: self.order.max_cost,
        }
    }

    /// The iteration in which the loop before was cut off, when it wrote into the same progress file.
    fn cut_off_in(&self, lane: &Tag) -> Option<u32> {
        let path = self.progress_path(lane);
        let mut cut_off = self.cut_off.iter();
        let before = cut_off.find(|cut_off| cut_off.state.progress_file == path)?;
        Some(before.state.iteration).filter(|iteration| *iteration > 0)
    }

    fn progress_path(&self, lane: &Tag) -> PathBuf {
        let root = self.project.repository.checkout_root();
        let path = match &self.order.progress_file {
            Some(path) => self.order.start.join(path),
            None => root.join(".taskmaster/loop-progress.txt"),
        };
        if !self.order.parallel {
            return path;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path
            .extension()
            .map_or_else(String::new, |text| format!(".{}", text.to_string_lossy()));
        let lane = safe_name(&lane.as_str().into());
        path.with_file_name(format!("{stem}-{lane}{extension}"))
    }

    /// The worktree of a loop that was cut off in this lane, its branch and where that began, for one that works in one.
    fn left(&self, lane: &Tag) -> Option<&(PathBuf, String, CommitId)> {
        let mut cut_off = self.cut_off.iter();
        let before = cut_off.find(|cut_off| cut_off.state.lane == *lane)?;
        let worktree = before.state.worktree.as_ref();
        worktree.filter(|(path, ..)| self.in_worktree() && path.join(".git").exists())
    }

    const fn in_worktree(&self) -> bool {
        self.order.worktree || self.order.parallel
    }

    /// A worktree on a branch of its own, or the one of a loop that was cut off, with everything that is in it.
    async fn worktree(&self, lane: &Tag) -> Result<Place, Error> {
        let repository = &self.project.repository;
        let base = repository.resolve("HEAD")?;
        let name = safe_name(&lane.as_str().into());
        let copies = self.directory.path().join("lanes").join(&name);
        let checkouts = |pool, base| checkouts(self.project, pool, base, &copies);
        if let Some((path, branch, base)) = self.left(lane)
            && let Some(folder) = path.parent()
        {
            let checkouts = checkouts(WorktreePool::open(repository, folder)?, base.clone())?;
            let worktree = checkouts.take_over(path, &BranchName::new(branch.clone())?, base)?;
            self.project.tell(&Notice::GoesOnWith(branch));
            return Ok(Place::Worktree {
                checkouts: Box::new(checkouts),
                worktree: Box::new(worktree),
            });
        }
        // A folder for each lane: a lane that ends cleans up its own.
        let pool = self.project.worktrees(&format!("{}-{name}", self.id))?;
        let checkouts = checkouts(pool, base.clone())?;
        let names = [("tag", lane.as_str()), ("run", self.id.as_str())];
        let branch =
            repository.free_branch(&branch_from_pattern("tm/{tag}/loop-{run}", &names)?)?;
        if self.project.loaded.settings.worktree.setup.is_some() {
            self.project.tell(&Notice::SetsUp);
        }
        let made = unless_interrupted(Place::new_worktree(checkouts.clone(), &branch, &base)).await;
        let made = made.and_then(|made| made.map_err(Error::from));
        if made.is_err() {
            self.project.warn(&checkouts.close().await);
            // It need not have come to be.
            let _stays = repository.remove_branch(&branch, &base);
        }
        made
    }

    fn context(
        &self,
        tag: Option<&Tag>,
        lane: &Tag,
        elsewhere: Option<&Path>,
        progress: &ProgressFile,
    ) -> LoopContext {
        // In a worktree, the backlog is the one of the checkout, which all agents share.
        let named = self.order.backlog.as_ref();
        let named = named.and_then(|path| std::path::absolute(self.order.start.join(path)).ok());
        let backlog = elsewhere.map(Path::to_owned).or(named);
        let word = |path: &Path| shell_word(&path.display().to_string());
        let flags: String = backlog
            .map(|path| format!(" --backlog {}", word(&path)))
            .into_iter()
            .chain(tag.map(|tag| format!(" --tag {}", shell_word(tag.as_str()))))
            .collect();
        let first = self.cut_off_in(lane).unwrap_or(0);
        let threshold = self.project.loaded.settings.tdd.coverage_threshold;
        LoopContext {
            iterations: first.saturating_add(self.order.iterations.get()),
            tag: tag.map(ToString::to_string),
            tm: std::env::current_exe().map_or_else(|_| "tm".to_owned(), |path| word(&path)),
            flags,
            statuses: self.order.status.join(","),
            progress_file: progress.path().display().to_string(),
            test_command: self.test_command.as_ref().map(ToString::to_string),
            coverage_target: threshold.map_or_else(
                || DEFAULT_COVERAGE.to_owned(),
                |threshold| threshold.percent().to_string(),
            ),
            ..LoopContext::default()
        }
    }

    /// Notes the beginning in the progress file.
    fn begin(&self, progress: &ProgressFile, tag: Option<&Tag>, lane: &Tag) -> Result<(), Error> {
        let written = progress.begin(&LoopHeader {
            started_at: now(),
            prompt: self.prompt.name(),
            iterations: self.order.iterations.get(),
            tag: tag.map(Tag::as_str),
            cut_off: self.cut_off_in(lane),
        });
        written.map_err(|source| Error::ProgressUnwritten {
            path: progress.path().to_owned(),
            source,
        })
    }
}
