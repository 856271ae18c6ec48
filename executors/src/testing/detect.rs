//! Finds the test command of a project by looking at its files.
//!
//! Where there is a choice, the command is the one whose results can be read test by test. How its runner is asked for
//! them is not decided here.

use super::TestCommand;
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

/// Returns the test command of the project in `root`, `None` when nothing tells of one.
pub fn detect_test_command(root: &Path) -> Option<DetectedTestCommand> {
    let rules = [
        script, package, cargo, pytest, unittest, go, maven, gradle, phpunit, rspec, dotnet, swift,
        makefile, tap_files,
    ];
    rules
        .iter()
        .find_map(|rule| rule(root))
        .map(|(text, format, because)| DetectedTestCommand {
            command: TestCommand {
                format,
                results: results_of(because),
                ..TestCommand::shell(&text, None)
            },
            because: because.to_owned(),
        })
}

/// The command, the format of its results, and what it was found by.
type Found = Option<(String, ResultFormat, &'static str)>;

fn script(root: &Path) -> Found {
    has(root, "run-tests.sh").then(|| {
        (
            "sh run-tests.sh".to_owned(),
            ResultFormat::Auto,
            "run-tests.sh",
        )
    })
}

/// The `test` script.
fn package(root: &Path) -> Found {
    let package: serde_json::Value = serde_json::from_str(&text(root, "package.json")?).ok()?;
    package["scripts"]["test"]
        .as_str()
        .filter(|script| !script.contains("no test specified"))?;
    let command = if has(root, "pnpm-lock.yaml") {
        "pnpm run test"
    } else if has(root, "yarn.lock") {
        "yarn run test"
    } else if has(root, "bun.lock") || has(root, "bun.lockb") {
        "bun run test"
    } else {
        "npm test --silent"
    };
    Some((
        command.to_owned(),
        ResultFormat::Auto,
        "the `test` script of package.json",
    ))
}

fn cargo(root: &Path) -> Found {
    if !has(root, "Cargo.toml") {
        return None;
    }
    if has(root, ".config/nextest.toml") && which::which("cargo-nextest").is_ok() {
        let command = "cargo nextest run --no-fail-fast".to_owned();
        return Some((command, ResultFormat::Nextest, ".config/nextest.toml"));
    }
    Some((
        "cargo test --no-fail-fast".to_owned(),
        ResultFormat::Cargo,
        "Cargo.toml",
    ))
}

fn pytest(root: &Path) -> Found {
    let because = [
        "pytest.ini",
        "conftest.py",
        "tests/conftest.py",
        "tox.ini",
        "pyproject.toml",
        "setup.cfg",
    ]
    .into_iter()
    .chain(["requirements.txt", "requirements-dev.txt", "Pipfile"])
    .find(|name| {
        name.ends_with("conftest.py") && has(root, name)
            || *name == "pytest.ini" && has(root, name)
            || mentions(root, name, "pytest")
    })?;
    let python = if has(root, "uv.lock") {
        "uv run"
    } else if has(root, "poetry.lock") {
        "poetry run"
    } else {
        "python3 -m"
    };
    Some((format!("{python} pytest"), ResultFormat::Auto, because))
}

fn unittest(root: &Path) -> Found {
    for folder in ["tests", "test"] {
        let is_test = |name: &str| name.starts_with("test") && is_python(name);
        if !holds(&root.join(folder), is_test) {
            continue;
        }
        let top = if has(root, &format!("{folder}/__init__.py")) {
            " -t ."
        } else {
            ""
        };
        let command = format!("python3 -m unittest discover -v -s {folder}{top}");
        return Some((command, ResultFormat::Unittest, "test files in Python"));
    }
    None
}

fn go(root: &Path) -> Found {
    has(root, "go.mod").then(|| ("go test -json ./...".to_owned(), ResultFormat::Go, "go.mod"))
}

fn maven(root: &Path) -> Found {
    let program = if has(root, "mvnw") { "./mvnw" } else { "mvn" };
    has(root, "pom.xml").then(|| {
        (
            format!("{program} --batch-mode test"),
            ResultFormat::Junit,
            "pom.xml",
        )
    })
}

fn gradle(root: &Path) -> Found {
    let file = ["build.gradle", "build.gradle.kts"]
        .into_iter()
        .find(|name| has(root, name))?;
    let program = if has(root, "gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    Some((
        format!("{program} test --continue"),
        ResultFormat::Junit,
        file,
    ))
}

