//! `tm tasks stats`: how many tasks there are of each kind, and how they depend on each other.

use crate::arguments::{OutputArgument, TasksStats};
use crate::commands::backlog::{options, print_json, source, told};
use crate::display::print_data;
use crate::failure::CommandFailure;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tm_scheduler::{Complexity, PlanOptions, Priority, Status, Task, TddMode, WavePlan, ready};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};

pub(crate) fn stats(start: &Path, arguments: &TasksStats) -> Result<u8, CommandFailure> {
    let output = arguments.json.then_some(OutputArgument::Json);
    let counted = counted(start, arguments).map_err(|failure| told(output, failure))?;
    if arguments.json {
        print_json(&counted)?;
    } else {
        print_data(&text(&counted));
    }
    Ok(0)
}

fn counted(start: &Path, arguments: &TasksStats) -> Result<Value, CommandFailure> {
    let source = source(start, &arguments.choice)?;
    let backlog = source.read(&options(&arguments.choice))?;
    let tasks = &backlog.tasks;
    let known = Status::KNOWN.iter().map(Status::as_str);
    let by_status = counts(
        known,
        tasks.iter().map(|task| task.status.as_str().to_owned()),
    );
    let priorities = [
        Priority::Critical,
        Priority::High,
        Priority::Medium,
        Priority::Low,
    ]
    .map(Priority::as_str);
    let by_priority = counts(
        priorities.into_iter(),
        tasks.iter().map(|task| task.priority.as_str().to_owned()),
    );
    let size = |complexity: Option<Complexity>| {
        complexity.map_or_else(|| "none".to_owned(), |size| format!("{size:?}"))
    };
    let by_complexity = counts(
        ["XS", "S", "M", "L", "XL", "none"].into_iter(),
        tasks.iter().map(|task| size(task.complexity)),
    );
    let ready = ready(tasks);
    let open = |task: &&Task| task.status.is_open();
    let blocked = tasks
        .iter()
        .filter(open)
        .filter(|task| !ready.contains(&task.id))
        .count();
    let ready = tasks
        .iter()
        .filter(open)
        .filter(|task| ready.contains(&task.id))
        .count();
    Ok(json!({"tag": backlog.tag, "tasks": tasks.len(),
              "subtasks": tasks.iter().map(|task| task.subtasks.len()).sum::<usize>(),
              "byStatus": by_status, "byPriority": by_priority, "byComplexity": by_complexity,
              "byTag": by_tag(&source, &backlog)?, "ready": ready, "blocked": blocked, "plan": plan(tasks)}))
}

/// How often each word occurs: the known ones first, those that occur, then all others.
fn counts(
    known: impl Iterator<Item = &'static str>,
    words: impl Iterator<Item = String>,
) -> Map<String, Value> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for word in words {
        *left.entry(word).or_default() += 1;
    }
    let mut counts = Map::new();
    for word in known {
        counts.extend(
            left.remove(word)
                .map(|count| (word.to_owned(), json!(count))),
        );
    }
    counts.extend(left.into_iter().map(|(word, count)| (word, json!(count))));
    counts
}

fn by_tag(source: &BacklogSource, chosen: &Backlog) -> Result<Map<String, Value>, CommandFailure> {
    let mut counts = Map::new();
    for tag in &chosen.tags {
        let count = if *tag == chosen.tag {
            chosen.tasks.len()
        } else {
            source
                .read(&ReadOptions {
                    tag: Some(tag.clone()),
                    ..ReadOptions::default()
                })?
                .tasks
                .len()
        };
        counts.insert(tag.to_string(), json!(count));
    }
    Ok(counts)
}

/// The open tasks as waves: how many there are one after the other, and how many at once.
fn plan(tasks: &[Task]) -> Value {
    let options = PlanOptions {
        tdd: TddMode::Off,
        ..PlanOptions::default()
    };
    match WavePlan::new(tasks, &options) {
        Ok(plan) => {
            let waves = plan.waves();
            let widest = waves.iter().map(Vec::len).max().unwrap_or(0);
            let weight = plan
                .tasks
                .iter()
                .map(|placed| placed.remaining_path)
                .max()
                .unwrap_or(0);
            json!({"possible": true, "open": plan.tasks.len(), "held": plan.held.len(), "criticalPath": waves.len(),
                   "criticalPathWeight": weight, "widestWave": widest, "reason": null})
        }
        Err(refusal) => json!({"possible": false, "open": null, "held": null, "criticalPath": null,
                               "criticalPathWeight": null, "widestWave": null, "reason": refusal.to_string()}),
    }
}

fn text(counted: &Value) -> String {
    let line = |name: &str, counts: &Value| {
        let parts: Vec<String> = counts
            .as_object()
            .into_iter()
            .flatten()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        format!(
            "{name:15} {}\n",
            if parts.is_empty() {
                "none".to_owned()
            } else {
                parts.join(", ")
            }
        )
    };
    let tag = counted["tag"].as_str().unwrap_or_default();
    let first = format!(
        "tag {tag}, {} tasks, {} subtasks\n",
        counted["tasks"], counted["subtasks"]
    );
    let names = [
        ("by status", "byStatus"),
        ("by priority", "byPriority"),
        ("by complexity", "byComplexity"),
        ("by tag", "byTag"),
    ];
    let counts = names.map(|(name, key)| line(name, &counted[key]));
    let open = format!(
        "{:15} {} ready, {} blocked\n",
        "open", counted["ready"], counted["blocked"]
    );
    let plan = &counted["plan"];
    let plan = match plan["reason"].as_str() {
        Some(reason) => format!("{:15} not possible: {reason}\n", "plan"),
        None => format!(
            "{:15} {} open tasks, critical path {} tasks, widest wave {}\n",
            "plan", plan["open"], plan["criticalPath"], plan["widestWave"]
        ),
    };
    [first, counts.concat(), open, plan].concat()
}
