//! Commands that change which tasks there are: how a change is made and told, `tm remove-task` and `tm move`.

use super::{BacklogChoice, ChosenBacklog, Perform, confirm, told};
use crate::display::print_json;
use crate::failure::{ExitCode, Result};
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_scheduler::{Task, TaskId};
use tm_store::backlog::{Backlog, Change, Changed, Crossing};

/// Which backlog is changed, and how the answer is printed.
#[derive(Args, Debug)]
pub(crate) struct EditChoice {
    /// The backlog file; looked for when not given.
    #[arg(long, short = 'f', visible_alias = "backlog", value_name = "PATH")]
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
        let change = || {
            let ChosenBacklog { source, options } = self.find(start)?;
            let changed = source.change(&options, choose)?.into_iter();
            Ok(changed.flat_map(|Changed { ids }| ids).collect())
        };
        told(self.json, change())
    }

    /// Makes changes and says what they came to, in words or as one document.
    pub(super) fn edit(
        &self,
        start: &Path,
        choose: impl Fn(&Backlog) -> Vec<Change>,
        words: impl Fn(&str) -> String,
    ) -> Result {
        let ids = self.change(start, choose)?;
        if self.json {
            return print_json(&json!({"success": true, "ids": ids}));
        }
        data!("{}\n", words(&ids.iter().join(", ")));
        Ok(0)
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

fn ids(words: &[String]) -> Vec<TaskId> {
    words.iter().map(|id| TaskId::from(id.trim())).collect()
}

/// `tm remove-task`.
#[derive(Args, Debug)]
pub(crate) struct RemoveTask {
    /// Tasks and subtasks, separated by commas.
    #[arg(
        long,
        short = 'i',
        value_name = "IDS",
        value_delimiter = ',',
        required = true
    )]
    id: Vec<String>,
    /// Don't ask.
    #[arg(long, short = 'y')]
    yes: bool,
    /// The backlog.
    #[command(flatten)]
    choice: EditChoice,
}

impl Perform for RemoveTask {
    async fn perform(self, start: &Path) -> Result {
        let ids = ids(&self.id);
        let named = ids.iter().join(", ");
        confirm(&format!("Remove {named}?"), self.yes)?;
        self.choice.make(start, &Change::Remove { ids }, |_| {
            format!("removed {named}")
        })
    }
}

/// `tm move`.
#[derive(Args, Debug)]
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
        let (from, to) = (ids(&self.from), ids(&self.to));
        let named = from.iter().join(", ");
        self.choice.tag = self.from_tag.take().or(self.choice.tag);
        if let Some(tag) = &self.to_tag {
            let choose = |backlog: &Backlog| vec![self.to_tag(backlog, &from, tag)];
            return self
                .choice
                .edit(start, choose, |ids| format!("moved {ids} to tag {tag}"));
        }
        if from.len() != to.len() {
            return Err(failure!("move {} tasks to {} ids", from.len(), to.len())
                .hint("name as many with `--to` as with `--from`")
                .code(ExitCode::Usage));
        }
        let moves = from.into_iter().zip(to);
        let moves = moves
            .map(|(from, to)| Change::Move { from, to })
            .collect_vec();
        self.choice.edit(
            start,
            |_| moves.clone(),
            |ids| format!("moved {named} to {ids}"),
        )
    }
}

impl MoveTask {
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
