//! Commits proven work on the task's branch, after the user's hooks have run on it in a checkout that no agent had.

use super::context::{Gated, StepContext};
use super::gates::{gate_phase, gated};
use super::history::{History, history};
use super::message::with_own_trailers;
use super::message::{Proven, REFACTOR, message};
use super::prove::work;
use crate::hooks::{HookRules, HookTrouble};
use crate::{StepError, briefly, describe, prove as prove_work};
use std::path::Path;
use std::time::Duration;
use tm_config::{CommitHooks, GatePhase};
use tm_executors::testing::tells_of_failing_tests;
use tm_scheduler::{Answer, CommitId, Phase, Proof, milliseconds};
use tm_worktrees::{Error, Hooked, HookedCommit, HookedWork, ObjectCheck, TreeId, Worktree};
use tokio::task::block_in_place;

/// A commit that the disk or a lock refused is tried again after these pauses; git is not told to, since a commit must
/// not be made twice.
const AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(450),
    Duration::from_secs(4),
];

pub(super) async fn commit(context: &StepContext, worktree: &Worktree) -> Answer {
    let Some(tree) = context.proof().and_then(|proof| proof.tree.clone()) else {
        return Answer::WorkLost("which tree was proven is not known any more".to_owned());
    };
    let proven = Proven {
        tree: TreeId::new(tree),
        phase: context.phase().as_str(),
    };
    let committed = match committed(context, worktree, proven, worktree.base()).await {
        Ok(committed) => committed,
        Err(trouble) => return trouble.answer(Answer::CommitRefused),
    };
    let mut proof = committed.proof;
    if let (Some(anew), Some(before)) = (&mut proof, context.proof()) {
        let used = milliseconds(context.turn().used());
        anew.tests_ms = before.tests_ms.map(|before| before + used);
    }
    if let Some(note) = committed.note {
        proof
            .get_or_insert_with(|| context.proof().cloned().unwrap_or_default())
            .notes
            .push(note);
    }
    Answer::Committed {
        commit: committed.commit,
        proof: proof.map(Box::new),
    }
}

/// A commit of proven work.
pub(super) struct Committed {
    pub(super) commit: CommitId,
    /// What was seen of its tree, where hooks made another one than had been proven.
    pub(super) proof: Option<Proof>,
    /// What became of the agent's own commits, where there is something to say.
    pub(super) note: Option<String>,
}

/// Commits the proven tree itself, by its id, on a commit, and puts the task's branch there. The agent's own commits
/// are a second parent, where they are kept.
///
/// The user's hooks are run on it in a checkout of that very tree; what they make of it is judged as any work.
pub(super) async fn committed(
    context: &StepContext,
    worktree: &Worktree,
    proven: Proven,
    on: &CommitId,
) -> Result<Committed, StepError> {
    let words = message(context, &proven, on)?;
    let mut hooked = hooked(context, worktree, &proven, (on, words)).await?;
    let proof = if hooked.tree == proven.tree {
        None
    } else {
        let proof = judged_anew(context, on, &hooked, proven.phase).await?;
        if !context.setup.parts.is_empty() {
            // What the hooks changed may lie in other parts, and then other commands have judged it.
            let proven = Proven {
                tree: hooked.tree.clone(),
                phase: proven.phase,
            };
            let words = message(context, &proven, on)?;
            hooked.message = with_own_trailers(&hooked.message, &words);
        }
        Some(proof)
    };
    let History { tip, note } = block_in_place(|| history(context, worktree, on))?;
    let parents: Vec<&CommitId> = std::iter::once(on).chain(&tip).collect();
    let mut pauses = AGAIN_AFTER.into_iter();
    let commit = loop {
        let commit = block_in_place(|| commit_now(context, worktree, &hooked, &parents));
        match commit {
            Ok(commit) => break commit,
            Err(error) => {
                let is_collected = error.is_of_collected_objects();
                let may_go_well = is_collected || error.is_of_surroundings();
                let Some(pause) = pauses.next().filter(|_| may_go_well) else {
                    return Err(refused(&error));
                };
                if is_collected {
                    block_in_place(|| context.repository().put_back_collected());
                }
                tokio::time::sleep(pause).await;
            }
        }
    };
    Ok(Committed {
        commit,
        proof,
        note,
    })
}

/// Judges what hooks made of the work.
async fn judged_anew(
    context: &StepContext,
    on: &CommitId,
    hooked: &Hooked,
    phase: &str,
) -> Result<Proof, StepError> {
    let work = work(context, on.clone(), hooked.tree.clone())?;
    let proof = prove_work(&work, context.result_cache()).await?;
    let gated_work = Gated {
        phase: if phase == REFACTOR {
            GatePhase::Refactor
        } else {
            gate_phase(context.phase())
        },
        before: std::slice::from_ref(on),
        tree: &hooked.tree,
    };
    let proof = gated(context, &gated_work, proof).await?;
    if proof.holds() {
        return Ok(proof);
    }
    Err(StepError::of_task(format!(
        "the project's commit hooks changed the work, and then it does not hold:\n{}",
        proof.evidence
    )))
}

