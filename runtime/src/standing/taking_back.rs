//! The base of new work without what was rejected: its commits are taken back on top of where the run starts, the newest
//! first, a commit of tm's for each task. Moves no branch: the run's begins there, or nothing has happened.
//!
//! Where later work stands on the same lines, that is taken back too, and done again: going on back to the rejected work
//! that always ends, at the latest with the tree from before it. Where lines alone did not put work together with what
//! had landed, the merge by which it landed is taken back. What people committed never is.

use super::by_landing::{by_its_landing, people_changed};
use super::ledger::{KEEPS, quoted};
use super::{Ledger, Rejected, standing};
use std::collections::BTreeMap;
use tm_scheduler::{CommitId, RunId, TAKEN_BACK_PHASE, TAKES_BACK, Tag, TaskId, Work, WorkKind};
use tm_worktrees::{Error, Repository, TakenBackTree};

/// Where a run starts, and for which run.
#[derive(Clone, Copy, Debug)]
pub struct Taking<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Where the run would start.
    pub start: &'a CommitId,
    /// The run.
    pub run: &'a RunId,
}

/// Why work was taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RevertReason {
    /// Somebody rejected it, and said why.
    Rejected(String),
    /// It changed the same lines as rejected work of this task.
    InTheWay(TaskId),
    /// Its tests stand there without the implementation.
    TestsAlone,
}

/// Work that was taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TakenBack {
    /// The task of the backlog.
    pub task: TaskId,
    /// The tag of the backlog.
    pub tag: Tag,
    /// Its title.
    pub title: String,
    /// Why.
    pub why: RevertReason,
    /// The commit that takes it back.
    pub by: CommitId,
}

/// Where new work starts.
#[derive(Clone, Debug)]
pub struct CleanBase {
    /// The commit.
    pub commit: CommitId,
    /// What was taken back, the newest first.
    pub taken_back: Vec<TakenBack>,
    /// What stands there.
    pub standing: Vec<Work>,
}

