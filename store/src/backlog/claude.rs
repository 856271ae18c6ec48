//! A Claude Code task list: a folder with one file a task.
//!
//! That program deletes the files of finished tasks, so a task that is waited for and is not there counts as finished.

use super::change::{Changed, claude_status};
use super::document::{Document, Edits, Tree};
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
        let document = document(&path)?;
        let mut reader = Reader::default();
        let listed = document
            .root()
            .map(|root| reader.one(root))
            .unwrap_or_default();
        let places = positions(
            SourceKind::ClaudeTasks,
            document.text(),
            &document,
            &reader.nodes,
        );
        reader.place(
            places
                .into_iter()
                .map(|position| of_file(&path, position))
                .collect(),
        );
        all.warnings.append(&mut reader.warnings);
        if listed.is_empty() {
            let position = of_file(
                &path,
                Some(Position {
                    file: None,
                    line: 1,
                    column: 1,
                }),
            );
            let (field, message) = (
                "file".to_owned(),
                "holds no task with an id; it is left out".to_owned(),
            );
            all.warnings.push(Warning {
                task: None,
                field,
                message,
                position,
            });
        }
        let of_task = document
            .root()
            .map(|root| root.get("blockedBy").unwrap_or(root).node_index());
        let places = positions(
            SourceKind::ClaudeTasks,
            document.text(),
            &document,
            of_task.as_slice(),
        );
        let position = places.into_iter().next().flatten();
        let kept = listed
            .into_iter()
            .filter(|task| task.status.as_str() != "deleted");
        tasks.extend(kept.map(|task| (task, of_file(&path, position.clone()))));
    }
    tasks.sort_by(|left, right| left.0.id.cmp(&right.0.id));
    let known: BTreeSet<TaskId> = tasks.iter().map(|(task, _)| task.id.clone()).collect();
    for (task, position) in &mut tasks {
        for gone in task.dependencies.iter().filter(|id| !known.contains(*id)) {
            let (field, message) = (
                "blockedBy".to_owned(),
                format!("`{gone}` is not there and counts as finished"),
            );
            all.warnings.push(Warning {
                task: Some(task.id.clone()),
                field,
                message,
                position: position.clone(),
            });
        }
        task.dependencies.retain(|id| known.contains(id));
    }
    let tag = tag(folder);
    let tasks = tasks.into_iter().map(|(task, _)| task).collect();
    let mut backlog = all.backlog(tag.clone(), vec![tag], tasks, options.group.as_deref());
    backlog.next_number = backlog.next_number.max(watermark(folder).saturating_add(1));
    Ok(backlog)
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

/// The files of a list as one document: a list of tasks, so that changes are made on it as on any other backlog.
pub(super) struct Joined {
    pub(super) document: Document,
    /// Each file that holds a task, with what stands around the task in it.
    pub(super) files: Vec<JoinedFile>,
}

pub(super) struct JoinedFile {
    pub(super) path: PathBuf,
    pub(super) id: String,
    before: String,
    after: String,
}

impl Joined {
    pub(super) fn read(folder: &Path) -> Result<Self, BacklogError> {
        let mut files = Vec::new();
        let mut tasks = Vec::new();
        for path in task_files(folder)? {
            let document = document(&path)?;
            let Some(root) = document.root() else {
                continue;
            };
            let (text, raw) = (document.text(), root.raw());
            let Some((before, after)) = text.split_once(raw) else {
                continue;
            };
            let id = super::fields::id(root).unwrap_or_default();
            files.push(JoinedFile {
                path,
                id,
                before: before.to_owned(),
                after: after.to_owned(),
            });
            tasks.push(raw.to_owned());
        }
        let text = format!("[{}]", tasks.join(","));
        Ok(Self {
            document: Document::parse(text).map_err(|error| error.of_file(folder))?,
            files,
        })
    }
}

