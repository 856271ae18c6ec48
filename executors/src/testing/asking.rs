//! Asks the runner of a test command for its own report, and says where the results of a run are to be found.
//!
//! Where the runner is known, nothing but what it is known to write is read: whatever else is in the output comes from
//! the code under test. A report that was asked for and is not there makes the results broken.

use super::closure::{Call, calls};
use super::command::TestCommand;
use super::frameworks::{FRAMEWORKS, Runner, Variable};
use super::{name_in, names};
use crate::environment::CommandEnvironment;
use crate::process::shell_quoted;
use std::ffi::OsString;
use std::path::Path;
use tm_scheduler::ResultFormat;

/// Where a runner that was asked has its results.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Report {
    /// It prints them, in this format.
    Printed(ResultFormat),
    /// In the results file, in this format.
    File(ResultFormat),
    /// There, under the name of the file's folder, which nobody can guess.
    NamedFile(ResultFormat),
}

impl Report {
    pub(super) const fn format(self) -> ResultFormat {
        let (Self::Printed(format) | Self::File(format) | Self::NamedFile(format)) = self;
        format
    }
}

/// Where the results of a run are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Expected {
    /// Where the runner was asked to write them.
    Asked(Report),
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
    const NAMES: &str = "env command exec time nice timeout npx bunx pnpx npm pnpm yarn bun bundle cross-env dotenv xvfb-run \
        uv uvx poetry pipenv hatch pdm rye coverage c8 nyc nix mise direnv tsx";
    let name = name_in(word);
    names(NAMES, name) || name.starts_with("python") || word.starts_with('$')
}

/// The calls that start a runner.
pub(super) fn runners(calls: &[Call]) -> Vec<(&Call, &'static Runner)> {
    calls
        .iter()
        .filter_map(|call| Some((call, runner_of(&call.words)?)))
        .collect()
}

/// Changes nothing of what the command does but how it reports. `file` is where a report is to be written.
pub(super) fn ask(
    command: &TestCommand,
    worktree: &Path,
    environment: &CommandEnvironment,
    file: &Path,
) -> Asked {
    let has_chosen = command.results.is_some() || command.names_results_file();
    let calls = calls(command, worktree);
    let runners = runners(&calls);
    let formats: Vec<ResultFormat> = match (command.format, runners.as_slice()) {
        (ResultFormat::Auto, []) => vec![ResultFormat::Auto],
        (ResultFormat::Auto, runners) => runners
            .iter()
            .flat_map(|(_, runner)| runner.formats())
            .collect(),
        (format, _) => vec![format],
    };
    let asked = match runners.as_slice() {
        [(call, runner)]
            if !has_chosen
                && formats.contains(&runner.report.format())
                && !chooses(&calls, runner) =>
        {
            asked(command, environment, file, (call, runner))
        }
        _ => None,
    };
    asked.unwrap_or_else(|| Asked {
        argv: command.argv.clone(),
        variables: Vec::new(),
        expected: Expected::OneOf(formats),
    })
}

/// Asks a runner for its report, as its row says; `None` where nothing reaches it.
fn asked(
    command: &TestCommand,
    environment: &CommandEnvironment,
    file: &Path,
    (call, runner): (&Call, &Runner),
) -> Option<Asked> {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    let (file, name) = (file.to_string_lossy(), folder.to_string_lossy());
    let filled = |text: &str| text.replace("{file}", &file).replace("{name}", &name);
    let arguments = runner
        .arguments
        .iter()
        .copied()
        .map(filled)
        .filter(|_| (runner.needs_arguments)(call))
        .collect();
    let variables: Vec<_> = match runner.variable {
        Variable::None => Vec::new(),
        Variable::Word(name, word) => vec![(name.into(), word.into())],
        Variable::Options(name, options) => {
            let mut value = environment.get(name).unwrap_or_default();
            if !value.is_empty() {
                value.push(" ");
            }
            value.push(filled(options));
            vec![(name.into(), value)]
        }
    };
    // Where no argument reaches it, its variable has to do.
    let own = || Some(command.argv.clone()).filter(|_| !variables.is_empty());
    Some(Asked {
        argv: with(command, call, arguments).or_else(own)?,
        variables,
        expected: Expected::Asked(runner.report),
    })
}

/// Returns the command with more arguments for a call; `None` where none reach it.
fn with(command: &TestCommand, call: &Call, arguments: Vec<String>) -> Option<Vec<OsString>> {
    let mut argv = command.argv.clone();
    if arguments.is_empty() {
        return Some(argv);
    }
    let arguments = call.reach.iter().flatten().cloned().chain(arguments);
    call.reach.as_ref()?;
    match argv.as_mut_slice() {
        [shell, flag, text] if shell == "sh" && flag == "-c" => {
            let quoted: Vec<String> = arguments.map(|word| shell_quoted(&word)).collect();
            let own = text.to_string_lossy().trim_end().to_owned();
            *text = format!("{own} {}", quoted.join(" ")).into();
        }
        [_, flag, _] if flag.to_string_lossy().ends_with('c') => return None,
        _ => argv.extend(arguments.map(Into::into)),
    }
    Some(argv)
}

/// Tells whether the command asks for a report itself; one that is for people to read is none.
fn chooses(calls: &[Call], runner: &Runner) -> bool {
    let says = |word: &str| runner.choices.iter().any(|choice| word.contains(choice));
    let has_chosen = |call: &Call| {
        let next = call.words.iter().skip(1).map(String::as_str).chain([""]);
        call.words
            .iter()
            .zip(next)
            .any(|(word, next)| says(word) && !is_for_people(word, next))
    };
    let is_its =
        |call: &&Call| runner_of(&call.words).is_some_and(|other| std::ptr::eq(other, runner));
    calls.iter().filter(is_its).any(has_chosen)
}

/// Tells whether an argument, or the one after it, names a reporter of mocha, jest or vitest that tm can't read.
fn is_for_people(word: &str, next: &str) -> bool {
    const REPORTERS: &str = "basic default dot landing list min nyan progress spec tree verbose";
    let name = word.split_once('=').map_or(next, |(_, name)| name);
    names(REPORTERS, name)
}

/// Whether pytest is told to stop at a failure.
pub(super) fn stops_early(call: &Call) -> bool {
    let is_short =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    call.words.iter().any(|word| {
        is_short(word) || word.starts_with("--exitfirst") || word.starts_with("--maxfail")
    })
}

#[cfg(test)]
mod tests;
