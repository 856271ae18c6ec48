//! What of ended runs can go, and why the rest stays: worktrees, branches and kept work whose commits are in something
//! that stays, and folders of runs whose work is merged.
//!
//! A call that is killed leaves nothing that the next one can't finish: references go before the folder that names them,
//! and that has another name before anything in it goes.

use crate::error::Error;
use crate::interrupted::is_resumable;
use crate::project::{KnownRun, Project};
use crate::pruned::{PrunedItem, PrunedKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tm_runtime::loops::states;
use tm_runtime::standing::standing;
use tm_runtime::{JournalHeader, now};
use tm_scheduler::{BranchName, CommitId, RunId, State, TaskId, Timestamp, with_causes};
use tm_worktrees::{Besides, OwnReference, PruneOutcome, Pruned, Pruning};

/// What is known of a run or a loop that is over.
struct LeftRun {
    id: RunId,
    /// Which of them it is.
    kind: PrunedKind,
    /// Whether there is none after it.
    is_last: bool,
    /// Why all of it stays, where it does.
    stays: Option<String>,
    /// Its branches, each with why it stays wherever its work is.
    branches: Vec<(BranchName, Option<String>)>,
    /// What has landed in it, by which merge.
    landed: Vec<(TaskId, CommitId)>,
}

/// What goes on.
struct Prune<'p> {
    project: &'p Project,
    pruning: Pruning,
    own: BTreeMap<String, Besides>,
    items: Vec<PrunedItem>,
}

/// Removes what can go, or only tells what that is; the project has to be locked.
pub(crate) fn prune(project: &Project, pruning: Pruning) -> Result<Vec<PrunedItem>, Error> {
    let (directory, repository) = (&project.directory, &project.repository);
    if pruning == Pruning::Done {
        directory.remove_rests()?;
    }
    let worktrees = prune_worktrees(project, pruning)?;
    let (runs, loops) = (directory.runs()?, directory.loops()?);
    let last = directory.live()?;
    let runs = runs
        .iter()
        .map(|id| LeftRun::read(project, id, last.as_ref()));
    let loops = loops
        .iter()
        .map(|id| LeftRun::of_loop(project, id, loops.last()));
    let runs: Vec<LeftRun> = runs.chain(loops).collect::<Result<_, _>>()?;
    let branches = runs.iter().flat_map(|run| &run.branches);
    let branches: Vec<BranchName> = branches.map(|(branch, _)| branch.clone()).collect();
    let own = repository.own_references(&branches)?.into_iter();
    let mut prune = Prune {
        project,
        pruning,
        own: own
            .map(|OwnReference { name, besides }| (name, besides))
            .collect(),
        items: Vec::new(),
    };
    for left in worktrees {
        let goes = left.outcome == Pruned::Removed;
        prune.add(
            PrunedKind::Worktree,
            left.path.display().to_string(),
            None,
            (goes, left.why),
        );
    }
    let history = standing(repository, &repository.head()?.commit)?;
    let standing = history
        .into_iter()
        .map(|work| (work.run, work.task))
        .collect();
    // What stays with one run is no other one's to remove.
    let (staying, over): (Vec<LeftRun>, Vec<LeftRun>) =
        runs.into_iter().partition(|run| run.stays.is_some());
    for run in &staying {
        prune.keep(run);
    }
    for run in &over {
        prune.run(run, &standing)?;
    }
    prune.salvage_of_no_run();
    Ok(prune.items)
}

/// Removes the worktrees of tm's whose work is safe, or only tells which those are; nobody may be at work.
///
/// # Errors
/// git can't list the worktrees.
pub fn prune_worktrees(project: &Project, pruning: Pruning) -> Result<Vec<PruneOutcome>, Error> {
    let folder = project.worktrees_folder();
    // An agent that outlived its tm may be at work in one of a run that can be taken up.
    let speaks_for = |path: &Path| {
        let run = path.strip_prefix(&folder).ok()?.iter().next()?.to_str()?;
        let directory = project.directory.run(&run.into()).ok()?;
        taken_up(&KnownRun::read(directory).ok()?)
    };
    Ok(project.repository.prune(&folder, pruning, speaks_for)?)
}

impl LeftRun {
    fn read(project: &Project, id: &RunId, last: Option<&RunId>) -> Result<Self, Error> {
        let directory = project.directory.run(id)?;
        let folder = directory.path().to_owned();
        let whole = |stays| Self {
            id: id.clone(),
            kind: PrunedKind::Run,
            is_last: last == Some(id),
            stays,
            branches: Vec::new(),
            landed: Vec::new(),
        };
        let run = match KnownRun::read(directory) {
            Ok(run) => run,
            // It began nothing, and so holds nothing but why.
            Err(error) if error.is_unstarted() => {
                return Ok(whole(young(project, changed_at(&folder))));
            }
            Err(error) => {
                let why = format!("its journal can't be read: {}", with_causes(&error));
                return Ok(whole(Some(why)));
            }
        };
        let replayed = &run.replayed;
        let young = || young(project, replayed.last_input_at);
        let landed = replayed
            .scheduler
            .tasks()
            .filter_map(|view| match view.state {
                State::Landed { merge, .. } => Some((view.placed.task.id.clone(), merge.clone())),
                _ => None,
            });
        Ok(Self {
            branches: branches(project, &run)?,
            landed: landed.collect(),
            ..whole(taken_up(&run).or_else(young))
        })
    }

