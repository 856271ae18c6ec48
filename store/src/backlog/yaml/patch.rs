//! Makes the changes of a tree in the text of a YAML document, and nowhere else: each is a replacement of some bytes.
//!
//! Knows layout; whoever calls reads the result back, so an odd layout is refused and never damaged.

use super::layout::{Place, places};
use super::spelling::{block, flow, flow_member, indented, spelled};
use crate::backlog::document::{Document, Tree, Value};
use serde_json::Value as Json;
use std::ops::Range;

/// Returns the changed text; `None` when the document is laid out in a way that can't be changed in place.
pub(super) fn write(text: &str, before: &Document, root: &Tree<'_>) -> Option<String> {
    let separator = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    if before.root().is_none() {
        // What is there are comments at most.
        return Some(format!(
            "{text}{separator}{}",
            spelled(&value_of(root, before)?)?
        ));
    }
    let mut patch = Patch {
        text,
        before,
        places: places(text, before)?,
        edits: Vec::new(),
    };
    patch.change(root, Slot::Entry(0))?;
    Some(patch.apply())
}

/// What a value stands in.
#[derive(Clone, Copy)]
enum Slot {
    /// The document, or the list whose entry begins at that column.
    Entry(usize),
    /// The map whose keys begin at that column; the value comes behind the byte of its colon.
    Member { colon: usize, column: usize },
    /// A list or a map in brackets.
    Flow,
}

struct Patch<'t> {
    text: &'t str,
    before: &'t Document,
    places: Vec<Option<Place>>,
    edits: Vec<(Range<usize>, String)>,
}

