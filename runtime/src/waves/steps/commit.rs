//! Commits proven work on the task's branch.

use super::context::{StepContext, StepDone};
use super::gates::{Gated, gate_phase, gated};
use super::history::{History, history};
use super::message::{REFACTOR, message};
use super::prepare::worktree_or_lost;
use super::prove::work;
use super::trailers::with_own_trailers;
use super::{blocking, describe};
use crate::proving::{TestResultCache, prove as prove_work};
use crate::step_error::StepError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tm_config::{CommitHooks, GatePhase};
use tm_executors::testing::tells_of_failing_tests;
use tm_scheduler::{Answer, CommitId, Phase, Proof};
use tm_worktrees::{Error, Hooked, HookedWork, TreeId, Worktree};

/// A commit that the disk or a lock refused is tried again after these pauses; git is not told to, since a commit must
/// not be made twice.
const AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(450),
    Duration::from_secs(4),
];

pub(crate) async fn commit(
    context: StepContext,
    worktree: Option<Worktree>,
    result_cache: Arc<TestResultCache>,
) -> StepDone {
    let worktree = match worktree_or_lost(&context, worktree).await {
        Ok(worktree) => worktree,
        Err(answer) => return context.done(answer, None),
    };
    let tree = context.proof().and_then(|proof| proof.tree.clone());
    let Some(tree) = tree else {
        let why = "which tree was proven is not known any more".to_owned();
        return context.done(Answer::WorkLost(why), Some(worktree));
    };
    let proven = Proven {
        tree: TreeId::new(tree),
        phase: context.phase().as_str(),
    };
    let answer = match committed(&context, &worktree, proven, worktree.base(), &result_cache).await
    {
        Ok(Committed {
            commit,
            mut proof,
            note,
        }) => {
            if let Some(note) = note {
                proof
                    .get_or_insert_with(|| context.proof().cloned().unwrap_or_default())
                    .notes
                    .push(note);
            }
            let proof = proof.map(Box::new);
            Answer::Committed { commit, proof }
        }
        Err(NotCommitted::Refused(why)) => Answer::CommitRefused(why),
        Err(NotCommitted::StepError(trouble)) => trouble.answer(Answer::CommitRefused),
    };
    context.done(answer, Some(worktree))
}

/// What is to be committed.
pub(super) struct Proven {
    pub(super) tree: TreeId,
    pub(super) phase: &'static str,
}

/// A commit of proven work.
pub(super) struct Committed {
    pub(super) commit: CommitId,
    /// What was seen of its tree, where hooks made another one than had been proven.
    pub(super) proof: Option<Proof>,
    /// What became of the agent's own commits, where there is something to say.
    pub(super) note: Option<String>,
}

/// Why there is no commit.
pub(super) enum NotCommitted {
    /// A hook refused, or what the hooks made does not hold.
    Refused(String),
    StepError(StepError),
}

impl From<StepError> for NotCommitted {
    fn from(trouble: StepError) -> Self {
        Self::StepError(trouble)
    }
}

impl From<NotCommitted> for String {
    fn from(error: NotCommitted) -> Self {
        match error {
            NotCommitted::Refused(why) => why,
            NotCommitted::StepError(trouble) => trouble.into(),
        }
    }
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
    result_cache: &TestResultCache,
) -> Result<Committed, NotCommitted> {
    let words = message(context, &proven, on).await?;
    let mut hooked = hooked(context, worktree, &proven, on, words, result_cache).await?;
    let proof = if hooked.tree == proven.tree {
        None
    } else {
        let work = work(context, on.clone(), hooked.tree.clone()).await?;
        let proof = prove_work(&work, result_cache).await?;
        let phase = if proven.phase == REFACTOR {
            GatePhase::Refactor
        } else {
            gate_phase(context.phase())
        };
        let before = [on.clone()];
        let gated_work = Gated {
            phase,
            before: &before,
            tree: &hooked.tree,
        };
        let proof = gated(context, &gated_work, proof, result_cache).await?;
        if !proof.holds() {
            let why = format!(
                "the project's commit hooks changed the work, and then it does not hold:\n{}",
                proof.evidence
            );
            return Err(NotCommitted::Refused(why));
        }
        if !context.setup.parts.is_empty() {
            // What the hooks changed may lie in other parts, and then other commands have judged it.
            let proven = Proven {
                tree: hooked.tree.clone(),
                phase: proven.phase,
            };
            let words = message(context, &proven, on).await?;
            hooked.message = with_own_trailers(&hooked.message, &words);
        }
        Some(proof)
    };
    let History { tip, note } = tokio::task::block_in_place(|| history(context, worktree, on))?;
    let parents: Vec<&CommitId> = std::iter::once(on).chain(&tip).collect();
    for pause in AGAIN_AFTER.into_iter().map(Some).chain([None]) {
        match (
            tokio::task::block_in_place(|| commit_now(context, worktree, &hooked, &parents)),
            pause,
        ) {
            (Ok(commit), _) => {
                return Ok(Committed {
                    commit,
                    proof,
                    note,
                });
            }
            (Err(error), Some(pause)) if error.is_of_surroundings() => {
                tokio::time::sleep(pause).await;
            }
            (Err(error), _) => return Err(refused(error)),
        }
    }
    unreachable!("the last round returns")
}

