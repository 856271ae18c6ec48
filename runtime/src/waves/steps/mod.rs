//! The steps of an attempt: each is one function, read from top to bottom, that ends in exactly one answer.

mod agent;
mod ahead;
mod commit;
mod context;
mod gates;
mod history;
mod land;
mod landed_fails;
mod message;
mod prepare;
mod prove;
mod refactor;
mod review;

pub(crate) use ahead::{MergesAhead, TestedAhead};
pub(crate) use context::{Orders, StepContext, StepShared};
pub use gates::gate_phase;
pub(crate) use land::{Landed, judged_merge, land};
pub(crate) use prepare::prepare;
pub(crate) use prepare::release;

use crate::attempt::Start;
use crate::waves::step_message::StepDone;
use tm_scheduler::{Answer, CommitId};
use tm_worktrees::Worktree;

/// A step in the worktree of an attempt.
#[derive(Debug)]
pub(crate) enum WorkStep {
    /// See the agent to its end.
    Agent { timeout_ms: u64, start: Start },
    /// Measure the work and judge it.
    Prove,
    /// Commit the proven work.
    Commit,
    /// Have the code of the commit improved.
    Refactor { commit: CommitId, timeout_ms: u64 },
}

/// Does a step in the worktree of its attempt; without one it is that which another process prepared.
#[expect(
    clippy::manual_async_fn,
    reason = "an async function has room twice for what it is given, and hundreds of these wait for hours"
)]
pub(crate) fn at_work(
    context: StepContext,
    worktree: Option<Worktree>,
    step: WorkStep,
    orders: Orders,
) -> impl Future<Output = StepDone> + Send {
    async move {
        let worktree = match worktree.map_or_else(|| prepare::taken_over(&context), Ok) {
            Ok(worktree) => worktree,
            Err(trouble) => {
                let answer = match step {
                    WorkStep::Refactor { commit, .. } => {
                        refactor::dropped(commit, "its worktree is gone".to_owned())
                    }
                    WorkStep::Agent { .. } | WorkStep::Prove | WorkStep::Commit => {
                        trouble.answer(Answer::WorkLost)
                    }
                };
                return context.done(answer, None);
            }
        };
        // Each has its own room once it begins: what hundreds of agents wait in has none for a proof.
        let answer = match step {
            WorkStep::Agent { timeout_ms, start } => {
                let started = (start, orders);
                Box::pin(agent::run_agent(&context, &worktree, timeout_ms, started)).await
            }
            WorkStep::Prove => Box::pin(prove::prove(&context, &worktree)).await,
            WorkStep::Commit => Box::pin(commit::commit(&context, &worktree)).await,
            WorkStep::Refactor { commit, timeout_ms } => {
                let context = context.clone();
                let refactored = refactor::refactor(context, &worktree, commit, timeout_ms, orders);
                Box::pin(refactored).await
            }
        };
        context.done(answer, Some(worktree))
    }
}
