//! Finds the results of one run of the tests: in files that it wrote, or in what it printed.
//!
//! What was there before the run is no result of it, whoever put it there.

use super::command::TestCommand;
use super::{Parsed, ResultFormat, formats};
use std::path::{Component, Path, PathBuf};

/// So much of one file is read at the most.
const FILE_BYTES: u64 = 256 * 1024 * 1024;
/// So many files are read at the most.
const MOST_FILES: usize = 5_000;

/// Files from before the run, out of its way.
#[derive(Debug)]
pub(super) struct SetAside {
    /// Where each was, and where it is.
    files: Vec<(PathBuf, PathBuf)>,
}

impl SetAside {
    /// Moves the files away that match the command's pattern, and removes what is at `results_file`.
    pub(super) fn new(command: &TestCommand, worktree: &Path, results_file: &Path) -> std::io::Result<Self> {
        match std::fs::remove_file(results_file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut set_aside = Self { files: Vec::new() };
        for path in command.results.iter().flat_map(|pattern| matching(worktree, pattern)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let aside = path.with_file_name(format!(".tm-before-{name}"));
            std::fs::rename(&path, &aside)?;
            set_aside.files.push((path, aside));
        }
        Ok(set_aside)
    }

    /// Moves those back that the run did not write anew.
    pub(super) fn put_back(self) {
        for (path, aside) in self.files {
            // A file that can't be put back stays beside its place, under its other name.
            let _stays_aside =
                if path.exists() { std::fs::remove_file(&aside) } else { std::fs::rename(&aside, &path) };
        }
    }
}

/// The files within the worktree that a pattern matches, in order.
fn matching(worktree: &Path, pattern: &str) -> Vec<PathBuf> {
    let stays_within =
        Path::new(pattern).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let root = glob::Pattern::escape(&worktree.to_string_lossy());
    let found = glob::glob(&format!("{root}/{pattern}")).ok().filter(|_| stays_within);
    found.into_iter().flatten().flatten().filter(|path| path.is_file()).take(MOST_FILES).collect()
}

/// Reads the results; `None` when only the exit status tells anything.
pub(super) fn read(command: &TestCommand, worktree: &Path, results_file: &Path, output: &str) -> Option<Parsed> {
    if let Some(pattern) = &command.results {
        let files = matching(worktree, pattern);
        if files.is_empty() {
            return Some(broken(format!("the tests wrote no results to `{pattern}`")));
        }
        let mut all = Parsed::default();
        for file in &files {
            all.merge(of_file(command.format, file));
        }
        return Some(all);
    }
    if results_file.is_file() {
        return Some(of_file(command.format, results_file));
    }
    let parsed = formats::parse(command.format, output);
    if parsed.is_none() && command.names_results_file() {
        return Some(broken("the tests wrote no results".to_owned()));
    }
    parsed
}

fn of_file(format: ResultFormat, path: &Path) -> Parsed {
    let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_too_large = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > FILE_BYTES);
    match std::fs::read(path) {
        Ok(_) if is_too_large => broken(format!("the results in `{shown}` are too large")),
        Ok(bytes) => formats::parse(format, &String::from_utf8_lossy(&bytes))
            .unwrap_or_else(|| broken(format!("the results in `{shown}` are in no known format"))),
        Err(error) => broken(format!("the results in `{shown}` can't be read: {error}")),
    }
}

fn broken(why: String) -> Parsed {
    Parsed { broken: Some(why), ..Parsed::default() }
}
