//! Has GREEN's code improved by a further agent, and keeps the result only when no test changes and none breaks.
//!
//! Nothing that goes wrong here costs GREEN its work: whatever is not kept is put aside, and GREEN's commit stands.

use super::agent::command;
use super::commit::committed;
use super::context::{Gated, Orders, StepContext};
use super::gates::gated;
use super::message::{Proven, REFACTOR};
use super::prove::work;
use crate::attempt::Start;
use crate::proving::{Work, prove_same_behaviour};
use crate::step_error::{StepError, describe};
use tm_config::GatePhase;
use tm_executors::agent::adopt_attempt;
use tm_presets::Prompt;
use tm_scheduler::{
    AgentReport, AgentVerdict, Answer, CommitId, Failure, Proof, Reason, Refactored, StopMode,
    in_a_line, judge_agent,
};
use tm_worktrees::{Error, TreeId, Worktree};
use tokio::sync::watch;

/// What came of it before it is put into an answer.
struct Outcome {
    report: Option<AgentReport>,
    proof: Option<Proof>,
    /// The new commit, or why there is none.
    kept: Result<CommitId, String>,
}

impl Outcome {
    const fn dropped(report: Option<AgentReport>, why: String) -> Self {
        Self {
            report,
            proof: None,
            kept: Err(why),
        }
    }
}

pub(super) async fn refactor(
    mut context: StepContext,
    worktree: &Worktree,
    commit: CommitId,
    timeout_ms: u64,
    orders: Orders,
) -> Answer {
    context.directory = context.directory.refactor();
    // The folder comes before the agent, so that one that was just starting is found as well.
    let outcome = if context.directory.path().exists() {
        after_interruption(&context, worktree).await
    } else {
        match improve(&context, worktree, &commit, (timeout_ms, orders)).await {
            Ok(outcome) => outcome,
            Err(trouble) => {
                forget_start(&context);
                return trouble.answer(|why| dropped(commit, why));
            }
        }
    };
    let (stands, why) = match outcome.kept {
        Ok(better) => (better, None),
        Err(why) => {
            let why = set_aside(&context, worktree, &commit, why);
            (commit, Some(why))
        }
    };
    let back = go_back(&context, worktree, &stands);
    Answer::Refactored(Box::new(Refactored {
        commit: stands,
        report: outcome.report,
        proof: outcome.proof,
        dropped: why.or_else(|| back.err().map(|error| describe(&error))),
    }))
}

/// The answer where nothing was done, and why.
pub(super) fn dropped(commit: CommitId, why: String) -> Answer {
    Answer::Refactored(Box::new(Refactored {
        commit,
        report: None,
        proof: None,
        dropped: Some(why),
    }))
}

/// Puts the branch and the files at the commit that stands; other commits on the branch are kept elsewhere.
fn go_back(context: &StepContext, worktree: &Worktree, commit: &CommitId) -> Result<(), Error> {
    tokio::task::block_in_place(|| {
        worktree.put_branch_at(commit, &put_aside_as(context))?;
        worktree.go_back_to(commit)
    })
}

fn put_aside_as(context: &StepContext) -> String {
    format!("{}-refactor", context.salvage_name(context.attempt))
}

/// Another process began this: its agent is ended, and what it did is dropped, since nobody saw it proven.
async fn after_interruption(context: &StepContext, worktree: &Worktree) -> Outcome {
    let (_sender, orders) = watch::channel(Some(StopMode::Now));
    let report = match command(context, worktree.path(), 0, (Prompt::Refactor, Vec::new())) {
        Ok(command) => adopt_attempt(command, orders, |_| {}).await.ok(),
        Err(_unknown) => None,
    };
    Outcome::dropped(report, "it was interrupted".to_owned())
}

/// Whoever takes the run up starts the agent anew, and takes it for none that was interrupted.
fn forget_start(context: &StepContext) {
    // What stays has the improvement dropped, which costs GREEN nothing.
    let _dropped_then = std::fs::remove_dir_all(context.directory.path());
}

