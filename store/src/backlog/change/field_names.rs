//! How each kind of backlog spells the fields of a task; callers name them as Task Master does.

use super::{Change, Refusal};
use serde_json::{Map, Value, json};
use tm_scheduler::Status;

/// A kind of spelling.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::backlog) enum FieldNames {
    /// `testStrategy`, ids as numbers where they are.
    TaskMaster,
    /// `test_strategy`.
    Snake,
    /// `subject` and `blockedBy`, ids as text, everything else in `metadata`.
    Claude,
}

/// What a Claude Code task has a place for; the rest goes into its metadata.
const OF_CLAUDE: [&str; 6] = [
    "id",
    "subject",
    "description",
    "activeForm",
    "blocks",
    "blockedBy",
];

impl FieldNames {
    /// Returns the key of a task's dependencies.
    pub(in crate::backlog) const fn dependencies(self) -> &'static str {
        match self {
            Self::TaskMaster | Self::Snake => "dependencies",
            Self::Claude => "blockedBy",
        }
    }

    /// Tells whether a task says when its status was set.
    pub(in crate::backlog) fn has_stamps(self) -> bool {
        self == Self::TaskMaster
    }

    /// Tells whether every id is text.
    pub(in crate::backlog) const fn is_text(self) -> bool {
        matches!(self, Self::Claude)
    }

    /// Returns how a status is written.
    pub(super) fn status(self, status: &Status) -> &str {
        match self {
            Self::TaskMaster | Self::Snake => status.as_str(),
            Self::Claude => claude_status(status),
        }
    }

    /// Refuses what a kind of backlog has no place for.
    pub(super) fn refuse(self, change: &Change) -> Result<(), Refusal> {
        if self != Self::Claude {
            return Ok(());
        }
        let why = match change {
            Change::AddSubtask { .. } => "a Claude Code list has no subtasks",
            Change::Move { to, .. } if to.as_str().contains('.') => {
                "a Claude Code list has no subtasks"
            }
            Change::MoveToTag { .. }
            | Change::AddTag { .. }
            | Change::RemoveTag { .. }
            | Change::RenameTag { .. } => "a Claude Code list has no tags; each list is a folder",
            _ => return Ok(()),
        };
        Err(Refusal::NoPlace(why))
    }

    /// Gives fields their names.
    pub(in crate::backlog) fn names(self, fields: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::TaskMaster | Self::Claude => fields,
            Self::Snake => fields
                .into_iter()
                .map(|(key, value)| (snake(key), value))
                .collect(),
        }
    }

    /// Spells the fields of a new task; `status` comes last where none is given.
    pub(in crate::backlog) fn entry(self, fields: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::TaskMaster => without(fields, "activeForm"),
            Self::Snake => {
                let said = fields
                    .into_iter()
                    .filter(|(key, value)| key != "activeForm" && !is_nothing(value));
                said.map(|(key, value)| (snake(key), value)).collect()
            }
            Self::Claude => claude(fields),
        }
    }
}

fn without(mut fields: Map<String, Value>, key: &str) -> Map<String, Value> {
    fields.shift_remove(key);
    fields
}

/// The fields whose names differ; all others are called the same everywhere.
fn snake(key: String) -> String {
    match key.as_str() {
        "testStrategy" => "test_strategy".to_owned(),
        "acceptanceCriteria" => "acceptance_criteria".to_owned(),
        _ => key,
    }
}

fn claude(fields: Map<String, Value>) -> Map<String, Value> {
    let mut entry = Map::new();
    let mut metadata = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "id" => drop(entry.insert(key, as_text(&value))),
            "title" => drop(entry.insert("subject".to_owned(), value)),
            "status" => drop(entry.insert(key, spelled_status(&value))),
            "dependencies" => {
                let ids: Vec<Value> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(as_text)
                    .collect();
                entry.insert("blockedBy".to_owned(), json!(ids));
            }
            "metadata" => metadata.extend(value.as_object().cloned().unwrap_or_default()),
            "subtasks" => {}
            _ if OF_CLAUDE.contains(&key.as_str()) => drop(entry.insert(key, value)),
            _ if is_nothing(&value) => {}
            _ => drop(metadata.insert(snake(key), value)),
        }
    }
    entry.entry("blocks").or_insert_with(|| json!([]));
    entry.entry("blockedBy").or_insert_with(|| json!([]));
    if !metadata.is_empty() {
        entry.insert("metadata".to_owned(), Value::Object(metadata));
    }
    entry
}

fn is_nothing(value: &Value) -> bool {
    value.is_null()
        || value.as_str().is_some_and(str::is_empty)
        || value.as_array().is_some_and(Vec::is_empty)
}

fn as_text(id: &Value) -> Value {
    json!(
        id.as_str()
            .map_or_else(|| id.to_string(), ToOwned::to_owned)
    )
}

fn spelled_status(status: &Value) -> Value {
    let status = Status::from(status.as_str().unwrap_or_default());
    json!(claude_status(&status))
}

/// That program knows three statuses.
pub(in crate::backlog) const fn claude_status(status: &Status) -> &'static str {
    match status {
        Status::Done => "completed",
        Status::InProgress | Status::Review => "in_progress",
        Status::Pending
        | Status::Deferred
        | Status::Cancelled
        | Status::Blocked
        | Status::Other(_) => "pending",
    }
}
