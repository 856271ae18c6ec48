//! Has an attempt's work taken as a tree, measured and judged.

use super::context::{StepContext, StepDone};
use super::gates::{Gated, gate_phase, gated};
use super::prepare::{lost, worktree_or_lost};
use super::{blocking, describe};
use crate::proving::{TestResultCache, Work, prove as prove_work};
use crate::step_error::StepError;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_scheduler::{Answer, CommitId, Failure, Proof, Reason};
use tm_worktrees::{Captured, Error, ObjectCheck, TreeId, Worktree};

pub(crate) async fn prove(
    context: StepContext,
    worktree: Option<Worktree>,
    result_cache: Arc<TestResultCache>,
) -> StepDone {
    let worktree = match worktree_or_lost(&context, worktree).await {
        Ok(worktree) => worktree,
        Err(answer) => return context.done(answer, None),
    };
    let setup = Arc::clone(&context.setup);
    let captured = tokio::task::spawn_blocking(move || {
        let captured = worktree.capture(&setup.never_commit).and_then(|captured| {
            setup.repository.check_new_objects(
                &captured.tree,
                &setup.header.base_commit,
                ObjectCheck::Names,
            )?;
            Ok(captured)
        });
        (worktree, captured)
    })
    .await;
    let (worktree, captured) = match captured {
        Ok((worktree, Ok(captured))) => (worktree, captured),
        Ok((worktree, Err(error))) => return context.done(not_taken(&error), Some(worktree)),
        Err(error) => return context.done(lost(&error), None),
    };
    let proof = match work(&context, worktree.base().clone(), captured.tree.clone()).await {
        Ok(work) => proof_of(&context, &work, &result_cache).await,
        Err(trouble) => Err(trouble),
    };
    match proof {
        Ok(proof) => context.done(
            Answer::Proved(with_left_out(proof, &captured)),
            Some(worktree),
        ),
        Err(trouble) => context.done(trouble.answer(Answer::WorkLost), Some(worktree)),
    }
}

/// So many of the files that work touches are written down.
const MOST_TOUCHED: usize = 200;

/// Judges the work; first of all, where it is to resolve a conflict, whether it does that and nothing else.
async fn proof_of(
    context: &StepContext,
    work: &Work,
    result_cache: &TestResultCache,
) -> Result<Proof, StepError> {
    let (inner, base, tree) = (context.clone(), work.base.clone(), work.tree.clone());
    let fault = blocking(move || match inner.mending(&base)? {
        Some(mending) => mending.fault(&inner.setup.repository, &tree),
        None => Ok::<_, Error>(None),
    })
    .await?;
    if let Some(fault) = fault {
        let why = format!("what was made of the conflict is no resolution of it: {fault}");
        return Ok(Proof::refused(
            Failure::Conflict,
            Reason::ConflictNotResolved,
            why,
        ));
    }
    let proof = prove_work(work, result_cache).await?;
    let before = [work.base.clone()];
    let gated_work = Gated {
        phase: gate_phase(context.phase()),
        before: &before,
        tree: &work.tree,
    };
    let mut proof = gated(context, &gated_work, proof, result_cache).await?;
    let (repository, base, tree) = (
        context.setup.repository.clone(),
        work.base.clone(),
        work.tree.clone(),
    );
    let changed = blocking(move || repository.changed_files(&base, &tree)).await?;
    proof.touched = changed
        .into_iter()
        .map(|file| file.path)
        .take(MOST_TOUCHED)
        .collect();
    Ok(proof)
}

/// The answer where there is no tree of the work: the agent's to mend, or the surroundings'.
fn not_taken(error: &Error) -> Answer {
    if !error.is_of_work() {
        return lost(error);
    }
    let reason = match error {
        Error::NestedRepositories { .. } => Reason::NestedRepository,
        Error::GitFilesChanged { .. } | Error::NotOwn { .. } => Reason::GitFilesChanged,
        _ => Reason::WorkNotTaken,
    };
    Answer::Proved(Proof::refused(
        Failure::WorkRefused,
        reason,
        describe(error),
    ))
}

/// Names what is not part of the work: to people where it holds, and to the next attempt where it does not.
fn with_left_out(mut proof: Proof, captured: &Captured) -> Proof {
    if !captured.never_committed.is_empty() {
        proof.notes.push(format!(
            "changed, and never committed: {}",
            listed(&captured.never_committed)
        ));
    }
    if captured.ignored.is_empty() {
        return proof;
    }
    let ignored = listed(&captured.ignored);
    if !proof.holds() {
        let _ = write!(
            proof.evidence,
            "\n\nNot part of the work, because the project's ignore rules (`.gitignore`) leave it out: {ignored}. Nobody \
             who clones the project has it, and neither has whoever runs its tests. Where it belongs to the work, put \
             it elsewhere, take it out of the ignore rules, or add it with `git add --force`.",
        );
    }
    proof
        .notes
        .push(format!("left out, because it is ignored: {ignored}"));
    proof
}

fn listed(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| Path::display(path).to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The work of an attempt as it is judged.
pub(super) async fn work(
    context: &StepContext,
    base: CommitId,
    tree: TreeId,
) -> Result<Work, StepError> {
    let (inner, on, of) = (context.clone(), base.clone(), tree.clone());
    let command = blocking(move || inner.command_of_work(&on, &of)).await?;
    Ok(Work {
        phase: context.phase(),
        base,
        tree,
        red: context.red.clone(),
        command,
        rules: context.setup.rules,
        scratch: context.directory.path().to_owned(),
    })
}