/// Has the code improved; an error is that of the surroundings, in which no agent could be started.
async fn improve(
    context: &StepContext,
    worktree: &Worktree,
    commit: &CommitId,
    (timeout_ms, orders): (u64, Orders),
) -> Result<Outcome, StepError> {
    let ran = async {
        let prompt = (Prompt::Refactor, Vec::new());
        let command = command(context, worktree.path(), timeout_ms, prompt)?;
        let tell = |progress| context.tell_agent(progress);
        let started = (Start::New, command, orders);
        context.run_agent(started, tell, |_| {}).await
    };
    let report = match ran.await {
        Ok(report) => report,
        Err(trouble) if trouble.is_of_surroundings() => return Err(trouble),
        Err(trouble) => return Ok(Outcome::dropped(None, trouble.into())),
    };
    let why = match judge_agent(&report) {
        AgentVerdict::WorthProving => {
            let (proof, kept) = of_work(context, worktree, commit).await;
            return Ok(Outcome {
                report: Some(report),
                proof,
                kept,
            });
        }
        AgentVerdict::Interrupted => "the run was stopped".to_owned(),
        AgentVerdict::Failed {
            failure, evidence, ..
        } => format!("{failure}: {evidence}"),
    };
    Ok(Outcome::dropped(Some(report), why))
}

/// Judges what the agent left, and keeps it where it holds.
async fn of_work(
    context: &StepContext,
    worktree: &Worktree,
    commit: &CommitId,
) -> (Option<Proof>, Result<CommitId, String>) {
    let proof = match judged(context, worktree, commit).await {
        Ok(proof) => proof,
        Err(trouble) => return (unreviewed(&trouble), Err(trouble.into())),
    };
    if !proof.holds() {
        let why = in_a_line(&proof.evidence);
        return (Some(proof), Err(why));
    }
    let (proof, kept) = keep(context, worktree, commit, proof).await;
    (Some(proof), kept)
}

/// What a reviewer without a verdict spent stands where one with a verdict would.
fn unreviewed(trouble: &StepError) -> Option<Proof> {
    let review = trouble.review()?.clone();
    let refused = Proof::refused(Failure::GateFailed, Reason::GateFailed, trouble.to_string());
    Some(Proof {
        gates: vec![review],
        ..refused
    })
}

async fn judged(
    context: &StepContext,
    worktree: &Worktree,
    commit: &CommitId,
) -> Result<Proof, StepError> {
    let captured = tokio::task::block_in_place(|| worktree.capture(&context.setup.never_commit))?;
    if context.repository().tree_of(commit)? == captured.tree {
        return Err(StepError::of_task("nothing was changed"));
    }
    let work = Work {
        red: None,
        ..work(context, commit.clone(), captured.tree)?
    };
    let proof = prove_same_behaviour(&work, context.result_cache()).await?;
    let gated_work = Gated {
        phase: GatePhase::Refactor,
        before: std::slice::from_ref(commit),
        tree: &work.tree,
    };
    gated(context, &gated_work, proof).await
}

/// Commits what was proven on top of GREEN's commit.
async fn keep(
    context: &StepContext,
    worktree: &Worktree,
    green: &CommitId,
    proof: Proof,
) -> (Proof, Result<CommitId, String>) {
    let Some(tree) = proof.tree.clone().map(TreeId::new) else {
        let why = "there is no test command to prove it with";
        return (proof, Err(why.to_owned()));
    };
    let proven = Proven {
        tree,
        phase: REFACTOR,
    };
    match committed(context, worktree, proven, green).await {
        Ok(committed) => {
            let mut proof = committed.proof.unwrap_or(proof);
            proof.notes.extend(committed.note);
            (proof, Ok(committed.commit))
        }
        Err(why) => (proof, Err(why.into())),
    }
}

/// Keeps what is dropped where it can be found again; returns why it was dropped, and where it is.
fn set_aside(context: &StepContext, worktree: &Worktree, commit: &CommitId, why: String) -> String {
    let repository = context.repository();
    let is_green = || Ok::<_, Error>(worktree.tree()? == repository.tree_of(commit)?);
    if tokio::task::block_in_place(is_green).unwrap_or(false) {
        return why;
    }
    let name = put_aside_as(context);
    let message = format!("tm: dropped refactoring of task {}: {why}", context.id());
    let kept = tokio::task::block_in_place(|| worktree.salvage(&name, &message));
    match kept {
        Ok(Some(_)) => format!("{why} (kept as {name})"),
        Ok(None) => why,
        Err(error) => format!("{why} ({})", describe(&error)),
    }
}
