//! `tm waves run` and `tm waves resume`: the way of a run, one value after the other.

use super::holding::{Waiting, lock, while_held};
use super::interrupted::{
    Manifest, SavedOverride, as_started, interrupted, is_resumable, opened, put_aside, resumed_limits,
};
use super::loop_command::end_abandoned;
use super::lost_landings::refuse_lost_landings;
use super::moved::take_along;
use super::plan::{Planned, overrides, plan_text, planned};
use super::preflight::{FirstLook, remove_what_never_began};
use super::proving_again::{JournalTrust, prove_again};
use super::reporting::report;
use super::setup::{History, preflight, run_setup};
use super::steering::{resume_live, steers};
use super::telling::{channels, tell_of_pause};
use crate::arguments::{AfterRun, OnInterrupted, ResumeArguments, RunArguments, StrictnessArgument, Telling};
use crate::display::{Display, Output, print_data, print_line};
use crate::failure::CommandFailure;
use crate::logging;
use crate::project::Project;
use serde_json::json;
use std::hash::{BuildHasher as _, RandomState};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;
use tm_config::Override;
use tm_runtime::steering::Steer;
use tm_runtime::{JournalHeader, Replayed, Run, now};
use tm_scheduler::{Limits, StopMode};
use tm_store::run::{RunDirectory, RunLock, read_json, write_json};
use tm_worktrees::branch_from_pattern;

/// What to do when the surroundings ended a run.
pub(crate) const SEE_TO_IT: &str = "see to it, then `tm waves resume` takes the run up where it stopped";

pub(crate) fn run(start: &Path, arguments: &RunArguments) -> Result<u8, CommandFailure> {
    tm_worktrees::check_git()?;
    channels(&arguments.telling.after.notify)?;
    let given = run_overrides(arguments);
    let project = Project::open(start, given.clone())?;
    let mut lock = lock(&project, if arguments.wait { Waiting::Wait } else { Waiting::Refuse })?;
    take_along(&project)?;
    end_abandoned(&project)?;
    if let Some((directory, replayed)) = interrupted(&project, arguments.on_interrupted)? {
        match arguments.on_interrupted {
            OnInterrupted::Resume => {
                refuse_lost_landings(&project.repository, &replayed)?;
                print_line(&format!("taking up the run {} where it stopped", replayed.header.run_id));
                let limits = resumed_limits(&project, &replayed.header.limits);
                return take_up(
                    start,
                    given,
                    &mut lock,
                    &directory,
                    replayed,
                    limits,
                    (&arguments.telling, trust(arguments.trust_journal)),
                );
            }
            OnInterrupted::Fresh => {
                put_aside(start, given.clone(), &directory, replayed)?;
            }
            OnInterrupted::Fail => {
                let failure = CommandFailure::new(format!("start: the run {} was interrupted", replayed.header.run_id));
                return Err(failure.hint("`tm waves resume` takes it up, `--on-interrupted fresh` leaves it as it is"));
            }
        }
    }
    remove_what_never_began(&project)?;
    let planned = planned(&project, &arguments.choice, arguments.base.as_deref())?;
    planned.start.write(&planned.source, &planned.backlog.tag, &planned.backlog.tasks)?;
    if planned.plan.tasks.is_empty() {
        print_line("nothing to run: no open task can be planned");
        print_data(&tm_reports::plan_text(&planned.plan, &planned.limits));
        return Ok(0);
    }
    if !confirmed(&project, &planned, arguments)? {
        print_line("nothing was run");
        return Ok(0);
    }
    begin(&project, &mut lock, planned, arguments, given)
}

pub(crate) fn resume(start: &Path, arguments: &ResumeArguments) -> Result<u8, CommandFailure> {
    tm_worktrees::check_git()?;
    channels(&arguments.telling.after.notify)?;
    if let Some(code) = resume_live(start, arguments)? {
        return Ok(code);
    }
    let mut given = Vec::new();
    if let Some(slots) = arguments.max_parallel {
        given.push(Override::new("waves.max_parallel", "--max-parallel", json!(slots.get())));
    }
    if let Some(deadline) = &arguments.deadline {
        given.push(Override::new("waves.deadline", "--deadline", json!(deadline)));
    }
    let project = Project::open(start, given.clone())?;
    let mut lock = lock(&project, Waiting::Refuse)?;
    take_along(&project)?;
    end_abandoned(&project)?;
    let (directory, replayed) = project.replayed(arguments.run.as_deref())?;
    if !is_resumable(&replayed, &directory) {
        let failure = CommandFailure::new(format!("take up the run {}: it has ended", replayed.header.run_id));
        return Err(failure.hint("`tm waves run` starts a new one"));
    }
    refuse_lost_landings(&project.repository, &replayed)?;
    let limits = resumed_limits(&project, &replayed.header.limits);
    take_up(start, given, &mut lock, &directory, replayed, limits, (&arguments.telling, trust(arguments.trust_journal)))
}

