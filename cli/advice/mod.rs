//! What to do about an error, and the exit code that it ends a command with: one table, wherever the error comes from.

mod autopilot;
mod presets;

use crate::failure::ExitCode;
pub(crate) use presets::on_recipe;
use std::error::Error as AnyError;
use std::path::Path;
use tm_app::{BrokenTests, Error, LostLandings};
use tm_runtime::JournalHeader;
use tm_runtime::autopilot::ErrorKind;
use tm_runtime::callers::RefusedToAgent;
use tm_runtime::notices::UnknownChannel;
use tm_runtime::standing::NotTakenBack;
use tm_scheduler::TaskId;
use tm_store::backlog::{BacklogError, Refusal};
use tm_worktrees::BranchName;

/// The exit code, and the next command to type or what to change.
type Advice = (ExitCode, Option<String>);

/// What to do when the surroundings ended a run.
const RESUME_HINT: &str = "see to it, then `tm waves resume` takes the run up where it stopped";
/// What to do where there is no backlog.
const NO_BACKLOG: &str = "`tm init` makes one, `--backlog PATH` names one";
/// What an agent does that may not steer its run.
pub(crate) const FOR_AGENTS: &str =
    "what should change about the run or its tasks goes into your result: `tm result --issue TEXT`";
/// What to do when an agent can't be used.
const CHOOSE_AN_AGENT: &str =
    "`--agent NAME` chooses another agent, `--agent-command COMMAND` any command";

/// Returns what to do about an error.
pub(crate) fn on(error: &(dyn AnyError + 'static)) -> Advice {
    let known = [
        on_call,
        on_run,
        on_work,
        on_autopilot,
        on_git,
        on_store,
        on_backlog,
        on_others,
    ];
    known
        .into_iter()
        .find_map(|advice| advice(error))
        .unwrap_or((ExitCode::Error, None))
}

/// The settings to change, and the flag that goes on where the base can prove nothing.
fn broken_base(tests: &BrokenTests) -> String {
    let settings = tests.what_to_change();
    format!("{settings}; `--allow-broken-base` goes on all the same")
}

fn hint(words: impl Into<String>) -> Advice {
    coded(ExitCode::Error, words)
}

fn coded(code: ExitCode, words: impl Into<String>) -> Advice {
    (code, Some(words.into()))
}

fn on_others(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    if let Some(error) = error.downcast_ref::<tm_presets::Error>() {
        return Some((ExitCode::Error, on_recipe(error)));
    }
    if error.is::<tm_config::Error>() {
        return Some(hint("`tm config schema` lists every setting"));
    }
    if let Some(error) = error.downcast_ref::<UnknownChannel>() {
        let words = match error {
            UnknownChannel::Unknown(_) => "`--notify desktop`, or `--notify URL`",
            UnknownChannel::NotBuilt => "build it with `--features webhooks`",
        };
        return Some(coded(ExitCode::Usage, words));
    }
    if error.is::<RefusedToAgent>() {
        return Some(coded(ExitCode::Refused, FOR_AGENTS));
    }
    None
}

fn on_git(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        tm_worktrees::Error::NoRepository { .. } => {
            hint("run `git init`, commit something, then `tm init`")
        }
        tm_worktrees::Error::NoCommits { .. } => hint("make a first commit"),
        _ => return None,
    })
}

fn on_store(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        tm_store::Error::Held(holder) if tm_app::is_loop(holder) => coded(
            ExitCode::Busy,
            "a loop works through the same backlog; `tm waves stop` stops it, `tm waves run --wait` waits for it",
        ),
        tm_store::Error::Held(_) => coded(
            ExitCode::Busy,
            "`tm waves status` shows it, `tm waves stop` stops it, `tm waves run --wait` waits for it",
        ),
        _ => return None,
    })
}

fn on_backlog(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(hint(match error.downcast_ref()? {
        BacklogError::NotFound { .. } => "`tm init` makes one, `--file PATH` names one",
        BacklogError::UnknownTag { .. } => "name one of these with `--tag`",
        BacklogError::UnknownTasks { .. }
        | BacklogError::Refused {
            refusal: Refusal::UnknownTasks(_),
            ..
        } => "`tm list --with-subtasks` lists the ids",
        BacklogError::Refused {
            refusal: Refusal::UnknownTag(_),
            ..
        } => "`tm tags` lists the tags",
        BacklogError::Refused {
            refusal: Refusal::Crosses { .. },
            ..
        } => "`--ignore-dependencies` removes these dependencies",
        BacklogError::Refused {
            refusal: Refusal::Taken(_),
            ..
        } => "choose another name",
        BacklogError::Syntax { .. } => {
            "correct it there; `git log -p` on the file shows what it was"
        }
        BacklogError::Locked { .. } => "try again when the other program has finished",
        _ => return None,
    }))
}