    /// A loop that was cut off is ended by whoever has the project locked, so one that is not can't be.
    fn of_loop(project: &Project, id: &RunId, last: Option<&RunId>) -> Result<Self, Error> {
        let directory = project.directory.loop_directory(id)?;
        let (states, unknown) = match states(&directory) {
            Ok(states) => (states, None),
            Err(error) => {
                let why = format!("its state can't be read: {}", with_causes(&error));
                (Vec::new(), Some(why))
            }
        };
        let is_cut_off = states.iter().any(|state| state.ended.is_none());
        let cut_off = || is_cut_off.then(|| "it was cut off, and nobody has ended it".to_owned());
        let worktrees = states.iter().filter_map(|state| state.worktree.as_ref());
        let branches = worktrees.filter_map(|(_, branch, _)| BranchName::new(branch).ok());
        Ok(Self {
            id: id.clone(),
            kind: PrunedKind::Loop,
            is_last: last == Some(id),
            stays: unknown
                .or_else(cut_off)
                .or_else(|| young(project, changed_at(directory.path()))),
            branches: branches.map(|branch| (branch, None)).collect(),
            landed: Vec::new(),
        })
    }
}

/// Why all of a run stays that can be taken up.
fn taken_up(run: &KnownRun) -> Option<String> {
    is_resumable(run).then(|| format!("`tm waves resume {}` takes it up", run.id()))
}

/// The branches of a run, each with why it stays wherever its work is.
fn branches(project: &Project, run: &KnownRun) -> Result<Vec<(BranchName, Option<String>)>, Error> {
    let JournalHeader {
        integration_branch,
        run_id,
        ..
    } = &run.replayed.header;
    let open = open_tasks(project, &run.replayed.header);
    let mut branches: BTreeMap<&str, (BranchName, Option<String>)> = BTreeMap::new();
    for view in run.replayed.scheduler.tasks() {
        let task = &view.placed.task.backlog_id;
        let why = match &open {
            Ok(open) if open.contains(task) => Some(format!("task `{task}` is not done")),
            Ok(_) => None,
            Err(error) => Some(format!("its backlog can't be read: {}", with_causes(error))),
        };
        for place in view.attempts.iter().filter_map(|attempt| attempt.place()) {
            let name = place.branch.clone();
            branches.insert(place.branch.as_str(), (name, why.clone()));
        }
    }
    let is_last = project.directory.live()?.as_ref() == Some(run_id);
    let next = (is_last && !is_in_head(project, integration_branch)?)
        .then(|| "the next run starts from it".to_owned());
    let integration = (integration_branch.clone(), next);
    branches.insert(integration_branch.as_str(), integration);
    Ok(branches.into_values().collect())
}

/// The tasks of a run's backlog that are still to be done.
fn open_tasks(project: &Project, header: &JournalHeader) -> Result<BTreeSet<TaskId>, Error> {
    let (_, backlog) = project.backlog_of(header)?;
    let open = backlog.tasks.into_iter();
    let open = open.filter(|task| !task.status.satisfies_dependants());
    Ok(open.map(|task| task.id).collect())
}

fn is_in_head(project: &Project, branch: &BranchName) -> Result<bool, Error> {
    let repository = &project.repository;
    let Some(tip) = repository.branch_tip(branch)? else {
        return Ok(true);
    };
    Ok(repository.is_ancestor(&tip, &repository.head()?.commit)?)
}

/// How long what can go is kept.
const fn kept_for(project: &Project) -> Option<Duration> {
    project.loaded.settings.waves.keep
}

/// Why something of then stays, where it is too young to go.
fn young(project: &Project, ended_at: Timestamp) -> Option<String> {
    let is_young = kept_for(project).is_some_and(|kept| now() < ended_at.after(kept));
    is_young.then(|| "it is not that old".to_owned())
}

fn changed_at(folder: &Path) -> Timestamp {
    let changed = folder.metadata().and_then(|folder| folder.modified()).ok();
    let since = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    Timestamp(0).after(since.unwrap_or_default())
}

