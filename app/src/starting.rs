//! Where a new run starts, what of that was rejected, and which tasks of the backlog the history there has already.
//!
//! The trailers of commits are the truth, since they are all that a fresh clone has; statuses follow them.

use crate::error::Error;
use crate::notice::Notice;
use crate::plan::PlanOrder;
use crate::project::Project;
use std::collections::BTreeSet;
use tm_runtime::standing::{CleanBase, RevertReason, TakenBack, Taking, clean_base, standing};
use tm_runtime::{now, replay};
use tm_scheduler::{
    CommitId, Phase, Recognised, RunId, Status, Tag, Task, TaskId, WavePlan, Work, WorkKind,
    hot_files,
};
use tm_store::backlog::{Backlog, BacklogSource, RollUp, StatusChange, stamp};
use tm_worktrees::{Conflicts, MergeOutcome, Repository, branch_from_pattern};

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
        match whence {
            Whence::Head => {}
            Whence::Branch(name) => project.tell(&Notice::StartsAt(&name)),
            Whence::Both(name) => project.tell(&Notice::StartsTogetherWith(&name)),
        }
        let taking = Taking {
            repository: &project.repository,
            start: &before,
            run,
        };
        let CleanBase {
            commit,
            taken_back,
            standing,
        } = clean_base(taking, &[])?;
        reopen(&mut backlog.tasks, &taken_back, &backlog.tag);
        let mut again = project.directory.reopened(&backlog.tag)?;
        again.extend(order.again.iter().cloned());
        let known = Recognised::of(&backlog.tasks, &backlog.tag, &standing, &again);
        known.apply(&mut backlog.tasks);
        let hot_files = hot_files_in(&project.repository, &standing)?;
        Ok(Self {
            commit,
            before,
            taken_back,
            known,
            hot_files,
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
        let is_planned = |work: &&Work| {
            let mut red = plan.tasks.iter().map(|placed| &placed.task);
            red.any(|task| task.phase == Phase::Red && task.id == work.task)
        };
        let alone = self.known.tests_alone.iter().filter(is_planned);
        let alone: Vec<Work> = alone.cloned().collect();
        if alone.is_empty() {
            return Ok(self);
        }
        let taking = Taking {
            repository: &project.repository,
            start: &self.before,
            run,
        };
        let CleanBase {
            commit, taken_back, ..
        } = clean_base(taking, &alone)?;
        Ok(Self {
            commit,
            taken_back,
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
        let change = |id: &TaskId, status: Status| StatusChange {
            id: id.clone(),
            status,
        };
        let done = self.known.done.iter();
        let done = done.map(|(id, _)| change(id, Status::Done));
        let is_known = |id: &TaskId| tasks.iter().any(|task| task.id == *id);
        let is_open = |taken: &&TakenBack| {
            is_to_be_done(taken, tag) && is_known(&taken.task) && !self.known.is_done(&taken.task)
        };
        let open = self.taken_back.iter().filter(is_open);
        let open = open.map(|taken| change(&taken.task, Status::Pending));
        let changes: Vec<StatusChange> = done.chain(open).collect();
        if !changes.is_empty() {
            source.set_statuses(tag, &changes, RollUp::Parents, Some(&stamp(now())))?;
        }
        Ok(())
    }
}

/// The files that most of the newest landings touched.
fn hot_files_in(repository: &Repository, standing: &[Work]) -> Result<BTreeSet<String>, Error> {
    let mut landings = Vec::new();
    for work in standing
        .iter()
        .filter(|work| work.kind == WorkKind::Whole)
        .take(LANDINGS)
    {
        // A clone that is cut off has not what came before.
        if let Some(before) = repository.first_parent(&work.commit)? {
            landings.push(repository.changed_between(&before, &work.commit)?);
        }
    }
    let landings = landings.iter();
    Ok(hot_files(
        landings.map(|files| files.iter().map(String::as_str).collect()),
    ))
}

/// Tasks whose work is taken back along with rejected work are to be done again.
fn reopen(tasks: &mut [Task], taken_back: &[TakenBack], tag: &Tag) {
    for task in tasks.iter_mut().filter(|task| task.status == Status::Done) {
        let mut taken_back = taken_back.iter().filter(|taken| is_to_be_done(taken, tag));
        if taken_back.any(|taken| taken.task == task.id) {
            task.status = Status::Pending;
        }
    }
}

/// Whether work of a tag that was taken back is to be done again: tests alone come back with what they are for.
fn is_to_be_done(taken: &TakenBack, tag: &Tag) -> bool {
    taken.tag == *tag && taken.why != RevertReason::TestsAlone
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
        MergeOutcome::Merged(both) => Ok((both, Whence::Both(name))),
        MergeOutcome::Conflict(conflict) => Err(Error::StartConflicts {
            branch: name,
            files: conflict.files,
        }),
    }
}

/// Whether all work that a branch holds is in HEAD in another form: squashed, or rebased.
fn is_all_in(project: &Project, tip: &CommitId, head: &CommitId) -> Result<bool, Error> {
    let there = standing(&project.repository, head)?;
    let here = standing(&project.repository, tip)?;
    let key = |work: &'_ Work| {
        (
            work.tag.clone(),
            work.run.clone(),
            work.task.clone(),
            work.kind,
        )
    };
    let there: BTreeSet<_> = there.iter().map(key).collect();
    Ok(!here.is_empty() && here.iter().all(|work| there.contains(&key(work))))
}

fn last_branch(project: &Project, tag: &Tag) -> Result<Option<(String, CommitId)>, Error> {
    let Some(last) = project.directory.live()? else {
        return of_remotes(project, tag);
    };
    let branch = if let Ok(last) = replay(&project.directory.run(&last)?.journal()) {
        Some(last.header.integration_branch)
    } else {
        // The branch of a run whose journal can't be read is known by its name.
        let mut branches = project.repository.branches()?.into_iter();
        branches.find(|branch| branch.contains(last.as_str()))
    };
    // A branch that the user has deleted holds nothing.
    Ok(branch.and_then(|branch| {
        let tip = project.repository.resolve(&branch).ok()?;
        Some((branch, tip))
    }))
}

/// The newest branch that runs of this tag landed on, here or at a remote: names of runs begin with their moment.
fn of_remotes(project: &Project, tag: &Tag) -> Result<Option<(String, CommitId)>, Error> {
    const ANY: &str = "00000000-000000-0000";
    let pattern = &project.loaded.settings.git.integration;
    let name = branch_from_pattern(pattern, &[("tag", tag.as_str()), ("run", ANY)])?.to_string();
    let Some((before, after)) = name.split_once(ANY) else {
        return Ok(None);
    };
    let run_of = |reference: &str| {
        let at = reference.find(before)? + before.len();
        let run = reference[at..].strip_suffix(after)?;
        let is_run = run.len() >= ANY.len()
            && run.chars().zip(ANY.chars()).all(|(one, other)| {
                if other == '-' {
                    one == '-'
                } else {
                    one.is_ascii_alphanumeric()
                }
            });
        is_run.then(|| run.to_owned())
    };
    let references = project.repository.branch_references()?;
    let runs = references
        .iter()
        .filter_map(|reference| Some((run_of(reference)?, reference)));
    let Some((_, newest)) = runs.max() else {
        return Ok(None);
    };
    let short = newest
        .strip_prefix("refs/heads/")
        .or_else(|| newest.strip_prefix("refs/remotes/"))
        .unwrap_or(newest);
    Ok(Some((
        short.to_owned(),
        project.repository.resolve(newest)?,
    )))
}
