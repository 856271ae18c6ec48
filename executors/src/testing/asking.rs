//! Asks the runner of a test command for its own report, and says where the results of a run are to be found.
//!
//! Where the runner is known, nothing but what it is known to write is read: whatever else is in the output comes from
//! the code under test. A report that was asked for and is not there makes the results broken.

use super::closure::{Call, calls};
use super::command::TestCommand;
use super::frameworks::{FRAMEWORKS, Runner};
use crate::environment::CommandEnvironment;
use std::ffi::OsString;
use std::path::Path;
use tm_scheduler::ResultFormat;

/// Where the results of a run are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    /// In the results file, in this format, under this name where the runner can carry one.
    Report(ResultFormat, Option<String>),
    /// Printed by the runner, in this format.
    Printed(ResultFormat),
    /// Where the command writes them: in the results file or printed, in what looks like one of these formats.
    OneOf(Vec<ResultFormat>),
}

/// A test command with all that makes its runner write a report.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Asked {
    /// Program and arguments.
    pub(super) argv: Vec<OsString>,
    /// Variables besides those of the environment.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Where the results are.
    pub(super) expected: Expected,
}

/// Returns the runner that a call starts.
fn runner_of(words: &[String]) -> Option<&'static Runner> {
    let found = (0..words.len()).find_map(|number| Some((number, runner_named(&words[number..])?)));
    // Behind a program that is not known, the name of a runner is no more than a word.
    found
        .filter(|(number, _)| *number == 0 || is_wrapper(&words[0]))
        .map(|(_, runner)| runner)
}

fn runner_named(words: &[String]) -> Option<&'static Runner> {
    FRAMEWORKS
        .iter()
        .filter_map(|row| row.runner.as_ref())
        .find(|runner| runner.is_started_by(words))
}

/// Programs that run another one, in the same environment.
fn is_wrapper(word: &str) -> bool {
    const NAMES: [&str; 31] = [
        "env",
        "command",
        "exec",
        "time",
        "nice",
        "timeout",
        "npx",
        "bunx",
        "pnpx",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "bundle",
        "cross-env",
        "dotenv",
        "xvfb-run",
        "uv",
        "uvx",
        "poetry",
        "pipenv",
        "hatch",
        "pdm",
        "rye",
        "coverage",
        "c8",
        "nyc",
        "nix",
        "mise",
        "direnv",
        "tsx",
    ];
    let name = word.rsplit('/').next().unwrap_or(word);
    NAMES.contains(&name) || name.starts_with("python") || word.starts_with('$')
}

/// The calls that start a runner.
pub(super) fn runners(calls: &[Call]) -> Vec<(&Call, &'static Runner)> {
    calls
        .iter()
        .filter_map(|call| Some((call, runner_of(&call.words)?)))
        .collect()
}

/// Changes nothing of what the command does but how it reports. `file` is where a report is to be written, `name` what
/// it is to be called.
pub(super) fn ask(
    command: &TestCommand,
    worktree: &Path,
    environment: &CommandEnvironment,
    file: &Path,
    name: &str,
) -> Asked {
    let has_chosen = command.results.is_some() || command.names_results_file();
    let calls = calls(command, worktree);
    let runners = runners(&calls);
    let formats: Vec<ResultFormat> = match (command.format, runners.as_slice()) {
        (ResultFormat::Auto, []) => vec![ResultFormat::Auto],
        (ResultFormat::Auto, runners) => runners
            .iter()
            .flat_map(|(_, runner)| runner.formats)
            .copied()
            .collect(),
        (format, _) => vec![format],
    };
    let request = Request {
        command,
        environment,
        file,
        name,
    };
    let asked = match runners.as_slice() {
        [(call, runner)] if !has_chosen && !chooses(&calls, runner) => (runner.ask)(&request, call),
        _ => None,
    };
    let reads = |asked: &Asked| match &asked.expected {
        Expected::Report(format, _) | Expected::Printed(format) => formats.contains(format),
        Expected::OneOf(_) => true,
    };
    asked
        .filter(reads)
        .unwrap_or_else(|| request.unchanged(Expected::OneOf(formats)))
}

/// Tells whether the command asks for a report itself; one that is for people to read is none.
fn chooses(calls: &[Call], runner: &Runner) -> bool {
    let says = |word: &str| runner.choices.iter().any(|choice| word.contains(choice));
    let has_chosen = |call: &Call| {
        let next = call.words.iter().skip(1).map(String::as_str).chain([""]);
        let mut words = call.words.iter().zip(next);
        words.any(|(word, next)| says(word) && !is_for_people(word, next))
    };
    let is_its =
        |call: &&Call| runner_of(&call.words).is_some_and(|other| std::ptr::eq(other, runner));
    calls.iter().filter(is_its).any(has_chosen)
}

