//! What the page says of each task: those that need somebody first, and so much of them as there is room for.

use crate::Verdict;
use crate::layout::rendered;
use crate::rows::RowView;
use serde::Serialize;
use std::collections::BTreeSet;

/// All tasks together have so many bytes, and so many are kept for the heading of each that is still to come.
const ALL: usize = 5 * 1024 * 1024;
const HEADING: usize = 1024;

/// In this order tasks are shown.
const ORDER: [Verdict; 5] = [
    Verdict::Fail,
    Verdict::Blocked,
    Verdict::NotRun,
    Verdict::Partial,
    Verdict::Pass,
];

/// The tasks, laid out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Cards {
    shown: Vec<String>,
    /// Tasks of which only the heading is shown.
    brief: usize,
    /// Tasks that are not shown.
    left_out: usize,
}

/// One task, to be laid out.
#[derive(Serialize)]
struct Card<'a> {
    #[serde(flatten)]
    row: &'a RowView<'a>,
    is_critical: bool,
    is_brief: bool,
}

impl Cards {
    pub(super) fn of(rows: &[RowView<'_>], critical: &BTreeSet<&str>) -> Self {
        let mut ordered: Vec<&RowView<'_>> = rows.iter().collect();
        ordered.sort_by_key(|row| ORDER.iter().position(|verdict| *verdict == row.verdict));
        let (mut cards, mut used) = (Self::default(), 0);
        for (at, row) in ordered.iter().enumerate() {
            let reserved = HEADING * (rows.len() - at - 1);
            let laid_out = |is_brief| {
                let is_critical = row.halves().any(|half| critical.contains(half.id.as_str()));
                rendered(
                    "task.html",
                    &Card {
                        row,
                        is_critical,
                        is_brief,
                    },
                )
            };
            let mut card = laid_out(false);
            if used + card.len() + reserved > ALL {
                card = laid_out(true);
                cards.brief += 1;
            }
            if used + card.len() > ALL {
                cards.left_out = rows.len() - at;
                cards.brief -= 1;
                break;
            }
            used += card.len();
            cards.shown.push(card);
        }
        cards
    }
}

/// A choice of tasks, by what became of them.
#[derive(Debug, Serialize)]
pub(super) struct Filter {
    verdict: Verdict,
    count: usize,
}

impl Filter {
    /// Returns the choices, where there is more than one.
    pub(super) fn of(rows: &[RowView<'_>]) -> Vec<Self> {
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let filters = ORDER.map(|verdict| Self {
            verdict,
            count: count(verdict),
        });
        let filters: Vec<Self> = filters.into_iter().filter(|one| one.count > 0).collect();
        if filters.len() > 1 {
            filters
        } else {
            Vec::new()
        }
    }
}
