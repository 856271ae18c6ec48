//! Repairs of a backlog that have one right answer: what can't be is removed, what is misspelt is spelled.
//!
//! Cycles, repeated ids and missing words are for a person; they are never touched.

use super::change::FieldNames;
use super::claude;
use super::document::{Document, Kind, Value};
use super::fields::{member, plain};
use super::file_lock::FileLock;
use super::{
    Backlog, BacklogError, BacklogSource, Change, Position, ReadOptions, SourceKind, places,
    task_master,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use tm_scheduler::{CycleRepair, Priority, Problem, Status, TaskId, repairs as repairs_of};

/// One repair.
#[derive(Clone, Debug, PartialEq)]
pub enum Repair {
    /// A dependency that can't be is removed.
    Dependency {
        /// The task.
        task: TaskId,
        /// What it no longer depends on.
        dependency: TaskId,
        /// What was wrong.
        problem: Problem,
    },
    /// A dependency that stands twice is kept once.
    Repeated {
        /// The task.
        task: TaskId,
        /// The dependency.
        dependency: String,
    },
    /// A field gets the spelling that was meant.
    Field {
        /// The task.
        task: TaskId,
        /// The field.
        field: String,
        /// What it said, nothing when it was missing.
        from: Option<String>,
        /// What it says.
        to: serde_json::Value,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependency {
                task,
                dependency,
                problem,
            } => {
                write!(
                    formatter,
                    "{task} no longer depends on {dependency}: {problem}"
                )
            }
            Self::Repeated { task, dependency } => {
                write!(formatter, "{task} named its dependency {dependency} twice")
            }
            Self::Field {
                task,
                field,
                from: Some(from),
                to,
            } => {
                write!(formatter, "{task}: `{field}` is {to}, not `{from}`")
            }
            Self::Field {
                task,
                field,
                from: None,
                to,
            } => {
                write!(formatter, "{task}: `{field}`, which was missing, is {to}")
            }
        }
    }
}

impl BacklogSource {
    /// Returns what would be repaired.
    ///
    /// # Errors
    /// As `read`.
    pub fn repairs(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        if self.kind() == SourceKind::ClaudeTasks {
            let backlog = claude::read(self.path(), options)?;
            return Ok(found(
                &backlog,
                &claude::Joined::read(self.path())?.document,
                FieldNames::Claude,
            ));
        }
        let text = self.text()?;
        let document = self.document(&text)?;
        let backlog = self.read_document(&document, &text, options)?;
        Ok(found(&backlog, &document, self.spelling()))
    }

    /// Repairs the backlog under its lock, all or nothing, and returns what was repaired.
    ///
    /// # Errors
    /// As `change`.
    pub fn repair(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        if self.kind() == SourceKind::ClaudeTasks {
            let _lock = FileLock::acquire(self.path())?;
            let backlog = claude::read(self.path(), options)?;
            let mut repairs = Vec::new();
            claude::change(self.path(), |document, root| {
                repairs = found(&backlog, document, FieldNames::Claude);
                self.apply(
                    document,
                    root,
                    &backlog,
                    &changes(&repairs),
                    FieldNames::Claude,
                )
            })?;
            return Ok(repairs);
        }
        self.transact(|text| {
            let document = self.document(text)?;
            let backlog = self.read_document(&document, text, options)?;
            let repairs = found(&backlog, &document, self.spelling());
            let (changed, _) = self.applied(&document, text, &backlog, &changes(&repairs))?;
            Ok((changed, repairs))
        })
    }

