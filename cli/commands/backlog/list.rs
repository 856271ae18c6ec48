//! `tm list`: the tasks of a tag, or of all tags, as a table, as lines, or as one JSON document.

use super::{listed, normalised, options, print_json, source, statuses, warn};
use crate::arguments::{ListArguments, OutputArgument};
use crate::display::print_data;
use crate::failure::CommandFailure;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tm_reports::columns;
use tm_scheduler::{Status, Task, TaskId, blocks, ready};
use tm_store::backlog::{Backlog, BacklogSource, ReadOptions};

/// How often a backlog that is watched is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A change is often several writes in a row: they are shown as one.
const SETTLE: Duration = Duration::from_millis(100);
/// Narrow enough for every terminal and for a page of a log.
const WIDTH: u16 = 80;

pub(crate) fn list(start: &Path, arguments: &ListArguments) -> Result<u8, CommandFailure> {
    let filter = Filter::new(arguments)?;
    let source = source(start, &arguments.choice)?;
    if !arguments.watch {
        return list_once(&source, arguments, &filter);
    }
    loop {
        let shown = stamps(source.path());
        list_once(&source, arguments, &filter)?;
        while stamps(source.path()) == shown {
            std::thread::sleep(POLL_INTERVAL);
        }
        std::thread::sleep(SETTLE);
    }
}

/// What changes when a file, or one in a folder, is written: its inode, when it was written last, and its length.
fn stamps(path: &Path) -> Vec<(u64, i64, i64, u64)> {
    let within = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let files = within
        .chain([path.to_owned()])
        .filter_map(|path| path.metadata().ok());
    files
        .map(|file| (file.ino(), file.mtime(), file.mtime_nsec(), file.len()))
        .collect()
}

/// Which tasks are shown.
struct Filter {
    statuses: Vec<Status>,
    is_with_subtasks: bool,
    is_ready: bool,
    is_blocking: bool,
}

impl Filter {
    fn new(arguments: &ListArguments) -> Result<Self, CommandFailure> {
        let typed = if arguments.status.is_empty() {
            &arguments.statuses
        } else {
            &arguments.status
        };
        let is_all = typed.iter().any(|status| status == "all");
        Ok(Self {
            statuses: if is_all { Vec::new() } else { statuses(typed)? },
            is_with_subtasks: arguments.with_subtasks || is_all,
            is_ready: arguments.ready,
            is_blocking: arguments.blocking,
        })
    }
}

/// The tasks of one tag that are shown, with their places in the backlog.
struct Listing {
    backlog: Backlog,
    shown: Vec<usize>,
}

impl Listing {
    fn new(backlog: Backlog, filter: &Filter) -> Self {
        let ready = ready(&backlog.tasks);
        let blocks = blocks(&backlog.tasks);
        let is_shown = |task: &Task| {
            (filter.statuses.is_empty() || filter.statuses.contains(&task.status))
                && (!filter.is_ready || ready.contains(&task.id))
                && (!filter.is_blocking || blocks.contains_key(&task.id))
        };
        let shown = (0..backlog.tasks.len())
            .filter(|&position| is_shown(&backlog.tasks[position]))
            .collect();
        Self { backlog, shown }
    }

    fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.shown
            .iter()
            .map(|&position| &self.backlog.tasks[position])
    }
}

fn list_once(
    source: &BacklogSource,
    arguments: &ListArguments,
    filter: &Filter,
) -> Result<u8, CommandFailure> {
    let first = source.read(&options(&arguments.choice))?;
    let mut every_tag = vec![options(&arguments.choice)];
    if arguments.all_tags {
        let of_tag = |tag: &tm_scheduler::Tag| ReadOptions {
            tag: Some(tag.clone()),
            ..ReadOptions::default()
        };
        every_tag = first.tags.iter().map(of_tag).collect();
    }
    let output = if arguments.compact {
        Some(OutputArgument::Compact)
    } else {
        arguments.output.chosen()
    };
    if output == Some(OutputArgument::Json) {
        return list_as_json(source, arguments, filter, &every_tag);
    }
    let listings: Result<Vec<Listing>, _> = if arguments.all_tags {
        every_tag
            .iter()
            .map(|options| {
                source
                    .read(options)
                    .map(|backlog| Listing::new(backlog, filter))
            })
            .collect()
    } else {
        Ok(vec![Listing::new(first, filter)])
    };
    let listings = listings?;
    for listing in &listings {
        warn(&listing.backlog);
    }
    match output {
        None | Some(OutputArgument::Json) => {}
        Some(OutputArgument::Compact) => {
            print_data(&compact(&listings, filter, arguments.all_tags));
        }
        Some(OutputArgument::Text) => {
            if !arguments.no_header {
                print_data(&listings.iter().map(header).collect::<String>());
            }
            print_data(&table(&listings, filter, arguments.all_tags));
        }
    }
    Ok(0)
}

