//! Sorts every commit of a history: the work of a task, a merge, or what no proof covers. Runs no test.
//!
//! The rule that makes an audit whole: each commit of the range is in exactly one of the three, so nothing is in what a
//! stranger clones that is not judged, is not what merging its parents gives, or is not named.

use super::statuses::{STATUSES_PHASE, other_than_statuses};
use crate::standing::takes_back_as_said;
use crate::trailers::Claims;
use itertools::Itertools as _;
use std::collections::{BTreeMap, BTreeSet};
use tm_scheduler::{AuditItem, AuditKind, AuditOutcome, CommitId, TAKEN_BACK_PHASE, first_files};
use tm_worktrees::{Error, MergedTree, PastCommit, Repository, SETTINGS_OF_TM};

/// A commit of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskWork {
    pub(super) commit: PastCommit,
    pub(super) claims: Claims,
    pub(super) kind: AuditKind,
    /// What it builds on.
    pub(super) base: CommitId,
    /// Its RED, for a GREEN.
    pub(super) red: Option<CommitId>,
}

/// A merge whose tree is what its parents give.
#[derive(Clone, Debug)]
pub(super) struct PastMerge {
    pub(super) commit: PastCommit,
    pub(super) claims: Claims,
    /// The test commands that it names, or else those of the task that it lands.
    pub(super) test_commands: Vec<String>,
    /// Whether it brings a RED to where its GREEN begins: its new tests fail there, and GREEN is judged on it.
    pub(super) is_base_with_red: bool,
}

impl PastMerge {
    pub(super) const fn kind(&self) -> AuditKind {
        self.claims.kind_of_merge()
    }
}

/// One commit, sorted.
#[derive(Debug)]
pub(super) enum Sorted {
    Task(TaskWork),
    Merge(PastMerge),
    Finding(Box<AuditItem>),
}

impl Sorted {
    /// Returns the work of a task, where it is that.
    pub(super) const fn task(&self) -> Option<&TaskWork> {
        match self {
            Self::Task(work) => Some(work),
            Self::Merge(_) | Self::Finding(_) => None,
        }
    }
}

/// Sorts the commits that any of `tips` has and `from` has not, each after its parents.
pub(super) fn sorted(
    repository: &Repository,
    from: &CommitId,
    tips: &[CommitId],
) -> Result<Vec<Sorted>, Error> {
    let commits = repository.history(from, tips)?;
    let by_id = commits
        .iter()
        .map(|commit| (commit.id.clone(), commit.clone()))
        .collect();
    let mut sorter = Sorter {
        repository,
        by_id,
        histories: BTreeSet::new(),
    };
    sorter.histories = commits
        .iter()
        .filter_map(|commit| sorter.history_of(commit))
        .flatten()
        .collect();
    commits.iter().map(|commit| sorter.sort(commit)).collect()
}

/// Returns what is found of a commit, without any test.
pub(super) fn item(commit: &PastCommit, claims: &Claims, kind: AuditKind) -> AuditItem {
    AuditItem {
        kind,
        commit: commit.id.clone(),
        task: claims.task.clone(),
        run: claims.run.clone(),
        subject: commit.subject.clone(),
        outcome: AuditOutcome::NotTested,
        what: "its place in the history is right".to_owned(),
        evidence: String::new(),
        test_command: words_of(&claims.test_commands),
        proof: None,
    }
}

/// The commands in one line; `None` where there is none.
pub(super) fn words_of(commands: &[String]) -> Option<String> {
    match commands {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(several.iter().map(|one| format!("({one})")).join(" && ")),
    }
}

/// A commit of which its place in the history, or what it says, tells everything.
fn found(
    (commit, claims): (&PastCommit, &Claims),
    kind: AuditKind,
    outcome: AuditOutcome,
    what: &str,
) -> Sorted {
    Sorted::Finding(Box::new(AuditItem {
        outcome,
        what: what.to_owned(),
        ..item(commit, claims, kind)
    }))
}

fn of_agent(commit: &PastCommit, claims: &Claims) -> Sorted {
    let what = "an agent's own words and steps: no proof is of it, and what it did lands by its task's commit";
    let (kind, outcome) = (AuditKind::History, AuditOutcome::NotTested);
    found((commit, claims), kind, outcome, what)
}

struct Sorter<'a> {
    repository: &'a Repository,
    by_id: BTreeMap<CommitId, PastCommit>,
    /// The commits of agents that are the history of a task's commit.
    histories: BTreeSet<CommitId>,
}

