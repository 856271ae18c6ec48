//! What to do about an error, and the exit code that it ends a command with: one table, wherever the error comes from.

mod autopilot;
mod before_run;
mod presets;

use crate::exit_code::ExitCode;
use autopilot::on_autopilot;
use before_run::CHOOSE_AN_AGENT;
pub(crate) use before_run::{INSTALL_THERE, broken_base, on_executors, untold_secret};
use itertools::Itertools as _;
pub(crate) use presets::on_recipe;
use tm_app::{Error, LostLandings};
use tm_runtime::JournalHeader;
use tm_runtime::callers::RefusedToAgent;
use tm_runtime::notices::UnknownChannel;
use tm_runtime::standing::NotTakenBack;
use tm_store::backlog::{BacklogError, Refusal};

/// An error of any crate.
type AnyError = dyn std::error::Error + 'static;
/// The exit code, and the next command to type or what to change.
type Advice = (ExitCode, Option<String>);

/// What to do where there is no backlog.
const NO_BACKLOG: &str = "`tm init` makes one, `--backlog PATH` names one";
/// What an agent does that may not steer its run.
const FOR_AGENTS: &str =
    "what should change about the run or its tasks goes into your result: `tm result --issue TEXT`";
/// Returns what to do about an error.
pub(crate) fn on(error: &AnyError) -> Advice {
    [
        on_app,
        on_autopilot,
        on_git,
        on_store,
        on_backlog,
        on_presets,
        on_settings,
        on_agent,
        on_channel,
    ]
    .into_iter()
    .find_map(|advice| advice(error))
    .unwrap_or((ExitCode::Error, None))
}

fn hint(words: impl Into<String>) -> Advice {
    coded(ExitCode::Error, words)
}

fn coded(code: ExitCode, words: impl Into<String>) -> Advice {
    (code, Some(words.into()))
}

fn on_presets(error: &AnyError) -> Option<Advice> {
    Some((ExitCode::Error, on_recipe(error.downcast_ref()?)))
}

fn on_settings(error: &AnyError) -> Option<Advice> {
    error
        .is::<tm_config::Error>()
        .then(|| hint("`tm config schema` lists every setting"))
}

fn on_agent(error: &AnyError) -> Option<Advice> {
    error
        .is::<RefusedToAgent>()
        .then(|| coded(ExitCode::Refused, FOR_AGENTS))
}

fn on_channel(error: &AnyError) -> Option<Advice> {
    let words = match error.downcast_ref()? {
        UnknownChannel::Unknown(_) => "`--notify desktop`, or `--notify URL`",
        UnknownChannel::NotBuilt => "build it with `--features webhooks`",
    };
    Some(coded(ExitCode::Usage, words))
}

fn on_git(error: &AnyError) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        tm_worktrees::Error::NoRepository { .. } => {
            hint("run `git init`, commit something, then `tm init`")
        }
        tm_worktrees::Error::NoCommits { .. } => {
            hint("`git add --all`, then `git commit`: work starts from a commit")
        }
        tm_worktrees::Error::NoCheckout { .. } => hint("`cd` to a checkout of yours"),
        _ => return None,
    })
}

fn on_store(error: &AnyError) -> Option<Advice> {
    let tm_store::Error::Held(holder) = error.downcast_ref()? else {
        return None;
    };
    let words = if holder.held_for == Some(tm_store::run::HeldFor::Loop) {
        "a loop works through the same backlog; `tm loop status` shows it, `tm loop stop` stops it, `tm waves run --wait` waits for it"
    } else {
        "`tm waves status` shows it, `tm waves stop` stops it, `tm waves run --wait` waits for it"
    };
    Some(coded(ExitCode::Busy, words))
}

