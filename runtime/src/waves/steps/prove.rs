//! Has an attempt's work taken as a tree, measured and judged.

use super::context::{Gated, StepContext};
use super::gates::{gate_phase, gated};
use super::landed_fails::{FailsByNow, landed_below, why_nothing_lands};
use crate::{StepError, Work, briefly, describe, prove as prove_work};
use itertools::Itertools as _;
use std::fmt::Write as _;
use std::path::PathBuf;
use tm_scheduler::verdict::{Blame, blame};
use tm_scheduler::{Answer, CommitId, Failure, Proof, Reason, milliseconds};
use tm_worktrees::{Captured, Error, ObjectCheck, PathPatterns, TreeId, Worktree};

/// So often work is taken again whose objects were collected by another git before anything held them.
const TRIES: u32 = 5;

pub(super) async fn prove(context: &StepContext, worktree: &Worktree) -> Answer {
    let mut again = 0..TRIES;
    let mut taken = captured(context, worktree, Worktree::capture);
    loop {
        let (is_collected, answer) = match taken {
            Ok(captured) => match proof_of(context, worktree.base(), &captured.tree).await {
                Ok(mut proof) => {
                    proof.tests_ms = Some(milliseconds(context.turn().used()));
                    return Answer::Proved(with_left_out(proof, &captured));
                }
                Err(trouble) => (
                    trouble.is_of_collected_objects(),
                    trouble.answer(Answer::WorkLost),
                ),
            },
            Err(error) => (
                StepError::of(&error).is_of_collected_objects(),
                not_taken(&error),
            ),
        };
        if !is_collected || again.next().is_none() {
            return answer;
        }
        tokio::task::block_in_place(|| context.repository().put_back_collected());
        taken = captured(context, worktree, Worktree::capture_again);
    }
}

/// Takes the work as a tree, and makes sure that all of it is there, and what its names say.
fn captured(
    context: &StepContext,
    worktree: &Worktree,
    capture: fn(&Worktree, &PathPatterns) -> Result<Captured, Error>,
) -> Result<Captured, Error> {
    let setup = &context.setup;
    tokio::task::block_in_place(|| {
        let captured = capture(worktree, &setup.never_commit)?;
        let (tree, base) = (&captured.tree, &setup.header.base_commit);
        setup
            .repository
            .check_new_objects(tree, base, ObjectCheck::Names)?;
        Ok(captured)
    })
}

/// The looks at a base whose tests may fail now and then.
const BASE_NOW: [&str; 2] = ["base-now", "base-now-again"];
/// So many of the files that work touches are written down.
const MOST_TOUCHED: usize = 200;

/// Judges the work; first of all, where it is to resolve a conflict, whether it does that and nothing else.
async fn proof_of(
    context: &StepContext,
    base: &CommitId,
    tree: &TreeId,
) -> Result<Proof, StepError> {
    let repository = context.repository();
    let work = work(context, base.clone(), tree.clone())?;
    let fault = match context.mending(base)? {
        Some(mending) => briefly(|| mending.fault(repository, tree))?,
        None => None,
    };
    if let Some(fault) = fault {
        let why = format!("what was made of the conflict is no resolution of it: {fault}");
        let reason = Reason::ConflictNotResolved;
        return Ok(Proof::refused(Failure::Conflict, reason, why));
    }
    let proof = prove_work(&work, context.result_cache()).await?;
    assert_base_passes_still(context, &work, &proof).await?;
    let gated_work = Gated {
        phase: gate_phase(context.phase()),
        before: std::slice::from_ref(base),
        tree,
    };
    let mut proof = gated(context, &gated_work, proof).await?;
    proof.touched = briefly(|| repository.changed_between(base, tree))?;
    proof.touched.truncate(MOST_TOUCHED);
    Ok(proof)
}

/// Refuses to blame work for what its base, which passed before, fails by itself by now.
async fn assert_base_passes_still(
    context: &StepContext,
    work: &Work,
    proof: &Proof,
) -> Result<(), StepError> {
    let is_old = proof.is_of_old_tests();
    let is_of_tests = is_old
        || matches!(
            proof.reason,
            Some(Reason::ExitStatusOnly | Reason::CannotRun)
        );
    let Some(command) = work.command.as_ref().filter(|_| is_of_tests) else {
        return Ok(());
    };
    let (cache, repository) = (context.result_cache(), context.repository());
    let tip = context.integration_tip()?;
    let of_run = (&context.setup.header.base_commit, &tip);
    let Some(landed) = briefly(|| landed_below(repository, &work.base, of_run))? else {
        return Ok(());
    };
    let before = cache.at(&landed, command).await;
    // A RED may have brought tests that nobody else has.
    let mut proof = proof.clone();
    proof.regressions.retain(|test| before.passes(test));
    if is_old && proof.regressions.is_empty() || blame(&proof, &before) == Blame::Base {
        return Ok(());
    }
    for name in BASE_NOW {
        // What the work's own run said stands where this one says nothing.
        let Ok(now) = cache.measure(&landed, command, (&work.scratch, name)).await else {
            return Ok(());
        };
        let says_as_much = !is_old || now.could_be_run();
        if blame(&proof, &now) != Blame::Base || !says_as_much {
            return Ok(());
        }
    }
    let failing = FailsByNow {
        head: &landed,
        command,
        proof: &proof,
    };
    Err(why_nothing_lands(context, failing).await)
}

/// The answer where there is no tree of the work: the agent's to mend, or the surroundings'.
fn not_taken(error: &Error) -> Answer {
    if !error.is_of_work() {
        return StepError::of(error).answer(Answer::WorkLost);
    }
    let reason = match error {
        Error::NestedRepositories { .. } => Reason::NestedRepository,
        Error::GitFilesChanged { .. } | Error::NotOwn { .. } => Reason::GitFilesChanged,
        _ => Reason::WorkNotTaken,
    };
    let why = describe(error);
    Answer::Proved(Proof::refused(Failure::WorkRefused, reason, why))
}

/// Names what is not part of the work: to people where it holds, and to the next attempt where it does not.
fn with_left_out(mut proof: Proof, captured: &Captured) -> Proof {
    let never_committed = listed(&captured.never_committed);
    if !never_committed.is_empty() {
        let note = format!("changed, and never committed: {never_committed}");
        proof.notes.push(note);
    }
    let ignored = listed(&captured.ignored);
    if ignored.is_empty() {
        return proof;
    }
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
    paths.iter().map(|path| path.display()).join(", ")
}

/// The work of an attempt as it is judged.
pub(super) fn work(context: &StepContext, base: CommitId, tree: TreeId) -> Result<Work, StepError> {
    Ok(Work {
        phase: context.phase(),
        command: context.command_of_work(&base, &tree)?,
        base,
        tree,
        red: context.red.clone(),
        rules: context.setup.rules,
        scratch: context.directory.path().to_owned(),
    })
}
