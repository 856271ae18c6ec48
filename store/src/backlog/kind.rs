//! The kinds of backlogs, and how each spells the fields of a task; callers name them as Task Master does.

use serde_json::{Map, Value, json};
use std::path::Path;
use tm_scheduler::Status;

/// The kinds of backlogs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SourceKind {
    /// Task Master's file: `testStrategy`, ids as numbers where they are.
    TaskMaster,
    /// tm's own file: `test_strategy`.
    Yaml,
    /// A folder of Claude Code tasks: `subject` and `blockedBy`, ids as text, everything else in `metadata`.
    ClaudeTasks,
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

impl SourceKind {
    /// Returns the form that a path that is not there yet asks for.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json") => Self::TaskMaster,
            _ => Self::ClaudeTasks,
        }
    }

    /// Returns the key of a task's dependencies.
    pub(super) const fn dependencies(self) -> &'static str {
        match self {
            Self::TaskMaster | Self::Yaml => "dependencies",
            Self::ClaudeTasks => "blockedBy",
        }
    }

    /// Tells whether a task says when its status was set.
    pub(super) fn has_stamps(self) -> bool {
        self == Self::TaskMaster
    }

    /// Tells whether every id is text.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::ClaudeTasks)
    }

    /// Returns how a status is written.
    pub(super) fn status(self, status: &Status) -> &str {
        match self {
            Self::TaskMaster | Self::Yaml => status.as_str(),
            Self::ClaudeTasks => claude_status(status),
        }
    }

    /// Gives fields their names.
    pub(super) fn names(self, fields: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::TaskMaster | Self::ClaudeTasks => fields,
            Self::Yaml => {
                let fields = fields.into_iter();
                fields.map(|(key, value)| (snake(key), value)).collect()
            }
        }
    }

    /// Returns the name of a field that a task does not have yet; `metadata.x` is a member of `metadata`.
    pub(super) fn key(self, name: &str) -> String {
        match (self, name) {
            (Self::TaskMaster, _) => name.to_owned(),
            (Self::Yaml, _) => snake(name.to_owned()),
            (Self::ClaudeTasks, "title") => "subject".to_owned(),
            (Self::ClaudeTasks, _) if OF_CLAUDE.contains(&name) => name.to_owned(),
            (Self::ClaudeTasks, _) => format!("metadata.{}", snake(name.to_owned())),
        }
    }

    /// Spells the fields of a new task; `status` comes last where none is given.
    pub(super) fn entry(self, mut fields: Map<String, Value>) -> Map<String, Value> {
        match self {
            Self::TaskMaster => {
                fields.shift_remove("activeForm");
                fields
            }
            Self::Yaml => {
                fields.retain(|key, value| key != "activeForm" && !is_nothing(value));
                self.names(fields)
            }
            Self::ClaudeTasks => claude(fields),
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
        let (key, value) = match key.as_str() {
            "subtasks" => continue,
            "id" => (key, json!(plain(&value))),
            "title" => ("subject".to_owned(), value),
            "status" => {
                let status = Status::from(value.as_str().unwrap_or_default());
                (key, json!(claude_status(&status)))
            }
            "dependencies" => {
                let ids = value.as_array().into_iter().flatten().map(plain);
                ("blockedBy".to_owned(), ids.collect())
            }
            "metadata" => {
                metadata.extend(value.as_object().cloned().unwrap_or_default());
                continue;
            }
            known if OF_CLAUDE.contains(&known) => (key, value),
            _ => {
                if !is_nothing(&value) {
                    metadata.insert(snake(key), value);
                }
                continue;
            }
        };
        entry.insert(key, value);
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
pub(super) const fn claude_status(status: &Status) -> &'static str {
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

/// The text of an id, which may be written as a number.
pub(super) fn plain(id: &Value) -> String {
    id.as_str()
        .map_or_else(|| id.to_string(), ToOwned::to_owned)
}

/// An id as a number only where the number is written like that.
pub fn spelled(id: &str) -> Value {
    match id.parse::<u64>() {
        Ok(number) if number.to_string() == id => json!(number),
        _ => json!(id),
    }
}
