//! Makes the changes of a tree in the text of a YAML document, and nowhere else. yaml-edit lives here and nowhere else.
//!
//! Knows layout; whoever calls reads the result back, so an odd layout is refused and never damaged.

use crate::backlog::document::{Document, Tree, Value};
use std::collections::BTreeSet;
use std::str::FromStr as _;
use yaml_edit::{Document as YamlDocument, Mapping, Sequence, YamlNode};

/// Returns the changed text; `None` when the document is laid out in a way that can't be changed in place.
pub(super) fn write(text: &str, before: &Document, root: &Tree) -> Option<String> {
    let Some(origin) = before.root() else {
        // What is there are comments at most.
        let separator = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Some(format!("{text}{separator}{}", rendered(root, before)?));
    };
    let text = append(text, before, root)?;
    let yaml = YamlDocument::from_str(&text).ok()?;
    match (yaml.as_mapping(), yaml.as_sequence()) {
        (Some(mapping), _) => patch_mapping(&mapping, origin, root, before)?,
        (None, Some(sequence)) => patch_sequence(&sequence, origin, root, before)?,
        (None, None) => return None,
    }
    Some(yaml.to_string())
}

fn patch_node(node: &YamlNode, origin: Value<'_>, tree: &Tree, before: &Document) -> Option<()> {
    match (node.as_mapping(), node.as_sequence()) {
        (Some(mapping), _) => patch_mapping(mapping, origin, tree, before),
        (None, Some(sequence)) => patch_sequence(sequence, origin, tree, before),
        (None, None) => None,
    }
}

fn patch_mapping(
    mapping: &Mapping,
    origin: Value<'_>,
    tree: &Tree,
    before: &Document,
) -> Option<()> {
    let Tree::Object(_, members) = tree else {
        return matches!(tree, Tree::Kept(_)).then_some(());
    };
    let kept: BTreeSet<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
    for (key, _) in origin
        .members()
        .filter(|(key, _)| !kept.contains(key.as_ref()))
    {
        mapping.remove(&*key)?;
    }
    for (key, member) in members {
        let old = origin.get(key).map(Value::node_index);
        match member {
            Tree::Kept(node) if old == Some(*node) => {}
            // Tasks are not put between the brackets of an empty list.
            Tree::Array(Some(node), elements)
                if before.value(*node).elements().next().is_none() && has_object(elements) =>
            {
                set(mapping, key, member, before)?;
            }
            Tree::Object(Some(node), _) | Tree::Array(Some(node), _) if old == Some(*node) => {
                patch_node(
                    &mapping.get(key.as_str())?,
                    before.value(*node),
                    member,
                    before,
                )?;
            }
            new => set(mapping, key, new, before)?,
        }
    }
    Some(())
}

fn has_object(elements: &[Tree]) -> bool {
    elements
        .iter()
        .any(|element| matches!(element, Tree::Object(..)))
}

fn set(mapping: &Mapping, key: &str, tree: &Tree, before: &Document) -> Option<()> {
    match value_of(tree, before)? {
        serde_json::Value::String(text) => mapping.set(key, text),
        serde_json::Value::Bool(flag) => mapping.set(key, flag),
        serde_json::Value::Number(number) if number.is_u64() => mapping.set(key, number.as_u64()?),
        _ => mapping.set(key, &node(tree, before)?),
    }
    Some(())
}

