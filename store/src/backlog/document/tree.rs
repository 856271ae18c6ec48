//! A document that is taken apart only where it is changed: values that nobody opened are written byte for byte as
//! they stood, and what is added between them is laid out as its neighbours are.
//!
//! Knows layout; does not know what the values mean.

use super::{Document, Kind, Value};

/// A value that may be changed.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// As it stands in the document, at this node.
    Kept(usize),
    /// A new plain value, as JSON spells it.
    Plain(String),
    /// An object, with the node that it was.
    Object(Option<usize>, Vec<(String, Self)>),
    /// An array, with the node that it was.
    Array(Option<usize>, Vec<Self>),
}

impl Tree {
    /// Returns the whole document; an empty object for a blank one.
    pub(crate) fn of(document: &Document) -> Self {
        if document.nodes.is_empty() {
            Self::Object(None, Vec::new())
        } else {
            Self::Kept(0)
        }
    }

    /// Returns a new string.
    pub(crate) fn text(text: &str) -> Self {
        Self::Plain(serde_json::Value::from(text).to_string())
    }

    /// Returns a new value.
    pub(crate) fn new(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Object(members) => Self::Object(
                None,
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::new(value)))
                    .collect(),
            ),
            serde_json::Value::Array(elements) => {
                Self::Array(None, elements.iter().map(Self::new).collect())
            }
            plain => Self::Plain(plain.to_string()),
        }
    }

    /// Returns the members of an object to change; `None` for anything else.
    pub(crate) fn members(&mut self, document: &Document) -> Option<&mut Vec<(String, Self)>> {
        if let Some(value) = self
            .value(document)
            .filter(|value| value.kind() == Kind::Object)
        {
            let members = value
                .members()
                .map(|(key, value)| (key.into_owned(), Self::Kept(value.index)))
                .collect();
            *self = Self::Object(Some(value.index), members);
        }
        match self {
            Self::Object(_, members) => Some(members),
            Self::Kept(_) | Self::Plain(_) | Self::Array(..) => None,
        }
    }

    /// Returns the elements of an array to change; `None` for anything else.
    pub(crate) fn elements(&mut self, document: &Document) -> Option<&mut Vec<Self>> {
        if let Some(value) = self
            .value(document)
            .filter(|value| value.kind() == Kind::Array)
        {
            *self = Self::Array(
                Some(value.index),
                value
                    .elements()
                    .map(|value| Self::Kept(value.index))
                    .collect(),
            );
        }
        match self {
            Self::Array(_, elements) => Some(elements),
            Self::Kept(_) | Self::Plain(_) | Self::Object(..) => None,
        }
    }

    /// Returns a member of an object to change.
    pub(crate) fn member(&mut self, document: &Document, key: &str) -> Option<&mut Self> {
        self.members(document)?
            .iter_mut()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Sets a member of an object, behind all others when it is new.
    pub(crate) fn set(&mut self, document: &Document, key: &str, value: Self) {
        if let Some(old) = self.member(document, key) {
            *old = value;
        } else if let Some(members) = self.members(document) {
            members.push((key.to_owned(), value));
        }
    }

    /// Returns a plain value, or the value of a member, without changing anything.
    pub(crate) fn plain(&self, document: &Document, key: &str) -> Option<String> {
        let member = match self {
            Self::Kept(_) => return self.value(document)?.get(key).and_then(plain),
            Self::Object(_, members) => members
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value)?,
            Self::Plain(_) | Self::Array(..) => return None,
        };
        member.scalar(document)
    }

    /// Returns the content of a string or the spelling of another plain value.
    pub(crate) fn scalar(&self, document: &Document) -> Option<String> {
        match self {
            Self::Kept(_) => plain(self.value(document)?),
            Self::Plain(raw) => serde_json::from_str::<String>(raw)
                .ok()
                .or_else(|| Some(raw.clone())),
            Self::Object(..) | Self::Array(..) => None,
        }
    }

    /// Returns what stands in the list `key`: each plain value, and nothing for anything else.
    pub(crate) fn scalars_within(&self, document: &Document, key: &str) -> Vec<Option<String>> {
        self.parts(document, key)
            .iter()
            .map(|part| part.scalar(document))
            .collect()
    }

    /// Returns the ids of the objects in the list `key`.
    pub(crate) fn ids_within(
        &self,
        document: &Document,
        key: &str,
    ) -> impl Iterator<Item = String> {
        self.parts(document, key)
            .into_iter()
            .filter_map(|part| part.plain(document, "id"))
    }

    /// Returns the ids of the objects in this list.
    pub(crate) fn ids_of(&self, document: &Document) -> impl Iterator<Item = String> {
        let parts = self
            .clone()
            .elements(document)
            .map(std::mem::take)
            .unwrap_or_default();
        parts
            .into_iter()
            .filter_map(|part| part.plain(document, "id"))
    }

    /// Tells whether there is a list `key` with something in it.
    pub(crate) fn has_elements(&self, document: &Document, key: &str) -> bool {
        !self.parts(document, key).is_empty()
    }

    /// Tells whether the member `key` is a string.
    pub(crate) fn is_text(&self, document: &Document, key: &str) -> bool {
        let mut opened = self.clone();
        opened
            .member(document, key)
            .is_some_and(|member| member.is_text_itself(document))
    }

    /// Tells whether this is `null`.
    pub(crate) fn is_null(&self, document: &Document) -> bool {
        match self {
            Self::Plain(raw) => raw == "null",
            Self::Kept(_) => self
                .value(document)
                .is_some_and(|value| value.kind() == Kind::Null),
            Self::Object(..) | Self::Array(..) => false,
        }
    }

    /// Tells whether this is a string.
    pub(crate) fn is_text_itself(&self, document: &Document) -> bool {
        match self {
            Self::Plain(raw) => raw.starts_with('"'),
            Self::Kept(_) => self
                .value(document)
                .is_some_and(|value| value.raw().starts_with('"')),
            Self::Object(..) | Self::Array(..) => false,
        }
    }

    /// Returns the elements of the list `key`, without opening anything of the original.
    fn parts(&self, document: &Document, key: &str) -> Vec<Self> {
        let member = match self {
            Self::Kept(_) => self
                .value(document)
                .and_then(|value| value.get(key))
                .map(|value| Self::Kept(value.index)),
            Self::Object(_, members) => members
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.clone()),
            Self::Plain(_) | Self::Array(..) => None,
        };
        member
            .and_then(|mut list| list.elements(document).map(std::mem::take))
            .unwrap_or_default()
    }

    fn value<'d>(&self, document: &'d Document) -> Option<Value<'d>> {
        match self {
            Self::Kept(index) => Some(Value {
                document,
                index: *index,
            }),
            Self::Plain(_) | Self::Object(..) | Self::Array(..) => None,
        }
    }

    fn origin<'d>(&self, document: &'d Document) -> Option<Value<'d>> {
        self.node().map(|index| Value { document, index })
    }

    /// Returns the node of the original document that this was.
    pub(crate) const fn node(&self) -> Option<usize> {
        match self {
            Self::Kept(index) | Self::Object(Some(index), _) | Self::Array(Some(index), _) => {
                Some(*index)
            }
            Self::Plain(_) | Self::Object(None, _) | Self::Array(None, _) => None,
        }
    }

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

fn plain(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::Object | Kind::Array | Kind::Null => None,
        _ => Some(
            value
                .text()
                .map_or_else(|| value.raw().to_owned(), std::borrow::Cow::into_owned),
        ),
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
                self.object(*origin, members, &self.layout(tree, depth), depth)
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
