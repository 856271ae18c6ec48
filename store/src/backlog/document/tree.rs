//! A document that is taken apart only where it is changed: values that nobody opened are written byte for byte as
//! they stood, and what is added between them is laid out as its neighbours are.
//!
//! Knows layout; does not know what the values mean.

mod writer;

use super::{Document, Kind, Value};
use serde_json::Value as Json;
use std::borrow::Cow;

/// A value that may be changed.
#[derive(Clone, Debug)]
pub(crate) enum Tree<'d> {
    /// As it stands in the document.
    Kept(Value<'d>),
    /// A new plain value, as JSON spells it.
    Plain(String),
    /// An object, with what it was.
    Object(Option<Value<'d>>, Vec<(String, Self)>),
    /// An array, with what it was.
    Array(Option<Value<'d>>, Vec<Self>),
}

impl<'d> Tree<'d> {
    /// Returns the whole document; an empty object for a blank one.
    pub(crate) fn of(document: &'d Document) -> Self {
        document
            .root()
            .map_or_else(|| Self::Object(None, Vec::new()), Self::Kept)
    }

    /// Tells whether the whole document is as it was.
    pub(crate) fn is_untouched(&self) -> bool {
        match self {
            Self::Kept(_) => true,
            Self::Object(None, members) => members.is_empty(),
            _ => false,
        }
    }

    /// Returns a new string.
    pub(crate) fn text(text: &str) -> Self {
        Self::Plain(Json::from(text).to_string())
    }

    /// Returns a new value.
    pub(crate) fn new(value: &Json) -> Self {
        match value {
            Json::Object(members) => {
                let member = |(key, value): (&String, &Json)| (key.clone(), Self::new(value));
                Self::Object(None, members.iter().map(member).collect())
            }
            Json::Array(elements) => Self::Array(None, elements.iter().map(Self::new).collect()),
            plain => Self::Plain(plain.to_string()),
        }
    }

    /// Returns the members of an object to change; `None` for anything else.
    pub(crate) fn members(&mut self) -> Option<&mut Vec<(String, Self)>> {
        if let Self::Kept(value) = *self
            && value.kind() == Kind::Object
        {
            let members = value.members();
            let members = members.map(|(key, value)| (key.into_owned(), Self::Kept(value)));
            *self = Self::Object(Some(value), members.collect());
        }
        match self {
            Self::Object(_, members) => Some(members),
            _ => None,
        }
    }

    /// Returns the elements of an array to change; `None` for anything else.
    pub(crate) fn elements(&mut self) -> Option<&mut Vec<Self>> {
        if let Self::Kept(value) = *self
            && value.kind() == Kind::Array
        {
            *self = Self::Array(Some(value), value.elements().map(Self::Kept).collect());
        }
        match self {
            Self::Array(_, elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns a member of an object to change.
    pub(crate) fn member(&mut self, key: &str) -> Option<&mut Self> {
        let mut members = self.members()?.iter_mut().rev();
        members.find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Sets a member of an object, behind all others when it is new.
    pub(crate) fn set(&mut self, key: &str, value: Self) {
        self.set_behind("", key, value);
    }

    /// Sets a member of an object, behind another one when it is new.
    pub(crate) fn set_behind(&mut self, other: &str, key: &str, value: Self) {
        if let Some(old) = self.member(key) {
            *old = value;
        } else if let Some(members) = self.members() {
            let place = members.iter().rposition(|(name, _)| name == other);
            let place = place.map_or(members.len(), |place| place + 1);
            members.insert(place, (key.to_owned(), value));
        }
    }

    /// Returns the list `key` of an object to change, which is made where there is none.
    pub(crate) fn list(&mut self, key: &str) -> Option<&mut Vec<Self>> {
        if self.member(key).and_then(Self::elements).is_none() {
            self.set(key, Self::Array(None, Vec::new()));
        }
        self.member(key)?.elements()
    }

    /// Returns the names of the members of an object, without opening anything.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Kept(value) => value.members().map(|(name, _)| name.into_owned()).collect(),
            Self::Object(_, members) => members.iter().map(|(name, _)| name.clone()).collect(),
            Self::Plain(_) | Self::Array(..) => Vec::new(),
        }
    }

    /// Returns a member of an object, without opening anything.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        match self {
            Self::Kept(value) => value.get(key).map(Self::Kept),
            Self::Object(_, members) => {
                let mut members = members.iter().rev();
                members.find_map(|(name, value)| (name == key).then(|| value.clone()))
            }
            Self::Plain(_) | Self::Array(..) => None,
        }
    }

    /// Returns a plain value that is a member of an object.
    pub(crate) fn plain(&self, key: &str) -> Option<String> {
        self.text_of(key).map(Cow::into_owned)
    }

    /// Returns the same without a copy where it stands in the document without escapes.
    pub(crate) fn text_of(&self, key: &str) -> Option<Cow<'d, str>> {
        match self.get(key)? {
            Self::Kept(value) => value.text(),
            new => new.scalar().map(Cow::Owned),
        }
    }

    /// Returns the content of a string or the spelling of another plain value.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self {
            Self::Kept(value) => value.plain(),
            Self::Plain(raw) => serde_json::from_str(raw).unwrap_or_else(|_| Some(raw.clone())),
            _ => None,
        }
    }

    /// Returns the elements of the list `key`, without opening anything of the original.
    pub(crate) fn parts(&self, key: &str) -> Vec<Self> {
        match self.get(key) {
            Some(Self::Array(_, elements)) => elements,
            Some(Self::Kept(value)) => value.elements().map(Self::Kept).collect(),
            _ => Vec::new(),
        }
    }

    /// Tells whether this is no list and no map.
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Kept(value) => !matches!(value.kind(), Kind::Object | Kind::Array),
            Self::Object(..) | Self::Array(..) => false,
        }
    }

    /// Tells whether this is a string.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Plain(raw) => raw.starts_with('"'),
            Self::Kept(value) => value.raw().starts_with('"'),
            _ => false,
        }
    }

    /// Returns what this was in the original document.
    pub(crate) const fn origin(&self) -> Option<Value<'d>> {
        match self {
            Self::Kept(value) => Some(*value),
            Self::Object(origin, _) | Self::Array(origin, _) => *origin,
            Self::Plain(_) => None,
        }
    }
}
