//! Where values stand in the file that people see: line and column, in JSON and in YAML.
//!
//! A YAML backlog is read into the form of JSON; the way to a value is the same in both.

use super::document::{Document, Kind, Value};
use super::{Position, SourceKind};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr as _;
use yaml_edit::{Document as YamlDocument, YamlNode};

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
    let mut found = BTreeMap::new();
    let wanted: BTreeSet<usize> = nodes.iter().copied().collect();
    if let (Ok(yaml), Some(root)) = (YamlDocument::from_str(text), document.root()) {
        let top = yaml
            .as_mapping()
            .map(YamlNode::Mapping)
            .or_else(|| yaml.as_sequence().map(YamlNode::Sequence));
        if let Some(top) = top {
            find(&top, root, &wanted, &mut found);
        }
    }
    nodes
        .iter()
        .map(|node| found.get(node).map(|&start| lines.position(start)))
        .collect()
}

/// Walks both forms side by side.
fn find(
    yaml: &YamlNode,
    value: Value<'_>,
    wanted: &BTreeSet<usize>,
    found: &mut BTreeMap<usize, usize>,
) {
    if wanted.contains(&value.node_index()) {
        found.extend(start(yaml).map(|start| (value.node_index(), start)));
    }
    if wanted
        .range(value.node_index() + 1..value.end_of_nodes())
        .next()
        .is_none()
    {
        return;
    }
    match (value.kind(), yaml) {
        (Kind::Object, YamlNode::Mapping(mapping)) => {
            for (key, member) in value.members() {
                if let Some(node) = mapping.get(&*key) {
                    find(&node, member, wanted, found);
                }
            }
        }
        (Kind::Array, YamlNode::Sequence(sequence)) => {
            for (element, node) in value.elements().zip(sequence.values()) {
                find(&node, element, wanted, found);
            }
        }
        _ => {}
    }
}

fn start(yaml: &YamlNode) -> Option<usize> {
    match yaml {
        YamlNode::Mapping(mapping) => Some(mapping.byte_range().start as usize),
        YamlNode::Sequence(sequence) => Some(sequence.byte_range().start as usize),
        YamlNode::Scalar(scalar) => Some(scalar.byte_range().start as usize),
        YamlNode::Alias(_) | YamlNode::TaggedNode(_) => None,
    }
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
