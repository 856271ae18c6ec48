//! `tm tasks fix`: repairs what has one right answer.

use crate::commands::Perform;
use crate::commands::backlog::{BacklogChoice, ChosenBacklog, told};
use crate::display::print_json;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{Problem, problems};
use tm_store::backlog::Repair;

/// `tm tasks fix`.
#[derive(Args, Debug)]
pub(crate) struct TasksFix {
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Say what would be repaired, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Perform for TasksFix {
    async fn perform(self, start: &Path) -> Result {
        let (repairs, left) = told(self.json, self.repaired(start))?;
        if self.json {
            let repairs = repairs.iter().map(entry).collect_vec();
            let left = left.iter().map(ToString::to_string).collect_vec();
            return print_json(
                &json!({"success": true, "dryRun": self.dry_run, "repairs": repairs, "left": left}),
            );
        }
        for repair in &repairs {
            data!("{repair}\n");
        }
        match (repairs.len(), self.dry_run) {
            (0, _) => data!("nothing has to be repaired\n"),
            (count, true) => data!("{count} to repair; nothing is written\n"),
            (count, false) => data!("{count} repaired\n"),
        }
        for problem in &left {
            data!("left to you: {problem}\n");
        }
        Ok(0)
    }
}

impl TasksFix {
    /// What was or would be repaired, and what has more than one answer.
    fn repaired(&self, start: &Path) -> Result<(Vec<Repair>, Vec<Problem>)> {
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let repairs = if self.dry_run {
            source.repairs(&options)?
        } else {
            source.repair(&options)?
        };
        let mut left = problems(&source.read(&options)?.tasks);
        left.retain(|problem| {
            matches!(
                problem,
                Problem::Duplicate { .. } | Problem::Circular { .. }
            )
        });
        Ok((repairs, left))
    }
}

fn entry(repair: &Repair) -> Value {
    let message = repair.to_string();
    match repair {
        Repair::Dependency {
            task, dependency, ..
        } => {
            json!({"task": task, "field": "dependencies", "removed": dependency, "message": message})
        }
        Repair::Repeated { task, dependency } => {
            json!({"task": task, "field": "dependencies", "repeated": dependency, "message": message})
        }
        Repair::Field {
            task,
            field,
            from,
            to,
        } => {
            json!({"task": task, "field": field, "from": from, "to": to, "message": message})
        }
    }
}
