//! `tm list`: the tasks of a tag, or of all tags, as a table, as lines, or as one JSON document.

use super::choosing::{Choosing, Filter, Finished};
use super::json_list::JsonList;
use super::{BacklogChoice, ChosenBacklog, OutputArgument, Perform, ReadingOptions, warn};
use crate::display::{json_text, print_json, print_own};
use crate::failure::Result;
use crate::pager::{painted, print_paged, width};
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::fs::Metadata;
use std::io::IsTerminal as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tm_reports::{Cell, Tone, laid_out, listed, one_line_each};
use tm_scheduler::{Status, Tag, Task, TaskId};
use tm_store::backlog::{Backlog, Entry, Snapshot};

/// How often a backlog that is watched is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A change is often several writes in a row: they are shown as one.
const SETTLE: Duration = Duration::from_millis(100);
/// What a task depends on takes so many letters of its line.
const MOST_OF_IDS: usize = 16;

/// `tm list`.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub(crate) struct ListArguments {
    /// Which tasks, and their order.
    #[command(flatten)]
    choosing: Choosing,
    /// The backlog.
    #[command(flatten)]
    choice: BacklogChoice,
    /// List subtasks too.
    #[arg(long)]
    with_subtasks: bool,
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
        let filter = self.choosing.filter()?;
        let chosen = self.choice.find(start)?;
        if self.watch {
            return self.list_changes(&chosen, &filter);
        }
        let snapshot = chosen.source.snapshot()?;
        let listings = self.listings(&snapshot, &chosen, &filter)?;
        if self.form() == Some(OutputArgument::Json) && !std::io::stdout().is_terminal() {
            return print_json(&self.document(&listings));
        }
        print_paged(&painted(&self.text(&listings)?)).await
    }
}

impl ListArguments {
    /// Lists again whenever the backlog has changed.
    fn list_changes(&self, chosen: &ChosenBacklog, filter: &Filter) -> Result {
        let path = chosen.source.path();
        loop {
            let shown = stamps(path);
            let snapshot = chosen.source.snapshot()?;
            let listings = self.listings(&snapshot, chosen, filter)?;
            print_own(&painted(&self.text(&listings)?));
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

/// The tasks of one tag that are shown, with their places in the backlog.
pub(super) struct Listing<'s> {
    pub(super) backlog: Backlog,
    /// What the file says of each task, where the form that programs rely on is asked for.
    pub(super) entries: Vec<Option<Entry<'s>>>,
    pub(super) shown: Vec<usize>,
    is_with_subtasks: bool,
}

impl Listing<'_> {
    /// The tasks that are shown, each with its subtasks where they are too.
    fn rows(&self) -> impl Iterator<Item = &Task> {
        self.shown
            .iter()
            .map(|&position| &self.backlog.tasks[position])
            .flat_map(|task| std::iter::once(task).chain(self.subtasks(task)))
    }

    pub(super) fn subtasks<'t>(&self, task: &'t Task) -> &'t [Task] {
        if self.is_with_subtasks {
            &task.subtasks
        } else {
            &[]
        }
    }
}

/// How many tasks there are, and in which statuses.
pub(super) fn header(Backlog { tag, tasks, .. }: &Backlog) -> String {
    let counts = tasks.iter().counts_by(|task| task.status.as_str());
    let known = Status::KNOWN
        .iter()
        .map(Status::as_str)
        .filter_map(|status| Some((counts.get(status)?, status)));
    let said = json!({"tag": tag, "tasks": tasks.len(), "counts": known.collect_vec()});
    laid_out("backlog/header.txt", &said)
}

