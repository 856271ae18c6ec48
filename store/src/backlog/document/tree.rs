//! A document that is taken apart only where it is changed: values that nobody opened are written byte for byte as
//! they stood, and what is added between them is laid out as its neighbours are.
//!
//! Knows layout; does not know what the values mean.

mod writer;

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
