//! `tm set-status`: statuses of several tasks in one step, all or none.

use super::concurrent_writers::ConcurrentWriters;
use super::{ids, options, print_json, source, status_of, told};
use crate::arguments::{OutputArgument, SetStatusArguments};
use crate::display::print_data;
use crate::failure::{CommandFailure, ExitCode};
use crate::project::open;
use serde_json::json;
use std::path::Path;
use tm_app::Project;
use tm_runtime::now;
use tm_scheduler::{Tag, TaskId};
use tm_store::backlog::{RollUp, StatusChange, StatusOutcome, stamp};

pub(crate) fn set_status(
    start: &Path,
    arguments: &SetStatusArguments,
) -> Result<u8, CommandFailure> {
    let output = arguments.output.chosen();
    let (asked, outcomes) = set(start, arguments).map_err(|failure| told(output, failure))?;
    match output {
        None => {}
        Some(OutputArgument::Json) => {
            let entry = |outcome: &StatusOutcome| json!({"success": true, "taskId": outcome.id, "oldStatus": outcome.old, "newStatus": outcome.new});
            let (own, parents): (Vec<&StatusOutcome>, Vec<&StatusOutcome>) = outcomes
                .iter()
                .partition(|outcome| asked.contains(&outcome.id));
            let entries =
                |outcomes: Vec<&StatusOutcome>| outcomes.into_iter().map(entry).collect::<Vec<_>>();
            print_json(
                &json!({"success": true, "updatedTasks": entries(own), "updatedParents": entries(parents),
                               "storageType": "file"}),
            )?;
        }
        Some(OutputArgument::Text | OutputArgument::Compact) => {
            for outcome in &outcomes {
                let parent = if asked.contains(&outcome.id) {
                    ""
                } else {
                    " (follows its subtasks)"
                };
                print_data(&format!(
                    "{}: {} → {}{parent}\n",
                    outcome.id, outcome.old, outcome.new
                ));
            }
        }
    }
    Ok(0)
}

fn set(
    start: &Path,
    arguments: &SetStatusArguments,
) -> Result<(Vec<TaskId>, Vec<StatusOutcome>), CommandFailure> {
    // With `--id`, the one word that is left over is the status.
    let (positional, last) = match (&arguments.positional_status, arguments.id.is_empty()) {
        (None, false) => (None, arguments.positional.as_ref()),
        (word, _) => (arguments.positional.as_ref(), word.as_ref()),
    };
    let positional: Vec<String> = positional
        .map(|ids| ids.split(',').map(ToOwned::to_owned).collect())
        .unwrap_or_default();
    let asked: Vec<TaskId> = ids(&positional, &arguments.id)?
        .into_iter()
        .map(TaskId::from)
        .collect();
    let word = arguments.status.as_ref().or(last).ok_or_else(|| {
        CommandFailure::new("know which status is meant")
            .hint("add `--status=done`")
            .code(ExitCode::Usage)
    })?;
    let status = status_of(word)?;
    let changes: Vec<StatusChange> = asked
        .iter()
        .map(|id| StatusChange {
            id: id.clone(),
            status: status.clone(),
        })
        .collect();
    let moment = stamp(now());
    let moment = (!arguments.no_timestamps).then_some(moment.as_str());
    let (source, options) = (
        source(start, &arguments.choice)?,
        options(&arguments.choice),
    );
    let writers = ConcurrentWriters::of(source.path());
    let outcomes =
        source.choose_statuses(&options, |_| changes.clone(), RollUp::Parents, moment)?;
    if let Some(moment) = moment {
        writers.wait_and_restore(&source, &options, &outcomes, moment)?;
    }
    if let Ok(project) = open(start, Vec::new()) {
        remember(&project, &source.read(&options)?.tag, &outcomes)?;
    }
    Ok((asked, outcomes))
}

/// What a person opens again is to be done once more, although the history has its work.
fn remember(
    project: &Project,
    tag: &Tag,
    outcomes: &[StatusOutcome],
) -> Result<(), CommandFailure> {
    for outcome in outcomes {
        if outcome.new.is_open() && !outcome.old.is_open() {
            project.directory.reopen(tag, &outcome.id)?;
        } else if !outcome.new.is_open() {
            project.directory.close_again(tag, &outcome.id)?;
        }
    }
    Ok(())
}
