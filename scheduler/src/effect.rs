//! Everything that the scheduler wants done, and the events that people are told.

use crate::merging::Resolution;
use crate::{
    AccountName, AgentName, AttemptNumber, BranchName, CommitId, Dependants, Failure, Phase,
    RunStatus, Status, StopMode, StopReason, Strength, TaskId, Timestamp,
};
use serde::{Deserialize, Serialize};

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Do a step of an attempt.
    Step {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: AttemptNumber,
        /// The step.
        step: AttemptStep,
    },
    /// Write a status into the backlog.
    SetStatus {
        /// The task's id in the backlog.
        task: TaskId,
        /// The status.
        status: Status,
    },
    /// Tell people.
    Tell(Event),
}

/// What is to be done for an attempt. Each is answered by exactly one `Answer`, but for `StopAgent`, `TestAhead` and
/// `Release`.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptStep {
    /// Make the base (the integration branch and `on_top_of`), assert that it contains `must_contain`, and give the
    /// task a worktree on it.
    Prepare {
        /// Commits of dependencies that have not landed.
        on_top_of: Vec<CommitId>,
        /// Commits of all dependencies.
        must_contain: Vec<CommitId>,
    },
    /// Start the agent and see it to its end.
    RunAgent {
        /// The attempt's time limit in milliseconds.
        timeout_ms: u64,
    },
    /// Find the agent that another tm started, alive or gone, and see it to its end.
    Adopt {
        /// The attempt's time limit in milliseconds, counted from the agent's start.
        timeout_ms: u64,
    },
    /// Stop the agent, so soon; its end is still answered by `AgentEnded`.
    StopAgent(StopMode),
    /// Measure the work and judge it.
    Prove,
    /// Commit the proven work on the task's branch.
    Commit,
    /// Have the code of the commit improved by a further agent, in the worktree where it was made; keep the result as a
    /// commit on top only when no test changes and none breaks. On resuming, an agent of before is ended and its work
    /// dropped.
    Refactor {
        /// The commit.
        commit: CommitId,
        /// The agent's time limit in milliseconds.
        timeout_ms: u64,
    },
    /// Merge the commit into the integration branch, test the merged tree, move the branch.
    Land {
        /// The commit to land.
        commit: CommitId,
    },
    /// Test the tree that there will be where the commit lands after others, so that the results are known when its turn
    /// comes. Nothing lands by it, nothing is blamed for it; it takes the place of one that was asked for before.
    TestAhead {
        /// What is to land before it, in that order.
        on_top_of: Vec<CommitId>,
        /// The commit that is to land.
        commit: CommitId,
    },
    /// Give the worktree back; work that is not on the task's branch is kept, or there is none.
    Release(Keep),
}

words! {
    /// What is to become of work that is not on the task's branch.
    pub enum Keep {
        /// It is kept as a salvage commit.
        Salvage = "salvage",
        /// There is none: everything is committed.
        Nothing = "nothing",
    }
}

