//! The base of new work without what was rejected: its commits are taken back on top of where the run starts, the newest
//! first, a commit of tm's for each task. Moves no branch: the run's begins there, or nothing has happened.
//!
//! Where later work stands on the same lines, that is taken back too, and done again: going on back to the rejected work
//! that always ends, at the latest with the tree from before it. Where lines alone did not put work together with what
//! had landed, the merge by which it landed is taken back. What people committed never is.

use super::ledger::{KEEPS, quoted};
use super::{Ledger, Rejected, RejectedCommit, standing};
use super::{by_its_landing, changes_any, people_changed};
use std::collections::BTreeMap;
use tm_scheduler::{
    CommitId, RunId, TAKEN_BACK_PHASE, TAKES_BACK, Tag, TaskId, Work, WorkKind, quoted_files,
};
use tm_worktrees::{Error, Repository};

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
#[derive(Debug)]
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
#[derive(Debug)]
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
    /// People changed the same lines since, or it can't be told any more which lines are whose.
    #[error(
        "take back `{task}`, which was rejected: {why}, in {}",
        quoted_files(files)
    )]
    InTheWay {
        /// The task.
        task: TaskId,
        /// The commit that can't be taken back.
        commit: CommitId,
        /// What is in the way.
        why: &'static str,
        /// Where.
        files: Vec<String>,
    },
    /// git refused.
    #[error(transparent)]
    Git(#[from] Error),
}

/// All work on a task in one run.
#[derive(Debug)]
pub(super) struct Group {
    task: TaskId,
    title: String,
    tag: Tag,
    why: RevertReason,
    /// Its place in the history, counted from the newest work on.
    position: usize,
    /// The newest first, with the task as their trailers name it.
    pub(super) commits: Vec<RejectedCommit>,
    /// The merge by which they landed, where that is taken back instead.
    pub(super) landing: Option<CommitId>,
    /// The tests that come back as they were.
    keeps: Option<RejectedCommit>,
}

impl Group {
    /// What is taken back, with the task as its trailers name it.
    fn taken(&self) -> impl Iterator<Item = RejectedCommit> {
        let commit = |one| self.landing.as_ref().unwrap_or(one);
        let commits = self.commits.iter();
        commits.map(move |one| RejectedCommit::new(commit(&one.commit), &one.task))
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
    let of_alone = |work| of_work(work, &[work], &works, RevertReason::TestsAlone);
    let mut groups: Vec<Group> = rejected
        .iter()
        .map(|(rejected, own)| of_rejected(rejected, own, &works))
        .chain(alone.iter().map(of_alone))
        .collect();
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
            Ok((commit, taken_back)) => {
                return Ok(CleanBase {
                    standing: standing(repository, &commit)?,
                    commit,
                    taken_back,
                });
            }
            Err(conflict) => dealt_with(taking, &works, &mut groups, conflict)?,
        }
    }
}

/// Takes the merge back instead by which work landed, or what is in the way as well.
fn dealt_with(
    Taking {
        repository, start, ..
    }: Taking<'_>,
    works: &[Work],
    groups: &mut Vec<Group>,
    Conflict {
        group,
        commit,
        files,
    }: Conflict,
) -> Result<(), NotTakenBack> {
    if let Some(landing) = by_its_landing(repository, start, works, &groups[group])? {
        groups[group].landing = Some(landing);
        return Ok(());
    }
    let more = in_the_way(repository, works, (groups.as_slice(), group), &files)?;
    if !more.is_empty() {
        groups.extend(more);
        return Ok(());
    }
    let task = groups[group].task.clone();
    let why = if people_changed(repository, &commit, start, &files)? {
        "commits of people changed the same lines since"
    } else {
        "it can't be told from what landed since"
    };
    Err(NotTakenBack::InTheWay {
        task,
        commit,
        why,
        files,
    })
}

/// The commit without the work of the groups, and what was taken back; or what is in the way.
type Tried = Result<(CommitId, Vec<TakenBack>), Conflict>;

