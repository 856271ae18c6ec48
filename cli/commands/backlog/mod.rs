//! The commands on the backlog, with Task Master's names: found or named, read, shown, changed. None of them needs a
//! git repository.

mod concurrent_writers;
mod dependencies;
mod edits;
mod list;
mod pairs;
mod show;
mod tags;

pub(crate) use dependencies::{AddDependency, CheckArguments, FixDependencies, RemoveDependency};
pub(crate) use edits::{AddSubtask, AddTask, MoveTask, RemoveTask};
pub(crate) use list::ListArguments;
pub(crate) use pairs::TddCommand;
pub(crate) use show::{NextArguments, SetStatusArguments, ShowArguments};
pub(crate) use tags::TagsArguments;

use super::Perform;
use crate::ask::{confirmed, is_answered};
use crate::display::{Output, print_json};
use crate::failure::{ExitCode, Result};
use clap::{Args, ValueEnum};
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tm_scheduler::{Status, Tag, Task, TaskId};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};

/// Which backlog.
#[derive(Args, Default)]
pub(crate) struct BacklogChoice {
    /// The backlog: a file, or a folder of a Claude Code task list; looked for when not given.
    #[arg(long, visible_alias = "file", value_name = "PATH")]
    backlog: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long, short = 't')]
    tag: Option<String>,
    /// The project's folder; this one when not given.
    #[arg(long, short = 'p', value_name = "DIR")]
    project: Option<PathBuf>,
}

/// For whom output is.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct ReadingOptions {
    /// How to print it.
    #[arg(long, short = 'f', value_enum, default_value = "text")]
    pub(crate) format: OutputArgument,
    /// The same as `--format json`.
    #[arg(long)]
    json: bool,
    /// Print nothing but errors.
    #[arg(long)]
    silent: bool,
}

impl ReadingOptions {
    /// Returns how to print; `None` is not at all.
    pub(crate) const fn chosen(self) -> Option<OutputArgument> {
        match (self.silent, self.json) {
            (true, _) => None,
            (false, true) => Some(OutputArgument::Json),
            (false, false) => Some(self.format),
        }
    }
}

/// Forms of output.
#[derive(Clone, Copy, Default, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputArgument {
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
        let start = match &self.project {
            Some(project) => start.join(project),
            None => start.to_owned(),
        };
        let source = match &self.backlog {
            Some(path) => BacklogSource::at(&start.join(path)),
            None => BacklogSource::find(&start),
        };
        let environment = std::env::var("TASKMASTER_TAG").unwrap_or_default();
        Ok(ChosenBacklog {
            source: source?,
            options: ReadOptions {
                tag: self.tag.as_deref().map(Tag::from),
                environment_tag: Some(environment)
                    .filter(|tag| !tag.is_empty())
                    .map(Tag::from),
                group: None,
            },
        })
    }
}

impl ChosenBacklog {
    /// Reads it.
    pub(crate) fn read(&self) -> Result<Backlog> {
        Ok(self.source.read(&self.options)?)
    }

    /// Reads it, with what its file holds of each task.
    fn read_entries(&self) -> Result<(Backlog, Vec<Value>)> {
        Ok(self.source.read_entries(&self.options)?)
    }
}

/// How one of the tags of a backlog is read.
pub(crate) fn of_tag(tag: &Tag) -> ReadOptions {
    ReadOptions {
        tag: Some(tag.clone()),
        ..ReadOptions::default()
    }
}

/// Prints what is odd about a backlog on stderr.
fn warn(backlog: &Backlog) {
    for warning in &backlog.warnings {
        say!("warning: {warning}");
    }
}

/// Tells programs on stdout of a failure of which people are told on stderr, and passes it on.
pub(crate) fn told<T>(output: impl Into<Output>, done: Result<T>) -> Result<T> {
    let output = output.into();
    done.inspect_err(|failure| {
        if output == Output::Json {
            let message = format!("failed to {}", failure.message);
            // Printing a text that has just been made from strings can't fail in any other way than a closed pipe.
            let _printed =
                print_json(&json!({"success": false, "error": message, "hint": failure.hint}));
        }
    })
}

/// Reads statuses that somebody typed.
fn statuses(words: &[String]) -> Result<Vec<Status>> {
    let words = words.iter().map(|word| word.trim());
    words
        .filter(|word| !word.is_empty())
        .map(status_of)
        .collect()
}

fn status_of(word: &str) -> Result<Status> {
    match Status::from(word) {
        Status::Other(_) => {
            let known = Status::KNOWN.iter().join(", ");
            Err(failure!("read `{word}` as a status")
                .hint(format!("use one of {known}"))
                .code(ExitCode::Usage))
        }
        status => Ok(status),
    }
}

/// Reads ids that somebody typed, from whichever place they stand in.
fn ids(positional: &[String], flag: &[String]) -> Result<Vec<TaskId>> {
    let chosen = if flag.is_empty() { positional } else { flag };
    let typed = chosen.iter().map(|id| id.trim());
    let ids = typed
        .filter(|id| !id.is_empty())
        .map(TaskId::from)
        .collect_vec();
    if ids.is_empty() {
        return Err(failure!("know which task is meant")
            .hint("name it, as in `--id=1` or `--id=1,2.1`")
            .code(ExitCode::Usage));
    }
    Ok(ids)
}

/// Gives an entry of a backlog the fields in the form that programs rely on, and keeps all others.
fn normalised(task: &Task, mut entry: Value) -> Value {
    if !entry.is_object() {
        entry = json!({});
    }
    entry["id"] = json!(task.id);
    entry["title"] = json!(task.title);
    entry["status"] = json!(task.status);
    entry["priority"] = json!(task.priority);
    entry["dependencies"] = json!(task.dependencies);
    entry
}

/// A title in a list has so many characters at the most.
const LISTED_TITLE: usize = 200;

/// Returns a title as lists show it: one line that is not too long.
fn listed(title: &str) -> String {
    tm_untrusted::line(title, LISTED_TITLE)
}

/// Asks before something is removed; where nobody can be asked, `--yes` has to say it.
fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if is_confirmed {
        return Ok(());
    }
    if !is_answered() {
        return Err(failure!("ask whether to remove it: there is no terminal").hint("add `--yes`"));
    }
    if confirmed(question, false)? {
        Ok(())
    } else {
        Err(failure!("remove it: you said no"))
    }
}
