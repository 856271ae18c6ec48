//! What can keep a call from being carried out. Texts follow "failed to"; what to do about it is for the caller to say.

mod lost_landings;
mod missing_program;
mod words;

pub use lost_landings::LostLandings;
pub use missing_program::MissingProgram;

use std::path::PathBuf;
use tm_reports::DoubtSummary;
use tm_runtime::JournalHeader;
use tm_runtime::audit::Doubt;
use tm_runtime::preflight::BrokenTests;
use tm_runtime::standing::NotTakenBack;
use tm_scheduler::{
    AuditItem, BranchName, BranchNameError, RunId, Status, TaskId, Unplannable, quoted,
    quoted_files, with_causes,
};
use tm_store::backlog::BacklogError;
use tm_store::run::Holder;
use words::not_shown;

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// git refused.
    #[error(transparent)]
    Git(#[from] tm_worktrees::Error),
    /// A branch can't be called so.
    #[error(transparent)]
    BranchName(#[from] BranchNameError),
    /// A durable file can't be read or written.
    #[error(transparent)]
    Store(#[from] tm_store::Error),
    /// The backlog can't be read or written.
    #[error(transparent)]
    Backlog(#[from] BacklogError),
    /// The settings make no sense.
    #[error(transparent)]
    Settings(#[from] tm_config::Error),
    /// An agent, a prompt or a preset can't be used.
    #[error(transparent)]
    Presets(#[from] tm_presets::Error),
    /// A process can't be started or followed.
    #[error(transparent)]
    Executors(#[from] tm_executors::Error),
    /// A run or a loop can't go on.
    #[error(transparent)]
    Runtime(#[from] tm_runtime::Error),
    /// Autopilot can't tell how it stands.
    #[error(transparent)]
    Autopilot(#[from] tm_runtime::autopilot::Error),
    /// Checkouts can't be made ready.
    #[error(transparent)]
    Preparation(#[from] tm_runtime::preparation::Error),
    /// A channel is none.
    #[error(transparent)]
    Channel(#[from] tm_runtime::notices::UnknownChannel),
    /// The system refused.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// There is no backlog.
    #[error(transparent)]
    NoBacklog(BacklogError),
    /// There is no folder for runs.
    #[error("find your home folder")]
    NoHome,
    /// The lines around tm's section of a document do not belong together.
    #[error("find tm's section in `{0}`: it has no beginning, no end, or several")]
    SectionNotWhole(&'static str),
    /// Somebody else has changed a document.
    #[error("write `{0}`: somebody else has changed it meanwhile")]
    DocumentChanged(&'static str),
    /// There has been no run.
    #[error("find a run: there has been none")]
    NoRun,
    /// There has been no loop.
    #[error("find a loop: there has been none")]
    NoLoop,
    /// There is no such loop.
    #[error("find the loop `{0}`")]
    UnknownLoop(RunId),
    /// Nothing is applied to a cluster where agents don't run on one.
    #[error("show what would be applied: agents don't run on Kubernetes")]
    NothingToApply,
    /// A task names a place where no agents run.
    #[error("find the place `{1}` of task {0}")]
    UnknownPlace(TaskId, String),
    /// There is no such run.
    #[error("find the run `{0}`")]
    UnknownRun(RunId),
    /// The journal of a run can't be read.
    #[error("{}", with_causes(error))]
    UnreadableRun {
        /// Why.
        error: Box<tm_runtime::Error>,
        /// Where tm wrote down what it did.
        log: PathBuf,
    },
    /// The journal of the last run, which may have been interrupted, can't be read.
    #[error("{}", with_causes(error))]
    UnreadableLastRun {
        /// Why.
        error: Box<tm_runtime::Error>,
        /// The run.
        run: RunId,
        /// Its folder.
        folder: PathBuf,
    },
    /// The backlog can't be planned.
    #[error("plan `{}`: {refusal}", backlog.display())]
    Unplannable {
        /// The backlog.
        backlog: PathBuf,
        /// Why.
        refusal: Unplannable,
    },
    /// Rejected work can't be taken back.
    #[error(transparent)]
    NotTakenBack(#[from] NotTakenBack),
    /// Both HEAD and the last run's branch have work, and they conflict.
    #[error(
        "start: `{branch}` holds landed work that HEAD has not, HEAD has moved on, and they conflict in {}",
        quoted_files(files)
    )]
    StartConflicts {
        /// The branch.
        branch: String,
        /// Where.
        files: Vec<String>,
    },
    /// The run lock was lost.
    #[error(transparent)]
    LockLost(tm_store::Error),
    /// A run of autopilot goes on in the repository.
    #[error("start: autopilot's run `{run}` is under way in `{}`", place.display())]
    AutopilotUnderWay {
        /// The run.
        run: RunId,
        /// Its checkout.
        place: PathBuf,
    },
    /// The worktrees of a run can't be made.
    #[error(transparent)]
    NoWorktrees(tm_worktrees::Error),
    /// The program of an agent is not there.
    #[error("{0}")]
    NoProgram(MissingProgram),
    /// A pair can't be proven without tests.
    #[error("prove `{0}`: there is no test command, and none was found")]
    NoTests(TaskId),
    /// A gate can't be asked.
    #[error("use the gate `{gate}`: {why}")]
    WrongGate {
        /// The gate.
        gate: String,
        /// Why.
        why: String,
    },
    /// A hook can't be run.
    #[error("run the hook {place}: `{program}`, which it begins with, is not there")]
    HookWithoutInterpreter {
        /// The hook and where it is.
        place: String,
        /// What it begins with.
        program: String,
    },
    /// Commits can't be signed.
    #[error("sign a commit, as your git configuration asks for:\n  {output}")]
    NotSigned {
        /// What signing printed last.
        output: String,
        /// The settings of git's that decide about it.
        settings: Vec<String>,
    },
    /// Work could not be judged.
    #[error("{what}: {why}")]
    Unjudged {
        /// What was to be done.
        what: String,
        /// Why it can't be.
        why: String,
    },
    /// Somebody interrupted the look at the base.
    #[error("look at the base: interrupted")]
    Interrupted,
    /// No work could be proven on the base.
    #[error("start: no work could be proven on this base{0}")]
    NothingProvable(BrokenTests),
    /// The work that a run landed is gone.
    #[error("{0}")]
    LandingsLost(Box<LostLandings>),
    /// Journal and git do not agree.
    #[error(
        "take up the run {}: its journal and git do not agree about `{}`: {}{}",
        header.run_id,
        doubt.commit,
        doubt.task.as_ref().map_or_else(String::new, |task| format!("task `{task}` landed as it, but ")),
        doubt.why
    )]
    JournalDoubted {
        /// The run.
        header: Box<JournalHeader>,
        /// What does not agree.
        doubt: Box<Doubt>,
    },
    /// Work that is said to be proven can't be shown again.
    #[error("{}", not_shown(header, item))]
    NotShownAgain {
        /// The run.
        header: Box<JournalHeader>,
        /// The work.
        item: Box<AuditItem>,
    },
    /// A run that is over can't be taken up.
    #[error("take up the run {0}: it has ended")]
    RunEnded(RunId),
    /// What a run does could not be written; it can be taken up.
    #[error(transparent)]
    RunBrokenOff(Box<Self>),
    /// The surroundings ended a run; it can be taken up.
    #[error("go on with the run: failed to {0}")]
    RunParked(String),
    /// Journal and git do not agree about what is to be passed on.
    #[error(
        "pass on the work of the run {run}: its journal and git do not agree about `{}`: {}",
        doubt.commit,
        doubt.why
    )]
    WorkDoubted {
        /// The run.
        run: String,
        /// Its branch.
        branch: BranchName,
        /// What does not agree.
        doubt: Box<DoubtSummary>,
    },
    /// The run can't be steered.
    #[error(transparent)]
    Call(#[from] tm_runtime::steering::CallError),
    /// The limits of a live run stay as they are.
    #[error("change the limits of a live run")]
    LimitsOfLiveRun,
    /// No run is live that could do this.
    #[error("{0}: no run is live")]
    NoLiveRun(String),
    /// A loop is live, which can't do what a run was to do.
    #[error("{0}: a loop is live, and no run")]
    LoopLive(String),
    /// The live run can't be reached.
    #[error("{wanted}: the live run can't be reached, {holder}")]
    Unreachable {
        /// What it was to do.
        wanted: String,
        /// Who it is.
        holder: Box<Holder>,
    },
    /// The process of the run is somewhere else.
    #[error("stop the run: its process is not on this machine ({0})")]
    NotOnThisMachine(Box<Holder>),
    /// A run is live.
    #[error("{what} is live: {holder}")]
    RunLive {
        /// What was to be done while what.
        what: &'static str,
        /// Who it is.
        holder: Box<Holder>,
    },
    /// Work that is to be passed on was rejected.
    #[error("pass on what the review rejected: {}", quoted(.0))]
    WorkRejected(Vec<String>),
    /// HEAD is on no branch.
    #[error("merge: HEAD is on no branch")]
    OnNoBranch,
    /// HEAD is on the branch whose work is to be merged.
    #[error("merge `{0}` into itself: it is what you are on")]
    OnItsBranch(BranchName),
    /// There is no such branch: nothing landed in it, or it was removed since.
    #[error("merge: there is no branch `{0}`")]
    NothingLanded(BranchName),
    /// A branch conflicts with the one that is to have it.
    #[error(
        "land `{branch}` on `{onto}`: they conflict in {}",
        quoted_files(files)
    )]
    LandingConflicts {
        /// The branch.
        branch: BranchName,
        /// The user's.
        onto: String,
        /// Where.
        files: Vec<String>,
    },
    /// Something of the user's is in the way of a merge.
    #[error(transparent)]
    NotBroughtIn(tm_worktrees::Error),
    /// A run has no such task.
    #[error("find the task `{task}` in the run {run}")]
    UnknownTask {
        /// The task.
        task: String,
        /// The run.
        run: String,
    },
    /// A task has no proven work.
    #[error("look at the work of `{task}`: none of it is proven, it is {state}")]
    Unproven {
        /// The task.
        task: String,
        /// Where it stands.
        state: String,
    },
    /// Work is to be rejected, and nobody says why.
    #[error("a reason is required")]
    NoReason,
    /// There is no work to reject.
    #[error("reject work: there is none")]
    NothingToReject,
    /// The tests of this task can't stay, and why.
    #[error("the tests of `{0}` can't be kept: {1}")]
    TestsNotKept(String, &'static str),
    /// A run that can be taken up owns its tasks.
    #[error("reject work of the run {0}, which can still be taken up")]
    RunUnfinished(RunId),
    /// There is no such remote.
    #[error("find the remote `{0}`")]
    UnknownRemote(String),
    /// There is no remote.
    #[error("find a remote to push to")]
    NoRemote,
    /// It is not clear which branch is to have the work.
    #[error("find the default branch")]
    NoDefaultBranch,
    /// Nothing of a run can be passed on.
    #[error("open a pull request: nothing of that run can be passed on")]
    NothingToPass,
    /// The remote refused.
    #[error(transparent)]
    NotPushed(tm_worktrees::Error),
    /// A path is no text.
    #[error("name `{0}` on a command line")]
    UnnameablePath(PathBuf),
    /// `gh` failed, did not end, or said something odd.
    #[error("call `gh {call}`: {why}")]
    Hub {
        /// Its first words.
        call: String,
        /// Why.
        why: String,
    },
    /// There is neither such a folder nor such a task.
    #[error("find a folder or, in the run {1}, a task `{0}`")]
    UnknownTarget(String, RunId),
    /// A task has no work.
    #[error("judge `{0}`: there is no work of it to judge")]
    NothingToJudge(String),
    /// The clone has only a part of its history.
    #[error("audit a clone that has only a part of its history")]
    ShallowAudit,
    /// A range of two commits has two dots.
    #[error("a range has two dots, not three")]
    ThreeDots,
    /// A range names what is not there.
    #[error("there is no such range, commit or run: failed to {0}")]
    UnknownRange(tm_worktrees::Error),
    /// The default branch has everything.
    #[error("the default branch has everything of `{0}`")]
    NothingOfItsOwn(String),
    /// Nothing was done by a run.
    #[error("there is nothing to audit: HEAD has nothing of a run that is new")]
    NothingToAudit,
    /// There is no sandbox.
    #[error(transparent)]
    NoSandbox(Box<Self>),
    /// Nothing can hold agents as was asked for.
    #[error("hold agents: {0}")]
    NotHeld(String),
    /// A loop is to run tests, and there are none.
    #[error("verify: there is no test command, and none was found")]
    NothingToVerifyWith,
    /// There is no such status.
    #[error("`{0}` is no status, there are {known}", known = quoted(&Status::KNOWN))]
    UnknownStatus(String),
    /// Several tags can only be looped over at the same time.
    #[error("several tags can't be looped over one after the other")]
    SeveralTags,
    /// There is nothing to loop over.
    #[error("find tags to loop over: the backlog has none with open tasks")]
    NoOpenTags,
    /// The memory of a loop can't be written.
    #[error("write `{path}`: {source}")]
    ProgressUnwritten {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}