impl Prune<'_> {
    fn add(
        &mut self,
        kind: PrunedKind,
        name: impl Into<String>,
        run: Option<&RunId>,
        (goes, why): (bool, String),
    ) {
        self.items.push(PrunedItem {
            kind,
            name: name.into(),
            run: run.cloned(),
            goes,
            why,
        });
    }

    /// Leaves a run as it is, with all that is of it.
    fn keep(&mut self, run: &LeftRun) {
        let branches = run.branches.iter();
        let branches = branches.map(|(branch, _)| branch.reference());
        for name in branches.chain(self.salvage_of(&run.id)) {
            self.own.remove(&name);
        }
        let why = run.stays.clone().unwrap_or_default();
        self.add(run.kind, run.id.as_str(), Some(&run.id), (false, why));
    }

    fn run(&mut self, run: &LeftRun, standing: &BTreeSet<(RunId, TaskId)>) -> Result<(), Error> {
        let before = self.items.len();
        for (branch, stays) in &run.branches {
            self.reference(&branch.reference(), Some(&run.id), stays.clone());
        }
        let has_branches = self.items[before..].iter().any(|item| !item.goes);
        for name in self.salvage_of(&run.id) {
            self.reference(&name, Some(&run.id), None);
        }
        let outcome = self.folder(run, has_branches, standing)?;
        self.add(run.kind, run.id.as_str(), Some(&run.id), outcome);
        Ok(())
    }

    fn salvage_of(&self, run: &RunId) -> Vec<String> {
        let below = format!("{SALVAGE}{run}/");
        let names = self.own.keys().filter(|name| name.starts_with(&below));
        names.cloned().collect()
    }

    /// Removes a reference, unless something speaks for it or its work is nowhere else.
    fn reference(&mut self, name: &str, run: Option<&RunId>, stays: Option<String>) {
        let Some(besides) = self.own.remove(name) else {
            return;
        };
        let outcome = match (besides, stays) {
            (Besides::Nowhere, _) => (false, "the work is nowhere else".to_owned()),
            (Besides::CheckedOut(path), _) => {
                (false, format!("it is checked out in `{}`", path.display()))
            }
            (Besides::In(_), Some(stays)) => (false, stays),
            (Besides::In(merged), None) => {
                match self.remove(|prune| Ok(prune.project.repository.remove_merged(&merged)?)) {
                    Ok(()) => (true, format!("the work is in `{}`", merged.within())),
                    Err(why) => (false, why),
                }
            }
        };
        let (kind, name) = match name.strip_prefix("refs/heads/") {
            Some(branch) => (PrunedKind::Branch, branch),
            None => (PrunedKind::Salvage, name.trim_start_matches(SALVAGE)),
        };
        self.add(kind, name, run, outcome);
    }

    /// Removes something, where that is not only foreseen; what fails says why it stays.
    fn remove(&self, remove: impl FnOnce(&Self) -> Result<(), Error>) -> Result<(), String> {
        if self.pruning == Pruning::Foreseen {
            return Ok(());
        }
        remove(self).map_err(|error| format!("failed to {}", with_causes(&error)))
    }

    /// Removes the folder of a run when nothing needs it any more.
    fn folder(
        &self,
        run: &LeftRun,
        has_branches: bool,
        standing: &BTreeSet<(RunId, TaskId)>,
    ) -> Result<(bool, String), Error> {
        let project = self.project;
        let (directory, id) = (&project.directory, &run.id);
        let worktrees = directory.worktrees_folder().join(id.as_str());
        let mut items = self.items.iter();
        let has_worktrees =
            items.any(|item| !item.goes && Path::new(&item.name).starts_with(&worktrees));
        let head = project.repository.head()?.commit;
        let is_merged = |(task, merge): &(TaskId, CommitId)| {
            let is_told = standing.contains(&(id.clone(), task.clone()));
            is_told
                || project
                    .repository
                    .is_ancestor(merge, &head)
                    .unwrap_or(false)
        };
        let why = if run.is_last && run.kind == PrunedKind::Loop {
            "it is the last loop"
        } else if run.is_last {
            "it is the last run"
        } else if has_branches || has_worktrees {
            "it tells of branches that stay"
        } else if !run.landed.iter().all(is_merged) {
            "what landed in it is not in the branch that you are on"
        } else if kept_for(project).is_none() {
            "nothing else has its logs and reports; `--older-than 30d` removes those of older runs"
        } else {
            let removed = self.remove(|_| {
                if worktrees.exists() {
                    project.worktrees(id.as_str())?.close()?;
                }
                match run.kind {
                    PrunedKind::Loop => directory.remove_loop(id)?,
                    _ => directory.remove_run(id)?,
                }
                Ok(())
            });
            return Ok(match removed {
                Ok(()) => (true, "the work is merged".to_owned()),
                Err(why) => (false, why),
            });
        };
        Ok((false, why.to_owned()))
    }

    /// Kept work of what has no folder here any more.
    fn salvage_of_no_run(&mut self) {
        let names: Vec<String> = self.own.keys().cloned().collect();
        for name in names.iter().filter(|name| name.starts_with(SALVAGE)) {
            self.reference(name, None, None);
        }
    }
}

const SALVAGE: &str = "refs/tm/salvage/";