/// Tells whether an argument, or the one after it, names a reporter of mocha, jest or vitest that tm can't read.
fn is_for_people(word: &str, next: &str) -> bool {
    const REPORTERS: [&str; 11] = [
        "basic", "default", "dot", "landing", "list", "min", "nyan", "progress", "spec", "tree",
        "verbose",
    ];
    let name = word.split_once('=').map_or(next, |(_, name)| name);
    REPORTERS.contains(&name)
}

/// What is needed to ask.
pub(super) struct Request<'a> {
    command: &'a TestCommand,
    environment: &'a CommandEnvironment,
    pub(super) file: &'a Path,
    pub(super) name: &'a str,
}

impl Request<'_> {
    /// The command as it is.
    pub(super) fn unchanged(&self, expected: Expected) -> Asked {
        Asked {
            argv: self.command.argv.clone(),
            variables: Vec::new(),
            expected,
        }
    }

    /// What follows the first failure has to be run as well: what is not run counts as gone.
    pub(super) fn pytest(&self, call: &Call) -> Asked {
        let (file, name) = (self.file.display(), self.name);
        let options = format!(
            "--continue-on-collection-errors --maxfail=0 --junitxml='{file}' -o junit_suite_name={name}"
        );
        let variable = self.appended("PYTEST_ADDOPTS", &options);
        let asked = self.by_variable(variable, self.named_report());
        let argv = if stops_early(call) {
            self.with(call, &["--maxfail=0"])
        } else {
            None
        };
        Asked {
            argv: argv.unwrap_or_else(|| self.command.argv.clone()),
            ..asked
        }
    }

    pub(super) fn named_report(&self) -> Expected {
        Expected::Report(ResultFormat::Junit, Some(self.name.to_owned()))
    }

    pub(super) fn by_variable(&self, variable: (OsString, OsString), expected: Expected) -> Asked {
        Asked {
            variables: vec![variable],
            ..self.unchanged(expected)
        }
    }

    pub(super) fn by_arguments(
        &self,
        call: &Call,
        arguments: &[&str],
        expected: Expected,
    ) -> Option<Asked> {
        Some(Asked {
            argv: self.with(call, arguments)?,
            variables: Vec::new(),
            expected,
        })
    }

    /// Adds an argument where none of those that do as well is there.
    pub(super) fn unless_said(
        &self,
        call: &Call,
        said: &[&str],
        argument: &str,
        format: ResultFormat,
    ) -> Option<Asked> {
        let has_said = call.words.iter().any(|word| said.contains(&word.as_str()));
        let argv = if has_said {
            self.command.argv.clone()
        } else {
            self.with(call, &[argument])?
        };
        Some(Asked {
            argv,
            variables: Vec::new(),
            expected: Expected::Printed(format),
        })
    }

    /// Returns the command with more arguments for a call.
    fn with(&self, call: &Call, arguments: &[&str]) -> Option<Vec<OsString>> {
        let arguments = call
            .reach
            .iter()
            .flatten()
            .map(String::as_str)
            .chain(arguments.iter().copied());
        call.reach.as_ref()?;
        let mut argv = self.command.argv.clone();
        match argv.as_mut_slice() {
            [shell, flag, text] if shell == "sh" && flag == "-c" => {
                let quoted: Vec<String> = arguments.map(quoted).collect();
                let own = text.to_string_lossy().trim_end().to_owned();
                *text = format!("{own} {}", quoted.join(" ")).into();
            }
            [_, flag, _] if flag.to_string_lossy().ends_with('c') => return None,
            _ => argv.extend(arguments.map(Into::into)),
        }
        Some(argv)
    }

    /// A variable with options behind those of the user.
    pub(super) fn appended(&self, name: &str, options: &str) -> (OsString, OsString) {
        let mut value = self.environment.get(name).unwrap_or_default();
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(options);
        (name.into(), value)
    }
}

/// Whether pytest is told to stop at a failure.
fn stops_early(call: &Call) -> bool {
    let is_short =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    call.words.iter().any(|word| {
        is_short(word) || word.starts_with("--exitfirst") || word.starts_with("--maxfail")
    })
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=/.,:".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
