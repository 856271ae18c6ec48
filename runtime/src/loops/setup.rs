//! Everything that one lane of a loop is carried out with, put together by the caller before it begins.

use super::ProgressFile;
use crate::checkouts::{Checkouts, preparation};
use crate::locked;
use crate::step_error::blocking;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tm_config::Escape;
use tm_executors::agent::AttemptLimits;
use tm_executors::engine::Executor;
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, LoopPrompt, Recipe};
use tm_scheduler::iteration::{Goal, LoopInput, LoopLimits};
use tm_scheduler::{CommitId, RunId, Status, Tag, Timestamp};
use tm_store::backlog::{BacklogSource, ReadOptions};
use tm_store::run::LoopDirectory;
use tm_worktrees::{BranchName, BranchStart, PathPatterns, Repository, Worktree};

/// One lane of a loop.
#[derive(Debug)]
pub struct LoopSetup {
    /// The loop.
    pub id: RunId,
    /// The lane: its tag, or the tag of the backlog that is current.
    pub lane: Tag,
    /// What it works towards.
    pub goal: Goal,
    /// What it may use.
    pub limits: LoopLimits,
    /// The command that must pass after each iteration, when one must.
    pub test_command: Option<TestCommand>,
    /// What the agents are asked.
    pub prompt: LoopPrompt,
    /// What the prompt speaks of; what differs between iterations is filled in for each.
    pub context: LoopContext,
    /// The agent.
    pub recipe: Recipe,
    /// How long one iteration may take.
    pub attempt_limits: AttemptLimits,
    /// The backlog, and what is read of it; a loop that a marker ends can do without.
    pub backlog: Option<(BacklogSource, ReadOptions)>,
    /// The statuses of tasks that are to be done; the open ones when empty.
    pub statuses: Vec<Status>,
    /// The repository.
    pub repository: Repository,
    /// Where the agents work.
    pub place: Place,
    /// Files there that are no work: those that tm writes, relative to its top.
    pub left_out: Vec<PathBuf>,
    /// Files in the user's checkout that tm itself writes; an agent in a worktree has no business in any other.
    pub own_files: Vec<PathBuf>,
    /// What follows when it wrote there nevertheless.
    pub escape: Escape,
    /// What is never committed.
    pub never_commit: PathPatterns,
    /// Whether the hooks of the repository are run for what tm commits.
    pub hooks: tm_worktrees::RunHooks,
    /// The memory of the loop.
    pub progress: ProgressFile,
    /// Where agents and tests are started.
    pub executor: Executor,
    /// The loop's folder.
    pub directory: LoopDirectory,
    /// This program.
    pub tm_program: PathBuf,
    /// What all lanes have spent.
    pub cost: SharedCost,
}

/// Where the agents of a lane work.
#[derive(Debug)]
pub enum Place {
    /// In the user's checkout.
    Checkout(PathBuf),
    /// In a worktree, on a branch.
    Worktree {
        /// Where it is from.
        checkouts: Box<Checkouts>,
        /// The worktree.
        worktree: Box<Worktree>,
    },
}

impl Place {
    /// Gives out a worktree on a new branch, clean and ready.
    ///
    /// # Errors
    /// Its set-up fails, which is nobody's fault, or git or the disk refused.
    pub async fn new_worktree(
        checkouts: Checkouts,
        branch: &BranchName,
        base: &CommitId,
    ) -> Result<Self, preparation::Error> {
        let worktree = Box::new(
            checkouts
                .worktree(branch, &BranchStart::New, base, &[])
                .await?,
        );
        Ok(Self::Worktree {
            checkouts: Box::new(checkouts),
            worktree,
        })
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Checkout(folder) => folder,
            Self::Worktree { worktree, .. } => worktree.path(),
        }
    }

    /// Returns the variables that say which slot a worktree is, and which ports belong to it.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        match self {
            Self::Checkout(_) => Vec::new(),
            Self::Worktree {
                checkouts,
                worktree,
            } => checkouts.variables(worktree.path()),
        }
    }

    /// Returns its branch, when it is one of tm's.
    pub fn branch(&self) -> Option<String> {
        match self {
            Self::Checkout(_) => None,
            Self::Worktree { worktree, .. } => Some(worktree.branch().to_string()),
        }
    }
}

/// What each lane has spent in US dollars, and which services refuse for now.
#[derive(Clone, Debug, Default)]
pub struct SharedCost(Arc<Mutex<BTreeMap<Tag, Standing>>>);

/// Where a lane stands, as far as that bears on others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    pub(super) spent: f64,
    /// The account of its agent.
    pub(super) account: String,
    /// Until when the service behind that refused it.
    pub(super) limited_until: Option<Timestamp>,
}

impl SharedCost {
    /// Records where a lane stands, and returns what the machine is to know of the others.
    pub(super) fn exchange(&self, lane: &Tag, own: Standing) -> Vec<LoopInput> {
        let mut all = locked(&self.0);
        let others = || {
            all.iter()
                .filter(|(other, _)| *other != lane)
                .map(|(_, standing)| standing)
        };
        let spent = others().map(|other| other.spent).sum();
        let limited = others()
            .filter(|other| other.account == own.account)
            .filter_map(|other| other.limited_until)
            .max();
        all.insert(lane.clone(), own);
        let limited = limited.map(LoopInput::LimitedElsewhere);
        std::iter::once(LoopInput::SpentElsewhere(spent))
            .chain(limited)
            .collect()
    }
}

impl LoopSetup {
    /// Gives the worktree back, whose work is on its branch; what could not be committed is kept under a name of tm's.
    /// Returns what people should know.
    pub async fn give_back(self) -> Vec<String> {
        let Place::Worktree {
            checkouts,
            worktree,
        } = self.place
        else {
            return Vec::new();
        };
        let lane = tm_store::run::safe_name(&self.lane.as_str().into());
        let reference = format!("refs/tm/salvage/{}/{lane}/1", self.id);
        let rest = format!(
            "loop: what was left uncommitted\n\nTag: {}\nRun: {}\n",
            self.lane, self.id
        );
        let (never_commit, hooks) = (self.never_commit, self.hooks);
        let released = blocking(move || {
            // A loop that was cut off may have left something, and a hook may refuse it.
            if worktree.commit_rest(&never_commit, &rest, hooks).is_err() || !worktree.is_clean()? {
                worktree.salvage(&reference, "tm: work of a loop that could not be committed")?;
            }
            worktree.release()
        });
        let warning = released.await.err().map(String::from);
        warning.into_iter().chain(checkouts.close().await).collect()
    }
}

/// The variables of a try, for whoever looks for its processes later.
pub(super) fn env_markers(
    id: &RunId,
    lane: &Tag,
    iteration: u32,
    attempt: u32,
) -> Vec<(String, String)> {
    vec![
        ("TM_RUN_ID".to_owned(), id.to_string()),
        ("TM_TAG".to_owned(), lane.to_string()),
        ("TM_TASK_ID".to_owned(), format!("iteration-{iteration}")),
        ("TM_ATTEMPT".to_owned(), attempt.to_string()),
    ]
}
