//! What an agent finds of a conflict that it is to put right, and what it may leave.

use tm_scheduler::merging::{Segment, lock_file, with_ended_line, wrong_resolution};
use tm_scheduler::verdict::is_test_path;
use tm_scheduler::{CommitId, first_files};
use tm_worktrees::{Conflict, ConflictedText, Error, MergedFile, Repository, TreeId};

/// What an agent finds, and is to put right. All of it follows from two commits, so a step that is done again after a crash
/// comes to the same.
#[derive(Debug)]
pub(crate) struct Mending {
    /// Both sides' work, with marks where they conflict.
    pub(crate) tree: TreeId,
    /// The files in which marks are, and what is in them.
    open: Vec<(ConflictedText, Vec<Segment>)>,
}

impl Mending {
    /// The files that the agent may change.
    pub(crate) fn files(&self) -> Vec<String> {
        self.open
            .iter()
            .map(|(of, _)| of.path.to_string_lossy().into_owned())
            .collect()
    }

    /// Returns what is wrong with what the agent left; `None` where it may be proven as any work.
    pub(crate) fn fault(
        &self,
        repository: &Repository,
        left: &TreeId,
    ) -> Result<Option<String>, Error> {
        let files = self.files();
        let changed = repository.changed_between(&self.tree, left)?;
        let others: Vec<&str> = changed
            .iter()
            .filter(|path| !files.contains(path))
            .map(String::as_str)
            .collect();
        if !others.is_empty() {
            return Ok(Some(format!(
                "files were changed in which nothing conflicts: {}",
                first_files(&others)
            )));
        }
        for ((_, segments), path) in self.open.iter().zip(&files) {
            let fault = match repository.bytes_in_tree(left, path)?.map(String::from_utf8) {
                None => Some("it is gone".to_owned()),
                Some(Err(_)) => Some("it is no text any more".to_owned()),
                Some(Ok(text)) => wrong_resolution(segments, &with_ended_line(text)),
            };
            if let Some(fault) = fault {
                return Ok(Some(format!("`{path}`: {fault}")));
            }
        }
        Ok(None)
    }
}

/// Returns what an agent finds where proven work is merged into its base as far as that goes; `None` where it is not asked.
pub(crate) fn carried_over(
    repository: &Repository,
    base: &CommitId,
    proven: &CommitId,
) -> Result<Option<Mending>, Error> {
    match repository.merged_as_far(base, proven)? {
        Ok(tree) => Ok(Some(Mending {
            tree,
            open: Vec::new(),
        })),
        Err(conflict) => mending(repository, &conflict),
    }
}

/// Returns what an agent would find of a conflict; `None` where it is not asked: where more than lines is at odds, and
/// where it would have to write into tests or lock files.
pub(crate) fn mending(
    repository: &Repository,
    conflict: &Conflict,
) -> Result<Option<Mending>, Error> {
    let Some(texts) = &conflict.texts else {
        return Ok(None);
    };
    let (mut united, mut open) = (Vec::new(), Vec::new());
    for of in texts {
        let path = of.path.to_string_lossy();
        let (content, segments) = (repository.united_text(of)?, repository.segments(of)?);
        match (content, segments) {
            (Some(content), Some(segments)) => united.push((MergedFile { of, content }, segments)),
            (None, Some(segments)) if !is_test_path(&path) && lock_file(&path).is_none() => {
                open.push((of.clone(), segments));
            }
            (_, _) => return Ok(None),
        }
    }
    if open.is_empty() {
        // Taking both was not right, so somebody has to look at all of it but the tests.
        let (tests, others) = united
            .into_iter()
            .partition(|(file, _)| is_test_path(&file.of.path.to_string_lossy()));
        united = tests;
        let others: Vec<(MergedFile<'_>, Vec<Segment>)> = others;
        open = others
            .into_iter()
            .map(|(file, segments)| (file.of.clone(), segments))
            .collect();
    }
    if open.is_empty() {
        return Ok(None);
    }
    let united: Vec<MergedFile<'_>> = united.into_iter().map(|(file, _)| file).collect();
    let tree = repository.with_merged(&conflict.marked, &united)?;
    Ok(Some(Mending { tree, open }))
}
