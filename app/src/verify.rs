//! The judgement of a run, by hand, on any work.

use crate::error::Error;
use crate::judging::Judging;
use crate::project::Project;
use crate::setup::{never_commit, parts, test_command};
use std::path::{Path, PathBuf};
use tm_executors::testing::TestCommand;
use tm_runtime::{RedCommit, StepError, Work, prove, red_commit, rules};
use tm_scheduler::{AttemptRecord, CommitId, Phase, Proof, TaskId};
use tm_store::backlog::BacklogSource;
use tm_store::run::safe_name;
use tm_worktrees::{Repository, TreeId};

/// What is judged.
#[derive(Clone, Debug)]
pub struct VerifyOrder {
    /// The work.
    pub of: WorkOf,
    /// As what; as what it is when not given.
    pub phase: Option<Phase>,
    /// What it started from; found when not given.
    pub base: Option<String>,
}

/// Whose work is judged.
#[derive(Clone, Debug)]
pub enum WorkOf {
    /// A task of a run; of the live or last one when none is named.
    Task {
        /// The task.
        id: String,
        /// The run.
        run: Option<String>,
    },
    /// Everything in the project's checkout, committed or not, under the name that it was given.
    Checkout(PathBuf),
}

/// What came of it.
#[derive(Debug)]
pub struct Verified {
    /// What was judged.
    pub name: String,
    /// As what.
    pub phase: Phase,
    /// What was seen.
    pub proof: Proof,
}

/// What is judged, and what is known of it beforehand.
struct Target {
    name: String,
    phase: Phase,
    base: CommitId,
    tree: TreeId,
    red: Option<RedCommit>,
    command: Option<TestCommand>,
}

/// Judges work as a run would.
///
/// # Errors
/// There is no such work, or it can't be judged.
pub async fn verify(project: &Project, order: &VerifyOrder) -> Result<Verified, Error> {
    let target = match &order.of {
        WorkOf::Task { id, run } => of_task(project, order, id, run.as_deref())?,
        WorkOf::Checkout(folder) => of_checkout(project, order, folder)?,
    };
    let (name, phase) = (target.name.clone(), target.phase);
    let judging = Judging::open(project, "verify", target.base.clone())?;
    let judged = judge(project, &judging, target).await;
    project.warn(&judging.result_cache.close().await);
    let proof = judged.map_err(Error::unjudged(format!("judge `{name}`")))?;
    Ok(Verified { name, phase, proof })
}

async fn judge(project: &Project, judging: &Judging, target: Target) -> Result<Proof, StepError> {
    let result_cache = &judging.result_cache;
    let red = match (&target.red, &target.command) {
        (None, Some(command)) if target.phase == Phase::Green => {
            Some(red_commit(&target.base, command, result_cache).await?)
        }
        (red, _) => red.clone(),
    };
    let work = Work {
        phase: target.phase,
        base: target.base,
        tree: target.tree,
        red,
        command: target.command,
        rules: rules(&project.loaded.settings),
        scratch: judging.scratch.path().to_owned(),
    };
    prove(&work, result_cache).await
}

