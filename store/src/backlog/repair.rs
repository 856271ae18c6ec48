//! Repairs of a backlog that have one right answer: what can't be is removed, what is misspelt is spelled.
//!
//! Cycles, repeated ids and missing words are for a person; they are never touched.

use super::SourceKind;
use super::document::{Kind, Value};
use super::fields::{between_commas, id};
use super::kind::spelled;
use super::loaded::Loaded;
use super::source::Edit;
use super::spellings::{Field, Likeness, Members, meant_priority, meant_status};
use super::statuses::all_places;
use super::{Backlog, BacklogError, BacklogSource, Change, Position, ReadOptions, Snapshot};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use tm_scheduler::{CycleRepair, Problem, Status, TaskId, repairs as repairs_of};

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
    /// A field gets the name that was meant.
    Name {
        /// The task.
        task: TaskId,
        /// What it was called.
        from: String,
        /// What it is called.
        to: &'static str,
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
            Self::Name { task, from, to } => {
                write!(formatter, "{task}: `{from}` is called `{to}`")
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
    /// Repairs the backlog under its lock, all or nothing, and returns what was repaired.
    ///
    /// # Errors
    /// As `change`.
    pub fn repair(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        self.edit(options, repaired)
    }
}

impl Snapshot<'_> {
    /// Returns what would be repaired.
    ///
    /// # Errors
    /// As `read`.
    pub fn repairs(&self, options: &ReadOptions) -> Result<Vec<Repair>, BacklogError> {
        repaired(&mut self.source.edit_of(&self.loaded, options)?)
    }

    /// Returns where tasks stand, or a field of theirs where they have it; several places for an id that several have.
    pub fn locate(&self, backlog: &Backlog, wanted: &[(TaskId, &str)]) -> Vec<Vec<Position>> {
        let list = self.loaded.list(&backlog.tag);
        let all = list.map(all_places).unwrap_or_default();
        let places = |(wanted, field): &(TaskId, &str)| {
            let of_id = all.iter().filter(|(id, _)| id == wanted);
            let nodes = of_id.map(|(_, value)| {
                let members = Members::of(*value);
                let found = Field::of(field).and_then(|field| members.get(field));
                found.unwrap_or(*value).node_index()
            });
            let nodes: Vec<usize> = nodes.collect();
            self.loaded
                .positions(&nodes)
                .into_iter()
                .flatten()
                .collect()
        };
        wanted.iter().map(places).collect()
    }
}

/// Repairs names first: only then is what they hold read.
fn repaired(edit: &mut Edit<'_, '_>) -> Result<Vec<Repair>, BacklogError> {
    let kind = edit.source.kind();
    let before = edit.before()?;
    let mut repairs = names(&before, edit.loaded);
    if repairs.is_empty() {
        repairs = found(&before, edit.loaded, kind);
        edit.apply(&before, &changes(&repairs))?;
        return Ok(repairs);
    }
    edit.apply(&before, &changes(&repairs))?;
    let (loaded, named) = edit.after()?;
    let others = found(&named, &loaded, kind);
    edit.apply(&before, &changes(&others))?;
    repairs.extend(others);
    Ok(repairs)
}

/// Names of fields that are misspelt, where the task has no such field besides.
fn names(backlog: &Backlog, loaded: &Loaded) -> Vec<Repair> {
    let mut repairs = Vec::new();
    let list = loaded.list(&backlog.tag);
    for (task, value) in list.map(all_places).unwrap_or_default() {
        let members = Members::of(value);
        let mut taken = Vec::new();
        for (name, value) in &members.others {
            let Some(Likeness::Misspelt(meant)) = Likeness::of(name) else {
                continue;
            };
            let is_free = |field| members.get(field).is_none() && !taken.contains(&field);
            if let Some(field) =
                Field::of(meant).filter(|field| is_free(*field) && fits(*field, *value))
            {
                taken.push(field);
                repairs.push(Repair::Name {
                    task: task.clone(),
                    from: name.to_string(),
                    to: meant,
                });
            }
        }
    }
    repairs
}

/// Whether a field may hold such a value.
fn fits(field: Field, value: Value<'_>) -> bool {
    match field {
        Field::Subtasks => value.kind() == Kind::Array,
        Field::Metadata => value.kind() == Kind::Object,
        _ => value.kind() != Kind::Object,
    }
}

fn changes(repairs: &[Repair]) -> Vec<Change> {
    let mut edges = Vec::new();
    let mut fields = Vec::new();
    let mut names = Vec::new();
    for repair in repairs {
        match repair {
            Repair::Name { task, from, to } => {
                names.push((task.clone(), from.clone(), (*to).to_owned()));
            }
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
    if !names.is_empty() {
        changes.push(Change::RenameFields { fields: names });
    }
    if !fields.is_empty() {
        changes.push(Change::SetFields { fields });
    }
    let is_of_dependencies =
        |repair: &Repair| matches!(repair, Repair::Dependency { .. } | Repair::Repeated { .. });
    if repairs.iter().any(is_of_dependencies) {
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
    let members = Members::of(value);
    if kind != SourceKind::ClaudeTasks {
        match members.word(Field::Status) {
            None => repair("status", None, json!(Status::Pending)),
            Some(written) => {
                if let Some(meant) = meant_status(&written, kind) {
                    repair("status", Some(written), json!(meant));
                }
            }
        }
    }
    if let Some(written) = members.word(Field::Priority)
        && let Some(priority) =
            meant_priority(&written).filter(|priority| priority.as_str() != written)
    {
        repair("priority", Some(written), json!(priority));
    }
    for (name, list) in &members.dependencies {
        if let Some(written) = list.plain() {
            let ids = between_commas(&written);
            let ids: Vec<_> = ids.iter().map(|id| spelled(id)).collect();
            repair(name, Some(written), json!(ids));
        }
    }
}

/// Each dependency that stands more than once, once.
fn of_repeats(repairs: &mut Vec<Repair>, task: &TaskId, value: Value<'_>) {
    let members = Members::of(value);
    let lists = members.dependencies.iter().map(|(_, list)| *list);
    let entries = lists.flat_map(Value::elements);
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    for written in entries.filter_map(|entry| entry.text().or_else(|| id(entry))) {
        if !seen.insert(written.clone()) && told.insert(written.clone()) {
            repairs.push(Repair::Repeated {
                task: task.clone(),
                dependency: written.into_owned(),
            });
        }
    }
}
