//! The other runs of a checkout, when one begins or goes on: at most one of them goes on with the next call.

use super::error::Error;
use super::project::Project;
use super::session::OpenRun;
use crate::{describe, now};
use serde_json::json;
use tm_scheduler::RunId;
use tm_scheduler::autopilot::{Order, Stage};
use tm_store::autopilot::PointerStatus;

/// Removes the notes of runs that are over or were never written, where a crash came between.
pub(super) fn forget_notes(project: &Project) -> Result<(), Error> {
    for note in project.notes.all()? {
        let is_of_none = match OpenRun::of(project, note.run().clone()) {
            Ok(open) => open.state.machine.is_over() && open.is_vouched_for(),
            Err(error) => matches!(error, Error::UnknownRun(_)),
        };
        if is_of_none {
            project.notes.remove(note.run())?;
        }
    }
    Ok(())
}

/// Pauses every other run of the checkout that goes on with the next call, so that at most one does; returns warnings of
/// those whose files can't be used, which are known to be paused by their notes alone.
pub(super) fn pause_others(project: &Project, keep: &RunId) -> Result<Vec<String>, Error> {
    let mut warnings = Vec::new();
    for current in project.own_runs()?.runs {
        if current.run_id == *keep || current.status != PointerStatus::InProgress {
            continue;
        }
        let Err(error) = pause(project, current.run_id.clone()) else {
            continue;
        };
        if let Some(note) = project.notes.of(&current.run_id)? {
            project.notes.mark(&note, PointerStatus::Paused)?;
        }
        warnings.push(format!(
            "the run `{}` is passed over: {}",
            current.run_id,
            describe(&error)
        ));
    }
    Ok(warnings)
}

fn pause(project: &Project, id: RunId) -> Result<(), Error> {
    let mut other = OpenRun::of(project, id)?;
    if !matches!(other.state.machine.stage(), Stage::Paused { .. }) {
        other.state.machine.handle(&Order::Pause)?;
    }
    other.state.updated_at = now();
    let event = json!({"event": "run:paused", "why": "another run goes on"});
    other.state.take_events(&[event]);
    other.write_state(None)?;
    other.write_what_follows(None)
}