/// The work of a task's last attempt: its commit, or what was kept of it when the attempt failed.
fn of_task(
    project: &Project,
    order: &VerifyOrder,
    id: &str,
    run: Option<&str>,
) -> Result<Target, Error> {
    let replayed = project.replayed(run)?.replayed;
    let task = TaskId::from(id);
    let run = &replayed.header.run_id;
    let unknown = || Error::UnknownTarget {
        name: id.to_owned(),
        run: run.clone(),
    };
    let view = replayed.scheduler.task(&task).ok_or_else(unknown)?;
    let nothing = || Error::NothingToJudge(id.to_owned());
    let placed = |record| Some((record, AttemptRecord::place(record)?));
    let (record, place) = (view.attempts.iter().rev())
        .find_map(placed)
        .ok_or_else(nothing)?;
    let kept = format!(
        "refs/tm/salvage/{run}/{}/{}",
        safe_name(&task),
        record.number
    );
    let commit = match record.commit().or_else(|| view.state.commit()) {
        Some(commit) => commit.clone(),
        None => project.repository.resolve(&kept).map_err(|_| nothing())?,
    };
    let red = view
        .placed
        .task
        .pair
        .as_ref()
        .and_then(|red| replayed.scheduler.task(red))
        .and_then(|red| RedCommit::of(red.attempts.last()?));
    let (_, backlog) = project.backlog_of(&replayed.header)?;
    let like = test_command(project);
    let (base, tree) = (
        base(project, order)?.unwrap_or(place.base.clone()),
        project.repository.tree_of(&commit)?,
    );
    let own = backlog
        .tasks
        .iter()
        .find(|one| one.id == view.placed.task.backlog_id);
    let own = own
        .and_then(|one| one.test_command.as_ref())
        .map(|text| TestCommand::shell(text, like.as_ref()));
    Ok(Target {
        name: format!("task {id}"),
        phase: order.phase.unwrap_or(view.placed.task.phase),
        command: match own.filter(|_| !is_command_given(project)) {
            Some(own) => Some(own),
            None => of_parts(project, (&base, &tree), red.as_ref())?,
        },
        base,
        tree,
        red,
    })
}

/// The command that was asked for, or those of the parts that the work touches.
fn of_parts(
    project: &Project,
    (base, tree): (&CommitId, &TreeId),
    red: Option<&RedCommit>,
) -> Result<Option<TestCommand>, Error> {
    if is_command_given(project) {
        return Ok(test_command(project));
    }
    Ok(parts(project)?.of_work(&project.repository, base, tree, red)?)
}

fn is_command_given(project: &Project) -> bool {
    project.is_from_flag("test.command")
}

/// Everything in a checkout, committed or not, but for what is never committed.
fn of_checkout(project: &Project, order: &VerifyOrder, folder: &Path) -> Result<Target, Error> {
    let repository = &project.repository;
    let root = repository.checkout_root();
    let phase = order.phase.unwrap_or(Phase::None);
    let whole = repository.tree_of_checkout(root)?;
    let base = match base(project, order)? {
        Some(base) => base,
        None => base_of_checkout(repository, phase, &whole)?,
    };
    let backlog = BacklogSource::find(root).map_or_else(
        |_| root.join("backlog.yaml"),
        |source| source.path().to_owned(),
    );
    let never_commit = never_commit(&project.loaded.settings, Some(&backlog), root)?;
    let (tree, _) = repository.without(&never_commit, &whole, &base)?;
    // A GREEN without a run is built on its RED.
    let below = if phase == Phase::Green {
        repository.first_parent(&base)?
    } else {
        None
    };
    let red = below.map(|below| RedCommit {
        base: below,
        commit: base.clone(),
        tests: Vec::new(),
        unloaded: Vec::new(),
    });
    Ok(Target {
        name: folder.display().to_string(),
        phase,
        command: of_parts(project, (&base, &tree), red.as_ref())?,
        base,
        tree,
        red: None,
    })
}

fn base_of_checkout(
    repository: &Repository,
    phase: Phase,
    tree: &TreeId,
) -> Result<CommitId, Error> {
    let head = repository.head()?.commit;
    let is_dirty = repository.tree_of(&head)? != *tree;
    let last = |commit: &CommitId| {
        repository
            .first_parent(commit)
            .map(|parent| parent.unwrap_or_else(|| commit.clone()))
    };
    if phase == Phase::Green {
        if let Some(red) = repository.last_with_trailer(&head, "Phase", "red")? {
            return Ok(red);
        }
        return Ok(if is_dirty { head } else { last(&head)? });
    }
    let default = match repository.default_branch()? {
        Some(name) => {
            repository.merge_base(&head, &repository.resolve(&format!("refs/heads/{name}"))?)?
        }
        None => None,
    };
    match default {
        Some(parted) if parted != head => Ok(parted),
        Some(_) | None if is_dirty => Ok(head),
        Some(_) | None => Ok(last(&head)?),
    }
}

fn base(project: &Project, order: &VerifyOrder) -> Result<Option<CommitId>, Error> {
    Ok(order
        .base
        .as_ref()
        .map(|base| project.repository.resolve(base))
        .transpose()?)
}