fn confirmed(project: &Project, planned: &Planned, arguments: &RunArguments) -> Result<bool, CommandFailure> {
    super::budget::note_what_is_not_measured(project);
    if !arguments.telling.json {
        print_line(&plan_text(project, planned));
        let uncommitted: Vec<_> = project.repository.uncommitted()?;
        if !uncommitted.is_empty() {
            print_line(&format!("{} uncommitted paths are not part of the run", uncommitted.len()));
        }
    }
    if arguments.yes || arguments.telling.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    let question = format!("Run these {} tasks?", planned.plan.tasks.len());
    Ok(dialoguer::Confirm::new().with_prompt(question).default(true).interact()?)
}

fn begin(
    project: &Project,
    lock: &mut RunLock,
    planned: Planned,
    arguments: &RunArguments,
    given: Vec<Override>,
) -> Result<u8, CommandFailure> {
    let started_at = now();
    let (run_id, base_commit) = (planned.run, planned.start.commit);
    let tag = planned.backlog.tag.clone();
    let pattern = &project.loaded.settings.git.integration;
    let mut header = JournalHeader {
        integration_branch: branch_from_pattern(pattern, &[("tag", tag.as_str()), ("run", run_id.as_str())])?
            .to_string(),
        run_id: run_id.clone(),
        tag,
        backlog: std::path::absolute(planned.source.path())?.display().to_string(),
        started_at,
        base_commit,
        plan: planned.plan,
        limits: planned.limits,
    };
    let (agents, _) = preflight(project, &header, &planned.backlog.tasks)?;
    super::commit_trial::refuse(project)?;
    header.limits.agents = agents.roster(&run_id);
    let directory = project.directory.run(&run_id)?;
    directory.create()?;
    let manifest = Manifest {
        version: 1,
        tm_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        overrides: given
            .into_iter()
            .map(|given| SavedOverride { key: given.key, flag: given.flag, value: given.value })
            .collect(),
        after: arguments.telling.after.or(&AfterRun::default())?,
    };
    write_json(&directory.manifest(), &manifest)?;
    let plan_text = tm_reports::plan_text(&header.plan, &header.limits);
    tm_store::atomic::replace_own(&directory.plan(), plan_text.as_bytes())?;
    let setup = run_setup(
        project,
        header.clone(),
        directory.clone(),
        planned.source,
        &planned.backlog.tasks,
        &History::default(),
        Some(FirstLook { broken: arguments.allow_broken_base.into(), output: arguments.telling.json.into() }),
    )?;
    let run = Run::begin(setup)?;
    lock.begin_attempts(&run_id)?;
    project.directory.set_live(&run_id)?;
    carry_out(project, lock, run, &header, &directory, (arguments.telling.json.into(), &manifest.after))
}

fn take_up(
    start: &Path,
    given: Vec<Override>,
    lock: &mut RunLock,
    directory: &RunDirectory,
    replayed: Replayed,
    limits: Limits,
    (telling, trust): (&Telling, JournalTrust),
) -> Result<u8, CommandFailure> {
    if replayed.is_torn {
        print_line("warning: the last line of the journal was cut off and is left out");
    }
    let after = remembered(directory, telling)?;
    let header = replayed.header.clone();
    let project = as_started(start, given, directory)?;
    super::commit_trial::refuse(&project)?;
    prove_again(&project, directory, &replayed, trust)?;
    let run = opened(&project, directory, replayed, limits)?;
    lock.begin_attempts(&header.run_id)?;
    project.directory.set_live(&header.run_id)?;
    carry_out(&project, lock, run, &header, directory, (telling.json.into(), &after))
}

