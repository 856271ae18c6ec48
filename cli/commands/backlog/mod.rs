//! The commands on the backlog, with Task Master's names: found or named, read, shown, changed. None of them needs a
//! git repository.

mod choosing;
mod concurrent_writers;
mod dependencies;
mod edits;
mod form;
mod generate;
mod json_list;
mod list;
mod pairs;
mod show;
mod tags;
mod updates;

pub(crate) use dependencies::{CheckArguments, DependencyCommand, FixDependencies};
pub(crate) use edits::{AddSubtask, AddTask, MoveTask, RemoveTask};
pub(crate) use form::EditTask;
pub(crate) use generate::Generate;
pub(crate) use list::ListArguments;
pub(crate) use pairs::TddCommand;
pub(crate) use show::{NextArguments, SetStatusArguments, ShowArguments};
pub(crate) use tags::{AddTag, Alone, CopyTag, RemoveTag, RenameTag, TagsArguments, UseTag};
pub(crate) use updates::{ClearSubtasks, RemoveSubtask, UpdateSubtask, UpdateTask};

use super::Perform;
use crate::ask::{confirmed, is_answered};
use crate::display::{Output, print_either};
use crate::environment::{folder_in, text_of};
use crate::failure::{CommandFailure, Result};
use clap::{Args, ValueEnum};
use itertools::Itertools as _;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use tm_scheduler::{Priority, RunId, Status, Tag, Task, TaskId, quoted};
use tm_store::backlog::{Backlog, BacklogError, BacklogSource, Change, Changed, ReadOptions};
use tm_store::run::{RunLock, planned_numbers};
use tm_worktrees::common_dir_around;

/// Which backlog.
#[derive(Args, Default)]
pub(crate) struct BacklogChoice {
    /// The backlog: a file, or a folder of a Claude Code task list; looked for when not given.
    #[arg(long, visible_alias = "file", value_name = "PATH")]
    backlog: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long, short)]
    tag: Option<String>,
    /// The project's folder; this one when not given.
    #[arg(long, short, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// For whom output is.
#[derive(Args, Clone, Copy, Default)]
struct ReadingOptions {
    /// How to print it.
    #[arg(long, short, default_value = "text")]
    format: OutputArgument,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    silent: bool,
}

impl ReadingOptions {
    /// Returns how to print; `None` is not at all.
    const fn chosen(self) -> Option<OutputArgument> {
        match (self.silent, self.json) {
            (true, _) => None,
            (false, true) => Some(OutputArgument::Json),
            (false, false) => Some(self.format),
        }
    }

    /// Prints an answer in the form that is chosen.
    fn print(self, answer: &Value, words: impl FnOnce() -> String) -> Result {
        match self.chosen() {
            None => Ok(0),
            form => print_either(form, answer, words),
        }
    }
}

/// Forms of output.
#[derive(Clone, Copy, Default, Eq, PartialEq, ValueEnum)]
enum OutputArgument {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One task a line, without a table.
    Compact,
}

impl From<Option<OutputArgument>> for Output {
    fn from(output: Option<OutputArgument>) -> Self {
        Self::from(output == Some(OutputArgument::Json))
    }
}

/// A backlog that was named or found, and what is read of it.
pub(crate) struct ChosenBacklog {
    pub(crate) source: BacklogSource,
    pub(crate) options: ReadOptions,
}

impl BacklogChoice {
    /// Finds the backlog.
    pub(crate) fn find(&self, start: &Path) -> Result<ChosenBacklog> {
        let start = folder_in(start, self.project.as_deref());
        let mut chosen = ChosenBacklog {
            source: source_of(&start, self.backlog.as_deref())?,
            options: self.options(),
        };
        if let Some(common_dir) = chosen.common_dir() {
            chosen.options.planned = planned_numbers(&common_dir);
        }
        Ok(chosen)
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            tag: self.tag.as_deref().map(Tag::from),
            environment_tag: text_of("TASKMASTER_TAG").map(Tag::from),
            ..ReadOptions::default()
        }
    }
}

/// Returns the backlog that is named, or the one that is found.
pub(crate) fn source_of(start: &Path, named: Option<&Path>) -> Result<BacklogSource, BacklogError> {
    match named {
        Some(path) => BacklogSource::at(&start.join(path)),
        None => BacklogSource::find(start),
    }
}

