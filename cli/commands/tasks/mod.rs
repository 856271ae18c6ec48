//! `tm tasks`: a backlog as a whole, checked, repaired, counted, written in another form.

mod check;

use super::Perform;
use super::backlog::{BacklogChoice, ChosenBacklog};
use crate::display::{print_answer, print_either, print_json};
use crate::failure::Result;
use check::TasksCheck;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use tm_reports::laid_out;
use tm_scheduler::{
    PlanOptions, Priority, Problem, Status, Task, TddMode, WavePlan, problems, ready,
};
use tm_store::backlog::{Conversion, Repair, SourceKind};

commands! {
    /// What is done with a backlog as a whole.
    TasksCommand {
        /// Tell everything that can't be planned and everything that is odd, and where it stands; exit code 3 when
        /// something can't be planned.
        Check(TasksCheck),
        /// Repair what has one right answer, and say each repair.
        Fix(TasksFix),
        /// Count tasks by status, priority, tag and complexity, and tell how they depend on each other.
        Stats(TasksStats),
        /// Write the backlog in another form: to a `.json` file, a `.yaml` file, or the folder of a Claude Code list.
        Convert(TasksConvert),
    }
}

/// `tm tasks fix`.
#[derive(Args)]
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
        let (repairs, left) = self.repaired(start)?;
        let repairs = repairs.iter().map(entry).collect_vec();
        let left = left.iter().map(ToString::to_string).collect_vec();
        let answer =
            json!({"success": true, "dryRun": self.dry_run, "repairs": repairs, "left": left});
        print_answer(self.json, &answer, "backlog/repaired.txt")
    }
}

impl TasksFix {
    /// What was or would be repaired, and what has more than one answer.
    fn repaired(&self, start: &Path) -> Result<(Vec<Repair>, Vec<Problem>)> {
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let repairs = if self.dry_run {
            source.snapshot()?.repairs(&options)?
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
        Repair::Name { task, from, to } => {
            json!({"task": task, "field": to, "misspelt": from, "message": message})
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

/// `tm tasks convert`.
#[derive(Args)]
pub(crate) struct TasksConvert {
    /// The file or folder to write, which must not be there yet.
    to: PathBuf,
    /// The backlog. A Claude Code list takes one tag; files take all tags unless one is named.
    #[command(flatten)]
    choice: BacklogChoice,
    /// Only tasks of this `metadata.task_group`.
    #[arg(long, value_name = "NAME")]
    task_group: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Perform for TasksConvert {
    async fn perform(self, start: &Path) -> Result {
        let Conversion {
            kind,
            tags,
            tasks,
            losses,
        } = self.converted(start)?;
        let form = match kind {
            SourceKind::TaskMaster => "tasks.json",
            SourceKind::Yaml => "backlog.yaml",
            SourceKind::ClaudeTasks => "claude-tasks",
        };
        if self.json {
            let lost = losses
                .iter()
                .map(|loss| json!({"task": loss.task, "what": loss.what}));
            return print_json(
                &json!({"success": true, "path": self.to, "form": form, "tags": tags, "tasks": tasks,
                                      "lost": lost.collect_vec()}),
            );
        }
        data!("{tasks} tasks written to {}\n", self.to.display());
        for loss in &losses {
            match &loss.task {
                Some(task) => say!("lost: task {task}: {}", loss.what),
                None => say!("lost: {}", loss.what),
            }
        }
        Ok(0)
    }
}

impl TasksConvert {
    fn converted(&self, start: &Path) -> Result<Conversion> {
        let ChosenBacklog {
            source,
            mut options,
        } = self.choice.find(start)?;
        options.group.clone_from(&self.task_group);
        Ok(source.convert(&options, &start.join(&self.to))?)
    }
}

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
        let counted = self.counted(start)?;
        print_either(self.json, &counted, || text(&counted))
    }
}

impl TasksStats {
    fn counted(&self, start: &Path) -> Result<Value> {
        let ChosenBacklog { source, options } = self.choice.find(start)?;
        let snapshot = source.snapshot()?;
        let backlog = snapshot.read(&options)?;
        let tasks = &backlog.tasks;
        let by_tag = snapshot.read_all(&options)?.into_iter();
        let by_tag: Map<String, Value> = by_tag
            .map(|of_tag| (of_tag.tag.to_string(), json!(of_tag.tasks.len())))
            .collect();
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
                  "byTag": by_tag, "ready": ready.len(), "blocked": blocked.len(),
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
    known
        .filter_map(|word| left.remove_entry(word))
        .collect_vec()
        .into_iter()
        .chain(left.into_iter().sorted())
        .map(|(word, count)| (word, json!(count)))
        .collect()
}

/// The open tasks as waves: how many there are one after the other, and how many at once.
fn plan(tasks: &[Task]) -> Value {
    let options = PlanOptions {
        tdd: TddMode::Off,
        ..PlanOptions::default()
    };
    let plan = match WavePlan::new(tasks, &options) {
        Ok(plan) => plan,
        Err(refusal) => {
            return json!({"possible": false, "open": null, "held": null, "criticalPath": null,
                          "criticalPathWeight": null, "widestWave": null, "reason": refusal.to_string()});
        }
    };
    let waves = plan.waves();
    let widest = waves.iter().map(Vec::len).max().unwrap_or(0);
    let paths = plan.tasks.iter().map(|placed| placed.remaining_path);
    json!({"possible": true, "open": plan.tasks.len(), "held": plan.held.len(), "criticalPath": waves.len(),
           "criticalPathWeight": paths.max().unwrap_or(0), "widestWave": widest, "reason": null})
}

const COUNTS: [(&str, &str); 4] = [
    ("by status", "byStatus"),
    ("by priority", "byPriority"),
    ("by complexity", "byComplexity"),
    ("by tag", "byTag"),
];

fn text(counted: &Value) -> String {
    let rows = COUNTS.map(|(name, key)| {
        let counts = counted[key].as_object().into_iter().flatten();
        (name, counts.collect_vec())
    });
    laid_out(
        "backlog/stats.txt",
        &json!({"counted": counted, "rows": rows}),
    )
}
