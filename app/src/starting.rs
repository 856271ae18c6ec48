//! Where a new run starts, what of that was rejected, and which tasks of the backlog the history there has already.
//!
//! The trailers of commits are the truth, since they are all that a fresh clone has; statuses follow them.

use crate::error::Error;
use crate::notice::Notice;
use crate::plan_order::PlanOrder;
use crate::project::Project;
use std::collections::BTreeSet;
use tm_runtime::standing::{CleanBase, RevertReason, TakenBack, Taking, clean_base, standing};
use tm_runtime::{now, replay};
use tm_scheduler::{
    CommitId, Phase, Recognised, RunId, State, Status, Tag, Task, TaskId, WavePlan, Work, WorkKind,
    branch_from_pattern, hot_files,
};
use tm_store::backlog::{Backlog, BacklogSource, RollUp, StatusChange, stamp};
use tm_worktrees::{Conflicts, Repository};

/// Where a run starts, and what is known of the backlog there.
#[derive(Debug)]
pub(crate) struct Start {
    /// The commit, without what was rejected.
    pub(crate) commit: CommitId,
    /// Where it would start if nothing had been rejected.
    before: CommitId,
    taken_back: Vec<TakenBack>,
    known: Recognised,
    /// The files that most work in its history touched.
    pub(crate) hot_files: BTreeSet<String>,
}

/// So many of the newest landings are looked at for files that most of them touched.
const LANDINGS: usize = 50;

/// The commit that a run starts from.
pub(crate) enum Whence {
    Head,
    /// The branch of the last run, which is ahead of HEAD.
    Branch(String),
    /// HEAD together with it.
    Both(String),
}

fn change(id: &TaskId, status: Status) -> StatusChange {
    let id = id.clone();
    StatusChange { id, status }
}

impl Whence {
    fn tell(&self, project: &Project) {
        match self {
            Self::Head => {}
            Self::Branch(name) => project.tell(&Notice::StartsAt(name)),
            Self::Both(name) => project.tell(&Notice::StartsTogetherWith(name)),
        }
    }
}

impl Start {
    /// Finds where a run starts, and sets the statuses of the tasks that were read to what is true there.
    pub(crate) fn find(
        project: &Project,
        order: &PlanOrder,
        run: &RunId,
        backlog: &mut Backlog,
    ) -> Result<Self, Error> {
        let (before, whence) = match &order.base {
            Some(revision) => (project.repository.resolve(revision)?, Whence::Head),
            None => start_commit(project, &backlog.tag)?,
        };
        whence.tell(project);
        if order.base.is_none() {
            tell_of_moved(project, &before)?;
        }
        let CleanBase {
            commit,
            taken_back,
            standing,
        } = clean(project, &before, run, &[])?;
        reopen(&mut backlog.tasks, &taken_back, &backlog.tag);
        let mut again = project.directory.reopened(&backlog.tag)?;
        again.extend(order.again.iter().cloned());
        let known = Recognised::of(&backlog.tasks, &backlog.tag, &standing, &again);
        known.apply(&mut backlog.tasks);
        Ok(Self {
            commit,
            before,
            taken_back,
            known,
            hot_files: hot_files_in(&project.repository, &standing)?,
        })
    }

    /// Takes back what stands there of the pairs that are to be done: tests whose implementation never landed. They come
    /// back with it.
    pub(crate) fn without_tests_alone(
        self,
        project: &Project,
        run: &RunId,
        plan: &WavePlan,
    ) -> Result<Self, Error> {
        let is_planned = |work: &Work| {
            let mut red = plan.tasks.iter().map(|placed| &placed.task);
            red.any(|task| task.phase == Phase::Red && task.id == work.task)
        };
        let mut alone = self.known.tests_alone.clone();
        alone.retain(is_planned);
        if alone.is_empty() {
            return Ok(self);
        }
        let clean = clean(project, &self.before, run, &alone)?;
        Ok(Self {
            commit: clean.commit,
            taken_back: clean.taken_back,
            ..self
        })
    }

