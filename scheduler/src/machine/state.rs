//! Where a task stands within a run, and what can be asked of a run: its tasks, its sums, and how it ended.

use super::{AttemptRecord, Life, Scheduler, TaskIndex};
use crate::{
    CommitId, Dependants, Edition, Failure, Limits, PlacedTask, RunStatus, StopReason, TaskId,
    Timestamp, Tokens, WavePlan,
};
use std::collections::BTreeSet;

/// Where a task stands. A variant's doc says what was done, what is waited for, and what comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing was done; so many dependencies are not satisfied; then `Ready`.
    Waiting {
        /// Dependencies that are not satisfied.
        unmet: u32,
    },
    /// Everything it depends on is satisfied; a slot is waited for; then `Preparing`.
    Ready,
    /// An attempt failed; the moment is waited for; then `Ready`.
    Paused {
        /// The moment.
        until: Timestamp,
    },
    /// A worktree was asked for; `Prepared` is waited for; then `Running`.
    Preparing,
    /// The agent works; `AgentEnded` is waited for; then `Proving`.
    Running,
    /// The agent is gone; `Proved` is waited for; then `Committing`.
    Proving,
    /// The proof holds; `Committed` is waited for; then `Landing`, or `Held`.
    Committing,
    /// GREEN's work is committed, and a further agent improves its code; `Refactored` is waited for; then `Landing`, or
    /// `Held`.
    Refactoring {
        /// The commit on the task's branch, which lands when nothing better comes.
        commit: CommitId,
    },
    /// The work is committed and waits for its turn, or for the answer, to land; then `Landed`.
    Landing {
        /// The commit on the task's branch.
        commit: CommitId,
    },
    /// The work is committed and lands with its GREEN, or never when landing is off.
    Held {
        /// The commit on the task's branch.
        commit: CommitId,
    },
    /// The work is on the integration branch; nothing comes next.
    Landed {
        /// The commit on the task's branch.
        commit: CommitId,
        /// The merge commit on the integration branch.
        merge: CommitId,
    },
    /// The attempts are exhausted; nothing comes next.
    Failed {
        /// Why the last one failed.
        failure: Failure,
    },
    /// Somebody left it out; nothing comes next.
    Skipped {
        /// What becomes of the tasks that depend on it.
        dependants: Dependants,
    },
    /// Tasks that it needs failed; nothing comes next.
    Blocked {
        /// Those that failed.
        by: BTreeSet<TaskId>,
    },
}

/// What a state is to other tasks and to the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    /// No attempt is under way, and one may come.
    Unstarted,
    /// An attempt has a worktree.
    UnderWay,
    /// The work waits to land, or lands.
    Landing,
    /// The work is there.
    Done,
    /// It was given up or left out.
    Lost,
    /// It can't be done without another one.
    Blocked,
}

impl State {
    const fn standing(&self) -> Standing {
        match self {
            Self::Waiting { .. } | Self::Ready | Self::Paused { .. } => Standing::Unstarted,
            Self::Preparing
            | Self::Running
            | Self::Proving
            | Self::Committing
            | Self::Refactoring { .. } => Standing::UnderWay,
            Self::Landing { .. } => Standing::Landing,
            Self::Held { .. } | Self::Landed { .. } => Standing::Done,
            Self::Failed { .. } | Self::Skipped { .. } => Standing::Lost,
            Self::Blocked { .. } => Standing::Blocked,
        }
    }

    /// Tells whether the task has reached an end; `Held` counts, since nothing more is done for it alone.
    pub const fn is_settled(&self) -> bool {
        matches!(
            self.standing(),
            Standing::Done | Standing::Lost | Standing::Blocked
        )
    }

    /// Tells whether no attempt is under way and one may come.
    pub fn is_unstarted(&self) -> bool {
        self.standing() == Standing::Unstarted
    }

    /// Tells whether an attempt has a worktree, or is given one.
    pub const fn has_worktree(&self) -> bool {
        matches!(self.standing(), Standing::UnderWay)
    }

    /// Tells whether an agent's work is tested, or about to be, and is no commit yet.
    pub const fn is_being_proven(&self) -> bool {
        matches!(self, Self::Proving | Self::Committing)
    }

    /// Tells whether the work waits to land, or lands.
    pub fn is_landing(&self) -> bool {
        self.standing() == Standing::Landing
    }

    /// Tells whether an attempt is under way, until its work has landed or is held.
    pub fn is_under_way(&self) -> bool {
        self.has_worktree() || self.is_landing()
    }

    /// Tells whether it was given up or left out.
    pub fn is_lost(&self) -> bool {
        self.standing() == Standing::Lost
    }

