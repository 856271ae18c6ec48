//! Which files hold tests, by the conventions of many languages.

use super::{Change, ChangeKind};
use crate::named_files::file_name;

/// Returns a path without the extension of the file.
pub(super) fn without_extension(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(stem, _)| stem)
}

/// What folders of tests are called.
const FOLDERS_OF_TESTS: [&str; 7] = [
    "test",
    "tests",
    "t",
    "spec",
    "specs",
    "__tests__",
    "testdata",
];

/// Tells whether a path looks like a file of tests.
pub fn is_test_path(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let is_of_tests = |folder: &str| {
        FOLDERS_OF_TESTS
            .iter()
            .any(|one| folder.eq_ignore_ascii_case(one))
    };
    if parts.any(is_of_tests) {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let ends = [
        "_test", "_tests", "-test", "_spec", "-spec", ".test", ".spec",
    ];
    extension == "t"
        || stem.starts_with("test_")
        || ["test", "tests", "conftest"].contains(&stem)
        || ends.iter().any(|end| stem.ends_with(end))
        || is_camel_case_test(path)
}

/// `FooTest.java`, `FooTests.cs`, `FooSpec.scala`.
fn is_camel_case_test(path: &str) -> bool {
    let stem = without_extension(file_name(path));
    ["Test", "Tests", "Spec"]
        .iter()
        .any(|end| stem.len() > end.len() && stem.ends_with(end))
}

/// Settings that are written as code, or have no extension.
const SETTINGS: [&str; 11] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    "Dockerfile",
    "Pipfile",
    "Procfile",
    "sitecustomize.py",
    "usercustomize.py",
    "noxfile.py",
];

/// Tells whether a file, by its path, is source code: what an implementation is made of. Data, documents and settings are
/// not, also where settings are written as code; a file without an extension may be a script.
pub fn is_source(path: &str) -> bool {
    const EXTENSIONS: &str = " rs py pyx js jsx mjs cjs ts tsx mts cts go java kt scala rb php pl pm sh bash zsh fish bats t \
         c h cc cpp cxx hpp hh m mm swift cs fs vb ex exs erl hs ml mli lua r jl dart zig nim clj cljs groovy v sv vue \
         svelte sol asm s awk tcl ";
    let name = file_name(path);
    if name.starts_with('.')
        || SETTINGS.contains(&name)
        || name.contains(".config.")
        || name.starts_with("conftest.")
    {
        return false;
    }
    match name.rsplit_once('.') {
        None => true,
        Some((_, extension)) => {
            EXTENSIONS.contains(&format!(" {} ", extension.to_ascii_lowercase()))
        }
    }
}

/// Returns the files of a RED that GREEN may not touch: the changed ones that look like tests; when none does, all that
/// RED added.
pub fn test_files_of_red(changes: &[Change]) -> Vec<String> {
    let paths = |wanted: fn(&Change) -> bool| -> Vec<String> {
        changes
            .iter()
            .filter(|change| wanted(change))
            .map(|change| change.path.clone())
            .collect()
    };
    let tests = paths(|change| change.kind != ChangeKind::Deleted && is_test_path(&change.path));
    if tests.is_empty() {
        paths(|change| change.kind == ChangeKind::Added)
    } else {
        tests
    }
}

/// Returns the part of a file of code that holds its own tests: in Rust, from `#[cfg(test)]` before a module with a body
/// to the end of the file.
pub fn test_section<'a>(path: &str, text: &'a str) -> Option<&'a str> {
    let is_rust = path.rsplit_once('.').is_some_and(|(_, end)| end == "rs");
    if !is_rust || is_test_path(path) {
        return None;
    }
    text.match_indices("#[cfg(test)]")
        .map(|(start, _)| &text[start..])
        .find(|section| is_module_with_body(section))
}

/// Attributes and comments may stand between the attribute and the module.
fn is_module_with_body(section: &str) -> bool {
    let is_between =
        |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    section
        .trim_start_matches("#[cfg(test)]")
        .lines()
        .map(str::trim)
        .find(|line| !is_between(line))
        .is_some_and(|line| {
            let line = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            line.starts_with("mod ") && line.contains('{')
        })
}
