//! Reads what the screen shows from the folder of the run, and from git: never writes there.

use super::board::{Board, Link, plain};
use super::evidence::evidence;
use super::{Model, Tab};
use crate::failure::{CommandFailure, Result};
use crate::project::open;
use crate::screen::layout::phase;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tm_app::{AgentPlaces, Project};
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
pub(super) struct Source {
    project: Project,
    run_id: RunId,
    directory: RunDirectory,
    replayed: Replayed,
    journal_length: u64,
    read_next: Instant,
    link: Link,
    link_next: Instant,
    /// Where agents are that are not on this machine.
    places: AgentPlaces,
    places_next: Instant,
    /// Of the halves of the chosen task.
    logs: BTreeMap<TaskId, Log>,
    diffs: BTreeMap<TaskId, Diff>,
}

/// The log of one attempt.
struct Log {
    of: AttemptNumber,
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
    pub(super) fn open(start: &Path, run: Option<&str>) -> Result<Self> {
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
            places: AgentPlaces::default(),
            places_next: now,
            logs: BTreeMap::new(),
            diffs: BTreeMap::new(),
        })
    }

    /// Returns the project.
    pub(super) const fn project(&self) -> &Project {
        &self.project
    }

    /// Returns the folder in which the task's agent works.
    pub(super) fn worktree(&self, task: &TaskId) -> Option<PathBuf> {
        let view = self.replayed.scheduler.task(task)?;
        let place = view.attempts.last()?.place()?;
        view.state
            .has_worktree()
            .then(|| PathBuf::from(&place.worktree))
    }

    /// Has everything read again at the next refresh.
    pub(super) fn expire(&mut self) {
        (self.read_next, self.link_next) = (Instant::now(), Instant::now());
    }

    /// Brings the model up to date.
    pub(super) fn refresh(&mut self, model: &mut Model) {
        model.now = now();
        let link_before = self.link;
        self.look_whether_live();
        let has_moved = self.look_at_places();
        if self.read_journal(model) || has_moved || self.link != link_before {
            let began = self.replayed.header.started_at;
            let (at, scheduler) = (self.replayed.last_input_at, &self.replayed.scheduler);
            model.update(
                Board::of(
                    self.run_id.as_str(),
                    (began, at),
                    (scheduler, &self.places),
                    self.link,
                ),
                self.link,
            );
        }
        let detail = self.detail(model);
        model.show(detail);
    }

    /// Tells whether an agent is elsewhere now.
    fn look_at_places(&mut self) -> bool {
        if Instant::now() < self.places_next {
            return false;
        }
        self.places_next = Instant::now() + POLL_INTERVAL;
        self.places.read_on(&self.directory.activity())
    }

    fn look_whether_live(&mut self) {
        if Instant::now() < self.link_next {
            return;
        }
        self.link_next = Instant::now() + POLL_INTERVAL;
        self.link = if self.is_live() {
            Link::Live
        } else {
            Link::Over
        };
    }

    fn is_live(&self) -> bool {
        let holder = RunLock::holder(&self.project.directory).ok().flatten();
        holder.is_some_and(|holder| holder.run_id.as_ref() == Some(&self.run_id))
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

    /// What is known of the chosen task, half by half; one that has not been started is left out where another was.
    fn detail(&mut self, model: &Model) -> Vec<String> {
        let halves = model.chosen().map_or(&[][..], |row| &row.halves);
        let is_of = |id: &TaskId| halves.iter().any(|half| half.id == *id);
        self.logs.retain(|id, _| is_of(id));
        self.diffs.retain(|id, _| is_of(id));
        let mut lines = Vec::new();
        for half in halves {
            let part = self.part(&half.id, model.tab);
            if halves.len() > 1 && !part.is_empty() {
                let space = (!lines.is_empty()).then(String::new);
                lines.extend(space.into_iter().chain([phase(half.phase).to_owned()]));
            }
            lines.extend(part);
        }
        if lines.is_empty() && !halves.is_empty() {
            lines.push("it has not been started".to_owned());
        }
        lines
    }

    fn part(&mut self, half: &TaskId, tab: Tab) -> Vec<String> {
        let Some(view) = self.replayed.scheduler.task(half) else {
            return Vec::new();
        };
        match (tab, view.attempts.last()) {
            (Tab::Evidence, _) => evidence(&view),
            (Tab::Log | Tab::Diff, None) => Vec::new(),
            (Tab::Log, Some(record)) => {
                let (number, end) = (record.number, log_end(&view));
                self.log(half, number, end)
            }
            (Tab::Diff, Some(_)) => {
                let of = DiffOf::of(&view);
                self.diff(of)
            }
        }
    }

    fn log(&mut self, task: &TaskId, attempt: AttemptNumber, end: LogEnd) -> Vec<String> {
        let log = self.logs.remove(task);
        let log = log.filter(|log| log.of == attempt).unwrap_or_else(|| {
            let path = self.directory.attempt(task, attempt).stdout();
            Log::new(attempt, path)
        });
        self.logs.entry(task.clone()).or_insert(log).read(end)
    }

    fn diff(&mut self, of: DiffOf) -> Vec<String> {
        let task = of.task.clone();
        let diff = self.diffs.remove(&task);
        let diff = diff.filter(|diff| diff.is_fresh(&of));
        let diff = diff.unwrap_or_else(|| Diff {
            lines: self.read_diff(&of),
            next: Instant::now() + POLL_INTERVAL,
            of,
        });
        self.diffs.entry(task).or_insert(diff).lines.clone()
    }

    fn read_diff(&self, wanted: &DiffOf) -> Vec<String> {
        let Some(base) = &wanted.base else {
            return vec!["it has no worktree yet".to_owned()];
        };
        match self.diff_text(base, wanted) {
            None => vec!["it left no work".to_owned()],
            Some(Ok(text)) if text.trim().is_empty() => vec!["nothing has been changed".to_owned()],
            Some(Ok(text)) => text.lines().map(plain).collect(),
            Some(Err(error)) => vec![CommandFailure::from(error).to_string()],
        }
    }

    /// The difference that was committed, else that of the worktree, else that of the work that was kept.
    fn diff_text(
        &self,
        base: &CommitId,
        wanted: &DiffOf,
    ) -> Option<Result<String, tm_worktrees::Error>> {
        let repository = &self.project.repository;
        Some(match (&wanted.commit, &wanted.worktree) {
            (Some(commit), _) => repository.diff(base, commit),
            (None, Some(worktree)) => repository.diff_of_others(base, Path::new(worktree)),
            (None, None) => repository.diff(base, &self.kept(wanted)?),
        })
    }

    fn kept(&self, DiffOf { task, attempt, .. }: &DiffOf) -> Option<CommitId> {
        let (run, task) = (&self.run_id, safe_name(task));
        let name = format!("refs/tm/salvage/{run}/{task}/{attempt}");
        self.project.repository.resolve(&name).ok()
    }
}

impl Log {
    fn new(of: AttemptNumber, path: PathBuf) -> Self {
        Self {
            of,
            follower: Follower::new(path),
            lines: Vec::new(),
        }
    }

    /// The end of it as it is now.
    fn read(&mut self, end: LogEnd) -> Vec<String> {
        self.lines.extend(self.follower.lines(end));
        let excess = self.lines.len().saturating_sub(MOST_LINES);
        self.lines.drain(..excess);
        if self.lines.is_empty() {
            vec!["its agent has printed nothing".to_owned()]
        } else {
            self.lines.clone()
        }
    }
}

impl Diff {
    /// Whether it is what is wanted; what was committed does not change.
    fn is_fresh(&self, of: &DiffOf) -> bool {
        self.of == *of && (of.commit.is_some() || Instant::now() < self.next)
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
                .filter(|_| view.state.has_worktree())
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