fn on_backlog(error: &AnyError) -> Option<Advice> {
    Some(hint(match error.downcast_ref()? {
        BacklogError::UnknownGroup { .. } => {
            let words = "name one of these with `--task-group`, or leave it out";
            return Some(coded(ExitCode::Unplannable, words));
        }
        BacklogError::NotFound { .. } => "`tm init` makes one, `--file PATH` names one",
        BacklogError::UnknownTag { .. } => "name one of these with `--tag`",
        BacklogError::Refused {
            refusal: Refusal::UnknownTasks(_),
            ..
        } => "`tm list --with-subtasks` lists the ids",
        BacklogError::Refused { refusal, .. } => on_refusal(refusal)?,
        BacklogError::Syntax { .. } => {
            "correct it there; `git log -p` on the file shows what it was"
        }
        BacklogError::Locked { .. } => "try again when the other program has finished",
        _ => return None,
    }))
}

fn on_refusal(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::UnknownTag(_) => "`tm tags` lists the tags",
        Refusal::Crosses { .. } => "`--ignore-dependencies` removes these dependencies",
        Refusal::Taken(_) => "choose another name",
        _ => return None,
    })
}

fn on_runtime(error: &tm_runtime::Error) -> Option<Advice> {
    Some(match error {
        tm_runtime::Error::IntegrationMoved { branch, landed, .. } => hint(format!(
            "`git branch --force {branch} {landed}` brings it back to where tm left it, then `tm waves resume`; `git \
             branch NAME {branch}` before keeps what is there now"
        )),
        tm_runtime::Error::Store(error) => on(error),
        tm_runtime::Error::Git(error) => on(error),
        _ => return None,
    })
}

/// Errors of calls: those from below as they are, all others by their code and their words.
fn on_app(error: &AnyError) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        Error::Git(error) => on(error),
        Error::Store(error) => on(error),
        Error::Backlog(error) => on(error),
        Error::Settings(error) => on(error),
        Error::Channel(error) => on(error),
        Error::Autopilot(error) => on(error),
        Error::Runtime(error) => return on_runtime(error),
        Error::NoProgram(missing) if missing.place.is_some() => hint(INSTALL_THERE),
        Error::NoProgram(_) | Error::Presets(tm_presets::Error::ExtendsItself { .. }) => {
            hint(CHOOSE_AN_AGENT)
        }
        Error::Presets(error) => on(error),
        Error::Executors(error) => on_executors(error),
        error => {
            let words = on_run(error)
                .or_else(|| on_work(error))
                .map(ToOwned::to_owned);
            (code(error), words.or_else(|| naming(error)))
        }
    })
}

const fn code(error: &Error) -> ExitCode {
    match error {
        Error::Unplannable { .. } => ExitCode::Unplannable,
        Error::Interrupted => ExitCode::Interrupted,
        Error::LockLost(_)
        | Error::AutopilotUnderWay { .. }
        | Error::LimitsOfLiveRun
        | Error::LoopLive(_)
        | Error::Unreachable { .. }
        | Error::RunLive { .. } => ExitCode::Busy,
        Error::NotTakenBack(NotTakenBack::InTheWay { .. })
        | Error::WorkDoubted { .. }
        | Error::WorkRejected(_)
        | Error::RunUnfinished(_) => ExitCode::Refused,
        Error::NoReason
        | Error::TestsNotKept(..)
        | Error::ThreeDots
        | Error::UnknownRange(_)
        | Error::NothingOfItsOwn(_)
        | Error::NothingToAudit
        | Error::UnknownStatus(_)
        | Error::SeveralTags => ExitCode::Usage,
        _ => ExitCode::Error,
    }
}

