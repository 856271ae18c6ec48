//! Tests of pairs that are kept although what makes them pass is done again: by a rejection, or by the commit that took
//! them back until then.

use super::ledger::KEEPS;
use super::{Ledger, standing};
use std::collections::BTreeMap;
use tm_scheduler::{CommitId, TAKEN_BACK_PHASE, Tag, TaskId, WorkKind};
use tm_worktrees::{Error, PastCommit, Repository};

/// Tests that are kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeptTests {
    /// The title of the task then.
    pub title: String,
    /// The task of the tests themselves, as they are planned.
    pub red: TaskId,
    /// The commit that brought them.
    pub commit: CommitId,
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
    let ledger = Ledger::read(repository)?;
    let mut rejected: Vec<_> = ledger
        .iter()
        .filter(|rejected| rejected.tag == *tag)
        .collect();
    rejected.sort_by_key(|rejected| (&rejected.run, &rejected.reference));
    for rejected in rejected {
        let kept = rejected.keeps.as_ref().map(|kept| KeptTests {
            title: rejected.title.clone(),
            red: kept.task.clone(),
            commit: kept.commit.clone(),
        });
        last.insert(rejected.task.clone(), kept);
    }
    let mut kept: BTreeMap<TaskId, KeptTests> = last
        .into_iter()
        .filter_map(|(task, kept)| Some((task, kept?)))
        .collect();
    if !kept.is_empty() {
        let works = standing(repository, base)?;
        let stands = |task: &TaskId| {
            works
                .iter()
                .any(|work| (&work.tag, &work.task, work.kind) == (tag, task, WorkKind::Whole))
        };
        kept.retain(|task, _| !stands(task));
    }
    Ok(kept)
}

/// The task of a commit that took work back, with its tests where they are kept.
fn of_history(told: &PastCommit, tag: &Tag) -> Option<(TaskId, Option<KeptTests>)> {
    let (subject, _) = told.message.split_once('\n')?;
    let (_, title) = subject.split_once(": ")?;
    let value = |name: &str| {
        let lines = told
            .message
            .lines()
            .filter_map(|line| line.split_once(": "));
        lines
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value.trim())
            .next_back()
    };
    if value("Tag")? != tag.as_str() {
        return None;
    }
    let kept = value(KEEPS).and_then(|kept| kept.split_once(' '));
    let kept = kept.map(|(commit, red)| KeptTests {
        title: title.trim().to_owned(),
        red: TaskId::from(red),
        commit: CommitId::new(commit),
    });
    Some((TaskId::from(value("Task")?), kept))
}
