//! A loop: one agent after the other, each with a fresh context, until there is nothing left to do.

mod asked_for;
mod lane;

use crate::after::{OnComplete, channels, deliver};
use crate::error::Error;
use crate::holding::{Waiting, end_abandoned, lock, stop_orders, while_held};
use crate::plan::new_id;
use crate::project::Project;
use asked_for::{agent, goal, prompt, tags, verification};
use lane::Common;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use tm_reports::{LaneFacts, LoopFacts, LoopSummary, summarize_loop};
use tm_runtime::loops::{LoopSetup, SharedCost, TagLoopOutcome, TaggedLoopEvent, run_loops};
use tm_runtime::notices::{Channel, Notice};
use tm_runtime::now;
use tm_runtime::preflight::BrokenBase;
use tm_scheduler::iteration::{Goal, LoopStatus};
use tm_scheduler::{StopMode, Tag, Timestamp};
use tm_store::backlog::{Backlog, BacklogSource};
use tm_store::run::{LoopDirectory, RunLock, write_json};

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
    /// Seconds between iterations.
    pub sleep: u64,
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
    /// Whether Claude Code works in a Docker sandbox.
    pub sandbox: bool,
    /// What agents may cost in US dollars.
    pub max_cost: Option<f64>,
}

/// A loop that is about to begin; holds the run lock.
#[derive(Debug)]
pub struct Loop {
    /// When it begins.
    pub started_at: Timestamp,
    /// What goes on at the same time.
    pub lanes: Vec<LoopSetup>,
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
        let prompt = prompt(order)?;
        let recipe = agent(&project, order)?;
        let test_command = verification(&project, order)?;
        let backlog = backlog(&project, order, goal(&prompt))?;
        let tags = tags(order, backlog.as_ref())?;
        let mut lock = lock(&project, Waiting::Refuse)?;
        let cut_off = end_abandoned(&project).await?;
        let started_at = now();
        let id = new_id(started_at);
        lock.set_run_id(&id)?;
        let directory = project.directory.loop_directory(&id)?;
        directory.create()?;
        let facts = LoopFacts {
            loop_id: id.to_string(),
            prompt: prompt.name(),
            agent: recipe.name.clone(),
            started_at,
            ended_at: started_at,
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
            test_command,
            backlog,
            tags,
            cut_off,
            cost: SharedCost::default(),
        };
        let lanes = common.lanes().await?;
        let after = After {
            project,
            directory,
            on_complete: order.on_complete.clone(),
            channels,
        };
        Ok(Self {
            started_at,
            lanes,
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
            lanes,
            mut facts,
            mut lock,
            after,
            ..
        } = self;
        let file = |lane: &LoopSetup| lane.progress.path().display().to_string();
        let progress: BTreeMap<Tag, String> = lanes
            .iter()
            .map(|lane| (lane.lane.clone(), file(lane)))
            .collect();
        let (sender, stops) = stop_orders()?;
        let work = run_loops(lanes, stops, listener);
        // A loop that is over hears nothing.
        let stop = || sender.send(StopMode::Gently).unwrap_or_default();
        let (outcomes, kept) = Box::pin(while_held(&mut lock, work, stop)).await;
        let outcomes = outcomes?;
        let ended = outcomes.iter().map(|outcome| outcome.ended_at);
        facts.ended_at = ended.max().unwrap_or(facts.started_at);
        let summary = summary(&outcomes, &progress, &facts);
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
        let summary = &self.summary;
        let After {
            project,
            directory,
            on_complete: command,
            channels,
        } = &self.after;
        let root = project.repository.checkout_root();
        if let (Some(command), LoopStatus::AllComplete) = (command, summary.final_status) {
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

/// The backlog, which only a loop through it needs.
fn backlog(
    project: &Project,
    order: &LoopOrder,
    goal: Goal,
) -> Result<Option<(BacklogSource, Backlog)>, Error> {
    let path = order.backlog.as_ref().map(|path| order.start.join(path));
    let tag = order.tag.first().map(String::as_str);
    let is_needed = goal == Goal::Backlog || order.parallel || path.is_some() || tag.is_some();
    match project.backlog(path.as_deref(), tag, None) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_needed => Err(error),
        Err(_) => Ok(None),
    }
}

fn summary(
    outcomes: &[TagLoopOutcome],
    progress: &BTreeMap<Tag, String>,
    facts: &LoopFacts,
) -> LoopSummary {
    let lane = |outcome: &'_ TagLoopOutcome| LaneFacts {
        tag: outcome.lane.to_string(),
        status: outcome.status,
        reason: outcome.reason.clone(),
        branch: outcome.branch.clone(),
        progress_file: progress.get(&outcome.lane).cloned().unwrap_or_default(),
    };
    let lanes = outcomes.iter();
    let lanes: Vec<_> = lanes
        .map(|outcome| (&outcome.machine, lane(outcome)))
        .collect();
    summarize_loop(&lanes, facts)
}
