//! Writes a backlog in another form, as a new file or folder, and names what that form has no place for.
//!
//! The original is never touched, and nothing that is there is written over.

use super::change::{FieldNames, claude_status};
use super::{Backlog, BacklogError, BacklogSource, ReadOptions, SourceKind};
use crate::atomic;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tm_scheduler::{Status, Tag, Task, TaskId};

/// Something that the new form has no place for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Loss {
    /// The task, where it is of one.
    pub task: Option<TaskId>,
    /// What is lost, or what becomes of it.
    pub what: String,
}

/// What a conversion came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Conversion {
    /// The form that was written.
    pub kind: SourceKind,
    /// The tags that were written.
    pub tags: Vec<Tag>,
    /// How many tasks, without subtasks.
    pub tasks: usize,
    /// What was lost.
    pub losses: Vec<Loss>,
}

impl SourceKind {
    /// Returns the form that a path that is not there yet asks for.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json") => Self::TaskMaster,
            _ => Self::ClaudeTasks,
        }
    }
}

impl BacklogSource {
    /// Writes the backlog to `target` in the form that its name asks for; one tag where it is named or the form has
    /// only one, else all.
    ///
    /// # Errors
    /// As `read`; the target is there already, or can't be written.
    pub fn convert(
        &self,
        options: &ReadOptions,
        target: &Path,
    ) -> Result<Conversion, BacklogError> {
        let kind = SourceKind::of_path(target);
        let is_there = target.is_file()
            || std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_some());
        if is_there {
            let refusal = super::Refusal::Taken(target.display().to_string());
            return Err(BacklogError::Refused {
                path: self.path().to_owned(),
                refusal,
            });
        }
        let chosen = self.read(options)?;
        let is_all =
            options.tag.is_none() && options.group.is_none() && kind != SourceKind::ClaudeTasks;
        let tags = if is_all && !chosen.tags.is_empty() {
            chosen.tags.clone()
        } else {
            vec![chosen.tag.clone()]
        };
        let mut losses = self.losses_of_file(&chosen, &tags, kind);
        let mut lists = Vec::new();
        for tag in &tags {
            let of_tag = ReadOptions {
                tag: Some(tag.clone()),
                environment_tag: None,
                group: options.group.clone(),
            };
            let of_tag = if self.kind() == SourceKind::ClaudeTasks {
                options.clone()
            } else {
                of_tag
            };
            let (backlog, entries) = self.read_entries(&of_tag)?;
            let entries = backlog.tasks.iter().zip(entries);
            lists.push(
                entries
                    .map(|(task, entry)| canonical(task, entry))
                    .collect::<Vec<_>>(),
            );
            if kind == SourceKind::ClaudeTasks {
                losses_of_claude(&backlog.tasks, &mut losses);
            }
        }
        let tasks = lists.iter().map(Vec::len).sum();
        match kind {
            SourceKind::ClaudeTasks => write_list(target, lists.into_iter().flatten())?,
            SourceKind::Yaml | SourceKind::TaskMaster => write_file(target, kind, &tags, lists)?,
        }
        Ok(Conversion {
            kind,
            tags,
            tasks,
            losses,
        })
    }

    fn losses_of_file(&self, backlog: &Backlog, tags: &[Tag], kind: SourceKind) -> Vec<Loss> {
        let mut losses = Vec::new();
        let mut lose = |what: String| losses.push(Loss { task: None, what });
        let left_out: Vec<String> = backlog
            .tags
            .iter()
            .filter(|tag| !tags.contains(tag))
            .map(|tag| format!("`{tag}`"))
            .collect();
        if !left_out.is_empty() {
            lose(format!("tags {} are left out", left_out.join(", ")));
        }
        if self.kind() == SourceKind::Yaml && kind != SourceKind::Yaml {
            let text = self.text().unwrap_or_default();
            if text
                .lines()
                .any(|line| line.trim_start().starts_with('#') || line.contains(" #"))
            {
                lose("comments".to_owned());
            }
        }
        if self.kind() == SourceKind::TaskMaster && self.has_tag_metadata() {
            lose("`metadata` of tags".to_owned());
        }
        losses
    }

    fn has_tag_metadata(&self) -> bool {
        let document = self.text().and_then(|text| self.document(&text));
        document.is_ok_and(|document| {
            document.root().is_some_and(|root| {
                let of_tags = root.members().any(|(_, tag)| tag.get("metadata").is_some());
                root.get("metadata").is_some() || of_tags
            })
        })
    }
}