    /// Tells whether an agent lives.
    pub const fn has_agent(&self) -> bool {
        matches!(self, Self::Running | Self::Refactoring { .. })
    }

    /// Returns the word that reports use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting { .. } => "waiting",
            Self::Ready => "ready",
            Self::Paused { .. } => "paused",
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Proving => "proving",
            Self::Committing => "committing",
            Self::Refactoring { .. } => "refactoring",
            Self::Landing { .. } => "landing",
            Self::Held { .. } => "held",
            Self::Landed { .. } => "landed",
            Self::Failed { .. } => "failed",
            Self::Skipped { .. } => "skipped",
            Self::Blocked { .. } => "blocked",
        }
    }

    /// Returns the commit on the task's branch, when there is proven work.
    pub const fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Refactoring { commit }
            | Self::Landing { commit }
            | Self::Held { commit }
            | Self::Landed { commit, .. } => Some(commit),
            _ => None,
        }
    }
}

/// One task of a run as it stands now.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// The task and its place in the plan.
    pub placed: &'a PlacedTask,
    /// Where it stands.
    pub state: &'a State,
    /// Its attempts, the earliest first.
    pub attempts: &'a [AttemptRecord],
}

impl Scheduler {
    /// Returns how the run ended, `None` while it goes on.
    pub const fn ended(&self) -> Option<RunStatus> {
        match self.life {
            Life::New | Life::Running => None,
            Life::Ended(status) => Some(status),
        }
    }

    /// Whether inputs are taken as a journal of an earlier version was written.
    pub(super) fn is_of_first_edition(&self) -> bool {
        self.limits.edition == Edition::First
    }

    /// Returns the next moment at which something happens by itself and `Tick` is wanted.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.stop_reason.is_some() {
            return None;
        }
        let paused = self.paused.first().map(|&(until, _)| until);
        self.cooldowns
            .values()
            .map(|cooldown| cooldown.until)
            .chain(self.trials_to_come())
            .chain(paused)
            .chain(self.under_way.kept_until)
            .chain(self.limits.deadline)
            .min()
    }

    /// Returns every task as it stands, in the order of the plan.
    pub fn tasks(&self) -> impl Iterator<Item = TaskView<'_>> {
        (self.indices()).map(|rank| self.view(rank))
    }

    /// Returns the task of that id as it stands.
    pub fn task(&self, id: &TaskId) -> Option<TaskView<'_>> {
        self.ranks.get(id).map(|&rank| self.view(rank))
    }

    fn view(&self, rank: TaskIndex) -> TaskView<'_> {
        TaskView {
            placed: &self.plan.tasks[rank],
            state: &self.states[rank],
            attempts: &self.attempts[rank],
        }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &WavePlan {
        &self.plan
    }

    /// Returns the limits in force.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns when no process carried the run out: from its last input to when it was taken up.
    pub fn pauses(&self) -> &[(Timestamp, Timestamp)] {
        &self.pauses
    }

    /// Tells whether nothing is started until somebody lets the run go on.
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns the tokens that ended attempts reported, read and written together.
    pub const fn tokens(&self) -> u64 {
        self.spent.tokens
    }

    /// Returns the cost that ended attempts reported, in US dollars.
    pub const fn cost_usd(&self) -> f64 {
        self.spent.cost_usd
    }

    /// Returns the attempt that reported most of what has used up the budget of the run, where that is used up.
    pub fn dearest_attempt(&self) -> Option<(&TaskId, &AttemptRecord)> {
        let limits = &self.limits;
        let is_cost = self.spent.uses_up(None, limits.max_cost_usd);
        if !is_cost && !self.spent.uses_up(limits.max_tokens, None) {
            return None;
        }
        let spent = |record: &AttemptRecord| match record.spent() {
            (_, cost_usd) if is_cost => cost_usd.unwrap_or(0.0),
            #[expect(
                clippy::cast_precision_loss,
                reason = "only which one is the most counts"
            )]
            (tokens, _) => tokens.map_or(0, Tokens::total) as f64,
        };
        let attempts = self.tasks().flat_map(|view| {
            let id = &view.placed.task.id;
            view.attempts.iter().map(move |record| (id, record))
        });
        attempts.max_by(|(_, one), (_, other)| spent(one).total_cmp(&spent(other)))
    }

    /// Returns why the run starts nothing more.
    pub const fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason
    }

    /// Returns what stood in the way when the run was stopped by its surroundings.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble
            .as_deref()
            .filter(|_| self.stop_reason == Some(StopReason::Surroundings))
    }
}