/// Errors of runs, before they begin and later, and of those who steer them.
fn on_run(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoBacklog(_) => NO_BACKLOG,
        Error::NoHome => "set TM_HOME",
        Error::SectionNotWhole(_) => {
            "a line `<!-- tm:notes -->` begins it and a line `<!-- /tm:notes -->` ends it, each once; take the others out"
        }
        Error::DocumentChanged(_) => "`tm waves notes --propose` shows the change anew",
        Error::NoRun => "`tm waves run` starts one",
        Error::NoLoop => "`tm loop` starts one",
        Error::UnknownLoop(_) => "`tm loop list` lists the loops",
        Error::UnknownRun(_) => "`tm waves list` lists the runs",
        Error::NothingToApply => "`--on kubernetes` has them run there",
        Error::UnknownPlace(..) => "`tm waves run --help` lists what `--on` and `metadata.on` take",
        Error::UnreadableRun { error, .. } if error.is_unstarted() => {
            "`tm waves run` starts one, `tm waves list` lists others"
        }
        Error::Unplannable { refusal, .. } if refusal.is_of_order() => {
            "`tm list` lists the tasks, `tm list --with-subtasks` those of `--unit subtask`"
        }
        Error::Unplannable { refusal, .. } if !refusal.has_cycles() => {
            "correct the ids named above in the backlog"
        }
        Error::Unplannable { .. } => {
            "remove one dependency of each cycle, or let `--break-cycles` cut the one with the least meaning"
        }
        Error::LockLost(_) => "`tm waves resume` takes a run up where it stopped",
        Error::Preparation(tm_runtime::preparation::Error::Setup(_)) => {
            "`worktree.setup` in .taskmaster/tm.yaml is what makes a fresh checkout ready"
        }
        Error::NoWorktrees(_) => "see to it, then `tm waves run` again",
        Error::NoTests(_) => {
            "set `test.command` in .taskmaster/tm.yaml, pass `--test-command`, or run without pairs and proof: `--tdd off \
             --allow-broken-base`"
        }
        Error::WrongGate { .. } => {
            "correct `gates` in .taskmaster/tm.yaml; docs/gates.md has examples"
        }
        Error::RunEnded(_) => "`tm waves run` starts a new one",
        Error::RunBrokenOff(_) | Error::RunParked(_) => {
            "see to it, then `tm waves resume` takes the run up where it stopped"
        }
        Error::NoLiveRun(_) => {
            "`tm waves run` starts one, `tm waves resume` takes up an interrupted one"
        }
        Error::LimitsOfLiveRun => {
            "leave the flags out, or `tm waves stop` it first and resume it with them"
        }
        Error::LoopLive(_) => "`tm loop status` shows the loop, `tm loop stop` stops it",
        Error::Unreachable { .. } => "`tm waves stop` stops it by a signal",
        Error::RunLive { .. } => "wait for its end, or `tm waves stop`",
        _ => return None,
    })
}

/// Errors of those who look at work, judge it and pass it on, and of loops.
fn on_work(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::WorkRejected(_) => {
            "`tm waves run` takes it back and does it again, `tm review approve ID` changes your mind, `--with-rejected` \
             goes on"
        }
        Error::OnItsBranch(_) | Error::OnNoBranch => {
            "`git switch` to the branch that is to have it"
        }
        Error::NothingLanded(_) => "nothing landed in it, or it was removed once it was merged",
        Error::NotBroughtIn(_) => {
            "commit, stash or move what is in the way, then try again; nothing was changed"
        }
        Error::UnknownTask { .. } => {
            "`tm worktrees list` lists its tasks; a test task is `<id>:red`"
        }
        Error::NoReason => "say what is wrong: whoever does the task next is told nothing else",
        Error::TestsNotKept(..) => "leave `--keep-tests` out",
        Error::RunUnfinished(_) => {
            "`tm waves resume` takes it up, `tm waves run --on-interrupted fresh` leaves it as it is"
        }
        Error::UnknownRemote(_) => "`git remote` lists them",
        Error::NoRemote => "`git remote add origin URL`, or `--remote NAME`",
        Error::NoDefaultBranch => "`--base BRANCH` names it",
        Error::NothingToPass => {
            "`tm waves report` says what became of its tasks, `tm review --json` what was rejected"
        }
        Error::NotPushed(_) => "git says above why; nothing was opened, and nothing is ever forced",
        Error::Hub { .. } => {
            "the branches are pushed; `gh auth status` tells whether you are logged in, then try again"
        }
        Error::UnknownTarget(..) => "`tm worktrees list` lists the tasks of a run",
        Error::ShallowAudit => "`git fetch --unshallow`; in CI, check out with `fetch-depth: 0`",
        Error::ThreeDots
        | Error::UnknownRange(_)
        | Error::NothingOfItsOwn(_)
        | Error::NothingToAudit => {
            "`tm audit FROM..TO` names a range, as `tm audit origin/main..HEAD`; `tm waves list` lists runs"
        }
        Error::NoSandbox(_) => "install Docker, or leave out `--sandbox`",
        Error::NotHeld(_) => {
            "`--sandbox auto` takes what works here, and nothing where nothing does unless `sandbox.agents.network` is `api`"
        }
        Error::NothingToVerifyWith => {
            "pass `--test-command COMMAND`, or set `test.command` in .taskmaster/tm.yaml"
        }
        Error::SeveralTags => "`--parallel` loops over them at the same time, each in a worktree",
        Error::NoOpenTags => "`tm loop` without `--parallel` looks at the current tag",
        Error::ProgressUnwritten { .. } => "`--progress-file PATH`",
        _ => return None,
    })
}

