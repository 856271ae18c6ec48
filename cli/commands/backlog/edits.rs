//! Commands that change which tasks there are: `tm add-task`, `tm add-subtask`, `tm remove-task` and `tm move`, and how a
//! change is made and told.

use super::{
    BacklogChoice, ChosenBacklog, Perform, confirm, named, priority_of, status_of, task_ids, typed,
};
use crate::display::print_either;
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_scheduler::{Task, TaskId};
use tm_store::backlog::{Backlog, Change, Crossing, spelled};

/// Which backlog is changed, and how the answer is printed.
#[derive(Args)]
pub(crate) struct EditChoice {
    /// The backlog file; looked for when not given.
    #[arg(long, short, visible_alias = "backlog", value_name = "PATH")]
    file: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long)]
    tag: Option<String>,
    /// The project's folder; this one when not given.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

impl EditChoice {
    /// Finds the backlog.
    pub(super) fn find(&self, start: &Path) -> Result<ChosenBacklog> {
        let choice = BacklogChoice {
            backlog: self.file.clone(),
            tag: self.tag.clone(),
            project: self.project.clone(),
        };
        choice.find(start)
    }

    /// Makes changes that are chosen under the lock of the backlog; returns the ids that came of them.
    pub(super) fn change(
        &self,
        start: &Path,
        choose: impl Fn(&Backlog) -> Vec<Change>,
    ) -> Result<Vec<TaskId>> {
        self.find(start)?.change(choose)
    }

    /// Makes changes and says what they came to, in words or as one document.
    pub(super) fn edit(
        &self,
        start: &Path,
        choose: impl Fn(&Backlog) -> Vec<Change>,
        words: impl Fn(&str) -> String,
    ) -> Result {
        let chosen = self.find(start)?;
        let ids = chosen.change(choose)?;
        let answer = json!({"success": true, "ids": ids, "live_run": chosen.live_run()});
        print_either(self.json, &answer, || words(&ids.iter().join(", ")) + "\n")
    }

    /// Makes one change, as above.
    pub(super) fn make(
        &self,
        start: &Path,
        change: &Change,
        words: impl Fn(&str) -> String,
    ) -> Result {
        self.edit(start, |_| vec![change.clone()], words)
    }
}

/// `tm remove-task`.
#[derive(Args)]
pub(crate) struct RemoveTask {
    /// Tasks and subtasks, separated by commas.
    #[arg(
        long,
        short,
        value_name = "IDS",
        value_delimiter = ',',
        required = true
    )]
    id: Vec<String>,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for RemoveTask {
    async fn perform(self, start: &Path) -> Result {
        let ids = task_ids(&self.id);
        let named = ids.iter().join(", ");
        confirm(&format!("Remove {named}?"), self.yes)?;
        self.choice.make(start, &Change::Remove { ids }, |_| {
            format!("removed {named}")
        })
    }
}

/// `tm move`.
#[derive(Args)]
pub(crate) struct MoveTask {
    /// The tasks, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',', required = true)]
    from: Vec<String>,
    /// Their new ids, as many; `5.2` makes a subtask of task 5.
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        required_unless_present = "to_tag"
    )]
    to: Vec<String>,
    /// The tag that they leave.
    #[arg(long, value_name = "TAG", conflicts_with = "tag")]
    from_tag: Option<String>,
    /// The tag that they go to, with the ids that they have.
    #[arg(long, value_name = "TAG", conflicts_with = "to")]
    to_tag: Option<String>,
    /// Remove dependencies that would cross tags, instead of refusing.
    #[arg(long, requires = "to_tag")]
    ignore_dependencies: bool,
    /// Move everything that they depend on too.
    #[arg(long, requires = "to_tag", conflicts_with = "ignore_dependencies")]
    with_dependencies: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for MoveTask {
    async fn perform(mut self, start: &Path) -> Result {
        self.choice.tag = self.from_tag.take().or(self.choice.tag);
        match &self.to_tag {
            Some(tag) => self.move_to_tag(start, tag),
            None => self.move_to_ids(start),
        }
    }
}

impl MoveTask {
    fn move_to_tag(&self, start: &Path, tag: &str) -> Result {
        let from = task_ids(&self.from);
        let choose = |backlog: &Backlog| vec![self.to_tag(backlog, &from, tag)];
        self.choice
            .edit(start, choose, |ids| format!("moved {ids} to tag {tag}"))
    }

    fn move_to_ids(&self, start: &Path) -> Result {
        let (from, to) = (task_ids(&self.from), task_ids(&self.to));
        if from.len() != to.len() {
            return Err(failure!("{} tasks can't get {} ids", from.len(), to.len())
                .usage("name as many with `--to` as with `--from`"));
        }
        let named = from.iter().join(", ");
        let moves = from
            .into_iter()
            .zip(to)
            .map(|(from, to)| Change::Move { from, to })
            .collect_vec();
        let words = |ids: &str| format!("moved {named} to {ids}");
        self.choice.edit(start, |_| moves.clone(), words)
    }

