//! Where values stand in the file that people see: line and column, in JSON and in YAML.
//!
//! A YAML backlog is read into the form of JSON; the way to a value is the same in both.

use super::document::Document;
use super::yaml::layout;
use super::{Position, SourceKind};

/// Returns where nodes of a document stand in the text that it was read from.
pub(super) fn positions(
    kind: SourceKind,
    text: &str,
    document: &Document,
    nodes: &[usize],
) -> Vec<Option<Position>> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let lines = Lines::new(text);
    if kind != SourceKind::Yaml {
        return nodes
            .iter()
            .map(|&node| Some(lines.position(document.value(node).start())))
            .collect();
    }
    let places = layout::places(text, document).unwrap_or_default();
    let place = |node: &usize| places.get(*node)?.as_ref();
    nodes
        .iter()
        .map(|node| Some(lines.position(place(node)?.span.start)))
        .collect()
}

/// Where each line of a text begins.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    fn position(&self, at: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= at);
        let start = self.starts[line - 1];
        let column = self
            .text
            .get(start..at)
            .map_or(0, |before| before.chars().count())
            + 1;
        Position {
            file: None,
            line,
            column,
        }
    }
}
