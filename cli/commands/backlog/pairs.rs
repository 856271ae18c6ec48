//! `tm tdd pair`: which tasks get a test task of their own, shown or written into the backlog.

use super::{listed, options, print_json, source, told, warn};
use crate::arguments::{OutputArgument, PairArguments};
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_scheduler::{AbsentPartner, PairUp, PairUpOptions, RedStart, Task, TaskId, pair_up};
use tm_store::backlog::{Backlog, BacklogSource, Change, SourceKind};

pub(crate) fn pair(start: &Path, arguments: &PairArguments) -> Result<u8, CommandFailure> {
    let output = arguments.json.then_some(OutputArgument::Json);
    let (backlog, plan) = planned(start, arguments).map_err(|failure| told(output, failure))?;
    warn(&backlog);
    if arguments.json {
        print_json(&document(&backlog, &plan, arguments))?;
    } else {
        print_data(&text(&backlog, &plan, arguments));
    }
    for ((task, dependency), problem) in &plan.cuts {
        let done = if arguments.write {
            "no longer depends"
        } else {
            "would no longer depend"
        };
        print_line(&format!(
            "warning: {problem}; {task} {done} on {dependency}, the dependency with the least meaning, and may start \
             before it; it is marked with `metadata.needs_review`"
        ));
    }
    Ok(0)
}

/// Plans the pairs on what stands in the backlog, under its lock where they are to be written.
fn planned(start: &Path, arguments: &PairArguments) -> Result<(Backlog, PairUp), CommandFailure> {
    let source = source(start, &arguments.choice)?;
    let read = options(&arguments.choice);
    if !arguments.write {
        let backlog = source.read(&read)?;
        let plan = pair_up(&backlog.tasks, &pairing(&source, &backlog, arguments));
        return Ok((backlog, plan));
    }
    let planned = RefCell::new(None);
    let choose = |backlog: &Backlog| {
        let plan = pair_up(&backlog.tasks, &pairing(&source, backlog, arguments));
        let changes = changes(&plan);
        planned.replace(Some((backlog.clone(), plan)));
        changes
    };
    source.change(&read, choose)?;
    planned
        .into_inner()
        .ok_or_else(|| CommandFailure::new("read the backlog under its lock"))
}

fn pairing(source: &BacklogSource, backlog: &Backlog, arguments: &PairArguments) -> PairUpOptions {
    PairUpOptions {
        red_start: if arguments.red_early {
            RedStart::Early
        } else {
            RedStart::AfterDependencies
        },
        group: arguments.task_group.clone(),
        next_number: backlog.next_number,
        absent_partner: match source.kind() {
            SourceKind::ClaudeTasks => AbsentPartner::Finished,
            SourceKind::TaskMaster | SourceKind::Yaml => AbsentPartner::Missing,
        },
    }
}

/// What makes the pairs: the test tasks, and what their implementations then say.
fn changes(plan: &PairUp) -> Vec<Change> {
    let green_of = |red: &Task| {
        red.tdd
            .as_ref()
            .and_then(|mark| mark.paired_task_id.clone())
    };
    let pairs: Vec<(TaskId, &Task)> = plan
        .reds
        .iter()
        .filter_map(|red| Some((green_of(red)?, red)))
        .collect();
    let mut fields: Vec<(TaskId, String, Value)> = Vec::new();
    for (green, red) in &pairs {
        for (key, value) in mark("green", &red.id) {
            fields.push((green.clone(), format!("metadata.{key}"), value));
        }
    }
    for ((task, _), _) in &plan.cuts {
        for key in ["needs_review", "circular_dep_break"] {
            fields.push((task.clone(), format!("metadata.{key}"), json!(true)));
        }
    }
    let mut changes = Vec::new();
    if !pairs.is_empty() {
        changes.push(Change::AddTasks {
            tasks: pairs
                .iter()
                .map(|(green, red)| (red.id.clone(), red_fields(red, green)))
                .collect(),
        });
        let edges = pairs
            .iter()
            .map(|(green, red)| (green.clone(), red.id.clone()))
            .collect();
        changes.push(Change::AddDependencies { edges });
    }
    if !plan.cuts.is_empty() {
        changes.push(Change::RemoveDependencies {
            edges: plan.cuts.iter().map(|(edge, _)| edge.clone()).collect(),
        });
    }
    if !fields.is_empty() {
        changes.push(Change::SetFields { fields });
    }
    changes
}