fn commit_now(
    context: &StepContext,
    worktree: &Worktree,
    hooked: &Hooked,
    parents: &[&CommitId],
) -> Result<CommitId, Error> {
    let repository = &context.setup.repository;
    let commit = repository.commit_as_user(&hooked.tree, parents, &hooked.message)?;
    repository.assert_tree_of(&commit, &hooked.tree)?;
    worktree.put_branch_at(&commit, &context.salvage_name(context.attempt))?;
    Ok(commit)
}

/// Runs the user's hooks, where there are any, in a checkout that no agent had.
async fn hooked(
    context: &StepContext,
    worktree: &Worktree,
    proven: &Proven,
    on: &CommitId,
    message: String,
    result_cache: &TestResultCache,
) -> Result<Hooked, NotCommitted> {
    let unchanged = Hooked {
        tree: proven.tree.clone(),
        message,
    };
    let is_red = proven.phase == Phase::Red.as_str();
    if !runs_hooks(context, is_red) || !context.setup.repository.may_have_hooks(HookedWork::Commit)
    {
        return Ok(unchanged);
    }
    let (repository, tree, parent) = (
        context.setup.repository.clone(),
        proven.tree.clone(),
        on.clone(),
    );
    let commit = blocking(move || repository.commit_to_test(&tree, &parent)).await?;
    let mut checkout = result_cache
        .check_out(&commit)
        .await
        .map_err(StepError::from)?;
    let (name, value) = checkout.commit_mark();
    // Where tm is killed in the middle, neither may go on beside the same commit of the next tm.
    let _while_hooks_run = context
        .setup
        .executor
        .record(&[(name.to_owned(), value)])
        .map_err(StepError::from)?;
    let hooked = tokio::task::block_in_place(|| {
        checkout.run_commit_hooks(worktree.branch(), &unchanged.tree, &unchanged.message)
    });
    let place = checkout.path();
    let hooked = hooked.map_err(|error| {
        if is_red {
            refused_red(context, place, error)
        } else {
            refused(error)
        }
    });
    drop(checkout);
    let hooked = hooked?;
    Ok(Hooked {
        message: with_own_trailers(&hooked.message, &unchanged.message),
        ..hooked
    })
}

/// Whether the settings have hooks run for a commit.
fn runs_hooks(context: &StepContext, is_red: bool) -> bool {
    match context.setup.settings.git.hooks {
        CommitHooks::On => true,
        CommitHooks::Commit => !is_red,
        CommitHooks::Off => false,
    }
}

/// A hook may run the tests, and those of a RED fail. Where it says so, no attempt of an agent mends that: the proven
/// tests stay to be committed until the setting is another one. Else who reads of it is told how to go on.
fn refused_red(context: &StepContext, place: &Path, error: Error) -> NotCommitted {
    if let Error::HookRefused { hook, why, output } = &error
        && let Some(proof) = context.proof()
        && tells_of_failing_tests(output, place, &proof.new, &proof.unloaded)
    {
        let id = context.id();
        return NotCommitted::StepError(StepError::of_surroundings(format!(
            "failed to commit the tests of `{id}`, which are proven: {}\n\n{RED_AND_HOOKS} Then `tm waves run` goes on, \
             and no agent writes them again.",
            hook_words(hook, why, output)
        )));
    }
    let is_of_hook = matches!(error, Error::HookRefused { .. });
    match refused(error) {
        NotCommitted::Refused(why) if is_of_hook => {
            NotCommitted::Refused(format!("{why}\n\n{RED_AND_HOOKS}"))
        }
        other => other,
    }
}

/// What to do where a hook refuses a RED.
const RED_AND_HOOKS: &str = "A RED can't pass a hook that runs the tests, since they have to fail: `git.hooks: commit` in \
     .taskmaster/tm.yaml runs the hooks for all commits but those of a RED, `git.hooks: off` for none.";

fn refused(error: Error) -> NotCommitted {
    if error.is_of_surroundings() {
        return NotCommitted::StepError(StepError::of(&error));
    }
    match error {
        Error::CommitRefused { why, output } => NotCommitted::Refused(format!("{why}\n{output}")),
        Error::HookRefused { hook, why, output } => {
            NotCommitted::Refused(hook_words(hook, &why, &output))
        }
        other => NotCommitted::Refused(describe(&other)),
    }
}

/// What a hook said, its point first.
pub(super) fn hook_words(hook: &str, why: &str, output: &str) -> String {
    let point = if why.is_empty() {
        "and says nothing".to_owned()
    } else {
        format!(": {why}")
    };
    let sentence = format!(
        "the hook `{hook}` refuses it{}{point}",
        if why.is_empty() { " " } else { "" }
    );
    let end = output.len().saturating_sub(HOOK_BYTES);
    format!("{sentence}\n{}", &output[output.ceil_char_boundary(end)..])
}

/// So much of what a hook printed is kept, its end.
const HOOK_BYTES: usize = 8 * 1024;
