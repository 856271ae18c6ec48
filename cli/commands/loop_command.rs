//! `tm loop`: one agent after the other, each with a fresh context, until there is nothing left to do.

use super::holding::{Waiting, lock, stop_orders, while_held};
use super::loop_setup::{Common, agent, goal, overrides, prompt, tags, verification};
use super::preflight::before_loop;
use super::run::entropy;
use super::sandbox;
use super::telling::{OnComplete, channels, deliver, on_complete};
use crate::arguments::LoopArguments;
use crate::display::{Output, print_data, print_line};
use crate::failure::CommandFailure;
use crate::loop_display::{LoopDisplay, Talk};
use crate::project::Project;
use std::path::Path;
use std::time::Duration;
use tm_executors::environment::remove_abandoned_folders;
use tm_reports::{LaneFacts, LoopFacts, LoopSummary, loop_text, summarize_loop};
use tm_runtime::loops::{CutOff, LaneOutcome, LoopSetup, carry_out_loops, clean_up};
use tm_runtime::notices::{Channel, Notice};
use tm_runtime::now;
use tm_scheduler::iteration::{Goal, LoopStatus};
use tm_scheduler::{StopMode, Tag, Timestamp};
use tm_store::run::{RunLock, new_run_id, write_json};
use tokio::runtime::Runtime;

pub(crate) fn run(start: &Path, arguments: &LoopArguments) -> Result<u8, CommandFailure> {
    let start = &match &arguments.project {
        Some(folder) => start
            .join(folder)
            .canonicalize()
            .map_err(|error| CommandFailure::new(format!("work in `{}`: {error}", folder.display())))?,
        None => start.to_owned(),
    };
    tm_worktrees::check_git()?;
    let project = Project::open(start, overrides(arguments))?;
    let channels = channels(&arguments.notify)?;
    let prompt = prompt(start, arguments)?;
    let recipe = agent(&project, arguments)?;
    let test_command = verification(&project, arguments)?;
    let backlog = backlog(&project, start, arguments, goal(&prompt))?;
    let tags = tags(arguments, backlog.as_ref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if arguments.sandbox {
        runtime.block_on(sandbox::get_ready(project.repository.checkout_root(), &project.directory.runs_folder()))?;
    }
    let mut lock = lock(&project, Waiting::Refuse)?;
    let cut_off = found_cut_off(&runtime, &project)?;
    if let Some(command) = test_command.as_ref().filter(|_| !arguments.worktree && !arguments.parallel) {
        before_loop(&project, command, arguments.allow_broken_base.into())?;
    }
    let started_at = now();
    let id = new_run_id(started_at, entropy());
    lock.set_run_id(&id)?;
    let directory = project.directory.loop_directory(&id)?;
    directory.create()?;
    let common = Common {
        project: &project,
        arguments,
        start,
        id,
        started_at,
        directory,
        prompt,
        recipe,
        test_command,
        backlog,
        tags,
        cut_off,
        cost: tm_runtime::loops::SharedCost::default(),
    };
    let lanes: Vec<LoopSetup> = common.tags.iter().map(|tag| common.lane(tag.as_ref())).collect::<Result<_, _>>()?;
    let progress: Vec<(Tag, String)> =
        lanes.iter().map(|lane| (lane.lane.clone(), lane.progress.path().display().to_string())).collect();
    let (outcomes, kept) = carry_out(&runtime, &mut lock, arguments, lanes, started_at)?;
    let mut summary = summary(&common, &outcomes, &progress);
    write_json(&common.directory.summary_json(), &summary)?;
    runtime.block_on(async {
        tokio::select! {
            () = aftermath(&common, &summary, &channels) => {}
            _ = tokio::signal::ctrl_c() => print_line("interrupted: nobody else is told"),
        }
    });
    // Whatever still waits for a disk or a process is given up.
    runtime.shutdown_timeout(Duration::from_secs(5));
    if arguments.no_output {
        let tries = summary.lanes.iter_mut().flat_map(|lane| &mut lane.iterations);
        tries.for_each(|one| one.record.final_message.clear());
    }
    if arguments.json {
        print_data(&format!("{}\n", serde_json::to_string_pretty(&summary)?));
    } else {
        print_data(&loop_text(&summary));
        next_commands(&summary);
    }
    kept.map(|()| summary.exit_code)
}

/// Ends what a tm that was killed left running, but for agents of a run, which are adopted; for whoever has just taken
/// the run lock, before anything else is started.
pub(crate) fn end_abandoned(project: &Project) -> Result<(), CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    found_cut_off(&runtime, project).map(drop)
}

