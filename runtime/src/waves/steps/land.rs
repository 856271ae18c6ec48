//! Lands proven work: merges without a checkout, has the hooks run that git runs on merges, tests the merged tree, moves
//! the integration branch.

use super::ahead::{LANDING, TestedAhead};
use super::commit::{hook_words, with_hooks};
use super::context::{Gated, StepContext};
use super::gates::gated;
use super::landed_fails::{FailsByNow, why_nothing_lands};
use super::message::with_own_trailers;
use crate::waves::attestation::attest;
use crate::waves::looking_ahead::landed_tasks;
use crate::waves::mending::mending;
use crate::waves::resolving::{NotResolved, Rung, climb};
use crate::waves::step_message::StepDone;
use crate::{StepError, TestResultCache, briefly};
use std::path::Path;
use tm_config::{CommitHooks, GatePhase};
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{Blame, blame, judge_landing, needs_rerun};
use tm_scheduler::{Answer, CommitId, LandingRefusal, Proof, TaskId, TestReport, one_line};
use tm_worktrees::{Conflict, Error, HookedCommit, HookedWork, Landing, MergePreview};

/// The integration branch is moved by tm alone, but for what a user does by hand, and few merges are collected by another
/// git before anything holds them; so few tries are enough.
const TRIES: u32 = 10;

/// A merged tree that fails is tested again, and what it lands on as well, where that says nothing of the work so often.
const ROUNDS: u32 = 2;

pub(crate) async fn land(
    mut context: StepContext,
    commit: CommitId,
    mut ahead: Option<TestedAhead>,
) -> StepDone {
    context.lands();
    for _ in 0..TRIES {
        let answer = match try_to_land(&context, &commit, &mut ahead).await {
            Ok(Some(answer)) => answer,
            Ok(None) => continue,
            Err(trouble) if trouble.is_of_collected_objects() => {
                tokio::task::block_in_place(|| context.repository().put_back_collected());
                continue;
            }
            Err(trouble) => trouble.answer(failed),
        };
        return context.done(answer, None);
    }
    let why = format!(
        "`{}` is moved by somebody else, or its merges are collected, again and again",
        context.setup.header.integration_branch
    );
    context.done(failed(why), None)
}

const fn failed(why: String) -> Answer {
    Answer::LandingRefused(LandingRefusal::Failed(why))
}

/// Returns no answer where somebody moved the integration branch meanwhile.
async fn try_to_land(
    context: &StepContext,
    commit: &CommitId,
    ahead: &mut Option<TestedAhead>,
) -> Result<Option<Answer>, StepError> {
    context.assert_proven(commit)?;
    let head = context.integration_tip()?;
    match briefly(|| context.repository().land(&head, commit))? {
        Landing::AlreadyLanded => Ok(Some(Answer::Landed {
            commit: head,
            resolution: None,
        })),
        Landing::Conflict(conflict) => {
            resolved_or_refused(context, (&head, commit), &conflict, ahead).await
        }
        Landing::Clean(preview) => match proven_and_landed(context, &preview, ahead).await? {
            Merged::Landed(commit) => Ok(Some(Answer::Landed {
                commit,
                resolution: None,
            })),
            Merged::Moved => Ok(None),
            Merged::Worse(proof) => {
                let with = landed_since(context, (&head, commit), &[]);
                let refusal = LandingRefusal::Regression { proof, with };
                Ok(Some(Answer::LandingRefused(refusal)))
            }
        },
    }
}

/// What came of a merge that was tested.
enum Merged {
    Landed(CommitId),
    /// Somebody moved the integration branch meanwhile.
    Moved,
    /// It is worse than what it merges.
    Worse(Box<Proof>),
}

