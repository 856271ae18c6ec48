//! What people rejected, kept in the repository: a reference for each rejection, at a commit on top of the rejected work
//! whose message says why. So it outlives folders of runs, goes wherever the references are pushed, and keeps the work
//! from being collected.
//!
//! Tests of pairs may be kept although what makes them pass is done again: by a rejection, or by the commit that took them
//! back until then.

use super::standing;
use crate::trailers::values;
use itertools::Itertools as _;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{CommitId, RunId, TAKEN_BACK_PHASE, Tag, TaskId, Work, WorkKind, one_line};
use tm_store::run::safe_name;
use tm_worktrees::{Error, PastCommit, Repository};

/// Where the references are.
const PLACE: &str = "refs/tm/rejected";
const REJECTS: &str = "Rejects";
pub(super) const KEEPS: &str = "Keeps";

/// A commit of rejected work, with the task as its own trailers name it.
#[derive(Clone, Debug)]
pub struct RejectedCommit {
    /// The commit.
    pub commit: CommitId,
    /// Its task, within the run.
    pub task: TaskId,
}

impl RejectedCommit {
    pub(super) fn new(commit: &CommitId, task: &TaskId) -> Self {
        Self {
            commit: commit.clone(),
            task: task.clone(),
        }
    }

    /// Returns the line of a message that names it.
    pub(super) fn line(&self, name: &str) -> String {
        format!("{name}: {} {}\n", self.commit, self.task)
    }

    /// Reads what such a line says.
    fn of(text: &str) -> Option<Self> {
        let (commit, task) = text.split_once(' ')?;
        Some(Self {
            commit: CommitId::new(commit),
            task: TaskId::from(task),
        })
    }
}

/// A rejection.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The reference that holds it.
    pub reference: String,
    /// The commit that the reference is at.
    pub record: CommitId,
    /// The task of the backlog.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// The tag of the backlog.
    pub tag: Tag,
    /// The run that did the work.
    pub run: RunId,
    /// What is rejected, the newest commit first.
    pub rejects: Vec<RejectedCommit>,
    /// The tests of the pair, where they are kept.
    pub keeps: Option<RejectedCommit>,
    /// Why.
    pub reason: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
}

impl Rejected {
    /// Writes it into the repository.
    ///
    /// # Errors
    /// git refused.
    pub fn keep(&self, repository: &Repository) -> Result<(), Error> {
        let Some(RejectedCommit { commit: newest, .. }) = self.rejects.first() else {
            return Ok(());
        };
        let tree = repository.tree_of(newest)?;
        let record = repository.commit_tree(&tree, &[newest], &self.message())?;
        repository.keep(&place(&self.tag, &self.task, &self.run), &record)
    }

    fn message(&self) -> String {
        let commits: String = self.rejects.iter().map(|one| one.line(REJECTS)).collect();
        let keeps: String = self.keeps.iter().map(|one| one.line(KEEPS)).collect();
        format!(
            "Reject task {}: {}\n\n{}\n\nTask: {}\nPhase: rejected\nTag: {}\nRun: {}\nAt: {}\n{commits}{keeps}",
            self.task,
            one_line(&self.title),
            quoted(&self.reason),
            one_line(self.task.as_str()),
            one_line(self.tag.as_str()),
            self.run,
            self.at
        )
    }

    fn of(reference: &str, told: &PastCommit) -> Option<Self> {
        let message = &told.message;
        let title = message.lines().next()?.split_once(": ")?.1;
        let reason = message.lines().filter_map(|line| line.strip_prefix('>'));
        let values = |name| values(&told.trailers, name);
        Some(Self {
            reference: reference.to_owned(),
            record: told.id.clone(),
            task: values("Task").next()?.into(),
            title: title.to_owned(),
            tag: values("Tag").next()?.into(),
            run: values("Run").next()?.into(),
            rejects: values(REJECTS).filter_map(RejectedCommit::of).collect(),
            keeps: values(KEEPS).find_map(RejectedCommit::of),
            reason: reason.map(str::trim).join("\n"),
            at: values("At").next().unwrap_or_default().to_owned(),
        })
    }

    /// Tells whether this is a part of what is rejected: the commit itself, or what a rebase or a squash made of it.
    pub fn rejects(&self, work: &Work) -> bool {
        self.rejects
            .iter()
            .any(|rejected| self.is_of(work, rejected))
    }

    /// Tells whether this is what is rejected, or the tests that are kept.
    pub fn concerns(&self, work: &Work) -> bool {
        self.rejects(work) || self.keeps.iter().any(|kept| self.is_of(work, kept))
    }

    fn is_of(&self, work: &Work, one: &RejectedCommit) -> bool {
        work.commit == one.commit
            || (&work.tag, &work.run, &work.task) == (&self.tag, &self.run, &one.task)
    }

    /// Returns the commit that held exactly this work before it was squashed: the one that was rejected.
    pub fn commit_of<'a>(&'a self, work: &'a Work) -> &'a CommitId {
        let all = self.rejects.iter().chain(&self.keeps);
        let mut of_task = all.filter(|one| one.task == work.task);
        // A further commit that improves the code is the newest of its task.
        let found = match work.kind {
            WorkKind::Refactor => of_task.next(),
            WorkKind::Red | WorkKind::Whole => of_task.next_back(),
        };
        found.map_or(&work.commit, |one| &one.commit)
    }

    fn of_work(&self) -> (&Tag, &TaskId, &RunId) {
        (&self.tag, &self.task, &self.run)
    }
}

