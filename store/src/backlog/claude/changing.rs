//! Changes in the files of a Claude Code list, made on all of them as on one document.

use super::{WATERMARK, document, task_files, watermark};
use crate::backlog::change::Changed;
use crate::backlog::document::{Document, Tree};
use crate::backlog::{BacklogError, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files of a list as one document: a list of tasks, so that changes are made on it as on any other backlog.
pub(in crate::backlog) struct Joined {
    pub(in crate::backlog) document: Document,
    /// Each file that holds a task, with what stands around the task in it.
    pub(in crate::backlog) files: Vec<JoinedFile>,
}

pub(in crate::backlog) struct JoinedFile {
    pub(in crate::backlog) path: PathBuf,
    pub(in crate::backlog) id: String,
    before: String,
    after: String,
}

impl Joined {
    pub(in crate::backlog) fn read(folder: &Path) -> Result<Self, BacklogError> {
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
            let id = crate::backlog::fields::id(root).unwrap_or_default();
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
pub(in crate::backlog) fn change(
    folder: &Path,
    apply: impl FnOnce(&Document, &mut Tree) -> Result<Vec<Changed>, BacklogError>,
) -> Result<Vec<Changed>, BacklogError> {
    let Joined { document, files } = Joined::read(folder)?;
    let nodes: Vec<usize> = document
        .root()
        .into_iter()
        .flat_map(crate::backlog::document::Value::elements)
        .map(crate::backlog::document::Value::node_index)
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
pub(in crate::backlog) fn file_name(folder: &Path, id: &str) -> Result<String, BacklogError> {
    let is_safe = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(is_safe) {
        let refusal = Refusal::NoPlace(
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

/// A number that was given is not given again, also when that task is deleted.
fn raise_watermark(folder: &Path, highest: u64) -> Result<(), BacklogError> {
    let path = folder.join(WATERMARK);
    if path.exists() && watermark(folder) < highest {
        write(&path, &highest.to_string())
    } else {
        Ok(())
    }
}