/// What could not be taken back.
struct Conflict {
    /// The position of its group.
    group: usize,
    commit: CommitId,
    files: Vec<String>,
}

fn taken_back(taking: Taking<'_>, groups: &[Group]) -> Result<Tried, Error> {
    let mut onto = taking.start.clone();
    let mut taken_back = Vec::new();
    for (position, group) in groups.iter().enumerate() {
        let mut commits: Vec<CommitId> = group.taken().map(|one| one.commit).collect();
        commits.dedup();
        let repository = taking.repository;
        let tree = match repository.taken_back(&onto, &commits)? {
            Ok(tree) => tree,
            Err((commit, conflict)) => {
                return Ok(Err(Conflict {
                    group: position,
                    commit,
                    files: conflict.files,
                }));
            }
        };
        onto = repository.commit_as_user(&tree, &[&onto], &message(group, taking.run))?;
        taken_back.push(TakenBack {
            task: group.task.clone(),
            tag: group.tag.clone(),
            title: group.title.clone(),
            why: group.why.clone(),
            by: onto.clone(),
        });
    }
    Ok(Ok((onto, taken_back)))
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
    let commits = group.taken().map(|one| one.line(TAKES_BACK));
    let keeps = group.keeps.iter().map(|one| one.line(KEEPS));
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
        let own = Some(&work.commit).filter(|_| is_alone(work, works));
        let commit = own.unwrap_or_else(|| rejected.commit_of(work));
        RejectedCommit::new(commit, &work.task)
    };
    Group {
        task: rejected.task.clone(),
        title: rejected.title.clone(),
        tag: rejected.tag.clone(),
        why: RevertReason::Rejected(rejected.reason.clone()),
        position: newest(own.iter(), works),
        commits: own.iter().map(commit).collect(),
        landing: None,
        keeps: rejected.keeps.clone(),
    }
}

fn of_work(named_by: &Work, own: &[&Work], works: &[Work], why: RevertReason) -> Group {
    let task = named_by.task.as_str();
    let commit = |work: &Work| RejectedCommit::new(&work.commit, &work.task);
    Group {
        task: TaskId::from(task.strip_suffix(":red").unwrap_or(task)),
        title: named_by.titles.first().cloned().unwrap_or_default(),
        tag: named_by.tag.clone(),
        position: newest(own.iter().copied(), works),
        commits: own.iter().copied().map(commit).collect(),
        landing: None,
        keeps: (why == RevertReason::TestsAlone).then(|| commit(named_by)),
        why,
    }
}

/// The place of the newest of these.
fn newest<'w>(own: impl Iterator<Item = &'w Work>, works: &[Work]) -> usize {
    let position = |work| works.iter().position(|other| other == work);
    let positions = own.map(|work| position(work).unwrap_or(works.len()));
    positions.min().unwrap_or_default()
}

/// Whether a commit holds this work and no other.
fn is_alone(work: &Work, works: &[Work]) -> bool {
    let same = works.iter().filter(|other| other.commit == work.commit);
    same.count() == 1
}

/// Later work that touches these files, each with all of its task.
fn in_the_way(
    repository: &Repository,
    works: &[Work],
    (groups, conflicting): (&[Group], usize),
    files: &[String],
) -> Result<Vec<Group>, Error> {
    let Group {
        task,
        position: below,
        ..
    } = &groups[conflicting];
    let taken = groups.iter().flat_map(|group| &group.commits);
    let taken: Vec<&CommitId> = taken.map(|one| &one.commit).collect();
    let is_taken = |work: &Work| taken.contains(&&work.commit);
    let mut found: BTreeMap<usize, Group> = BTreeMap::new();
    let is_left = |work: &&Work| !is_taken(work) && is_alone(work, works);
    for work in works[..*below].iter().filter(is_left) {
        let Some(before) = repository.first_parent(&work.commit)? else {
            continue;
        };
        if changes_any(repository, (&before, &work.commit), files)? {
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
    let is_whole = |other: &&Work| of_run(other) && other.kind == WorkKind::Whole;
    for implementation in works.iter().filter(is_whole) {
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
