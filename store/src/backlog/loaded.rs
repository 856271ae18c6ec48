//! A backlog as it stands in its files, in the one form in which every kind is read and changed: that of JSON.
//!
//! Knows where the tags are, in all shapes of Task Master's file, and where a value stands in the file that people see:
//! line and column, in JSON, in YAML and in a folder of files.

use super::Position;
use super::document::{Document, Kind, Value};
use super::yaml::layout;
use std::ops::Range;
use std::path::PathBuf;
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

/// A file that holds one task.
#[derive(Debug)]
pub(super) struct TaskFile {
    pub(super) path: PathBuf,
    /// All that it holds.
    pub(super) text: String,
    /// Where the task stands in it.
    pub(super) span: Range<usize>,
}

impl Loaded {
    /// Returns the list of tasks of a tag.
    pub(super) fn list(&self, tag: &Tag) -> Option<Value<'_>> {
        if let Original::Files(_) = self.original {
            return self.document.root();
        }
        let mut lists = lists(&self.document).into_iter();
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

/// The tag of a file without tags, and the one that is current when nothing says otherwise.
pub(super) const MASTER: &str = "master";

/// Returns the list of tasks of each tag, in the order of the file.
pub(super) fn lists(document: &Document) -> Vec<(String, Value<'_>)> {
    let Some(root) = document.root() else {
        return Vec::new();
    };
    if root.kind() == Kind::Array {
        return vec![(MASTER.to_owned(), root)];
    }
    let tags = holder(root)
        .members()
        .filter(|(key, _)| key != "tasks" && key != "metadata");
    let mut lists: Vec<_> = tags
        .filter_map(|(key, value)| Some((key.into_owned(), list_of(value)?)))
        .collect();
    // A file that has both forms keeps its untagged tasks in the tag that such a file always had.
    if let Some(tasks) = root
        .get("tasks")
        .filter(|tasks| tasks.kind() == Kind::Array)
        && !lists.iter().any(|(tag, _)| tag == MASTER)
    {
        lists.insert(0, (MASTER.to_owned(), tasks));
    }
    lists
}

/// Returns the object that holds the tags: the file itself, or its `tags`.
pub(super) fn holder(root: Value<'_>) -> Value<'_> {
    let tags = root.get("tags").filter(|tags| tags.kind() == Kind::Object);
    tags.unwrap_or(root)
}

/// A tag holds its list as `tasks`, or is the list.
fn list_of(tag: Value<'_>) -> Option<Value<'_>> {
    match tag.kind() {
        Kind::Array => Some(tag),
        _ => tag.get("tasks").filter(|tasks| tasks.kind() == Kind::Array),
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
        Position::at(line, before.map_or(0, |before| before.chars().count()) + 1)
    }
}
