//! Lands proven work: merges without a checkout, tests the merged tree, moves the integration branch.

use super::blocking;
use super::brief::{Brief, StepDone};
use crate::measurements::Measurements;
use crate::trouble::Trouble;
use std::sync::Arc;
use tm_executors::testing::TestCommand;
use tm_scheduler::verdict::{judge_landing, needs_rerun};
use tm_scheduler::{Answer, CommitId, LandingRefusal, Proof, TaskId};
use tm_worktrees::{Error, Landing, MergePreview};

/// The integration branch is moved by tm alone, but for what a user does by hand; so few tries are enough.
const TRIES: u32 = 5;

pub(crate) async fn land(brief: Brief, commit: CommitId, measurements: Arc<Measurements>) -> StepDone {
    for _ in 0..TRIES {
        match try_to_land(&brief, &commit, &measurements).await {
            Tried::Answer(answer) => return brief.done(*answer, None),
            Tried::Again => {}
        }
    }
    let why = format!(
        "`{}` is moved by somebody else, or its merges are collected, again and again",
        brief.setup.header.integration_branch
    );
    brief.done(Answer::LandingRefused(LandingRefusal::Failed(why)), None)
}

enum Tried {
    Answer(Box<Answer>),
    /// Somebody moved the integration branch meanwhile, or collected the merge before it was on it.
    Again,
}

async fn try_to_land(brief: &Brief, commit: &CommitId, measurements: &Measurements) -> Tried {
    let refused = |refusal| Tried::Answer(Box::new(Answer::LandingRefused(refusal)));
    let (inner, work) = (brief.clone(), commit.clone());
    let looked = blocking(move || {
        let head = inner.integration_tip()?;
        let landing = inner.setup.repository.land(&head, &work)?;
        Ok::<_, crate::Error>((head, landing))
    })
    .await;
    let (head, landing) = match looked {
        Ok(looked) => looked,
        Err(trouble) => return failed(trouble),
    };
    let preview = match landing {
        Landing::AlreadyLanded => return Tried::Answer(Box::new(Answer::Landed { commit: head })),
        Landing::Conflict(conflict) => {
            let with = landed_since(brief, &head, commit, &conflict.files).await;
            return refused(LandingRefusal::Conflict { files: conflict.files, with });
        }
        Landing::Clean(preview) => preview,
    };
    if let Some(command) = brief.test_command() {
        match regression(brief, &preview, &head, commit, &command, measurements).await {
            Ok(None) => {}
            Ok(Some(proof)) => {
                let with = landed_since(brief, &head, commit, &[]).await;
                return refused(LandingRefusal::Regression { proof, with });
            }
            Err(trouble) => return failed(trouble),
        }
    }
    let (setup, message) = (Arc::clone(&brief.setup), message(brief));
    let finished = tokio::task::spawn_blocking(move || {
        let merge = setup.repository.finish_landing(setup.integration.branch(), &preview, &message)?;
        setup.integration.moved_to(&merge);
        Ok(merge)
    })
    .await;
    match finished {
        Ok(Ok(commit)) => Tried::Answer(Box::new(Answer::Landed { commit })),
        Ok(Err(Error::Moved { .. })) => Tried::Again,
        Ok(Err(error)) => failed(Trouble::of(&error)),
        Err(error) => refused(LandingRefusal::Failed(error.to_string())),
    }
}

fn failed(trouble: Trouble) -> Tried {
    if trouble.is_of_collected_objects() {
        return Tried::Again;
    }
    Tried::Answer(Box::new(trouble.answer(|why| Answer::LandingRefused(LandingRefusal::Failed(why)))))
}

/// Tests the merged tree, unless it is one that has been proven; `None` when nothing is wrong with it.
async fn regression(
    brief: &Brief,
    preview: &MergePreview,
    head: &CommitId,
    commit: &CommitId,
    command: &TestCommand,
    measurements: &Measurements,
) -> Result<Option<Proof>, Trouble> {
    if measurements.known(&preview.tree, command).is_some() {
        return Ok(None);
    }
    let before = measurements.at(head, command).await;
    let alone = measurements.at(commit, command).await;
    let scratch = brief.directory.path();
    let (mut results, again) = measurements
        .run_merge(preview, command, scratch, |results| needs_rerun(&alone, results) || needs_rerun(&before, results))
        .await?;
    tm_store::run::write_json(&brief.directory.tests("landing"), &results).map_err(|error| Trouble::of(&error))?;
    let proof = judge_landing(&before, &alone, &results, again.as_ref());
    if !proof.holds() {
        return Ok(Some(proof));
    }
    if let Some(again) = again {
        results = again;
    }
    measurements.remember(&preview.tree, command, results);
    Ok(None)
}

/// The tasks that landed since the work's base, those first whose work touches the files.
async fn landed_since(brief: &Brief, head: &CommitId, commit: &CommitId, files: &[String]) -> Vec<TaskId> {
    let repository = brief.setup.repository.clone();
    let (head, commit, files) = (head.clone(), commit.clone(), files.to_vec());
    let found = blocking(move || repository.trailers_between(&commit, &head, &files, "Task")).await;
    let mut tasks: Vec<TaskId> = found.unwrap_or_default().into_iter().map(TaskId::from).collect();
    tasks.retain(|task| task != brief.id());
    tasks.sort();
    tasks.dedup();
    tasks
}

fn message(brief: &Brief) -> String {
    let header = &brief.setup.header;
    let title = brief.planned.title.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("Land task {}: {title}\n\nTask: {}\nRun: {}\n", brief.id(), brief.id(), header.run_id)
}
