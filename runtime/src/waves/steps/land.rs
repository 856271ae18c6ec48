//! Lands proven work: merges without a checkout, tests the merged tree, moves the integration branch.

use super::blocking;
use super::context::{StepContext, StepDone};
use super::gates::{Gated, gated};
use super::merge::{NotMerged, merge_of};
use crate::proving::TestResultCache;
use crate::step_error::StepError;
use crate::waves::attestation::attest;
use crate::waves::resolving::{Climbed, Rung, climb, mending};
use std::path::Path;
use std::sync::Arc;
use tm_config::GatePhase;
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{judge_landing, needs_rerun};
use tm_scheduler::{Answer, CommitId, LandingRefusal, Proof, TaskId};
use tm_worktrees::{Conflict, Error, Landing, MergePreview, ObjectCheck};

/// The integration branch is moved by tm alone, but for what a user does by hand; so few tries are enough.
const TRIES: u32 = 5;

pub(crate) async fn land(
    context: StepContext,
    commit: CommitId,
    result_cache: Arc<TestResultCache>,
) -> StepDone {
    for _ in 0..TRIES {
        match try_to_land(&context, &commit, &result_cache).await {
            Tried::Answer(answer) => return context.done(*answer, None),
            Tried::Again => {}
        }
    }
    let why = format!(
        "`{}` is moved by somebody else, or its merges are collected, again and again",
        context.setup.header.integration_branch
    );
    context.done(Answer::LandingRefused(LandingRefusal::Failed(why)), None)
}

enum Tried {
    Answer(Box<Answer>),
    /// Somebody moved the integration branch meanwhile, or collected the merge before it was on it.
    Again,
}

async fn try_to_land(
    context: &StepContext,
    commit: &CommitId,
    result_cache: &TestResultCache,
) -> Tried {
    let (inner, work) = (context.clone(), commit.clone());
    let looked = blocking(move || {
        inner.assert_proven(&work)?;
        let head = inner.integration_tip()?;
        let landing = inner.setup.repository.land(&head, &work)?;
        Ok::<_, crate::Error>((head, landing))
    })
    .await;
    let (head, landing) = match looked {
        Ok(looked) => looked,
        Err(trouble) => return failed(trouble),
    };
    match landing {
        Landing::AlreadyLanded => Tried::Answer(Box::new(Answer::Landed {
            commit: head,
            resolution: None,
        })),
        Landing::Conflict(conflict) => {
            resolved_or_refused(context, &head, commit, &conflict, result_cache).await
        }
        Landing::Clean(preview) => match proven_and_landed(context, &preview, result_cache).await {
            Merged::Over(tried) => tried,
            Merged::Worse(proof) => {
                let with = landed_since(context, &head, commit, &[]).await;
                refused(LandingRefusal::Regression { proof, with })
            }
        },
    }
}

fn refused(refusal: LandingRefusal) -> Tried {
    Tried::Answer(Box::new(Answer::LandingRefused(refusal)))
}

/// What came of a merge that was tested.
enum Merged {
    /// It landed, or could not for reasons that another merge would have as well.
    Over(Tried),
    /// It is worse than what it merges.
    Worse(Box<Proof>),
}

/// Goes from one way of dealing with the conflict to the next until one holds.
async fn resolved_or_refused(
    context: &StepContext,
    head: &CommitId,
    commit: &CommitId,
    conflict: &Conflict,
    result_cache: &TestResultCache,
) -> Tried {
    let mut tried = Vec::new();
    for rung in Rung::ALL {
        let (tree, how) = match climb(context, conflict, rung).await {
            Ok(Climbed::Tree(tree, how)) => (tree, how),
            Ok(Climbed::No) => continue,
            Ok(Climbed::Failed(why)) => {
                tried.push(why);
                continue;
            }
            Err(trouble) => return failed(trouble),
        };
        let preview = MergePreview {
            tree,
            head: head.clone(),
            commit: commit.clone(),
            resolution: Some(how),
        };
        match proven_and_landed(context, &preview, result_cache).await {
            Merged::Over(over) => return over,
            Merged::Worse(proof) => {
                let why = proof
                    .evidence
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches(':')
                    .to_owned();
                tried.push(format!(
                    "{}, the merged tree is worse: {why}",
                    rung.describe()
                ));
            }
        }
    }
    let (repository, of) = (context.setup.repository.clone(), conflict.clone());
    let mendable = match blocking(move || mending(&repository, &of)).await {
        Ok(mending) => mending.is_some(),
        Err(trouble) => return failed(trouble),
    };
    let with = landed_since(context, head, commit, &conflict.files).await;
    refused(LandingRefusal::Conflict {
        files: conflict.files.clone(),
        with,
        mendable,
        tried,
    })
}

