//! Where symbolic links of a tree lead to, as a file system would follow them.
//!
//! Knows the links of a tree by path and target alone. A link that leads out of the tree leads elsewhere in every clone.

use std::collections::{BTreeMap, BTreeSet};

/// File systems give up after about as many links.
const MOST_LINKS: usize = 40;

/// Returns the new or changed links that lead out of the tree, in order of their paths.
pub fn lead_out(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<String> {
    let out = |links: &BTreeMap<String, String>| -> BTreeSet<(String, String)> {
        let mut out = links.clone();
        out.retain(|path, _| leads_to(path, links).is_none());
        out.into_iter().collect()
    };
    let (before, after) = (out(before), out(after));
    after
        .difference(&before)
        .map(|(path, target)| format!("{path} -> {target}"))
        .collect()
}

/// Returns where a path leads to, every link on the way followed; `None` when that is not within the tree.
///
/// A circle of links leads nowhere, and so not out.
pub fn leads_to(path: &str, links: &BTreeMap<String, String>) -> Option<String> {
    let mut place: Vec<String> = Vec::new();
    let mut rest: Vec<String> = parts(path);
    let mut followed = 0;
    while let Some(part) = rest.pop() {
        match part.as_str() {
            "" | "." => {}
            ".." => drop(place.pop()?),
            // What git keeps is no part of any tree.
            part if part.eq_ignore_ascii_case(".git") => return None,
            _ => {
                place.push(part);
                let Some(target) = links.get(&place.join("/")) else {
                    continue;
                };
                if target.starts_with('/') {
                    return None;
                }
                followed += 1;
                if followed > MOST_LINKS {
                    return Some(path.to_owned());
                }
                place.pop();
                rest.extend(parts(target));
            }
        }
    }
    Some(place.join("/"))
}

/// The parts of a path, last first.
fn parts(path: &str) -> Vec<String> {
    path.split('/').rev().map(ToOwned::to_owned).collect()
}
