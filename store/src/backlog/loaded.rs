//! A backlog as it stands in its files, in the one form in which every kind is read and changed: that of JSON.
//!
//! Knows where a value stands in the file that people see: line and column, in JSON, in YAML and in a folder of files.

use super::claude::TaskFile;
use super::document::{Document, Value};
use super::yaml::layout;
use super::{Position, task_master};
use tm_scheduler::Tag;

/// A backlog as it was loaded.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Its values.
    pub(super) document: Document,
    /// What they were made from.
    pub(super) original: Original,
}

/// What the document of a backlog was made from.
#[derive(Debug)]
pub(super) enum Original {
    /// It is the file.
    Json,
    /// This text.
    Yaml(String),
    /// Files that hold a task each; the document is the list of them.
    Files(Vec<TaskFile>),
}

impl Loaded {
    /// Returns the list of tasks of a tag.
    pub(super) fn list(&self, tag: &Tag) -> Option<Value<'_>> {
        if let Original::Files(_) = self.original {
            return self.document.root();
        }
        let mut lists = task_master::lists(&self.document).into_iter();
        lists.find_map(|(name, list)| (name == tag.as_str()).then_some(list))
    }

    /// Returns where nodes of the document stand.
    pub(super) fn positions(&self, nodes: &[usize]) -> Vec<Option<Position>> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let start = |node: usize| self.document.value(node).span().start;
        match &self.original {
            Original::Json => {
                let lines = Lines::new(self.document.text());
                let position = |&node: &usize| Some(lines.position(start(node)));
                nodes.iter().map(position).collect()
            }
            Original::Yaml(text) => {
                let lines = Lines::new(text);
                let places = layout::places(text, &self.document).unwrap_or_default();
                let place = |node: &usize| places.get(*node)?.as_ref();
                let position = |node| Some(lines.position(place(node)?.span.start));
                nodes.iter().map(position).collect()
            }
            Original::Files(files) => {
                let root = self.document.root().into_iter();
                let tasks: Vec<Value<'_>> = root.flat_map(Value::elements).collect();
                let position = |&node: &usize| {
                    let place = tasks.partition_point(|task| task.node_index() <= node);
                    let (task, file) = tasks.get(..place)?.iter().zip(files).next_back()?;
                    let at = file.span.start + start(node) - task.span().start;
                    let name = file.path.file_name()?.to_string_lossy();
                    Some(Position {
                        file: Some(name.into_owned()),
                        ..Lines::new(&file.text).position(at)
                    })
                };
                nodes.iter().map(position).collect()
            }
        }
    }
}

/// Where each line of a text begins.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        Self { text, starts }
    }

    fn position(&self, at: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= at);
        let before = self.text.get(self.starts[line - 1]..at);
        Position {
            file: None,
            line,
            column: before.map_or(0, |before| before.chars().count()) + 1,
        }
    }
}
