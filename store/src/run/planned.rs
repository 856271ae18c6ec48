//! The highest number that runs planned of each tag, so that no new task gets an id that a run may still write a status to:
//! one file in the folder that all worktrees of a repository share, whatever the home.

use super::{read_json_if_there, write_json};
use crate::Error;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tm_scheduler::{Tag, TaskId};

/// The highest number of each tag.
pub type PlannedNumbers = BTreeMap<Tag, u64>;

fn file(common_git_dir: &Path) -> PathBuf {
    common_git_dir.join("tm-numbers.json")
}

/// Returns the numbers; none where nothing can be read of them.
pub fn planned_numbers(common_git_dir: &Path) -> PlannedNumbers {
    let read = read_json_if_there(&file(common_git_dir));
    read.ok().flatten().unwrap_or_default()
}

/// Notes the ids that a run plans, before it begins with them.
///
/// # Errors
/// The file can't be written.
pub fn note_planned<'i>(
    common_git_dir: &Path,
    tag: &Tag,
    ids: impl Iterator<Item = &'i TaskId>,
) -> Result<(), Error> {
    let number = |id: &TaskId| id.as_str().split('.').next()?.parse().ok();
    let Some(highest) = ids.filter_map(number).max() else {
        return Ok(());
    };
    let mut numbers = planned_numbers(common_git_dir);
    let known = numbers.entry(tag.clone()).or_default();
    if *known >= highest {
        return Ok(());
    }
    *known = highest;
    write_json(&file(common_git_dir), &numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_only_grow_and_rubbish_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let note = |tag: &str, ids: &[&str]| {
            let ids: Vec<TaskId> = ids.iter().map(|id| TaskId::from(*id)).collect();
            note_planned(folder.path(), &tag.into(), ids.iter()).unwrap();
            planned_numbers(folder.path())
        };
        note("one", &["3", "12.40", "word"]);
        note("two", &["word"]);
        let numbers = note("one", &["7"]);
        assert_eq!(numbers, PlannedNumbers::from([("one".into(), 12)]));
        std::fs::remove_file(file(folder.path())).unwrap();
        std::fs::create_dir(file(folder.path())).unwrap();
        assert!(planned_numbers(folder.path()).is_empty());
    }
}
