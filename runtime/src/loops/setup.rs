//! Everything that the loop of one tag is carried out with, put together by the caller before it begins; and what it leaves
//! for whoever comes after a crash, and what is done with that then.

use super::{LoopState, ProgressFile};
use crate::checkouts::preparation;
use crate::hooks::{HookRules, HookRunner, HookTrouble};
use crate::test_queue::Urgency;
use crate::{Checkouts, Error, Turn, blocking, now};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tm_config::Escape;
use tm_executors::agent::{AttemptLimits, end_abandoned};
use tm_executors::engine::Executor;
use tm_executors::testing::TestCommand;
use tm_presets::{LoopContext, PromptTemplate, Recipe};
use tm_scheduler::iteration::{Goal, LoopInput, LoopLimits, LoopStatus};
use tm_scheduler::{BranchName, CommitId, RunId, Status, Tag, Timestamp};
use tm_store::backlog::{BacklogSource, ReadOptions};
use tm_store::run::{LoopDirectory, ProjectDirectory, read_json};
use tm_untrusted::entries;
use tm_worktrees::{HookCall, PathPatterns, Repository, RunHook, Worktree};

/// The loop of one tag.
#[derive(Debug)]
pub struct LoopSetup {
    /// The loop.
    pub id: RunId,
    /// The tag that was asked for, or the one of the backlog that is current.
    pub tag: Tag,
    /// What it works towards.
    pub goal: Goal,
    /// What it may use.
    pub limits: LoopLimits,
    /// The command that must pass after each iteration, when one must.
    pub test_command: Option<TestCommand>,
    /// What the agents are asked.
    pub prompt: PromptTemplate,
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
    /// How the hooks of the repository are run for what tm commits; none is where nothing says so.
    pub hooks: Option<HookRules>,
    /// The memory of the loop.
    pub progress: ProgressFile,
    /// Where agents and tests are started.
    pub executor: Executor,
    /// How its agents are held, in words.
    pub sandbox: Option<String>,
    /// Whether something else holds them, which tm starts as it is.
    pub is_held_elsewhere: bool,
    /// The loop's folder.
    pub directory: LoopDirectory,
    /// This program.
    pub tm_program: PathBuf,
    /// What the loops of all tags have spent.
    pub cost: SharedCost,
}

/// Where the agents of a loop work.
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
        let turn = Turn::new(Urgency::SetUp);
        let made = checkouts.worktree(branch, None, base, &[], &turn);
        let worktree = Box::new(made.await?);
        Ok(Self::Worktree {
            checkouts: Box::new(checkouts),
            worktree,
        })
    }

    /// Returns the worktree, where it is one.
    pub(super) fn worktree(&self) -> Option<&Worktree> {
        match self {
            Self::Checkout(_) => None,
            Self::Worktree { worktree, .. } => Some(worktree),
        }
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
        Some(self.worktree()?.branch().to_string())
    }
}

/// What the loop of each tag has spent in US dollars, and which services refuse for now.
#[derive(Clone, Debug, Default)]
pub struct SharedCost(Arc<Mutex<BTreeMap<Tag, Standing>>>);

/// Where a tag's loop stands, as far as that bears on others.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) spent: f64,
    /// The account of its agent.
    pub(super) account: String,
    /// Until when the service behind that refused it.
    pub(super) limited_until: Option<Timestamp>,
}

impl SharedCost {
    /// Records where a loop stands, and returns what the machine is to know of the others.
    pub(super) fn exchange(&self, tag: &Tag, own: Standing) -> Vec<LoopInput> {
        let mut all = self.0.lock();
        let others = || all.iter().filter(|(other, _)| *other != tag);
        let spent = others().map(|(_, other)| other.spent).sum();
        let limited = others()
            .filter(|(_, other)| other.account == own.account)
            .filter_map(|(_, other)| other.limited_until)
            .max();
        all.insert(tag.clone(), own);
        let limited = limited.map(LoopInput::LimitedElsewhere);
        [LoopInput::SpentElsewhere(spent)]
            .into_iter()
            .chain(limited)
            .collect()
    }
}

