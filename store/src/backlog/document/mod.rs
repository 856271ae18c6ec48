//! A JSON text that is changed in place: only the bytes of a changed value differ, everything else stays as it was.
//!
//! Field order, number spelling, indentation, escapes, line ends, byte order mark and final newline are kept because
//! they are never touched, not because they are written again. Does not know what the values mean.

mod node;
mod parts;
mod plain;
mod scan;
#[cfg(test)]
pub(super) mod tests;
mod tree;
mod value;

pub(crate) use node::Kind;
pub(crate) use tree::Tree;
pub(crate) use value::{Children, Value};

use scan::Nodes;
use std::fmt;

/// A text and the place of every value in it; a blank one has none.
#[derive(Debug, Default)]
pub(crate) struct Document {
    text: String,
    nodes: Nodes,
}

impl Document {
    /// Scans `text`, which may be blank.
    pub(crate) fn parse(text: String) -> Result<Self, SyntaxError> {
        let nodes = scan::scan(&text)?;
        Ok(Self { text, nodes })
    }

    /// Returns the outermost value, `None` when the text is blank.
    pub(crate) fn root(&self) -> Option<Value<'_>> {
        (!self.nodes.all.is_empty()).then(|| self.value(0))
    }

    /// Returns the value of a node.
    pub(crate) const fn value(&self, node: usize) -> Value<'_> {
        Value {
            document: self,
            index: node,
        }
    }

    /// Returns the text as it is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Gives the text back.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Why and where a text is not JSON.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct SyntaxError {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
    /// What was expected.
    pub(crate) why: String,
}

impl SyntaxError {
    /// Describes what is wrong at a byte of `text`.
    pub(crate) fn at(text: &str, position: usize, why: &str) -> Self {
        let before = &text.as_bytes()[..position.min(text.len())];
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |index| index + 1);
        let line = before.split(|&byte| byte == b'\n').count();
        let column = String::from_utf8_lossy(&before[line_start..])
            .chars()
            .count()
            + 1;
        let rest = &text.as_bytes()[line_start..];
        let is_conflict = ["<<<<<<<", "=======", ">>>>>>>"]
            .iter()
            .any(|marker| rest.starts_with(marker.as_bytes()));
        let why = if is_conflict {
            "a merge conflict that is not resolved"
        } else {
            why
        };
        Self {
            line,
            column,
            why: why.to_owned(),
        }
    }

    /// Returns the error of the file that holds the text.
    pub(crate) fn of_file(&self, path: &std::path::Path) -> super::BacklogError {
        super::BacklogError::Syntax {
            path: path.to_owned(),
            why: self.to_string(),
            position: Some(super::Position::at(self.line, self.column)),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} at line {}, column {}",
            self.why, self.line, self.column
        )
    }
}
