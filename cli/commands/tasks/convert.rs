//! `tm tasks convert`: the backlog in another form, with what that form has no place for.

use crate::commands::Perform;
use crate::commands::backlog::{BacklogChoice, ChosenBacklog, told};
use crate::display::print_json;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::{Path, PathBuf};
use tm_store::backlog::{Conversion, SourceKind};

/// `tm tasks convert`.
#[derive(Args, Debug)]
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
            ..
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