impl Patch<'_> {
    fn change(&mut self, tree: &Tree<'_>, slot: Slot) -> Option<()> {
        match tree {
            Tree::Kept(_) => Some(()),
            Tree::Object(Some(old), members) => self.change_map(*old, members, tree, slot),
            Tree::Array(Some(old), elements) => self.change_list(*old, elements, tree, slot),
            Tree::Plain(_) | Tree::Object(None, _) | Tree::Array(None, _) => {
                self.replace(0, tree, slot)
            }
        }
    }

    fn change_map(
        &mut self,
        origin: Value<'_>,
        members: &[(String, Tree<'_>)],
        tree: &Tree<'_>,
        slot: Slot,
    ) -> Option<()> {
        let node = origin.node_index();
        let place = self.place(node)?;
        let old: Vec<_> = origin
            .members()
            .map(|(key, value)| (key, value.node_index()))
            .collect();
        // The node of a key comes right before the one of its value.
        let items: Option<Vec<Range<usize>>> = old
            .iter()
            .map(|(_, value)| Some(self.place(value - 1)?.span.start..self.place(*value)?.span.end))
            .collect();
        let items = items?;
        let column = items.first().map_or(0, |first| self.column(first.start));
        // A member that was renamed is known by its value.
        let place_of = |(key, member): &(String, Tree<'_>)| {
            let origin = member.origin().map(Value::node_index);
            let named = old.iter().position(|(name, _)| name == key);
            named.or_else(|| old.iter().position(|(_, value)| Some(*value) == origin))
        };
        let stays = |at: usize| members.iter().any(|member| place_of(member) == Some(at));
        if !(0..old.len()).any(stays) {
            return self.replace(node, tree, slot);
        }
        self.remove(place.is_flow, &items, stays)?;
        for named @ (key, member) in members {
            let Some(at) = place_of(named) else {
                let value = value_of(member, self.before)?;
                let text = if place.is_flow {
                    flow_member((key, &value))?
                } else {
                    let (head, lines) = block(&value, column, false)?;
                    let key = spelled(&Json::from(key.as_str()))?;
                    let space = if head.is_empty() { "" } else { " " };
                    format!(
                        "{}{}:{space}{head}\n{lines}",
                        " ".repeat(column),
                        key.trim_end()
                    )
                };
                self.insert(place.is_flow, &items, Some(old.len() - 1), text);
                continue;
            };
            let value = old[at].1;
            let name = self.place(value - 1)?.span;
            let colon = name.end;
            if old[at].0 != *key {
                let key = spelled(&Json::from(key.as_str()))?;
                self.edits.push((name, key.trim_end().to_owned()));
            }
            let slot = if place.is_flow {
                Slot::Flow
            } else {
                let colon = colon + self.text[colon..].find(':')? + 1;
                Slot::Member { colon, column }
            };
            if member.origin().is_some_and(|was| was.node_index() == value) {
                self.change(member, slot)?;
            } else {
                self.replace(value, member, slot)?;
            }
        }
        Some(())
    }

    /// Elements that stay keep their order; what is new stands between them.
    fn change_list(
        &mut self,
        origin: Value<'_>,
        elements: &[Tree<'_>],
        tree: &Tree<'_>,
        slot: Slot,
    ) -> Option<()> {
        let node = origin.node_index();
        let Place { is_flow, .. } = self.place(node)?;
        let old: Vec<usize> = origin.elements().map(Value::node_index).collect();
        let place_of = |element: &Tree<'_>| {
            let origin = element.origin()?;
            old.binary_search(&origin.node_index()).ok()
        };
        let kept: Vec<usize> = elements.iter().filter_map(place_of).collect();
        if kept.is_empty() {
            return self.replace(node, tree, slot);
        }
        if !kept.is_sorted() {
            return None;
        }
        let items: Option<Vec<Range<usize>>> = old
            .iter()
            .map(|&element| {
                let span = self.place(element)?.span;
                let dash = || Some(self.text[..span.start].trim_end().strip_suffix('-')?.len());
                Some(if is_flow { span.start } else { dash()? }..span.end)
            })
            .collect();
        let items = items?;
        let column = self.column(items[0].start);
        let slot = |patch: &Self, at: usize| {
            Some(if is_flow {
                Slot::Flow
            } else {
                Slot::Entry(patch.column(patch.place(old[at])?.span.start))
            })
        };
        // What takes the place of another keeps the comment behind it.
        let is_in_place = elements.len() == old.len()
            && elements.iter().enumerate().all(|(at, element)| {
                place_of(element).map_or(matches!(element, Tree::Plain(_)), |was| was == at)
            });
        if !is_in_place {
            self.remove(is_flow, &items, |at| kept.binary_search(&at).is_ok())?;
        }
        let mut behind = None;
        for (at, element) in elements.iter().enumerate() {
            if let Some(place) = place_of(element) {
                behind = Some(place);
                self.change(element, slot(self, place)?)?;
            } else if is_in_place {
                self.replace(old[at], element, slot(self, at)?)?;
            } else {
                let value = value_of(element, self.before)?;
                let text = if is_flow {
                    flow(&value)?
                } else {
                    let margin = " ".repeat(column);
                    let entry = indented(&spelled(&value)?, column + 2);
                    format!("{margin}- {}", entry.trim_start_matches(' '))
                };
                self.insert(is_flow, &items, behind, text);
            }
        }
        Some(())
    }

    /// Puts another value where one stands.
    fn replace(&mut self, node: usize, tree: &Tree<'_>, slot: Slot) -> Option<()> {
        let Place { span, is_flow } = self.place(node)?;
        let value = value_of(tree, self.before)?;
        match slot {
            Slot::Flow => self.edits.push((span, flow(&value)?)),
            Slot::Entry(column) => {
                let entry = indented(&spelled(&value)?, column);
                self.edits.push((span, entry.trim().to_owned()));
            }
            Slot::Member { colon, column } => {
                let (head, lines) = block(&value, column, is_flow)?;
                // Nothing stands before its colon.
                let span = span.start.max(colon)..span.end.max(colon);
                let gap = &self.text[colon..span.start];
                let line_end = self.line_end(span.end);
                if !head.is_empty() && !gap.is_empty() && gap.trim_matches(' ').is_empty() {
                    self.edits.push((span, head));
                } else {
                    if !head.is_empty() {
                        self.edits.push((colon..colon, format!(" {head}")));
                    }
                    let start = colon + gap.trim_end().len();
                    self.edits.push((start..span.end, String::new()));
                }
                if !lines.is_empty() {
                    self.insert_lines(line_end, lines);
                }
            }
        }
        Some(())
    }

    /// Takes out the items that don't stay, with what separates them; at least one stays.
    fn remove(
        &mut self,
        is_flow: bool,
        items: &[Range<usize>],
        stays: impl Fn(usize) -> bool,
    ) -> Option<()> {
        let first = (0..items.len()).find(|&at| stays(at))?;
        for at in (0..items.len()).filter(|&at| !stays(at)) {
            let item = &items[at];
            let range = match (is_flow, at < first) {
                (true, true) => item.start..items[at + 1].start,
                (true, false) => items[at - 1].end..item.end,
                (false, _) => self.lines_of(item),
            };
            let has_comment = |gap: Range<usize>| self.text[gap].contains('#');
            if is_flow && (has_comment(range.start..item.start) || has_comment(item.end..range.end))
            {
                return None;
            }
            self.edits.push((range, String::new()));
        }
        Some(())
    }

    /// Adds an item behind another one, or before all of them.
    fn insert(
        &mut self,
        is_flow: bool,
        items: &[Range<usize>],
        behind: Option<usize>,
        text: String,
    ) {
        match (is_flow, behind) {
            (true, None) => {
                let start = items[0].start;
                self.edits.push((start..start, format!("{text}, ")));
            }
            (true, Some(at)) => {
                let end = items[at].end;
                self.edits.push((end..end, format!(", {text}")));
            }
            (false, None) => self.insert_lines(self.line_start(items[0].start), text),
            (false, Some(at)) => self.insert_lines(self.line_end(items[at].end), text),
        }
    }

    fn insert_lines(&mut self, at: usize, lines: String) {
        let is_cut = at > 0 && !self.text[..at].ends_with('\n');
        let lines = if is_cut { format!("\n{lines}") } else { lines };
        self.edits.push((at..at, lines));
    }

    /// The lines of an item; where it begins behind a dash, what comes next is moved there.
    fn lines_of(&self, item: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.line_start(item.start), self.line_end(item.end));
        if self.text[start..item.start].trim().is_empty() {
            return start..end;
        }
        let rest = &self.text[end..];
        item.start..end + rest.len() - rest.trim_start_matches(' ').len()
    }

    fn place(&self, node: usize) -> Option<Place> {
        self.places[node].clone()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        let newline = self.text[at..].find('\n');
        newline.map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    fn apply(mut self) -> String {
        // Stable: what is pushed first stands first.
        self.edits
            .sort_by_key(|(range, _)| (range.start, range.end));
        let is_dos = self.text.contains("\r\n");
        let mut changed = String::with_capacity(self.text.len() + 256);
        let mut copied = 0;
        for (range, new) in self.edits {
            changed.push_str(&self.text[copied..range.start.max(copied)]);
            changed.push_str(&if is_dos {
                new.replace('\n', "\r\n")
            } else {
                new
            });
            copied = range.end.max(copied);
        }
        changed + &self.text[copied..]
    }
}

fn value_of(tree: &Tree<'_>, before: &Document) -> Option<Json> {
    serde_json::from_str(&tree.write_alone(before)).ok()
}