/// Goes from one way of dealing with the conflict to the next until one holds.
async fn resolved_or_refused(
    context: &StepContext,
    (head, commit): (&CommitId, &CommitId),
    conflict: &Conflict,
    ahead: &mut Option<TestedAhead>,
) -> Result<Option<Answer>, StepError> {
    let mut tried = Vec::new();
    for rung in Rung::ALL {
        let (tree, how) = match climb(context, conflict, rung).await {
            Ok(Some(resolved)) => resolved,
            Ok(None) => continue,
            Err(NotResolved::Undone(trouble)) => return Err(trouble),
            Err(why) => {
                tried.push(why.to_string());
                continue;
            }
        };
        let preview = MergePreview {
            tree,
            head: head.clone(),
            commit: commit.clone(),
            resolution: Some(how),
        };
        match proven_and_landed(context, &preview, ahead).await? {
            Merged::Landed(commit) => {
                let resolution = Some(how);
                return Ok(Some(Answer::Landed { commit, resolution }));
            }
            Merged::Moved => return Ok(None),
            Merged::Worse(proof) => {
                let why = proof.evidence.lines().next().unwrap_or_default();
                tried.push(format!(
                    "{}, the merged tree is worse: {}",
                    rung.describe(),
                    why.trim_end_matches(':')
                ));
            }
        }
    }
    let mendable = briefly(|| mending(context.repository(), conflict))?.is_some();
    let files = conflict.files.clone();
    Ok(Some(Answer::LandingRefused(LandingRefusal::Conflict {
        with: landed_since(context, (head, commit), &files),
        files,
        mendable,
        tried,
    })))
}

/// Tests a merge, and moves the integration branch there where nothing is wrong with it.
async fn proven_and_landed(
    context: &StepContext,
    preview: &MergePreview,
    ahead: &mut Option<TestedAhead>,
) -> Result<Merged, StepError> {
    let command = context.command_of_merge(&preview.head, &preview.commit)?;
    let merge = merge_of(context, preview, command.as_ref()).await?;
    if let Some(command) = &command {
        let landing = Landed {
            preview,
            merge: &merge,
            command,
            ahead: ahead.take(),
        };
        let scratch = context.directory.path();
        let judged = judged_merge(landing, scratch, context.result_cache()).await?;
        match judged {
            None | Some((_, Blame::Nobody)) => {}
            Some((proof, Blame::Work)) => return Ok(Merged::Worse(Box::new(proof))),
            Some((proof, Blame::Base)) => {
                let failing = FailsByNow {
                    head: &preview.head,
                    command,
                    proof: &proof,
                };
                return Err(why_nothing_lands(context, failing).await);
            }
        }
    }
    let gated_work = Gated {
        phase: GatePhase::Landing,
        before: &[preview.head.clone(), preview.commit.clone()],
        tree: &preview.tree,
    };
    let proof = gated(context, &gated_work, Proof::default()).await?;
    if !proof.holds() {
        return Ok(Merged::Worse(Box::new(proof)));
    }
    match tokio::task::block_in_place(|| advanced(context, &merge)) {
        Err(Error::Moved { .. }) => return Ok(Merged::Moved),
        other => other?,
    }
    attest(context, &merge, preview, command.as_ref());
    Ok(Merged::Landed(merge))
}

/// Moves the integration branch to a merge; what was written over since it was judged does not land.
fn advanced(context: &StepContext, merge: &CommitId) -> Result<(), Error> {
    let integration = &context.setup.integration;
    integration.check(merge)?;
    integration.advance(merge)
}

/// A merge that may land, how it is tested, and what may have been tested of it already.
#[derive(Debug)]
pub(crate) struct Landed<'a> {
    pub(crate) preview: &'a MergePreview,
    pub(crate) merge: &'a CommitId,
    pub(crate) command: &'a TestCommand,
    pub(crate) ahead: Option<TestedAhead>,
}