impl ListArguments {
    fn listings<'s>(
        &self,
        snapshot: &'s Snapshot<'_>,
        chosen: &ChosenBacklog,
        filter: &Filter,
    ) -> Result<Vec<Listing<'s>>> {
        let backlogs = if self.all_tags {
            snapshot.read_all(&chosen.options)?
        } else {
            vec![snapshot.read(&chosen.options)?]
        };
        let is_json = self.form() == Some(OutputArgument::Json);
        let finished = if is_json {
            Finished::InPlace
        } else {
            Finished::Last
        };
        let mut left = filter.limit().unwrap_or(usize::MAX);
        let mut left_out = 0;
        let listing = |backlog: Backlog| {
            warn(&backlog);
            let mut shown = filter.chosen(&backlog.tasks, finished);
            left_out += shown.len().saturating_sub(left);
            shown.truncate(left);
            left -= shown.len();
            let entries = if is_json {
                snapshot.entries(&backlog)
            } else {
                Vec::new()
            };
            Listing {
                backlog,
                entries,
                shown,
                is_with_subtasks: self.with_subtasks || self.choosing.is_all(),
            }
        };
        let listings = backlogs.into_iter().map(listing).collect_vec();
        if left_out > 0 {
            say!("{left_out} more; a greater `--limit` shows them");
        }
        Ok(listings)
    }

    fn form(&self) -> Option<OutputArgument> {
        let compact = self.compact.then_some(OutputArgument::Compact);
        compact.or(self.output.chosen())
    }

    fn text(&self, listings: &[Listing<'_>]) -> Result<String> {
        Ok(match self.form() {
            None => String::new(),
            Some(OutputArgument::Compact) => self.lines(listings),
            Some(OutputArgument::Json) => json_text(&self.document(listings))?,
            Some(OutputArgument::Text) if self.no_header => self.table(listings),
            Some(OutputArgument::Text) => {
                let headers = listings
                    .iter()
                    .map(|listing| header(&listing.backlog))
                    .join("");
                headers + &self.table(listings)
            }
        })
    }

    const fn document<'l>(&self, listings: &'l [Listing<'l>]) -> JsonList<'l> {
        JsonList {
            listings,
            is_of_all_tags: self.all_tags,
        }
    }

    /// The rows of all tags, each with its tag where there are several.
    fn rows<'l>(
        &self,
        listings: &'l [Listing<'_>],
    ) -> impl Iterator<Item = (Option<&'l Tag>, &'l Task)> {
        let is_named = self.all_tags;
        listings.iter().flat_map(move |listing| {
            let tag = is_named.then_some(&listing.backlog.tag);
            listing.rows().map(move |row| (tag, row))
        })
    }

    fn lines(&self, listings: &[Listing<'_>]) -> String {
        let rows = self
            .rows(listings)
            .map(|(tag, task)| json!({"tag": tag, "task": task}));
        laid_out("backlog/compact.txt", &rows.collect_vec())
    }

    fn table(&self, listings: &[Listing<'_>]) -> String {
        if listings.iter().all(|listing| listing.shown.is_empty()) {
            return "no task to show\n".to_owned();
        }
        let names = [
            "ID",
            "STATUS",
            "PRIORITY",
            "SIZE",
            "SUBTASKS",
            "DEPENDS ON",
            "TITLE",
        ];
        let heads = self.all_tags.then_some("TAG").into_iter().chain(names);
        let heads = heads.map(|name| Cell(name.to_owned(), Some(Tone::Strong)));
        let rows = std::iter::once(heads.collect_vec()).chain(self.rows(listings).map(cells));
        one_line_each(&rows.collect_vec(), width())
    }
}

/// The tone of a status; what nobody works on has none.
fn tone_of(status: &Status) -> Option<Tone> {
    match status {
        Status::Pending | Status::Other(_) => None,
        Status::Done => Some(Tone::Good),
        Status::InProgress => Some(Tone::Busy),
        _ => Some(Tone::Weak),
    }
}

fn cells((tag, task): (Option<&Tag>, &Task)) -> Vec<Cell> {
    let size = task.complexity.map(|size| format!("{size:?}"));
    let done = task
        .subtasks
        .iter()
        .filter(|task| task.status == Status::Done);
    let subtasks = match task.subtasks.len() {
        0 => String::new(),
        all => format!("{}/{all}", done.count()),
    };
    let cells = [
        (listed(task.id.as_str()), None),
        (task.status.to_string(), tone_of(&task.status)),
        (task.priority.to_string(), None),
        (size.unwrap_or_default(), None),
        (subtasks, None),
        (some_of(&task.dependencies), None),
        (listed(&task.title), None),
    ];
    let tag = tag.map(|tag| (tag.to_string(), None)).into_iter();
    tag.chain(cells)
        .map(|(text, tone)| Cell(text, tone))
        .collect()
}

/// As many ids as a cell has room for.
fn some_of(ids: &[TaskId]) -> String {
    let all = ids.iter().join(", ");
    if all.len() <= MOST_OF_IDS {
        return all;
    }
    let fits = |count: &usize| ids.iter().take(*count).join(", ").len() + 4 <= MOST_OF_IDS;
    let count = (1..ids.len()).take_while(fits).last().unwrap_or(0);
    let left = ids.len() - count;
    let named = ids.iter().take(count).map(ToString::to_string);
    named.chain([format!("+{left}")]).join(", ")
}