/// Commits what agents left uncommitted in a worktree.
pub(super) fn commit_rest(
    worktree: &Worktree,
    never_commit: &PathPatterns,
    message: &str,
    runner: Option<&HookRunner>,
) -> Result<(), HookTrouble> {
    let mut run = runner.map(|runner| |call: &HookCall<'_>| runner.run(call));
    let run = run.as_mut().map(|run| -> RunHook<'_, HookTrouble> { run });
    worktree.commit_rest(never_commit, message, run).map(drop)
}

impl LoopSetup {
    /// Returns what runs the hooks where the agents work, where they are run.
    pub(super) fn hook_runner(&self) -> Option<HookRunner> {
        let Place::Worktree {
            checkouts,
            worktree,
        } = &self.place
        else {
            return None;
        };
        let (rules, place) = (self.hooks.clone()?, (&**checkouts, worktree.path()));
        Some(HookRunner::new(
            &self.executor,
            rules,
            place,
            self.directory.path(),
        ))
    }

    /// The message of a commit of what agents left.
    pub(super) fn message(&self, what: &str) -> String {
        format!("loop: {what}\n\nTag: {}\nRun: {}\n", self.tag, self.id)
    }

    /// Gives the worktree back, whose work is on its branch; what could not be committed is kept under a name of tm's.
    /// Returns what people should know.
    pub async fn give_back(self) -> Vec<String> {
        let rest = self.message("what was left uncommitted");
        let runner = self.hook_runner();
        let Place::Worktree {
            checkouts,
            worktree,
        } = self.place
        else {
            return Vec::new();
        };
        let tag = tm_store::run::safe_name(&self.tag.as_str().into());
        let reference = format!("refs/tm/salvage/{}/{tag}/1", self.id);
        let never_commit = self.never_commit;
        let released = blocking(move || {
            // A loop that was cut off may have left something, and a hook may refuse it.
            let committed = commit_rest(&worktree, &never_commit, &rest, runner.as_ref());
            if committed.is_err() || !worktree.is_clean()? {
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
    tag: &Tag,
    iteration: u32,
    attempt: u32,
) -> Vec<(String, String)> {
    vec![
        ("TM_RUN_ID".to_owned(), id.to_string()),
        ("TM_TAG".to_owned(), tag.to_string()),
        ("TM_TASK_ID".to_owned(), format!("iteration-{iteration}")),
        ("TM_ATTEMPT".to_owned(), attempt.to_string()),
    ]
}

/// A loop that was cut off: tm was killed, or the machine.
#[derive(Debug)]
pub struct CutOff {
    /// Where it stood.
    pub state: LoopState,
    /// Processes of its agent that were still there, and have been ended.
    pub ended_processes: u32,
}

/// Finds loops that were cut off, ends what their agents left running, and notes it in their progress files.
///
/// For whoever holds the run lock: nobody else can be working on them.
///
/// # Errors
/// A state can't be read or written.
pub async fn clean_up(project: &ProjectDirectory) -> Result<Vec<CutOff>, Error> {
    let mut found = Vec::new();
    // Whoever took the lock since has cleaned up what was before, so only the last loop can be unfinished.
    let Some(last) = project.loops()?.pop() else {
        return Ok(found);
    };
    let directory = project.loop_directory(&last)?;
    for mut state in states(&directory)? {
        if state.ended.is_some() {
            continue;
        }
        let cut_off = state.clone();
        let attempt = directory.attempt(state.tag.as_str(), state.iteration, state.attempt);
        let env_markers = env_markers(&state.id, &state.tag, state.iteration, state.attempt);
        let ended_processes = end_abandoned(
            &Executor::local(project.under_way()),
            (&attempt.agent(), attempt.own().path().to_owned()),
            &env_markers,
        )
        .await;
        if let Err(error) = ProgressFile::new(state.progress_file.clone()).cut_off(&state, now()) {
            // A progress file that somebody has removed with its folder needs no note.
            tracing::warn!(%error, "the progress file can't be written");
        }
        state.ended = Some(LoopStatus::Interrupted);
        state.write(&directory)?;
        found.push(CutOff {
            state: cut_off,
            ended_processes,
        });
    }
    Ok(found)
}

/// Returns where the loops of all tags of a loop stand.
///
/// # Errors
/// A state can't be read.
pub fn states(directory: &LoopDirectory) -> Result<Vec<LoopState>, Error> {
    let is_state = |name: &str| {
        name.strip_suffix(".json")
            .is_some_and(|name| name.starts_with("state-"))
    };
    let files =
        entries(directory.path()).filter(|entry| entry.file_name().to_str().is_some_and(is_state));
    files.map(|entry| Ok(read_json(&entry.path())?)).collect()
}
