//! The list of tasks for programs: each with every field that its file holds, in the form that programs rely on.
//!
//! Written task by task, straight from the file: neither the list nor a task is ever put together as a whole.

use super::list::Listing;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::json;
use tm_scheduler::{Blocks, Task, TaskId, blocks};
use tm_store::backlog::Entry;

/// The document.
pub(super) struct JsonList<'l> {
    /// The tasks of each tag.
    pub(super) listings: &'l [Listing<'l>],
    /// Whether each task says of which tag it is.
    pub(super) is_of_all_tags: bool,
}

impl Serialize for JsonList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let listings = self.listings.iter();
        let total: usize = listings.clone().map(|one| one.backlog.tasks.len()).sum();
        let filtered: usize = listings.map(|one| one.shown.len()).sum();
        let tag = match self.listings {
            [only] if !self.is_of_all_tags => only.backlog.tag.as_str(),
            _ => "all",
        };
        let metadata = json!({"total": total, "filtered": filtered, "tag": tag, "storageType": "file",
                              "allTags": self.is_of_all_tags});
        let mut document = serializer.serialize_map(Some(2))?;
        document.serialize_entry("tasks", &Tasks(self))?;
        document.serialize_entry("metadata", &metadata)?;
        document.end()
    }
}

struct Tasks<'l>(&'l JsonList<'l>);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(JsonList {
            listings,
            is_of_all_tags,
        }) = self;
        let tasks = listings.iter().flat_map(|listing| {
            let blocks = blocks(&listing.backlog.tasks);
            let tag = is_of_all_tags.then_some(listing.backlog.tag.as_str());
            let shown = listing.shown.iter();
            shown.map(move |&position| JsonTask::listed(listing, position, &blocks, tag))
        });
        serializer.collect_seq(tasks)
    }
}

/// A task or subtask as its file has it, with some fields besides and instead of its own.
struct JsonTask<'l> {
    entry: Option<Entry<'l>>,
    fields: Vec<(&'static str, Field<'l>)>,
}

/// What a field is.
#[derive(Serialize)]
#[serde(untagged)]
enum Field<'l> {
    Text(&'l str),
    Ids(&'l [TaskId]),
    Waiting(Vec<&'l TaskId>),
    Subtasks(Vec<JsonTask<'l>>),
}

impl<'l> JsonTask<'l> {
    fn listed(
        listing: &'l Listing<'l>,
        position: usize,
        blocks: &Blocks<'l>,
        tag: Option<&'l str>,
    ) -> Self {
        let (task, entry) = (&listing.backlog.tasks[position], listing.entries[position]);
        let subtasks = subtasks(listing.subtasks(task), entry);
        let mut fields = normalised(task);
        fields.push(("subtasks", Field::Subtasks(subtasks)));
        fields.push(("blocks", Field::Waiting(blocks.of(&task.id).to_vec())));
        fields.extend(tag.map(|tag| ("tagName", Field::Text(tag))));
        Self { entry, fields }
    }
}

/// The fields that programs rely on.
fn normalised(task: &Task) -> Vec<(&'static str, Field<'_>)> {
    vec![
        ("id", Field::Text(task.id.as_str())),
        ("title", Field::Text(&task.title)),
        ("status", Field::Text(task.status.as_str())),
        ("priority", Field::Text(task.priority.as_str())),
        ("dependencies", Field::Ids(&task.dependencies)),
    ]
}

/// Subtasks keep the numbers that they have within their task, and their dependencies as they are written.
fn subtasks<'l>(subtasks: &'l [Task], entry: Option<Entry<'l>>) -> Vec<JsonTask<'l>> {
    let entries = entry.and_then(|entry| entry.get("subtasks")).into_iter();
    let has_id = |entry: &Entry<'_>| entry.get("id").is_some_and(|id| !id.is_null());
    let named = entries.flat_map(Entry::elements).filter(has_id);
    let one = |(entry, subtask): (Entry<'l>, &'l Task)| {
        let mut fields = normalised(subtask);
        let number = subtask.id.as_str().rsplit('.').next().unwrap_or_default();
        fields[0].1 = Field::Text(number);
        let is_plain = |written: Entry<'_>| {
            written.is_list() && written.elements().all(Entry::is_number_or_text)
        };
        if entry.get("dependencies").is_some_and(is_plain) {
            fields.pop();
        }
        JsonTask {
            entry: Some(entry),
            fields,
        }
    };
    named.zip(subtasks).map(one).collect()
}

impl Serialize for JsonTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.entry.map(Entry::members).unwrap_or_default();
        let mut task = serializer.serialize_map(None)?;
        for (name, value) in &members {
            match self.fields.iter().find(|(field, _)| field == name) {
                Some((_, value)) => task.serialize_entry(name, value)?,
                None => task.serialize_entry(name, value)?,
            }
        }
        for (field, value) in &self.fields {
            if !members.iter().any(|(name, _)| name == field) {
                task.serialize_entry(field, value)?;
            }
        }
        task.end()
    }
}
