//! Writes a backlog in another form, as a new file or folder, and names what that form has no place for.
//!
//! The original is never touched, and nothing that is there is written over.

use super::document::{Document, Tree, Value};
use super::kind::{claude_status, spelled};
use super::loaded::{MASTER, Original};
use super::spellings::Field;
use super::{
    Backlog, BacklogError, BacklogSource, Entry, ReadOptions, Snapshot, SourceKind, number,
};
use crate::{Error, atomic};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;
use tm_scheduler::{Status, Tag, Task, TaskId, quoted};

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
            return Err(BacklogError::refused(self.path())(refusal));
        }
        let snapshot = self.snapshot()?;
        let chosen = snapshot.read(options)?;
        let is_all =
            options.tag.is_none() && options.group.is_none() && kind != SourceKind::ClaudeTasks;
        let tags = if is_all && !chosen.tags.is_empty() {
            chosen.tags.clone()
        } else {
            vec![chosen.tag.clone()]
        };
        let mut losses = snapshot.losses_of_file(&chosen, &tags, kind);
        let mut lists = Vec::new();
        for tag in &tags {
            let mut of_tag = options.clone();
            if self.kind() != SourceKind::ClaudeTasks {
                of_tag.tag = Some(tag.clone());
            }
            let backlog = snapshot.read(&of_tag)?;
            let entries = snapshot.entries(&backlog);
            let entries = backlog.tasks.iter().zip(entries);
            let list: Entries = entries
                .map(|(task, entry)| canonical(task, entry.map_or(Json::Null, Entry::json)))
                .collect();
            lists.push(list);
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
}

impl Snapshot<'_> {
    fn losses_of_file(&self, backlog: &Backlog, tags: &[Tag], kind: SourceKind) -> Vec<Loss> {
        let mut losses = Vec::new();
        let mut lose = |what: String| losses.push(Loss { task: None, what });
        let mut left_out = backlog.tags.clone();
        left_out.retain(|tag| !tags.contains(tag));
        if !left_out.is_empty() {
            lose(format!("tags {} are left out", quoted(left_out)));
        }
        let has_comment = |line: &str| line.trim_start().starts_with('#') || line.contains(" #");
        if let Original::Yaml(text) = &self.loaded.original
            && kind != SourceKind::Yaml
            && text.lines().any(has_comment)
        {
            lose("comments".to_owned());
        }
        let has_metadata = |root: Value<'_>| {
            let mut tags = root.members().map(|(_, tag)| tag).chain([root]);
            tags.any(|holder| holder.get("metadata").is_some())
        };
        if self.source.kind() == SourceKind::TaskMaster
            && self.loaded.document.root().is_some_and(has_metadata)
        {
            lose("`metadata` of tags".to_owned());
        }
        losses
    }
}

/// A task with Task Master's names for its fields; ids and dependencies as they were read.
fn canonical(task: &Task, entry: Json) -> Map<String, Json> {
    let entry = match entry {
        Json::Object(members) => members,
        _ => Map::new(),
    };
    let mut fields = Map::from_iter([("id".to_owned(), spelled(task.id.as_str()))]);
    for (key, value) in entry {
        let (key, value) = match Field::of(&key) {
            Some(Field::Id | Field::Dependencies) => continue,
            None if key == "blocks" => continue,
            Some(Field::Title) => ("title".to_owned(), value),
            Some(Field::TestStrategy) => ("testStrategy".to_owned(), value),
            Some(Field::AcceptanceCriteria) => ("acceptanceCriteria".to_owned(), value),
            Some(Field::Status) => (key, json!(task.status)),
            Some(Field::Subtasks) => (key, subtasks(task, value)),
            _ => (key, value),
        };
        fields.insert(key, value);
    }
    fields.entry("status").or_insert_with(|| json!(task.status));
    let ids: Vec<Json> = task
        .dependencies
        .iter()
        .map(|id| spelled(id.as_str()))
        .collect();
    fields.insert("dependencies".to_owned(), json!(ids));
    fields
}

fn subtasks(task: &Task, entries: Json) -> Json {
    let Json::Array(entries) = entries else {
        return json!([]);
    };
    let named = entries.into_iter().filter(|entry| !entry["id"].is_null());
    let entry = |(entry, subtask): (Json, &Task)| {
        let mut fields = canonical(subtask, entry);
        let number = number(subtask.id.as_str());
        fields.insert("id".to_owned(), spelled(number));
        Json::Object(fields)
    };
    Json::Array(named.zip(&task.subtasks).map(entry).collect())
}

type Entries = Vec<Map<String, Json>>;

fn write_file(
    target: &Path,
    kind: SourceKind,
    tags: &[Tag],
    lists: Vec<Entries>,
) -> Result<(), BacklogError> {
    let is_yaml = kind == SourceKind::Yaml;
    let entry = if is_yaml { in_snake } else { Json::Object };
    let mut root = Map::new();
    for (tag, list) in tags.iter().zip(lists) {
        let list: Vec<Json> = list.into_iter().map(entry).collect();
        if is_yaml && tags.len() == 1 && tag.as_str() == MASTER {
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

fn in_snake(fields: Map<String, Json>) -> Json {
    let mut fields = SourceKind::Yaml.names(fields);
    if let Some(Json::Array(subtasks)) = fields.remove("subtasks") {
        let named = subtasks.into_iter().map(|subtask| match subtask {
            Json::Object(fields) => Json::Object(SourceKind::Yaml.names(fields)),
            other => other,
        });
        let named: Vec<Json> = named.collect();
        if !named.is_empty() {
            fields.insert("subtasks".to_owned(), json!(named));
        }
    }
    Json::Object(fields)
}

fn write_list(
    target: &Path,
    tasks: impl Iterator<Item = Map<String, Json>>,
) -> Result<(), BacklogError> {
    let entry = |task| Json::Object(SourceKind::ClaudeTasks.entry(without_subtask_ids(task)));
    let entries: Vec<Json> = tasks.map(entry).collect();
    if entries.is_empty() {
        // By this a folder without tasks is known as a list.
        return write(&target.join(super::claude::WATERMARK), "0");
    }
    for entry in &entries {
        super::claude::file_name(target, entry["id"].as_str().unwrap_or_default())?;
    }
    create_folder(target)?;
    let root = Tree::new(&Json::Array(entries));
    super::claude::write(target, &Document::default(), &[], root)
}

/// A list has no subtasks: who waits for one waits for its task.
fn without_subtask_ids(mut task: Map<String, Json>) -> Map<String, Json> {
    let own = task["id"].clone();
    let to_task = |id: &Json| match id.as_str().and_then(|id| id.split_once('.')) {
        Some((parent, _)) => spelled(parent),
        None => id.clone(),
    };
    let mut seen = BTreeSet::from([own.to_string()]);
    let ids = task["dependencies"].as_array().into_iter().flatten();
    let ids = ids.map(to_task).filter(|id| seen.insert(id.to_string()));
    let ids = ids.collect();
    task.insert("dependencies".to_owned(), Json::Array(ids));
    task
}

fn write(target: &Path, text: &str) -> Result<(), BacklogError> {
    create_folder(atomic::folder_of(target))?;
    Ok(atomic::replace(target, text.as_bytes()).map_err(Error::write(target))?)
}

fn create_folder(path: &Path) -> Result<(), BacklogError> {
    Ok(std::fs::create_dir_all(path).map_err(Error::write(path))?)
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
        let ids = task.dependencies.iter();
        for id in ids.filter(|id| id.as_str().contains('.')) {
            lose(format!(
                "the dependency on subtask `{id}` becomes one on its task"
            ));
        }
    }
}
