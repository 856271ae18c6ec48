//! Conventional commits: the type and the scope that a change has, told from any project's paths.
//!
//! Pure: knows no git.

use itertools::Itertools as _;
use std::cmp::Reverse;
use tm_scheduler::verdict::is_test_path;

/// Folders that hold other things and name nothing.
const CONTAINERS: [&str; 27] = [
    "src",
    "lib",
    "libs",
    "app",
    "apps",
    "packages",
    "crates",
    "modules",
    "services",
    "internal",
    "cmd",
    "pkg",
    "source",
    "sources",
    "main",
    "java",
    "kotlin",
    "python",
    "test",
    "tests",
    "__tests__",
    "spec",
    "specs",
    "t",
    "docs",
    "doc",
    "scripts",
];

/// Returns a text in one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    tm_scheduler::one_line(&text.replace(char::is_control, " "))
}

/// The title as the rest of a subject line: lower case at its beginning, but for names and abbreviations.
pub(crate) fn summary(title: &str) -> String {
    let title = one_line(title);
    let title = title.trim_end_matches('.');
    let mut characters = title.chars();
    let (first, second) = (characters.next(), characters.next());
    match (first, second) {
        (Some(first), Some(second)) if first.is_uppercase() && !second.is_uppercase() => {
            first.to_lowercase().collect::<String>() + &title[first.len_utf8()..]
        }
        _ => title.to_owned(),
    }
}

/// The conventional type: by the files where they are all of one kind, else by the title.
pub(crate) fn commit_type(files: &[String], title: &str, default: &str) -> String {
    let all = |is: fn(&str) -> bool| !files.is_empty() && files.iter().all(|file| is(file));
    let first = title.split_whitespace().next().unwrap_or_default();
    let by_files = if all(is_test_path) {
        Some("test")
    } else if all(is_document) {
        Some("docs")
    } else if all(is_tooling) {
        Some("chore")
    } else {
        None
    };
    let by_title = match first.to_lowercase().as_str() {
        "fix" | "fixes" | "correct" | "repair" => Some("fix"),
        "refactor" | "restructure" | "simplify" | "rename" => Some("refactor"),
        _ => None,
    };
    by_files.or(by_title).unwrap_or(default).to_owned()
}

fn is_document(path: &str) -> bool {
    ["docs/", "doc/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || [".md", ".mdx", ".rst", ".adoc"]
            .iter()
            .any(|ending| path.ends_with(ending))
}

fn is_tooling(path: &str) -> bool {
    let name = file_name(path);
    let is_hidden = path.starts_with('.');
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_settings = !path.contains('/')
        && matches!(
            extension,
            "json" | "toml" | "yaml" | "yml" | "lock" | "cfg" | "ini"
        );
    is_hidden
        || is_settings
        || extension == "lock"
        || matches!(name, "Makefile" | "Dockerfile" | "justfile" | "go.sum")
}

/// The scope that most files name; of several the first by alphabet. Files of tooling count only where there are no others.
pub(crate) fn scope(files: &[String]) -> String {
    let of_work: Vec<&String> = files.iter().filter(|file| !is_tooling(file)).collect();
    let files: Vec<&String> = if of_work.is_empty() {
        files.iter().collect()
    } else {
        of_work
    };
    let scopes = files.into_iter().map(|file| scope_of(file));
    let votes = scopes.filter(|scope| !scope.is_empty()).counts();
    let best = votes
        .into_iter()
        .min_by_key(|(scope, count)| (Reverse(*count), scope.clone()));
    best.map_or_else(String::new, |(scope, _)| scope)
}

/// The first folder that names something, else the file without its endings and marks of tests.
fn scope_of(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let folder = parts
        .iter()
        .find(|part| !CONTAINERS.contains(&part.to_lowercase().as_str()));
    let name = folder.copied().unwrap_or_else(|| stem(file));
    name.trim_start_matches('.')
        .chars()
        .filter(|character| !" ()[]{}:\"'\\".contains(*character))
        .collect()
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `schema` for `schema.test.ts`, `test_schema.py`, `schema_spec.rb` and `SchemaTest.java`.
pub(crate) fn stem(file: &str) -> &str {
    let stem = file
        .trim_start_matches('.')
        .split('.')
        .next()
        .unwrap_or(file);
    let without_start = stem
        .strip_prefix("test_")
        .or_else(|| stem.strip_prefix("test-"))
        .unwrap_or(stem);
    [
        "_test", "-test", "_tests", "_spec", "-spec", "Tests", "Test", "Spec",
    ]
    .iter()
    .find_map(|end| without_start.strip_suffix(end))
    .filter(|rest| !rest.is_empty())
    .unwrap_or(without_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn scopes_come_from_any_projects_paths() {
        for (names, expected) in [
            (
                &[
                    "apps/cli/src/a.ts",
                    "apps/cli/src/b.ts",
                    "packages/core/x.ts",
                ][..],
                "cli",
            ),
            (&["packages/tm-core/src/a.ts"], "tm-core"),
            (&["src/__tests__/schema.test.js", "src/schema.js"], "schema"),
            (&["src/metrics/schema.rs", "Cargo.lock"], "metrics"),
            (
                &["internal/store/db.go", "internal/store/db_test.go"],
                "store",
            ),
            (&["tests/test_login.py", "login.py"], "login"),
            (&["Cargo.toml"], "Cargo"),
            (&[], ""),
        ] {
            assert_eq!(scope(&files(names)), expected, "{names:?}");
        }
    }

    #[test]
    fn types_come_from_the_files_and_then_from_the_title() {
        let type_of = |names: &[&str], title: &str| commit_type(&files(names), title, "feat");
        assert_eq!(type_of(&["src/a.rs", "tests/a.rs"], "Add it"), "feat");
        assert_eq!(type_of(&["tests/a.rs"], "Fix it"), "test");
        assert_eq!(type_of(&["README.md", "docs/x.txt"], "Add it"), "docs");
        assert_eq!(
            type_of(&["Cargo.lock", ".github/workflows/ci.yml"], "Add it"),
            "chore"
        );
        assert_eq!(type_of(&["src/a.rs"], "Fix the parser"), "fix");
        assert_eq!(type_of(&["src/a.rs"], "Refactor the parser"), "refactor");
    }
}
