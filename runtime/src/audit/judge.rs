//! Does the proof of one commit of a history again, with the judgement of a run.

use super::AuditOrder;
use super::structure::{PastMerge, TaskWork, item, shown, words_of};
use crate::proving::prove_same_behaviour;
use crate::waves::{Landed, judged_merge};
use crate::{StepError, TestResultCache, Work, prove, red_commit};
use itertools::Itertools as _;
use std::sync::Arc;
use tm_executors::testing::TestCommand;
use tm_scheduler::merging::Resolution;
use tm_scheduler::verdict::{judge_plain, needs_rerun};
use tm_scheduler::{
    AuditItem, AuditKind, AuditOutcome, CommandEnd, CommitId, LoadCause, Phase, Proof, TestReport,
};
use tm_worktrees::MergePreview;

/// Tells whether a run of the tests has no result: what it wrote can't be read, or no test was told of and the command did not
/// end well.
fn says_nothing(report: &TestReport) -> bool {
    let is_empty = report.tests.is_empty() && report.load_errors.is_empty();
    !report.could_be_run() || is_empty && !report.end.succeeded()
}

/// Who judges, and by what.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub(super) order: AuditOrder,
    pub(super) result_cache: Arc<TestResultCache>,
}

/// What is judged.
enum Subject<'a> {
    Task(&'a TaskWork),
    Merge(MergePreview),
    /// A history as a whole.
    Whole,
}

/// A commit that is judged: what it is compared with, and by which command.
struct Case<'a> {
    item: AuditItem,
    subject: Subject<'a>,
    before: &'a CommitId,
    command: &'a TestCommand,
    /// What is said where it is shown.
    shown: &'static str,
}

impl Judge {
    /// Judges the work of a task.
    pub(super) async fn task(&self, work: &TaskWork) -> AuditItem {
        let item = item(&work.commit, &work.claims, work.kind);
        let Some(command) = self.command(&work.claims.test_commands) else {
            return cannot_run(item, NO_COMMAND);
        };
        let case = Case {
            item,
            subject: Subject::Task(work),
            before: &work.base,
            command: &command,
            shown: shown(work.kind),
        };
        self.shown(case).await
    }

    /// Judges the merged tree as a landing does.
    pub(super) async fn merge(&self, merge: &PastMerge) -> AuditItem {
        let item = AuditItem {
            test_command: words_of(&merge.test_commands),
            ..item(&merge.commit, &merge.claims, merge.kind())
        };
        if merge.is_base_with_red {
            return AuditItem {
                outcome: AuditOutcome::Shown,
                what: BASE_WITH_RED.to_owned(),
                ..item
            };
        }
        let Some(command) = self.command(&merge.test_commands) else {
            return cannot_run(item, NO_COMMAND);
        };
        let [head, commit] = merge.commit.parents.as_slice() else {
            unreachable!("what is sorted as a merge has two parents")
        };
        let resolution = merge.claims.resolution;
        let case = Case {
            item,
            subject: Subject::Merge(MergePreview {
                tree: merge.commit.tree.clone(),
                head: head.clone(),
                commit: commit.clone(),
                resolution,
            }),
            before: head,
            command: &command,
            shown: resolution.map_or_else(|| shown(merge.kind()), resolved),
        };
        self.shown(case).await
    }

    /// Judges a history as a whole, by all of the project's commands: whatever tasks had commands of their own.
    pub(super) async fn whole(&self, from: &CommitId, item: AuditItem) -> AuditItem {
        let Some(command) = &self.order.command else {
            return cannot_run(item, NO_COMMAND);
        };
        self.shown(Case {
            item,
            subject: Subject::Whole,
            before: from,
            command,
            shown: shown(AuditKind::Whole),
        })
        .await
    }

    async fn shown(&self, case: Case<'_>) -> AuditItem {
        let item = case.item.clone();
        let judged = self.judged(case).await;
        judged.unwrap_or_else(|trouble| cannot_run(item, &trouble.to_string()))
    }

