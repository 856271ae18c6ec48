//! How each kind of backlog spells the fields of a task; callers name them as Task Master does.

use super::tasks::plain;
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
            Self::Snake => {
                let fields = fields.into_iter();
                fields.map(|(key, value)| (snake(key), value)).collect()
            }
        }
    }

    /// Spells the fields of a new task; `status` comes last where none is given.
    pub(in crate::backlog) fn entry(self, mut fields: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::TaskMaster => {
                fields.shift_remove("activeForm");
                fields
            }
            Self::Snake => {
                fields.retain(|key, value| key != "activeForm" && !is_nothing(value));
                self.names(fields)
            }
            Self::Claude => claude(fields),
        }
    }
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
            "id" => drop(entry.insert(key, json!(plain(&value)))),
            "title" => drop(entry.insert("subject".to_owned(), value)),
            "status" => {
                let status = Status::from(value.as_str().unwrap_or_default());
                entry.insert(key, json!(claude_status(&status)));
            }
            "dependencies" => {
                let ids = value.as_array().into_iter().flatten().map(plain);
                entry.insert("blockedBy".to_owned(), json!(ids.collect::<Vec<_>>()));
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
