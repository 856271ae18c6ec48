//! What a piece of work needs to know of the project: its framework, its tests, the files that the work is about; and the
//! prompt for the step under way: the project's own rules, the task, the instruction.
//!
//! What it tells of the project are guesses, and said so by their names: nothing depends on one being right.

use super::project::Project;
use crate::conventional::{file_name, stem};
use std::path::Path;
use tm_executors::testing::framework_of;
use tm_scheduler::verdict::is_test_path;
use tm_scheduler::{Task, slug};

/// So many existing test files are named.
const MOST_TESTS: usize = 20;
/// So many files are expected at the most.
const MOST_FILES: usize = 10;

/// What the project shows of its tests.
pub(super) struct Tests {
    pub(super) framework: &'static str,
    pub(super) pattern: &'static str,
    pub(super) existing: Vec<String>,
    default_file: &'static str,
}

impl Tests {
    pub(super) fn of(project: &Project) -> Self {
        let files = project.repository.files_in_checkout().unwrap_or_default();
        let mut existing: Vec<String> = files
            .into_iter()
            .filter(|path| is_test_path(path))
            .collect();
        existing.truncate(MOST_TESTS);
        match framework_of(project.root()) {
            Some(found) => Self {
                framework: found.name,
                pattern: found.tests,
                existing,
                default_file: found.new_test,
            },
            None => Self {
                framework: "unknown",
                pattern: "**/*test*",
                existing,
                default_file: "tests/{}",
            },
        }
    }

    /// Where the tests of a subtask could go: beside the others and named like them.
    pub(super) fn file_for(&self, subtask: &Task) -> String {
        let mut words = slug(&subtask.title).replace('-', "_");
        if words.is_empty() {
            words.push_str("work");
        }
        let Some(path) = self.existing.iter().find(|path| has_mark(path)) else {
            return self.default_file.replace("{}", &words);
        };
        let name = file_name(path);
        let folder = &path[..path.len() - name.len()];
        format!("{folder}{}", name.replacen(stem(name), &words, 1))
    }
}

/// Whether a name itself says that it is a test; a helper in a folder of tests is no example to follow.
fn has_mark(path: &str) -> bool {
    let lower = file_name(path).to_lowercase();
    lower.contains("test") || lower.contains("spec") || lower.strip_suffix(".t").is_some()
}

/// What a subtask says about how it is done, a hint a line.
pub(super) fn hints(subtask: &Task) -> Vec<String> {
    let lines = subtask.details.lines().chain(subtask.test_strategy.lines());
    let clean = |line: &str| {
        line.trim()
            .trim_start_matches(['-', '*', '•'])
            .trim()
            .to_owned()
    };
    lines.map(clean).filter(|line| !line.is_empty()).collect()
}

/// Files that a subtask names, those that are there first.
pub(super) fn expected_files(root: &Path, subtask: &Task) -> Vec<String> {
    let texts = [&subtask.title, &subtask.description, &subtask.details];
    let mut files: Vec<String> = Vec::new();
    for word in texts.into_iter().flat_map(|text| text.split_whitespace()) {
        let path = word
            .trim_matches(|character: char| "`'\"()[]{}<>,;:!?".contains(character))
            .trim_end_matches('.');
        if is_path(path) && !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files.sort_by_key(|path| !root.join(path).is_file());
    files.truncate(MOST_FILES);
    files
}

/// Whether a word is a path within the project: relative, with an ending, leading nowhere else.
fn is_path(word: &str) -> bool {
    let ending = file_name(word).rsplit_once('.');
    let ending = ending.filter(|(stem, _)| !stem.is_empty());
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "._-/@+".contains(letter);
    word.chars().all(is_of_path)
        && !word.starts_with('/')
        && !word.split('/').any(|part| part == "..")
        && ending.is_some_and(|(_, ending)| is_ending(ending, word))
}

/// Whether a word ends as a file does, and not as a domain or an abbreviation.
fn is_ending(ending: &str, word: &str) -> bool {
    (1..=5).contains(&ending.len())
        && ending.chars().all(|letter| letter.is_ascii_alphanumeric())
        && ending.starts_with(|first: char| first.is_ascii_alphabetic())
        && (word.contains('/') || !matches!(ending, "g" | "e" | "com" | "org" | "io"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subtask(title: &str, details: &str) -> Task {
        let mut task = Task::new("1.1", title);
        task.details = details.to_owned();
        task
    }

    #[test]
    fn tests_go_beside_the_others_and_are_named_like_them() {
        for (existing, expected) in [
            (
                &["src/__tests__/old.test.js"][..],
                "src/__tests__/add_schema.test.js",
            ),
            (
                &["tests/helpers.py", "tests/test_old.py"],
                "tests/test_add_schema.py",
            ),
            (&["pkg/old_test.go"], "pkg/add_schema_test.go"),
            (&[], "src/add_schema.test.ts"),
        ] {
            let existing = existing.iter().map(|path| (*path).to_owned()).collect();
            let tests = Tests {
                framework: "",
                pattern: "",
                existing,
                default_file: "src/{}.test.ts",
            };
            assert_eq!(tests.file_for(&subtask("Add schema", "")), expected);
        }
    }

    #[test]
    fn files_that_the_text_names_are_expected_and_nothing_outside() {
        let root = tempfile::tempdir().unwrap();
        tm_store::atomic::replace(&root.path().join("there.js"), b"").unwrap();
        let task = subtask(
            "Change it",
            "Edit `src/schema.js` and there.js. Never /etc/x.conf, ../up.js, e.g. or 1.5.",
        );
        assert_eq!(
            expected_files(root.path(), &task),
            ["there.js", "src/schema.js"]
        );
    }
}
