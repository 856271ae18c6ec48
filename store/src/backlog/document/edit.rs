//! Changes to a text, gathered first and made together.

use super::{Document, Value};
use std::ops::Range;

/// Changes that are to be made to a document.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    changes: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Replaces a value.
    pub(crate) fn replace(&mut self, value: Value<'_>, raw: &str) {
        if value.raw() != raw {
            self.changes.push((value.span(), raw.to_owned()));
        }
    }

    /// Adds a member to the object `owner` behind its member `after`, laid out as that one is.
    pub(crate) fn insert_after(
        &mut self,
        owner: Value<'_>,
        after: Value<'_>,
        key: &str,
        raw: &str,
    ) {
        let text = owner.document.text();
        let end = after.span().end;
        let before_member = &text[owner.span().start..after.span().start];
        let line = before_member.rsplit_once('\n').map(|(_, line)| line);
        let indentation = line.map(|line| &line[..line.len() - line.trim_start().len()]);
        let newline = if before_member.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let separator =
            indentation.map_or_else(|| " ".to_owned(), |spaces| format!("{newline}{spaces}"));
        self.changes
            .push((end..end, format!(",{separator}\"{key}\": {raw}")));
    }

    /// Returns the text with all changes; `None` when there is none.
    pub(crate) fn apply(mut self, document: &Document) -> Option<String> {
        if self.changes.is_empty() {
            return None;
        }
        self.changes
            .sort_by_key(|(range, _)| (range.start, range.end));
        let text = document.text();
        let mut changed = String::with_capacity(text.len() + 64 * self.changes.len());
        let mut copied = 0;
        for (range, replacement) in self.changes {
            changed.push_str(&text[copied..range.start]);
            changed.push_str(&replacement);
            copied = range.end;
        }
        changed.push_str(&text[copied..]);
        Some(changed)
    }
}
