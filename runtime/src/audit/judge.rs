//! Does the proof of one commit of a history again, with the judgement of a run.

use super::structure::{PastMerge, TaskWork, item, words_of};
use super::words::{
    KNOWN_TREE, NO_COMMAND, NOTHING_RUNS, last_words, listed, refusal, resolved, shown, with_notes,
};
use crate::proving::{TestResultCache, Work, prove, prove_same_behaviour, red_commit};
use crate::step_error::StepError;
use crate::waves::{Landed, judged_merge};
use std::path::PathBuf;
use std::sync::Arc;
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{Rules, judge_plain, needs_rerun};
use tm_scheduler::{
    AuditItem, AuditKind, AuditOutcome, CommitId, LoadCause, Phase, Proof, TestReport,
};
use tm_worktrees::MergePreview;

/// Tells whether a run of the tests has no result: no test was told of, and the command did not end well.
fn says_nothing(report: &TestReport) -> bool {
    report.tests.is_empty() && report.load_errors.is_empty() && !report.end.succeeded()
}

/// Who judges, and by what.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub(super) result_cache: Arc<TestResultCache>,
    /// All of the project's test commands.
    pub(super) command: Option<TestCommand>,
    pub(super) rules: Rules,
    pub(super) scratch: PathBuf,
}

/// What was judged: the commit, what it is compared with, and by which command.
struct Case<'a> {
    item: AuditItem,
    before: &'a CommitId,
    command: &'a TestCommand,
    /// What is said where it is shown.
    shown: &'static str,
}

impl Judge {
    /// Judges the work of a task.
    pub(super) async fn task(&self, work: &TaskWork) -> AuditItem {
        let item = item(&work.commit, &work.claims, work.kind);
        self.task_again(work, item.clone())
            .await
            .unwrap_or_else(|trouble| cannot_run(item, &trouble.to_string()))
    }

    /// Judges the merged tree as a landing does.
    pub(super) async fn merge(&self, merge: &PastMerge) -> AuditItem {
        let kind = if merge.claims.task.is_some() {
            AuditKind::Landing
        } else {
            AuditKind::Merge
        };
        let item = AuditItem {
            test_command: words_of(&merge.test_commands),
            ..item(&merge.commit, &merge.claims, kind)
        };
        self.merge_again(merge, item.clone())
            .await
            .unwrap_or_else(|trouble| cannot_run(item, &trouble.to_string()))
    }

    /// Judges a history as a whole, by all of the project's commands: whatever tasks had commands of their own.
    pub(super) async fn whole(&self, from: &CommitId, item: AuditItem) -> AuditItem {
        self.whole_again(from, item.clone())
            .await
            .unwrap_or_else(|trouble| cannot_run(item, &trouble.to_string()))
    }