fn on_autopilot(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    let error: &tm_runtime::autopilot::Error = error.downcast_ref()?;
    let code = match error.kind() {
        ErrorKind::StepError => ExitCode::Error,
        ErrorKind::Usage => ExitCode::Usage,
        ErrorKind::Refused => ExitCode::Refused,
        ErrorKind::Unstartable => ExitCode::Unplannable,
        ErrorKind::Busy => ExitCode::Busy,
    };
    Some((code, autopilot::hint(error)))
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

fn other_run(error: &tm_runtime::Error, log: &Path) -> String {
    if matches!(
        error,
        tm_runtime::Error::Store(tm_store::Error::JournalUnstarted { .. })
    ) {
        return "`tm waves run` starts one, `tm waves list` lists others".to_owned();
    }
    format!(
        "`tm waves list` lists other runs; what this one did is in `{}`",
        log.display()
    )
}

/// Errors from below, and those of runs before they begin.
fn on_call(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        Error::Git(error) => on(error),
        Error::Store(error) => on(error),
        Error::Backlog(error) => on(error),
        Error::Settings(error) => on(error),
        Error::Channel(error) => on(error),
        Error::Runtime(error) => return on_runtime(error),
        Error::Autopilot(error) => on(error),
        Error::NoBacklog(_) => hint(NO_BACKLOG),
        Error::NoHome => hint("set TM_HOME"),
        Error::NoRun => hint("`tm waves run` starts one"),
        Error::UnknownRun(_) => hint("`tm waves list` lists the runs"),
        Error::UnreadableRun { error, log } => hint(other_run(error, log)),
        Error::UnreadableLastRun { folder, .. } => hint(format!(
            "`tm waves run --on-interrupted fresh` leaves that run as it is, in `{}`, and starts a new one where its \
             work landed",
            folder.display()
        )),
        Error::Unplannable { refusal, .. } => coded(
            ExitCode::Unplannable,
            if refusal.cycles.is_empty() {
                "correct the ids named above in the backlog"
            } else {
                "remove one dependency of each cycle, or let `--break-cycles` cut the one with the least meaning"
            },
        ),
        Error::NotTakenBack(
            NotTakenBack::InTheWay { task, commit, .. }
            | NotTakenBack::NotApart { task, commit, .. },
        ) => coded(
            ExitCode::Refused,
            format!(
                "`git revert {commit}` and resolve it, `tm review approve {task}` where it is good as it is now, or `--base \
                 COMMIT` from before it"
            ),
        ),
        Error::StartConflicts { branch, .. } => hint(format!(
            "`git merge {branch}`, or choose where to start with `--base COMMIT`"
        )),
        Error::LockLost(_) => coded(
            ExitCode::Busy,
            "`tm waves resume` takes a run up where it stopped",
        ),
        Error::AutopilotUnderWay { place, .. } => {
            let place = place.display();
            coded(
                ExitCode::Busy,
                format!(
                    "`tm autopilot status -p {place}` shows it, `tm autopilot pause -p {place}` stops it for now"
                ),
            )
        }
        Error::Preparation(tm_runtime::preparation::Error::Setup(_)) => {
            hint("`worktree.setup` in .taskmaster/tm.yaml is what makes a fresh checkout ready")
        }
        Error::NoWorktrees(_) => hint("see to it, then `tm waves run` again"),
        Error::NoProgram { .. }
        | Error::Presets(
            tm_presets::Error::UnknownAgent { .. } | tm_presets::Error::ExtendsItself { .. },
        ) => hint(CHOOSE_AN_AGENT),
        Error::Presets(error) => on(error),
        Error::NoTests(_) => hint(
            "set `test.command` in .taskmaster/tm.yaml, pass `--test-command`, or run without pairs and proof: `--tdd off \
             --allow-broken-base`",
        ),
        Error::WrongGate { .. } => {
            hint("correct `gates` in .taskmaster/tm.yaml; docs/gates.md has examples")
        }
        Error::HookWithoutInterpreter { program, .. } => hint(format!(
            "install `{program}`, or set `git.hooks: off` in .taskmaster/tm.yaml"
        )),
        Error::NotSigned { settings, .. } => hint(format!("see to {}", settings.join(", "))),
        Error::Interrupted => (ExitCode::Interrupted, None),
        Error::NothingProvable(tests) => hint(broken_base(tests)),
        _ => return None,
    })
}