fn commit_now(
    context: &StepContext,
    worktree: &Worktree,
    hooked: &Hooked,
    parents: &[&CommitId],
) -> Result<CommitId, Error> {
    let repository = context.repository();
    let commit = repository.commit_as_user(&hooked.tree, parents, &hooked.message)?;
    repository.assert_tree_of(&commit, &hooked.tree)?;
    worktree.put_branch_at(&commit, &context.salvage_name(context.attempt))?;
    // Another git may have collected what nothing held until now.
    repository.check_new_objects(&commit, parents[0], ObjectCheck::Names)?;
    Ok(commit)
}

/// Runs the user's hooks, where there are any.
async fn hooked(
    context: &StepContext,
    worktree: &Worktree,
    proven: &Proven,
    (on, message): (&CommitId, String),
) -> Result<Hooked, StepError> {
    let tree = &proven.tree;
    if !runs_hooks(context, proven.phase) {
        let tree = tree.clone();
        return Ok(Hooked { tree, message });
    }
    let commit = HookedCommit {
        work: HookedWork::Commit,
        branch: Some(worktree.branch()),
        on,
        merged: None,
        tree,
        message: &message,
        never_commit: &context.setup.never_commit,
    };
    let hooked = with_hooks(context, &commit, |error, place| {
        if proven.phase == Phase::Red.as_str() {
            refused_red(context, place, error)
        } else {
            refused(error)
        }
    })
    .await?;
    Ok(Hooked {
        message: with_own_trailers(&hooked.message, &message),
        ..hooked
    })
}

/// Whether there may be hooks, and the settings have them run for a commit of this phase.
fn runs_hooks(context: &StepContext, phase: &str) -> bool {
    let hooks = context.setup.settings.git.hooks;
    hooks != CommitHooks::Off
        && (hooks == CommitHooks::On || phase != Phase::Red.as_str())
        && context.repository().may_have_hooks(HookedWork::Commit)
}

/// A hook may run the tests, and those of a RED fail. Where it says so, no attempt of an agent mends that: the proven
/// tests stay to be committed until the setting is another one. Else who reads of it is told how to go on.
fn refused_red(context: &StepContext, place: &Path, error: &Error) -> StepError {
    let Error::HookRefused { hook, why, output } = error else {
        return refused(error);
    };
    let words = hook_words(hook, why, output);
    let is_of_tests =
        |proof: &Proof| tells_of_failing_tests(output, place, &proof.new, &proof.unloaded);
    if context.proof().is_some_and(is_of_tests) {
        let id = context.id();
        return StepError::of_surroundings(format!(
            "failed to commit the tests of `{id}`, which are proven: {words}\n\n{RED_AND_HOOKS} Then `tm waves run` goes \
             on, and no agent writes them again."
        ));
    }
    StepError::of_task(format!("{words}\n\n{RED_AND_HOOKS}"))
}

/// What to do where a hook refuses a RED.
const RED_AND_HOOKS: &str = "A RED can't pass a hook that runs the tests, since they have to fail: `git.hooks: commit` in \
 .taskmaster/tm.yaml runs the hooks for all commits but those of a RED, `git.hooks: off` for none.";

fn refused(error: &Error) -> StepError {
    StepError::of_task(match error {
        _ if error.is_of_surroundings() => return StepError::of(error),
        Error::CommitRefused { why, output } => format!("{why}\n{output}"),
        Error::HookRefused { hook, why, output } => hook_words(hook, why, output),
        other => describe(other),
    })
}

/// So much of what a hook printed is kept, its end.
const HOOK_BYTES: usize = 8 * 1024;

/// Has hooks run in a checkout of a commit's tree; `refused` says what it means that git or a hook refuses, in which folder.
pub(super) async fn with_hooks(
    context: &StepContext,
    commit: &HookedCommit<'_>,
    refused: impl FnOnce(&Error, &Path) -> StepError,
) -> Result<Hooked, StepError> {
    let to_test = briefly(|| context.repository().commit_to_test(commit.tree, commit.on))?;
    let (result_cache, scratch) = (context.result_cache(), context.directory.path());
    std::fs::create_dir_all(scratch)?;
    let rules = HookRules::of(&context.setup.settings);
    let hooked = result_cache.with_hooks(&to_test, (rules, scratch), |checkout, runner| {
        let hooked = checkout.run_hooks(commit, &mut |call| runner.run(call));
        hooked.map_err(|trouble| match trouble {
            HookTrouble::Git(error) => refused(&error, checkout.path()),
            other @ HookTrouble::NotRun(_) => other.into(),
        })
    });
    hooked.await
}

/// What a hook said, its point first.
pub(super) fn hook_words(hook: &str, why: &str, output: &str) -> String {
    let said = if why.is_empty() {
        " and says nothing"
    } else {
        ": "
    };
    let end = output.len().saturating_sub(HOOK_BYTES);
    let output = &output[output.ceil_char_boundary(end)..];
    format!("the hook `{hook}` refuses it{said}{why}\n{output}")
}
