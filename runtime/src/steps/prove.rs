//! Measures an attempt's work and has it judged.

use super::brief::{Brief, StepDone};
use super::prepare::{at_hand, lost};
use super::{blocking, words};
use crate::baseline::Baselines;
use std::sync::Arc;
use tm_executors::testing::{TestCommand, run_tests};
use tm_scheduler::verdict::{
    Change, ChangeKind, RedFacts, judge_green, judge_plain, judge_red, needs_rerun, test_files_of_red,
};
use tm_scheduler::{Answer, Failure, Phase, Proof, TestReport};
use tm_worktrees::{Change as GitChange, ChangedFile, Staged, Worktree};

pub(crate) async fn prove(brief: Brief, worktree: Option<Worktree>, baselines: Arc<Baselines>) -> StepDone {
    let worktree = match at_hand(&brief, worktree).await {
        Ok(worktree) => worktree,
        Err(answer) => return brief.done(answer, None),
    };
    let setup = Arc::clone(&brief.setup);
    let staged = tokio::task::spawn_blocking(move || {
        let staged = worktree.stage(&setup.never_commit);
        (worktree, staged)
    })
    .await;
    let (worktree, staged) = match staged {
        Ok((worktree, Ok(staged))) => (worktree, staged),
        Ok((worktree, Err(error))) => return brief.done(lost(&error), Some(worktree)),
        Err(error) => return brief.done(lost(&error), None),
    };
    match proof(&brief, &worktree, &staged, &baselines).await {
        Ok(proof) => brief.done(Answer::Proved(proof), Some(worktree)),
        Err(why) => brief.done(Answer::WorkLost(why), Some(worktree)),
    }
}

async fn proof(brief: &Brief, worktree: &Worktree, staged: &Staged, baselines: &Baselines) -> Result<Proof, String> {
    if !staged.changed_from_base {
        return Ok(refused(Failure::NothingDone, "nothing differs from what the attempt started from"));
    }
    let Some(command) = brief.test_command() else {
        let notes = vec!["no test command: that something changed is all that was proven".to_owned()];
        return Ok(Proof { notes, ..Proof::default() });
    };
    let tampered = tampered(brief, staged).await?;
    let base = baselines.at(worktree.base(), &command).await;
    let after = measure(brief, worktree, &command, "work").await?;
    let strictness = brief.setup.strictness;
    let proof = match brief.phase() {
        Phase::Red => judge_red(&base, &after, strictness),
        Phase::Green => {
            let (facts, tampered) = tampered;
            let rerun = rerun(brief, worktree, &command, &base, &after).await?;
            judge_green(&base, &after, rerun.as_ref(), &facts, &tampered, strictness)
        }
        Phase::None => {
            let rerun = rerun(brief, worktree, &command, &base, &after).await?;
            judge_plain(&base, &after, rerun.as_ref())
        }
    };
    if proof.holds() {
        baselines.remember(&staged.tree, &command, after);
    }
    Ok(proof)
}

async fn rerun(
    brief: &Brief,
    worktree: &Worktree,
    command: &TestCommand,
    base: &TestReport,
    after: &TestReport,
) -> Result<Option<TestReport>, String> {
    if needs_rerun(base, after) { measure(brief, worktree, command, "again").await.map(Some) } else { Ok(None) }
}

async fn measure(brief: &Brief, worktree: &Worktree, command: &TestCommand, name: &str) -> Result<TestReport, String> {
    let scratch = brief.directory.path().to_owned();
    let report = run_tests(command, worktree.path(), &scratch, name).await;
    tm_store::run::write_json(&brief.directory.tests(name), &report).map_err(|error| words(&error))?;
    Ok(report)
}

/// The tests that GREEN has to pass, and those of their files that are no longer RED's.
async fn tampered(brief: &Brief, staged: &Staged) -> Result<(RedFacts, Vec<String>), String> {
    let Some(red) = brief.red.clone() else {
        return Ok((RedFacts { new_tests: Vec::new(), test_files: Vec::new() }, Vec::new()));
    };
    let (repository, tree) = (brief.setup.repository.clone(), staged.tree.clone());
    let (of_red, since_red) = blocking(move || {
        let of_red = repository.changed_files(&red.base, &red.commit)?;
        let since_red = repository.changed_files_to_tree(&red.commit, &tree)?;
        Ok::<_, tm_worktrees::Error>((of_red, since_red))
    })
    .await?;
    let changes: Vec<Change> = of_red.iter().map(change).collect();
    let test_files = test_files_of_red(&changes);
    let tampered = since_red.into_iter().map(|change| change.path).filter(|path| test_files.contains(path)).collect();
    Ok((RedFacts { new_tests: red.tests, test_files }, tampered))
}

fn change(file: &ChangedFile) -> Change {
    let kind = match file.change {
        GitChange::Added => ChangeKind::Added,
        GitChange::Deleted => ChangeKind::Deleted,
        GitChange::Modified => ChangeKind::Modified,
    };
    Change { path: file.path.clone(), kind }
}

fn refused(failure: Failure, evidence: &str) -> Proof {
    Proof { failure: Some(failure), evidence: evidence.to_owned(), ..Proof::default() }
}
