//! Turns arguments into a call, events into a screen, errors into words and an exit code.

mod arguments;
mod commands;
mod display;
mod failure;
mod logging;
mod loop_display;
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
    acp, agent, audit, autopilot, backlog, configuration, demo, doctor, guard, init, landing, looking, loop_command,
    manuals, mcp, plan, presets, pull, review, run, steering, tasks, verify, worktrees,
};
use display::print_line;
use failure::CommandFailure;
use std::process::ExitCode;

#[cfg(not(unix))]
compile_error!("tm runs on Linux and macOS; on Windows, use it within WSL");

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(usage::told(&error, std::env::args_os())),
    };
    logging::begin(verbosity(&arguments.command));
    match perform(&arguments) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            print_line(&format!("error: failed to {}", failure.message));
            if let Some(hint) = &failure.hint {
                print_line(&format!("hint: {hint}"));
            }
            ExitCode::from(failure.code.number())
        }
    }
}

/// How often `-v` was given.
const fn verbosity(command: &Command) -> u8 {
    match command {
        Command::Waves(Waves::Run(arguments)) => arguments.telling.verbose,
        Command::Waves(Waves::Resume(arguments)) => arguments.telling.verbose,
        _ => 0,
    }
}

fn perform(arguments: &Arguments) -> Result<u8, CommandFailure> {
    let start = match &arguments.directory {
        Some(directory) => directory
            .canonicalize()
            .map_err(|error| CommandFailure::new(format!("work in `{}`: {error}", directory.display())))?,
        None => std::env::current_dir()?,
    };
    guard::refuse_agents(&start, &arguments.command)?;
    match &arguments.command {
        Command::Waves(Waves::Plan(plan_arguments)) => plan::plan(&start, plan_arguments),
        Command::Waves(Waves::Run(run_arguments)) => run::run(&start, run_arguments),
        Command::Waves(Waves::Resume(resume)) => run::resume(&start, resume),
        Command::Waves(Waves::Status(choice)) => looking::status(&start, choice),
        Command::Waves(Waves::List(output)) => looking::list(&start, output.json),
        Command::Waves(Waves::Report(choice)) => looking::report(&start, choice),
        Command::Waves(Waves::Metrics(choice)) => looking::metrics(&start, choice.run.as_deref()),
        Command::Waves(Waves::Land(arguments)) => landing::land(&start, arguments),
        Command::Waves(Waves::Logs(logs)) => looking::logs(&start, logs),
        Command::Waves(Waves::Stop(stop)) => steering::stop(&start, stop),
        Command::Waves(Waves::Watch(run)) => watch::watch(&start, run),
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
        Command::Verify(verify_arguments) => verify::verify(&start, verify_arguments),
        Command::Audit(audit_arguments) => audit::audit(&start, audit_arguments),
        Command::Review(review_arguments) => review::review(&start, review_arguments),
        Command::Pr(pull_arguments) => pull::pull(&start, pull_arguments),
        Command::Worktrees(Worktrees::List(choice)) => worktrees::list(&start, choice),
        Command::Worktrees(Worktrees::Show(branch)) => worktrees::show(&start, branch),
        Command::Worktrees(Worktrees::Diff(choice)) => worktrees::diff(&start, choice),
        Command::Worktrees(Worktrees::Log(choice)) => worktrees::log(&start, choice),
        Command::Worktrees(Worktrees::Open(open)) => worktrees::open(&start, open),
        Command::Worktrees(Worktrees::Merge(merge)) => worktrees::merge(&start, merge),
        Command::Worktrees(Worktrees::Salvage(salvage)) => worktrees::salvage(&start, salvage),
        Command::Worktrees(Worktrees::Prune(output)) => worktrees::prune(&start, output.json),
        Command::Autopilot(autopilot_arguments) => autopilot::autopilot(&start, autopilot_arguments),
        Command::Mcp(mcp_arguments) => mcp::mcp(&start, mcp_arguments),
        Command::Loop(loop_arguments) => loop_command::run(&start, loop_arguments),
        Command::Presets(Presets::List(output)) => presets::list(&start, output.json),
        Command::Presets(Presets::Show(choice)) => presets::show(&start, &choice.name),
        Command::Presets(Presets::New(preset)) => presets::new(&start, preset),
        Command::Agents(command) => commands::agents::agents(&start, command),
        Command::Config(ConfigCommand::Show(output)) => configuration::show(&start, output.json),
        Command::Config(ConfigCommand::Schema) => configuration::schema(),
        Command::Demo(demo_arguments) => demo::demo(demo_arguments),
        Command::Init => init::init(&start),
        Command::Doctor(arguments) => doctor::doctor(&start, arguments),
        Command::Completions(completions) => Ok(manuals::completions(completions)),
        Command::Man(man) => manuals::man(man),
        Command::Result(result) => agent::result(result),
        Command::Replay(replay) => agent::replay(&start, replay),
        Command::AcpAgent(acp_agent) => acp::acp_agent(&start, acp_agent),
    }
}
