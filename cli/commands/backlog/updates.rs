//! Commands that change what tasks say: `tm update-task`, `tm update-subtask`, and those that take subtasks away.

use super::edits::EditChoice;
use super::{ChosenBacklog, Perform, confirm, ids, named, priority_of, task_ids};
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::Path;
use tm_runtime::now;
use tm_scheduler::{Complexity, Task, TaskId};
use tm_store::backlog::{Backlog, Change, stamp};

/// What a task is to say; what is not given stays.
#[derive(Args)]
pub(super) struct Said {
    /// One line.
    #[arg(long, short)]
    title: Option<String>,
    /// What is to be done.
    #[arg(long, short)]
    description: Option<String>,
    /// How it is to be done.
    #[arg(long)]
    details: Option<String>,
    /// How it is to be tested.
    #[arg(long)]
    test_strategy: Option<String>,
    /// What has to be true at the end; once for each criterion.
    #[arg(long, value_name = "TEXT")]
    acceptance: Vec<String>,
    /// Its priority: low, medium, high, critical.
    #[arg(long)]
    priority: Option<String>,
    /// Its size: XS to XL, or 1 to 10.
    #[arg(long)]
    complexity: Option<String>,
}

impl Said {
    fn fields(&self) -> Result<Vec<(String, Value)>> {
        if self
            .title
            .as_ref()
            .is_some_and(|title| title.trim().is_empty())
        {
            return Err(failure!("a title is required").usage("leave `--title` out to keep it"));
        }
        if let Some(word) = &self.complexity
            && Complexity::parse(word).is_none()
        {
            let hint = "use XS, S, M, L, XL or a number from 1 to 10";
            return Err(failure!("`{word}` is no complexity").usage(hint));
        }
        let priority = self.priority.as_deref().map(priority_of).transpose()?;
        let acceptance = Some(&self.acceptance).filter(|criteria| !criteria.is_empty());
        // A score is a number, as Task Master writes it.
        let complexity = self.complexity.as_deref().map(tm_store::backlog::spelled);
        let given = [
            ("title", self.title.as_ref().map(|text| json!(text))),
            (
                "description",
                self.description.as_ref().map(|text| json!(text)),
            ),
            ("details", self.details.as_ref().map(|text| json!(text))),
            (
                "testStrategy",
                self.test_strategy.as_ref().map(|text| json!(text)),
            ),
            (
                "acceptanceCriteria",
                acceptance.map(|criteria| json!(criteria)),
            ),
            ("priority", priority.map(|priority| json!(priority))),
            ("complexity", complexity),
        ];
        Ok(named(
            given
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?))),
        ))
    }
}