/// One thing that people are told, as `activity.jsonl` and `--json` spell it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// The run began.
    #[serde(rename = "run:started")]
    RunStarted {
        /// Planned tasks.
        tasks: usize,
        /// Planned waves.
        waves: u32,
        /// Agents at the same time, at the most.
        max_parallel: u32,
    },
    /// Another process took the run over.
    #[serde(rename = "run:resumed")]
    RunResumed {
        /// Tasks that have landed.
        landed: usize,
        /// Attempts that were under way.
        under_way: usize,
    },
    /// The first task of a wave starts.
    #[serde(rename = "wave:opened")]
    WaveOpened {
        /// The wave, counted from 1.
        wave: u32,
        /// Tasks in it.
        tasks: usize,
    },
    /// The first attempt at a task starts.
    #[serde(rename = "task:started")]
    TaskStarted {
        /// The task.
        task: TaskId,
        /// One line.
        title: String,
        /// The kind of work.
        phase: Phase,
    },
    /// The agent of an attempt is started.
    #[serde(rename = "attempt:started")]
    AttemptStarted {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: AttemptNumber,
        /// The kind of work.
        phase: Phase,
        /// Who works.
        agent: AgentName,
        /// The task's branch.
        branch: BranchName,
        /// The base.
        base: CommitId,
    },
    /// An attempt is over, well or not.
    #[serde(rename = "attempt:ended")]
    AttemptEnded {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: AttemptNumber,
        /// Why it failed.
        failure: Option<Failure>,
        /// The evidence in one line; empty when it did not fail.
        reason: String,
    },
    /// The tests of an attempt's work were run.
    #[serde(rename = "test:run")]
    TestRun {
        /// The task.
        task: TaskId,
        /// The attempt.
        attempt: AttemptNumber,
        /// Tests that passed.
        passed: u64,
        /// Tests that failed.
        failed: u64,
        /// Whether the proof holds.
        holds: bool,
        /// How much it rests on.
        #[serde(default)]
        strength: Strength,
    },
    /// Proven work is a commit.
    #[serde(rename = "commit:created")]
    CommitCreated {
        /// The task.
        task: TaskId,
        /// The commit.
        commit: CommitId,
        /// The branch.
        branch: BranchName,
    },
    /// The further attempt that may improve GREEN's code is over.
    #[serde(rename = "refactor:ended")]
    RefactorEnded {
        /// The task.
        task: TaskId,
        /// The commit that stands on the branch now.
        commit: CommitId,
        /// Why its work was dropped; `null` when it was kept.
        dropped: Option<String>,
    },
    /// A task waits before its next attempt.
    #[serde(rename = "task:waiting")]
    TaskWaiting {
        /// The task.
        task: TaskId,
        /// Until when.
        until: Timestamp,
        /// What for.
        failure: Failure,
    },
    /// A task has spent its own budget: no further attempt at it is started.
    #[serde(rename = "task:over-budget")]
    TaskOverBudget {
        /// The task.
        task: TaskId,
    },
    /// The service behind an agent refused for now: nobody who shares the account is started before it may be asked
    /// again.
    #[serde(rename = "agent:limited")]
    AgentLimited {
        /// The agent.
        agent: AgentName,
        /// The account.
        account: AccountName,
        /// When it may be asked again.
        until: Timestamp,
        /// Whether the service said so itself.
        declared: bool,
    },
    /// Proofs and landings are far behind the agents: nothing is started until it has caught up.
    #[serde(rename = "landing:behind")]
    LandingBehind {
        /// How many tasks wait for their proof or to land.
        queued: u32,
    },
    /// They have caught up: tasks are started again.
    #[serde(rename = "landing:caught-up")]
    LandingCaughtUp,
    /// The service behind an account may be asked again.
    #[serde(rename = "agent:available")]
    AgentAvailable {
        /// The account.
        account: AccountName,
    },
    /// The service behind an agent refused its credentials. One task at a time tries whether it is so; once another one's
    /// were refused, nobody who shares the account is started any more.
    #[serde(rename = "agent:refused")]
    AgentRefused {
        /// The agent.
        agent: AgentName,
        /// The account.
        account: AccountName,
        /// What people can do about it; empty when nobody knows.
        what_to_do: String,
    },
    /// What a task's agent has done so far will conflict with what has landed.
    #[serde(rename = "task:conflict-ahead")]
    ConflictAhead {
        /// The task.
        task: TaskId,
        /// The files.
        files: Vec<String>,
        /// The tasks whose landed work touches them.
        with: Vec<TaskId>,
    },
    /// A task is on the integration branch.
    #[serde(rename = "task:landed")]
    TaskLanded {
        /// The task.
        task: TaskId,
        /// The merge commit.
        commit: CommitId,
        /// How the merge came about, where merging lines alone gave none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<Resolution>,
    },
    /// A task is given up.
    #[serde(rename = "task:failed")]
    TaskFailed {
        /// The task.
        task: TaskId,
        /// Why the last attempt failed.
        failure: Failure,
        /// The evidence in one line.
        reason: String,
    },
    /// A task can't be done because another one failed.
    #[serde(rename = "task:blocked")]
    TaskBlocked {
        /// The task.
        task: TaskId,
        /// What failed.
        by: Vec<TaskId>,
    },
    /// Somebody wants an attempt under way to end.
    #[serde(rename = "task:stopping")]
    TaskStopping {
        /// The task.
        task: TaskId,
        /// Why, in words.
        why: String,
    },
    /// Somebody left a task out of the run.
    #[serde(rename = "task:skipped")]
    TaskSkipped {
        /// The task.
        task: TaskId,
        /// What becomes of the tasks that depend on it.
        dependants: Dependants,
    },
    /// A task that was given up or left out is taken in again.
    #[serde(rename = "task:reopened")]
    TaskReopened {
        /// The task.
        task: TaskId,
    },
    /// What blocked a task blocks it no more.
    #[serde(rename = "task:unblocked")]
    TaskUnblocked {
        /// The task.
        task: TaskId,
    },
    /// A task joined the run.
    #[serde(rename = "task:added")]
    TaskAdded {
        /// The task.
        task: TaskId,
        /// One line.
        title: String,
        /// The kind of work.
        phase: Phase,
        /// Its wave.
        wave: u32,
    },
    /// The run starts nothing more until it is told to go on.
    #[serde(rename = "run:paused")]
    RunPaused {
        /// What attempts in a row had in common, where that is why; nobody asked for it then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The run goes on after a pause.
    #[serde(rename = "run:continued")]
    RunContinued,
    /// The run was told to stop.
    #[serde(rename = "run:stopping")]
    RunStopping {
        /// Why: `interrupted`, `deadline`, `budget`, `surroundings`, `breaker`.
        why: StopReason,
    },
    /// The run is over.
    #[serde(rename = "run:ended")]
    RunEnded {
        /// How.
        status: RunStatus,
        /// The exit code of `tm waves run`.
        exit_code: u8,
    },
}
