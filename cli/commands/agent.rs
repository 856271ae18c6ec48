//! What agents call: `tm result`, and `tm replay`, which is an agent itself.

use crate::arguments::{ClaimArgument, Replay, ResultArguments};
use crate::display::print_line;
use crate::failure::CommandFailure;
use std::path::Path;
use tm_executors::agent::ResultDraft;
use tm_scheduler::{Claim, ClaimStatus, TaskId};

pub(crate) fn result(arguments: &ResultArguments) -> Result<u8, CommandFailure> {
    let claim = Claim {
        status: match arguments.status {
            ClaimArgument::Pass => ClaimStatus::Pass,
            ClaimArgument::Partial => ClaimStatus::Partial,
            ClaimArgument::Fail => ClaimStatus::Fail,
        },
        tests_passed: arguments.tests_passed,
        tests_failed: arguments.tests_failed,
        files: arguments.files.clone(),
        issues: arguments.issues.clone(),
    };
    write_result(&arguments.output, claim)?;
    Ok(0)
}

fn write_result(path: &Path, claim: Claim) -> Result<(), CommandFailure> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let draft = ResultDraft {
        task: variable("TM_TASK_ID"),
        attempt: variable("TM_ATTEMPT").parse().unwrap_or(1),
        phase: Some(variable("TM_PHASE")).filter(|phase| phase == "red" || phase == "green"),
        claim,
    };
    tm_store::atomic::replace_own(path, draft.render().as_bytes())
        .map_err(|error| CommandFailure::new(format!("write `{}`: {error}", path.display())))
}

/// Applies the recording of the attempt under way and claims success.
pub(crate) fn replay(start: &Path, arguments: &Replay) -> Result<u8, CommandFailure> {
    let needed = |name: &str| {
        std::env::var(name).map_err(|_| {
            CommandFailure::new(format!("replay: `{name}` is not set"))
                .hint("tm runs this as an agent")
        })
    };
    let (task, attempt) = (needed("TM_TASK_ID")?, needed("TM_ATTEMPT")?);
    let number: u32 = attempt.parse().map_err(|_| {
        CommandFailure::new(format!(
            "replay: `TM_ATTEMPT` is `{attempt}`, which is no number"
        ))
    })?;
    let stem = tm_store::run::safe_name(&TaskId::from(task.as_str()));
    // An attempt that was lost leaves a gap: the last recording before it is the one to go on with.
    let recorded = (1..=number)
        .rev()
        .map(|number| format!("{stem}.{number}.patch"));
    let name = recorded
        .into_iter()
        .find(|name| arguments.recordings.join(name).is_file())
        .ok_or_else(|| {
            let folder = arguments.recordings.display();
            CommandFailure::new(format!(
                "find a recording for attempt {number} at `{task}` in `{folder}`"
            ))
        })?;
    let path = arguments.recordings.join(&name);
    let patch = std::fs::read(&path).map_err(|error| {
        CommandFailure::new(format!("read the recording `{}`: {error}", path.display()))
    })?;
    tm_worktrees::apply_patch(start, &patch)?;
    print_line(&format!("applied {name}"));
    if let Some(result) = std::env::var_os("TM_RESULT_FILE") {
        write_result(Path::new(&result), Claim::of(ClaimStatus::Pass))?;
    }
    Ok(0)
}
