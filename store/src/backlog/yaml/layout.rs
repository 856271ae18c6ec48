//! Where each value stands in the text of a YAML document. saphyr-parser lives here and nowhere else.
//!
//! Knows the layout only; what the values are comes from the document in the form of JSON, walked side by side.

use crate::backlog::document::{Document, Kind, Value};
use saphyr_parser::{Event, Parser, Span, StrInput};
use std::ops::Range;

/// What the text shows of a value.
#[derive(Clone, Debug)]
pub(in crate::backlog) struct Place {
    /// The bytes of the value, without comments and blank lines behind it.
    pub(in crate::backlog) span: Range<usize>,
    /// Whether it is a list or a map in brackets.
    pub(super) is_flow: bool,
}

/// Returns the place of each node of `document`, which was read from `text`; none for what is within an alias or has a
/// tag of the user's own.
pub(in crate::backlog) fn places(text: &str, document: &Document) -> Option<Vec<Option<Place>>> {
    let root = document.root()?;
    let mut walk = Walk {
        text,
        parser: Parser::new_from_str(text),
        bytes: text.char_indices().map(|(at, _)| at).collect(),
        places: vec![None; root.end_of_nodes()],
    };
    while !matches!(walk.parser.next()?.ok()?.0, Event::DocumentStart(_)) {}
    walk.enter(root, Kind::Array)?;
    Some(walk.places)
}

struct Walk<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// Where each character begins, since the parser counts characters.
    bytes: Vec<usize>,
    places: Vec<Option<Place>>,
}

impl Walk<'_> {
    /// Writes down where a value and all within it stand, and returns where it ends.
    fn enter(&mut self, value: Value<'_>, parent: Kind) -> Option<usize> {
        let (event, span) = self.parser.next()?.ok()?;
        let mut start = self.byte(span.start.index());
        let mut end = self.end(span);
        let is_flow = self.text[start..end].ends_with(['{', '[']);
        let (kind, tag) = match event {
            Event::MappingStart(_, tag) => (Kind::Object, tag),
            Event::SequenceStart(_, tag) => (Kind::Array, tag),
            _ => {
                let is_flow = false;
                let span = start..end;
                return Some(self.found(value, Place { span, is_flow }));
            }
        };
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) || kind != value.kind() {
            let span = start..self.skip()?;
            return Some(self.found(value, Place { span, is_flow }));
        }
        // The parser begins a list whose dashes stand under its key behind the first of them.
        if parent == Kind::Object && kind == Kind::Array && !is_flow {
            let before = self.text[..start].trim_end_matches(' ');
            start = before.strip_suffix('-').map_or(start, str::len);
        }
        for child in value.children() {
            end = self.enter(child, kind)?;
        }
        let (_, close) = self.parser.next()?.ok()?;
        if is_flow {
            end = self.closed(close);
        }
        let span = start..end;
        Some(self.found(value, Place { span, is_flow }))
    }

    fn found(&mut self, value: Value<'_>, place: Place) -> usize {
        let end = place.span.end;
        self.places[value.node_index()] = Some(place);
        end
    }

    /// Passes over the rest of a list or a map, and returns where it ends.
    fn skip(&mut self) -> Option<usize> {
        let (mut depth, mut end) = (1, 0);
        while depth > 0 {
            let (event, span) = self.parser.next()?.ok()?;
            match event {
                Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
                Event::MappingEnd | Event::SequenceEnd => {
                    depth -= 1;
                    // That of a block is told where the next thing begins.
                    end = if span.is_empty() {
                        end
                    } else {
                        self.closed(span)
                    };
                }
                _ => end = self.end(span),
            }
        }
        Some(end)
    }

    /// Where a list or a map in brackets ends: the parser tells the closing one with the comment behind it.
    fn closed(&self, span: Span) -> usize {
        self.byte(span.start.index()) + 1
    }

    fn byte(&self, character: usize) -> usize {
        self.bytes
            .get(character)
            .copied()
            .unwrap_or(self.text.len())
    }

    /// Where a value ends, without the blank lines that a text in lines takes along.
    fn end(&self, span: Span) -> usize {
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        start + self.text[start..end].trim_end().len()
    }
}
