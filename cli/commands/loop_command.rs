//! `tm loop`: one agent after the other, each with a fresh context, until there is nothing left to do.

use super::sandbox;
use crate::arguments::LoopArguments;
use crate::display::{Output, print_data, print_json, print_line};
use crate::failure::CommandFailure;
use crate::flags::Flags;
use crate::loop_display::{LoopDisplay, Talk};
use crate::project::open;
use std::path::{Path, PathBuf};
use tm_app::{BrokenBase, Loop, LoopOrder};
use tm_config::Override;
use tm_reports::{LoopSummary, loop_text};
use tm_scheduler::iteration::LoopStatus;

pub(crate) async fn run(start: &Path, arguments: &LoopArguments) -> Result<u8, CommandFailure> {
    let start = match &arguments.project {
        Some(folder) => start.join(folder).canonicalize().map_err(|error| {
            CommandFailure::new(format!("work in `{}`: {error}", folder.display()))
        })?,
        None => start.to_owned(),
    };
    tm_worktrees::check_git()?;
    let project = open(&start, overrides(arguments))?;
    if arguments.sandbox {
        sandbox::get_ready(project.repository.checkout_root()).await?;
    }
    let ready = Loop::ready(project, &order(start, arguments)).await?;
    let talk = match (arguments.verbose, arguments.no_output) {
        (true, _) => Talk::Everything,
        (false, false) => Talk::FinalMessages,
        (false, true) => Talk::Nothing,
    };
    let mut display = LoopDisplay::new(
        Output::from(arguments.json),
        talk,
        ready.lanes.len(),
        ready.started_at,
    );
    let ended = ready.run(|told| display.told(told)).await;
    display.finish();
    let mut ended = ended?;
    tokio::select! {
        () = ended.tell() => {}
        _ = tokio::signal::ctrl_c() => print_line("interrupted: nobody else is told"),
    }
    let summary = &mut ended.summary;
    if arguments.no_output {
        let tries = summary
            .lanes
            .iter_mut()
            .flat_map(|lane| &mut lane.iterations);
        tries.for_each(|one| one.record.final_message.clear());
    }
    if arguments.json {
        print_json(summary)?;
    } else {
        print_data(&loop_text(summary));
        next_commands(summary);
    }
    ended.kept?;
    Ok(ended.summary.exit_code)
}

fn order(start: PathBuf, arguments: &LoopArguments) -> LoopOrder {
    LoopOrder {
        start,
        iterations: arguments.iterations,
        prompt: arguments.prompt.clone(),
        progress_file: arguments.progress_file.clone(),
        sleep: arguments.sleep,
        on_complete: arguments.on_complete.clone(),
        notify: arguments.notify.clone(),
        tag: arguments.tag.clone(),
        status: arguments.status.clone(),
        backlog: arguments.backlog.clone(),
        verify: arguments.verify,
        broken: BrokenBase::allowed_if(arguments.allow_broken_base),
        worktree: arguments.worktree,
        parallel: arguments.parallel,
        sandbox: arguments.sandbox,
        max_cost: arguments.max_cost,
    }
}

/// The settings that flags give.
fn overrides(arguments: &LoopArguments) -> Vec<Override> {
    Flags::default()
        .agent(&arguments.agent, &arguments.agent_command)
        .set("agent.model", "--model", &arguments.model)
        .set("agent.timeout", "--timeout", &arguments.timeout)
        .set("test.command", "--test-command", &arguments.test_command)
        .set("waves.deadline", "--deadline", &arguments.deadline)
        .set("waves.retries", "--retries", &arguments.retries)
        .given()
}

fn next_commands(summary: &LoopSummary) {
    for lane in &summary.lanes {
        if let Some(branch) = &lane.branch {
            print_line(&format!(
                "next: `git log --stat ..{branch}`, and `git merge {branch}` when you are content"
            ));
        }
    }
    match summary.final_status {
        LoopStatus::AllComplete => {}
        LoopStatus::Surroundings => print_line("next: see to it, then `tm loop` goes on from here"),
        LoopStatus::Blocked | LoopStatus::Error => {
            print_line(&format!(
                "next: see the logs in {}, then `tm loop` again",
                summary.directory
            ));
        }
        LoopStatus::MaxIterations
        | LoopStatus::Deadline
        | LoopStatus::Budget
        | LoopStatus::Interrupted => {
            print_line("next: `tm loop` goes on from here");
        }
    }
}
