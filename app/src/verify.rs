//! The judgement of a run, by hand, on any work.

use crate::error::Error;
use crate::judging::{Judging, parts, test_command};
use crate::project::Project;
use std::path::{Path, PathBuf};
use tm_executors::testing::TestCommand;
use tm_runtime::{
    JournalHeader, RedCommit, Replayed, StepError, Work, never_commit, prove, red_commit,
    repository_of_worktree, rules,
};
use tm_scheduler::{CommitId, Phase, Proof, RunId, TaskId, TaskView};
use tm_store::backlog::BacklogSource;
use tm_store::run::safe_name;
use tm_worktrees::{Repository, TreeId, checkout_root_around};

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
    /// Everything in a checkout of the project's repository, committed or not, under the name that it was given.
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
    let Replayed {
        header, scheduler, ..
    } = project.replayed(run)?.replayed;
    let view = scheduler
        .task(&TaskId::from(id))
        .ok_or_else(|| Error::UnknownTarget(id.to_owned(), header.run_id.clone()))?;
    let planned = &view.placed.task;
    let work = work_of(project, &header.run_id, &view);
    let (began, commit) = work.ok_or_else(|| Error::NothingToJudge(id.to_owned()))?;
    let red = planned.pair.as_ref();
    let red = red.and_then(|red| RedCommit::of(scheduler.task(red)?.attempts.last()?));
    let base = base(project, order)?.unwrap_or(began);
    let tree = project.repository.tree_of(&commit)?;
    let own = own_command(project, &header, &planned.backlog_id)?;
    let command = match own.filter(|_| !is_command_given(project)) {
        Some(own) => Some(TestCommand::shell(&own, test_command(project).as_ref())),
        None => of_parts(project, (&base, &tree), red.as_ref())?,
    };
    Ok(Target {
        name: format!("task {id}"),
        phase: order.phase.unwrap_or(planned.phase),
        base,
        tree,
        red,
        command,
    })
}

/// What the last attempt with a worktree began with, and its work: its commit, or what was kept of it when it failed.
fn work_of(project: &Project, run: &RunId, view: &TaskView<'_>) -> Option<(CommitId, CommitId)> {
    let mut attempts = view.attempts.iter().rev();
    let (record, place) = attempts.find_map(|record| Some((record, record.place()?)))?;
    let commit = record.commit().or_else(|| view.state.commit());
    let kept = || {
        let (task, number) = (safe_name(&view.placed.task.id), record.number);
        let kept = format!("refs/tm/salvage/{run}/{task}/{number}");
        project.repository.resolve(&kept).ok()
    };
    Some((place.base.clone(), commit.cloned().or_else(kept)?))
}

/// The test command that a task of the backlog has itself.
fn own_command(
    project: &Project,
    header: &JournalHeader,
    id: &TaskId,
) -> Result<Option<String>, Error> {
    let (_, backlog) = project.backlog_of(header)?;
    Ok(backlog
        .tasks
        .into_iter()
        .find(|task| task.id == *id)
        .and_then(|task| task.metadata.test_command.clone()))
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
    let phase = order.phase.unwrap_or(Phase::None);
    let (repository, whole) = seen(project, folder)?;
    let (repository, root) = (&repository, repository.checkout_root());
    let base = match base(project, order)? {
        Some(base) => base,
        None => base_of_checkout(repository, phase, &whole)?,
    };
    let backlog = BacklogSource::find(root).ok();
    let never_commit = never_commit(&project.loaded.settings, backlog.as_ref(), root)?;
    let (tree, _) = repository.without(&never_commit, &whole, &base)?;
    // A GREEN without a run is built on its RED.
    let below = match phase {
        Phase::Green => repository.first_parent(&base)?,
        Phase::Red | Phase::None => None,
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

/// The repository as it is seen from a checkout, and everything that lies there. A worktree of tm's is agents', and nothing is
/// believed that they can write there.
fn seen(project: &Project, folder: &Path) -> Result<(Repository, TreeId), Error> {
    let none = || tm_worktrees::Error::NoCheckout(folder.to_owned());
    let root = checkout_root_around(folder).ok_or_else(none)?;
    if root == project.root() {
        let whole = project.repository.tree_of_checkout()?;
        return Ok((project.repository.clone(), whole));
    }
    if repository_of_worktree(&root).is_some() {
        let pool = project.worktrees(&format!("seen-{}", std::process::id()))?;
        let whole = pool.tree_of_worktree(&root);
        pool.close()?;
        return Ok((project.repository.at_checkout(&root)?, whole?));
    }
    let repository = Repository::discover(&root)?;
    let whole = repository.tree_of_checkout()?;
    Ok((repository, whole))
}

fn base_of_checkout(
    repository: &Repository,
    phase: Phase,
    tree: &TreeId,
) -> Result<CommitId, Error> {
    let head = repository.head()?.commit;
    let is_dirty = repository.tree_of(&head)? != *tree;
    let began = match (phase, repository.default_branch()?) {
        (Phase::Green, _) => repository.last_with_trailer(&head, "Phase", "red")?,
        (Phase::Red | Phase::None, Some(name)) => {
            let default = repository.resolve(&format!("refs/heads/{name}"))?;
            let parted = repository.merge_base(&head, &default)?;
            parted.filter(|parted| *parted != head)
        }
        (Phase::Red | Phase::None, None) => None,
    };
    match began {
        Some(began) => Ok(began),
        None if is_dirty => Ok(head),
        None => Ok(repository.first_parent(&head)?.unwrap_or(head)),
    }
}

fn base(project: &Project, order: &VerifyOrder) -> Result<Option<CommitId>, Error> {
    let base = order.base.as_ref();
    Ok(base
        .map(|base| project.repository.resolve(base))
        .transpose()?)
}
