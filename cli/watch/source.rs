//! Reads what the screen shows from the folder of the run, and from git: never writes there.

use super::board::{Board, Link};
use super::evidence::evidence;
use super::model::{Model, Tab};
use crate::failure::{CommandFailure, Result};
use crate::project::open;
use std::path::Path;
use std::time::{Duration, Instant};
use tm_app::Project;
use tm_executors::agent::{Follower, LogEnd};
use tm_runtime::{Replayed, now, replay};
use tm_scheduler::{AttemptNumber, CommitId, RunId, TaskId, TaskView};
use tm_store::run::{RunDirectory, RunLock, safe_name};

/// The journal is read again after so many times the time that reading it took.
const REST: u32 = 50;
/// Whether the run is live, and what changed in a worktree, is looked at this often at the most.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// So many lines of a log are kept.
const MOST_LINES: usize = 5_000;

/// Everything that is read.
pub(crate) struct Source {
    project: Project,
    run_id: RunId,
    directory: RunDirectory,
    replayed: Replayed,
    journal_length: u64,
    read_next: Instant,
    link: Link,
    link_next: Instant,
    log: Option<Log>,
    diff: Option<Diff>,
}

/// The log of one attempt.
struct Log {
    of: (TaskId, AttemptNumber),
    follower: Follower,
    lines: Vec<String>,
}

/// What one attempt changed.
struct Diff {
    of: DiffOf,
    lines: Vec<String>,
    next: Instant,
}

/// Which difference is wanted.
#[derive(PartialEq)]
struct DiffOf {
    task: TaskId,
    attempt: AttemptNumber,
    base: Option<CommitId>,
    commit: Option<CommitId>,
    worktree: Option<String>,
}

impl Source {
    /// Opens the run that is named, or the live or last one.
    pub(crate) fn open(start: &Path, run: Option<&str>) -> Result<Self> {
        let project = open(start)?;
        let (run_id, directory) = project.run(run)?;
        let replayed = replay(&directory.journal())?;
        let now = Instant::now();
        Ok(Self {
            project,
            run_id,
            directory,
            replayed,
            journal_length: 0,
            read_next: now,
            link: Link::Over,
            link_next: now,
            log: None,
            diff: None,
        })
    }

    /// Returns the project.
    pub(crate) const fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the folder in which the task's agent works.
    pub(crate) fn worktree(&self, task: &TaskId) -> Option<String> {
        let view = self
            .replayed
            .scheduler
            .task(task)
            .filter(|view| view.state.holds_slot())?;
        view.attempts
            .last()?
            .place()
            .map(|place| place.worktree.clone())
    }

    /// Has everything read again at the next refresh.
    pub(crate) fn expire(&mut self) {
        (self.read_next, self.link_next) = (Instant::now(), Instant::now());
    }

    /// Brings the model up to date.
    pub(crate) fn refresh(&mut self, model: &mut Model) {
        model.now = now();
        let link_before = self.link;
        self.look_whether_live();
        if self.read_journal(model) || self.link != link_before {
            let began = self.replayed.header.started_at;
            let (at, scheduler) = (self.replayed.last_input_at, &self.replayed.scheduler);
            model.update(
                Board::of(self.run_id.as_str(), began, at, scheduler, self.link),
                self.link,
            );
        }
        let detail = self.detail(model);
        model.show(detail);
    }

    fn look_whether_live(&mut self) {
        if Instant::now() < self.link_next {
            return;
        }
        self.link_next = Instant::now() + POLL_INTERVAL;
        let holder = RunLock::holder(&self.project.directory).ok().flatten();
        let is_live = holder.is_some_and(|holder| holder.run_id.as_ref() == Some(&self.run_id));
        self.link = if is_live { Link::Live } else { Link::Over };
    }

    /// Reads the journal when it has grown; tells whether there is something new.
    fn read_journal(&mut self, model: &mut Model) -> bool {
        let began = Instant::now();
        let length =
            std::fs::metadata(self.directory.journal()).map_or(0, |metadata| metadata.len());
        if length == self.journal_length || began < self.read_next {
            return false;
        }
        match replay(&self.directory.journal()) {
            Ok(replayed) => {
                (self.replayed, self.journal_length) = (replayed, length);
                self.read_next = Instant::now() + began.elapsed() * REST;
                true
            }
            Err(error) => {
                model.notice = Some(CommandFailure::from(error).message);
                self.read_next = began + POLL_INTERVAL;
                false
            }
        }
    }

