//! Repairs of a backlog that have one right answer: what can't be is removed, what is misspelt is spelled.
//!
//! Cycles, repeated ids and missing words are for a person; they are never touched.

use super::document::{Kind, Value};
use super::fields::{between_commas, member, word};
use super::loaded::Loaded;
use super::statuses::all_places;
use super::{Backlog, BacklogError, BacklogSource, Change, Position, ReadOptions, SourceKind};
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
                from,
                to,
            } => match from {
                Some(from) => write!(formatter, "{task}: `{field}` is {to}, not `{from}`"),
                None => write!(formatter, "{task}: `{field}`, which was missing, is {to}"),
            },
        }
    }
}

impl BacklogSource {
    /// Returns what would be repaired.
    ///
    /// # Errors
    /// As `read`.
    pub fn repairs(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        let loaded = self.load()?;
        let backlog = self.read_loaded(&loaded, options)?;
        Ok(found(&backlog, &loaded, self.kind()))
    }

    /// Repairs the backlog under its lock, all or nothing, and returns what was repaired.
    ///
    /// # Errors
    /// As `change`.
    pub fn repair(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        self.edit(options, |edit| {
            let repairs = found(edit.before, edit.loaded, self.kind());
            edit.apply(&changes(&repairs))?;
            Ok(repairs)
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
        let loaded = self.load()?;
        let tag = self.read_loaded(&loaded, options)?.tag;
        let all = loaded.list(&tag).map(all_places).unwrap_or_default();
        let places = |(wanted, field): &(TaskId, &str)| {
            let of_id = all.iter().filter(|(id, _)| id == wanted);
            let nodes = of_id.map(|(_, value)| value.get(field).unwrap_or(*value).node_index());
            let nodes: Vec<usize> = nodes.collect();
            loaded.positions(&nodes).into_iter().flatten().collect()
        };
        Ok(wanted.iter().map(places).collect())
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

fn found(backlog: &Backlog, loaded: &Loaded, kind: SourceKind) -> Vec<Repair> {
    let mut repairs = Vec::new();
    let list = loaded.list(&backlog.tag);
    for (id, value) in list.map(all_places).unwrap_or_default() {
        of_fields(&mut repairs, &id, value, kind);
        of_repeats(&mut repairs, &id, value);
    }
    let dependencies = repairs_of(&backlog.tasks, CycleRepair::Leave);
    let repair = |((task, dependency), problem)| Repair::Dependency {
        task,
        dependency,
        problem,
    };
    repairs.extend(dependencies.into_iter().map(repair));
    repairs
}

fn of_fields(repairs: &mut Vec<Repair>, task: &TaskId, value: Value<'_>, kind: SourceKind) {
    let mut repair = |field: &str, from: Option<String>, to: serde_json::Value| {
        repairs.push(Repair::Field {
            task: task.clone(),
            field: field.to_owned(),
            from,
            to,
        });
    };
    let field = |name: &str| word(value, name);
    if kind != SourceKind::ClaudeTasks {
        match field("status") {
            None => repair("status", None, json!(Status::Pending)),
            Some(written) => {
                if let Some(meant) = meant(&written, kind) {
                    repair("status", Some(written), json!(meant));
                }
            }
        }
    }
    if let Some(written) = field("priority")
        && let Some(priority) =
            Priority::parse(&written).filter(|priority| priority.as_str() != written)
    {
        repair("priority", Some(written), json!(priority));
    }
    for name in ["dependencies", "blockedBy"] {
        if let Some(written) = field(name) {
            let ids = between_commas(&written);
            repair(name, Some(written), json!(ids));
        }
    }
}

/// Each dependency that stands more than once, once.
fn of_repeats(repairs: &mut Vec<Repair>, task: &TaskId, value: Value<'_>) {
    let list =
        member(value, &["dependencies", "blockedBy"]).filter(|list| list.kind() == Kind::Array);
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    for written in list
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(Value::plain)
    {
        if !seen.insert(written.clone()) && told.insert(written.clone()) {
            repairs.push(Repair::Repeated {
                task: task.clone(),
                dependency: written,
            });
        }
    }
}

/// The status that a misspelt one means, where there is only one.
fn meant(written: &str, kind: SourceKind) -> Option<Status> {
    let plain = written.trim().to_lowercase().replace(['_', ' '], "-");
    let meant = match plain.as_str() {
        "canceled" => Status::Cancelled,
        "complete" | "finished" => Status::Done,
        "todo" | "to-do" | "not-started" => Status::Pending,
        "inprogress" | "started" => Status::InProgress,
        "in-review" => Status::Review,
        other => Status::from(other),
    };
    let is_read_already = Status::from(written) == meant && kind == SourceKind::Yaml;
    let is_known = !matches!(meant, Status::Other(_));
    (is_known && !is_read_already && meant.as_str() != written).then_some(meant)
}