fn mark(phase: &str, partner: &TaskId) -> [(&'static str, Value); 3] {
    [
        ("tdd_mode", json!(true)),
        ("tdd_phase", json!(phase)),
        ("paired_task_id", json!(partner)),
    ]
}

fn red_fields(red: &Task, green: &TaskId) -> Vec<(String, Value)> {
    let mut metadata = serde_json::Map::new();
    metadata.extend(mark("red", green).map(|(key, value)| (key.to_owned(), value)));
    let said = [
        ("task_group", &red.group),
        ("feature_name", &red.feature),
        ("task_uid", &red.uid),
        ("test_command", &red.test_command),
    ];
    metadata.extend(
        said.into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), json!(value.as_ref()?)))),
    );
    metadata.extend(
        red.complexity
            .map(|complexity| ("complexity".to_owned(), json!(complexity))),
    );
    let dependencies: Vec<Value> = red.dependencies.iter().map(super::edits::spelled).collect();
    let active = red.title.replacen("Write tests", "Writing tests", 1);
    [
        ("title", json!(red.title)),
        ("description", json!(red.description)),
        ("details", json!("")),
        ("activeForm", json!(active)),
        ("status", json!(red.status)),
        ("priority", json!(red.priority)),
        ("dependencies", json!(dependencies)),
        ("subtasks", json!([])),
        ("metadata", Value::Object(metadata)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

fn document(backlog: &Backlog, plan: &PairUp, arguments: &PairArguments) -> Value {
    let pairs: Vec<Value> = plan
        .reds
        .iter()
        .map(|red| {
            let green = red.tdd.as_ref().and_then(|mark| mark.paired_task_id.as_ref());
            json!({"red": red.id, "green": green, "title": red.title, "dependencies": red.dependencies})
        })
        .collect();
    let skipped: Vec<Value> = plan
        .skipped
        .iter()
        .map(|(task, skip)| {
            let mut entry = json!(skip);
            entry["task"] = json!(task);
            entry
        })
        .collect();
    let cuts: Vec<Value> = plan
        .cuts
        .iter()
        .map(|((task, dependency), problem)| json!({"task": task, "dependency": dependency, "cycle": problem.to_string()}))
        .collect();
    json!({"success": true, "tag": backlog.tag, "written": arguments.write, "pairs": pairs, "skipped": skipped,
           "cut": cuts, "notes": plan.notes})
}

fn text(backlog: &Backlog, plan: &PairUp, arguments: &PairArguments) -> String {
    let mut lines = Vec::new();
    for red in &plan.reds {
        let green = red
            .tdd
            .as_ref()
            .and_then(|mark| mark.paired_task_id.as_ref())
            .map_or("", TaskId::as_str);
        let after: Vec<&str> = red.dependencies.iter().map(TaskId::as_str).collect();
        let after = if after.is_empty() {
            String::new()
        } else {
            format!(", after {}", after.join(", "))
        };
        lines.push(format!(
            "{} tests {green}{after}: {}",
            red.id,
            listed(&red.title)
        ));
    }
    lines.extend(
        plan.skipped
            .iter()
            .map(|(task, skip)| format!("{task} {skip}")),
    );
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    let (count, tag) = (plan.reds.len(), &backlog.tag);
    let pairs = if count == 1 {
        "1 pair".to_owned()
    } else {
        format!("{count} pairs")
    };
    lines.push(match (count, arguments.write) {
        (0, _) => format!("tag {tag}: no task needs a test task"),
        (_, true) => format!("tag {tag}: {pairs} written"),
        (_, false) => format!("tag {tag}: {pairs} to write; `tm tdd pair --write` writes them"),
    });
    lines.push(String::new());
    lines.join("\n")
}