    /// Says what of the backlog is done, and what was taken back.
    pub(crate) fn tell(&self, project: &Project) -> Result<(), Error> {
        for taken in &self.taken_back {
            project.tell(&Notice::TakenBack(taken));
        }
        if project.repository.is_shallow()? {
            project.tell(&Notice::ShallowClone);
        }
        if !self.known.done.is_empty() {
            let ids: Vec<&str> = self.known.done.iter().map(|(id, _)| id.as_str()).collect();
            project.tell(&Notice::DoneAlready(&ids));
        }
        for (task, work) in &self.known.other_title {
            project.tell(&Notice::OtherTitle(task, work));
        }
        Ok(())
    }

    /// Writes the statuses that follow into the backlog.
    pub(crate) fn write(
        &self,
        source: &BacklogSource,
        Backlog { tag, tasks, .. }: &Backlog,
    ) -> Result<(), Error> {
        let is_known = |id: &TaskId| tasks.iter().any(|task| task.id == *id);
        let is_open = |id: &&TaskId| is_known(id) && !self.known.is_done(id);
        let done = self.known.done.iter().map(|(id, _)| id);
        let done = done.map(|id| change(id, Status::Done));
        let open = to_be_done(&self.taken_back, tag).filter(is_open);
        let open = open.map(|id| change(id, Status::Pending));
        let changes: Vec<StatusChange> = done.chain(open).collect();
        if !changes.is_empty() {
            source.set_statuses(tag, &changes, RollUp::Relatives, Some(&stamp(now())))?;
        }
        Ok(())
    }
}

/// What a run starts from when nothing stands there that was rejected, nor these tests.
fn clean(
    project: &Project,
    start: &CommitId,
    run: &RunId,
    alone: &[Work],
) -> Result<CleanBase, Error> {
    let taking = Taking {
        repository: &project.repository,
        start,
        run,
    };
    Ok(clean_base(taking, alone)?)
}

/// The files that most of the newest landings touched.
fn hot_files_in(repository: &Repository, standing: &[Work]) -> Result<BTreeSet<String>, Error> {
    let mut landings = Vec::new();
    let whole = standing.iter().filter(|work| work.kind == WorkKind::Whole);
    for work in whole.take(LANDINGS) {
        // A clone that is cut off has not what came before.
        if let Some(before) = repository.first_parent(&work.commit)? {
            landings.push(repository.changed_between(&before, &work.commit)?);
        }
    }
    let landings = landings.iter();
    let landings = landings.map(|files| files.iter().map(String::as_str).collect());
    Ok(hot_files(landings))
}

/// Tasks whose work is taken back along with rejected work are to be done again.
fn reopen(tasks: &mut [Task], taken_back: &[TakenBack], tag: &Tag) {
    for task in tasks.iter_mut().filter(|task| task.status == Status::Done) {
        if to_be_done(taken_back, tag).any(|id| *id == task.id) {
            task.status = Status::Pending;
        }
    }
}

/// The tasks of a tag that are to be done again, since their work was taken back: tests alone come back with what they
/// are for.
fn to_be_done<'t>(taken_back: &'t [TakenBack], tag: &Tag) -> impl Iterator<Item = &'t TaskId> {
    let again = taken_back
        .iter()
        .filter(move |taken| taken.tag == *tag && taken.why != RevertReason::TestsAlone);
    again.map(|taken| &taken.task)
}

/// HEAD, or the integration branch of the last run where that holds landed work which HEAD has not: tasks that are done
/// must be in what their dependants start from. A clone in which there has been no run finds the branch of the last one
/// among those of its remotes. With it comes what people should know of it.
pub(crate) fn start_commit(project: &Project, tag: &Tag) -> Result<(CommitId, Whence), Error> {
    let head = project.repository.resolve("HEAD")?;
    let Some((name, tip)) = last_branch(project, tag)? else {
        return Ok((head, Whence::Head));
    };
    if project.repository.is_ancestor(&tip, &head)? {
        return Ok((head, Whence::Head));
    }
    if project.repository.is_ancestor(&head, &tip)? {
        return Ok((tip, Whence::Branch(name)));
    }
    if is_all_in(project, &tip, &head)? {
        return Ok((head, Whence::Head));
    }
    let message = format!("Merge {name} into where the next run starts\n");
    match project
        .repository
        .combine(&[head, tip], &message, Conflicts::Told)?
    {
        Ok(both) => Ok((both, Whence::Both(name))),
        Err(conflict) => Err(Error::StartConflicts {
            branch: name,
            files: conflict.files,
        }),
    }
}

