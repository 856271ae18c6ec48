//! What a piece of work needs to know of the project: its framework, its tests, the files that the work is about; and the
//! prompt for the step under way: the project's own rules, the task, the instruction.
//!
//! What it tells of the project are guesses, and said so by their names: nothing depends on one being right.

use super::project::Project;
use crate::conventional::{file_name, stem};
use std::path::Path;
use tm_executors::testing::framework_of;
use tm_scheduler::verdict::{is_source, is_test_path};
use tm_scheduler::{Task, slug};

/// So many existing test files are named.
const MOST_TESTS: usize = 20;
/// So many files are expected at the most.
const MOST_FILES: usize = 10;

/// What the project shows of its tests.
pub(super) struct Tests {
    pub(super) framework: &'static str,
    /// Where the framework has its tests.
    pattern: &'static str,
    pub(super) existing: Vec<String>,
    default_file: &'static str,
}

/// What a framework for JavaScript has before the ending of a test file, whichever of the endings that is.
const MARKS: [&str; 2] = [".test.", ".spec."];

impl Tests {
    pub(super) fn of(project: &Project) -> Self {
        let files = project.repository.files_in_checkout().unwrap_or_default();
        let mut existing: Vec<String> = files
            .into_iter()
            .filter(|path| is_test_path(path) && is_source(path))
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
        let Some(path) = self.example() else {
            return self.default_file.replace("{}", &words);
        };
        let name = file_name(path);
        let folder = &path[..path.len() - name.len()];
        format!("{folder}{}", name.replacen(stem(name), &words, 1))
    }

    /// The test that a new one is to be like: one in the framework's place with the framework's name for tests, else one
    /// with such a name anywhere, else whatever is in that place.
    fn example(&self) -> Option<&String> {
        let folder = self.pattern.split("**").next().unwrap_or_default();
        let (start, end) = file_name(self.default_file)
            .split_once("{}")
            .unwrap_or_default();
        let is_in_place = |path: &&String| {
            let name = file_name(path);
            path.contains(folder) && name.starts_with(start) && name.ends_with(end)
        };
        let mut existing = self.existing.iter();
        let named = existing
            .clone()
            .find(|path| is_in_place(path) && has_mark(path))
            .or_else(|| existing.clone().find(|path| mark_of(path).is_some()));
        named.or_else(|| existing.find(is_in_place))
    }

    /// The pattern of the files of tests: of those that are there, where the framework takes several.
    pub(super) fn pattern(&self) -> String {
        let found = self.example().and_then(|path| mark_of(path));
        found.map_or_else(|| self.pattern.to_owned(), |ending| format!("**/*{ending}"))
    }
}

/// Whether a name itself says that it is a test; a helper in a folder of tests is no example to follow.
fn has_mark(path: &str) -> bool {
    let lower = file_name(path).to_lowercase();
    lower.contains("test") || lower.contains("spec") || lower.strip_suffix(".t").is_some()
}

/// Returns `.test.js` of `a.test.js`.
fn mark_of(path: &str) -> Option<&str> {
    let name = file_name(path);
    let at = MARKS.iter().find_map(|mark| name.find(mark))?;
    name.get(at..)
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
    let texts = [&*subtask.title, &subtask.description, &subtask.details];
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
        let (jest, pytest) = (
            ("**/*.test.js", "src/__tests__/{}.test.js"),
            ("**/test_*.py", "tests/test_{}.py"),
        );
        let (cargo, unknown) = (("tests/**/*.rs", "tests/{}.rs"), ("**/*test*", "tests/{}"));
        for ((pattern, default_file), existing, expected, like) in [
            (
                jest,
                "src/__tests__/old.test.js",
                "src/__tests__/add_schema.test.js",
                "**/*.test.js",
            ),
            (
                jest,
                "test/fixtures.js src/old.spec.tsx",
                "src/add_schema.spec.tsx",
                "**/*.spec.tsx",
            ),
            (jest, "", "src/__tests__/add_schema.test.js", jest.0),
            (
                pytest,
                "run_tests.py tests/helpers.py tests/test_old.py",
                "tests/test_add_schema.py",
                pytest.0,
            ),
            (pytest, "run_tests.py", "tests/test_add_schema.py", pytest.0),
            (
                cargo,
                "src/parser_tests.rs tests/it.rs",
                "tests/add_schema.rs",
                cargo.0,
            ),
            (unknown, "tests/t0.sh", "tests/add_schema.sh", unknown.0),
            (
                unknown,
                "tests/lib.sh pkg/old_test.sh",
                "pkg/add_schema_test.sh",
                unknown.0,
            ),
            (unknown, "", "tests/add_schema", unknown.0),
        ] {
            let tests = Tests {
                framework: "",
                pattern,
                existing: existing.split_whitespace().map(ToOwned::to_owned).collect(),
                default_file,
            };
            let found = tests.file_for(&subtask("Add schema", ""));
            assert_eq!((found.as_str(), tests.pattern().as_str()), (expected, like));
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
