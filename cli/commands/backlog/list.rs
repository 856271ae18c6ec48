//! `tm list`: the tasks of a tag, or of all tags, as a table, as lines, or as one JSON document.

use super::{
    BacklogChoice, ChosenBacklog, OutputArgument, Perform, ReadingOptions, has_status, normalised,
    statuses, warn, with_fields,
};
use crate::display::{print_data, print_json};
use crate::failure::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::{Value, json};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tm_reports::{columns, laid_out, listed};
use tm_scheduler::{Status, Tag, Task, blocks, ready};
use tm_store::backlog::Backlog;

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
    #[arg(long, short, value_delimiter = ',')]
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
    #[arg(long, short)]
    compact: bool,
    /// Leave the line with the totals out.
    #[arg(long)]
    no_header: bool,
    /// List again whenever the backlog changes, until interrupted.
    #[arg(long, short)]
    watch: bool,
    /// The output.
    #[command(flatten)]
    output: ReadingOptions,
}

impl Perform for ListArguments {
    async fn perform(self, start: &Path) -> Result {
        let filter = self.filter()?;
        let chosen = self.choice.find(start)?;
        if self.watch {
            return self.list_changes(&chosen, &filter);
        }
        self.list(&chosen, &filter)
    }
}

impl ListArguments {
    /// Lists again whenever the backlog has changed.
    fn list_changes(&self, chosen: &ChosenBacklog, filter: &Filter) -> Result {
        let path = chosen.source.path();
        loop {
            let shown = stamps(path);
            self.list(chosen, filter)?;
            while stamps(path) == shown {
                std::thread::sleep(POLL_INTERVAL);
            }
            std::thread::sleep(SETTLE);
        }
    }
}

/// What changes when a file, or one in a folder, is written: its inode, when it was written last, and its length.
fn stamps(path: &Path) -> Vec<(u64, i64, i64, u64)> {
    std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .chain([path.to_owned()])
        .filter_map(|path| path.metadata().ok())
        .map(|file| stamp(&file))
        .collect()
}

fn stamp(file: &Metadata) -> (u64, i64, i64, u64) {
    (file.ino(), file.mtime(), file.mtime_nsec(), file.len())
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
    /// What the file says of each task, where the form that programs rely on is asked for.
    entries: Vec<Value>,
    shown: Vec<usize>,
    is_with_subtasks: bool,
}

impl Listing {
    fn new((backlog, entries): (Backlog, Vec<Value>), filter: &Filter) -> Self {
        warn(&backlog);
        let (ready, blocks) = (ready(&backlog.tasks), blocks(&backlog.tasks));
        let is_shown = |task: &Task| {
            has_status(&filter.statuses, task)
                && (!filter.is_ready || ready.contains(&task.id))
                && (!filter.is_blocking || blocks.contains_key(&task.id))
        };
        Self {
            shown: backlog.tasks.iter().positions(is_shown).collect(),
            backlog,
            entries,
            is_with_subtasks: filter.is_with_subtasks,
        }
    }

    /// The tasks that are shown, each with its subtasks where they are too.
    fn rows(&self) -> impl Iterator<Item = &Task> {
        self.shown
            .iter()
            .map(|&position| &self.backlog.tasks[position])
            .flat_map(|task| std::iter::once(task).chain(self.subtasks(task)))
    }

    fn subtasks<'t>(&self, task: &'t Task) -> &'t [Task] {
        if self.is_with_subtasks {
            &task.subtasks
        } else {
            &[]
        }
    }

    fn header(&self) -> String {
        let Backlog { tag, tasks, .. } = &self.backlog;
        let counts = tasks.iter().counts_by(|task| task.status.as_str());
        let known = Status::KNOWN
            .iter()
            .map(Status::as_str)
            .filter_map(|status| Some((counts.get(status)?, status)));
        let said = json!({"tag": tag, "tasks": tasks.len(), "counts": known.collect_vec()});
        laid_out("backlog/header.txt", &said)
    }

    /// What the file says of the tasks that are shown, in the form that programs rely on.
    fn entries(&self) -> Vec<Value> {
        let blocks = blocks(&self.backlog.tasks);
        let entry = |&position: &usize| {
            let task = &self.backlog.tasks[position];
            let mut entry = normalised(task, self.entries[position].clone());
            let subtasks = subtask_entries(self.subtasks(task), &entry["subtasks"].take());
            let blocked = blocks.get(&task.id).cloned().unwrap_or_default();
            with_fields(entry, json!({"subtasks": subtasks, "blocks": blocked}))
        };
        self.shown.iter().map(entry).collect()
    }
}