impl ChosenBacklog {
    /// Makes changes that are chosen under its lock; returns the ids that came of them. Says what it means for a run that
    /// is live where tasks or tags are not what they were.
    fn change(&self, choose: impl Fn(&Backlog) -> Vec<Change>) -> Result<Vec<TaskId>> {
        let takes_names = Cell::new(false);
        let choose = |backlog: &Backlog| {
            let changes = choose(backlog);
            takes_names.set(changes.iter().any(Change::takes_names));
            changes
        };
        let changed = self.source.change(&self.options, choose)?;
        if takes_names.get()
            && let Some(run) = self.live_run()
        {
            say!(
                "note: the run {run} is live and goes on with the tasks that it began with: statuses of tasks that have \
                 another id or tag now are written where their titles are, those of tasks that are gone are not \
                 (`tm waves stop ID` ends the work on one)"
            );
        }
        Ok(changed
            .into_iter()
            .flat_map(|Changed { ids }| ids)
            .collect())
    }

    /// The run of waves that is live in the repository of the backlog.
    fn live_run(&self) -> Option<RunId> {
        let holder = RunLock::holder_in(&self.common_dir()?)?;
        holder.run_id.clone().filter(|_| holder.is_alive())
    }

    /// The git folder around it that all worktrees share.
    fn common_dir(&self) -> Option<PathBuf> {
        let path = self.source.path().canonicalize().ok()?;
        common_dir_around(path.parent()?)
    }

    /// Reads it.
    fn read(&self) -> Result<Backlog> {
        Ok(self.source.read(&self.options)?)
    }

    /// What is said of tasks that are not there.
    fn not_found(&self, tag: &Tag, ids: &[&TaskId]) -> CommandFailure {
        let (path, ids) = (self.source.path().display(), quoted(ids));
        failure!("find {ids} in `{path}`, tag `{tag}`")
            .hint("`tm list --with-subtasks` lists the ids")
    }
}

/// Prints what is odd about a backlog on stderr.
fn warn(backlog: &Backlog) {
    for warning in &backlog.warnings {
        say!("warning: {warning}");
    }
}

/// The words of a list that somebody typed.
fn typed(words: &[String]) -> impl Iterator<Item = &str> {
    words
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
}

/// Returns ids as somebody typed them.
pub(crate) fn task_ids(words: &[String]) -> Vec<TaskId> {
    words.iter().map(|id| TaskId::from(id.trim())).collect()
}

/// Reads statuses that somebody typed.
fn statuses(words: &[String]) -> Result<Vec<Status>> {
    typed(words).map(status_of).collect()
}

fn status_of(word: &str) -> Result<Status> {
    let status = Status::from(word);
    if !matches!(status, Status::Other(_)) {
        return Ok(status);
    }
    let known = Status::KNOWN.iter().join(", ");
    Err(failure!("`{word}` is no status").usage(format!("use one of {known}")))
}

fn priority_of(word: &str) -> Result<Priority> {
    let hint = "use one of low, medium, high, critical";
    Priority::parse(word).ok_or_else(|| failure!("`{word}` is no priority").usage(hint))
}

/// Whether a task has one of these statuses, or none is asked for.
fn has_status(wanted: &[Status], task: &Task) -> bool {
    wanted.is_empty() || wanted.contains(&task.status)
}

/// Reads ids that somebody typed, from whichever place they stand in.
fn ids(positional: &[String], flag: &[String]) -> Result<Vec<TaskId>> {
    let chosen = if flag.is_empty() { positional } else { flag };
    let ids = typed(chosen).map(TaskId::from).collect_vec();
    if ids.is_empty() {
        let hint = "name it, as in `--id=1` or `--id=1,2.1`";
        return Err(failure!("a task is required").usage(hint));
    }
    Ok(ids)
}

/// Gives an entry of a backlog the fields in the form that programs rely on, and keeps all others.
fn normalised(task: &Task, entry: Value) -> Value {
    let fields = json!({"id": task.id, "title": task.title, "status": task.status, "priority": task.priority,
                        "dependencies": task.dependencies});
    with_fields(entry, fields)
}

/// Returns a JSON object with these fields besides and instead of its own.
pub(crate) fn with_fields(entry: Value, fields: Value) -> Value {
    let objects = [entry, fields].into_iter().map(|object| match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    });
    Value::Object(objects.flatten().collect())
}

/// Fields as changes take them.
fn named(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<(String, Value)> {
    fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// Asks before something is removed; where nobody can be asked, `--yes` has to say it.
fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if !is_confirmed && !is_answered() {
        return Err(failure!("ask whether to remove it: there is no terminal").hint("add `--yes`"));
    }
    if is_confirmed || confirmed(question, false)? {
        return Ok(());
    }
    Err(failure!("remove it: you said no"))
}