    /// What does not hold is judged once more: a test may be flaky.
    async fn judged(&self, mut case: Case<'_>) -> Result<AuditItem, StepError> {
        let found = self.proof(&case, "again").await?;
        let is_known_tree = found.is_none();
        if let (true, Subject::Merge(merge)) = (is_known_tree, &case.subject)
            && merge.resolution.is_none()
        {
            case.shown = KNOWN_TREE;
        }
        let first = found.unwrap_or_default();
        if let Some(why) = self.cannot_run(&case, &first).await {
            return Ok(AuditItem {
                evidence: first.evidence.clone(),
                proof: Some(first).filter(|_| !is_known_tree),
                ..cannot_run(case.item, &why)
            });
        }
        let again = if first.holds() {
            None
        } else {
            self.proof(&case, "once-more").await?
        };
        let (outcome, what) = verdict(case.shown, &first, again.as_ref());
        Ok(AuditItem {
            outcome,
            what,
            evidence: first.evidence.clone(),
            proof: Some(first).filter(|_| !is_known_tree),
            ..case.item
        })
    }

    /// Does the proof again; `None` of a merge whose very tree was judged before, and held.
    async fn proof(&self, case: &Case<'_>, name: &str) -> Result<Option<Proof>, StepError> {
        let (commit, command) = (&case.item.commit, case.command);
        let scratch = self.order.scratch.join(commit.as_str());
        match &case.subject {
            Subject::Task(work) => self.prove(work, command).await.map(Some),
            Subject::Merge(preview) => {
                let landed = Landed {
                    preview,
                    merge: commit,
                    command,
                    ahead: None,
                };
                let judged = judged_merge(landed, &scratch, &self.result_cache).await?;
                Ok(judged.map(|(proof, _)| proof))
            }
            Subject::Whole => {
                let before = self.result_cache.at(case.before, command).await;
                let after = self.result_cache.at(commit, command).await;
                let mut again = None;
                if needs_rerun(&before, &after) {
                    let scratch = self.order.scratch.join("whole");
                    let measured = self.result_cache.measure(commit, command, (&scratch, name));
                    again = Some(measured.await?);
                }
                Ok(Some(judge_plain(&before, &after, again.as_ref())))
            }
        }
    }

    async fn prove(&self, work: &TaskWork, command: &TestCommand) -> Result<Proof, StepError> {
        let red = match &work.red {
            Some(red) => Some(red_commit(red, command, &self.result_cache).await?),
            None => None,
        };
        let phase = match work.kind {
            AuditKind::Red => Phase::Red,
            AuditKind::Green | AuditKind::Refactor => Phase::Green,
            AuditKind::Work
            | AuditKind::History
            | AuditKind::Landing
            | AuditKind::Merge
            | AuditKind::TakenBack
            | AuditKind::Statuses
            | AuditKind::Uncovered
            | AuditKind::Whole => Phase::None,
        };
        let again = Work {
            phase,
            base: work.base.clone(),
            tree: work.commit.tree.clone(),
            red,
            command: Some(command.clone()),
            rules: self.order.rules,
            scratch: self.order.scratch.join(work.commit.id.as_str()),
        };
        if work.kind == AuditKind::Refactor {
            prove_same_behaviour(&again, &self.result_cache).await
        } else {
            prove(&again, &self.result_cache).await
        }
    }

    /// The commands that a commit names, as the settings have them where they know them; all of the project's where it
    /// names none.
    fn command(&self, named: &[String]) -> Option<TestCommand> {
        if named.is_empty() {
            return self.order.command.clone();
        }
        let of_project = self.order.command.as_ref();
        let known = of_project.map(TestCommand::each);
        let known = known.unwrap_or_default();
        let new = |text: &String| {
            let new = TestCommand::shell(text, of_project);
            if named.len() > 1 {
                new.with_label()
            } else {
                new
            }
        };
        let one = |text: &String| {
            let found = known.iter().find(|known| known.to_string() == *text);
            found.cloned().unwrap_or_else(|| new(text))
        };
        TestCommand::together(named.iter().map(one).collect())
    }

