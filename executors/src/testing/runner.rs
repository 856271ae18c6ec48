//! Which files decide how tests are found and run: a change there can make any test look as if it passed.

use super::frameworks::FRAMEWORKS;
use super::{Closure, name_in, names};
use std::path::Path;
use tm_scheduler::verdict::{TestSettings, manifest};

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

/// Files that are about nothing but how tests, or the tools that run them, work, of no framework of the table.
const SETTINGS: &str = ".nycrc* .c8rc.json .npmrc .pnpmfile.cjs .yarnrc .yarnrc.yml .pnp.cjs noxfile.py .coveragerc \
    sitecustomize.py usercustomize.py .testcaferc.json karma.conf.* ava.config.* wdio.conf.* \
    playwright.config.* cypress.config.*";

/// Returns what a file, by its path in the repository, has to do with how tests are found and run.
pub fn runner_file(path: &str, closure: &Closure) -> RunnerFile {
    if manifest(path).is_some_and(|settings| settings != TestSettings::None) {
        RunnerFile::Partly
    } else if closure.files.contains(path) || is_about_runners(path) {
        RunnerFile::Whole
    } else {
        RunnerFile::No
    }
}

/// Tells whether a file, by its path, is about nothing but how tests, or the tools that run them, work.
fn is_about_runners(path: &str) -> bool {
    let mut patterns = FRAMEWORKS
        .iter()
        .flat_map(|row| row.settings)
        .copied()
        .chain(SETTINGS.split_whitespace());
    let name = name_in(path);
    let path = Path::new(path);
    patterns.any(|pattern| is_meant(pattern, name))
        || path.extension().is_some_and(|end| end == "pth")
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
}

fn is_meant(pattern: &str, name: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == name, |beginning| name.starts_with(beginning))
}

/// Tells whether a file, by its path, holds settings of a tool that builds or runs code, rather than data.
pub fn is_tool_settings(path: &str) -> bool {
    const ENDS: &str = ".toml .ini .cfg .conf .properties .mk .cmake .gradle .kts .pth";
    const NAMES: &str = "Makefile makefile GNUmakefile justfile Justfile noxfile.py conftest.py CMakeLists.txt pom.xml \
        deno.json turbo.json nx.json";
    const BEGINNINGS: [&str; 3] = ["tsconfig", "jsconfig", "babel.config"];
    const OF_OTHERS: &str =
        ".gitignore .gitattributes .editorconfig .dockerignore Cargo.toml pyproject.toml go.mod";
    let name = name_in(path);
    !names(OF_OTHERS, name)
        && (name.starts_with('.')
            || name.contains(".config.")
            || names(NAMES, name)
            || ENDS.split_whitespace().any(|end| name.ends_with(end))
            || BEGINNINGS
                .iter()
                .any(|beginning| name.starts_with(beginning)))
}

/// Returns the settings in a file that decide how tests are found and run, in one form for all ways to write them;
/// `None` when there are none, or when the file can't be read as what it should be.
pub fn runner_settings(path: &str, text: &str, closure: &Closure) -> Option<String> {
    match manifest(path) {
        Some(TestSettings::Package) => of_package(text, closure),
        Some(TestSettings::Cargo) => of_toml(
            text,
            &[
                "test",
                "lib.test",
                "lib.harness",
                "lib.doctest",
                "package.autotests",
                "profile.test",
            ],
        ),
        Some(TestSettings::PyProject) => {
            of_toml(text, &["tool.pytest", "tool.coverage", "tool.unittest"])
        }
        Some(TestSettings::Sections) => of_sections(text),
        Some(TestSettings::Rules | TestSettings::None) | None => of_makefile(text, closure),
    }
}

fn of_package(text: &str, closure: &Closure) -> Option<String> {
    let package = tm_untrusted::json_value(text).ok()?;
    let own = ["jest", "vitest", "mocha", "ava", "tap", "nyc", "c8"]
        .iter()
        .map(|key| (*key, &package[*key]));
    let scripts = package["scripts"].as_object().into_iter().flatten();
    let is_of_tests = |name: &str| name.contains("test") || closure.scripts.contains(name);
    let of_tests = scripts
        .filter(|(name, _)| is_of_tests(name))
        .map(|(name, script)| (name.as_str(), script));
    lines(
        own.chain(of_tests)
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| format!("{name} = {value}")),
    )
}

fn of_toml(text: &str, keys: &[&str]) -> Option<String> {
    let table = tm_untrusted::toml_table(text)?;
    let value = |key: &str| {
        let mut parts = key.split('.');
        let first = table.get(parts.next()?)?;
        parts
            .try_fold(first, |value, part| value.get(part))
            .map(ToString::to_string)
    };
    lines(
        keys.iter()
            .filter_map(|key| value(key).map(|value| format!("{key} = {value}"))),
    )
}

fn of_sections(text: &str) -> Option<String> {
    let mut is_wanted = false;
    lines_of(text, |line| {
        if line.starts_with('[') {
            is_wanted = line.contains("pytest")
                || line.contains("coverage")
                || line.starts_with("[testenv");
        }
        is_wanted
    })
}

