//! `tm tasks stats`: how many tasks there are of each kind, and how they depend on each other.

use crate::commands::Perform;
use crate::commands::backlog::{BacklogChoice, ChosenBacklog, of_tag, told};
use crate::display::{print_data, print_json};
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Map, Value, json};
use std::path::Path;
use tm_scheduler::{PlanOptions, Priority, Status, Task, TddMode, WavePlan, ready};
use tm_store::backlog::{Backlog, BacklogSource};

/// `tm tasks stats`.
#[derive(Args)]
pub(crate) struct TasksStats {
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Perform for TasksStats {
    async fn perform(self, start: &Path) -> Result {
        let counted = told(self.json, self.counted(start))?;
        if self.json {
            return print_json(&counted);
        }
        print_data(&text(&counted));
        Ok(0)
    }
}

impl TasksStats {
    fn counted(&self, start: &Path) -> Result<Value> {
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let backlog = source.read(&options)?;
        let tasks = &backlog.tasks;
        let statuses = Status::KNOWN.iter().map(Status::as_str);
        let priorities = Priority::ALL.iter().rev().map(|priority| priority.as_str());
        let sizes = ["XS", "S", "M", "L", "XL", "none"].into_iter();
        let size = |task: &Task| {
            let size = task.complexity;
            size.map_or_else(|| "none".to_owned(), |size| format!("{size:?}"))
        };
        let ready = ready(tasks);
        let open = tasks.iter().filter(|task| task.status.is_open());
        let (ready, blocked): (Vec<_>, Vec<_>) = open.partition(|task| ready.contains(&task.id));
        Ok(json!({"tag": backlog.tag, "tasks": tasks.len(),
                  "subtasks": tasks.iter().map(|task| task.subtasks.len()).sum::<usize>(),
                  "byStatus": counts(statuses, tasks, |task| task.status.to_string()),
                  "byPriority": counts(priorities, tasks, |task| task.priority.to_string()),
                  "byComplexity": counts(sizes, tasks, size),
                  "byTag": by_tag(&source, &backlog)?, "ready": ready.len(), "blocked": blocked.len(),
                  "plan": plan(tasks)}))
    }
}

/// How often each word occurs: the known ones first, those that occur, then all others.
fn counts(
    known: impl Iterator<Item = &'static str>,
    tasks: &[Task],
    word: impl Fn(&Task) -> String,
) -> Map<String, Value> {
    let mut left = tasks.iter().counts_by(word);
    let known = known
        .filter_map(|word| left.remove_entry(word))
        .collect_vec();
    let counts = known.into_iter().chain(left.into_iter().sorted());
    counts.map(|(word, count)| (word, json!(count))).collect()
}

fn by_tag(source: &BacklogSource, chosen: &Backlog) -> Result<Map<String, Value>> {
    let mut counts = Map::new();
    for tag in &chosen.tags {
        let count = if *tag == chosen.tag {
            chosen.tasks.len()
        } else {
            source.read(&of_tag(tag))?.tasks.len()
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
    let plan = WavePlan::new(tasks, &options);
    let reason = plan.as_ref().err().map(ToString::to_string);
    let plan = plan.ok();
    let waves = plan.as_ref().map(WavePlan::waves);
    let widest = waves
        .as_ref()
        .map(|waves| waves.iter().map(Vec::len).max().unwrap_or(0));
    let heaviest = plan.as_ref().map(|plan| {
        let paths = plan.tasks.iter().map(|placed| placed.remaining_path);
        paths.max().unwrap_or(0)
    });
    json!({"possible": plan.is_some(), "open": plan.as_ref().map(|plan| plan.tasks.len()),
           "held": plan.as_ref().map(|plan| plan.held.len()), "criticalPath": waves.as_ref().map(Vec::len),
           "criticalPathWeight": heaviest, "widestWave": widest, "reason": reason})
}

fn text(counted: &Value) -> String {
    let line = |(name, key)| {
        let counts = counted[key].as_object().into_iter().flatten();
        let parts = counts
            .map(|(word, count)| format!("{count} {word}"))
            .join(", ");
        let parts = if parts.is_empty() { "none" } else { &parts };
        format!("{name:15} {parts}\n")
    };
    let names = [
        ("by status", "byStatus"),
        ("by priority", "byPriority"),
        ("by complexity", "byComplexity"),
        ("by tag", "byTag"),
    ];
    let counts: String = names.map(line).concat();
    let [all, subtasks, ready, blocked] =
        ["tasks", "subtasks", "ready", "blocked"].map(|key| &counted[key]);
    let (tag, plan) = (
        counted["tag"].as_str().unwrap_or_default(),
        &counted["plan"],
    );
    let plan = match plan["reason"].as_str() {
        Some(reason) => format!("not possible: {reason}"),
        None => format!(
            "{} open tasks, critical path {} tasks, widest wave {}",
            plan["open"], plan["criticalPath"], plan["widestWave"]
        ),
    };
    format!(
        "tag {tag}, {all} tasks, {subtasks} subtasks\n{counts}{:15} {ready} ready, {blocked} blocked\n{:15} {plan}\n",
        "open", "plan"
    )
}
