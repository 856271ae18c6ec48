//! `tm tasks fix`: repairs what has one right answer; and `tm tasks convert`: the backlog in another form, with what that
//! form has no place for.

use crate::commands::Perform;
use crate::commands::backlog::{BacklogChoice, ChosenBacklog, told};
use crate::display::print_json;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_scheduler::{Problem, problems};
use tm_store::backlog::{Conversion, Repair, SourceKind};

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

/// `tm tasks convert`.
#[derive(Args)]
pub(crate) struct TasksConvert {
    /// The file or folder to write, which must not be there yet.
    #[arg(value_name = "TO")]
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
        } = told(self.json, self.converted(start))?;
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
