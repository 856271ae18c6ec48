//! `tm validate-dependencies`, `tm fix-dependencies`, `tm add-dependency` and `tm remove-dependency`.

use super::edits::EditChoice;
use super::{Perform, told, warn};
use crate::display::print_json;
use crate::failure::{ExitCode, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_scheduler::{CycleRepair, Problem, TaskId, problems, repairs};
use tm_store::backlog::{Backlog, Change};

/// `tm validate-dependencies`.
#[derive(Args)]
pub(crate) struct CheckArguments {
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
    /// Print nothing but errors.
    #[arg(long)]
    silent: bool,
}

/// `tm fix-dependencies`.
#[derive(Args)]
pub(crate) struct FixDependencies {
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

/// `tm add-dependency`.
#[derive(Args)]
pub(crate) struct AddDependency {
    /// The dependency.
    #[command(flatten)]
    of: Dependency,
}

/// `tm remove-dependency`.
#[derive(Args)]
pub(crate) struct RemoveDependency {
    /// The dependency.
    #[command(flatten)]
    of: Dependency,
}

/// `tm add-dependency` and `tm remove-dependency`.
#[derive(Args)]
struct Dependency {
    /// The task.
    #[arg(long, short = 'i', value_name = "ID")]
    id: String,
    /// What it depends on.
    #[arg(long, short = 'd', value_name = "ID")]
    depends_on: String,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

/// All that is wrong with a backlog's dependencies, in one answer.
impl Perform for CheckArguments {
    async fn perform(self, start: &Path) -> Result {
        let json = self.choice.json && !self.silent;
        let read = || self.choice.find(start)?.read();
        let backlog = told(json, read())?;
        warn(&backlog);
        let problems = problems(&backlog.tasks);
        let (tag, tasks) = (&backlog.tag, backlog.tasks.len());
        if json {
            let entries: serde_json::Result<Vec<Value>> = problems.iter().map(entry).collect();
            print_json(
                &json!({"valid": problems.is_empty(), "tag": tag, "tasks": tasks, "problems": entries?}),
            )?;
        } else if !self.silent {
            for problem in &problems {
                data!("{problem}\n");
            }
            if problems.is_empty() {
                data!("tag {tag}, {tasks} tasks: all dependencies are valid\n");
            }
        }
        Ok(if problems.is_empty() {
            0
        } else {
            ExitCode::Invalid.number()
        })
    }
}

fn entry(problem: &Problem) -> Result<Value, serde_json::Error> {
    let mut entry = serde_json::to_value(problem)?;
    entry["message"] = json!(problem.to_string());
    Ok(entry)
}

impl Perform for AddDependency {
    async fn perform(self, start: &Path) -> Result {
        let (task, dependency) = self.of.ends();
        let said = format!("{task} depends on {dependency}");
        let change = Change::AddDependency { task, dependency };
        self.of.choice.make(start, &change, |ids| match ids {
            "" => format!("{said} already"),
            _ => said.clone(),
        })
    }
}

impl Perform for RemoveDependency {
    async fn perform(self, start: &Path) -> Result {
        let edge = self.of.ends();
        let (task, dependency) = (&edge.0, &edge.1);
        let choice = &self.of.choice;
        let backlog = choice.find(start)?.read()?;
        let mut all = backlog
            .tasks
            .iter()
            .flat_map(|task| std::iter::once(task).chain(&task.subtasks));
        if !all.any(|one| one.id == *task && one.dependencies.contains(dependency)) {
            let missing = failure!("find a dependency of `{task}` on `{dependency}`");
            let hint = format!("`tm show {task}` lists what it depends on");
            return told(choice.json, Err(missing.hint(hint)));
        }
        let words = format!("{task} no longer depends on {dependency}");
        let change = Change::RemoveDependencies { edges: vec![edge] };
        choice.make(start, &change, |_| words.clone())
    }
}

impl Dependency {
    fn ends(&self) -> (TaskId, TaskId) {
        (self.id.trim().into(), self.depends_on.trim().into())
    }
}

impl Perform for FixDependencies {
    async fn perform(self, start: &Path) -> Result {
        let found = RefCell::new(Vec::new());
        let choose = |backlog: &Backlog| {
            let repairs = repairs(&backlog.tasks, CycleRepair::Cut);
            let edges = repairs.iter().map(|(edge, _)| edge.clone()).collect();
            found.replace(repairs);
            // Even without an edge to remove, repeated ones go.
            vec![Change::RemoveDependencies { edges }]
        };
        self.choice.change(start, choose)?;
        let repairs = found.into_inner();
        if self.choice.json {
            let removed = repairs.iter().map(|((task, dependency), problem)| {
                json!({"task": task, "removed": dependency, "reason": problem.to_string()})
            });
            return print_json(&json!({"success": true, "removed": removed.collect_vec()}));
        }
        for ((task, dependency), problem) in &repairs {
            data!("{task} no longer depends on {dependency}: {problem}\n");
        }
        if repairs.is_empty() {
            data!("nothing had to be removed\n");
        }
        Ok(0)
    }
}
