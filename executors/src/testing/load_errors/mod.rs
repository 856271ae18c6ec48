//! Finds in a test command's output why tests could not be built or loaded.
//!
//! Knows what compilers and frameworks print; whether such an error is welcome (a test that comes before its
//! implementation) or not is decided in the scheduler.

pub(super) mod bun;
pub(super) mod compiled;
pub(super) mod javascript;
mod mistakes;
mod project;
pub(super) mod python;
pub(super) mod rust;
mod sources;
pub(super) mod tap;

pub(super) use mistakes::mistakes;

use super::frameworks::FRAMEWORKS;
use super::reading::without_colours;
use project::Project;
use std::path::PathBuf;
use tm_scheduler::{LoadCause, LoadError};

/// So many errors are kept, each with so many bytes.
const MOST_ERRORS: usize = 100;
const MOST_BYTES: usize = 600;

/// Returns the errors that an output tells of, in its order, each once. `folders` are those in which the command works,
/// the project's own first.
pub(super) fn load_errors(output: &str, folders: &[PathBuf]) -> Vec<LoadError> {
    let (output, project) = (without_colours(output), Project::new(folders));
    let mut found = Found {
        project: &project,
        errors: Vec::new(),
    };
    for find in FRAMEWORKS.iter().filter_map(|row| row.load_errors) {
        find(&output, &mut found);
    }
    found.errors
}

/// Collects errors, bounded.
pub(super) struct Found<'a> {
    project: &'a Project,
    errors: Vec<LoadError>,
}

impl Found<'_> {
    /// Tells whether the project names a package among those that it needs.
    pub(super) fn depends_on(&self, name: &str) -> bool {
        self.project.depends_on(name)
    }

    pub(super) fn add(&mut self, cause: LoadCause, file: Option<&str>, text: &str) {
        let text = text.trim_end();
        let error = LoadError {
            cause,
            file: file.map(|file| self.project.relative(file)),
            text: text[..text.floor_char_boundary(MOST_BYTES)].to_owned(),
        };
        if self.errors.len() < MOST_ERRORS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

/// An item that is missing, or anything else.
pub(super) const fn cause(is_missing_item: bool) -> LoadCause {
    if is_missing_item {
        LoadCause::MissingItem
    } else {
        LoadCause::Other
    }
}

#[cfg(test)]
mod tests;