    fn to_tag(&self, backlog: &Backlog, from: &[TaskId], tag: &str) -> Change {
        Change::MoveToTag {
            ids: if self.with_dependencies {
                with_dependencies(backlog, from)
            } else {
                from.to_vec()
            },
            tag: tag.into(),
            crossing: if self.ignore_dependencies {
                Crossing::Drop
            } else {
                Crossing::Refuse
            },
        }
    }
}

/// The tasks and all that they depend on, directly or not, in the order of the backlog.
fn with_dependencies(backlog: &Backlog, from: &[TaskId]) -> Vec<TaskId> {
    let task_of = |id: &TaskId| TaskId::from(id.as_str().split('.').next().unwrap_or_default());
    let ids = || backlog.tasks.iter().map(|task| &task.id);
    let by_id: BTreeMap<&TaskId, &Task> = ids().zip(&backlog.tasks).collect();
    let mut wanted = BTreeSet::new();
    let mut left: Vec<TaskId> = from.to_vec();
    while let Some(id) = left.pop() {
        let Some(task) = by_id.get(&id).filter(|task| wanted.insert(&task.id)) else {
            continue;
        };
        let all = std::iter::once(*task).chain(&task.subtasks);
        left.extend(all.flat_map(|task| &task.dependencies).map(task_of));
    }
    let known = ids().filter(|id| wanted.contains(id));
    // An id that is not there is refused by name.
    let unknown = from.iter().filter(|id| !by_id.contains_key(id));
    known.chain(unknown).cloned().collect()
}

/// What a new task or subtask says beside its title.
#[derive(Args)]
struct NewTask {
    /// What is to be done.
    #[arg(long, short, default_value = "")]
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
#[derive(Args)]
pub(crate) struct AddTask {
    /// One line.
    #[arg(long, short)]
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
#[derive(Args)]
pub(crate) struct AddSubtask {
    /// The task that gets it.
    #[arg(long, short, value_name = "ID")]
    parent: String,
    /// A task that becomes the subtask, instead of a new one; dependencies on it follow.
    #[arg(long, short = 'i', value_name = "ID", conflicts_with_all = ["title", "description", "details"])]
    task_id: Option<String>,
    /// One line.
    #[arg(long, short, required_unless_present = "task_id")]
    title: Option<String>,
    /// What else it says; its dependencies name siblings by number.
    #[command(flatten)]
    new: NewTask,
    /// Its status.
    #[arg(long, short, default_value = "pending")]
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
        let priority = priority_of(&self.priority)?;
        let mut fields = self.new.fields(&self.title, "pending")?;
        let own = [("priority", json!(priority)), ("subtasks", json!([]))];
        fields.extend(named(own));
        let change = Change::AddTasks {
            tasks: vec![(None, fields)],
        };
        self.choice
            .make(start, &change, |ids| format!("added task {ids}"))
    }
}

/// Makes a task a subtask.
fn put_below(choice: &EditChoice, start: &Path, from: &TaskId, parent: &TaskId) -> Result {
    let choose = |backlog: &Backlog| {
        vec![Change::Move {
            from: from.clone(),
            to: next_subtask(backlog, parent),
        }]
    };
    choice.edit(start, choose, |ids| {
        format!("task {from} is now subtask {ids}")
    })
}

impl Perform for AddSubtask {
    async fn perform(self, start: &Path) -> Result {
        let parent = TaskId::from(self.parent);
        if let Some(task) = &self.task_id {
            return put_below(&self.choice, start, &task.trim().into(), &parent);
        }
        let title = self.title.unwrap_or_default();
        let fields = self.new.fields(&title, &self.status)?;
        let change = Change::AddSubtask { parent, fields };
        self.choice
            .make(start, &change, |ids| format!("added subtask {ids}"))
    }
}

/// The id that the next subtask of a task gets.
fn next_subtask(backlog: &Backlog, parent: &TaskId) -> TaskId {
    let numbers = backlog
        .tasks
        .iter()
        .filter(|task| task.id == *parent)
        .flat_map(|task| &task.subtasks)
        .filter_map(number_within);
    TaskId::new(format!("{parent}.{}", numbers.max().unwrap_or(0) + 1))
}

/// The number of a subtask within its task.
fn number_within(subtask: &Task) -> Option<u64> {
    subtask.id.as_str().rsplit('.').next()?.parse().ok()
}

impl NewTask {
    /// What the task says.
    fn fields(self, title: &str, status: &str) -> Result<Vec<(String, Value)>> {
        if title.trim().is_empty() {
            return Err(failure!("a title is required").usage("add `--title`"));
        }
        let ids = typed(&self.dependencies).map(spelled).collect_vec();
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
