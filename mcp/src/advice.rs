//! What a client can do about an error, in the words of tools.

use tm_app::{BrokenTests, Error};
use tm_runtime::autopilot::Error as AutopilotError;
use tm_scheduler::autopilot::Unstartable;
use tm_store::backlog::{BacklogError, Refusal as BacklogRefusal};
use tm_store::run::{HeldFor, Holder};

/// Returns what to do about it, where that can be said.
pub(crate) fn on(error: &Error) -> Option<String> {
    let words = match error {
        Error::Store(tm_store::Error::Held(holder)) => on_holder(holder),
        Error::AutopilotUnderWay { .. } => {
            "`autopilot_status` shows it, `autopilot_pause` stops it for now"
        }
        Error::NoRun | Error::RunEnded(_) => "`waves_run` starts one",
        Error::RunBrokenOff(_) | Error::RunParked(_) => {
            "see to it, then `waves_run` takes the run up where it stopped"
        }
        Error::NothingProvable(tests) => return Some(broken_base(tests)),
        Error::Backlog(error) | Error::NoBacklog(error) => on_backlog(error)?,
        Error::NoProgram(_) => "`agent` chooses another agent",
        Error::NoTests(_) => "set `test.command` in .taskmaster/tm.yaml",
        Error::Settings(tm_config::Error::Changed) => "call again",
        Error::Settings(_) => "correct it where it stands: in this call, or in .taskmaster/tm.yaml",
        Error::Unplannable { .. } => "correct the ids and dependencies that are named",
        _ => return None,
    };
    Some(words.to_owned())
}

/// What an agent does that may not steer its run.
pub(crate) const FOR_AGENTS: &str =
    "what should change about the run or its tasks goes into your result: `tm result --issue TEXT`";

fn on_holder(holder: &Holder) -> &'static str {
    if holder.held_for == Some(HeldFor::Loop) {
        "a loop works through the backlog: wait for its end, or have the user stop it (`tm loop stop`)"
    } else {
        "`waves_status` shows it, `waves_stop` stops it"
    }
}

/// Returns what to do about an error of a backlog.
pub(crate) fn on_backlog(error: &BacklogError) -> Option<&'static str> {
    Some(match error {
        BacklogError::Refused {
            refusal: BacklogRefusal::UnknownTasks(_),
            ..
        } => "`get_tasks` lists what there is",
        BacklogError::UnknownTag { .. } => "name one of these as `tag`",
        BacklogError::NotFound { .. } => "`projectRoot` names the folder of a project that has one",
        BacklogError::Locked { .. } => "call again when the other program has finished",
        _ => return None,
    })
}

fn broken_base(tests: &BrokenTests) -> String {
    let settings = tests.what_to_change();
    format!("{settings}; `allowBrokenBase` goes on all the same")
}

/// Returns what to do about an error of autopilot.
pub(crate) fn on_autopilot(error: &AutopilotError) -> Option<String> {
    let words = match error {
        AutopilotError::BrokenBase(tests) => return Some(broken_base(tests)),
        AutopilotError::Backlog(error) => on_backlog(error)?,
        AutopilotError::Illegal(_) => "`autopilot_next` says what is to be done now",
        AutopilotError::Refused {
            verdict, is_paused, ..
        } => {
            let advice = verdict.suggestion.clone().unwrap_or_default();
            let paused =
                "no try is left and the run is paused: `autopilot_resume` goes on with it; ";
            return Some(if *is_paused {
                format!("{paused}{advice}")
            } else {
                advice
            });
        }
        AutopilotError::Unstartable(Unstartable::Subtask { task, .. }) => {
            return Some(format!(
                "`autopilot_start` with `taskId` `{task}` runs its task"
            ));
        }
        AutopilotError::Unstartable(Unstartable::Waiting { .. }) => {
            "do that first, or start with `force`"
        }
        AutopilotError::Unstartable(Unstartable::NothingOpen(_)) => {
            "`set_task_status` sets a subtask back to pending to work on it again"
        }
        AutopilotError::Unstartable(Unstartable::Unknown(_)) => "`get_tasks` lists what there is",
        AutopilotError::Unstartable(_) => {
            "look at the backlog: `waves_plan` names what is wrong with it"
        }
        AutopilotError::NothingChanged(_) => {
            "the run is back at RED; `autopilot_next` says what to do"
        }
        AutopilotError::NoRun | AutopilotError::OfAnother { .. } => "`autopilot_start` begins one",
        AutopilotError::UnknownRun(_) => "`autopilot_status` names the current one",
        AutopilotError::Unfinished { .. } => {
            "`autopilot_resume` goes on with it, `autopilot_abort` gives it up, `force` pauses it"
        }
        AutopilotError::WavesLive { holder, .. } => on_holder(holder),
        AutopilotError::Disabled => "set `autopilot.enabled` to true in .taskmaster/tm.yaml",
        AutopilotError::NotOurs(_) => "abort without `cleanup`",
        AutopilotError::Unclean { .. } | AutopilotError::Uncommitted { .. } => {
            "commit them, or stash them"
        }
        AutopilotError::NoTestCommand => "set `test.command` in .taskmaster/tm.yaml",
        AutopilotError::NeverCommitted(_) | AutopilotError::LeftOut { .. } => {
            "commit without `files`"
        }
        AutopilotError::ChangedSince { .. } => {
            "the run is back at GREEN: `autopilot_complete_phase` has it judged again"
        }
        AutopilotError::DecidedOtherwise(_) => {
            "put settings, variables and backlog back, or call `autopilot_abort`, and have a person begin a run with them: \
             `tm autopilot start`"
        }
        AutopilotError::NobodysRun(_)
        | AutopilotError::StateOtherwise { .. }
        | AutopilotError::Unusable { .. } => {
            "`autopilot_abort` gives it up, `autopilot_start` begins another one"
        }
        AutopilotError::Results { .. } | AutopilotError::NoResults => {
            "give `testResults` with `passed` and `failed`"
        }
        _ => return None,
    };
    Some(words.to_owned())
}