/// Elements that stay keep their order; what is new stands between them. New ones at the end of a block are there
/// already.
fn patch_sequence(
    sequence: &Sequence,
    origin: Value<'_>,
    tree: &Tree,
    before: &Document,
) -> Option<()> {
    let Tree::Array(_, elements) = tree else {
        return matches!(tree, Tree::Kept(_)).then_some(());
    };
    let old: Vec<usize> = origin.elements().map(Value::node_index).collect();
    let appended = if is_appended(sequence, &old) {
        appended_count(elements, &old)
    } else {
        0
    };
    let elements = &elements[..elements.len() - appended];
    let kept: Vec<usize> = elements
        .iter()
        .filter_map(|element| place_of(element, &old))
        .collect();
    if !kept.is_sorted() {
        return None;
    }
    for element in elements {
        let Some(place) = place_of(element, &old) else {
            continue;
        };
        if !matches!(element, Tree::Kept(_)) {
            patch_node(
                &sequence.get(place)?,
                before.value(old[place]),
                element,
                before,
            )?;
        }
    }
    // What takes the place of another keeps the comment behind it.
    let is_in_place =
        |(place, element): (usize, &Tree)| place_of(element, &old).is_none_or(|was| was == place);
    if elements.len() == old.len() && elements.iter().enumerate().all(is_in_place) {
        let new = elements
            .iter()
            .enumerate()
            .filter(|(_, element)| place_of(element, &old).is_none());
        return new
            .map(|(place, element)| replace(sequence, place, element, before))
            .collect();
    }
    let stays: BTreeSet<usize> = kept.into_iter().collect();
    for place in (0..old.len()).rev().filter(|place| !stays.contains(place)) {
        sequence.remove(place)?;
    }
    for (place, element) in elements.iter().enumerate() {
        if place_of(element, &old).is_none() {
            insert(sequence, place, element, before)?;
        }
    }
    Some(())
}

fn insert(sequence: &Sequence, place: usize, tree: &Tree, before: &Document) -> Option<()> {
    match value_of(tree, before)? {
        serde_json::Value::String(text) => sequence.insert(place, text),
        serde_json::Value::Number(number) if number.is_u64() => {
            sequence.insert(place, number.as_u64()?);
        }
        _ => sequence.insert(place, &node(tree, before)?),
    }
    Some(())
}

fn replace(sequence: &Sequence, place: usize, tree: &Tree, before: &Document) -> Option<()> {
    let is_set = match value_of(tree, before)? {
        serde_json::Value::String(text) => sequence.set(place, text),
        serde_json::Value::Number(number) if number.is_u64() => {
            sequence.set(place, number.as_u64()?)
        }
        _ => sequence.set(place, &node(tree, before)?),
    };
    is_set.then_some(())
}

fn place_of(element: &Tree, old: &[usize]) -> Option<usize> {
    old.binary_search(&element.node()?).ok()
}

/// How many elements at the end are new objects.
fn appended_count(elements: &[Tree], old: &[usize]) -> usize {
    let is_new = |element: &&Tree| {
        matches!(element, Tree::Object(None, _)) && place_of(element, old).is_none()
    };
    elements.iter().rev().take_while(is_new).count()
}

/// Whether `append` has been here: the text has more elements than the tree began with.
fn is_appended(sequence: &Sequence, old: &[usize]) -> bool {
    sequence.len() > old.len()
}

/// Adds the new tasks at the end of each list of tasks that is a block, all at once; a list in brackets is left for
/// later.
fn append(text: &str, before: &Document, root: &Tree) -> Option<String> {
    let mut blocks = Vec::new();
    let Ok(yaml) = YamlDocument::from_str(text) else {
        return None;
    };
    match (yaml.as_mapping(), yaml.as_sequence()) {
        (Some(mapping), _) => find_in_mapping(&mapping, root, before, text, &mut blocks),
        (None, Some(sequence)) => find_in_sequence(&sequence, root, before, text, &mut blocks),
        (None, None) => return None,
    }
    blocks.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut changed = text.to_owned();
    for (at, block) in blocks {
        changed.insert_str(at, &block);
    }
    Some(changed)
}

type Blocks = Vec<(usize, String)>;

fn find_in_mapping(
    mapping: &Mapping,
    tree: &Tree,
    before: &Document,
    text: &str,
    blocks: &mut Blocks,
) {
    let Tree::Object(Some(_), members) = tree else {
        return;
    };
    for (key, member) in members.iter().filter(|(_, member)| member.node().is_some()) {
        let Some(node) = mapping.get(key.as_str()) else {
            continue;
        };
        find(&node, member, before, text, blocks);
    }
}

