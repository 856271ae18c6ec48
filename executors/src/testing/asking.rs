//! Asks the runner of a test command for its own report, and says where the results of a run are to be found.
//!
//! Where the runner is known, nothing but what it is known to write is read: whatever else is in the output comes from
//! the code under test. A report that was asked for and is not there makes the results broken.

use super::closure::{Call, calls};
use super::command::{RESULTS_VARIABLE, TestCommand};
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

/// A runner that tm knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Nextest,
    Go,
    Node,
    Jest,
    Vitest,
    Mocha,
    Bun,
    Rspec,
}

impl Runner {
    /// The formats in which it can write when it is told to.
    const fn formats(self) -> &'static [ResultFormat] {
        match self {
            Self::Pytest => &[ResultFormat::Junit, ResultFormat::Pytest],
            Self::Unittest => &[ResultFormat::Unittest],
            Self::Cargo => &[ResultFormat::Cargo],
            Self::Nextest => &[ResultFormat::Nextest],
            Self::Go => &[ResultFormat::Go],
            Self::Node => &[ResultFormat::Junit, ResultFormat::Node, ResultFormat::Tap],
            Self::Jest => &[ResultFormat::Jest, ResultFormat::Junit],
            Self::Vitest => &[ResultFormat::Jest, ResultFormat::Junit, ResultFormat::Tap],
            Self::Mocha => &[ResultFormat::Junit, ResultFormat::Tap],
            Self::Bun => &[ResultFormat::Junit],
            Self::Rspec => &[ResultFormat::Rspec, ResultFormat::Junit],
        }
    }

    /// Words in its arguments that say that the user has chosen a report.
    const fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Pytest => &["junitxml", "junit-xml"],
            Self::Node => &["--test-reporter"],
            Self::Jest | Self::Vitest | Self::Mocha => &["--reporter", "--json", "outputFile", "-R", "-O"],
            Self::Bun => &["--reporter"],
            Self::Unittest | Self::Cargo | Self::Nextest | Self::Go | Self::Rspec => &[RESULTS_VARIABLE],
        }
    }

    /// Returns the runner that a call starts.
    fn of(words: &[String]) -> Option<Self> {
        let rest = |number: usize| words.get(number..).unwrap_or_default();
        let runs = (0..words.len()).find_map(|number| Some((number, Self::named(rest(number))?)));
        // Behind a program that is not known, the name of a runner is no more than a word.
        runs.filter(|(number, _)| *number == 0 || is_wrapper(&words[0])).map(|(_, runner)| runner)
    }

    /// The runner that these words begin with.
    fn named(words: &[String]) -> Option<Self> {
        let name = words.first()?.rsplit('/').next()?;
        let second = words.get(1).map(String::as_str);
        let has = |word: &str| words.iter().any(|other| other == word);
        match name {
            "pytest" | "py.test" => Some(Self::Pytest),
            "-m" if second == Some("pytest") => Some(Self::Pytest),
            "-m" if second == Some("unittest") => Some(Self::Unittest),
            "cargo" if has("nextest") && has("run") => Some(Self::Nextest),
            "cargo" if words.iter().skip(1).take(2).any(|word| word == "test" || word == "t") => Some(Self::Cargo),
            "cargo-nextest" => Some(Self::Nextest),
            "go" if second == Some("test") => Some(Self::Go),
            "node" | "tsx" if has("--test") => Some(Self::Node),
            "jest" => Some(Self::Jest),
            "react-scripts" if second == Some("test") => Some(Self::Jest),
            "vitest" => Some(Self::Vitest),
            "mocha" => Some(Self::Mocha),
            "bun" if second == Some("test") => Some(Self::Bun),
            "rspec" => Some(Self::Rspec),
            _ => None,
        }
    }
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
pub(super) fn runners(calls: &[Call]) -> Vec<(&Call, Runner)> {
    calls.iter().filter_map(|call| Some((call, Runner::of(&call.words)?))).collect()
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
    let unchanged = |expected| Asked { argv: command.argv.clone(), variables: Vec::new(), expected };
    let has_chosen = command.results.is_some() || command.names_results_file();
    let calls = calls(command, worktree);
    let runners = runners(&calls);
    let formats: Vec<ResultFormat> = match (command.format, runners.as_slice()) {
        (ResultFormat::Auto, []) => vec![ResultFormat::Auto],
        (ResultFormat::Auto, runners) => runners.iter().flat_map(|(_, runner)| runner.formats()).copied().collect(),
        (format, _) => vec![format],
    };
    let asked = match runners.as_slice() {
        [(call, runner)] if !has_chosen && !chooses(&calls, *runner) => {
            Request { command, environment, file, name }.make(call, *runner)
        }
        _ => None,
    };
    let reads = |asked: &Asked| match &asked.expected {
        Expected::Report(format, _) | Expected::Printed(format) => formats.contains(format),
        Expected::OneOf(_) => true,
    };
    asked.filter(reads).unwrap_or_else(|| unchanged(Expected::OneOf(formats)))
}

fn chooses(calls: &[Call], runner: Runner) -> bool {
    let says = |word: &String| runner.choices().iter().any(|choice| word.contains(choice));
    calls.iter().filter(|call| Runner::of(&call.words) == Some(runner)).any(|call| call.words.iter().any(says))
}