/// Where tools leave their results that write them into the tree.
fn results_of(because: &str) -> Option<String> {
    match because {
        "pom.xml" => Some("**/target/surefire-reports/TEST-*.xml".to_owned()),
        "build.gradle" | "build.gradle.kts" => {
            Some("**/build/test-results/test/TEST-*.xml".to_owned())
        }
        _ => None,
    }
}

fn phpunit(root: &Path) -> Found {
    let file = ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]
        .into_iter()
        .find(|name| has(root, name))?;
    let is_installed = ["composer.json", "composer.lock"]
        .iter()
        .any(|name| mentions(root, name, "phpunit/phpunit"));
    let program = if is_installed {
        "vendor/bin/phpunit"
    } else {
        "phpunit"
    };
    Some((
        format!("{program} --log-junit \"$TM_RESULTS\""),
        ResultFormat::Junit,
        file,
    ))
}

fn rspec(root: &Path) -> Found {
    if !has(root, ".rspec") && !holds(&root.join("spec"), |name| name.ends_with("_spec.rb")) {
        return None;
    }
    let bundle = if has(root, "Gemfile.lock") {
        "bundle exec "
    } else {
        ""
    };
    Some((format!("{bundle}rspec"), ResultFormat::Auto, "spec/"))
}

fn dotnet(root: &Path) -> Found {
    let ends = [".sln", ".slnx", ".csproj", ".fsproj"];
    let is_project = |name: &str| ends.iter().any(|end| name.ends_with(end));
    let command = "dotnet test --no-restore".to_owned();
    holds(root, is_project).then_some((command, ResultFormat::ExitStatus, "a project of .NET"))
}

fn swift(root: &Path) -> Found {
    let command = "swift test --parallel --xunit-output \"$TM_RESULTS\"".to_owned();
    has(root, "Package.swift").then_some((command, ResultFormat::Junit, "Package.swift"))
}

fn makefile(root: &Path) -> Found {
    let is_target =
        |line: &str| line.starts_with("test:") || line.starts_with("test ") && line.contains(':');
    let names = ["Makefile", "makefile", "GNUmakefile"];
    let has_target = |name: &&str| text(root, name).is_some_and(|text| text.lines().any(is_target));
    names.iter().find(|name| has_target(name))?;
    Some((
        "make test".to_owned(),
        ResultFormat::Auto,
        "the `test` target of the Makefile",
    ))
}

fn tap_files(root: &Path) -> Found {
    holds(&root.join("t"), is_tap).then(|| (EACH_TAP_FILE.to_owned(), ResultFormat::Tap, "t/*.t"))
}

/// Runs every file in `t/` with its own interpreter and names each stream.
const EACH_TAP_FILE: &str = "bad=0; for file in t/*.t; do echo \"# Subtest: $file\"; \
    if [ -x \"$file\" ]; then \"./$file\"; else sh \"$file\"; fi || bad=1; done; exit $bad";

fn has(root: &Path, name: &str) -> bool {
    root.join(name).exists()
}

fn text(root: &Path, name: &str) -> Option<String> {
    super::text_of(root, name)
}

fn mentions(root: &Path, name: &str, word: &str) -> bool {
    text(root, name).is_some_and(|text| text.contains(word))
}

fn is_tap(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "t")
}

fn is_python(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension == "py")
}

fn holds(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| entry.file_name().to_str().is_some_and(&is_wanted))
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