fn find(node: &YamlNode, tree: &Tree, before: &Document, text: &str, blocks: &mut Blocks) {
    match (node.as_mapping(), node.as_sequence()) {
        (Some(mapping), _) => find_in_mapping(mapping, tree, before, text, blocks),
        (None, Some(sequence)) => find_in_sequence(sequence, tree, before, text, blocks),
        (None, None) => {}
    }
}

fn find_in_sequence(
    sequence: &Sequence,
    tree: &Tree,
    before: &Document,
    text: &str,
    blocks: &mut Blocks,
) {
    let Tree::Array(Some(origin), elements) = tree else {
        return;
    };
    let old: Vec<usize> = before
        .value(*origin)
        .elements()
        .map(Value::node_index)
        .collect();
    let count = appended_count(elements, &old);
    let values: Vec<YamlNode> = sequence.values().collect();
    for element in elements {
        let Some(place) = place_of(element, &old).filter(|_| !matches!(element, Tree::Kept(_)))
        else {
            continue;
        };
        if let Some(node) = values.get(place) {
            find(node, element, before, text, blocks);
        }
    }
    if count == 0 || sequence.is_flow_style() {
        return;
    }
    let block = || {
        let (at, indentation) = end_of_block(values.first()?, values.last()?, text)?;
        let new = &elements[elements.len() - count..];
        let entries: Option<String> = new
            .iter()
            .map(|entry| indented(entry, before, &indentation))
            .collect();
        let separator = if text[..at].ends_with('\n') { "" } else { "\n" };
        Some((at, format!("{separator}{}", entries?)))
    };
    blocks.extend(block());
}

/// Where a block of entries ends, behind the line of its last value, and how its dashes are indented.
fn end_of_block(first: &YamlNode, last: &YamlNode, text: &str) -> Option<(usize, String)> {
    let start = first.as_mapping()?.byte_range().start as usize;
    let line = &text[text[..start].rfind('\n').map_or(0, |at| at + 1)..start];
    let indentation = line
        .strip_suffix(char::is_whitespace)?
        .trim_end()
        .strip_suffix('-')?;
    if !indentation.chars().all(|letter| letter == ' ') {
        return None;
    }
    let range = last.as_mapping()?.byte_range();
    let content = content_end(
        &text[range.start as usize..range.end as usize],
        indentation.len(),
    );
    let end = range.start as usize + content;
    let at = text[end..]
        .find('\n')
        .map_or(text.len(), |newline| end + newline + 1);
    Some((at, indentation.to_owned()))
}

/// The length of a value without comments and blank lines behind it that belong to what follows.
fn content_end(value: &str, indentation: usize) -> usize {
    let mut end = value.len();
    for line in value.split_inclusive('\n').rev() {
        let is_of_what_follows = line.trim().is_empty()
            || line.trim_start().starts_with('#')
                && line.len() - line.trim_start().len() <= indentation;
        if !is_of_what_follows {
            break;
        }
        end -= line.len();
    }
    value[..end].trim_end_matches(['\n', '\r']).len()
}

fn indented(tree: &Tree, before: &Document, indentation: &str) -> Option<String> {
    let entry = rendered(tree, before)?;
    let mut lines = entry.lines();
    let mut text = format!("{indentation}- {}\n", lines.next()?);
    for line in lines {
        if !line.is_empty() {
            text.push_str(indentation);
            text.push_str("  ");
            text.push_str(line);
        }
        text.push('\n');
    }
    Some(text)
}

fn value_of(tree: &Tree, before: &Document) -> Option<serde_json::Value> {
    serde_json::from_str(&tree.write_alone(before)).ok()
}

/// A value as YAML spells it, in lines.
fn rendered(tree: &Tree, before: &Document) -> Option<String> {
    serde_yaml::to_string(&value_of(tree, before)?).ok()
}

fn node(tree: &Tree, before: &Document) -> Option<YamlDocument> {
    YamlDocument::from_str(&rendered(tree, before)?).ok()
}
