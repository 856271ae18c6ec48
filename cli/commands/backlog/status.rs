//! `tm set-status`: statuses of several tasks in one step, all or none.

use super::concurrent_writers::ConcurrentWriters;
use super::{
    BacklogChoice, ChosenBacklog, OutputArgument, Perform, ReadingOptions, ids, status_of, told,
};
use crate::display::print_json;
use crate::failure::{ExitCode, Result};
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_app::Project;
use tm_runtime::now;
use tm_scheduler::{Status, Tag, TaskId};
use tm_store::backlog::{RollUp, StatusChange, StatusOutcome, stamp};

/// `tm set-status`.
#[derive(Args, Debug)]
pub(crate) struct SetStatusArguments {
    /// The tasks, separated by commas.
    #[arg(value_name = "ID")]
    positional: Option<String>,
    /// The status: pending, in-progress, done, review, deferred, cancelled, blocked.
    #[arg(value_name = "STATUS")]
    positional_status: Option<String>,
    /// The tasks, separated by commas.
    #[arg(long, short = 'i', value_name = "ID", value_delimiter = ',')]
    id: Vec<String>,
    /// The status.
    #[arg(long, short = 's', value_name = "STATUS")]
    status: Option<String>,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Leave `updatedAt` as it is.
    #[arg(long)]
    no_timestamps: bool,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

impl Perform for SetStatusArguments {
    async fn perform(self, start: &Path) -> Result {
        let output = self.output.chosen();
        let (asked, outcomes) = told(output, self.set(start))?;
        let is_asked = |outcome: &&StatusOutcome| asked.contains(&outcome.id);
        match output {
            None => {}
            Some(OutputArgument::Json) => {
                let (own, parents): (Vec<_>, Vec<_>) = outcomes.iter().partition(is_asked);
                print_json(
                    &json!({"success": true, "updatedTasks": entries(own), "updatedParents": entries(parents),
                                   "storageType": "file"}),
                )?;
            }
            Some(OutputArgument::Text | OutputArgument::Compact) => {
                for outcome in &outcomes {
                    let is_own = is_asked(&outcome);
                    let parent = if is_own {
                        ""
                    } else {
                        " (follows its subtasks)"
                    };
                    let StatusOutcome { id, old, new, .. } = outcome;
                    data!("{id}: {old} → {new}{parent}\n");
                }
            }
        }
        Ok(0)
    }
}

fn entries(outcomes: Vec<&StatusOutcome>) -> Vec<Value> {
    let entry = |StatusOutcome { id, old, new, .. }: &StatusOutcome| json!({"success": true, "taskId": id, "oldStatus": old, "newStatus": new});
    outcomes.into_iter().map(entry).collect()
}

impl SetStatusArguments {
    /// The tasks and the status that are meant.
    fn asked(&self) -> Result<(Vec<TaskId>, Status)> {
        // With `--id`, the one word that is left over is the status.
        let (positional, last) = match (&self.positional_status, self.id.is_empty()) {
            (None, false) => (None, self.positional.as_ref()),
            (word, _) => (self.positional.as_ref(), word.as_ref()),
        };
        let positional = positional.map_or("", String::as_str).split(',');
        let asked = ids(&positional.map(ToOwned::to_owned).collect_vec(), &self.id)?;
        let word = self.status.as_ref().or(last).ok_or_else(|| {
            failure!("know which status is meant")
                .hint("add `--status=done`")
                .code(ExitCode::Usage)
        })?;
        Ok((asked, status_of(word)?))
    }

    fn set(&self, start: &Path) -> Result<(Vec<TaskId>, Vec<StatusOutcome>)> {
        let (asked, status) = self.asked()?;
        let change = |id: &TaskId| StatusChange {
            id: id.clone(),
            status: status.clone(),
        };
        let moment = stamp(now());
        let moment = (!self.no_timestamps).then_some(moment.as_str());
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let writers = ConcurrentWriters::of(source.path());
        let changes = |_: &_| asked.iter().map(change).collect();
        let outcomes = source.choose_statuses(&options, changes, RollUp::Parents, moment)?;
        if let Some(moment) = moment {
            writers.wait_and_restore(&source, &options, &outcomes, moment)?;
        }
        if let Ok(project) = open(start, Vec::new()) {
            remember(&project, &source.read(&options)?.tag, &outcomes)?;
        }
        Ok((asked, outcomes))
    }
}

/// What a person opens again is to be done once more, although the history has its work.
fn remember(project: &Project, tag: &Tag, outcomes: &[StatusOutcome]) -> Result<()> {
    for outcome in outcomes {
        if outcome.new.is_open() && !outcome.old.is_open() {
            project.directory.reopen(tag, &outcome.id)?;
        } else if !outcome.new.is_open() {
            project.directory.close_again(tag, &outcome.id)?;
        }
    }
    Ok(())
}