/// All rejections that the repository holds.
#[derive(Debug, Default)]
pub struct Ledger {
    /// In the order of their references.
    pub rejected: Vec<Rejected>,
}

impl Ledger {
    /// Reads them. One that can't be understood is left out: it was written by nobody of us.
    ///
    /// # Errors
    /// git refused.
    pub fn read(repository: &Repository) -> Result<Self, Error> {
        let references = repository.references_below(PLACE)?;
        let commits = references.iter().map(|(_, commit)| commit.clone());
        let commits: Vec<CommitId> = commits.collect();
        let told = repository.told_of(&commits)?;
        let found = references.iter().filter_map(|(reference, commit)| {
            Rejected::of(reference, told.iter().find(|told| told.id == *commit)?)
        });
        Ok(Self {
            rejected: found.collect(),
        })
    }

    /// Returns the rejections of which something is among this work, with it; a rejection with kept tests takes those
    /// along, since they can't stand without what makes them pass.
    pub fn standing_among(&self, works: &[Work]) -> Vec<(Rejected, Vec<Work>)> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for rejected in self.rejected.iter().rev() {
            let own = works.iter().filter(|work| rejected.concerns(work));
            let own: Vec<Work> = own.cloned().collect();
            let is_new = seen.insert(rejected.of_work());
            if is_new && own.iter().any(|work| rejected.rejects(work)) {
                found.push((rejected.clone(), own));
            }
        }
        found
    }

    /// Takes the rejections of a task's work in a run back.
    ///
    /// # Errors
    /// git refused.
    pub fn forget(
        &self,
        repository: &Repository,
        tag: &Tag,
        task: &TaskId,
        run: &RunId,
    ) -> Result<(), Error> {
        let all = self.rejected.iter();
        let mut of_work = all.filter(|rejected| rejected.of_work() == (tag, task, run));
        of_work.try_for_each(|one| repository.forget(&one.reference, &one.record))
    }
}

fn place(tag: &Tag, task: &TaskId, run: &RunId) -> String {
    let names = [tag.as_str(), task.as_str(), run.as_str()].map(name);
    format!("{PLACE}/{}", names.join("/"))
}

/// A part of a reference's name: what a file may be called, but for what git does not let be.
fn name(text: &str) -> String {
    safe_name(&TaskId::from(text))
        .replace('.', "%2e")
        .replace('~', "%7e")
}

/// Words of people within a message: no line of them is a trailer.
pub(super) fn quoted(text: &str) -> String {
    let lines = text.trim().lines();
    lines
        .map(|line| format!("> {}", line.trim_end()))
        .join("\n")
}

/// Tests that are kept.
#[derive(Debug)]
pub struct KeptTests {
    /// The title of the task then.
    pub title: String,
    /// The task of the tests themselves, as they are planned.
    pub red: TaskId,
    /// The commit that brought them.
    pub commit: CommitId,
}

impl KeptTests {
    fn of(kept: RejectedCommit, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            red: kept.task,
            commit: kept.commit,
        }
    }
}

/// Returns the tests that are kept for tasks of a tag whose work does not stand in the history of `base`, by task. What
/// was decided last about a task counts.
///
/// # Errors
/// git refused.
pub fn kept_tests(
    repository: &Repository,
    base: &CommitId,
    tag: &Tag,
) -> Result<BTreeMap<TaskId, KeptTests>, Error> {
    let mut last: BTreeMap<TaskId, Option<KeptTests>> = BTreeMap::new();
    for told in repository.told(base, &[&format!("Phase: {TAKEN_BACK_PHASE}")])? {
        if let Some((task, kept)) = of_history(&told, tag) {
            last.entry(task).or_insert(kept);
        }
    }
    let mut rejected = Ledger::read(repository)?.rejected;
    rejected.retain(|rejected| rejected.tag == *tag);
    rejected.sort_by(|one, other| (&one.run, &one.reference).cmp(&(&other.run, &other.reference)));
    for Rejected {
        task, title, keeps, ..
    } in rejected
    {
        last.insert(task, keeps.map(|kept| KeptTests::of(kept, &title)));
    }
    let kept = last.into_iter();
    let mut kept: BTreeMap<TaskId, KeptTests> = kept
        .filter_map(|(task, kept)| Some((task, kept?)))
        .collect();
    if !kept.is_empty() {
        let mut works = standing(repository, base)?;
        works.retain(|work| (&work.tag, work.kind) == (tag, WorkKind::Whole));
        kept.retain(|task, _| works.iter().all(|work| work.task != *task));
    }
    Ok(kept)
}

/// The task of a commit that took work back, with its tests where they are kept.
fn of_history(told: &PastCommit, tag: &Tag) -> Option<(TaskId, Option<KeptTests>)> {
    let (subject, _) = told.message.split_once('\n')?;
    let (_, title) = subject.split_once(": ")?;
    let value = |name: &str| {
        let lines = told.message.lines().rev();
        let mut named = lines.filter_map(|line| line.split_once(": "));
        named.find(|(key, _)| *key == name)
    };
    let (_, of_tag) = value("Tag")?;
    if of_tag.trim() != tag.as_str() {
        return None;
    }
    let kept = value(KEEPS).and_then(|(_, kept)| RejectedCommit::of(kept.trim()));
    let kept = kept.map(|kept| KeptTests::of(kept, title.trim()));
    let (_, task) = value("Task")?;
    Some((TaskId::from(task.trim()), kept))
}
