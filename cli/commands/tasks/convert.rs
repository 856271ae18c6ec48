//! `tm tasks convert`: the backlog in another form, with what that form has no place for.

use crate::arguments::{OutputArgument, TasksConvert};
use crate::commands::backlog::{options, print_json, source, told};
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use serde_json::{Value, json};
use std::path::Path;
use tm_store::backlog::{Conversion, Loss, ReadOptions, SourceKind};

pub(crate) fn convert(start: &Path, arguments: &TasksConvert) -> Result<u8, CommandFailure> {
    let output = arguments.json.then_some(OutputArgument::Json);
    let conversion = converted(start, arguments).map_err(|failure| told(output, failure))?;
    let form = match conversion.kind {
        SourceKind::TaskMaster => "tasks.json",
        SourceKind::Yaml => "backlog.yaml",
        SourceKind::ClaudeTasks => "claude-tasks",
    };
    if arguments.json {
        let losses: Vec<Value> = conversion
            .losses
            .iter()
            .map(|loss| json!({"task": loss.task, "what": loss.what}))
            .collect();
        print_json(
            &json!({"success": true, "path": arguments.to, "form": form, "tags": conversion.tags,
                           "tasks": conversion.tasks, "lost": losses}),
        )?;
        return Ok(0);
    }
    print_data(&format!(
        "{} tasks written to {}\n",
        conversion.tasks,
        arguments.to.display()
    ));
    for loss in &conversion.losses {
        print_line(&format!("lost: {}", describe(loss)));
    }
    Ok(0)
}

fn converted(start: &Path, arguments: &TasksConvert) -> Result<Conversion, CommandFailure> {
    let source = source(start, &arguments.choice)?;
    let options = ReadOptions {
        group: arguments.task_group.clone(),
        ..options(&arguments.choice)
    };
    Ok(source.convert(&options, &start.join(&arguments.to))?)
}

fn describe(loss: &Loss) -> String {
    match &loss.task {
        Some(task) => format!("task {task}: {}", loss.what),
        None => loss.what.clone(),
    }
}