/// Judges a merged tree, and says at whose door it lies that it does not hold, unless that very tree was judged and held:
/// `None` then.
pub(crate) async fn judged_merge(
    landing: Landed<'_>,
    scratch: &Path,
    result_cache: &TestResultCache,
) -> Result<Option<(Proof, Blame)>, StepError> {
    let Landed {
        preview,
        merge,
        command,
        ahead,
    } = landing;
    if result_cache.is_proven(&preview.tree, command) {
        return Ok(None);
    }
    let measure = |commit, name| result_cache.measure(commit, command, (scratch, name));
    let before = result_cache.at(&preview.head, command).await;
    let alone = result_cache.at(&preview.commit, command).await;
    let known = match ahead {
        Some(ahead) => ahead.results(&preview.tree, command).await,
        None => None,
    };
    let results = match known {
        Some(results) => results,
        None => measure(merge, LANDING).await?,
    };
    tm_store::run::write_json(&scratch.join("tests-landing.json"), &results)?;
    let judge = |again: Option<&TestReport>| judge_landing(&before, &alone, &results, again);
    let (mut proof, mut at_fault) = (judge(None), Blame::Work);
    let mut again: Option<TestReport> = None;
    let is_worse = needs_rerun(&alone, &results) || needs_rerun(&before, &results);
    for _ in 0..if is_worse { ROUNDS } else { 0 } {
        let rerun = measure(merge, "landing-again").await?;
        let rerun = match &again {
            Some(earlier) => rerun.or_as_in(earlier),
            None => rerun,
        };
        proof = judge(Some(&rerun));
        again = Some(rerun);
        if proof.holds() {
            break;
        }
        at_fault = blame(&proof, &measure(&preview.head, "landing-before").await?);
        if at_fault != Blame::Base {
            break;
        }
    }
    if proof.holds() {
        at_fault = Blame::Nobody;
        result_cache.remember_proven(&preview.tree, command, again.unwrap_or(results));
    }
    Ok(Some((proof, at_fault)))
}

/// The tasks that landed since the work's base, those whose work touches the files.
fn landed_since(
    context: &StepContext,
    (head, commit): (&CommitId, &CommitId),
    files: &[String],
) -> Vec<TaskId> {
    let repository = context.repository();
    briefly(|| landed_tasks(repository, (commit, head), files, context.id())).unwrap_or_default()
}

/// Makes the merge a commit, and asserts that it is what its parents give.
async fn merge_of(
    context: &StepContext,
    preview: &MergePreview,
    command: Option<&TestCommand>,
) -> Result<CommitId, StepError> {
    let message = hooked(context, preview, command).await?;
    let repository = context.repository();
    let merge = briefly(|| repository.merge_commit(preview, &message))?;
    briefly(|| repository.assert_tree_of(&merge, &preview.tree))?;
    Ok(merge)
}

/// The message after the hooks of a merge, where there are any: they are run in a checkout of the merged tree.
async fn hooked(
    context: &StepContext,
    preview: &MergePreview,
    command: Option<&TestCommand>,
) -> Result<String, StepError> {
    let MergePreview { tree, head, .. } = preview;
    let (setup, id) = (&context.setup, context.id());
    if setup.settings.git.hooks == CommitHooks::Off
        || !setup.repository.may_have_hooks(HookedWork::Merge)
    {
        return Ok(message(context, &format!("Land task {id}"), command));
    }
    // Checks of messages know a merge by git's own words.
    let subject = format!("Merge task {id} into {}", setup.header.integration_branch);
    let message = message(context, &subject, command);
    let merge = HookedCommit {
        work: HookedWork::Merge,
        branch: Some(&setup.header.integration_branch),
        on: head,
        merged: Some(&preview.commit),
        tree,
        message: &message,
        never_commit: &setup.never_commit,
    };
    let refused = |error: &Error, _: &Path| match error {
        Error::HookRefused { hook, why, output } => {
            StepError::of_task(hook_words(hook, why, output))
        }
        error => StepError::of(error),
    };
    let hooked = with_hooks(context, &merge, refused).await?;
    if hooked.tree != *tree {
        return Err(StepError::of_task(
            "a hook changed the merge, and tm lands nothing but what both sides give",
        ));
    }
    Ok(with_own_trailers(&hooked.message, &message))
}

fn message(context: &StepContext, subject: &str, command: Option<&TestCommand>) -> String {
    // A task's own command is named by the task's commit alone.
    let command = command.filter(|_| !context.setup.parts.is_empty());
    let commands = context.command_trailers(command);
    format!(
        "{subject}: {}\n\nTask: {}\nRun: {}\n{commands}",
        one_line(&context.planned.title),
        context.id(),
        context.setup.header.run_id
    )
}
