//! `tm list`: the tasks of a tag, or of all tags, as a table, as lines, or as one JSON document.

use super::{
    BacklogChoice, ChosenBacklog, OutputArgument, Perform, ReadingOptions, listed, normalised,
    of_tag, statuses, warn,
};
use crate::display::{print_data, print_json};
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tm_reports::columns;
use tm_scheduler::{Status, Task, blocks, ready};
use tm_store::backlog::{Backlog, ReadOptions};

/// How often a backlog that is watched is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A change is often several writes in a row: they are shown as one.
const SETTLE: Duration = Duration::from_millis(100);
/// Narrow enough for every terminal and for a page of a log.
const WIDTH: u16 = 80;

/// `tm list`.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct ListArguments {
    /// Only tasks of these statuses; `all` lists everything, with subtasks.
    #[arg(value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<String>,
    /// Only tasks of these statuses.
    #[arg(long, short = 's', value_name = "STATUS", value_delimiter = ',')]
    status: Vec<String>,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// List subtasks too.
    #[arg(long)]
    with_subtasks: bool,
    /// Only tasks that can be worked on now.
    #[arg(long)]
    ready: bool,
    /// Only tasks that others depend on.
    #[arg(long)]
    blocking: bool,
    /// The tasks of all tags.
    #[arg(long, conflicts_with_all = ["tag", "watch"])]
    all_tags: bool,
    /// One task a line, without a table.
    #[arg(long, short = 'c')]
    compact: bool,
    /// Leave the line with the totals out.
    #[arg(long)]
    no_header: bool,
    /// List again whenever the backlog changes, until interrupted.
    #[arg(long, short = 'w')]
    watch: bool,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

impl Perform for ListArguments {
    async fn perform(self, start: &Path) -> Result {
        let filter = self.filter()?;
        let chosen = self.choice.find(start)?;
        if !self.watch {
            return self.list(&chosen, &filter);
        }
        let path = chosen.source.path();
        loop {
            let shown = stamps(path);
            self.list(&chosen, &filter)?;
            while stamps(path) == shown {
                std::thread::sleep(POLL_INTERVAL);
            }
            std::thread::sleep(SETTLE);
        }
    }
}

