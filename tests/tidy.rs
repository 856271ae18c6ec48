//! Rules of the tree that can be checked: which folder may depend on which, that every file says what it is, and that
//! documents name what is there.

mod circles;

use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Which folder may depend on which, as the table of DESIGN.md says; nothing about folders that are no crates.
fn may_depend_on(design: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut allowed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let rows = design
        .lines()
        .skip_while(|line| !line.starts_with("| folder |"))
        .skip(2);
    for row in rows.take_while(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [folder, .., on] = cells.as_slice() else {
            panic!("{row}")
        };
        let mut names = BTreeSet::new();
        for word in on.split(", ") {
            match word {
                "nothing of ours" | "the binary" | "anything" => {}
                "all" => names.extend(allowed.keys().cloned()),
                word => {
                    let name = word.strip_suffix(" and below").unwrap_or(word);
                    let below = allowed
                        .get(name)
                        .unwrap_or_else(|| panic!("`{name}` stands above `{folder}`"));
                    if name != word {
                        names.extend(below.iter().cloned());
                    }
                    names.insert(name.to_owned());
                }
            }
        }
        allowed.insert(folder.trim_matches(&['`', '/'][..]).to_owned(), names);
    }
    allowed
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn metadata() -> Value {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    serde_json::from_slice(&output.stdout).expect("json")
}

#[test]
fn folders_depend_on_each_other_as_the_design_says() {
    let metadata = metadata();
    let allowed = may_depend_on(&document("DESIGN.md"));
    let mut looked_at = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        // Benchmarks measure whatever there is.
        if name == "tm-benches" {
            continue;
        }
        let folder = name.strip_prefix("tm-").unwrap_or("cli");
        let allowed = allowed
            .get(folder)
            .unwrap_or_else(|| panic!("`{folder}/` is not in the table"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let is_allowed = used
                .strip_prefix("tm-")
                .is_none_or(|used| allowed.contains(used));
            assert!(is_allowed, "`{name}` may not depend on `{used}`");
        }
        looked_at += 1;
    }
    assert!(looked_at > 10);
}

fn document(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a document")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> Vec<String> {
    let pattern = |below: &str| format!("{}/{below}", root().display());
    let found = ["*.md", "docs/*.md", "docs/*/*.md"]
        .map(|below| glob::glob(&pattern(below)).expect("a pattern"));
    let relative = |path: PathBuf| {
        path.strip_prefix(root())
            .expect("below")
            .to_string_lossy()
            .into_owned()
    };
    found
        .into_iter()
        .flatten()
        .map(|path| relative(path.expect("readable")))
        .collect()
}

/// A path in backticks begins with one of our folders, a link is seen from its document.
#[test]
fn every_path_that_a_document_names_is_there() {
    let is_folder = |entry: &std::fs::DirEntry| entry.path().is_dir();
    let folders: BTreeSet<String> = std::fs::read_dir(root())
        .expect("the root")
        .flatten()
        .filter(is_folder)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !matches!(name.as_str(), "target" | ".git"))
        .collect();
    let in_backticks = Regex::new(r"`([A-Za-z._-]+)/([A-Za-z0-9_./-]*)`").expect("a pattern");
    let link = Regex::new(r"\]\(([A-Za-z0-9_./-]+)(?:#[^)]*)?\)").expect("a pattern");
    let (mut looked_at, mut missing) = (0, Vec::new());
    for document in documents() {
        let text = self::document(&document);
        let folder = root()
            .join(&document)
            .parent()
            .expect("a folder")
            .to_path_buf();
        let ours = in_backticks
            .captures_iter(&text)
            .filter(|found| folders.contains(&found[1]));
        let named = ours.map(|found| root().join(format!("{}/{}", &found[1], &found[2])));
        for path in named.chain(
            link.captures_iter(&text)
                .map(|found| folder.join(&found[1])),
        ) {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // Names in capitals stand for others.
            let is_example = stem.chars().all(|c| c.is_ascii_uppercase()) || stem == "ava";
            if !is_example && !path.exists() {
                missing.push(format!("{document} names {}", path.display()));
            }
            looked_at += 1;
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(looked_at > 50, "{looked_at}");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && name != ".git" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_begins_by_saying_what_it_is() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    assert!(files.len() > 50);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a file");
        let starts = text.starts_with("//!");
        assert!(starts, "{} has no first line", file.display());
    }
}

/// The modules of tests, with their files.
fn test_modules(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let module = Regex::new(r"#\[cfg\(test\)\]\n(?:pub\(crate\) )?mod (\w+);").expect("a pattern");
    let mut found = BTreeSet::from(["tests", "benches"].map(|folder| root().join(folder)));
    for file in files {
        let text = std::fs::read_to_string(file).expect("a file");
        let is_folder = ["mod", "lib", "main"]
            .iter()
            .any(|stem| file.ends_with(format!("{stem}.rs")));
        let folder = if is_folder {
            file.parent().expect("a folder").to_path_buf()
        } else {
            file.with_extension("")
        };
        let modules = module
            .captures_iter(&text)
            .map(|found| folder.join(&found[1]));
        found.extend(modules);
    }
    found
}

/// A file's text without its tests.
fn production(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a file");
    let production = text.split("#[cfg(test)]\nmod tests {").next();
    production.unwrap_or_default().to_owned()
}

/// Functions are held to 80 lines by clippy.
#[test]
fn files_are_short() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    let tests = test_modules(&files);
    let is_test = |file: &Path| {
        tests
            .iter()
            .any(|module| file.with_extension("").starts_with(module))
    };
    let mut looked_at = 0;
    for file in files.iter().filter(|file| !is_test(file)) {
        let lines = production(file).lines().count();
        assert!(lines <= 400, "{} has {lines} lines", file.display());
        looked_at += 1;
    }
    assert!(looked_at > 300 && tests.len() > 30);
}

/// All that waits in a process waits in one runtime, made where the process begins.
#[test]
fn a_process_has_one_runtime() {
    let mut files = Vec::new();
    sources(root(), &mut files);
    let is_production = |file: &&PathBuf| {
        let file = file
            .strip_prefix(env!("CARGO_MANIFEST_DIR"))
            .expect("a file of ours");
        !file.starts_with("tests") && !file.starts_with("benches")
    };
    let makes_one = |file: &&PathBuf| {
        let production = production(file);
        ["runtime::Builder", "Runtime::new"]
            .iter()
            .any(|word| production.contains(word))
    };
    let found: Vec<&PathBuf> = files
        .iter()
        .filter(is_production)
        .filter(makes_one)
        .collect();
    assert!(
        matches!(found.as_slice(), [main] if main.ends_with("cli/main.rs")),
        "{found:?}"
    );
}

#[test]
fn the_design_names_every_failure_and_every_reason() {
    let design = document("DESIGN.md");
    for (source, place) in [
        ("scheduler/src/failure.rs", "(`scheduler/src/failure.rs`): "),
        ("scheduler/src/reason.rs", "(`scheduler/src/reason.rs`): "),
    ] {
        let list = design
            .split_once(place)
            .expect("the list")
            .1
            .split_once('.')
            .expect("its end")
            .0;
        let listed: Vec<&str> = list.split(", ").collect();
        let source = document(source);
        let words: Vec<&str> = source
            .lines()
            .filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\","))
            .collect();
        assert!(!words.is_empty());
        assert_eq!(listed, words, "{place}");
    }
}
