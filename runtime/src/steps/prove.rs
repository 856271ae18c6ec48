//! Has an attempt's work measured and judged.

use super::brief::{Brief, StepDone};
use super::prepare::{at_hand, lost};
use crate::measurements::Measurements;
use crate::proving::{Work, prove as prove_work};
use std::sync::Arc;
use tm_scheduler::Answer;
use tm_worktrees::{Staged, Worktree};

pub(crate) async fn prove(brief: Brief, worktree: Option<Worktree>, measurements: Arc<Measurements>) -> StepDone {
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
    let left_out: Vec<String> = staged.left_out.iter().map(|path| path.display().to_string()).collect();
    match prove_work(&work(&brief, &worktree, staged), &measurements).await {
        Ok(mut proof) => {
            if !left_out.is_empty() {
                proof.notes.push(format!("changed, and never committed: {}", left_out.join(", ")));
            }
            brief.done(Answer::Proved(proof), Some(worktree))
        }
        Err(trouble) => brief.done(trouble.answer(Answer::WorkLost), Some(worktree)),
    }
}

fn work(brief: &Brief, worktree: &Worktree, staged: Staged) -> Work {
    Work {
        phase: brief.phase(),
        base: worktree.base().clone(),
        tree: staged.tree,
        worktree: worktree.path().to_owned(),
        red: brief.red.clone(),
        command: brief.test_command(),
        rules: brief.setup.rules,
        scratch: brief.directory.path().to_owned(),
    }
}