    fn detail(&mut self, model: &Model) -> Vec<String> {
        let Some(view) = model
            .selected
            .as_ref()
            .and_then(|id| self.replayed.scheduler.task(id))
        else {
            return Vec::new();
        };
        match (model.tab, view.attempts.last()) {
            (Tab::Evidence, _) => evidence(&view),
            (Tab::Log | Tab::Diff, None) => vec!["it has not been started".to_owned()],
            (Tab::Log, Some(record)) => {
                let number = record.number;
                let (task, end) = (view.placed.task.id.clone(), log_end(&view));
                self.log(task, number, end)
            }
            (Tab::Diff, Some(_)) => {
                let of = DiffOf::of(&view);
                self.diff(of)
            }
        }
    }

    fn log(&mut self, task: TaskId, attempt: AttemptNumber, end: LogEnd) -> Vec<String> {
        let of = (task, attempt);
        let path = self.directory.attempt(&of.0, attempt).stdout();
        let log = match self.log.take() {
            Some(log) if log.of == of => log,
            Some(_) | None => Log {
                of,
                follower: Follower::new(path),
                lines: Vec::new(),
            },
        };
        let log = self.log.insert(log);
        log.lines.extend(log.follower.lines(end));
        log.lines
            .drain(..log.lines.len().saturating_sub(MOST_LINES));
        if log.lines.is_empty() {
            vec!["its agent has printed nothing".to_owned()]
        } else {
            log.lines.clone()
        }
    }

    fn diff(&mut self, of: DiffOf) -> Vec<String> {
        if let Some(diff) = &self.diff
            && diff.of == of
            && (of.commit.is_some() || Instant::now() < diff.next)
        {
            return diff.lines.clone();
        }
        let lines = self.read_diff(&of);
        self.diff = Some(Diff {
            of,
            lines: lines.clone(),
            next: Instant::now() + POLL_INTERVAL,
        });
        lines
    }

    /// The difference that was committed, else that of the worktree, else that of the work that was kept.
    fn read_diff(&self, wanted: &DiffOf) -> Vec<String> {
        let repository = &self.project.repository;
        let Some(base) = &wanted.base else {
            return vec!["it has no worktree yet".to_owned()];
        };
        let kept = || {
            let task = safe_name(&wanted.task);
            repository
                .resolve(&format!(
                    "refs/tm/salvage/{}/{task}/{}",
                    self.run_id, wanted.attempt
                ))
                .ok()
        };
        let text = match (&wanted.commit, &wanted.worktree) {
            (Some(commit), _) => repository.diff(base, commit),
            (None, Some(worktree)) => repository.diff_of_checkout(base, Path::new(worktree)),
            (None, None) => match kept() {
                Some(kept) => repository.diff(base, &kept),
                None => return vec!["it left no work".to_owned()],
            },
        };
        match text {
            Ok(text) if text.trim().is_empty() => vec!["nothing has been changed".to_owned()],
            Ok(text) => text.lines().map(super::board::plain).collect(),
            Err(error) => vec![format!("failed to {}", CommandFailure::from(error).message)],
        }
    }
}

impl DiffOf {
    fn of(view: &TaskView<'_>) -> Self {
        let record = view.attempts.last();
        let place = record.and_then(|record| record.place().cloned());
        Self {
            task: view.placed.task.id.clone(),
            attempt: record.map_or(AttemptNumber(0), |record| record.number),
            base: place.as_ref().map(|place| place.base.clone()),
            commit: record.and_then(|record| record.commit().cloned()),
            worktree: place
                .filter(|_| view.state.holds_slot())
                .map(|place| place.worktree),
        }
    }
}

fn log_end(view: &TaskView<'_>) -> LogEnd {
    let is_over = view
        .attempts
        .last()
        .is_none_or(|record| record.report().is_some() || record.ended_at().is_some());
    if is_over {
        LogEnd::Final
    } else {
        LogEnd::Growing
    }
}
