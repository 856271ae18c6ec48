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
use crate::proving::prove_same_behaviour;
use crate::{StepError, Work, describe};
use tm_config::GatePhase;
use tm_executors::agent::{AgentCommand, adopt_attempt};
use tm_presets::Prompt;
use tm_scheduler::{
    AgentReport, AgentVerdict, Answer, CommitId, Failure, Proof, Reason, Refactored, StopMode,
    in_a_line, judge_agent,
};
use tm_worktrees::{Error, TreeId, Worktree};
use tokio::sync::watch;
use tokio::task::block_in_place;

/// What came of it before it is put into an answer.
#[derive(Default)]
struct Seen {
    report: Option<AgentReport>,
    proof: Option<Proof>,
}

/// GREEN's commit, whose code is to be improved in its worktree.
struct Green<'a> {
    context: &'a StepContext,
    worktree: &'a Worktree,
    commit: &'a CommitId,
}

pub(super) async fn refactor(
    mut context: StepContext,
    worktree: &Worktree,
    commit: CommitId,
    timeout_ms: u64,
    orders: Orders,
) -> Answer {
    context.directory = context.directory.refactor();
    let green = Green {
        context: &context,
        worktree,
        commit: &commit,
    };
    let mut seen = Seen::default();
    // The folder comes before the agent, so that one that was just starting is found as well.
    let better = if context.directory.path().exists() {
        green.after_interruption(&mut seen).await
    } else {
        green.improved(&mut seen, timeout_ms, orders).await
    };
    let (stands, why) = match better {
        Ok(better) => (better, None),
        // Nobody has been started yet, so the next process can ask again.
        Err(trouble) if seen.report.is_none() && trouble.is_of_surroundings() => {
            forget_start(&context);
            return trouble.answer(|why| dropped(commit, why));
        }
        Err(trouble) => (commit.clone(), Some(green.set_aside(trouble.into()))),
    };
    let back = green.go_back(&stands);
    Answer::Refactored(Box::new(Refactored {
        commit: stands,
        report: seen.report,
        proof: seen.proof,
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

/// Whoever takes the run up starts the agent anew, and takes it for none that was interrupted.
fn forget_start(context: &StepContext) {
    // What stays has the improvement dropped, which costs GREEN nothing.
    let _dropped_then = std::fs::remove_dir_all(context.directory.path());
}

impl Green<'_> {
    fn command(&self, timeout_ms: u64) -> Result<Box<AgentCommand>, StepError> {
        let prompt = (Prompt::Refactor, Vec::new());
        command(self.context, self.worktree, timeout_ms, prompt)
    }

    /// Another process began this: its agent is ended, and what it did is dropped, since nobody saw it proven.
    async fn after_interruption(&self, seen: &mut Seen) -> Result<CommitId, StepError> {
        let (_sender, orders) = watch::channel(Some(StopMode::Now));
        if let Ok(command) = self.command(0) {
            seen.report = adopt_attempt(command, orders, |_| {}).await.ok();
        }
        Err(StepError::of_task("it was interrupted"))
    }

    /// Has the code improved, and returns the new commit, or why there is none.
    async fn improved(
        &self,
        seen: &mut Seen,
        timeout_ms: u64,
        orders: Orders,
    ) -> Result<CommitId, StepError> {
        let (context, command) = (self.context, self.command(timeout_ms)?);
        let tell = |progress| context.tell_agent(progress);
        let started = (Start::New, command, orders);
        let report = context.run_agent(started, tell, |_| {}).await?;
        let verdict = judge_agent(&report);
        seen.report = Some(report);
        match verdict {
            AgentVerdict::WorthProving => self.kept(&mut seen.proof).await,
            AgentVerdict::Interrupted => Err(StepError::of_task("the run was stopped")),
            AgentVerdict::Failed {
                failure, evidence, ..
            } => Err(StepError::of_task(format!("{failure}: {evidence}"))),
        }
    }

    /// Judges what the agent left, and commits it on top of GREEN's commit where it holds.
    async fn kept(&self, seen: &mut Option<Proof>) -> Result<CommitId, StepError> {
        let judged = self.judged().await;
        let judged = judged.inspect_err(|trouble| *seen = unreviewed(trouble))?;
        let proof = seen.insert(judged);
        if !proof.holds() {
            return Err(StepError::of_task(in_a_line(&proof.evidence)));
        }
        let Some(tree) = proof.tree.clone().map(TreeId::new) else {
            let why = "there is no test command to prove it with";
            return Err(StepError::of_task(why));
        };
        let proven = Proven {
            tree,
            phase: REFACTOR,
        };
        let committed = committed(self.context, self.worktree, proven, self.commit).await?;
        if let Some(anew) = committed.proof {
            *proof = anew;
        }
        proof.notes.extend(committed.note);
        Ok(committed.commit)
    }

    async fn judged(&self) -> Result<Proof, StepError> {
        let Self {
            context,
            worktree,
            commit,
        } = *self;
        let captured = block_in_place(|| worktree.capture(&context.setup.never_commit))?;
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

    /// Puts the branch and the files at the commit that stands; other commits on the branch are kept elsewhere.
    fn go_back(&self, commit: &CommitId) -> Result<(), Error> {
        block_in_place(|| {
            self.worktree.put_branch_at(commit, &self.put_aside_as())?;
            self.worktree.go_back_to(commit)
        })
    }

    fn put_aside_as(&self) -> String {
        format!(
            "{}-refactor",
            self.context.salvage_name(self.context.attempt)
        )
    }

    /// Keeps what is dropped where it can be found again; returns why it was dropped, and where it is.
    fn set_aside(&self, why: String) -> String {
        let (worktree, repository) = (self.worktree, self.context.repository());
        let is_green = || Ok::<_, Error>(worktree.tree()? == repository.tree_of(self.commit)?);
        if block_in_place(is_green).unwrap_or(false) {
            return why;
        }
        let (name, id) = (self.put_aside_as(), self.context.id());
        let message = format!("tm: dropped refactoring of task {id}: {why}");
        match block_in_place(|| worktree.salvage(&name, &message)) {
            Ok(Some(_)) => format!("{why} (kept as {name})"),
            Ok(None) => why,
            Err(error) => format!("{why} ({})", describe(&error)),
        }
    }
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
