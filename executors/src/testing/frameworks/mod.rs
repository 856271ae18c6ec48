//! What tm knows of a test framework: by what it is told, its test command, where its tests are, what decides how they
//! run, how its runner is started and asked for a report, and what it prints of tests that can't be loaded.

mod rows;

pub(super) use rows::FRAMEWORKS;

use super::asking::Report;
use super::closure::Call;
use super::command::RESULTS_VARIABLE;
use super::detect::Rule;
use super::load_errors::Found;
use super::name_in;
use std::path::Path;
use tm_scheduler::ResultFormat;

/// A test framework.
#[derive(Debug)]
pub struct Framework {
    /// Its name.
    pub name: &'static str,
    /// Where its tests usually are.
    pub tests: &'static str,
    /// Where a new test could go; `{}` is the name of what is tested.
    pub new_test: &'static str,
    /// A word in `package.json` that tells of it.
    package: Option<&'static str>,
    /// How its test command is found; the first rule of all frameworks that fits counts.
    pub(super) detected_by: &'static [Rule],
    /// Files of a project that hint at it, where no rule fits.
    files: &'static [&'static str],
    /// Files, by name, that are about nothing but how its tests run; a `*` at the end stands for the rest.
    pub(super) settings: &'static [&'static str],
    /// Finds what it, or the compiler of its language, says of tests that can't be loaded; once for a language.
    pub(super) load_errors: Option<fn(&str, &mut Found<'_>)>,
    /// The program that runs its tests, where tm knows how to ask that for a report.
    pub(super) runner: Option<Runner>,
}

/// A runner that tm knows, and how it is asked for a report. In what it is told, `{file}` stands for the file of the
/// report and `{name}` for what that is to be called.
#[derive(Debug)]
pub(super) struct Runner {
    /// What a call of it begins with; `?` stands for one word, `*` for any number of them.
    started_by: &'static [&'static str],
    /// The formats besides that of its report in which it can write when it is told to.
    others: &'static [ResultFormat],
    /// Words in its arguments that say that the user has chosen a report.
    pub(super) choices: &'static [&'static str],
    /// The variable by which it is asked.
    pub(super) variable: Variable,
    /// The arguments by which it is asked.
    pub(super) arguments: &'static [&'static str],
    /// Whether a call of it needs them.
    pub(super) needs_arguments: fn(&Call) -> bool,
    /// Where its report is then.
    pub(super) report: Report,
    /// The command with which its results are read test by test.
    pub(super) advice: &'static str,
}

/// A variable by which a runner is asked for a report.
#[derive(Clone, Copy, Debug)]
pub(super) enum Variable {
    None,
    /// It has this word.
    Word(&'static str, &'static str),
    /// It has these options behind those of the user.
    Options(&'static str, &'static str),
}

const NONE: Framework = Framework {
    name: "",
    tests: "",
    new_test: "",
    package: None,
    detected_by: &[],
    files: &[],
    settings: &[],
    load_errors: None,
    runner: None,
};

const RUNNER: Runner = Runner {
    started_by: &[],
    others: &[],
    choices: &[RESULTS_VARIABLE],
    variable: Variable::None,
    arguments: &[],
    needs_arguments: |_| true,
    report: Report::Printed(ResultFormat::Auto),
    advice: "",
};

/// Returns the framework that the files of a project tell of: those that its `package.json` names come first, then the
/// one whose test command would be run.
pub fn framework_of(root: &Path) -> Option<&'static Framework> {
    let package = super::text_of(root, "package.json").unwrap_or_default();
    let is_named = |row: &Framework| row.package.is_some_and(|word| package.contains(word));
    let is_detected =
        |row: &Framework| row.detected_by.iter().any(|rule| rule.fits(root).is_some());
    let is_hinted_at = |row: &Framework| row.files.iter().any(|name| root.join(name).exists());
    let first = |tells: &dyn Fn(&Framework) -> bool| FRAMEWORKS.iter().find(|row| tells(row));
    first(&is_named)
        .or_else(|| first(&is_detected))
        .or_else(|| first(&is_hinted_at))
}

impl Runner {
    /// Returns the formats in which it can write when it is told to.
    pub(super) fn formats(&self) -> impl Iterator<Item = ResultFormat> {
        std::iter::once(self.report.format()).chain(self.others.iter().copied())
    }

    /// Tells whether a call that begins with these words starts it.
    pub(super) fn is_started_by(&self, words: &[String]) -> bool {
        self.started_by
            .iter()
            .any(|pattern| matches(pattern, words))
    }
}

fn matches(pattern: &str, words: &[String]) -> bool {
    let (mut parts, mut words) = (pattern.split(' '), words.iter().map(String::as_str));
    if parts.next() != words.next().map(name_in) {
        return false;
    }
    while let Some(part) = parts.next() {
        let is_there = match part {
            "?" => words.next().is_some(),
            "*" => parts
                .next()
                .is_some_and(|wanted| words.any(|word| word == wanted)),
            wanted => words.next() == Some(wanted),
        };
        if !is_there {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Closure, RunnerFile, runner_file};
    use tm_scheduler::verdict::is_test_path;

    #[test]
    fn every_row_is_complete() {
        let mut names: Vec<&str> = FRAMEWORKS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FRAMEWORKS.len(), "each has a name of its own");
        for row in &FRAMEWORKS {
            assert!(
                is_test_path(&row.new_test.replace("{}", "x")) && !row.tests.is_empty(),
                "{row:?}"
            );
            for setting in row.settings {
                let name = setting.replace('*', "x");
                assert_eq!(
                    runner_file(&name, &Closure::default()),
                    RunnerFile::Whole,
                    "{row:?}"
                );
            }
            let Some(runner) = &row.runner else { continue };
            assert!(
                runner.report.format() != ResultFormat::Auto
                    && !runner.choices.is_empty()
                    && runner.advice.starts_with('`'),
                "{row:?}"
            );
            for pattern in runner.started_by {
                let words: Vec<String> = pattern.split(' ').map(ToOwned::to_owned).collect();
                let started = FRAMEWORKS.iter().filter(|row| {
                    row.runner
                        .as_ref()
                        .is_some_and(|runner| runner.is_started_by(&words))
                });
                assert_eq!(
                    started.map(|row| row.name).collect::<Vec<_>>(),
                    [row.name],
                    "{pattern}"
                );
            }
        }
    }

    #[test]
    fn frameworks_are_told_by_the_files_of_the_project() {
        let cases = [
            (
                "package.json",
                r#"{"devDependencies":{"vitest":"1"}}"#,
                "vitest",
            ),
            (
                "package.json",
                r#"{"scripts":{"test":"node --test"}}"#,
                "node:test",
            ),
            ("Cargo.toml", "", "cargo test"),
            ("pyproject.toml", "", "pytest"),
            ("go.mod", "", "go test"),
            ("notes", "", ""),
        ];
        for (name, text, expected) in cases {
            let root = tempfile::tempdir().unwrap();
            std::io::Write::write_all(
                &mut std::fs::File::create(root.path().join(name)).unwrap(),
                text.as_bytes(),
            )
            .unwrap();
            assert_eq!(
                framework_of(root.path()).map_or("", |row| row.name),
                expected,
                "{name}"
            );
        }
    }
}