    /// What does not hold is judged once more: a test may be flaky.
    async fn task_again(&self, work: &TaskWork, item: AuditItem) -> Result<AuditItem, StepError> {
        let Some(command) = self.command(&work.claims.test_commands) else {
            return Ok(cannot_run(item, NO_COMMAND));
        };
        let case = Case {
            item,
            before: &work.base,
            command: &command,
            shown: shown(work.kind),
        };
        let first = self.prove(work, &command).await?;
        let again = if first.holds() || self.cannot_run(&case, &first).await.is_some() {
            None
        } else {
            Some(self.prove(work, &command).await?)
        };
        Ok(self.judged(case, first, again).await)
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
            rules: self.rules,
            scratch: self.scratch.join(work.commit.id.as_str()),
        };
        if work.kind == AuditKind::Refactor {
            prove_same_behaviour(&again, &self.result_cache).await
        } else {
            prove(&again, &self.result_cache).await
        }
    }

    async fn merge_again(
        &self,
        merge: &PastMerge,
        item: AuditItem,
    ) -> Result<AuditItem, StepError> {
        if merge.is_base_with_red {
            let what =
                "its tree is what its parents give; the GREEN that begins there is judged with it"
                    .to_owned();
            return Ok(AuditItem {
                outcome: AuditOutcome::Shown,
                what,
                ..item
            });
        }
        let Some(command) = self.command(&merge.test_commands) else {
            return Ok(cannot_run(item, NO_COMMAND));
        };
        let [head, commit] = merge.commit.parents.as_slice() else {
            unreachable!("what is sorted as a merge has two parents")
        };
        let preview = MergePreview {
            tree: merge.commit.tree.clone(),
            head: head.clone(),
            commit: commit.clone(),
            resolution: merge.claims.resolution,
        };
        let landed = Landed {
            preview: &preview,
            merge: &merge.commit.id,
            command: &command,
        };
        let scratch = self.scratch.join(merge.commit.id.as_str());
        let first = judged_merge(landed, &scratch, &self.result_cache).await?;
        let shown = match (merge.claims.resolution, &first) {
            (Some(resolution), _) => resolved(resolution),
            (None, Some(_)) => shown(item.kind),
            (None, None) => KNOWN_TREE,
        };
        let case = Case {
            item,
            before: head,
            command: &command,
            shown,
        };
        let Some(first) = first else {
            return Ok(self.of_known_tree(case).await);
        };
        let again = if first.holds() || self.cannot_run(&case, &first).await.is_some() {
            None
        } else {
            judged_merge(landed, &scratch, &self.result_cache).await?
        };
        Ok(self.judged(case, first, again).await)
    }

    /// What holds of a merge whose very tree was judged before.
    async fn of_known_tree(&self, case: Case<'_>) -> AuditItem {
        let judged = self.judged(case, Proof::default(), None).await;
        AuditItem {
            proof: None,
            ..judged
        }
    }

    async fn whole_again(&self, from: &CommitId, item: AuditItem) -> Result<AuditItem, StepError> {
        let Some(command) = &self.command else {
            return Ok(cannot_run(item, NO_COMMAND));
        };
        let to = item.commit.clone();
        let (before, after) = (
            self.result_cache.at(from, command).await,
            self.result_cache.at(&to, command).await,
        );
        let judged = async |name: &str| {
            let again = if needs_rerun(&before, &after) {
                let scratch = self.scratch.join("whole");
                Some(
                    self.result_cache
                        .measure(&to, command, &scratch, name)
                        .await?,
                )
            } else {
                None
            };
            Ok::<_, StepError>(judge_plain(&before, &after, again.as_ref()))
        };
        let first = judged("again").await?;
        let case = Case {
            item,
            before: from,
            command,
            shown: shown(AuditKind::Whole),
        };
        let again = if first.holds() || self.cannot_run(&case, &first).await.is_some() {
            None
        } else {
            Some(judged("once-more").await?)
        };
        Ok(self.judged(case, first, again).await)
    }

    /// The commands that a commit names, as the settings have them where they know them; all of the project's where it
    /// names none.
    fn command(&self, named: &[String]) -> Option<TestCommand> {
        if named.is_empty() {
            return self.command.clone();
        }
        let known = self
            .command
            .as_ref()
            .map(TestCommand::each)
            .unwrap_or_default();
        let one = |text: &String| {
            let found = known
                .iter()
                .find(|known| known.to_string() == *text)
                .cloned();
            let new = || TestCommand::shell(text, self.command.as_ref());
            found.unwrap_or_else(|| {
                if named.len() > 1 {
                    new().with_label()
                } else {
                    new()
                }
            })
        };
        TestCommand::together(named.iter().map(one).collect())
    }

    /// Puts together what the first judgement says, and the second where there had to be one.
    async fn judged(&self, case: Case<'_>, first: Proof, again: Option<Proof>) -> AuditItem {
        let cannot = self.cannot_run(&case, &first).await;
        let Case { item, shown, .. } = case;
        if let Some(why) = cannot {
            return AuditItem {
                evidence: first.evidence.clone(),
                proof: Some(first),
                ..cannot_run(item, &why)
            };
        }
        let (outcome, what) = match (&first, &again) {
            (first, _) if first.holds() && first.flaky.is_empty() => {
                (AuditOutcome::Shown, with_notes(shown, first))
            }
            (first, _) if first.holds() => (
                AuditOutcome::Flaky,
                format!(
                    "{shown}, but these passed only when run again: {}",
                    listed(&first.flaky)
                ),
            ),
            (first, Some(again)) if again.holds() => (
                AuditOutcome::Flaky,
                format!("{shown}, but not at the first time: {}", refusal(first)),
            ),
            (first, _) => (AuditOutcome::NotShown, refusal(first)),
        };
        AuditItem {
            outcome,
            what,
            evidence: first.evidence.clone(),
            proof: Some(first),
            ..item
        }
    }

    /// Why nothing can be said, where nothing of the tests runs here or what was there before does not load.
    async fn cannot_run(&self, case: &Case<'_>, proof: &Proof) -> Option<String> {
        let before = self.result_cache.at(case.before, case.command).await;
        if !proof.holds()
            && let Some(error) = before
                .load_errors
                .iter()
                .find(|error| error.cause == LoadCause::Other)
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

fn cannot_run(item: AuditItem, why: &str) -> AuditItem {
    AuditItem {
        outcome: AuditOutcome::CannotRun,
        what: why.to_owned(),
        ..item
    }
}