/// Words that name what the error is about.
fn naming(error: &Error) -> Option<String> {
    Some(match error {
        Error::UnreadableRun { log, .. } => {
            let log = log.display();
            format!("`tm waves list` lists other runs; what this one did is in `{log}`")
        }
        Error::UnreadableLastRun { folder, .. } => format!(
            "`tm waves run --on-interrupted fresh` leaves that run as it is, in `{}`, and starts a new one where its \
             work landed",
            folder.display()
        ),
        Error::NotTakenBack(NotTakenBack::InTheWay { task, commit, .. }) => format!(
            "`git revert {commit}` and resolve it, `tm review approve {task}` where it is good as it is now, or `--base \
             COMMIT` from before it"
        ),
        Error::StartConflicts { branch, .. } => {
            format!("`git merge {branch}`, or choose where to start with `--base COMMIT`")
        }
        Error::AutopilotUnderWay { place, .. } => {
            let place = place.display();
            format!(
                "`tm autopilot status -p {place}` shows it, `tm autopilot pause -p {place}` stops it for now"
            )
        }
        Error::HookWithoutInterpreter { program, .. } => {
            format!("install `{program}`, or set `git.hooks: off` in .taskmaster/tm.yaml")
        }
        Error::NotSigned { settings, .. } => format!("see to {}", settings.join(", ")),
        Error::NothingProvable(tests) => broken_base(tests),
        Error::LandingsLost(lost) => on_lost_landings(lost),
        Error::JournalDoubted { header, .. } => {
            let shown = first_parents(header.integration_branch.as_str());
            format!("{shown}; {}", start_anew(header))
        }
        Error::NotShownAgain { header, item } => format!(
            "`git show {}` shows it; where you know why its tests fail now, `tm waves resume --trust-journal` goes on; {}",
            item.commit,
            start_anew(header)
        ),
        Error::WorkDoubted { branch, .. } => format!(
            "{}; `git merge {branch}` takes it as it is",
            first_parents(branch.as_str())
        ),
        Error::LandingConflicts { branch, .. } => {
            format!("`git merge {branch}` lets you resolve it")
        }
        Error::Unproven { task, .. } => format!(
            "`tm waves logs {task}` shows what its agent printed, `tm worktrees salvage` what is kept"
        ),
        Error::NothingToJudge(task) => {
            format!("`tm waves logs {task}` shows what its agent printed")
        }
        _ => return None,
    })
}

/// The command that shows what landed on a branch.
pub(crate) fn first_parents(branch: &str) -> String {
    format!("`git log --first-parent {branch}` shows what is there")
}

/// The command that goes on without what a run is said to have done.
fn start_anew(header: &JournalHeader) -> String {
    let base = &header.base_commit;
    format!(
        "`tm waves run --on-interrupted fresh --base {base}` leaves this run as it is and starts anew where it began"
    )
}

/// The integration branch made again from one branch that has everything, else all of them merged.
fn on_lost_landings(
    LostLandings {
        branch,
        needed,
        ids,
        ..
    }: &LostLandings,
) -> String {
    let then = "then `tm waves run --on-interrupted fresh` does what is left";
    match needed.as_slice() {
        [] => format!(
            "`tm set-status --id={} --status=pending`, {then}",
            ids.iter().join(",")
        ),
        [only] => format!("`git branch --force {branch} {only}`, {then} on top of it"),
        several => format!(
            "`git merge {}` brings them together where you are, {then}",
            several.iter().join(" ")
        ),
    }
}
