//! A Claude Code task list: a folder with one file a task, read and changed as one list.
//!
//! That program deletes the files of finished tasks, so a task that is waited for and is not there counts as finished.

use super::change::written;
use super::document::{Document, Tree, Value};
use super::fields::{Reader, id};
use super::loaded::{Loaded, Original, TaskFile};
use super::{Backlog, BacklogError, Refusal, file};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tm_scheduler::{Tag, Task, TaskId};

pub(super) const WATERMARK: &str = ".highwatermark";

/// Tells whether a folder holds such a list.
pub(super) fn is_list(folder: &Path) -> bool {
    task_files(folder).is_ok_and(|files| !files.is_empty()) || folder.join(WATERMARK).exists()
}

fn task_files(folder: &Path) -> Result<Vec<PathBuf>, BacklogError> {
    let mut files = crate::file_system::entries(folder).map_err(Error::read(folder))?;
    files.retain(|path| path.extension().is_some_and(|end| end == "json") && path.is_file());
    files.sort();
    Ok(files)
}

/// Reads the files of a list as one document; a blank one stands in it as nothing.
pub(super) fn load(folder: &Path) -> Result<Loaded, BacklogError> {
    let mut files = Vec::new();
    let mut tasks = Vec::new();
    for path in task_files(folder)? {
        let text = file::text(&path)?;
        let document = Document::parse(text).map_err(|error| error.of_file(&path))?;
        let root = document.root();
        let span = root.map_or(0..0, Value::span);
        tasks.push(root.map_or("null", Value::raw).to_owned());
        files.push(TaskFile {
            path,
            text: document.text().to_owned(),
            span,
        });
    }
    let text = format!("[{}]", tasks.join(","));
    Ok(Loaded {
        document: Document::parse(text).map_err(|error| error.of_file(folder))?,
        original: Original::Files(files),
    })
}

pub(super) fn read(folder: &Path, loaded: &Loaded) -> Backlog {
    let mut reader = Reader::default();
    let mut tasks: Vec<(Task, Value<'_>)> = Vec::new();
    for entry in entries(&loaded.document) {
        match reader.one(entry) {
            Some(task) if task.status.as_str() == "deleted" => {}
            Some(task) => tasks.push((task, entry.get("blockedBy").unwrap_or(entry))),
            None => {
                let message = "holds no task with an id; it is left out";
                reader.warn(entry, None, "file", message);
            }
        }
    }
    tasks.sort_by(|left, right| left.0.id.cmp(&right.0.id));
    let known: BTreeSet<TaskId> = tasks.iter().map(|(task, _)| task.id.clone()).collect();
    for (task, at) in &mut tasks {
        for gone in task.dependencies.extract_if(.., |id| !known.contains(id)) {
            let message = format!("`{gone}` is not there and counts as finished");
            reader.warn(*at, Some(&task.id), "blockedBy", message);
        }
    }
    reader.place(loaded.positions(&reader.nodes));
    let tag = tag(folder);
    let tasks = tasks.into_iter().map(|(task, _)| task).collect();
    let mut backlog = reader.backlog(tag.clone(), vec![tag], tasks);
    backlog.next_number = backlog.next_number.max(watermark(folder).saturating_add(1));
    backlog
}

fn entries(document: &Document) -> impl Iterator<Item = Value<'_>> {
    document.root().into_iter().flat_map(Value::elements)
}

/// The list's name.
pub(super) fn tag(folder: &Path) -> Tag {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    Tag::from(name.as_deref().unwrap_or("tasks"))
}