fn found_cut_off(runtime: &Runtime, project: &Project) -> Result<Vec<CutOff>, CommandFailure> {
    let executor = tm_runtime::executor(&project.directory);
    match runtime.block_on(executor.end_abandoned())? {
        0 => {}
        1 => print_line("one process of tests or of a commit of before was still there and has been ended"),
        count => print_line(&format!(
            "{count} processes of tests or of a commit of before were still there and have been ended"
        )),
    }
    match remove_abandoned_folders() {
        0 => {}
        count => tracing::info!("{count} folders for temporary files of before have been removed"),
    }
    let found = runtime.block_on(clean_up(&project.directory))?;
    for CutOff { state, ended_processes } in &found {
        let processes = match ended_processes {
            0 => String::new(),
            count => format!("; {count} processes of its agent were still there and have been ended"),
        };
        let place = if state.is_under_way { "in" } else { "after" };
        print_line(&format!("the loop {} was cut off {place} iteration {}{processes}", state.id, state.iteration));
        if let Some((path, branch, _)) = &state.worktree {
            print_line(&format!("its work is on `{branch}`, what it had not committed is in {}", path.display()));
        }
    }
    Ok(found)
}

/// The backlog, which only a loop through it needs.
fn backlog(
    project: &Project,
    start: &Path,
    arguments: &LoopArguments,
    goal: Goal,
) -> Result<Option<(tm_store::backlog::BacklogSource, tm_store::backlog::Backlog)>, CommandFailure> {
    let path = arguments.backlog.as_ref().map(|path| start.join(path));
    let tag = arguments.tag.first().map(String::as_str);
    let is_needed = goal == Goal::Backlog || arguments.parallel || path.is_some() || tag.is_some();
    match project.backlog(path.as_deref(), tag, None) {
        Ok(found) => Ok(Some(found)),
        Err(failure) if is_needed => Err(failure),
        Err(_) => Ok(None),
    }
}

fn carry_out(
    runtime: &Runtime,
    lock: &mut RunLock,
    arguments: &LoopArguments,
    lanes: Vec<LoopSetup>,
    started_at: Timestamp,
) -> Result<(Vec<LaneOutcome>, Result<(), CommandFailure>), CommandFailure> {
    let talk = match (arguments.verbose, arguments.no_output) {
        (true, _) => Talk::Everything,
        (false, false) => Talk::FinalMessages,
        (false, true) => Talk::Nothing,
    };
    let mut display = LoopDisplay::new(Output::from(arguments.json), talk, lanes.len(), started_at);
    let outcomes = runtime.block_on(async {
        let (sender, stops) = stop_orders()?;
        let work = carry_out_loops(lanes, stops, |told| display.told(told));
        // A loop that is over hears nothing.
        let stop = || sender.send(StopMode::Gently).unwrap_or_default();
        let (outcomes, kept) = while_held(lock, work, stop).await;
        Ok::<_, CommandFailure>((outcomes?, kept))
    });
    display.finish();
    outcomes
}

fn summary(common: &Common<'_>, outcomes: &[LaneOutcome], progress: &[(Tag, String)]) -> LoopSummary {
    let lanes: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            let file = progress.iter().find(|(lane, _)| *lane == outcome.lane).map(|(_, file)| file.clone());
            let facts = LaneFacts {
                tag: outcome.lane.to_string(),
                status: outcome.status,
                reason: outcome.reason.clone(),
                branch: outcome.branch.clone(),
                progress_file: file.unwrap_or_default(),
            };
            (&outcome.machine, facts)
        })
        .collect();
    summarize_loop(
        &lanes,
        &LoopFacts {
            loop_id: common.id.to_string(),
            prompt: common.prompt.name(),
            agent: common.recipe.name.clone(),
            started_at: common.started_at,
            ended_at: outcomes.iter().map(|outcome| outcome.ended_at).max().unwrap_or(common.started_at),
            directory: common.directory.path().display().to_string(),
        },
    )
}

/// The command for completion, and the notices.
async fn aftermath(common: &Common<'_>, summary: &LoopSummary, channels: &[Channel]) {
    if let (Some(command), LoopStatus::AllComplete) = (&common.arguments.on_complete, summary.final_status) {
        on_complete(OnComplete {
            command,
            folder: common.project.repository.checkout_root(),
            log_folder: common.directory.path(),
            environment: vec![
                ("TM_LOOP_STATUS".into(), summary.final_status.as_str().into()),
                ("TM_LOOP_SUMMARY".into(), common.directory.summary_json().into()),
            ],
            id: common.id.as_str(),
        })
        .await;
    }
    let name = common.project.repository.checkout_root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = format!(
        "{name}: loop {}: {} ({} tasks completed, {} open)",
        summary.final_status, summary.reason, summary.tasks_completed, summary.tasks_open
    );
    deliver(channels, &Notice { text, summary }, common.directory.path()).await;
}

fn next_commands(summary: &LoopSummary) {
    for lane in &summary.lanes {
        if let Some(branch) = &lane.branch {
            print_line(&format!("next: `git log --stat ..{branch}`, and `git merge {branch}` when you are content"));
        }
    }
    match summary.final_status {
        LoopStatus::AllComplete => {}
        LoopStatus::Surroundings => print_line("next: see to it, then `tm loop` goes on from here"),
        LoopStatus::Blocked | LoopStatus::Error => {
            print_line(&format!("next: see the logs in {}, then `tm loop` again", summary.directory));
        }
        LoopStatus::MaxIterations | LoopStatus::Deadline | LoopStatus::Budget | LoopStatus::Interrupted => {
            print_line("next: `tm loop` goes on from here");
        }
    }
}