impl Sorter<'_> {
    /// The commits of an agent's that a task's commit has as its history: a chain on what the task's commit builds on,
    /// each of which names the task. What they hold lands by no other way than the task's own tree, which is judged.
    fn history_of(&self, commit: &PastCommit) -> Option<Vec<CommitId>> {
        let claims = Claims::of(&commit.trailers).ok()?;
        claims.kind()?;
        let [base, newest] = commit.parents.as_slice() else {
            return None;
        };
        let made_in = format!("{}/{}/", claims.run.as_ref()?, claims.task.as_ref()?);
        let (mut found, mut next) = (Vec::new(), newest);
        while next != base {
            let past = self.by_id.get(next)?;
            let of = Claims::of(&past.trailers).ok()?;
            let is_of_task = of.task.is_none() && of.made_in?.starts_with(&made_in);
            let [before] = past.parents.as_slice() else {
                return None;
            };
            if !is_of_task {
                return None;
            }
            found.push(next.clone());
            next = before;
        }
        Some(found)
    }

    fn sort(&self, commit: &PastCommit) -> Result<Sorted, Error> {
        let claims = match Claims::of(&commit.trailers) {
            Ok(claims) => claims,
            Err(contradiction) => {
                let (why, none) = (contradiction.to_string(), Claims::default());
                return Ok(finding(commit, &none, AuditKind::Uncovered, &why));
            }
        };
        match commit.parents.as_slice() {
            [] => Ok(uncovered(commit, &claims, "it has no parent")),
            [_] if self.histories.contains(&commit.id) => Ok(of_agent(commit, &claims)),
            [base] => self.work(commit, claims, base),
            [base, _] if self.history_of(commit).is_some() => self.work(commit, claims, base),
            [one, other] => self.merge(commit, claims, (one, other)),
            [..] => Ok(uncovered(commit, &claims, "it has more than two parents")),
        }
    }

    /// Names the settings that a commit has otherwise than all of these: whoever is judged does not say by what.
    fn other_settings(
        &self,
        commit: &PastCommit,
        parents: &[&CommitId],
    ) -> Result<Option<String>, Error> {
        let mut changed: BTreeSet<&str> = SETTINGS_OF_TM.into();
        for parent in parents {
            let there = self.repository.changed_between(*parent, &commit.id)?;
            changed.retain(|file| there.iter().any(|path| path == file));
        }
        let files: Vec<_> = changed.into_iter().map(ToOwned::to_owned).collect();
        let why = || {
            format!(
                "it changes {}, by which work is judged",
                first_files(&files)
            )
        };
        Ok((!files.is_empty()).then(why))
    }

    fn work(&self, commit: &PastCommit, claims: Claims, base: &CommitId) -> Result<Sorted, Error> {
        if let Some(why) = self.other_settings(commit, &[base])? {
            return Ok(uncovered(commit, &claims, &why));
        }
        let phase = claims.phase.as_deref();
        if phase == Some(TAKEN_BACK_PHASE) {
            let fault = takes_back_as_said(self.repository, commit)?;
            return Ok(looked_at(commit, &claims, AuditKind::TakenBack, fault));
        }
        if phase == Some(STATUSES_PHASE) {
            let fault = other_than_statuses(self.repository, commit, base)?;
            return Ok(looked_at(commit, &claims, AuditKind::Statuses, fault));
        }
        let Some(kind) = claims.kind() else {
            let why = match phase {
                Some(phase) => {
                    format!("its trailer `Phase: {phase}` names nothing that can be shown again")
                }
                None => "it is neither a merge of tm's nor the commit of a task".to_owned(),
            };
            return Ok(uncovered(commit, &claims, &why));
        };
        let reds = match kind {
            AuditKind::Green => self.reds(base)?,
            _ => Vec::new(),
        };
        let why = match (kind, reds.as_slice()) {
            (AuditKind::Green, []) => Some("there is no RED below it in the history"),
            (AuditKind::Green, [_, _, ..]) => Some("there are several REDs below it"),
            (AuditKind::Refactor, _) if !self.is_on_work_of(base, &claims)? => {
                Some("what it builds on is no work of the same task")
            }
            (_, _) => None,
        };
        if let Some(why) = why {
            return Ok(finding(commit, &claims, kind, why));
        }
        Ok(Sorted::Task(TaskWork {
            commit: commit.clone(),
            claims,
            kind,
            base: base.clone(),
            red: reds.into_iter().next(),
        }))
    }

    /// The REDs that a base is made of: itself, or what was merged into it without having landed.
    fn reds(&self, base: &CommitId) -> Result<Vec<CommitId>, Error> {
        let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![base.clone()]);
        while let Some(commit) = open.pop() {
            if !seen.insert(commit.clone()) {
                continue;
            }
            let past = self.past(&commit)?;
            let claims = Claims::of(&past.trailers).unwrap_or_default();
            if claims.kind() == Some(AuditKind::Red) {
                found.push(commit);
            } else if past.parents.len() == 2
                && claims.is_of_base()
                && self.by_id.contains_key(&commit)
            {
                open.extend(past.parents);
            }
        }
        Ok(found)
    }

    fn is_on_work_of(&self, base: &CommitId, claims: &Claims) -> Result<bool, Error> {
        let below = self.claims_of(base)?;
        let is_work = matches!(below.kind(), Some(AuditKind::Green | AuditKind::Work));
        Ok(is_work && below.is_of_same_work(claims))
    }

    /// What a commit says of itself; nothing where that contradicts itself.
    fn claims_of(&self, commit: &CommitId) -> Result<Claims, Error> {
        Ok(Claims::of(&self.past(commit)?.trailers).unwrap_or_default())
    }

    /// A commit of the range, or of what lies before it.
    fn past(&self, commit: &CommitId) -> Result<PastCommit, Error> {
        if let Some(known) = self.by_id.get(commit) {
            return Ok(known.clone());
        }
        self.repository.past(commit)
    }

    fn merge(
        &self,
        commit: &PastCommit,
        claims: Claims,
        (one, other): (&CommitId, &CommitId),
    ) -> Result<Sorted, Error> {
        let (kind, repository) = (claims.kind_of_merge(), self.repository);
        let landed = self.claims_of(other)?;
        let resolution = claims.resolution;
        let merged = repository.merged_tree(one, other, &commit.tree, resolution)?;
        if matches!(merged, MergedTree::Resolved)
            && let Some(why) = self.other_settings(commit, &[one, other])?
        {
            return Ok(uncovered(commit, &claims, &why));
        }
        let why = match merged {
            MergedTree::AsMerged | MergedTree::Resolved if kind == AuditKind::Landing => {
                wrong_landing(&claims, &landed).map(str::to_owned)
            }
            MergedTree::AsMerged | MergedTree::Resolved => None,
            MergedTree::Other => Some("its tree is not what its parents give".to_owned()),
            MergedTree::Conflict(files) => Some(format!(
                "its tree is not what its parents give: they conflict in {}",
                first_files(&files)
            )),
        };
        if let Some(why) = why {
            return Ok(finding(commit, &claims, kind, &why));
        }
        let is_base_with_red = kind == AuditKind::Merge && landed.kind() == Some(AuditKind::Red);
        let test_commands = match kind {
            AuditKind::Landing if claims.test_commands.is_empty() => landed.test_commands,
            AuditKind::Landing => claims.test_commands.clone(),
            _ => Vec::new(),
        };
        Ok(Sorted::Merge(PastMerge {
            commit: commit.clone(),
            claims,
            test_commands,
            is_base_with_red,
        }))
    }
}