/// Writes what was changed into the files: each task keeps its file, a new one gets one, a removed one loses it.
pub(super) fn write(
    folder: &Path,
    document: &Document,
    files: &[TaskFile],
    mut root: Tree<'_>,
) -> Result<(), BacklogError> {
    mirror(document, &mut root);
    let was: Vec<usize> = entries(document).map(Value::node_index).collect();
    let mut stays = BTreeSet::new();
    let mut changed = Vec::new();
    let mut highest = 0;
    for task in root.elements().into_iter().flatten() {
        let own = task.plain("id").unwrap_or_default();
        highest = highest.max(own.parse().unwrap_or(0));
        let origin = task.origin();
        let place = origin.and_then(|origin| was.binary_search(&origin.node_index()).ok());
        let old = place.map(|place| &files[place]);
        let path = match old {
            Some(file) if origin.and_then(id).unwrap_or_default() == own => file.path.clone(),
            _ => folder.join(file_name(folder, &own)?),
        };
        if !matches!(task, Tree::Kept(_)) {
            let (before, after) = old.map_or(("", "\n"), |file| {
                (&file.text[..file.span.start], &file.text[file.span.end..])
            });
            let text = [before, &task.write_alone(document), after].concat();
            if old.is_none_or(|file| file.path != path || file.text != text) {
                changed.push((path.clone(), text));
            }
        }
        stays.insert(path);
    }
    for (path, text) in changed {
        file::replace(&path, &text)?;
    }
    for file in files.iter().filter(|file| !stays.contains(&file.path)) {
        std::fs::remove_file(&file.path).map_err(Error::write(&file.path))?;
    }
    raise_watermark(folder, highest)
}

/// The name of a task's file; an id that is no safe name is refused.
pub(super) fn file_name(folder: &Path, id: &str) -> Result<String, BacklogError> {
    let is_safe = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(is_safe) {
        let why = "an id in a Claude Code list is made of letters, digits, `-`, `_` and `.`";
        return Err(BacklogError::refused(folder)(Refusal::NoPlace(why)));
    }
    Ok(format!("{id}.json"))
}

/// Who waits for whom, as (dependency, task).
fn edges(root: &mut Tree<'_>) -> BTreeSet<(String, String)> {
    let mut edges = BTreeSet::new();
    for task in root.elements().into_iter().flatten() {
        let id = task.plain("id").unwrap_or_default();
        let on = written(task).into_iter();
        edges.extend(on.map(|on| (on, id.clone())));
    }
    edges
}

/// Each task also names those that wait for it: what has come and gone on one side comes and goes on the other.
fn mirror(document: &Document, root: &mut Tree<'_>) {
    let (before, after) = (edges(&mut Tree::of(document)), edges(root));
    let mut wanted: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for (on, task) in after.difference(&before) {
        wanted.entry(on).or_default().0.push(task);
    }
    for (on, task) in before.difference(&after) {
        wanted.entry(on).or_default().1.push(task);
    }
    for task in root.elements().into_iter().flatten() {
        let id = task.plain("id").unwrap_or_default();
        let Some((mut come, gone)) = wanted.remove(id.as_str()) else {
            continue;
        };
        let named = task.parts("blocks");
        let is_named = |id: &&str| {
            named
                .iter()
                .any(|named| named.scalar().as_deref() == Some(*id))
        };
        come.retain(|id| !is_named(id));
        if come.is_empty() && !gone.iter().any(is_named) {
            continue;
        }
        let Some(blocks) = task.list("blocks") else {
            continue;
        };
        let is_gone = |id: String| gone.contains(&id.as_str());
        blocks.retain(|one| !one.scalar().is_some_and(is_gone));
        blocks.extend(come.into_iter().map(Tree::text));
    }
}

/// Returns the highest number that the list has ever given to a task.
fn watermark(folder: &Path) -> u64 {
    let text = file::text(&folder.join(WATERMARK)).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// A number that was given is not given again, also when that task is deleted.
fn raise_watermark(folder: &Path, highest: u64) -> Result<(), BacklogError> {
    let path = folder.join(WATERMARK);
    if path.exists() && watermark(folder) < highest {
        file::replace(&path, &highest.to_string())
    } else {
        Ok(())
    }
}
