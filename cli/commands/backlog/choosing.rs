//! Which tasks a list shows, and in which order.

use super::{has_status, priority_of, statuses, typed};
use crate::failure::Result;
use clap::{Args, ValueEnum};
use itertools::Itertools as _;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use tm_scheduler::{Priority, Status, Task, TaskId, ready};

/// Which tasks are listed.
#[derive(Args)]
pub(super) struct Choosing {
    /// Only tasks of these statuses; `all` lists everything, with subtasks.
    #[arg(value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<String>,
    /// Only tasks of these statuses.
    #[arg(long, short, value_delimiter = ',')]
    status: Vec<String>,
    /// Only tasks of these priorities.
    #[arg(long, value_delimiter = ',')]
    priority: Vec<String>,
    /// Only tasks that have all these words in what they say.
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Only tasks that can be worked on now.
    #[arg(long)]
    ready: bool,
    /// Only tasks that others depend on.
    #[arg(long)]
    blocking: bool,
    /// The order; without one that of the backlog, for people with what is finished last.
    #[arg(long)]
    sort: Option<Order>,
    /// So many tasks at the most.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Orders of a list.
#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// By id.
    Id,
    /// The most urgent first.
    Priority,
    /// By status.
    Status,
    /// The largest first.
    Complexity,
    /// By title.
    Title,
}

/// The same, understood.
pub(super) struct Filter {
    statuses: Vec<Status>,
    priorities: Vec<Priority>,
    words: Vec<String>,
    is_ready: bool,
    is_blocking: bool,
    order: Option<Order>,
    limit: Option<usize>,
}

/// What becomes of finished tasks where no order is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Finished {
    /// They stand where they stand.
    InPlace,
    /// They come last.
    Last,
}

impl Choosing {
    /// Whether everything is asked for, with subtasks.
    pub(super) fn is_all(&self) -> bool {
        self.typed().iter().any(|status| status == "all")
    }

    fn typed(&self) -> &[String] {
        if self.status.is_empty() {
            &self.statuses
        } else {
            &self.status
        }
    }

    pub(super) fn filter(&self) -> Result<Filter> {
        let words = self.search.as_deref().unwrap_or_default();
        Ok(Filter {
            statuses: if self.is_all() {
                Vec::new()
            } else {
                statuses(self.typed())?
            },
            priorities: typed(&self.priority)
                .map(priority_of)
                .collect::<Result<_>>()?,
            words: words.split_whitespace().map(str::to_lowercase).collect(),
            is_ready: self.ready,
            is_blocking: self.blocking,
            order: self.sort,
            limit: self.limit,
        })
    }
}

impl Filter {
    /// How many tasks are shown at the most.
    pub(super) const fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Returns the places of the tasks that are shown, in the order in which they are.
    pub(super) fn chosen(&self, tasks: &[Task], finished: Finished) -> Vec<usize> {
        let ready = self.is_ready.then(|| ready(tasks));
        let needed = self.is_blocking.then(|| needed(tasks));
        let is_shown = |task: &Task| {
            has_status(&self.statuses, task)
                && (self.priorities.is_empty() || self.priorities.contains(&task.priority))
                && ready.as_ref().is_none_or(|ids| ids.contains(&task.id))
                && needed.as_ref().is_none_or(|ids| ids.contains(&task.id))
                && self.is_found(task)
        };
        let mut shown = tasks.iter().positions(is_shown).collect_vec();
        match self.order {
            Some(order) => order.sort(&mut shown, tasks),
            None if finished == Finished::Last => {
                shown.sort_by_key(|&at| tasks[at].status.satisfies_dependants());
            }
            None => {}
        }
        shown
    }

    fn is_found(&self, task: &Task) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let said = [&*task.title, &task.description, &task.details];
        let subtasks = task.subtasks.iter().map(|subtask| &*subtask.title);
        let text = said.into_iter().chain(subtasks).join("\n").to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }
}

/// The tasks that others depend on.
fn needed(tasks: &[Task]) -> BTreeSet<&TaskId> {
    tasks.iter().flat_map(|task| &task.dependencies).collect()
}

impl Order {
    fn sort(self, places: &mut [usize], tasks: &[Task]) {
        let task = |at: &usize| &tasks[*at];
        match self {
            Self::Id => places.sort_by_key(|at| &task(at).id),
            Self::Priority => places.sort_by_key(|at| Reverse(task(at).priority)),
            Self::Status => {
                let rank = |at: &usize| {
                    let mut known = Status::KNOWN.iter();
                    known.position(|status| *status == task(at).status)
                };
                places.sort_by_key(|at| rank(at).unwrap_or(usize::MAX));
            }
            Self::Complexity => places.sort_by_key(|at| Reverse(task(at).complexity)),
            Self::Title => places.sort_by_cached_key(|at| task(at).title.to_lowercase()),
        }
    }
}
