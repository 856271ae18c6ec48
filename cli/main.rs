//! Turns arguments into a call, events into a screen, errors into words and an exit code.

mod advice;
mod arguments;
mod ask;
mod commands;
mod display;
mod failure;
mod flags;
mod logging;
mod loop_display;
mod notices;
mod project;
mod screen;
#[cfg(test)]
mod screen_tests;
mod usage;
mod watch;
mod words;

use arguments::{Arguments, Command, ConfigCommand, Presets, TddCommand, Waves, Worktrees};
use clap::Parser as _;
use commands::backlog::{edits, tags};
use commands::{
    acp, agent, audit, autopilot, backlog, configuration, demo, doctor, guard, init, inspect,
    landing, loop_command, manuals, mcp, plan, presets, pull, review, run, steering, tasks, verify,
    worktrees,
};
use failure::CommandFailure;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(not(unix))]
compile_error!("tm runs on Linux and macOS; on Windows, use it within WSL");

/// So long a command that is over waits for what it has left behind.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(usage::told(&error, std::env::args_os())),
    };
    logging::begin(verbosity(&arguments.command));
    match run(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code.number())
        }
    }
}

/// Performs the command; the process has this one runtime.
fn run(arguments: &Arguments) -> Result<u8, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let done = runtime.block_on(perform(arguments));
    // Whatever still waits for a disk, a process or a client is given up; the next process finds it.
    runtime.shutdown_timeout(GIVEN_UP_AFTER);
    done
}

/// How often `-v` was given.
const fn verbosity(command: &Command) -> u8 {
    match command {
        Command::Waves(Waves::Run(arguments)) => arguments.notifications.verbose,
        Command::Waves(Waves::Resume(arguments)) => arguments.notifications.verbose,
        _ => 0,
    }
}

async fn perform(arguments: &Arguments) -> Result<u8, CommandFailure> {
    let start = match &arguments.directory {
        Some(directory) => directory.canonicalize().map_err(|error| {
            CommandFailure::new(format!("work in `{}`: {error}", directory.display()))
        })?,
        None => std::env::current_dir()?,
    };
    guard::refuse_agents(&start, &arguments.command)?;
    match &arguments.command {
        Command::Waves(Waves::Plan(plan_arguments)) => plan::plan(&start, plan_arguments),
        Command::Waves(Waves::Run(run_arguments)) => {
            Box::pin(run::run(&start, run_arguments)).await
        }
        Command::Waves(Waves::Resume(resume)) => Box::pin(run::resume(&start, resume)).await,
        Command::Waves(Waves::Status(choice)) => inspect::status(&start, choice),
        Command::Waves(Waves::List(output)) => inspect::list(&start, output.json),
        Command::Waves(Waves::Report(choice)) => inspect::report(&start, choice).await,
        Command::Waves(Waves::Metrics(choice)) => inspect::metrics(&start, choice.run.as_deref()),
        Command::Waves(Waves::Land(arguments)) => landing::land(&start, arguments),
        Command::Waves(Waves::Logs(logs)) => inspect::logs(&start, logs),
        Command::Waves(Waves::Stop(stop)) => steering::stop(&start, stop),
        Command::Waves(Waves::Watch(run)) => watch::watch(&start, run).await,
        Command::Waves(Waves::Pause(output)) => steering::pause(&start, output.json),
        Command::Waves(Waves::Retry(task)) => steering::retry(&start, task),
        Command::Waves(Waves::Skip(skip)) => steering::skip(&start, skip),
        Command::Waves(Waves::Add(task)) => steering::add(&start, task),
        Command::List(list) => backlog::list(&start, list),
        Command::Next(next) => backlog::next(&start, next),
        Command::Show(show) => backlog::show(&start, show),
        Command::SetStatus(set) => backlog::set_status(&start, set),
        Command::ValidateDependencies(check) => backlog::validate(&start, check),
        Command::FixDependencies(fix) => edits::fix_dependencies(&start, fix),
        Command::AddTask(add) => edits::add_task(&start, add),
        Command::AddSubtask(add) => edits::add_subtask(&start, add),
        Command::RemoveTask(remove) => edits::remove_task(&start, remove),
        Command::Move(move_task) => edits::move_task(&start, move_task),
        Command::AddDependency(dependency) => edits::add_dependency(&start, dependency),
        Command::RemoveDependency(dependency) => edits::remove_dependency(&start, dependency),
        Command::Tags(tags_arguments) => tags::tags(&start, tags_arguments),
        Command::Tasks(command) => tasks::tasks(&start, command),
        Command::Tdd(TddCommand::Pair(pair)) => backlog::pair(&start, pair),
        Command::Verify(verify_arguments) => verify::verify(&start, verify_arguments).await,
        Command::Audit(audit_arguments) => audit::audit(&start, audit_arguments).await,
        Command::Review(review_arguments) => review::review(&start, review_arguments).await,
        Command::Pr(pull_arguments) => pull::pull(&start, pull_arguments).await,
        Command::Worktrees(Worktrees::List(choice)) => worktrees::list(&start, choice),
        Command::Worktrees(Worktrees::Show(branch)) => worktrees::show(&start, branch),
        Command::Worktrees(Worktrees::Diff(choice)) => worktrees::diff(&start, choice),
        Command::Worktrees(Worktrees::Log(choice)) => worktrees::log(&start, choice),
        Command::Worktrees(Worktrees::Open(open)) => worktrees::open(&start, open).await,
        Command::Worktrees(Worktrees::Merge(merge)) => worktrees::merge(&start, merge),
        Command::Worktrees(Worktrees::Salvage(salvage)) => worktrees::salvage(&start, salvage),
        Command::Worktrees(Worktrees::Prune(output)) => worktrees::prune(&start, output.json),
        Command::Autopilot(autopilot_arguments) => {
            autopilot::autopilot(&start, autopilot_arguments).await
        }
        Command::Mcp(mcp_arguments) => Box::pin(mcp::mcp(&start, mcp_arguments)).await,
        Command::Loop(loop_arguments) => Box::pin(loop_command::run(&start, loop_arguments)).await,
        Command::Presets(Presets::List(output)) => presets::list(&start, output.json),
        Command::Presets(Presets::Show(choice)) => presets::show(&start, &choice.name),
        Command::Presets(Presets::New(preset)) => presets::new(&start, preset),
        Command::Agents(command) => commands::agents::agents(&start, command).await,
        Command::Config(ConfigCommand::Show(output)) => configuration::show(&start, output.json),
        Command::Config(ConfigCommand::Schema) => configuration::schema(),
        Command::Demo(demo_arguments) => Box::pin(demo::demo(demo_arguments)).await,
        Command::Init => init::init(&start),
        Command::Doctor(arguments) => doctor::doctor(&start, arguments).await,
        Command::Completions(completions) => Ok(manuals::completions(completions)),
        Command::Man(man) => manuals::man(man),
        Command::Result(result) => agent::result(result),
        Command::Replay(replay) => agent::replay(&start, replay),
        Command::DetachedRun(detached) => Box::pin(mcp::detached_run(&detached.folder)).await,
        Command::AcpAgent(acp_agent) => acp::acp_agent(&start, acp_agent).await,
    }
}
