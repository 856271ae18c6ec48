//! A Claude Code task list: a folder with one file a task.
//!
//! That program deletes the files of finished tasks, so a task that is waited for and is not there counts as finished.

mod changing;

pub(super) use changing::{Joined, change, file_name};

use super::change::claude_status;
use super::document::{Document, Edits};
use super::fields::Reader;
use super::places::positions;
use super::{
    Backlog, BacklogError, MOST_BYTES, Position, ReadOptions, SourceKind, StatusChange,
    StatusOutcome, Warning,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_scheduler::{Tag, Task, TaskId};

/// Tells whether a folder holds such a list.
pub(super) fn is_list(folder: &Path) -> bool {
    task_files(folder).is_ok_and(|files| !files.is_empty()) || folder.join(WATERMARK).exists()
}

fn task_files(folder: &Path) -> Result<Vec<PathBuf>, BacklogError> {
    let failed = |source| BacklogError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && path.is_file()
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn document(path: &Path) -> Result<Document, BacklogError> {
    let bytes = tm_untrusted::read_own(path, MOST_BYTES).map_err(|source| BacklogError::Read {
        path: path.to_owned(),
        source,
    })?;
    Document::from_bytes(bytes).map_err(|error| error.of_file(path))
}

pub(super) fn read(folder: &Path, options: &ReadOptions) -> Result<Backlog, BacklogError> {
    let mut all = Reader::default();
    let mut tasks: Vec<(Task, Option<Position>)> = Vec::new();
    for path in task_files(folder)? {
        tasks.extend(read_file(&path, &mut all.warnings)?);
    }
    tasks.sort_by(|left, right| left.0.id.cmp(&right.0.id));
    let known: BTreeSet<TaskId> = tasks.iter().map(|(task, _)| task.id.clone()).collect();
    for (task, position) in &mut tasks {
        let gone = task.dependencies.iter().filter(|id| !known.contains(*id));
        all.warnings.extend(gone.map(|gone| Warning {
            task: Some(task.id.clone()),
            field: "blockedBy".to_owned(),
            message: format!("`{gone}` is not there and counts as finished"),
            position: position.clone(),
        }));
        task.dependencies.retain(|id| known.contains(id));
    }
    let tag = tag(folder);
    let tasks = tasks.into_iter().map(|(task, _)| task).collect();
    let mut backlog = all.backlog(tag.clone(), vec![tag], tasks, options.group.as_deref());
    backlog.next_number = backlog.next_number.max(watermark(folder).saturating_add(1));
    Ok(backlog)
}

/// Reads the task of a file, with the place of what it waits for; none where it was deleted.
fn read_file(
    path: &Path,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<(Task, Option<Position>)>, BacklogError> {
    let document = document(path)?;
    let places = |nodes: &[usize]| -> Vec<Option<Position>> {
        positions(SourceKind::ClaudeTasks, document.text(), &document, nodes)
            .into_iter()
            .map(|position| of_file(path, position))
            .collect()
    };
    let mut reader = Reader::default();
    let mut listed = document
        .root()
        .map(|root| reader.one(root))
        .unwrap_or_default();
    reader.place(places(&reader.nodes));
    warnings.append(&mut reader.warnings);
    if listed.is_empty() {
        let start = Position {
            file: None,
            line: 1,
            column: 1,
        };
        warnings.push(Warning {
            task: None,
            field: "file".to_owned(),
            message: "holds no task with an id; it is left out".to_owned(),
            position: of_file(path, Some(start)),
        });
    }
    let of_task = document
        .root()
        .map(|root| root.get("blockedBy").unwrap_or(root).node_index());
    let position = places(of_task.as_slice()).into_iter().next().flatten();
    listed.retain(|task| task.status.as_str() != "deleted");
    Ok(listed
        .into_iter()
        .map(|task| (task, position.clone()))
        .collect())
}

/// A position in one of the files of a list.
pub(super) fn of_file(path: &Path, position: Option<Position>) -> Option<Position> {
    let file = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    position.map(|position| Position { file, ..position })
}

/// Returns what the files hold for each task of a backlog, in the same order.
pub(super) fn entries(
    folder: &Path,
    backlog: &Backlog,
) -> Result<Vec<serde_json::Value>, BacklogError> {
    let mut entries = BTreeMap::new();
    for path in task_files(folder)? {
        let document = document(&path)?;
        let Some(root) = document.root() else {
            continue;
        };
        let Some(id) = super::fields::id(root) else {
            continue;
        };
        entries.insert(
            TaskId::new(id),
            serde_json::from_str(root.raw()).unwrap_or_default(),
        );
    }
    Ok(backlog
        .tasks
        .iter()
        .map(|task| entries.remove(&task.id).unwrap_or_default())
        .collect())
}

/// The list's name.
pub(super) fn tag(folder: &Path) -> Tag {
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Tag::new(name.unwrap_or_else(|| "tasks".to_owned()))
}

/// A file and its new text.
pub(super) type ChangedFile = (PathBuf, String);

/// Returns the changed files, and what each change came to.
pub(super) fn set_statuses(
    folder: &Path,
    changes: &[StatusChange],
) -> Result<(Vec<ChangedFile>, Vec<StatusOutcome>), BacklogError> {
    let mut files = Vec::new();
    let mut outcomes = Vec::new();
    let mut wanted: Vec<&StatusChange> = changes.iter().collect();
    for path in task_files(folder)? {
        let document = document(&path)?;
        let Some(root) = document.root() else {
            continue;
        };
        let Some(task) = Reader::default().one(root).into_iter().next() else {
            continue;
        };
        let Some(position) = wanted.iter().position(|change| change.id == task.id) else {
            continue;
        };
        let change = wanted.swap_remove(position);
        outcomes.push(StatusOutcome {
            id: task.id,
            old: task.status.clone(),
            new: change.status.clone(),
        });
        let mut edits = Edits::default();
        if let Some(status) = root.get("status").filter(|_| task.status != change.status) {
            edits.replace(status, &format!("\"{}\"", claude_status(&change.status)));
        }
        if let Some(text) = edits.apply(&document) {
            files.push((path, text));
        }
    }
    if wanted.is_empty() {
        return Ok((files, outcomes));
    }
    let ids: Vec<String> = wanted
        .iter()
        .map(|change| format!("`{}`", change.id))
        .collect();
    Err(BacklogError::UnknownTasks {
        path: folder.to_owned(),
        ids: ids.join(", "),
    })
}

pub(super) const WATERMARK: &str = ".highwatermark";

/// Returns the highest number that the list has ever given to a task.
fn watermark(folder: &Path) -> u64 {
    let bytes = tm_untrusted::read_own(&folder.join(WATERMARK), MOST_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)
}
