//! Finds the test command of a project by looking at its files.
//!
//! Where there is a choice, the command is the one whose results can be read test by test. How its runner is asked for
//! them is not decided here.

use super::frameworks::FRAMEWORKS;
use super::{TestCommand, has, matching, package_of, text_of};
use std::path::Path;
use tm_scheduler::ResultFormat;

/// A test command that was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DetectedTestCommand {
    /// The command.
    pub command: TestCommand,
    /// What it was found by.
    pub because: String,
}

/// How a test command is found.
#[derive(Debug)]
pub(super) struct Rule {
    /// Any of these files tells of it, in this order; they may have wildcards.
    pub(super) files: &'static [&'static str],
    /// Whether such a file does.
    pub(super) tells: fn(&Path, &str) -> bool,
    /// What it was found by, in words, where that is not the file.
    pub(super) because: Option<&'static str>,
    /// The command; `{}` stands for the program, or how it is called.
    pub(super) command: &'static str,
    /// What stands for it where a file is there and holds a word; the first counts.
    pub(super) programs: &'static [(&'static str, &'static str, &'static str)],
    /// What stands for it elsewhere.
    pub(super) otherwise: &'static str,
    pub(super) format: ResultFormat,
    /// Where it leaves its results, when it writes them into the tree.
    pub(super) results: Option<&'static str>,
}

pub(super) const RULE: Rule = Rule {
    files: &[],
    tells: |_, _| true,
    because: None,
    command: "",
    programs: &[],
    otherwise: "",
    format: ResultFormat::Auto,
    results: None,
};

/// What comes before the rules of the frameworks.
const FIRST: [Rule; 2] = [
    Rule {
        files: &["run-tests.sh"],
        command: "sh run-tests.sh",
        ..RULE
    },
    Rule {
        files: &["package.json"],
        tells: |root, _| has_test_script(root),
        because: Some("the `test` script of package.json"),
        command: "{}",
        programs: &[
            ("pnpm-lock.yaml", "", "pnpm run test"),
            ("yarn.lock", "", "yarn run test"),
            ("bun.lock", "", "bun run test"),
            ("bun.lockb", "", "bun run test"),
        ],
        otherwise: "npm test --silent",
        ..RULE
    },
];

/// What comes behind them.
const LAST: [Rule; 2] = [
    Rule {
        files: &["Makefile", "makefile", "GNUmakefile"],
        tells: has_test_target,
        because: Some("the `test` target of the Makefile"),
        command: "make test",
        ..RULE
    },
    Rule {
        files: &["t/*.t"],
        because: Some("t/*.t"),
        command: EACH_TAP_FILE,
        format: ResultFormat::Tap,
        ..RULE
    },
];

/// Runs every file in `t/` with its own interpreter and names each stream.
const EACH_TAP_FILE: &str = "bad=0; for file in t/*.t; do echo \"# Subtest: $file\"; \
    if [ -x \"$file\" ]; then \"./$file\"; else sh \"$file\"; fi || bad=1; done; exit $bad";

/// Returns the test command of the project in `root`, `None` when nothing tells of one.
pub fn detect_test_command(root: &Path) -> Option<DetectedTestCommand> {
    let of_frameworks = FRAMEWORKS.iter().flat_map(|row| row.detected_by);
    FIRST
        .iter()
        .chain(of_frameworks)
        .chain(&LAST)
        .find_map(|rule| Some(rule.command(root, rule.fits(root)?)))
}

impl Rule {
    /// Returns the file of a project that tells of it.
    pub(super) fn fits(&self, root: &Path) -> Option<&'static str> {
        let tells = |file: &&str| !matching(root, file).is_empty() && (self.tells)(root, file);
        self.files.iter().copied().find(tells)
    }

    fn command(&self, root: &Path, file: &str) -> DetectedTestCommand {
        let holds =
            |(file, word, _): &&(&str, &str, &str)| has(root, file) && mentions(root, file, word);
        let program = self.programs.iter().find(holds);
        let program = program.map_or(self.otherwise, |(_, _, program)| program);
        let command = TestCommand {
            format: self.format,
            results: self.results.map(ToOwned::to_owned),
            ..TestCommand::shell(&self.command.replace("{}", program), None)
        };
        let because = self.because.unwrap_or(file).to_owned();
        DetectedTestCommand { command, because }
    }
}

fn has_test_script(root: &Path) -> bool {
    let package = package_of(root);
    let script = package["scripts"]["test"].as_str();
    script.is_some_and(|script| !script.contains("no test specified"))
}

fn has_test_target(root: &Path, makefile: &str) -> bool {
    let is_target =
        |line: &str| line.starts_with("test:") || line.starts_with("test ") && line.contains(':');
    text_of(root, makefile).is_some_and(|text| text.lines().any(is_target))
}

/// Nothing is mentioned everywhere.
pub(super) fn mentions(root: &Path, name: &str, word: &str) -> bool {
    word.is_empty() || text_of(root, name).is_some_and(|text| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_project_is_known_by_its_files() {
        let script = |script: &str| format!(r#"{{"scripts":{{"test":"{script}"}}}}"#);
        let (vitest, jest) = (script("vitest run"), script("npx jest"));
        let has_nextest = which::which("cargo-nextest").is_ok();
        let nextest = if has_nextest {
            "cargo nextest run --no-fail-fast"
        } else {
            "cargo test --no-fail-fast"
        };
        for (files, expected) in [
            (vec![("run-tests.sh", "")], Some("sh run-tests.sh")),
            (
                vec![("package.json", vitest.as_str())],
                Some("npm test --silent"),
            ),
            (
                vec![("package.json", jest.as_str()), ("yarn.lock", "")],
                Some("yarn run test"),
            ),
            (
                vec![("package.json", vitest.as_str()), ("pnpm-lock.yaml", "")],
                Some("pnpm run test"),
            ),
            (
                vec![(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                None,
            ),
            (vec![("package.json", "{")], None),
            (vec![("Cargo.toml", "")], Some("cargo test --no-fail-fast")),
            (
                vec![("Cargo.toml", ""), (".config/nextest.toml", "")],
                Some(nextest),
            ),
            (
                vec![("pyproject.toml", "[tool.pytest.ini_options]")],
                Some("python3 -m pytest"),
            ),
            (
                vec![("pytest.ini", ""), ("uv.lock", "")],
                Some("uv run pytest"),
            ),
            (vec![("pyproject.toml", "[project]")], None),
            (
                vec![("tests/test_a.py", "")],
                Some("python3 -m unittest discover -v -s tests"),
            ),
            (
                vec![("tests/test_a.py", ""), ("tests/__init__.py", "")],
                Some("python3 -m unittest discover -v -s tests -t ."),
            ),
            (vec![("go.mod", "module x")], Some("go test -json ./...")),
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