/// The rules of targets that speak of tests or that the command makes, and what decides how make runs any recipe.
fn of_makefile(text: &str, closure: &Closure) -> Option<String> {
    const OF_ALL: [&str; 7] = [
        "SHELL",
        ".SHELLFLAGS",
        "MAKEFLAGS",
        ".ONESHELL",
        "include",
        "-include",
        "set shell",
    ];
    let is_of_tests = |target: &str| {
        target.contains("test") || target.contains("check") || closure.targets.contains(target)
    };
    let mut is_wanted = false;
    lines_of(text, |line| {
        if !line.starts_with([' ', '\t', '#']) {
            let targets = line.split_once(':').map_or("", |(targets, _)| targets);
            is_wanted = targets.split_whitespace().any(is_of_tests);
        }
        is_wanted || OF_ALL.iter().any(|beginning| line.starts_with(beginning))
    })
}

/// The lines of a text that are wanted and not empty.
fn lines_of(text: &str, mut is_wanted: impl FnMut(&str) -> bool) -> Option<String> {
    let wanted = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && is_wanted(line));
    lines(wanted.map(ToOwned::to_owned))
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
        let files = ["scripts/all.sh".to_owned(), "run-tests.sh".to_owned()].into();
        let closure = Closure {
            files,
            ..Closure::default()
        };
        for path in [
            "scripts/all.sh",
            "run-tests.sh",
            "tests/conftest.py",
            "jest.config.mjs",
            ".config/nextest.toml",
            ".npmrc",
            "sub/.cargo/config.toml",
            "x/usercustomize.py",
            "evil.pth",
        ] {
            assert_eq!(runner_file(path, &closure), RunnerFile::Whole, "{path}");
        }
        for path in [
            "package.json",
            "crates/a/Cargo.toml",
            "pyproject.toml",
            "Makefile",
        ] {
            assert_eq!(runner_file(path, &closure), RunnerFile::Partly, "{path}");
        }
        for path in ["src/lib.rs", "other/run-tests.sh", "all.sh", "README.md"] {
            assert_eq!(runner_file(path, &closure), RunnerFile::No, "{path}");
        }
    }

    /// Whether the settings of tests are the same in both texts of a file.
    fn are_same(cases: &[(&str, &str, &str, bool)]) {
        let (scripts, targets) = (["unit".to_owned()].into(), ["verify".to_owned()].into());
        let closure = Closure {
            scripts,
            targets,
            ..Closure::default()
        };
        for (path, before, after, is_same) in cases {
            let settings = |text| runner_settings(path, text, &closure);
            let found = settings(before) == settings(after);
            assert_eq!(found, *is_same, "{path} {after}");
        }
    }

    #[test]
    fn only_settings_about_tests_count() {
        are_same(&[
            (
                "Cargo.toml",
                "[package]\nname='a'\n",
                "[package]\nname='a'\n[dependencies]\nx='1'\n",
                true,
            ),
            (
                "Cargo.toml",
                "[package]\nname='a'\n",
                "[package]\nname='a'\nautotests=false\n",
                false,
            ),
            (
                "Cargo.toml",
                "",
                "[[test]]\nname='t'\nharness=false\n",
                false,
            ),
            (
                "Cargo.toml",
                "[lib]\nname='x'",
                "[lib]\nname='x'\ntest=false",
                false,
            ),
            (
                "pyproject.toml",
                "[project]\nname='a'",
                "[project]\nname='a'\ndependencies=['x']",
                true,
            ),
            (
                "pyproject.toml",
                "",
                "[tool.pytest.ini_options]\naddopts='--deselect x'",
                false,
            ),
            (
                "setup.cfg",
                "[metadata]\nname=a\n",
                "[metadata]\nname=b\n",
                true,
            ),
            (
                "setup.cfg",
                "[tool:pytest]\naddopts=\n",
                "[tool:pytest]\naddopts=-k x\n",
                false,
            ),
            (
                "Makefile",
                "all:\n\tcc a.c\ntest:\n\t./t\n",
                "all:\n\tcc b.c\ntest:\n\t./t\n",
                true,
            ),
            ("Makefile", "", "SHELL = ./sh\n", false),
            ("justfile", "verify:\n  ./t\n", "verify:\n  true\n", false),
            (
                "Makefile",
                "test: all\n\t./t\n",
                "test: all\n\ttrue\n",
                false,
            ),
        ]);
    }

    #[test]
    fn only_scripts_of_tests_count() {
        are_same(&[
            (
                "package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test": "jest"},"dependencies":{}}"#,
                true,
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test":"exit 0"}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"jest":{}}"#,
                r#"{"jest":{"testPathIgnorePatterns":["x"]}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"scripts":{"unit":"jest"}}"#,
                r#"{"scripts":{"unit":"true"}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"scripts":{"build":"tsc"}}"#,
                r#"{"scripts":{"build":"true"}}"#,
                true,
            ),
        ]);
    }

    #[test]
    fn settings_of_tools_are_told_from_data() {
        for path in [
            "tsconfig.json",
            ".babelrc",
            ".env",
            "Makefile",
            "a/setup.cfg",
            "build.gradle",
            "x.config.json",
        ] {
            assert!(is_tool_settings(path), "{path}");
        }
        for path in [
            "Cargo.toml",
            "package.json",
            "data.json",
            "page.html",
            "README.md",
            ".gitignore",
            "messages.po",
        ] {
            assert!(!is_tool_settings(path), "{path}");
        }
    }
}
