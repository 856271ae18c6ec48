//! What to do about an error of autopilot.

use super::{Advice, AnyError, NO_BACKLOG};
use crate::exit_code::ExitCode;
use tm_runtime::autopilot::{Error, ErrorKind};
use tm_scheduler::autopilot::{CalledBy, Counts, Unstartable};
use tm_store::run::HeldFor;

pub(super) fn on_autopilot(error: &AnyError) -> Option<Advice> {
    let error: &Error = error.downcast_ref()?;
    Some((code(error.kind()), hint(error)))
}

const fn code(kind: ErrorKind) -> ExitCode {
    match kind {
        ErrorKind::StepError => ExitCode::Error,
        ErrorKind::Usage => ExitCode::Usage,
        ErrorKind::Refused => ExitCode::Refused,
        ErrorKind::Unstartable => ExitCode::Unplannable,
        ErrorKind::Busy => ExitCode::Busy,
    }
}

/// What to do about it, with the next command to type.
fn hint(error: &Error) -> Option<String> {
    let text = match error {
        Error::Illegal(illegal) => {
            // Where counts are asked for, the refusal of a report without any says how they are given.
            let command = illegal.next.call(CalledBy::Command, Counts::Unasked);
            return command.map(|command| format!("`{command}`"));
        }
        Error::BrokenBase(tests) => return Some(super::broken_base(tests)),
        Error::Unstartable(error) => return Some(unstartable(error)),
        Error::Refused {
            verdict,
            is_paused,
            next,
            ..
        } => {
            let advice = verdict.suggestion.clone().unwrap_or_default();
            let next = next
                .as_ref()
                .map(|next| format!("; then `{next}`"))
                .unwrap_or_default();
            let paused = if *is_paused {
                "no try is left and the run is paused; "
            } else {
                ""
            };
            return Some(format!("{paused}{advice}{next}"));
        }
        Error::NothingChanged(_) => "the run is back at RED; `tm autopilot next` says what to do",
        Error::NoRun | Error::OfAnother { .. } => "`tm autopilot start ID` begins one",
        Error::UnknownRun(_) => "`tm autopilot status` names the current one",
        Error::Unfinished { .. } => {
            "`tm autopilot resume` goes on with it, `tm autopilot abort` gives it up, `--force` pauses it"
        }
        Error::WavesLive { holder, .. } if holder.held_for == Some(HeldFor::Loop) => {
            "`tm loop status` shows it, `tm loop stop` stops it"
        }
        Error::WavesLive { .. } => "`tm waves status` shows it, `tm waves stop` stops it",
        Error::Disabled => "set `autopilot.enabled` to true in .taskmaster/tm.yaml",
        Error::NotOurs(_) => "abort without `--cleanup`",
        Error::Unclean { .. } | Error::Uncommitted { .. } => {
            "commit them, or `git stash --include-untracked`"
        }
        Error::NoTestCommand => "set `test.command` in .taskmaster/tm.yaml",
        Error::NeverCommitted(_) => {
            "leave it out of `--files`; `git.never_commit` lists what is never committed"
        }
        Error::Rewritten(commit) => {
            return Some(format!(
                "`git reset --soft {commit:.12}` puts it back and leaves every file"
            ));
        }
        Error::DecidedOtherwise(_) => {
            "put settings, variables and backlog back, or `tm autopilot abort` and start again, with `test.command` set"
        }
        Error::NobodysRun(_) | Error::StateOtherwise { .. } | Error::Unusable { .. } => {
            "look at what it has committed, then `tm autopilot abort` gives it up and `tm autopilot start ID` begins anew"
        }
        Error::Unjudged(commit) => {
            return Some(format!(
                "`git branch kept && git reset --keep {commit:.12}` takes them away and keeps them"
            ));
        }
        Error::ChangedSince { .. } => {
            "the run is back at GREEN: `tm autopilot complete green` has it judged again"
        }
        Error::LeftOut { .. } => "commit without `--files`",
        Error::Results { .. } | Error::NoResults => {
            "write `--results failed:3,passed:0`, or JSON such as `{\"passed\":3,\"failed\":0}`"
        }
        Error::CommitTemplate(_) => {
            "there are {{ id }}, {{ title }}, {{ description }}, {{ phase }}, {{ type }}, {{ scope }}, {{ tag }}, \
                 {{ run }} and {{ files }}"
        }
        Error::Template(_) => "there are {type}, {scope}, {msg} and {taskId}",
        Error::Backlog(tm_store::backlog::BacklogError::NotFound { .. }) => NO_BACKLOG,
        Error::NotConfirmed(_) => "`--no-confirm` asks nothing",
        Error::NoHome => "set TM_HOME",
        Error::Settings(error) => return super::on(error).1,
        Error::Git(error) => return of_git(error),
        _ => return None,
    };
    Some(text.to_owned())
}

fn of_git(error: &tm_worktrees::Error) -> Option<String> {
    use tm_worktrees::Error;
    let text = match error {
        Error::WrongHead { expected, .. } => return Some(format!("`git switch {expected}`")),
        Error::RefusedDefaultBranch { .. } => "choose another name with `--branch`",
        Error::BranchTaken { .. } => "choose another name with `--branch`, or delete it",
        Error::CommitRefused { .. } => {
            "set right what git complains about, then again; `git.hooks: off` in .taskmaster/tm.yaml runs no hook"
        }
        error => return super::on(error).1,
    };
    Some(text.to_owned())
}

fn unstartable(error: &Unstartable) -> String {
    let text = match error {
        Unstartable::Subtask { task, .. } => {
            return format!("`tm autopilot start {task}` runs its task");
        }
        Unstartable::Waiting { .. } => "do that first, or start with `--force`",
        Unstartable::Unknown(_) => "`tm list --with-subtasks` lists the ids",
        Unstartable::NothingOpen(_) => "set a subtask back to pending to work on it again",
        _ => "look at the backlog: `tm tasks check` names what is wrong with it",
    };
    text.to_owned()
}
