//! Writes a tree: what was kept as it stood, what is new laid out as its neighbours are.

use super::{Document, Kind, Tree, Value};

impl Tree<'_> {
    /// Returns this value alone, as it stands or laid out as the document is.
    pub(crate) fn write_alone(&self, document: &Document) -> String {
        let mut writer = Writer {
            text: document.text(),
            out: String::with_capacity(self.length()),
            unit: unit(document.text()),
        };
        writer.write(self, 0);
        writer.out
    }

    /// About as many bytes as what stood in its place.
    fn length(&self) -> usize {
        const MORE: usize = 128;
        self.origin().map_or(0, |was| was.span().len()) + MORE
    }

    /// Returns the text of the changed document.
    pub(crate) fn write(&self, document: &Document) -> String {
        let text = document.text();
        let changed = self.write_alone(document);
        match document.root() {
            None => changed + "\n",
            Some(root) => [
                &text[..root.span().start],
                &changed,
                &text[root.span().end..],
            ]
            .concat(),
        }
    }
}

/// The indentation of one level: that of the first line that is indented, `None` when all is on one line.
fn unit(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("  ".to_owned());
    }
    let mut lines = text.trim_start().split('\n').skip(1);
    let line = lines.find(|line| line.starts_with([' ', '\t']))?;
    Some(line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned())
}

struct Writer<'d> {
    text: &'d str,
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
    fn write(&mut self, tree: &Tree<'_>, depth: usize) {
        match tree {
            Tree::Kept(value) => self.out.push_str(value.raw()),
            Tree::Plain(raw) => self.out.push_str(raw),
            Tree::Object(_, members) if members.is_empty() => self.empty(tree, "{}"),
            Tree::Array(_, elements) if elements.is_empty() => self.empty(tree, "[]"),
            Tree::Object(origin, members) => {
                self.object(*origin, members, &self.layout(tree, depth), depth);
            }
            Tree::Array(_, elements) => {
                let layout = self.layout(tree, depth);
                self.out.extend(["[", &layout.open]);
                for (place, value) in elements.iter().enumerate() {
                    if place > 0 {
                        self.separate(&layout, gap(&elements[place - 1], value));
                    }
                    self.write(value, depth + 1);
                }
                self.out.extend([&layout.close, "]"]);
            }
        }
    }

    fn object(
        &mut self,
        origin: Option<Value<'_>>,
        members: &[(String, Tree<'_>)],
        layout: &Layout,
        depth: usize,
    ) {
        let old: Vec<_> = origin
            .into_iter()
            .flat_map(Value::member_values)
            .map(|(name, value)| (name.plain(), name.span(), value))
            .collect();
        let place_of = |key: &str, value: &Tree<'_>| {
            let has_name = |place: &usize| old[*place].0.as_deref() == Some(key);
            let is_it = |place: &usize| value.origin().is_some_and(|was| was.is_at(old[*place].2));
            let named = (0..old.len()).rev().filter(has_name);
            let renamed = || (0..old.len()).find(is_it);
            named
                .clone()
                .find(is_it)
                .or_else(|| named.max())
                .or_else(renamed)
        };
        let text = self.text;
        let mut before: Option<usize> = None;
        self.out.extend(["{", &layout.open]);
        for (index, (key, value)) in members.iter().enumerate() {
            let place = place_of(key, value);
            if index > 0 {
                // What is new between two members takes nothing of what stood between them.
                let gap = before
                    .zip(place)
                    .filter(|(before, place)| before + 1 == *place);
                let gap =
                    gap.map(|(before, place)| &text[old[before].2.span().end..old[place].1.start]);
                self.separate(layout, gap);
            }
            // A key stays as it was spelled, with what stood between it and its value.
            let spelled = || serde_json::Value::from(key.as_str()).to_string();
            match place.map(|place| &old[place]) {
                Some((name, span, value)) => {
                    let behind = &text[span.end..value.span().start];
                    if name.as_ref() == Some(key) {
                        self.out.push_str(&text[span.clone()]);
                    } else {
                        self.out.push_str(&spelled());
                    }
                    self.out.push_str(behind);
                }
                None => self.out.extend([&spelled(), ": "]),
            }
            self.write(value, depth + 1);
            before = place.or(before);
        }
        self.out.extend([&layout.close, "}"]);
    }

    /// What was empty before stays as it was spelled.
    fn empty(&mut self, tree: &Tree<'_>, raw: &str) {
        let old = tree.origin().filter(|old| ends(*old).is_none());
        self.out.push_str(old.map_or(raw, Value::raw));
    }

    fn separate(&mut self, layout: &Layout, gap: Option<&str>) {
        match gap {
            Some(gap) => self.out.push_str(gap),
            None => self.out.extend([",", &layout.between]),
        }
    }

    /// As it was laid out, or as the document is.
    fn layout(&self, tree: &Tree<'_>, depth: usize) -> Layout {
        if let Some(old) = tree.origin()
            && let Some((first, second, last)) = ends(old)
        {
            let open = self.text[old.span().start + 1..first].to_owned();
            let close = self.text[last..old.span().end - 1].to_owned();
            let between = match second {
                Some((end, start)) => self.text[end..start].replacen(',', "", 1),
                None if open.is_empty() => " ".to_owned(),
                None => open.clone(),
            };
            return Layout {
                open,
                between,
                close,
            };
        }
        let Some(unit) = &self.unit else {
            return Layout {
                open: String::new(),
                between: " ".to_owned(),
                close: String::new(),
            };
        };
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let open = format!("{newline}{}", unit.repeat(depth + 1));
        Layout {
            between: open.clone(),
            open,
            close: format!("{newline}{}", unit.repeat(depth)),
        }
    }
}

/// What stood between two values that followed one another before, too.
fn gap<'d>(before: &Tree<'d>, after: &Tree<'d>) -> Option<&'d str> {
    let (before, after) = (before.origin()?, after.origin()?);
    let is_next = before.end_of_nodes() == after.node_index();
    // The next value of the text may stand in another container, behind the end of this one.
    let between = || &before.document.text()[before.span().end..after.span().start];
    (is_next && between().trim() == ",").then(between)
}

/// Where the first part of a container begins, where the second parts from it, and where the last one ends.
type Ends = (usize, Option<(usize, usize)>, usize);

fn ends(container: Value<'_>) -> Option<Ends> {
    let ends = |(first, last): (Value<'_>, Value<'_>)| (first.span().start, last.span().end);
    let parts: Vec<(usize, usize)> = match container.kind() {
        Kind::Object => container.member_values().map(ends).collect(),
        _ => container
            .elements()
            .map(|value| ends((value, value)))
            .collect(),
    };
    let (first, last) = (parts.first()?, parts.last()?);
    let second = parts.get(1).map(|second| (first.1, second.0));
    Some((first.0, second, last.1))
}
