//! `tm add-task` and `tm add-subtask`.

use super::edits::EditChoice;
use super::{Perform, status_of};
use crate::failure::{ExitCode, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{Priority, TaskId};
use tm_store::backlog::{Backlog, Change};

/// What a new task or subtask says beside its title.
#[derive(Args, Debug)]
struct NewTask {
    /// What is to be done.
    #[arg(long, short = 'd', default_value = "")]
    description: String,
    /// How it is to be done.
    #[arg(long)]
    details: Option<String>,
    /// How it is to be tested.
    #[arg(long)]
    test_strategy: Option<String>,
    /// The tasks that it depends on, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    dependencies: Vec<String>,
}

/// `tm add-task`.
#[derive(Args, Debug)]
pub(crate) struct AddTask {
    /// One line.
    #[arg(long, short = 't')]
    title: String,
    /// What else it says.
    #[command(flatten)]
    new: NewTask,
    /// Its priority: low, medium, high, critical.
    #[arg(long, default_value = "medium")]
    priority: String,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

/// `tm add-subtask`.
#[derive(Args, Debug)]
pub(crate) struct AddSubtask {
    /// The task that gets it.
    #[arg(long, short = 'p', value_name = "ID")]
    parent: String,
    /// A task that becomes the subtask, instead of a new one; dependencies on it follow.
    #[arg(long, short = 'i', value_name = "ID", conflicts_with_all = ["title", "description", "details"])]
    task_id: Option<String>,
    /// One line.
    #[arg(long, short = 't', required_unless_present = "task_id")]
    title: Option<String>,
    /// What else it says; its dependencies name siblings by number.
    #[command(flatten)]
    new: NewTask,
    /// Its status.
    #[arg(long, short = 's', default_value = "pending")]
    status: String,
    /// Accepted for compatibility and without effect: tm keeps no files of single tasks.
    #[arg(long, visible_alias = "skip-generate")]
    generate: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for AddTask {
    async fn perform(self, start: &Path) -> Result {
        let Some(priority) = Priority::parse(&self.priority) else {
            return Err(failure!("read `{}` as a priority", self.priority)
                .hint("use one of low, medium, high, critical")
                .code(ExitCode::Usage));
        };
        let mut fields = self.new.fields(&self.title, "pending")?;
        fields.push(("priority".to_owned(), json!(priority)));
        fields.push(("subtasks".to_owned(), json!([])));
        let change = Change::AddTask { fields };
        self.choice
            .make(start, &change, |ids| format!("added task {ids}"))
    }
}

impl Perform for AddSubtask {
    async fn perform(self, start: &Path) -> Result {
        let parent = TaskId::from(self.parent);
        if let Some(task) = &self.task_id {
            let from = TaskId::from(task.trim());
            let choose = |backlog: &Backlog| {
                let to = next_subtask(backlog, &parent);
                let from = from.clone();
                vec![Change::Move { from, to }]
            };
            let words = |ids: &str| format!("task {from} is now subtask {ids}");
            return self.choice.edit(start, choose, words);
        }
        let fields = self
            .new
            .fields(&self.title.unwrap_or_default(), &self.status)?;
        let change = Change::AddSubtask { parent, fields };
        self.choice
            .make(start, &change, |ids| format!("added subtask {ids}"))
    }
}

/// The id that the next subtask of a task gets.
fn next_subtask(backlog: &Backlog, parent: &TaskId) -> TaskId {
    let parents = backlog.tasks.iter().filter(|task| task.id == *parent);
    let ids = parents
        .flat_map(|task| &task.subtasks)
        .map(|task| task.id.as_str());
    let numbers = ids.filter_map(|id| id.rsplit('.').next()?.parse::<u64>().ok());
    TaskId::new(format!("{parent}.{}", numbers.max().unwrap_or(0) + 1))
}

impl NewTask {
    /// What the task says.
    fn fields(self, title: &str, status: &str) -> Result<Vec<(String, Value)>> {
        if title.trim().is_empty() {
            return Err(failure!("add a task without a title")
                .hint("add `--title`")
                .code(ExitCode::Usage));
        }
        let ids = self.dependencies.iter().map(|id| id.trim());
        let ids = ids.filter(|id| !id.is_empty()).map(spelled).collect_vec();
        let mut fields = vec![
            ("title", json!(title)),
            ("description", json!(self.description)),
            ("details", json!(self.details.unwrap_or_default())),
            ("status", json!(status_of(status)?)),
            ("dependencies", json!(ids)),
        ];
        fields.extend(
            self.test_strategy
                .map(|strategy| ("testStrategy", json!(strategy))),
        );
        Ok(named(fields))
    }
}

/// Fields as changes take them.
pub(super) fn named(
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Vec<(String, Value)> {
    let fields = fields.into_iter();
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// An id as a number, where it is one.
pub(super) fn spelled(id: impl AsRef<str>) -> Value {
    let id = id.as_ref();
    id.parse::<u64>()
        .map_or_else(|_| json!(id), |number| json!(number))
}
