//! What GREEN may not turn to its advantage: everything that RED brought, and what RED's tests read.
//!
//! Code that was there before RED is never frozen, nor is a declaration that RED left unfinished for GREEN.

use super::{Change, ChangeKind, is_source, is_test_path, manifest, test_section};
use crate::named_files::file_name;

/// A file as RED left it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RedFile {
    /// Its path.
    pub path: String,
    /// What RED did to it.
    pub kind: ChangeKind,
    /// Its text; `None` where it is gone or no text.
    pub text: Option<String>,
}

/// Words by which code says that it is not written yet.
const UNFINISHED: [&str; 14] = [
    "todo!",
    "unimplemented!",
    "notimplemented",
    "not implemented",
    "not_implemented",
    "unimplemented",
    "not yet implemented",
    "unsupportedoperationexception",
    "throw new error",
    "panic(",
    "panic!(",
    "fatalerror(",
    "raise exception",
    "todo()",
];

/// Tells whether the text is a declaration without an implementation: it says so, or nothing in it does anything.
fn is_unfinished(text: &str) -> bool {
    let lower = text.to_lowercase();
    UNFINISHED.iter().any(|words| lower.contains(words)) || lower.lines().all(does_nothing)
}

/// How lines begin that do nothing.
const DOES_NOTHING: [&str; 14] = [
    "#", "//", "/*", "*", "\"\"\"", "--", "pub mod ", "mod ", "pub use ", "use ", "package ",
    "import ", "from ", "<?php",
];

/// Blank lines, comments, names of other files, and bodies that are empty.
fn does_nothing(line: &str) -> bool {
    let line = line.trim();
    ["", "pass", "...", "{", "}", "end"].contains(&line)
        || DOES_NOTHING.iter().any(|start| line.starts_with(start))
}

/// Returns the files of `changed` (by GREEN) that RED brought for its tests, each with why it is frozen.
///
/// `tests` are RED's test files with their texts. Test files themselves are RED's word for word, and not listed here.
pub fn brought_by_red(
    red: &[RedFile],
    tests: &[(String, String)],
    changed: &[Change],
) -> Vec<(String, String)> {
    let is_read = |path: &str| {
        let mut tests = tests.iter();
        is_data(path) && tests.any(|(test, text)| names_path(test, text, path))
    };
    let frozen = changed.iter().filter_map(|change| {
        let file = red.iter().find(|file| file.path == change.path)?;
        let why = match file.kind {
            ChangeKind::Added if !is_free(file) || is_read(&file.path) => "added by RED",
            ChangeKind::Modified if is_read(&file.path) => "changed by RED, and its tests read it",
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted => return None,
        };
        Some((change.path.clone(), why.to_owned()))
    });
    frozen.collect()
}

/// What RED may add and GREEN go on with: unfinished code, code with tests of its own in it, documents, and what package
/// managers write.
fn is_free(file: &RedFile) -> bool {
    let path = &file.path;
    if is_test_path(path) {
        return false;
    }
    if is_source(path) {
        return file
            .text
            .as_ref()
            .is_some_and(|text| is_unfinished(text) || test_section(path, text).is_some());
    }
    let mut documents = [".md", ".rst", ".adoc"].iter();
    !is_data(path) || documents.any(|end| path.ends_with(end))
}

/// Neither code, nor a manifest, a lock of a package manager, or a file for git.
fn is_data(path: &str) -> bool {
    !is_source(path) && manifest(path).is_none()
}

/// What paths of data for tests hold.
const OF_FIXTURES: [&str; 9] = [
    "fixture",
    "golden",
    "expected",
    "expectation",
    "snapshot",
    "testdata",
    "test-data",
    "test_data",
    "mock",
];

/// Tells whether a path looks like data that is made for tests, where it lies outside of their folders.
pub fn is_fixture(path: &str) -> bool {
    let lower = path.to_lowercase();
    !is_source(path) && OF_FIXTURES.iter().any(|word| lower.contains(word))
}

/// Tells whether the text of a test file names a path: as it stands from the top, from the test's own folder, or by the
/// file's name alone.
pub fn names_path(test: &str, text: &str, path: &str) -> bool {
    let folder = test.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from_test = path
        .strip_prefix(folder)
        .unwrap_or(path)
        .trim_start_matches('/');
    [path, from_test, file_name(path)]
        .into_iter()
        .any(|word| holds_word(text, word))
}

/// Whether the word stands in the text with nothing around it that a file name could go on with.
fn holds_word(text: &str, word: &str) -> bool {
    let goes_on = |character: char| character.is_alphanumeric() || "_-".contains(character);
    let ends_before = |character: char| !goes_on(character) && character != '.';
    let stands_alone = |(start, _): (usize, &str)| {
        let after = text[start + word.len()..].chars().next();
        let before = text[..start].chars().next_back();
        !after.is_some_and(goes_on) && before.is_none_or(ends_before)
    };
    !word.is_empty() && text.match_indices(word).any(stands_alone)
}