const fn trust(is_asked_for: bool) -> JournalTrust {
    if is_asked_for { JournalTrust::Trusted } else { JournalTrust::Proven }
}

/// What is done when the run is over: as it was started, and as it is asked for now.
fn remembered(directory: &RunDirectory, telling: &Telling) -> Result<AfterRun, CommandFailure> {
    let mut manifest: Manifest = read_json(&directory.manifest())?;
    manifest.after = telling.after.or(&manifest.after)?;
    write_json(&directory.manifest(), &manifest)?;
    Ok(manifest.after)
}

fn carry_out(
    project: &Project,
    lock: &mut RunLock,
    run: Run,
    header: &JournalHeader,
    directory: &RunDirectory,
    (output, after): (Output, &AfterRun),
) -> Result<u8, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    logging::write_into(&directory.log())?;
    tracing::info!(run = %header.run_id, "the run begins");
    let mut display = Display::choose(output, now());
    let held = runtime.block_on(async {
        let (socket, sender, steers) = steers(project)?;
        let work = run.carry_out(steers, |at, told, scheduler| {
            display.told(at, told, scheduler);
            tell_of_pause(told, header, directory, after);
        });
        // A run that is over hears nothing.
        let stop = || sender.send(Steer::Stop(StopMode::Gently)).unwrap_or_default();
        let (outcome, kept) = Box::pin(while_held(lock, work, stop)).await;
        if let Some(socket) = socket {
            socket.close().await;
        }
        Ok::<_, CommandFailure>((outcome.map_err(|error| CommandFailure::from(error).hint(SEE_TO_IT))?, kept))
    });
    display.finish();
    if let Err(error) = lock.end_attempts() {
        tracing::warn!(%error, "what follows the run is taken for a part of it");
    }
    // Whatever still waits for a disk or a process is given up; the next process finds it.
    runtime.shutdown_timeout(Duration::from_secs(5));
    let (outcome, kept) = held?;
    let code = report(project, &outcome, header, directory, output, after);
    kept.and(code)
}

/// A number that differs from run to run.
pub(crate) fn entropy() -> u32 {
    let mixed = RandomState::new().hash_one(std::process::id());
    u32::try_from(mixed & u64::from(u32::MAX)).unwrap_or_default()
}

/// Returns the settings that the flags of `run` give.
fn run_overrides(arguments: &RunArguments) -> Vec<Override> {
    let mut given = overrides(&arguments.choice);
    let texts = [
        ("agent.default", "--agent", &arguments.agent),
        ("agent.model", "--model", &arguments.model),
        ("agent.permissions", "--permissions", &arguments.permissions),
        ("agent.timeout", "--timeout", &arguments.timeout),
        ("test.command", "--test-command", &arguments.test_command),
        ("waves.deadline", "--deadline", &arguments.deadline),
        ("agents.custom.command", "--agent-command", &arguments.agent_command),
    ];
    for (key, flag, value) in texts {
        given.extend(value.as_ref().map(|value| Override::new(key, flag, json!(value))));
    }
    for (key, flag, dollars) in [
        ("agent.max_cost", "--max-cost", arguments.max_cost),
        ("agent.max_cost_per_task", "--max-cost-per-task", arguments.max_cost_per_task),
    ] {
        given.extend(dollars.map(|dollars| Override::new(key, flag, json!(dollars))));
    }
    for (key, flag, tokens) in [
        ("agent.max_tokens", "--max-tokens", arguments.max_tokens),
        ("agent.max_tokens_per_task", "--max-tokens-per-task", arguments.max_tokens_per_task),
    ] {
        given.extend(tokens.map(|tokens| Override::new(key, flag, json!(tokens))));
    }
    if arguments.agent_command.is_some() && arguments.agent.is_none() {
        given.push(Override::new("agent.default", "--agent-command", json!("custom")));
    }
    given.extend(arguments.retries.map(|retries| Override::new("waves.retries", "--retries", json!(retries))));
    let strictness = arguments.strictness.map(StrictnessArgument::as_str);
    given.extend(strictness.map(|name| Override::new("tdd.strictness", "--strictness", json!(name))));
    if arguments.no_land {
        given.push(Override::new("git.land", "--no-land", json!("off")));
    }
    given
}
