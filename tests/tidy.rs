//! Rules of the tree that can be checked: which folder may depend on which, and that every file says what it is.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The table of DESIGN.md; arrows point down only.
const MAY_DEPEND_ON: [(&str, &[&str]); 13] = [
    ("tm-faults", &[]),
    ("tm-untrusted", &[]),
    ("tm-scheduler", &[]),
    ("tm-config", &["tm-scheduler", "tm-untrusted"]),
    ("tm-presets", &["tm-config", "tm-scheduler", "tm-untrusted"]),
    ("tm-executors", &["tm-faults", "tm-scheduler", "tm-untrusted"]),
    ("tm-worktrees", &["tm-faults", "tm-scheduler", "tm-untrusted"]),
    ("tm-store", &["tm-faults", "tm-scheduler", "tm-untrusted"]),
    (
        "tm-runtime",
        &["tm-scheduler", "tm-executors", "tm-worktrees", "tm-store", "tm-presets", "tm-config", "tm-untrusted"],
    ),
    ("tm-reports", &["tm-scheduler", "tm-untrusted"]),
    (
        "tm-app",
        &[
            "tm-scheduler",
            "tm-executors",
            "tm-worktrees",
            "tm-store",
            "tm-presets",
            "tm-config",
            "tm-runtime",
            "tm-reports",
            "tm-untrusted",
        ],
    ),
    (
        "tm-mcp",
        &[
            "tm-app",
            "tm-config",
            "tm-presets",
            "tm-executors",
            "tm-runtime",
            "tm-scheduler",
            "tm-store",
            "tm-untrusted",
        ],
    ),
    (
        "tm",
        &[
            "tm-app",
            "tm-config",
            "tm-executors",
            "tm-faults",
            "tm-mcp",
            "tm-presets",
            "tm-reports",
            "tm-runtime",
            "tm-scheduler",
            "tm-store",
            "tm-untrusted",
            "tm-worktrees",
        ],
    ),
];

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
    let allowed: BTreeMap<&str, &[&str]> = MAY_DEPEND_ON.into_iter().collect();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        // Benchmarks measure whatever there is.
        let Some(allowed) = allowed.get(name) else {
            assert_eq!(name, "tm-benches", "`{name}` is not in the table");
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            assert!(!used.starts_with("tm-") || allowed.contains(&used), "`{name}` may not depend on `{used}`");
        }
    }
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
    sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    assert!(files.len() > 50);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a file");
        assert!(text.starts_with("//!"), "{} has no first line", file.display());
        let production = text.split("#[cfg(test)]").next().unwrap_or_default().lines().count();
        assert!(production <= 450, "{} has {production} lines", file.display());
    }
}

/// All that waits in a process waits in one runtime, made where the process begins.
#[test]
fn a_process_has_one_runtime() {
    let mut files = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    let is_production = |file: &&PathBuf| {
        let file = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a file of ours");
        !file.starts_with("tests") && !file.starts_with("benches")
    };
    let makes_one = |file: &&PathBuf| {
        let text = std::fs::read_to_string(file).expect("a file");
        let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        ["runtime::Builder", "Runtime::new"].iter().any(|word| production.contains(word))
    };
    let found: Vec<&PathBuf> = files.iter().filter(is_production).filter(makes_one).collect();
    assert!(matches!(found.as_slice(), [main] if main.ends_with("cli/main.rs")), "{found:?}");
}

#[test]
fn the_design_names_every_failure_and_every_reason() {
    let read = |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file");
    let design = read("DESIGN.md");
    for (source, place) in [
        ("scheduler/src/failure.rs", "(`scheduler/src/failure.rs`): "),
        ("scheduler/src/reason.rs", "(`scheduler/src/reason.rs`): "),
    ] {
        let list = design.split_once(place).expect("the list").1.split_once('.').expect("its end").0;
        let listed: Vec<&str> = list.split(", ").collect();
        let source = read(source);
        let words: Vec<&str> =
            source.lines().filter_map(|line| line.trim().split_once(" => \"")?.1.strip_suffix("\",")).collect();
        assert!(!words.is_empty());
        assert_eq!(listed, words, "{place}");
    }
}
