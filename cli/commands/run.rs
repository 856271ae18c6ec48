//! `tm waves run` and `tm waves resume`: the way of a run, one value after the other.

use super::ci::tell_ci;
use super::plan::{order, overrides, plan_text};
use super::steering::resume_live;
use crate::arguments::{NotificationArguments, OnInterrupted, ResumeArguments, RunArguments};
use crate::ask::{confirmed, is_answered};
use crate::display::{Display, Output, print_data, print_line};
use crate::failure::CommandFailure;
use crate::flags::{Flags, word};
use crate::logging;
use crate::notices;
use crate::project::open_telling;
use std::num::NonZeroU32;
use std::path::Path;
use tm_app::{BrokenBase, Ended, Error, JournalTrust, Planned, Project, Ready, Session, Waiting};
use tm_config::Override;
use tm_reports::summary_markdown;
use tm_runtime::now;
use tm_scheduler::{RunStatus, exit_code};

pub(crate) async fn run(start: &Path, arguments: &RunArguments) -> Result<u8, CommandFailure> {
    let waiting = if arguments.wait {
        Waiting::Wait
    } else {
        Waiting::Refuse
    };
    let after = arguments.notifications.after.given().checked()?;
    let project = project(start, run_overrides(arguments), &arguments.notifications)?;
    let mut session = Session::open(project, after, waiting).await?;
    let ready = match (session.interrupted(), arguments.on_interrupted) {
        (Ok(None), _) => return Box::pin(begin(session, arguments)).await,
        (Ok(Some(interrupted)), OnInterrupted::Resume) => {
            print_line(&format!(
                "taking up the run {} where it stopped",
                interrupted.id()
            ));
            session
                .resume(interrupted, trust(arguments.trust_journal))
                .await?
        }
        (Ok(Some(interrupted)), OnInterrupted::Fresh) => {
            session.abandon(interrupted).await?;
            return Box::pin(begin(session, arguments)).await;
        }
        (Err(Error::UnreadableLastRun { error, run, folder }), OnInterrupted::Fresh) => {
            print_line(&format!("warning: failed to {error}"));
            print_line(&format!(
                "the run {run} is left as it is, in `{}`",
                folder.display()
            ));
            return Box::pin(begin(session, arguments)).await;
        }
        (Ok(Some(interrupted)), OnInterrupted::Fail) => {
            let failure = CommandFailure::new(format!(
                "start: the run {} was interrupted",
                interrupted.id()
            ));
            return Err(failure.hint(
                "`tm waves resume` takes it up, `--on-interrupted fresh` leaves it as it is",
            ));
        }
        (Err(error), _) => return Err(error.into()),
    };
    Box::pin(supervise(
        session,
        ready,
        arguments.notifications.json.into(),
    ))
    .await
}

async fn begin(mut session: Session, arguments: &RunArguments) -> Result<u8, CommandFailure> {
    let planned = session.plan(&order(&arguments.choice, arguments.base.as_deref()))?;
    if planned.plan.tasks.is_empty() {
        print_line("nothing to run: no open task can be planned");
        print_data(&tm_reports::plan_text(&planned.plan, &planned.limits));
        return Ok(0);
    }
    if !is_wanted(&session.project, &planned, arguments)? {
        print_line("nothing was run");
        return Ok(0);
    }
    let broken = BrokenBase::allowed_if(arguments.allow_broken_base);
    let ready = session.begin(planned, broken).await?;
    Box::pin(supervise(
        session,
        ready,
        arguments.notifications.json.into(),
    ))
    .await
}

pub(crate) async fn resume(
    start: &Path,
    arguments: &ResumeArguments,
) -> Result<u8, CommandFailure> {
    let after = arguments.notifications.after.given().checked()?;
    let given = Flags::default()
        .set(
            "waves.max_parallel",
            "--max-parallel",
            &arguments.max_parallel.map(NonZeroU32::get),
        )
        .set("waves.deadline", "--deadline", &arguments.deadline);
    let project = project(start, given.given(), &arguments.notifications)?;
    if let Some(code) = resume_live(&project, arguments)? {
        return Ok(code);
    }
    let mut session = Session::open(project, after, Waiting::Refuse).await?;
    let interrupted = session.named(arguments.run.as_deref())?;
    let ready = session
        .resume(interrupted, trust(arguments.trust_journal))
        .await?;
    Box::pin(supervise(
        session,
        ready,
        arguments.notifications.json.into(),
    ))
    .await
}