/// A task with Task Master's names for its fields; ids and dependencies as they were read.
fn canonical(task: &Task, entry: Value) -> Map<String, Value> {
    let entry = match entry {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let mut fields = Map::from_iter([("id".to_owned(), spelled(&task.id))]);
    for (key, value) in entry {
        match key.as_str() {
            "subject" => drop(fields.insert("title".to_owned(), value)),
            "test_strategy" => drop(fields.insert("testStrategy".to_owned(), value)),
            "acceptance_criteria" => drop(fields.insert("acceptanceCriteria".to_owned(), value)),
            "status" => drop(fields.insert(key, json!(task.status))),
            "id" | "blocks" | "blockedBy" | "dependencies" => {}
            "subtasks" => drop(fields.insert(key, subtasks(task, value))),
            _ => drop(fields.insert(key, value)),
        }
    }
    fields.entry("status").or_insert_with(|| json!(task.status));
    let ids: Vec<Value> = task.dependencies.iter().map(spelled).collect();
    fields.insert("dependencies".to_owned(), json!(ids));
    fields
}

fn subtasks(task: &Task, entries: Value) -> Value {
    let Value::Array(entries) = entries else {
        return json!([]);
    };
    let named = entries
        .into_iter()
        .filter(|entry| !entry["id"].is_null())
        .zip(&task.subtasks);
    let entry = |(entry, subtask): (Value, &Task)| {
        let mut fields = canonical(subtask, entry);
        let number = subtask.id.as_str().rsplit('.').next().unwrap_or_default();
        fields.insert("id".to_owned(), spelled(&TaskId::from(number)));
        Value::Object(fields)
    };
    Value::Array(named.map(entry).collect())
}

/// As a number only where the number is written like that.
fn spelled(id: &TaskId) -> Value {
    match id.as_str().parse::<u64>() {
        Ok(number) if number.to_string() == id.as_str() => json!(number),
        _ => json!(id),
    }
}

type Entries = Vec<Map<String, Value>>;

fn write_file(
    target: &Path,
    kind: SourceKind,
    tags: &[Tag],
    lists: Vec<Entries>,
) -> Result<(), BacklogError> {
    let is_yaml = kind == SourceKind::Yaml;
    let entry = |fields: Map<String, Value>| {
        if is_yaml {
            in_snake(fields)
        } else {
            Value::Object(fields)
        }
    };
    let mut root = Map::new();
    for (tag, list) in tags.iter().zip(lists) {
        let list: Vec<Value> = list.into_iter().map(entry).collect();
        if is_yaml && tags.len() == 1 && tag.as_str() == super::task_master::MASTER {
            root.insert("tasks".to_owned(), json!(list));
        } else {
            root.insert(tag.to_string(), json!({"tasks": list}));
        }
    }
    let failed = |why: String| BacklogError::syntax(target, why);
    let text = if is_yaml {
        serde_yaml::to_string(&root).map_err(|error| failed(error.to_string()))?
    } else {
        serde_json::to_string_pretty(&root).map_err(|error| failed(error.to_string()))? + "\n"
    };
    write(target, &text)
}

fn in_snake(fields: Map<String, Value>) -> Value {
    let mut fields = FieldNames::Snake.names(fields);
    if let Some(Value::Array(subtasks)) = fields.remove("subtasks") {
        let named = subtasks.into_iter().map(|subtask| match subtask {
            Value::Object(fields) => Value::Object(FieldNames::Snake.names(fields)),
            other => other,
        });
        let named: Vec<Value> = named.collect();
        if !named.is_empty() {
            fields.insert("subtasks".to_owned(), json!(named));
        }
    }
    Value::Object(fields)
}

fn write_list(
    target: &Path,
    tasks: impl Iterator<Item = Map<String, Value>>,
) -> Result<(), BacklogError> {
    let tasks: Vec<Map<String, Value>> = tasks
        .map(without_subtask_ids)
        .map(|task| FieldNames::Claude.entry(task))
        .collect();
    let names: Vec<String> = tasks
        .iter()
        .map(|task| super::claude::file_name(target, task["id"].as_str().unwrap_or_default()))
        .collect::<Result<_, _>>()?;
    let mut blocks: std::collections::BTreeMap<String, Vec<Value>> =
        std::collections::BTreeMap::new();
    for task in &tasks {
        for on in task["blockedBy"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            blocks
                .entry(on.to_owned())
                .or_default()
                .push(task["id"].clone());
        }
    }
    if tasks.is_empty() {
        // By this a folder without tasks is known as a list.
        write(&target.join(super::claude::WATERMARK), "0")?;
    }
    for (name, mut task) in names.iter().zip(tasks) {
        let waiting = blocks
            .remove(task["id"].as_str().unwrap_or_default())
            .unwrap_or_default();
        task.insert("blocks".to_owned(), json!(waiting));
        let text = serde_json::to_string_pretty(&task)
            .map_err(|error| BacklogError::syntax(target, error.to_string()))?;
        write(&target.join(name), &(text + "\n"))?;
    }
    Ok(())
}

/// A list has no subtasks: who waits for one waits for its task.
fn without_subtask_ids(mut task: Map<String, Value>) -> Map<String, Value> {
    let own = task["id"].clone();
    let to_task = |id: &Value| match id.as_str().and_then(|id| id.split_once('.')) {
        Some((parent, _)) => spelled(&TaskId::from(parent)),
        None => id.clone(),
    };
    let mut seen = BTreeSet::new();
    let ids: Vec<Value> = task["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .map(to_task)
        .collect();
    let ids = ids
        .into_iter()
        .filter(|id| *id != own && seen.insert(id.to_string()))
        .collect();
    task.insert("dependencies".to_owned(), Value::Array(ids));
    task
}

fn write(target: &Path, text: &str) -> Result<(), BacklogError> {
    let failed = |source| BacklogError::Write {
        path: target.to_owned(),
        source,
    };
    std::fs::create_dir_all(atomic::folder_of(target)).map_err(failed)?;
    atomic::replace(target, text.as_bytes()).map_err(failed)
}

fn losses_of_claude(tasks: &[Task], losses: &mut Vec<Loss>) {
    for task in tasks {
        let mut lose = |what: String| {
            losses.push(Loss {
                task: Some(task.id.clone()),
                what,
            });
        };
        let spelled = claude_status(&task.status);
        if Status::from(spelled) != task.status {
            lose(format!("status `{}` becomes `{spelled}`", task.status));
        }
        match task.subtasks.len() {
            0 => {}
            1 => lose("its subtask".to_owned()),
            count => lose(format!("its {count} subtasks")),
        }
        for id in task
            .dependencies
            .iter()
            .filter(|id| id.as_str().contains('.'))
        {
            lose(format!(
                "the dependency on subtask `{id}` becomes one on its task"
            ));
        }
    }
}
