//! One value of a document: what it is, what is in it, and where it stands.

use super::Document;
use super::node::{Kind, Node};
use std::borrow::Cow;
use std::ops::Range;

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'d> {
    pub(super) document: &'d Document,
    pub(super) index: usize,
}

impl<'d> Value<'d> {
    /// Returns what the value is.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        self.node().kind()
    }

    /// Returns the value as it is spelled.
    #[inline]
    pub(crate) fn raw(self) -> &'d str {
        &self.document.text[self.span()]
    }

    /// Returns the content of a string, or the spelling of a number or a truth value; `None` for anything else.
    pub(crate) fn plain(self) -> Option<String> {
        self.text().map(Cow::into_owned)
    }

    /// Returns the same without a copy where it has no escapes.
    #[inline]
    pub(crate) fn text(self) -> Option<Cow<'d, str>> {
        match self.kind() {
            Kind::Text | Kind::EscapedText => Some(self.content()),
            Kind::Number | Kind::Boolean => Some(self.raw().into()),
            Kind::Object | Kind::Array | Kind::Null => None,
        }
    }

    /// Returns the last member with that key, as every JSON reader does that accepts repeated keys.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        self.member_values()
            .filter(|(name, _)| name.content() == key)
            .last()
            .map(|(_, value)| value)
    }

    /// Returns the members of an object, in order; nothing for anything else.
    #[inline]
    pub(crate) fn members(self) -> impl Iterator<Item = (Cow<'d, str>, Self)> {
        self.member_values()
            .map(|(key, value)| (key.content(), value))
    }

    /// Returns the elements of an array, in order; nothing for anything else.
    #[inline]
    pub(crate) fn elements(self) -> Children<'d> {
        self.children_when(Kind::Array)
    }

    /// Returns the elements of an array in parts, several of them where it is long, without looking at any element.
    pub(crate) fn parts(self) -> Vec<Children<'d>> {
        let whole = self.elements();
        let entries = self.document.nodes.entries.iter();
        let own = entries.filter(|(list, _)| *list == self.index);
        let inner = own.map(|(_, entry)| *entry);
        let starts = std::iter::once(whole.index).chain(inner.clone());
        let parts = starts.zip(inner.chain([whole.end]));
        let part = |(index, end)| Children {
            index,
            end,
            ..whole.clone()
        };
        parts.map(part).collect()
    }

    /// Returns what is directly in a list or a map, keys among it.
    pub(crate) fn children(self) -> Children<'d> {
        self.children_when(self.kind())
    }

    /// Returns this value and all that is in it, keys among it, in the order of the text.
    pub(crate) fn and_all_within(self) -> impl Iterator<Item = Self> {
        (self.index..self.end_of_nodes()).map(|node| self.document.value(node))
    }

    /// Returns which node of the document this is.
    pub(crate) const fn node_index(self) -> usize {
        self.index
    }

    /// Returns the first node that does not belong to this value.
    #[inline]
    pub(crate) fn end_of_nodes(self) -> usize {
        self.index + self.node().size()
    }

    /// Tells whether this is the same place of the same document.
    pub(super) fn is_at(self, other: Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.index == other.index
    }

    /// Returns the members of an object with their keys as values.
    #[inline]
    pub(super) fn member_values(self) -> impl Iterator<Item = (Self, Self)> {
        let mut children = self.children_when(Kind::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// Returns the bytes it takes in the text.
    #[inline]
    pub(crate) fn span(self) -> Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    #[inline]
    fn children_when(self, kind: Kind) -> Children<'d> {
        let end = if self.kind() == kind {
            self.end_of_nodes()
        } else {
            self.index + 1
        };
        Children {
            document: self.document,
            index: self.index + 1,
            end,
        }
    }

    /// Returns the content of a string.
    #[inline]
    fn content(self) -> Cow<'d, str> {
        let raw = self.raw();
        let inside = &raw[1..raw.len() - 1];
        match self.kind() {
            Kind::EscapedText => Cow::Owned(unescape(inside)),
            _ => Cow::Borrowed(inside),
        }
    }

    #[inline]
    fn node(self) -> Node {
        self.document.nodes.all[self.index]
    }
}

/// The values directly within a container.
#[derive(Clone, Debug)]
pub(crate) struct Children<'d> {
    document: &'d Document,
    index: usize,
    end: usize,
}

impl Children<'_> {
    /// Returns how many nodes are left, those within values among them.
    pub(crate) const fn nodes(&self) -> usize {
        self.end.saturating_sub(self.index)
    }
}

impl<'d> Iterator for Children<'d> {
    type Item = Value<'d>;

    #[inline]
    fn next(&mut self) -> Option<Value<'d>> {
        if self.index >= self.end {
            return None;
        }
        let value = self.document.value(self.index);
        self.index = value.end_of_nodes();
        Some(value)
    }
}

/// Resolves the escapes of a string that was scanned; half a surrogate pair becomes the replacement character.
fn unescape(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(position) = rest.find('\\') {
        text.push_str(&rest[..position]);
        let length = push_escape(&mut text, &rest[position..]);
        rest = &rest[position + length..];
    }
    text.push_str(rest);
    text
}

/// Adds the character of the escape that `rest` starts with and returns how many bytes the escape takes.
fn push_escape(text: &mut String, rest: &str) -> usize {
    let plain = match rest.as_bytes()[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return push_unicode_escape(text, rest),
        other => char::from(other),
    };
    text.push(plain);
    2
}

fn push_unicode_escape(text: &mut String, rest: &str) -> usize {
    let first = hexadecimal(rest, 2);
    if let Some(plain) = char::from_u32(first) {
        text.push(plain);
        return 6;
    }
    let second = if rest[6..].starts_with("\\u") {
        hexadecimal(rest, 8)
    } else {
        0
    };
    if first < 0xDC00 && (0xDC00..0xE000).contains(&second) {
        let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        text.push(char::from_u32(joined).expect("two surrogates make a character"));
        return 12;
    }
    text.push(char::REPLACEMENT_CHARACTER);
    6
}

fn hexadecimal(rest: &str, start: usize) -> u32 {
    u32::from_str_radix(&rest[start..start + 4], 16)
        .expect("the scan has seen four hexadecimal digits")
}
