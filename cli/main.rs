//! Turns arguments into a call, events into a screen, errors into words and an exit code.

#[macro_use]
mod macros;

mod advice;
mod ask;
mod commands;
mod display;
mod editor;
mod environment;
mod exit_code;
mod failure;
mod flags;
mod invocation;
mod logging;
mod loop_display;
mod notices;
mod pager;
mod project;
mod run_lines;
mod safe_json;
mod screen;
#[cfg(test)]
mod screen_tests;
mod task_master;
mod usage;
mod words;

use commands::{Arguments, Perform as _};
use failure::Result;
use invocation::Invocation;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tm_executors::engine::{FILTER, run_filter};
use tokio::runtime::Runtime;

#[cfg(not(unix))]
compile_error!("tm runs on Linux and macOS; on Windows, use it within WSL");

/// So long a command that is over waits for what it has left behind.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    if let Some(failed) = held_program() {
        return failed;
    }
    let (arguments, invocation) = match Invocation::read() {
        Ok(read) => read,
        Err(error) => return ExitCode::from(usage::told(error, std::env::args_os())),
    };
    environment::choose_colours(arguments.color);
    logging::begin(invocation.verbosity());
    let done = run(arguments, &invocation).unwrap_or_else(|failure| {
        usage::print_for_programs(&failure, std::env::args_os());
        failure.answered()
    });
    ExitCode::from(done)
}

/// Becomes a program that is held, or does what such a program needs beside it, where this process was started for that;
/// before anything else, since what holds it is put on one thread.
fn held_program() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    let arguments: Vec<OsString> = arguments.collect();
    let done = match (word.to_str()?, arguments.as_slice()) {
        (tm_sandbox::ENTRY, arguments) => tm_sandbox::enter(arguments).map(|()| ExitCode::SUCCESS),
        (FILTER, [held, command, path @ ..]) => {
            let ended = |runtime: Runtime| {
                runtime.block_on(run_filter(Path::new(held), command, path.first()))
            };
            runtime().and_then(ended).map(code_of)
        }
        _ => return None,
    };
    let error = match done {
        Ok(code) => return Some(code),
        Err(error) => error,
    };
    say!("error: {error}");
    // As shells do where a program can't be started.
    Some(ExitCode::from(127))
}

/// The exit code of a program as this one's.
fn code_of(code: i32) -> ExitCode {
    u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Performs the command; the process has this one runtime.
fn run(arguments: Arguments, invocation: &Invocation) -> Result {
    let runtime = runtime()?;
    let done = runtime.block_on(perform(arguments, invocation));
    // Whatever still waits for a disk, a process or a client is given up; the next process finds it. A git would go on.
    tm_worktrees::end_gits();
    runtime.shutdown_timeout(GIVEN_UP_AFTER);
    done
}

/// The one runtime of a process.
fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(tm_runtime::threads_that_wait())
        .enable_all()
        .build()
}

async fn perform(arguments: Arguments, invocation: &Invocation) -> Result {
    let start = folder(&arguments)?;
    invocation.refuse_agents(&start)?;
    arguments.command.perform(&start).await
}

/// The folder to work in.
fn folder(arguments: &Arguments) -> Result<PathBuf> {
    match &arguments.directory {
        Some(directory) => project::named_folder(Path::new(""), directory),
        None => Ok(std::env::current_dir()?),
    }
}
