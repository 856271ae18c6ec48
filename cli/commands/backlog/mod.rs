//! The commands on the backlog, with Task Master's names: found or named, read, shown, changed. None of them needs a
//! git repository.

mod check;
mod concurrent_writers;
pub(crate) mod edits;
mod list;
mod pairs;
mod show;
mod status;
pub(crate) mod tags;

pub(crate) use check::validate;
pub(crate) use list::list;
pub(crate) use pairs::pair;
pub(crate) use show::{next, show};
pub(crate) use status::set_status;

use crate::arguments::{BacklogChoice, OutputArgument};
use crate::ask::{confirmed, is_answered};
pub(crate) use crate::display::print_json;
use crate::display::print_line;
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Value, json};
use std::path::Path;
use tm_scheduler::{Status, Tag, Task};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};

/// Finds the backlog that the arguments name.
pub(crate) fn source(
    start: &Path,
    choice: &BacklogChoice,
) -> Result<BacklogSource, CommandFailure> {
    let start = choice
        .project
        .as_ref()
        .map_or_else(|| start.to_owned(), |project| start.join(project));
    let found = match &choice.backlog {
        Some(path) => BacklogSource::at(&start.join(path)),
        None => BacklogSource::find(&start),
    };
    Ok(found?)
}

pub(crate) fn options(choice: &BacklogChoice) -> ReadOptions {
    ReadOptions {
        tag: choice.tag.as_deref().map(Tag::from),
        environment_tag: std::env::var("TASKMASTER_TAG")
            .ok()
            .filter(|tag| !tag.is_empty())
            .map(Tag::from),
        group: None,
    }
}

/// Prints what is odd about a backlog on stderr.
fn warn(backlog: &Backlog) {
    for warning in &backlog.warnings {
        print_line(&format!("warning: {warning}"));
    }
}

/// Tells programs on stdout what people are told on stderr, and passes the failure on.
pub(crate) fn told(
    output: Option<OutputArgument>,
    failure: impl Into<CommandFailure>,
) -> CommandFailure {
    let failure = failure.into();
    if output == Some(OutputArgument::Json) {
        let message = format!("failed to {}", failure.message);
        // Printing a text that has just been made from strings can't fail in any other way than a closed pipe.
        let _printed =
            print_json(&json!({"success": false, "error": message, "hint": failure.hint}));
    }
    failure
}

/// Reads statuses that somebody typed.
fn statuses(words: &[String]) -> Result<Vec<Status>, CommandFailure> {
    words
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
        .map(status_of)
        .collect()
}

fn status_of(word: &str) -> Result<Status, CommandFailure> {
    match Status::from(word) {
        Status::Other(_) => {
            let known: Vec<&str> = Status::KNOWN.iter().map(Status::as_str).collect();
            Err(CommandFailure::new(format!("read `{word}` as a status"))
                .hint(format!("use one of {}", known.join(", ")))
                .code(ExitCode::Usage))
        }
        status => Ok(status),
    }
}

/// Reads ids that somebody typed, from whichever place they stand in.
fn ids(positional: &[String], flag: &[String]) -> Result<Vec<String>, CommandFailure> {
    let chosen = if flag.is_empty() { positional } else { flag };
    let ids: Vec<String> = chosen
        .iter()
        .map(|id| id.trim().to_owned())
        .filter(|id| !id.is_empty())
        .collect();
    if ids.is_empty() {
        return Err(CommandFailure::new("know which task is meant")
            .hint("name it, as in `--id=1` or `--id=1,2.1`")
            .code(ExitCode::Usage));
    }
    Ok(ids)
}

/// Gives an entry of a backlog the fields in the form that programs rely on, and keeps all others.
fn normalised(task: &Task, entry: Value) -> Value {
    let mut entry = match entry {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    entry.insert("id".to_owned(), json!(task.id));
    entry.insert("title".to_owned(), json!(task.title));
    entry.insert("status".to_owned(), json!(task.status));
    entry.insert("priority".to_owned(), json!(task.priority));
    entry.insert("dependencies".to_owned(), json!(task.dependencies));
    Value::Object(entry)
}

/// A title in a list has so many characters at the most.
const LISTED_TITLE: usize = 200;

/// Returns a title as lists show it: one line that is not too long.
fn listed(title: &str) -> String {
    tm_untrusted::line(title, LISTED_TITLE)
}

/// Asks before something is removed; where nobody can be asked, `--yes` has to say it.
fn confirm(question: &str, is_confirmed: bool) -> Result<(), CommandFailure> {
    if is_confirmed {
        return Ok(());
    }
    if !is_answered() {
        return Err(
            CommandFailure::new("ask whether to remove it: there is no terminal")
                .hint("add `--yes`"),
        );
    }
    if confirmed(question, false)? {
        Ok(())
    } else {
        Err(CommandFailure::new("remove it: you said no"))
    }
}