/// Subtasks keep the numbers that they have within their task.
fn subtask_entries(subtasks: &[Task], entries: &Value) -> Vec<Value> {
    let named = entries
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| !entry["id"].is_null());
    let entry = |(entry, subtask): (&Value, &Task)| {
        let number = subtask.id.as_str().rsplit('.').next();
        with_fields(normalised(subtask, entry.clone()), json!({"id": number}))
    };
    named.zip(subtasks).map(entry).collect()
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
        let snapshot = chosen.source.snapshot()?;
        let backlogs = if self.all_tags {
            snapshot.read_all(&chosen.options)?
        } else {
            vec![snapshot.read(&chosen.options)?]
        };
        let listing = |backlog| {
            let entries = match self.form() {
                Some(OutputArgument::Json) => snapshot.entries(&backlog),
                _ => Vec::new(),
            };
            Listing::new((backlog, entries), filter)
        };
        self.print(&backlogs.into_iter().map(listing).collect_vec())
    }

    fn form(&self) -> Option<OutputArgument> {
        let compact = self.compact.then_some(OutputArgument::Compact);
        compact.or(self.output.chosen())
    }

    fn print(&self, listings: &[Listing]) -> Result {
        match self.form() {
            None => {}
            Some(OutputArgument::Compact) => print_data(&self.lines(listings)),
            Some(OutputArgument::Json) => return print_json(&self.document(listings)),
            Some(OutputArgument::Text) => {
                if !self.no_header {
                    print_data(&listings.iter().map(Listing::header).join(""));
                }
                print_data(&self.table(listings));
            }
        }
        Ok(0)
    }

    fn document(&self, listings: &[Listing]) -> Value {
        let tag_of = |listing: &Listing| json!(listing.backlog.tag);
        let tasks = listings
            .iter()
            .flat_map(|listing| {
                let own = if self.all_tags {
                    json!({"tagName": tag_of(listing)})
                } else {
                    json!({})
                };
                listing
                    .entries()
                    .into_iter()
                    .map(move |entry| with_fields(entry, own.clone()))
            })
            .collect_vec();
        let total: usize = listings.iter().map(|one| one.backlog.tasks.len()).sum();
        let tag = match listings {
            [only] if !self.all_tags => tag_of(only),
            _ => json!("all"),
        };
        let metadata = json!({"total": total, "filtered": tasks.len(), "tag": tag, "storageType": "file",
                              "allTags": self.all_tags});
        json!({"tasks": tasks, "metadata": metadata})
    }

    /// The rows of all tags, each with its tag where there are several.
    fn rows<'l>(
        &self,
        listings: &'l [Listing],
    ) -> impl Iterator<Item = (Option<&'l Tag>, &'l Task)> {
        let is_named = self.all_tags;
        listings.iter().flat_map(move |listing| {
            let tag = is_named.then_some(&listing.backlog.tag);
            listing.rows().map(move |row| (tag, row))
        })
    }

    fn lines(&self, listings: &[Listing]) -> String {
        let rows = self
            .rows(listings)
            .map(|(tag, task)| json!({"tag": tag, "task": task}));
        laid_out("backlog/compact.txt", &rows.collect_vec())
    }

    fn table(&self, listings: &[Listing]) -> String {
        if listings.iter().all(|listing| listing.shown.is_empty()) {
            return "no task to show\n".to_owned();
        }
        let names = ["ID", "STATUS", "PRIORITY", "DEPENDS ON", "TITLE"].map(ToOwned::to_owned);
        let heads = self
            .all_tags
            .then(|| "TAG".to_owned())
            .into_iter()
            .chain(names)
            .collect_vec();
        let rows = std::iter::once(heads).chain(self.rows(listings).map(cells));
        columns(&rows.collect_vec(), Some(WIDTH))
    }
}

fn cells((tag, task): (Option<&Tag>, &Task)) -> Vec<String> {
    let cells = [
        task.id.to_string(),
        task.status.to_string(),
        task.priority.to_string(),
        task.dependencies.iter().join(", "),
        listed(&task.title),
    ];
    tag.map(Tag::to_string).into_iter().chain(cells).collect()
}