/// `tm update-task`.
#[derive(Args)]
pub(crate) struct UpdateTask {
    /// The task; a subtask is `<task>.<n>`.
    #[arg(long, short, value_name = "ID")]
    id: String,
    /// What it is to say.
    #[command(flatten)]
    said: Said,
    /// A note that is added to its details, with the time.
    #[arg(long, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    append: Option<String>,
    /// With `--append` the note, as Task Master has it.
    #[arg(long, short, value_name = "TEXT", hide = true)]
    prompt: Option<String>,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

/// `tm update-subtask`.
#[derive(Args)]
pub(crate) struct UpdateSubtask {
    /// The subtask, `<task>.<n>`.
    #[arg(long, short, value_name = "ID")]
    id: String,
    /// What it is to say.
    #[command(flatten)]
    said: Said,
    /// A note that is added to its details, with the time.
    #[arg(long, short = 'p', visible_alias = "prompt", value_name = "TEXT")]
    append: Option<String>,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for UpdateTask {
    async fn perform(self, start: &Path) -> Result {
        let is_note = self.append.is_some();
        let given = [self.append, self.prompt].into_iter().flatten();
        let note = given.filter(|text| !text.trim().is_empty()).join("\n");
        if !is_note && !note.is_empty() {
            let hint = "say it with `--title`, `--description` or `--details`, or add the text as a note with `--append`";
            return Err(failure!("tm asks no model to write a task anew").usage(hint));
        }
        update(start, &self.choice, &self.id, &self.said, &note)
    }
}

impl Perform for UpdateSubtask {
    async fn perform(self, start: &Path) -> Result {
        let note = self.append.unwrap_or_default();
        must_be_subtasks(&[self.id.trim().into()])?;
        update(start, &self.choice, &self.id, &self.said, &note)
    }
}

fn update(start: &Path, choice: &EditChoice, id: &str, said: &Said, note: &str) -> Result {
    let (id, moment) = (TaskId::from(id.trim()), stamp(now()));
    let fields = said.fields()?;
    let note = Some(note.trim()).filter(|note| !note.is_empty());
    if fields.is_empty() && note.is_none() {
        let hint = "add `--title`, `--description`, `--details`, `--test-strategy`, `--acceptance`, `--priority`, \
                    `--complexity` or `--append`";
        return Err(failure!("nothing is given that `{id}` is to say").usage(hint));
    }
    let changed = fields.iter().map(|(name, _)| name.as_str());
    let changed = changed.chain(note.map(|_| "a note")).join(", ");
    let change = Change::Update {
        id: id.clone(),
        note: note.map(|note| format!("[{moment}] {note}")),
        fields,
        stamp: moment,
    };
    choice.make(start, &change, |_| format!("updated {id}: {changed}"))
}

fn must_be_subtasks(ids: &[TaskId]) -> Result<()> {
    match ids.iter().find(|id| !id.as_str().contains('.')) {
        Some(id) => Err(failure!("`{id}` is no subtask")
            .usage("name it as `<task>.<n>`, as in `--id=5.2`; tasks have `tm update-task`, `tm remove-task`")),
        None => Ok(()),
    }
}

/// `tm remove-subtask`.
#[derive(Args)]
pub(crate) struct RemoveSubtask {
    /// The subtasks, separated by commas.
    #[arg(
        long,
        short,
        value_name = "IDS",
        value_delimiter = ',',
        required = true
    )]
    id: Vec<String>,
    /// Make tasks of them instead of removing them; dependencies on them follow.
    #[arg(long, short)]
    convert: bool,
    /// Accepted for compatibility and without effect: `tm generate` writes files of tasks.
    #[arg(long, hide = true)]
    skip_generate: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for RemoveSubtask {
    async fn perform(self, start: &Path) -> Result {
        let ids = task_ids(&self.id);
        must_be_subtasks(&ids)?;
        let named = ids.iter().join(", ");
        if !self.convert {
            return self.choice.make(start, &Change::Remove { ids }, |_| {
                format!("removed {named}")
            });
        }
        let choose = |backlog: &Backlog| {
            let free = backlog.next_number..;
            let to = free.map(|number| TaskId::new(number.to_string()));
            let moves = ids.iter().cloned().zip(to);
            moves.map(|(from, to)| Change::Move { from, to }).collect()
        };
        self.choice
            .edit(start, choose, |ids| format!("{named} is now {ids}"))
    }
}

/// `tm clear-subtasks`.
#[derive(Args)]
pub(crate) struct ClearSubtasks {
    /// The tasks, separated by commas.
    #[arg(
        long,
        short,
        value_name = "IDS",
        value_delimiter = ',',
        required_unless_present = "all"
    )]
    id: Vec<String>,
    /// Every task.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Don't ask, which `--all` does.
    #[arg(long, short)]
    yes: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for ClearSubtasks {
    async fn perform(self, start: &Path) -> Result {
        let chosen = self.choice.find(start)?;
        let wanted = if self.all {
            Vec::new()
        } else {
            ids(&self.id, &[])?
        };
        must_have(&chosen, &wanted)?;
        if self.all {
            confirm("Remove the subtasks of all tasks?", self.yes)?;
        }
        let is_wanted = |task: &&Task| self.all || wanted.contains(&task.id);
        let subtasks = |backlog: &Backlog| {
            let tasks = backlog.tasks.iter().filter(is_wanted);
            let subtasks = tasks.flat_map(|task| &task.subtasks);
            subtasks.map(|task| task.id.clone()).collect_vec()
        };
        let count = subtasks(&chosen.read()?).len();
        let choose = |backlog: &Backlog| {
            vec![Change::Remove {
                ids: subtasks(backlog),
            }]
        };
        let words = if count == 1 { "subtask" } else { "subtasks" };
        self.choice
            .edit(start, choose, |_| format!("removed {count} {words}"))
    }
}

/// Tasks that are named have to be there, without subtasks too.
fn must_have(chosen: &ChosenBacklog, ids: &[TaskId]) -> Result<()> {
    let backlog = chosen.read()?;
    let is_there = |id: &TaskId| backlog.tasks.iter().any(|task| task.id == *id);
    let missing = ids.iter().filter(|id| !is_there(id)).collect_vec();
    if missing.is_empty() {
        return Ok(());
    }
    Err(chosen.not_found(&backlog.tag, &missing))
}
