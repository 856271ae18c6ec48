//! Which files decide how tests are found and run: a change there can make any test look as if it passed.

use super::TestCommand;
use serde_json::Value;

/// What a file has to do with how tests are found and run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunnerFile {
    /// Nothing.
    No,
    /// All of it decides.
    Whole,
    /// Some of its settings decide; `runner_settings` returns them.
    Partly,
}

/// Returns what a file, by its path in the repository, has to do with how tests are found and run.
pub fn runner_file(path: &str, command: &TestCommand) -> RunnerFile {
    const WHOLE: [&str; 6] = ["conftest.py", "pytest.ini", "phpunit.xml", "phpunit.xml.dist", ".rspec", ".taprc"];
    const WHOLE_BEGINNINGS: [&str; 5] =
        ["jest.config.", "vitest.config.", "vitest.workspace.", "karma.conf.", ".mocharc"];
    const PARTLY: [&str; 8] =
        ["package.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "tox.ini", "Makefile", "makefile", "GNUmakefile"];
    let name = path.rsplit('/').next().unwrap_or(path);
    if is_named_by(command, path)
        || WHOLE.contains(&name)
        || WHOLE_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || path == ".config/nextest.toml"
        || matches!(path, ".cargo/config.toml" | ".cargo/config")
    {
        RunnerFile::Whole
    } else if PARTLY.contains(&name) {
        RunnerFile::Partly
    } else {
        RunnerFile::No
    }
}

/// A script that the command runs, such as `run-tests.sh` of `sh run-tests.sh`.
fn is_named_by(command: &TestCommand, path: &str) -> bool {
    let words: Vec<_> = command.argv.iter().map(|word| word.to_string_lossy()).collect();
    let separators = |character: char| character.is_whitespace() || "\"';&|()".contains(character);
    words.iter().flat_map(|word| word.split(separators)).any(|word| word.trim_start_matches("./") == path)
}

/// Returns the settings in a file that decide how tests are found and run, in one form for all ways to write them;
/// `None` when there are none, or when the file can't be read as what it should be.
pub fn runner_settings(path: &str, text: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "package.json" => of_package(text),
        "Cargo.toml" => {
            of_toml(text, &["test", "lib.test", "lib.harness", "lib.doctest", "package.autotests", "profile.test"])
        }
        "pyproject.toml" => of_toml(text, &["tool.pytest", "tool.coverage", "tool.unittest"]),
        "setup.cfg" | "tox.ini" => of_sections(text),
        _ => of_makefile(text),
    }
}

fn of_package(text: &str) -> Option<String> {
    let package: Value = serde_json::from_str(text).ok()?;
    let own = ["jest", "vitest", "mocha", "ava", "tap", "nyc", "c8"].iter().map(|key| (*key, &package[*key]));
    let scripts = package["scripts"].as_object().into_iter().flatten();
    let of_tests = scripts.filter(|(name, _)| name.contains("test")).map(|(name, script)| (name.as_str(), script));
    lines(own.chain(of_tests).filter(|(_, value)| !value.is_null()).map(|(name, value)| format!("{name} = {value}")))
}

fn of_toml(text: &str, keys: &[&str]) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let value = |key: &str| {
        let mut parts = key.split('.');
        let first = table.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part)).map(ToString::to_string)
    };
    lines(keys.iter().filter_map(|key| value(key).map(|value| format!("{key} = {value}"))))
}

fn of_sections(text: &str) -> Option<String> {
    let mut is_wanted = false;
    lines(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).filter_map(|line| {
        if line.starts_with('[') {
            is_wanted = line.contains("pytest") || line.contains("coverage") || line.starts_with("[testenv");
        }
        is_wanted.then(|| line.to_owned())
    }))
}

/// The rules of targets that speak of tests.
fn of_makefile(text: &str) -> Option<String> {
    let mut is_wanted = false;
    lines(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).filter_map(|line| {
        if !line.starts_with([' ', '\t', '#']) {
            is_wanted =
                line.split_once(':').is_some_and(|(targets, _)| targets.contains("test") || targets.contains("check"));
        }
        is_wanted.then(|| line.to_owned())
    }))
}

fn lines(lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_decide_how_tests_run_are_known_by_name_and_by_the_command() {
        let command = TestCommand::shell("cd sub && sh ./scripts/all.sh --fast; bash 'run-tests.sh'", None);
        for path in ["scripts/all.sh", "run-tests.sh", "tests/conftest.py", "jest.config.mjs", ".config/nextest.toml"] {
            assert_eq!(runner_file(path, &command), RunnerFile::Whole, "{path}");
        }
        for path in ["package.json", "crates/a/Cargo.toml", "pyproject.toml", "Makefile"] {
            assert_eq!(runner_file(path, &command), RunnerFile::Partly, "{path}");
        }
        for path in ["src/lib.rs", "other/run-tests.sh", "all.sh", "README.md"] {
            assert_eq!(runner_file(path, &command), RunnerFile::No, "{path}");
        }
    }

    #[test]
    fn only_settings_about_tests_count() {
        for (path, before, after, is_same) in [
            (
                "package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test": "jest"},"dependencies":{}}"#,
                true,
            ),
            ("package.json", r#"{"scripts":{"test":"jest"}}"#, r#"{"scripts":{"test":"exit 0"}}"#, false),
            ("package.json", r#"{"jest":{}}"#, r#"{"jest":{"testPathIgnorePatterns":["x"]}}"#, false),
            ("Cargo.toml", "[package]\nname='a'\n", "[package]\nname='a'\n[dependencies]\nx='1'\n", true),
            ("Cargo.toml", "[package]\nname='a'\n", "[package]\nname='a'\nautotests=false\n", false),
            ("Cargo.toml", "", "[[test]]\nname='t'\nharness=false\n", false),
            ("Cargo.toml", "[lib]\nname='x'", "[lib]\nname='x'\ntest=false", false),
            ("pyproject.toml", "[project]\nname='a'", "[project]\nname='a'\ndependencies=['x']", true),
            ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts='--deselect x'", false),
            ("setup.cfg", "[metadata]\nname=a\n", "[metadata]\nname=b\n", true),
            ("setup.cfg", "[tool:pytest]\naddopts=\n", "[tool:pytest]\naddopts=-k x\n", false),
            ("Makefile", "all:\n\tcc a.c\ntest:\n\t./t\n", "all:\n\tcc b.c\ntest:\n\t./t\n", true),
            ("Makefile", "test: all\n\t./t\n", "test: all\n\ttrue\n", false),
        ] {
            assert_eq!(runner_settings(path, before) == runner_settings(path, after), is_same, "{path} {after}");
        }
    }
}