/// Errors of runs that were begun, and of those who steer them.
fn on_run(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        Error::LandingsLost(lost) => hint(on_lost_landings(lost)),
        Error::JournalDoubted { header, .. } => hint(format!(
            "{}; {}",
            first_parents(&header.integration_branch),
            start_anew(header)
        )),
        Error::NotShownAgain { header, item } => hint(format!(
            "`git show {}` shows it; where you know why its tests fail now, `tm waves resume --trust-journal` goes on; {}",
            item.commit,
            start_anew(header)
        )),
        Error::RunEnded(_) => hint("`tm waves run` starts a new one"),
        Error::RunBrokenOff(_) | Error::RunParked(_) => hint(RESUME_HINT),
        Error::WorkDoubted { branch, .. } => coded(ExitCode::Refused, first_parents(branch)),
        Error::NoLiveRun { .. } => {
            hint("`tm waves run` starts one, `tm waves resume` takes up an interrupted one")
        }
        Error::LimitsOfLiveRun => coded(
            ExitCode::Busy,
            "leave the flags out, or `tm waves stop` it first and resume it with them",
        ),
        Error::LoopLive { .. } => coded(ExitCode::Busy, "`tm waves stop` stops the loop"),
        Error::Unreachable { .. } => coded(ExitCode::Busy, "`tm waves stop` stops it by a signal"),
        Error::RunLive { .. } => coded(ExitCode::Busy, "wait for its end, or `tm waves stop`"),
        _ => return None,
    })
}

/// Errors of those who look at work, judge it and pass it on, and of loops.
fn on_work(error: &(dyn AnyError + 'static)) -> Option<Advice> {
    Some(match error.downcast_ref()? {
        Error::WorkRejected(_) => coded(
            ExitCode::Refused,
            "`tm waves run` takes it back and does it again, `tm review approve ID` changes your mind, `--with-rejected` \
             goes on",
        ),
        Error::OnNoBranch => hint("`git switch` to the branch that is to have it"),
        Error::NothingLanded(_) => hint("nothing landed in it"),
        Error::LandingConflicts { branch, .. } => {
            hint(format!("`git merge {branch}` lets you resolve it"))
        }
        Error::NotBroughtIn(_) => {
            hint("commit, stash or move what is in the way, then try again; nothing was changed")
        }
        Error::UnknownTask { .. } => {
            hint("`tm worktrees list` lists its tasks; a test task is `<id>:red`")
        }
        Error::Unproven { task, .. } => hint(format!(
            "`tm waves logs {task}` shows what its agent printed, `tm worktrees salvage` what is kept"
        )),
        Error::NoReason => coded(
            ExitCode::Usage,
            "say what is wrong: whoever does the task next is told nothing else",
        ),
        Error::TestsNotKept { .. } => coded(ExitCode::Usage, "leave `--keep-tests` out"),
        Error::RunUnfinished(_) => coded(
            ExitCode::Refused,
            "`tm waves resume` takes it up, `tm waves run --on-interrupted fresh` leaves it as it is",
        ),
        Error::UnknownRemote(_) => hint("`git remote` lists them"),
        Error::NoRemote => hint("`git remote add origin URL`, or `--remote NAME`"),
        Error::NoDefaultBranch => hint("`--base BRANCH` names it"),
        Error::NothingToPass => hint(
            "`tm waves report` says what became of its tasks, `tm review --json` what was rejected",
        ),
        Error::NotPushed(_) => {
            hint("git says above why; nothing was opened, and nothing is ever forced")
        }
        Error::Hub { .. } => hint(
            "the branches are pushed; `gh auth status` tells whether you are logged in, then try again",
        ),
        Error::UnknownTarget { .. } => hint("`tm worktrees list` lists the tasks of a run"),
        Error::NothingToJudge(task) => hint(format!(
            "`tm waves logs {task}` shows what its agent printed"
        )),
        Error::ShallowAudit => {
            hint("`git fetch --unshallow`; in CI, check the whole history out (`fetch-depth: 0`)")
        }
        Error::ThreeDots
        | Error::UnknownRange(_)
        | Error::NothingOfItsOwn(_)
        | Error::NothingToAudit => coded(
            ExitCode::Usage,
            "`tm audit FROM..TO` names a range, as `tm audit origin/main..HEAD`; `tm waves list` lists runs",
        ),
        Error::NoSandbox(_) => hint("install Docker, or leave out `--sandbox`"),
        Error::NothingToVerifyWith => {
            hint("pass `--test-command COMMAND`, or set `test.command` in .taskmaster/tm.yaml")
        }
        Error::UnknownStatus(_) => (ExitCode::Usage, None),
        Error::SeveralTags => coded(
            ExitCode::Usage,
            "`--parallel` loops over them at the same time, each in a worktree",
        ),
        Error::NoOpenTags => hint("`tm loop` without `--parallel` looks at the current tag"),
        Error::ProgressUnwritten { .. } => hint("`--progress-file PATH`"),
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
    let needed: Vec<&str> = needed.iter().map(BranchName::as_str).collect();
    let then = "then `tm waves run --on-interrupted fresh` does what is left";
    match needed.as_slice() {
        [] => {
            let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
            format!(
                "`tm set-status --id={} --status=pending`, {then}",
                ids.join(",")
            )
        }
        [only] => format!("`git branch --force {branch} {only}`, {then} on top of it"),
        several => format!(
            "`git merge {}` brings them together where you are, {then}",
            several.join(" ")
        ),
    }
}
