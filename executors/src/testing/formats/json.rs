//! What the readers of documents in JSON share: lists are read one by one, so that only what is kept of them is held.

use crate::testing::Parsed;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use std::fmt::{Formatter, Result as Formatted};
use std::marker::PhantomData;

/// Reads a document in JSON; the words are for one that can't be read, and for none.
pub(super) fn json<'o, Document: Deserialize<'o>>(
    document: Option<&'o str>,
    [unreadable, missing]: [&str; 2],
    read: impl FnOnce(Document, &mut Parsed),
) -> Parsed {
    let mut parsed = Parsed::default();
    match document.map(serde_json::from_str) {
        Some(Ok(document)) => read(document, &mut parsed),
        Some(Err(error)) => parsed.breaks(format!("{unreadable}: {error}")),
        None => parsed.breaks(missing),
    }
    parsed
}

/// What a document lists: a test, or a file of them.
pub(super) trait Told {
    /// Adds it to the results, and returns how many tests it told of.
    fn tell(self, parsed: &mut Parsed) -> usize;
}

/// The results that a list in a document tells of.
pub(super) struct List<Item> {
    pub(super) parsed: Parsed,
    /// How many tests were told of.
    pub(super) told: usize,
    item: PhantomData<Item>,
}

impl<Item> Default for List<Item> {
    fn default() -> Self {
        Self {
            parsed: Parsed::default(),
            told: 0,
            item: PhantomData,
        }
    }
}

impl<'de, Item: Deserialize<'de> + Told> Deserialize<'de> for List<Item> {
    fn deserialize<From: Deserializer<'de>>(from: From) -> Result<Self, From::Error> {
        from.deserialize_seq(ListVisitor(Self::default()))
    }
}

struct ListVisitor<Item>(List<Item>);

impl<'de, Item: Deserialize<'de> + Told> Visitor<'de> for ListVisitor<Item> {
    type Value = List<Item>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Formatted {
        formatter.write_str("a list")
    }

    fn visit_seq<Items: SeqAccess<'de>>(
        self,
        mut items: Items,
    ) -> Result<List<Item>, Items::Error> {
        let mut list = self.0;
        while !list.parsed.is_full()
            && let Some(item) = items.next_element::<Item>()?
        {
            list.told += item.tell(&mut list.parsed);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(list)
    }
}

/// Reads a list of texts as one text in which `before` stands before each; nothing is an empty one.
pub(super) fn joined<'de, From: Deserializer<'de>>(
    from: From,
    before: &'static str,
) -> Result<String, From::Error> {
    from.deserialize_any(JoinedVisitor(before))
}

/// Reads a list of texts as their lines, each text behind a line break.
pub(super) fn lines<'de, From: Deserializer<'de>>(from: From) -> Result<String, From::Error> {
    joined(from, "\n")
}

struct JoinedVisitor(&'static str);

impl<'de> Visitor<'de> for JoinedVisitor {
    type Value = String;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> Formatted {
        formatter.write_str("a list of texts")
    }

    fn visit_unit<Error: serde::de::Error>(self) -> Result<String, Error> {
        Ok(String::new())
    }

    fn visit_seq<Items: SeqAccess<'de>>(self, mut items: Items) -> Result<String, Items::Error> {
        let mut all = String::new();
        while let Some(text) = items.next_element::<String>()? {
            all.push_str(self.0);
            all.push_str(&text);
        }
        Ok(all)
    }
}