/// What is needed to ask.
struct Request<'a> {
    command: &'a TestCommand,
    environment: &'a CommandEnvironment,
    file: &'a Path,
    name: &'a str,
}

impl Request<'_> {
    /// Returns `None` when there is no way to ask.
    fn make(&self, call: &Call, runner: Runner) -> Option<Asked> {
        let file = self.file.display();
        match runner {
            Runner::Pytest => Some(self.pytest(call)),
            Runner::Node => {
                // The text is for people.
                let options = format!(
                    "--test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap \
                     --test-reporter-destination=\"{file}\""
                );
                let variable = self.appended("NODE_OPTIONS", &options);
                Some(self.by_variable(variable, Expected::Report(ResultFormat::Tap, None)))
            }
            Runner::Nextest => {
                let variable = ("NEXTEST_STATUS_LEVEL".into(), "pass".into());
                Some(self.by_variable(variable, Expected::Printed(ResultFormat::Nextest)))
            }
            Runner::Cargo => {
                let argv = self.command.argv.clone();
                Some(Asked { argv, variables: Vec::new(), expected: Expected::Printed(ResultFormat::Cargo) })
            }
            Runner::Jest => {
                let arguments = ["--json".to_owned(), format!("--outputFile={file}")];
                self.by_arguments(call, &arguments, Expected::Report(ResultFormat::Jest, None))
            }
            Runner::Vitest => {
                let arguments = ["--run".to_owned(), "--reporter=json".to_owned(), format!("--outputFile={file}")];
                self.by_arguments(call, &arguments, Expected::Report(ResultFormat::Jest, None))
            }
            Runner::Mocha => {
                let options = format!("output={file},suiteName={}", self.name);
                let arguments = ["--reporter", "xunit", "--reporter-options", &options].map(ToOwned::to_owned);
                self.by_arguments(call, &arguments, self.named_report())
            }
            Runner::Bun => {
                let arguments = ["--reporter=junit".to_owned(), format!("--reporter-outfile={file}")];
                self.by_arguments(call, &arguments, Expected::Report(ResultFormat::Junit, None))
            }
            Runner::Rspec => {
                // What it says of files that can't be loaded is printed.
                let options = format!("--no-fail-fast --format progress --format json --out '{file}'");
                let variable = self.appended("SPEC_OPTS", &options);
                Some(self.by_variable(variable, Expected::Report(ResultFormat::Rspec, None)))
            }
            Runner::Unittest => self.unless_said(call, &["-v", "--verbose"], "-v", ResultFormat::Unittest),
            Runner::Go => self.unless_said(call, &["-json", "-v"], "-json", ResultFormat::Go),
        }
    }

    /// What follows the first failure has to be run as well: what is not run counts as gone.
    fn pytest(&self, call: &Call) -> Asked {
        let (file, name) = (self.file.display(), self.name);
        let options =
            format!("--continue-on-collection-errors --maxfail=0 --junitxml='{file}' -o junit_suite_name={name}");
        let variable = self.appended("PYTEST_ADDOPTS", &options);
        let asked = self.by_variable(variable, self.named_report());
        let argv = if stops_early(call) { self.with(call, &["--maxfail=0".to_owned()]) } else { None };
        Asked { argv: argv.unwrap_or_else(|| self.command.argv.clone()), ..asked }
    }

    fn named_report(&self) -> Expected {
        Expected::Report(ResultFormat::Junit, Some(self.name.to_owned()))
    }

    fn by_variable(&self, variable: (OsString, OsString), expected: Expected) -> Asked {
        Asked { argv: self.command.argv.clone(), variables: vec![variable], expected }
    }

    fn by_arguments(&self, call: &Call, arguments: &[String], expected: Expected) -> Option<Asked> {
        Some(Asked { argv: self.with(call, arguments)?, variables: Vec::new(), expected })
    }

    /// Adds an argument where none of those that do as well is there.
    fn unless_said(&self, call: &Call, said: &[&str], argument: &str, format: ResultFormat) -> Option<Asked> {
        let has_said = call.words.iter().any(|word| said.contains(&word.as_str()));
        let argv = if has_said { self.command.argv.clone() } else { self.with(call, &[argument.to_owned()])? };
        Some(Asked { argv, variables: Vec::new(), expected: Expected::Printed(format) })
    }

    /// Returns the command with more arguments for a call.
    fn with(&self, call: &Call, arguments: &[String]) -> Option<Vec<OsString>> {
        let arguments = call.reach.iter().flatten().chain(arguments);
        call.reach.as_ref()?;
        let mut argv = self.command.argv.clone();
        match argv.as_mut_slice() {
            [shell, flag, text] if shell == "sh" && flag == "-c" => {
                let quoted: Vec<String> = arguments.map(|word| quoted(word)).collect();
                let own = text.to_string_lossy().trim_end().to_owned();
                *text = format!("{own} {}", quoted.join(" ")).into();
            }
            [_, flag, _] if flag.to_string_lossy().ends_with('c') => return None,
            _ => argv.extend(arguments.map(Into::into)),
        }
        Some(argv)
    }

    /// A variable with options behind those of the user.
    fn appended(&self, name: &str, options: &str) -> (OsString, OsString) {
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
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    call.words.iter().any(|word| is_short(word) || word.starts_with("--exitfirst") || word.starts_with("--maxfail"))
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=/.,:".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