fn project(
    start: &Path,
    given: Vec<Override>,
    notifications: &NotificationArguments,
) -> Result<Project, CommandFailure> {
    tm_worktrees::check_git()?;
    open_telling(
        start,
        given,
        if notifications.json {
            notices::print_for_programs
        } else {
            notices::print
        },
    )
}

const fn trust(is_asked_for: bool) -> JournalTrust {
    if is_asked_for {
        JournalTrust::Trusted
    } else {
        JournalTrust::Proven
    }
}

fn is_wanted(
    project: &Project,
    planned: &Planned,
    arguments: &RunArguments,
) -> Result<bool, CommandFailure> {
    super::budget::note_what_is_not_measured(project);
    if !arguments.notifications.json {
        print_line(&plan_text(project, planned));
        let uncommitted: Vec<_> = project.repository.uncommitted()?;
        if !uncommitted.is_empty() {
            print_line(&format!(
                "{} uncommitted paths are not part of the run",
                uncommitted.len()
            ));
        }
    }
    if arguments.yes || arguments.notifications.json || !is_answered() {
        return Ok(true);
    }
    let question = format!("Run these {} tasks?", planned.plan.tasks.len());
    Ok(confirmed(&question, true)?)
}

async fn supervise(
    mut session: Session,
    ready: Ready,
    output: Output,
) -> Result<u8, CommandFailure> {
    logging::write_into(&ready.of.directory.log())?;
    tracing::info!(run = %ready.of.header.run_id, "the run begins");
    let mut display = Display::choose(output, now());
    let ended = session
        .run(ready, |at, told, scheduler| {
            display.told(at, told, scheduler);
        })
        .await;
    display.finish();
    let ended = ended?;
    let told = tell(&ended, output).await;
    let outcome = ended.conclude();
    told?;
    let outcome = outcome?;
    let why = outcome.scheduler.stop_reason();
    Ok(exit_code::of_run(outcome.status, why))
}

/// Shows what the run leaves, and tells whoever is to be told.
async fn tell(ended: &Ended, output: Output) -> Result<(), CommandFailure> {
    let summary = ended.report()?;
    if output == Output::People {
        print_data(&summary_markdown(&summary));
        next_commands(ended);
    }
    tell_ci(ended.of.after.ci.as_deref(), &summary, &ended.of.directory).await;
    ended.tell(&summary).await;
    Ok(())
}

fn next_commands(ended: &Ended) {
    print_line("next:");
    if matches!(
        ended.outcome.status,
        RunStatus::Interrupted | RunStatus::Stopped
    ) {
        print_line("  tm waves resume                 take the rest up");
    }
    print_line("  tm review                       see each branch, approve or reject it");
    print_line(&format!(
        "  git log --first-parent {}",
        ended.of.header.integration_branch
    ));
    print_line("  tm waves land                   merge it into your branch, when you are content");
    print_line(&format!(
        "report: {}",
        ended.of.directory.report().display()
    ));
}

/// Returns the settings that the flags of `run` give.
fn run_overrides(arguments: &RunArguments) -> Vec<Override> {
    overrides(&arguments.choice)
        .agent(&arguments.agent, &arguments.agent_command)
        .set("agent.model", "--model", &arguments.model)
        .set("agent.permissions", "--permissions", &arguments.permissions)
        .set("agent.timeout", "--timeout", &arguments.timeout)
        .set("test.command", "--test-command", &arguments.test_command)
        .set("waves.deadline", "--deadline", &arguments.deadline)
        .set("agent.max_cost", "--max-cost", &arguments.max_cost)
        .set(
            "agent.max_cost_per_task",
            "--max-cost-per-task",
            &arguments.max_cost_per_task,
        )
        .set("agent.max_tokens", "--max-tokens", &arguments.max_tokens)
        .set(
            "agent.max_tokens_per_task",
            "--max-tokens-per-task",
            &arguments.max_tokens_per_task,
        )
        .set("waves.retries", "--retries", &arguments.retries)
        .set(
            "tdd.strictness",
            "--strictness",
            &word(arguments.strictness),
        )
        .set("git.land", "--no-land", &arguments.no_land.then_some("off"))
        .given()
}
