//! The report of a run as one page: no script, no other file, readable on a phone and on paper.

mod graph;
mod timeline;

use crate::Summary;
use crate::chain::critical_path;
use crate::layout::rendered;
use crate::view::RunView;
use graph::Graph;
use serde::Serialize;
use std::collections::BTreeSet;
use timeline::Timeline;

/// What the page shows beside what every report does.
#[derive(Debug, Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    run: RunView<'a>,
    critical: &'a BTreeSet<&'a str>,
    timeline: Option<Timeline<'a>>,
    graph: Option<Graph<'a>>,
}

/// Returns the report as HTML.
pub(crate) fn report_html(summary: &Summary) -> String {
    let critical = &critical_path(&summary.tasks);
    rendered(
        "report.html",
        &Page {
            run: RunView::of(summary),
            critical,
            timeline: Timeline::new(summary, critical),
            graph: Graph::new(summary, critical),
        },
    )
}

#[cfg(test)]
mod tests;
