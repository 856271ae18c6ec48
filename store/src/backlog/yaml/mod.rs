//! `backlog.yaml`: the same fields in another notation. It is read into the form of JSON, changed there, and only what
//! differs is changed in the text, so that comments and order stay; the result is read back before it is believed.

pub(super) mod layout;
mod patch;
mod spelling;
#[cfg(test)]
mod tests;

use super::document::{Document, Tree};
use super::{BacklogError, Position};
use std::path::Path;

/// A larger file is refused before it is parsed.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Reads the text into the same form as JSON; a key that stands twice is refused.
pub(super) fn document(path: &Path, text: &str) -> Result<Document, BacklogError> {
    let wrong = |why: String| BacklogError::syntax(path, why);
    if text.len() > MOST_BYTES {
        return Err(wrong("it is larger than 64 MiB".to_owned()));
    }
    let value: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| {
        let place = error
            .location()
            .map(|at| Position::at(at.line(), at.column()));
        BacklogError::Syntax {
            path: path.to_owned(),
            why: error.to_string(),
            position: place,
        }
    })?;
    let json = serde_json::to_string(&value).map_err(|error| wrong(error.to_string()))?;
    let json = if json == "null" { String::new() } else { json };
    Document::parse(json).map_err(|error| wrong(error.to_string()))
}

/// Returns the text with the changes of a tree, read back before it is believed.
pub(super) fn write(
    path: &Path,
    text: &str,
    before: &Document,
    root: &Tree<'_>,
) -> Result<String, BacklogError> {
    let layout = || BacklogError::Layout {
        path: path.to_owned(),
    };
    let edited = patch::write(text, before, root).ok_or_else(layout)?;
    let expected = Document::parse(root.write(before)).map_err(|_| layout())?;
    if is_same(&document(path, &edited)?, &expected) {
        Ok(edited)
    } else {
        Err(layout())
    }
}

/// Returns the text with one value set at the names that lead to it, or taken out, with what holds nothing then.
pub(crate) fn change(
    path: &Path,
    text: &str,
    names: &[String],
    value: Option<&serde_json::Value>,
) -> Result<String, BacklogError> {
    let before = document(path, text)?;
    let mut root = Tree::of(&before);
    match value {
        Some(value) => set(&mut root, names, Tree::new(value)),
        None => drop(remove(&mut root, names)),
    }
    if root.is_untouched() {
        return Ok(text.to_owned());
    }
    write(path, text, &before, &root)
}

fn set<'d>(tree: &mut Tree<'d>, names: &[String], value: Tree<'d>) {
    match names {
        [] => {}
        [last] => tree.set(last, value),
        [first, rest @ ..] => {
            // A section without any setting is nothing.
            if tree.member(first).and_then(Tree::members).is_none() {
                tree.set(first, Tree::Object(None, Vec::new()));
            }
            if let Some(section) = tree.member(first) {
                set(section, rest, value);
            }
        }
    }
}

/// Takes a value out; tells whether nothing is left beside it.
fn remove(tree: &mut Tree<'_>, names: &[String]) -> bool {
    let Some((first, rest)) = names.split_first() else {
        return true;
    };
    if tree.get(first).is_none() {
        return false;
    }
    let is_empty = tree
        .member(first)
        .is_some_and(|section| remove(section, rest));
    let Some(members) = tree.members().filter(|_| is_empty) else {
        return false;
    };
    members.retain(|(name, _)| name != first);
    members.is_empty()
}

/// Tells whether two documents hold the same values.
fn is_same(left: &Document, right: &Document) -> bool {
    let values = |document: &Document| {
        document
            .root()
            .map(|root| serde_json::from_str::<serde_json::Value>(root.raw()).unwrap_or_default())
    };
    values(left) == values(right)
}