/// Makes changes in the files of a list: each task keeps its file, a new one gets one, a removed one loses it.
pub(super) fn change(
    folder: &Path,
    apply: impl FnOnce(&Document, &mut Tree) -> Result<Vec<Changed>, BacklogError>,
) -> Result<Vec<Changed>, BacklogError> {
    let Joined { document, files } = Joined::read(folder)?;
    let nodes: Vec<usize> = document
        .root()
        .into_iter()
        .flat_map(super::document::Value::elements)
        .map(super::document::Value::node_index)
        .collect();
    let mut root = Tree::of(&document);
    let edges_before = edges(&document, &root);
    let answers = apply(&document, &mut root)?;
    mirror(&document, &mut root, &edges_before);
    let Some(tasks) = root.elements(&document) else {
        return Ok(answers);
    };
    let mut stays = BTreeSet::new();
    let mut highest = 0;
    for task in tasks.iter() {
        let id = task.plain(&document, "id").unwrap_or_default();
        highest = highest.max(id.parse().unwrap_or(0));
        let place = task.node().and_then(|node| nodes.binary_search(&node).ok());
        let old = place.map(|place| &files[place]);
        let path = match old {
            Some(file) if file.id == id => file.path.clone(),
            _ => folder.join(file_name(folder, &id)?),
        };
        stays.insert(path.clone());
        if !matches!(task, Tree::Kept(_)) {
            let (before, after) = old.map_or(("", "\n"), |file| {
                (file.before.as_str(), file.after.as_str())
            });
            write(
                &path,
                &format!("{before}{}{after}", task.write_alone(&document)),
            )?;
        }
    }
    for file in files.iter().filter(|file| !stays.contains(&file.path)) {
        std::fs::remove_file(&file.path).map_err(|source| BacklogError::Write {
            path: file.path.clone(),
            source,
        })?;
    }
    raise_watermark(folder, highest)?;
    Ok(answers)
}

/// The name of a task's file; an id that is no safe name is refused.
pub(super) fn file_name(folder: &Path, id: &str) -> Result<String, BacklogError> {
    let is_safe = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(is_safe) {
        let refusal = super::Refusal::NoPlace(
            "an id in a Claude Code list is made of letters, digits, `-`, `_` and `.`",
        );
        return Err(BacklogError::Refused {
            path: folder.to_owned(),
            refusal,
        });
    }
    Ok(format!("{id}.json"))
}

fn write(path: &Path, text: &str) -> Result<(), BacklogError> {
    crate::atomic::replace(path, text.as_bytes()).map_err(|source| BacklogError::Write {
        path: path.to_owned(),
        source,
    })
}

type Edge = (String, String);

/// Who waits for whom, as (task, dependency).
fn edges(document: &Document, root: &Tree) -> BTreeSet<Edge> {
    let mut opened = root.clone();
    let tasks = opened
        .elements(document)
        .map(std::mem::take)
        .unwrap_or_default();
    let of_task = |task: &Tree| {
        let id = task.plain(document, "id").unwrap_or_default();
        task.scalars_within(document, "blockedBy")
            .into_iter()
            .flatten()
            .map(move |on| (id.clone(), on))
            .collect::<Vec<_>>()
    };
    tasks.iter().flat_map(of_task).collect()
}

/// Each task also names those that wait for it: what has come and gone on one side comes and goes on the other.
fn mirror(document: &Document, root: &mut Tree, before: &BTreeSet<Edge>) {
    let after = edges(document, root);
    let mut wanted: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for (task, on) in after.difference(before) {
        wanted.entry(on.clone()).or_default().0.push(task.clone());
    }
    for (task, on) in before.difference(&after) {
        wanted.entry(on.clone()).or_default().1.push(task.clone());
    }
    for task in root.elements(document).into_iter().flatten() {
        let Some((come, gone)) = task.plain(document, "id").and_then(|id| wanted.remove(&id))
        else {
            continue;
        };
        let named = task.scalars_within(document, "blocks");
        if come.iter().all(|id| named.contains(&Some(id.clone())))
            && !gone.iter().any(|id| named.contains(&Some(id.clone())))
        {
            continue;
        }
        if task
            .member(document, "blocks")
            .is_none_or(|list| list.elements(document).is_none())
        {
            task.set(document, "blocks", Tree::Array(None, Vec::new()));
        }
        let Some(blocks) = task
            .member(document, "blocks")
            .and_then(|list| list.elements(document))
        else {
            continue;
        };
        blocks.retain(|one| one.scalar(document).is_none_or(|id| !gone.contains(&id)));
        blocks.extend(
            come.iter()
                .filter(|id| !named.contains(&Some((*id).clone())))
                .map(|id| Tree::text(id)),
        );
    }
}

pub(super) const WATERMARK: &str = ".highwatermark";

/// Returns the highest number that the list has ever given to a task.
fn watermark(folder: &Path) -> u64 {
    let bytes = tm_untrusted::read_own(&folder.join(WATERMARK), MOST_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)
}

/// A number that was given is not given again, also when that task is deleted.
fn raise_watermark(folder: &Path, highest: u64) -> Result<(), BacklogError> {
    let path = folder.join(WATERMARK);
    if path.exists() && watermark(folder) < highest {
        write(&path, &highest.to_string())
    } else {
        Ok(())
    }
}
