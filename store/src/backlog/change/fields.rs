//! Changes of single fields of tasks, many in one pass.

use super::tasks::{elements, find, id_of};
use super::{Changed, Refusal};
use crate::backlog::document::{Document, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tm_scheduler::TaskId;

pub(super) fn set_fields(
    document: &Document,
    list: &mut Tree,
    fields: &[(TaskId, String, Value)],
) -> Result<Changed, Refusal> {
    let index = Index::new(document, list);
    for (id, key, value) in fields {
        let task = match index.place(id) {
            Ok(place) => &mut elements(document, list)?[place],
            Err(_) => find(document, list, id)?,
        };
        set_field(document, task, key, value);
    }
    Ok(Changed {
        ids: fields.iter().map(|(id, _, _)| id.clone()).collect(),
    })
}

fn set_field(document: &Document, task: &mut Tree, key: &str, value: &Value) {
    let Some((outer, inner)) = key.split_once('.') else {
        return task.set(document, key, Tree::new(value));
    };
    if task
        .member(document, outer)
        .and_then(|member| member.members(document))
        .is_none()
    {
        task.set(document, outer, Tree::new(&json!({})));
    }
    if let Some(member) = task.member(document, outer) {
        member.set(document, inner, Tree::new(value));
    }
}

/// Where each task of a list stands.
pub(super) struct Index(BTreeMap<String, usize>);

impl Index {
    pub(super) fn new(document: &Document, list: &mut Tree) -> Self {
        let mut places = BTreeMap::new();
        for (place, task) in elements(document, list).into_iter().flatten().enumerate() {
            if let Some(id) = id_of(document, task) {
                places.entry(id).or_insert(place);
            }
        }
        Self(places)
    }

    pub(super) fn place(&self, id: &TaskId) -> Result<usize, Refusal> {
        self.0
            .get(id.as_str())
            .copied()
            .ok_or_else(|| Refusal::UnknownTasks(format!("`{id}`")))
    }
}
