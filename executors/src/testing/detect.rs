//! Finds the test command of a project by looking at its files.

use super::{ResultFormat, TestCommand};
use std::path::Path;

/// A test command that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DetectedTestCommand {
    /// The command.
    pub command: TestCommand,
    /// What it was found by.
    pub because: String,
}

/// Returns the test command of the project in `root`, `None` when nothing tells of one.
pub fn detect_test_command(root: &Path) -> Option<DetectedTestCommand> {
    let has = |name: &str| root.join(name).exists();
    let found = |text: &str, format, because: &str| {
        let command = TestCommand { format, ..TestCommand::shell(text, None) };
        Some(DetectedTestCommand { command, because: because.to_owned() })
    };
    if has("run-tests.sh") {
        return found("sh run-tests.sh", ResultFormat::Auto, "run-tests.sh");
    }
    if has_npm_test(root) {
        return found("npm test --silent", ResultFormat::Auto, "the `test` script of package.json");
    }
    if has("Cargo.toml") {
        return found("cargo test --no-fail-fast", ResultFormat::Cargo, "Cargo.toml");
    }
    for name in ["pytest.ini", "conftest.py", "tox.ini", "pyproject.toml", "setup.cfg"] {
        let is_surely_pytest = matches!(name, "pytest.ini" | "conftest.py");
        if has(name) && (is_surely_pytest || mentions(root, name, "pytest")) {
            return found("python3 -m pytest", ResultFormat::Auto, name);
        }
    }
    if has("go.mod") {
        return found("go test ./...", ResultFormat::Auto, "go.mod");
    }
    for name in ["Makefile", "makefile", "GNUmakefile"] {
        let is_target = |line: &str| line.starts_with("test:") || line.starts_with("test ") && line.contains(':');
        if text(root, name).is_some_and(|text| text.lines().any(is_target)) {
            return found("make test", ResultFormat::Auto, "the `test` target of the Makefile");
        }
    }
    if holds_tap_tests(&root.join("t")) {
        return found(EACH_TAP_FILE, ResultFormat::Tap, "t/*.t");
    }
    None
}

/// Runs every file in `t/` with its own interpreter and names each stream.
const EACH_TAP_FILE: &str = "bad=0; for file in t/*.t; do echo \"# Subtest: $file\"; \
    if [ -x \"$file\" ]; then \"./$file\"; else sh \"$file\"; fi || bad=1; done; exit $bad";

fn text(root: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(root.join(name)).ok()
}

fn mentions(root: &Path, name: &str, word: &str) -> bool {
    text(root, name).is_some_and(|text| text.contains(word))
}

/// Whether package.json has a test script that is not the one which only says that there is none.
fn has_npm_test(root: &Path) -> bool {
    let Some(text) = text(root, "package.json") else { return false };
    let Ok(package) = serde_json::from_str::<serde_json::Value>(&text) else { return false };
    package["scripts"]["test"].as_str().is_some_and(|script| !script.contains("no test specified"))
}

fn holds_tap_tests(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_project_is_known_by_its_files() {
        for (files, expected) in [
            (vec![("run-tests.sh", "")], Some("sh run-tests.sh")),
            (vec![("package.json", r#"{"scripts":{"test":"vitest run"}}"#)], Some("npm test --silent")),
            (vec![("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)], None),
            (vec![("package.json", "{")], None),
            (vec![("Cargo.toml", "")], Some("cargo test --no-fail-fast")),
            (vec![("pyproject.toml", "[tool.pytest.ini_options]")], Some("python3 -m pytest")),
            (vec![("pyproject.toml", "[project]")], None),
            (vec![("go.mod", "module x")], Some("go test ./...")),
            (vec![("Makefile", "all:\ntest: all\n")], Some("make test")),
            (vec![("Makefile", "all:\n")], None),
            (vec![("t/a.t", "")], Some(EACH_TAP_FILE)),
            (vec![], None),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            for (path, text) in &files {
                let path = folder.path().join(path);
                std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
                std::fs::write(path, text).expect("a file");
            }
            let found = detect_test_command(folder.path()).map(|found| found.command.to_string());
            assert_eq!(found.as_deref(), expected, "{files:?}");
        }
    }
}