/// Why a merge can't be the landing of a commit.
fn wrong_landing(merge: &Claims, landed: &Claims) -> Option<&'static str> {
    if merge.phase.is_some() || merge.run.is_none() {
        return Some("its trailers are not those of a merge of tm's");
    }
    match landed.kind() {
        None => Some("what it lands is not the commit of a task"),
        Some(AuditKind::Red) => Some("it lands a RED without its GREEN"),
        Some(_) if landed.is_of_same_work(merge) => None,
        Some(_) => Some("what it lands is of another task, or of another run"),
    }
}

/// A commit of tm's of which its place in the history says everything: no test is run for it.
fn looked_at(
    commit: &PastCommit,
    claims: &Claims,
    kind: AuditKind,
    fault: Option<String>,
) -> Sorted {
    match fault {
        Some(why) => finding(commit, claims, kind, &why),
        None => found((commit, claims), kind, AuditOutcome::Shown, shown(kind)),
    }
}

fn uncovered(commit: &PastCommit, claims: &Claims, why: &str) -> Sorted {
    let why = format!("no proof covers it: {why}");
    finding(commit, claims, AuditKind::Uncovered, &why)
}

fn finding(commit: &PastCommit, claims: &Claims, kind: AuditKind, what: &str) -> Sorted {
    found((commit, claims), kind, AuditOutcome::NotShown, what)
}

/// What is said of what holds.
pub(super) const fn shown(kind: AuditKind) -> &'static str {
    match kind {
        AuditKind::Red => "its new tests fail for what is missing",
        AuditKind::Green => {
            "the tests of its RED are unchanged and pass, nothing that passed before fails"
        }
        AuditKind::Work => "nothing that passed before fails",
        AuditKind::Refactor => "no test is changed, nothing that passed before fails",
        AuditKind::Landing | AuditKind::Merge => {
            "its tree is what its parents give, and what passed alone passes merged"
        }
        AuditKind::TakenBack => "its tree is what taking back gives",
        AuditKind::Statuses => "it changes statuses of the backlog and nothing else",
        AuditKind::History | AuditKind::Uncovered => "nothing",
        AuditKind::Whole => {
            "nothing that passed at the beginning fails at the end, and no new test fails"
        }
    }
}