    /// Why nothing can be said, where nothing of the tests runs here or what was there before does not load.
    async fn cannot_run(&self, case: &Case<'_>, proof: &Proof) -> Option<String> {
        let before = self.result_cache.at(case.before, case.command).await;
        let mut errors = before.load_errors.iter();
        if !proof.holds()
            && let Some(error) = errors.find(|error| error.cause == LoadCause::Other)
        {
            let words = error.text.lines().next().unwrap_or_default();
            return Some(format!("{NOTHING_RUNS}: {words}"));
        }
        if !says_nothing(&before) {
            return None;
        }
        let after = self.result_cache.at(&case.item.commit, case.command).await;
        says_nothing(&after).then(|| format!("{NOTHING_RUNS}{}", last_words(&after)))
    }
}

/// Puts together what the first judgement says, and the second where there had to be one.
fn verdict(shown: &str, first: &Proof, again: Option<&Proof>) -> (AuditOutcome, String) {
    if first.holds() && first.flaky.is_empty() {
        return (AuditOutcome::Shown, with_notes(shown, first));
    }
    if first.holds() {
        let flaky = listed(&first.flaky);
        let what = format!("{shown}, but these passed only when run again: {flaky}");
        return (AuditOutcome::Flaky, what);
    }
    let refusal = refusal(first);
    if again.is_some_and(Proof::holds) {
        let what = format!("{shown}, but not at the first time: {refusal}");
        return (AuditOutcome::Flaky, what);
    }
    (AuditOutcome::NotShown, refusal)
}

fn cannot_run(item: AuditItem, why: &str) -> AuditItem {
    AuditItem {
        outcome: AuditOutcome::CannotRun,
        what: why.to_owned(),
        ..item
    }
}

/// What is wanting where there is no test command.
const NO_COMMAND: &str =
    "there is no test command, and none was found: set `test.command`, or pass `--test-command`";
/// What is wanting where nothing runs.
const NOTHING_RUNS: &str = "the tests can't be run in a clean checkout here, before it neither: install what they need, \
                            or name another command with `--test-command`";
/// What is said of a merge that brings a RED to where its GREEN begins.
const BASE_WITH_RED: &str =
    "its tree is what its parents give; the GREEN that begins there is judged with it";
/// What is said of a merge whose very tree was judged before.
const KNOWN_TREE: &str = "its tree is what its parents give, and was shown before";

fn last_words(report: &TestReport) -> String {
    let mut lines = report.output_tail.lines().rev().map(str::trim);
    let last = match &report.end {
        CommandEnd::NotStarted(why) => Some(why.as_str()),
        _ => lines.find(|line| !line.is_empty()),
    };
    last.map_or_else(String::new, |line| format!(": {line}"))
}

/// What is said of a merge whose parents conflict in lines.
const fn resolved(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Union => {
            "its tree is what its parents give with the added lines of both, and what passed alone passes merged"
        }
        Resolution::LockFile => {
            "its tree is what its parents give but for lock files in conflict, and what passed alone passes merged"
        }
        Resolution::Driver | Resolution::Agent => {
            "its tree is what its parents give but for files in conflict, and what passed alone passes merged"
        }
    }
}

fn with_notes(shown: &str, proof: &Proof) -> String {
    let waived = proof.waived.iter();
    let waived = waived.map(|reason| format!("waived: {reason}"));
    let notes = waived.chain(proof.notes.iter().cloned());
    [shown.to_owned()].into_iter().chain(notes).join("; ")
}

fn refusal(proof: &Proof) -> String {
    let why = proof.evidence.lines().next().unwrap_or_default();
    let why = why.trim_end_matches(':');
    let reason = proof.reason.map(|reason| format!("{reason}: "));
    let of_old = match proof.regressions.as_slice() {
        [] => String::new(),
        names => format!(" ({})", listed(names)),
    };
    format!("{}{why}{of_old}", reason.unwrap_or_default())
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 3;
    let first = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
