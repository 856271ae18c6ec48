//! Writes a tree: what was kept as it stood, what is new laid out as its neighbours are.

use super::{Document, Kind, Tree, Value};

impl Tree {
    /// Returns this value alone, as it stands or laid out as the document is.
    pub(crate) fn write_alone(&self, document: &Document) -> String {
        let mut writer = Writer {
            document,
            out: String::new(),
            unit: unit(document.text()),
        };
        writer.write(self, 0);
        writer.out
    }

    /// Returns the text of the changed document.
    pub(crate) fn write(&self, document: &Document) -> String {
        let text = document.text();
        let mut writer = Writer {
            document,
            out: String::with_capacity(text.len() + 1024),
            unit: unit(text),
        };
        match document.root() {
            None => {
                writer.write(self, 0);
                writer.out.push('\n');
            }
            Some(root) => {
                writer.out.push_str(&text[..root.span().start]);
                writer.write(self, 0);
                writer.out.push_str(&text[root.span().end..]);
            }
        }
        writer.out
    }
}

/// The indentation of one level: that of the first line that is indented, `None` when all is on one line.
fn unit(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("  ".to_owned());
    }
    let line = text
        .trim_start()
        .split('\n')
        .skip(1)
        .find(|line| line.starts_with([' ', '\t']))?;
    Some(line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned())
}

struct Writer<'d> {
    document: &'d Document,
    out: String,
    unit: Option<String>,
}

/// How the parts of a container are set apart.
struct Layout {
    open: String,
    between: String,
    close: String,
}

impl Writer<'_> {
    fn write(&mut self, tree: &Tree, depth: usize) {
        match tree {
            Tree::Kept(index) => {
                let raw = Value {
                    document: self.document,
                    index: *index,
                }
                .raw();
                self.out.push_str(raw);
            }
            Tree::Plain(raw) => self.out.push_str(raw),
            Tree::Object(_, members) if members.is_empty() => self.empty(tree, "{}"),
            Tree::Array(_, elements) if elements.is_empty() => self.empty(tree, "[]"),
            Tree::Object(origin, members) => {
                self.object(*origin, members, &self.layout(tree, depth), depth);
            }
            Tree::Array(_, elements) => {
                let layout = self.layout(tree, depth);
                self.out.push('[');
                self.out.push_str(&layout.open);
                for (place, value) in elements.iter().enumerate() {
                    if place > 0 {
                        let gap = self.gap(&elements[place - 1], value);
                        self.out
                            .push_str(&gap.unwrap_or_else(|| format!(",{}", layout.between)));
                    }
                    self.write(value, depth + 1);
                }
                self.out.push_str(&layout.close);
                self.out.push(']');
            }
        }
    }

    fn object(
        &mut self,
        origin: Option<usize>,
        members: &[(String, Tree)],
        layout: &Layout,
        depth: usize,
    ) {
        let document = self.document;
        let old: Vec<(Value<'_>, Value<'_>)> = origin
            .map(|index| Value { document, index }.member_values().collect())
            .unwrap_or_default();
        let place_of = |key: &str| {
            old.iter()
                .rposition(|(name, _)| name.text().is_some_and(|name| name == key))
        };
        let mut before: Option<usize> = None;
        self.out.push('{');
        self.out.push_str(&layout.open);
        for (index, (key, value)) in members.iter().enumerate() {
            let place = place_of(key);
            if index > 0 {
                match (before, place) {
                    (Some(before), Some(place)) if before + 1 == place => {
                        self.out.push_str(
                            &document.text()[old[before].1.span().end..old[place].0.span().start],
                        );
                    }
                    _ => {
                        self.out.push(',');
                        self.out.push_str(&layout.between);
                    }
                }
            }
            // A key stays as it was spelled, with what stood between it and its value.
            match place {
                Some(place) => {
                    self.out.push_str(
                        &document.text()[old[place].0.span().start..old[place].1.span().start],
                    );
                }
                None => self.new_key(key),
            }
            self.write(value, depth + 1);
            before = place;
        }
        self.out.push_str(&layout.close);
        self.out.push('}');
    }

    /// What was empty before stays as it was spelled.
    fn empty(&mut self, tree: &Tree, raw: &str) {
        let old = tree
            .origin(self.document)
            .filter(|old| ends(*old).is_none())
            .map(Value::raw);
        self.out.push_str(old.unwrap_or(raw));
    }

    fn new_key(&mut self, key: &str) {
        self.out.push_str(&serde_json::Value::from(key).to_string());
        self.out.push_str(": ");
    }

    /// What stood between two values that followed one another before, too.
    fn gap(&self, before: &Tree, after: &Tree) -> Option<String> {
        let (before, after) = (before.origin(self.document)?, after.origin(self.document)?);
        let is_next = self.document.nodes[before.index].next as usize == after.index;
        let between = || &self.document.text()[before.span().end..after.span().start];
        // The next value of the text may stand in another container, behind the end of this one.
        (is_next && between().trim() == ",").then(|| between().to_owned())
    }

    /// As it was laid out, or as the document is.
    fn layout(&self, tree: &Tree, depth: usize) -> Layout {
        let text = self.document.text();
        if let Some(old) = tree.origin(self.document)
            && let Some((first, second, last)) = ends(old)
        {
            let open = text[old.span().start + 1..first].to_owned();
            let close = text[last..old.span().end - 1].to_owned();
            let between = match second {
                Some((end, start)) => text[end..start].replacen(',', "", 1),
                None if open.is_empty() => " ".to_owned(),
                None => open.clone(),
            };
            return Layout {
                open,
                between,
                close,
            };
        }
        match &self.unit {
            Some(unit) => {
                let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
                let open = format!("{newline}{}", unit.repeat(depth + 1));
                Layout {
                    between: open.clone(),
                    open,
                    close: format!("{newline}{}", unit.repeat(depth)),
                }
            }
            None => Layout {
                open: String::new(),
                between: " ".to_owned(),
                close: String::new(),
            },
        }
    }
}

/// Where the first part of a container begins, where the second parts from it, and where the last one ends.
fn ends(container: Value<'_>) -> Option<Ends> {
    let parts: Vec<(usize, usize)> = match container.kind() {
        Kind::Object => container
            .member_values()
            .map(|(key, value)| (key.span().start, value.span().end))
            .collect(),
        _ => container
            .elements()
            .map(|value| (value.span().start, value.span().end))
            .collect(),
    };
    let (first, last) = (parts.first()?, parts.last()?);
    Some((
        first.0,
        parts.get(1).map(|second| (first.1, second.0)),
        last.1,
    ))
}

type Ends = (usize, Option<(usize, usize)>, usize);
