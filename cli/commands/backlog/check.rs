//! `tm validate-dependencies`: all that is wrong with a backlog's dependencies, in one answer.

use super::edits::reading;
use super::{options, print_json, source, told, warn};
use crate::arguments::{CheckArguments, OutputArgument};
use crate::display::print_data;
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{Problem, problems};

pub(crate) fn validate(start: &Path, arguments: &CheckArguments) -> Result<u8, CommandFailure> {
    let output = (!arguments.silent).then(|| arguments.choice.output());
    let choice = reading(&arguments.choice);
    let read = || Ok(source(start, &choice)?.read(&options(&choice))?);
    let backlog = read().map_err(|failure: CommandFailure| told(output, failure))?;
    warn(&backlog);
    let problems = problems(&backlog.tasks);
    match output {
        None => {}
        Some(OutputArgument::Json) => {
            let problems: Result<Vec<Value>, serde_json::Error> =
                problems.iter().map(entry).collect();
            let problems = problems?;
            print_json(
                &json!({"valid": problems.is_empty(), "tag": backlog.tag, "tasks": backlog.tasks.len(),
                               "problems": problems}),
            )?;
        }
        Some(OutputArgument::Text | OutputArgument::Compact) => {
            for problem in &problems {
                print_data(&format!("{problem}\n"));
            }
            if problems.is_empty() {
                print_data(&format!(
                    "tag {}, {} tasks: all dependencies are valid\n",
                    backlog.tag,
                    backlog.tasks.len()
                ));
            }
        }
    }
    Ok(if problems.is_empty() {
        0
    } else {
        ExitCode::Invalid.number()
    })
}

fn entry(problem: &Problem) -> Result<Value, serde_json::Error> {
    let mut entry = serde_json::to_value(problem)?;
    entry["message"] = json!(problem.to_string());
    Ok(entry)
}