/// What changes when a file, or one in a folder, is written: its inode, when it was written last, and its length.
fn stamps(path: &Path) -> Vec<(u64, i64, i64, u64)> {
    let within = std::fs::read_dir(path).into_iter().flatten().flatten();
    let paths = within.map(|entry| entry.path()).chain([path.to_owned()]);
    let files = paths.filter_map(|path| path.metadata().ok());
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

/// The tasks of one tag that are shown, with their places in the backlog.
struct Listing {
    backlog: Backlog,
    shown: Vec<usize>,
}

impl Listing {
    fn new(backlog: Backlog, filter: &Filter) -> Self {
        warn(&backlog);
        let ready = ready(&backlog.tasks);
        let blocks = blocks(&backlog.tasks);
        let is_shown = |task: &Task| {
            (filter.statuses.is_empty() || filter.statuses.contains(&task.status))
                && (!filter.is_ready || ready.contains(&task.id))
                && (!filter.is_blocking || blocks.contains_key(&task.id))
        };
        let tasks = backlog.tasks.iter();
        let shown = tasks.positions(is_shown).collect();
        Self { backlog, shown }
    }

    /// The tasks that are shown, each with its subtasks where they are too.
    fn rows(&self, filter: &Filter) -> impl Iterator<Item = (&Self, &Task)> {
        let tasks = self
            .shown
            .iter()
            .map(|&position| &self.backlog.tasks[position]);
        let is_with_subtasks = filter.is_with_subtasks;
        let rows = tasks.flat_map(move |task| {
            let subtasks = task.subtasks.iter().filter(move |_| is_with_subtasks);
            std::iter::once(task).chain(subtasks)
        });
        rows.map(move |row| (self, row))
    }
}

impl ListArguments {
    fn filter(&self) -> Result<Filter> {
        let typed = if self.status.is_empty() {
            &self.statuses
        } else {
            &self.status
        };
        let is_all = typed.iter().any(|status| status == "all");
        Ok(Filter {
            statuses: if is_all { Vec::new() } else { statuses(typed)? },
            is_with_subtasks: self.with_subtasks || is_all,
            is_ready: self.ready,
            is_blocking: self.blocking,
        })
    }

    fn list(&self, chosen: &ChosenBacklog, filter: &Filter) -> Result {
        let tags = if self.all_tags {
            chosen.read()?.tags.iter().map(of_tag).collect()
        } else {
            vec![chosen.options.clone()]
        };
        let output = if self.compact {
            Some(OutputArgument::Compact)
        } else {
            self.output.chosen()
        };
        if output == Some(OutputArgument::Json) {
            return self.as_json(chosen, filter, &tags);
        }
        let backlogs: std::result::Result<Vec<Backlog>, _> = tags
            .iter()
            .map(|options| chosen.source.read(options))
            .collect();
        let listings = backlogs?
            .into_iter()
            .map(|backlog| Listing::new(backlog, filter));
        let listings = listings.collect_vec();
        match output {
            None | Some(OutputArgument::Json) => {}
            Some(OutputArgument::Compact) => {
                let rows = listings.iter().flat_map(|listing| listing.rows(filter));
                print_data(&rows.map(|row| self.line(row)).join(""));
            }
            Some(OutputArgument::Text) => {
                if !self.no_header {
                    print_data(&listings.iter().map(header).join(""));
                }
                print_data(&self.table(&listings, filter));
            }
        }
        Ok(0)
    }

    fn as_json(&self, chosen: &ChosenBacklog, filter: &Filter, tags: &[ReadOptions]) -> Result {
        let mut tasks = Vec::new();
        let (mut total, mut tag) = (0, json!("all"));
        for options in tags {
            let (backlog, entries) = chosen.source.read_entries(options)?;
            total += backlog.tasks.len();
            let listing = Listing::new(backlog, filter);
            let own = json!(listing.backlog.tag);
            for mut entry in listing.entries(entries, filter) {
                if self.all_tags {
                    entry["tagName"] = own.clone();
                }
                tasks.push(entry);
            }
            if !self.all_tags {
                tag = own;
            }
        }
        let metadata = json!({"total": total, "filtered": tasks.len(), "tag": tag, "storageType": "file",
                              "allTags": self.all_tags});
        print_json(&json!({"tasks": tasks, "metadata": metadata}))
    }

    fn table(&self, listings: &[Listing], filter: &Filter) -> String {
        if listings.iter().all(|listing| listing.shown.is_empty()) {
            return "no task to show\n".to_owned();
        }
        let names = ["ID", "STATUS", "PRIORITY", "DEPENDS ON", "TITLE"].map(ToOwned::to_owned);
        let tag = self.all_tags.then(|| "TAG".to_owned());
        let heads = tag.into_iter().chain(names).collect_vec();
        let rows = listings.iter().flat_map(|listing| listing.rows(filter));
        let rows = rows.map(|(listing, row)| {
            let cells = [
                row.id.to_string(),
                row.status.to_string(),
                row.priority.to_string(),
                row.dependencies.iter().join(", "),
                listed(&row.title),
            ];
            let tag = self.all_tags.then(|| listing.backlog.tag.to_string());
            tag.into_iter().chain(cells).collect()
        });
        columns(
            &std::iter::once(heads).chain(rows).collect_vec(),
            Some(WIDTH),
        )
    }

    fn line(&self, (listing, row): (&Listing, &Task)) -> String {
        let tag = self.all_tags.then(|| format!("[{}] ", listing.backlog.tag));
        let tag = tag.unwrap_or_default();
        let Task {
            id,
            status,
            priority,
            ..
        } = row;
        let title = listed(&row.title);
        let after = match row.dependencies.as_slice() {
            [] => String::new(),
            ids => format!(" → {}", ids.iter().join(", ")),
        };
        format!("{tag}{id} {status} {title} ({priority}){after}\n")
    }
}

impl Listing {
    /// What the file says of the tasks that are shown, in the form that programs rely on.
    fn entries(&self, mut entries: Vec<Value>, filter: &Filter) -> Vec<Value> {
        let blocks = blocks(&self.backlog.tasks);
        let entry = |&position: &usize| {
            let task = &self.backlog.tasks[position];
            let mut entry = normalised(task, entries[position].take());
            let subtasks = entry["subtasks"].take();
            entry["subtasks"] = if filter.is_with_subtasks {
                subtask_entries(task, subtasks)
            } else {
                json!([])
            };
            entry["blocks"] = json!(blocks.get(&task.id).cloned().unwrap_or_default());
            entry
        };
        self.shown.iter().map(entry).collect()
    }
}

/// Subtasks keep the numbers that they have within their task.
fn subtask_entries(task: &Task, entries: Value) -> Value {
    let Value::Array(entries) = entries else {
        return json!([]);
    };
    let named = entries.into_iter().filter(|entry| !entry["id"].is_null());
    let entry = |(entry, subtask): (Value, &Task)| {
        let mut entry = normalised(subtask, entry);
        entry["id"] = json!(subtask.id.as_str().rsplit('.').next());
        entry
    };
    named.zip(&task.subtasks).map(entry).collect()
}

fn header(listing: &Listing) -> String {
    let Backlog { tag, tasks, .. } = &listing.backlog;
    let count = |status: &Status| tasks.iter().filter(|task| task.status == *status).count();
    let known = Status::KNOWN.iter().map(|status| (count(status), status));
    let known = known.filter(|(count, _)| *count > 0);
    let parts = known
        .map(|(count, status)| format!("{count} {status}"))
        .collect_vec();
    let of_all = match tasks.len() {
        0 => "no tasks".to_owned(),
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    };
    let colon = if parts.is_empty() { "" } else { ": " };
    format!("tag {tag}, {of_all}{colon}{}\n", parts.join(", "))
}