/// Why rejected work could not be taken back.
#[derive(Debug, thiserror::Error)]
pub enum NotTakenBack {
    /// People changed the same lines since.
    #[error("take back `{task}`, which was rejected: commits of people changed the same lines since, in `{}`", files.join("`, `"))]
    InTheWay {
        /// The task.
        task: TaskId,
        /// The commit that can't be taken back.
        commit: CommitId,
        /// Where.
        files: Vec<String>,
    },
    /// It can't be told any more which lines are whose.
    #[error("take back `{task}`, which was rejected: it can't be told from what landed since, in `{}`", files.join("`, `"))]
    NotApart {
        /// The task.
        task: TaskId,
        /// The commit that can't be taken back.
        commit: CommitId,
        /// Where.
        files: Vec<String>,
    },
    /// git refused.
    #[error(transparent)]
    Git(#[from] Error),
}

/// All work on a task in one run.
#[derive(Clone, Debug)]
pub(super) struct Group {
    task: TaskId,
    title: String,
    tag: Tag,
    why: RevertReason,
    /// Its place in the history, counted from the newest work on.
    position: usize,
    /// The newest first, with the task as their trailers name it.
    pub(super) commits: Vec<(CommitId, TaskId)>,
    /// The merge by which they landed, where that is taken back instead.
    pub(super) landing: Option<CommitId>,
    /// The tests that come back as they were.
    keeps: Option<(CommitId, TaskId)>,
}

impl Group {
    /// What is taken back, with the task as its trailers name it.
    fn taken(&self) -> impl Iterator<Item = (&CommitId, &TaskId)> {
        self.commits
            .iter()
            .map(|(commit, task)| (self.landing.as_ref().unwrap_or(commit), task))
    }
}

/// Returns where a run starts: `start`, and on top of it what takes back the rejected work that stands there, and tests
/// that stand `alone`. The commits are on no branch yet.
///
/// # Errors
/// People's commits are in the way, or git refused.
pub fn clean_base(taking: Taking<'_>, alone: &[Work]) -> Result<CleanBase, NotTakenBack> {
    let Taking {
        repository, start, ..
    } = taking;
    let works = standing(repository, start)?;
    let rejected = Ledger::read(repository)?.standing_among(&works);
    let mut groups: Vec<Group> = rejected
        .iter()
        .map(|(rejected, own)| of_rejected(rejected, own, &works))
        .collect();
    groups.extend(
        alone
            .iter()
            .map(|work| of_work(work, &[work], &works, RevertReason::TestsAlone)),
    );
    if groups.is_empty() {
        return Ok(CleanBase {
            commit: start.clone(),
            taken_back: Vec::new(),
            standing: works,
        });
    }
    loop {
        groups.sort_by_key(|group| group.position);
        match taken_back(taking, &groups)? {
            Tried::Done(commit, taken_back) => {
                let standing = standing(repository, &commit)?;
                return Ok(CleanBase {
                    commit,
                    taken_back,
                    standing,
                });
            }
            Tried::Conflict {
                group,
                commit,
                files,
            } => {
                if let Some(landing) = by_its_landing(repository, start, &works, &groups[group])? {
                    groups[group].landing = Some(landing);
                    continue;
                }
                let more = in_the_way(repository, &works, &groups, group, &files)?;
                if more.is_empty() {
                    let (task, by_people) = (
                        groups[group].task.clone(),
                        people_changed(repository, &commit, start, &files)?,
                    );
                    return Err(if by_people {
                        NotTakenBack::InTheWay {
                            task,
                            commit,
                            files,
                        }
                    } else {
                        NotTakenBack::NotApart {
                            task,
                            commit,
                            files,
                        }
                    });
                }
                groups.extend(more);
            }
        }
    }
}

enum Tried {
    Done(CommitId, Vec<TakenBack>),
    Conflict {
        group: usize,
        commit: CommitId,
        files: Vec<String>,
    },
}

fn taken_back(taking: Taking<'_>, groups: &[Group]) -> Result<Tried, Error> {
    let mut onto = taking.start.clone();
    let mut taken_back = Vec::new();
    for (position, group) in groups.iter().enumerate() {
        let mut commits: Vec<CommitId> = group.taken().map(|(commit, _)| commit.clone()).collect();
        commits.dedup();
        let tree = match taking.repository.taken_back(&onto, &commits)? {
            TakenBackTree::Clean(tree) => tree,
            TakenBackTree::Conflict { commit, conflict } => {
                return Ok(Tried::Conflict {
                    group: position,
                    commit,
                    files: conflict.files,
                });
            }
        };
        onto = taking
            .repository
            .commit_as_user(&tree, &[&onto], &message(group, taking.run))?;
        taken_back.push(TakenBack {
            task: group.task.clone(),
            tag: group.tag.clone(),
            title: group.title.clone(),
            why: group.why.clone(),
            by: onto.clone(),
        });
    }
    Ok(Tried::Done(onto, taken_back))
}

fn message(group: &Group, run: &RunId) -> String {
    let why = match &group.why {
        RevertReason::Rejected(reason) => {
            format!("It was rejected in a review:\n\n{}", quoted(reason))
        }
        RevertReason::InTheWay(task) => format!(
            "It changed the same lines as task {task}, which was rejected in a review and is taken back: it is done again."
        ),
        RevertReason::TestsAlone => "Its tests come back with what makes them pass.".to_owned(),
    };
    let commits = group
        .taken()
        .map(|(commit, task)| format!("{TAKES_BACK}: {commit} {task}\n"));
    let keeps = group
        .keeps
        .iter()
        .map(|(commit, task)| format!("{KEEPS}: {commit} {task}\n"));
    format!(
        "Take back task {}: {}\n\n{why}\n\nTask: {}\nPhase: {TAKEN_BACK_PHASE}\nTag: {}\nRun: {run}\n{}",
        group.task,
        group.title,
        group.task,
        group.tag,
        commits.chain(keeps).collect::<String>()
    )
}

fn of_rejected(rejected: &Rejected, own: &[Work], works: &[Work]) -> Group {
    let commit = |work: &Work| {
        (
            rejected.commit_of(work, is_alone(work, works)),
            work.task.clone(),
        )
    };
    Group {
        task: rejected.task.clone(),
        title: rejected.title.clone(),
        tag: rejected.tag.clone(),
        why: RevertReason::Rejected(rejected.reason.clone()),
        position: own
            .iter()
            .map(|work| position(work, works))
            .min()
            .unwrap_or_default(),
        commits: own.iter().map(commit).collect(),
        landing: None,
        keeps: rejected
            .keeps
            .as_ref()
            .map(|kept| (kept.commit.clone(), kept.task.clone())),
    }
}

fn of_work(named_by: &Work, own: &[&Work], works: &[Work], why: RevertReason) -> Group {
    let task = named_by.task.as_str();
    let keeps =
        (why == RevertReason::TestsAlone).then(|| (named_by.commit.clone(), named_by.task.clone()));
    Group {
        task: TaskId::from(task.strip_suffix(":red").unwrap_or(task)),
        title: named_by.titles.first().cloned().unwrap_or_default(),
        tag: named_by.tag.clone(),
        why,
        position: own
            .iter()
            .map(|work| position(work, works))
            .min()
            .unwrap_or_default(),
        commits: own
            .iter()
            .map(|work| (work.commit.clone(), work.task.clone()))
            .collect(),
        landing: None,
        keeps,
    }
}

fn position(work: &Work, works: &[Work]) -> usize {
    works
        .iter()
        .position(|other| other == work)
        .unwrap_or(works.len())
}

/// Whether a commit holds this work and no other.
fn is_alone(work: &Work, works: &[Work]) -> bool {
    works
        .iter()
        .filter(|other| other.commit == work.commit)
        .count()
        == 1
}

/// Later work that touches these files, each with all of its task.
fn in_the_way(
    repository: &Repository,
    works: &[Work],
    groups: &[Group],
    conflicting: usize,
    files: &[String],
) -> Result<Vec<Group>, Error> {
    let Group {
        task,
        position: below,
        ..
    } = &groups[conflicting];
    let is_taken = |work: &Work| {
        groups.iter().any(|group| {
            group
                .commits
                .iter()
                .any(|(commit, _)| *commit == work.commit)
        })
    };
    let mut found: BTreeMap<usize, Group> = BTreeMap::new();
    for work in works[..*below]
        .iter()
        .filter(|work| !is_taken(work) && is_alone(work, works))
    {
        let Some(before) = repository.first_parent(&work.commit)? else {
            continue;
        };
        let changed = repository.changed_files(&before, &work.commit)?;
        if changed.iter().any(|change| files.contains(&change.path)) {
            let (named_by, own) = whole(repository, work, works)?;
            let group = of_work(named_by, &own, works, RevertReason::InTheWay(task.clone()));
            found.insert(group.position, group);
        }
    }
    Ok(found.into_values().collect())
}

/// All work of the task that this is of in its run, the tests of its pair too; the implementation names the task.
fn whole<'w>(
    repository: &Repository,
    work: &'w Work,
    works: &'w [Work],
) -> Result<(&'w Work, Vec<&'w Work>), Error> {
    let of_run = |other: &&Work| (&other.tag, &other.run) == (&work.tag, &work.run);
    for implementation in works
        .iter()
        .filter(of_run)
        .filter(|other| other.kind == WorkKind::Whole)
    {
        let mut below = repository.parents(&implementation.commit)?;
        for parent in below.clone() {
            below.extend(repository.parents(&parent)?);
        }
        let is_its_test =
            |other: &Work| other.kind == WorkKind::Red && below.contains(&other.commit);
        let is_its = |other: &&Work| other.task == implementation.task || is_its_test(other);
        let own: Vec<&Work> = works.iter().filter(of_run).filter(is_its).collect();
        if own.contains(&work) {
            return Ok((implementation, own));
        }
    }
    Ok((work, vec![work]))
}
