//! `tm tasks fix`: repairs what has one right answer.

use crate::arguments::{OutputArgument, TasksFix};
use crate::commands::backlog::{options, print_json, source, told};
use crate::display::print_data;
use crate::failure::CommandFailure;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{Problem, problems};
use tm_store::backlog::Repair;

pub(crate) fn fix(start: &Path, arguments: &TasksFix) -> Result<u8, CommandFailure> {
    let output = arguments.json.then_some(OutputArgument::Json);
    let (repairs, left) = repaired(start, arguments).map_err(|failure| told(output, failure))?;
    if arguments.json {
        let repairs: Vec<Value> = repairs.iter().map(entry).collect();
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        print_json(
            &json!({"success": true, "dryRun": arguments.dry_run, "repairs": repairs, "left": left}),
        )?;
        return Ok(0);
    }
    for repair in &repairs {
        print_data(&format!("{repair}\n"));
    }
    print_data(&match (repairs.len(), arguments.dry_run) {
        (0, _) => "nothing has to be repaired\n".to_owned(),
        (count, true) => format!("{count} to repair; nothing is written\n"),
        (count, false) => format!("{count} repaired\n"),
    });
    for problem in &left {
        print_data(&format!("left to you: {problem}\n"));
    }
    Ok(0)
}

/// What was or would be repaired, and what has more than one answer.
fn repaired(
    start: &Path,
    arguments: &TasksFix,
) -> Result<(Vec<Repair>, Vec<Problem>), CommandFailure> {
    let source = source(start, &arguments.choice)?;
    let options = options(&arguments.choice);
    let repairs = if arguments.dry_run {
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