fn list_as_json(
    source: &BacklogSource,
    arguments: &ListArguments,
    filter: &Filter,
    every_tag: &[ReadOptions],
) -> Result<u8, CommandFailure> {
    let mut tasks = Vec::new();
    let (mut total, mut tag) = (0, json!("all"));
    for options in every_tag {
        let (backlog, mut entries) = source.read_entries(options)?;
        total += backlog.tasks.len();
        let listing = Listing::new(backlog, filter);
        warn(&listing.backlog);
        let blocks = blocks(&listing.backlog.tasks);
        for &position in &listing.shown {
            let task = &listing.backlog.tasks[position];
            let mut entry = normalised(task, entries[position].take());
            let subtasks = std::mem::take(&mut entry["subtasks"]);
            entry["subtasks"] = if filter.is_with_subtasks {
                subtask_entries(task, subtasks)
            } else {
                json!([])
            };
            entry["blocks"] = json!(blocks.get(&task.id).cloned().unwrap_or_default());
            if arguments.all_tags {
                entry["tagName"] = json!(listing.backlog.tag);
            }
            tasks.push(entry);
        }
        if !arguments.all_tags {
            tag = json!(listing.backlog.tag);
        }
    }
    let metadata = json!({"total": total, "filtered": tasks.len(), "tag": tag, "storageType": "file",
                          "allTags": arguments.all_tags});
    print_json(&json!({"tasks": tasks, "metadata": metadata}))?;
    Ok(0)
}

/// Subtasks keep the numbers that they have within their task.
fn subtask_entries(task: &Task, entries: Value) -> Value {
    let Value::Array(entries) = entries else {
        return json!([]);
    };
    let named = entries
        .into_iter()
        .filter(|entry| !entry["id"].is_null())
        .zip(&task.subtasks);
    let entry = |(entry, subtask): (Value, &Task)| {
        let number = subtask
            .id
            .as_str()
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_owned();
        let mut entry = normalised(subtask, entry);
        entry["id"] = json!(number);
        entry
    };
    named.map(entry).collect()
}

fn header(listing: &Listing) -> String {
    let tasks = &listing.backlog.tasks;
    let mut parts = Vec::new();
    for status in Status::KNOWN {
        match tasks.iter().filter(|task| task.status == status).count() {
            0 => {}
            count => parts.push(format!("{count} {status}")),
        }
    }
    let of_all = match tasks.len() {
        0 => "no tasks".to_owned(),
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    };
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    };
    format!("tag {}, {of_all}{parts}\n", listing.backlog.tag)
}

fn table(listings: &[Listing], filter: &Filter, is_with_tags: bool) -> String {
    if listings.iter().all(|listing| listing.shown.is_empty()) {
        return "no task to show\n".to_owned();
    }
    let names = ["ID", "STATUS", "PRIORITY", "DEPENDS ON", "TITLE"];
    let tag = is_with_tags.then_some("TAG");
    let heads = tag.into_iter().chain(names).map(ToOwned::to_owned);
    let mut rows: Vec<Vec<String>> = vec![heads.collect()];
    for (listing, row) in rows_of(listings, filter) {
        let cells = [
            row.id.to_string(),
            row.status.to_string(),
            row.priority.as_str().to_owned(),
            joined(row),
            listed(&row.title),
        ];
        let tag = is_with_tags.then(|| listing.backlog.tag.to_string());
        rows.push(tag.into_iter().chain(cells).collect());
    }
    columns(&rows, Some(WIDTH))
}

/// The tasks that are shown, each with its subtasks where they are too.
fn rows_of<'l>(
    listings: &'l [Listing],
    filter: &Filter,
) -> impl Iterator<Item = (&'l Listing, &'l Task)> {
    let is_with_subtasks = filter.is_with_subtasks;
    let subtasks = move |task: &'l Task| {
        let shown = if is_with_subtasks {
            &task.subtasks[..]
        } else {
            &[]
        };
        std::iter::once(task).chain(shown)
    };
    let rows = move |listing: &'l Listing| {
        listing
            .tasks()
            .flat_map(subtasks)
            .map(move |row| (listing, row))
    };
    listings.iter().flat_map(rows)
}

fn compact(listings: &[Listing], filter: &Filter, is_with_tags: bool) -> String {
    let mut text = String::new();
    for (listing, row) in rows_of(listings, filter) {
        if is_with_tags {
            let _ = write!(text, "[{}] ", listing.backlog.tag);
        }
        let (title, priority) = (listed(&row.title), row.priority.as_str());
        let _ = write!(text, "{} {} {title} ({priority})", row.id, row.status);
        if !row.dependencies.is_empty() {
            let _ = write!(text, " → {}", joined(row));
        }
        text.push('\n');
    }
    text
}

fn joined(task: &Task) -> String {
    let ids: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
    ids.join(", ")
}