    /// Returns where tasks stand, or a field of theirs where they have it; several places for an id that several have.
    ///
    /// # Errors
    /// As `read`.
    pub fn locate(
        &self,
        options: &ReadOptions,
        wanted: &[(TaskId, &str)],
    ) -> Result<Vec<Vec<Position>>, BacklogError> {
        if self.kind() == SourceKind::ClaudeTasks {
            let joined = claude::Joined::read(self.path())?;
            let start = || {
                Some(Position {
                    file: None,
                    line: 1,
                    column: 1,
                })
            };
            let of_id = |id: &TaskId| {
                let files = joined.files.iter().filter(|file| file.id == id.as_str());
                files
                    .filter_map(|file| claude::of_file(&file.path, start()))
                    .collect()
            };
            return Ok(wanted.iter().map(|(id, _)| of_id(id)).collect());
        }
        let text = self.text()?;
        let document = self.document(&text)?;
        let tag = self.read_document(&document, &text, options)?.tag;
        let lists = task_master::lists(&document);
        let list = lists
            .iter()
            .find(|(name, _)| name == tag.as_str())
            .map(|(_, list)| *list);
        let all: Vec<(TaskId, Value<'_>)> = list.map(task_master::all_places).unwrap_or_default();
        let mut nodes = Vec::new();
        let mut counts = Vec::new();
        for (wanted, field) in wanted {
            let before = nodes.len();
            let of_id = all.iter().filter(|(id, _)| id == wanted);
            nodes.extend(of_id.map(|(_, value)| value.get(field).unwrap_or(*value).node_index()));
            counts.push(nodes.len() - before);
        }
        let mut positions = places::positions(self.kind(), &text, &document, &nodes).into_iter();
        Ok(counts
            .into_iter()
            .map(|count| positions.by_ref().take(count).flatten().collect())
            .collect())
    }
}

fn changes(repairs: &[Repair]) -> Vec<Change> {
    let mut edges = Vec::new();
    let mut fields = Vec::new();
    for repair in repairs {
        match repair {
            Repair::Dependency {
                task, dependency, ..
            } => edges.push((task.clone(), dependency.clone())),
            // Removing dependencies keeps each of the others once.
            Repair::Repeated { .. } => {}
            Repair::Field {
                task, field, to, ..
            } => fields.push((task.clone(), field.clone(), to.clone())),
        }
    }
    let mut changes = Vec::new();
    if !fields.is_empty() {
        changes.push(Change::SetFields { fields });
    }
    if repairs
        .iter()
        .any(|repair| !matches!(repair, Repair::Field { .. }))
    {
        changes.push(Change::RemoveDependencies { edges });
    }
    changes
}

fn found(backlog: &Backlog, document: &Document, spelling: FieldNames) -> Vec<Repair> {
    let list = match spelling {
        FieldNames::Claude => document.root(),
        FieldNames::TaskMaster | FieldNames::Snake => {
            let mut lists = task_master::lists(document).into_iter();
            lists
                .find(|(name, _)| name == backlog.tag.as_str())
                .map(|(_, list)| list)
        }
    };
    let mut repairs = Vec::new();
    for (id, value) in list.map(task_master::all_places).unwrap_or_default() {
        of_fields(&mut repairs, &id, value, spelling);
        of_repeats(&mut repairs, &id, value);
    }
    let dependencies = repairs_of(&backlog.tasks, CycleRepair::Leave);
    repairs.extend(
        dependencies
            .into_iter()
            .map(|((task, dependency), problem)| Repair::Dependency {
                task,
                dependency,
                problem,
            }),
    );
    repairs
}

fn of_fields(repairs: &mut Vec<Repair>, task: &TaskId, value: Value<'_>, spelling: FieldNames) {
    let mut repair = |field: &str, from: Option<String>, to: serde_json::Value| {
        repairs.push(Repair::Field {
            task: task.clone(),
            field: field.to_owned(),
            from,
            to,
        });
    };
    match member(value, &["status"]).and_then(plain) {
        None if spelling != FieldNames::Claude => repair("status", None, json!(Status::Pending)),
        Some(written) if spelling != FieldNames::Claude => {
            if let Some(meant) = meant(&written, spelling) {
                repair("status", Some(written), json!(meant));
            }
        }
        None | Some(_) => {}
    }
    if let Some(written) = member(value, &["priority"]).and_then(plain)
        && let Some(priority) =
            Priority::parse(&written).filter(|priority| priority.as_str() != written)
    {
        repair("priority", Some(written), json!(priority));
    }
    for field in ["dependencies", "blockedBy"] {
        let Some(list) = member(value, &[field])
            .filter(|list| !matches!(list.kind(), Kind::Array | Kind::Object))
        else {
            continue;
        };
        let written = plain(list).unwrap_or_default();
        let ids: Vec<&str> = written
            .split(',')
            .map(str::trim)
            .filter(|id| !id.is_empty())
            .collect();
        repair(field, Some(written.clone()), json!(ids));
    }
}

/// Each dependency that stands more than once, once.
fn of_repeats(repairs: &mut Vec<Repair>, task: &TaskId, value: Value<'_>) {
    let list =
        member(value, &["dependencies", "blockedBy"]).filter(|list| list.kind() == Kind::Array);
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    for written in list.into_iter().flat_map(Value::elements).filter_map(plain) {
        if !seen.insert(written.clone()) && told.insert(written.clone()) {
            repairs.push(Repair::Repeated {
                task: task.clone(),
                dependency: written,
            });
        }
    }
}

/// The status that a misspelt one means, where there is only one.
fn meant(written: &str, spelling: FieldNames) -> Option<Status> {
    let plain = written.trim().to_lowercase().replace(['_', ' '], "-");
    let meant = match plain.as_str() {
        "canceled" => Status::Cancelled,
        "complete" | "finished" => Status::Done,
        "todo" | "to-do" | "not-started" => Status::Pending,
        "inprogress" | "started" => Status::InProgress,
        "in-review" => Status::Review,
        other => Status::from(other),
    };
    let is_read_already = Status::from(written) == meant && spelling == FieldNames::Snake;
    let is_known = !matches!(meant, Status::Other(_));
    (is_known && !is_read_already && meant.as_str() != written).then_some(meant)
}
