//! The report of a run as one page: no script, no other file, readable on a phone and on paper.

mod cards;
mod graph;
mod timeline;

use crate::Summary;
use crate::chain::critical_path;
use crate::layout::rendered;
use crate::view::RunView;
use cards::{Cards, Filter};
use graph::Graph;
use serde::Serialize;
use std::collections::BTreeSet;
use timeline::Timeline;

/// A table of more pairs than this tells nobody anything.
const MOST_PAIRS: usize = 1_000;

/// What the page shows beside what every report does.
#[derive(Debug, Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    run: RunView<'a>,
    most_pairs: usize,
    timeline: Option<Timeline<'a>>,
    graph: Option<Graph<'a>>,
    filters: Vec<Filter>,
    cards: Cards,
}

/// Returns the report as HTML, of some 10 MB at the most, however much the run did.
pub(crate) fn report_html(summary: &Summary) -> String {
    let critical: &BTreeSet<&str> = &critical_path(&summary.tasks);
    let run = RunView::of(summary);
    rendered(
        "report.html",
        &Page {
            most_pairs: MOST_PAIRS,
            timeline: Timeline::new(summary, critical),
            graph: Graph::new(&run.rows, critical),
            filters: Filter::of(&run.rows),
            cards: Cards::of(&run.rows, critical),
            run,
        },
    )
}

#[cfg(test)]
mod tests;