/// Tests a merge, and moves the integration branch there where nothing is wrong with it.
async fn proven_and_landed(
    context: &StepContext,
    preview: &MergePreview,
    result_cache: &TestResultCache,
) -> Merged {
    let (inner, head, commit) = (
        context.clone(),
        preview.head.clone(),
        preview.commit.clone(),
    );
    let command = match blocking(move || inner.command_of_merge(&head, &commit)).await {
        Ok(command) => command,
        Err(trouble) => return Merged::Over(failed(trouble)),
    };
    let merge = match merge_of(context, preview, command.as_ref(), result_cache).await {
        Ok(merge) => merge,
        Err(NotMerged::Refused(why)) => return Merged::Over(refused(LandingRefusal::Failed(why))),
        Err(NotMerged::StepError(trouble)) => return Merged::Over(failed(trouble)),
    };
    if let Some(command) = &command {
        let landing = Landed {
            preview,
            merge: &merge,
            command,
        };
        match regression(context, landing, result_cache).await {
            Ok(None) => {}
            Ok(Some(proof)) => return Merged::Worse(Box::new(proof)),
            Err(trouble) => return Merged::Over(failed(trouble)),
        }
    }
    let before = [preview.head.clone(), preview.commit.clone()];
    let gated_work = Gated {
        phase: GatePhase::Landing,
        before: &before,
        tree: &preview.tree,
    };
    match gated(context, &gated_work, Proof::default(), result_cache).await {
        Ok(proof) if proof.holds() => {}
        Ok(proof) => return Merged::Worse(Box::new(proof)),
        Err(trouble) => return Merged::Over(failed(trouble)),
    }
    let setup = Arc::clone(&context.setup);
    let finished = tokio::task::spawn_blocking(move || {
        // What was written over since it was judged does not land.
        setup.repository.check_new_objects(
            &merge,
            &setup.header.base_commit,
            ObjectCheck::Names,
        )?;
        setup.integration.advance(&merge).map(|()| merge)
    })
    .await;
    if let Ok(Ok(merge)) = &finished {
        attest(context, merge, preview, command.as_ref()).await;
    }
    Merged::Over(match finished {
        Ok(Ok(commit)) => Tried::Answer(Box::new(Answer::Landed {
            commit,
            resolution: preview.resolution,
        })),
        Ok(Err(Error::Moved { .. })) => Tried::Again,
        Ok(Err(error)) => failed(StepError::of(&error)),
        Err(error) => refused(LandingRefusal::Failed(error.to_string())),
    })
}

fn failed(trouble: StepError) -> Tried {
    if trouble.is_of_collected_objects() {
        return Tried::Again;
    }
    Tried::Answer(Box::new(
        trouble.answer(|why| Answer::LandingRefused(LandingRefusal::Failed(why))),
    ))
}

/// A merge that may land, and how it is tested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landed<'a> {
    pub(crate) preview: &'a MergePreview,
    pub(crate) merge: &'a CommitId,
    pub(crate) command: &'a TestCommand,
}

/// Tests the merged tree, unless that very tree was judged and held; `None` when nothing is wrong with it.
async fn regression(
    context: &StepContext,
    landing: Landed<'_>,
    result_cache: &TestResultCache,
) -> Result<Option<Proof>, StepError> {
    let proof = judged_merge(landing, context.directory.path(), result_cache).await?;
    Ok(proof.filter(|proof| !proof.holds()))
}

/// Judges a merged tree, unless that very tree was judged and held: `None` then.
pub(crate) async fn judged_merge(
    landing: Landed<'_>,
    scratch: &Path,
    result_cache: &TestResultCache,
) -> Result<Option<Proof>, StepError> {
    let Landed {
        preview,
        merge,
        command,
    } = landing;
    if result_cache.is_proven(&preview.tree, command) {
        return Ok(None);
    }
    let before = result_cache.at(&preview.head, command).await;
    let alone = result_cache.at(&preview.commit, command).await;
    let results = result_cache
        .measure(merge, command, scratch, "landing")
        .await?;
    let written = tm_store::run::write_json(&scratch.join("tests-landing.json"), &results);
    written?;
    let is_worse = needs_rerun(&alone, &results) || needs_rerun(&before, &results);
    let again = if is_worse {
        Some(
            result_cache
                .measure(merge, command, scratch, "landing-again")
                .await?,
        )
    } else {
        None
    };
    let proof = judge_landing(&before, &alone, &results, again.as_ref());
    if proof.holds() {
        result_cache.remember_proven(&preview.tree, command, again.unwrap_or(results));
    }
    Ok(Some(proof))
}

/// The tasks that landed since the work's base, those first whose work touches the files.
async fn landed_since(
    context: &StepContext,
    head: &CommitId,
    commit: &CommitId,
    files: &[String],
) -> Vec<TaskId> {
    let repository = context.setup.repository.clone();
    let (head, commit, files) = (head.clone(), commit.clone(), files.to_vec());
    let found = blocking(move || repository.trailers_between(&commit, &head, &files, "Task")).await;
    let mut tasks: Vec<TaskId> = found
        .unwrap_or_default()
        .into_iter()
        .map(TaskId::from)
        .collect();
    tasks.retain(|task| task != context.id());
    tasks.sort();
    tasks.dedup();
    tasks
}
