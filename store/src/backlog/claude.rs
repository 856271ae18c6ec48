//! A Claude Code task list: a folder with one file a task.
//!
//! That program deletes the files of finished tasks, so a task that is waited for and is not there counts as finished.

use super::document::{Document, Edits};
use super::fields::Reader;
use super::{Backlog, BacklogError, ReadOptions, StatusChange, StatusOutcome};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tm_scheduler::{Status, Tag, Task, TaskId};

/// Tells whether a folder holds such a list.
pub(super) fn is_list(folder: &Path) -> bool {
    task_files(folder).is_ok_and(|files| !files.is_empty()) || folder.join(".highwatermark").exists()
}

fn task_files(folder: &Path) -> Result<Vec<PathBuf>, BacklogError> {
    let failed = |source| BacklogError::Read { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn document(path: &Path) -> Result<Document, BacklogError> {
    let bytes = std::fs::read(path).map_err(|source| BacklogError::Read { path: path.to_owned(), source })?;
    Document::from_bytes(bytes).map_err(|error| BacklogError::Syntax { path: path.to_owned(), why: error.to_string() })
}

pub(super) fn read(folder: &Path, options: &ReadOptions) -> Result<Backlog, BacklogError> {
    let mut reader = Reader::default();
    let mut tasks: Vec<Task> = Vec::new();
    for path in task_files(folder)? {
        let document = document(&path)?;
        let listed = document.root().map(|root| reader.one(root)).unwrap_or_default();
        tasks.extend(listed.into_iter().filter(|task| task.status.as_str() != "deleted"));
    }
    tasks.sort_by(|left, right| left.id.cmp(&right.id));
    let known: BTreeSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    for task in &mut tasks {
        for gone in task.dependencies.iter().filter(|id| !known.contains(*id)) {
            reader.warn(Some(&task.id), "blockedBy", format!("`{gone}` is not there and counts as finished"));
        }
        task.dependencies.retain(|id| known.contains(id));
    }
    let tag = tag(folder);
    Ok(reader.backlog(tag.clone(), vec![tag], tasks, options.group.as_deref()))
}

/// Returns what the files hold for each task of a backlog, in the same order.
pub(super) fn entries(folder: &Path, backlog: &Backlog) -> Result<Vec<serde_json::Value>, BacklogError> {
    let mut entries = std::collections::BTreeMap::new();
    for path in task_files(folder)? {
        let document = document(&path)?;
        let Some(root) = document.root() else { continue };
        let Some(id) = super::fields::id(root) else { continue };
        entries.insert(TaskId::new(id), serde_json::from_str(root.raw()).unwrap_or_default());
    }
    Ok(backlog.tasks.iter().map(|task| entries.remove(&task.id).unwrap_or_default()).collect())
}

/// The list's name.
pub(super) fn tag(folder: &Path) -> Tag {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
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
        let Some(root) = document.root() else { continue };
        let Some(task) = Reader::default().one(root).into_iter().next() else { continue };
        let Some(position) = wanted.iter().position(|change| change.id == task.id) else { continue };
        let change = wanted.swap_remove(position);
        outcomes.push(StatusOutcome { id: task.id, old: task.status.clone(), new: change.status.clone() });
        let mut edits = Edits::default();
        if let Some(status) = root.get("status").filter(|_| task.status != change.status) {
            edits.replace(status, &format!("\"{}\"", spelled(&change.status)));
        }
        if let Some(text) = edits.apply(&document) {
            files.push((path, text));
        }
    }
    if wanted.is_empty() {
        return Ok((files, outcomes));
    }
    let ids: Vec<String> = wanted.iter().map(|change| format!("`{}`", change.id)).collect();
    Err(BacklogError::UnknownTasks { path: folder.to_owned(), ids: ids.join(", ") })
}

/// That program knows three statuses.
const fn spelled(status: &Status) -> &'static str {
    match status {
        Status::Done => "completed",
        Status::InProgress | Status::Review => "in_progress",
        Status::Pending | Status::Deferred | Status::Cancelled | Status::Blocked | Status::Other(_) => "pending",
    }
}
