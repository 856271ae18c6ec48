//! `tm validate-dependencies`, `tm fix-dependencies`, `tm add-dependency` and `tm remove-dependency`.

use super::edits::EditChoice;
use super::{Perform, warn, with_fields};
use crate::display::print_answer;
use crate::failure::{ExitCode, Result};
use clap::{Args, Subcommand};
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use tm_scheduler::{CycleRepair, Problem, Task, TaskId, problems, repairs};
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

/// `tm add-dependency` and `tm remove-dependency`.
#[derive(Subcommand)]
pub(crate) enum DependencyCommand {
    /// Make a task depend on another one.
    AddDependency(Dependency),
    /// Remove a dependency.
    RemoveDependency(Dependency),
}

/// A task and what it depends on.
#[derive(Args)]
pub(crate) struct Dependency {
    /// The task.
    #[arg(long, short)]
    id: String,
    /// What it depends on.
    #[arg(long, short, value_name = "ID")]
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
        let backlog = read()?;
        warn(&backlog);
        let problems: serde_json::Result<Vec<Value>> =
            problems(&backlog.tasks).iter().map(entry).collect();
        let problems = problems?;
        let is_valid = problems.is_empty();
        if !self.silent {
            let answer = json!({"valid": is_valid, "tag": backlog.tag, "tasks": backlog.tasks.len(), "problems": problems});
            print_answer(json, &answer, "backlog/dependencies.txt")?;
        }
        Ok(ExitCode::Invalid.unless(is_valid))
    }
}

fn entry(problem: &Problem) -> serde_json::Result<Value> {
    let message = json!({"message": problem.to_string()});
    Ok(with_fields(serde_json::to_value(problem)?, message))
}

impl Perform for DependencyCommand {
    async fn perform(self, start: &Path) -> Result {
        match self {
            Self::AddDependency(of) => of.add(start),
            Self::RemoveDependency(of) => of.remove(start),
        }
    }
}

impl Dependency {
    fn add(&self, start: &Path) -> Result {
        let edge = self.ends();
        let said = format!("{} depends on {}", edge.0, edge.1);
        let change = Change::AddDependencies { edges: vec![edge] };
        self.choice.make(start, &change, |ids| match ids {
            "" => format!("{said} already"),
            _ => said.clone(),
        })
    }

    fn remove(&self, start: &Path) -> Result {
        let edge = self.ends();
        let (task, dependency) = (&edge.0, &edge.1);
        let backlog = self.choice.find(start)?.read()?;
        if !depends(&backlog, task, dependency) {
            let missing = failure!("find a dependency of `{task}` on `{dependency}`");
            let hint = format!("`tm show {task}` lists what it depends on");
            return Err(missing.hint(hint));
        }
        let words = format!("{task} no longer depends on {dependency}");
        let change = Change::RemoveDependencies { edges: vec![edge] };
        self.choice.make(start, &change, |_| words.clone())
    }

    fn ends(&self) -> (TaskId, TaskId) {
        (self.id.trim().into(), self.depends_on.trim().into())
    }
}

fn depends(backlog: &Backlog, task: &TaskId, on: &TaskId) -> bool {
    Task::with_subtasks(&backlog.tasks).any(|one| one.id == *task && one.dependencies.contains(on))
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
        let removed = found.into_inner().into_iter().map(|((task, dependency), problem)| {
            json!({"task": task, "removed": dependency, "reason": problem.to_string()})
        });
        let answer = json!({"success": true, "removed": removed.collect_vec()});
        print_answer(self.choice.json, &answer, "backlog/fixed.txt")
    }
}