/// Tells of work that landed in the last run and is not in what this one starts from, since somebody moved its branch.
fn tell_of_moved(project: &Project, start: &CommitId) -> Result<(), Error> {
    let (directory, repository) = (&project.directory, &project.repository);
    let Some(last) = directory.live()? else {
        return Ok(());
    };
    let Ok(replayed) = replay(&directory.run(&last)?.journal()) else {
        return Ok(());
    };
    let branch = &replayed.header.integration_branch;
    let merges = replayed
        .scheduler
        .tasks()
        .filter_map(|view| match view.state {
            State::Landed { merge, .. } => Some(merge.clone()),
            _ => None,
        });
    let landed: Vec<CommitId> = merges.collect();
    // A branch that the user has deleted holds nothing.
    if landed.is_empty()
        || repository.branch_tip(branch)?.is_none()
        || !repository.missing(&landed)?.is_empty()
    {
        return Ok(());
    }
    let newest = repository.newest(&replayed.header.base_commit, &landed)?;
    if !repository.is_ancestor(&newest, start)? && !is_all_in(project, &newest, start)? {
        project.tell(&Notice::MovedBack(branch, &newest));
    }
    Ok(())
}

/// Whether all work that a branch holds is in HEAD in another form: squashed, or rebased.
fn is_all_in(project: &Project, tip: &CommitId, head: &CommitId) -> Result<bool, Error> {
    let there = standing(&project.repository, head)?;
    let here = standing(&project.repository, tip)?;
    let there: BTreeSet<_> = there.iter().map(key).collect();
    Ok(!here.is_empty() && here.iter().all(|work| there.contains(&key(work))))
}

/// By what work is known, whatever commit holds it.
const fn key(work: &Work) -> (&Tag, &RunId, &TaskId, WorkKind) {
    (&work.tag, &work.run, &work.task, work.kind)
}

fn last_branch(project: &Project, tag: &Tag) -> Result<Option<(String, CommitId)>, Error> {
    let Some(last) = project.directory.live()? else {
        return of_remotes(project, tag);
    };
    // A branch that the user has deleted holds nothing.
    let known = branch_of(project, &last)?.and_then(|branch| {
        let tip = project.repository.resolve(&branch).ok()?;
        Some((branch, tip))
    });
    Ok(known)
}

/// The branch of a run; where its journal can't be read, it is known by its name.
fn branch_of(project: &Project, run: &RunId) -> Result<Option<String>, Error> {
    if let Ok(replayed) = replay(&project.directory.run(run)?.journal()) {
        return Ok(Some(replayed.header.integration_branch.to_string()));
    }
    let mut branches = project.repository.branches()?.into_iter();
    Ok(branches.find(|branch| branch.contains(run.as_str())))
}

/// The newest branch that runs of this tag landed on, here or at a remote: names of runs begin with their moment.
fn of_remotes(project: &Project, tag: &Tag) -> Result<Option<(String, CommitId)>, Error> {
    let pattern = &project.loaded.settings.git.integration;
    let names = [("tag", tag.as_str()), ("run", ANY_RUN)];
    let name = branch_from_pattern(pattern, &names)?.to_string();
    let Some((before, after)) = name.split_once(ANY_RUN) else {
        return Ok(None);
    };
    let references = project.repository.branch_references()?;
    let runs = references.iter().filter_map(|reference| {
        let (_, rest) = reference.split_once(before)?;
        let run = rest.strip_suffix(after).filter(|run| is_run(run))?;
        Some((run, reference))
    });
    let Some((_, newest)) = runs.max() else {
        return Ok(None);
    };
    let local = newest.strip_prefix("refs/heads/");
    let short = local.or_else(|| newest.strip_prefix("refs/remotes/"));
    let tip = project.repository.resolve(newest)?;
    Ok(Some((short.unwrap_or(newest).to_owned(), tip)))
}

/// The name of a run that there never was.
const ANY_RUN: &str = "00000000-000000-0000";

/// Whether a name is written as those of runs are.
fn is_run(name: &str) -> bool {
    let shape = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => '0',
        letter => letter,
    });
    shape.collect::<String>().starts_with(ANY_RUN)
}
