//! What happens as words, whatever task it happens to. Pure.

use itertools::Itertools as _;
use std::fmt::Display;
use tm_runtime::RunEvent;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{AccountName, AgentName, Event, StopReason, Strength, Timestamp, first_files};

/// Whether a line says that something is worth less than it looks.
pub(crate) fn is_weak(line: &str) -> bool {
    line.contains(Strength::ExitStatusOnly.as_str()) || line.contains("--allow-broken-base")
}

/// Whether it stays on the screen although bars show what goes on.
pub(crate) const fn is_milestone(run_event: &RunEvent) -> bool {
    !matches!(
        run_event,
        RunEvent::Event(
            Event::AttemptStarted { .. }
                | Event::TaskStarted { .. }
                | Event::TestRun { .. }
                | Event::CommitCreated { .. }
        )
    )
}

/// Why nothing more is started.
pub(crate) const fn stopping(why: StopReason) -> &'static str {
    match why {
        StopReason::Interrupted => "stopping; once more to stop at once",
        StopReason::Deadline => "the deadline has come; nothing more is started",
        StopReason::Surroundings => {
            "nothing more is started: a step can't be done now, see the error at the end"
        }
        StopReason::Breaker => {
            "nothing more is started: everything ends the same way, see the summary"
        }
        StopReason::Budget => "the budget is spent; nothing more is started",
    }
}

/// What happens to an agent.
pub(crate) fn agent_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::AgentLimited {
            agent,
            account,
            until,
            declared,
        } => limited(agent, account, *until, *declared),
        Event::AgentAvailable { account } => format!("`{account}` may be asked again"),
        Event::AgentRefused {
            agent, what_to_do, ..
        } => refused(agent, what_to_do),
        _ => return None,
    })
}

fn refused(agent: &AgentName, what_to_do: &str) -> String {
    let hint = match what_to_do {
        "" => String::new(),
        what_to_do => format!("; hint: {what_to_do}"),
    };
    format!("`{agent}` is not started any more, its service refused the credentials{hint}")
}

/// What work will conflict with.
pub(crate) fn ahead(files: &[String], with: &[impl Display]) -> String {
    let with = match with {
        [] => "what has landed".to_owned(),
        tasks => tasks.iter().join(", "),
    };
    format!("will conflict with {with} in {}", first_files(files))
}

/// How a conflict was resolved.
pub(crate) const fn resolved(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Union => ", with the added lines of both sides",
        Resolution::LockFile => ", with its lock files made again",
        Resolution::Driver => ", merged by `git.merge_driver`",
        Resolution::Agent => ", put together by its agent",
    }
}

/// A limit of a service, with the moment at which it ends.
fn limited(agent: &AgentName, account: &AccountName, until: Timestamp, declared: bool) -> String {
    let account = match account.as_str() {
        own if own == agent.as_str() => String::new(),
        other => format!(" ({other})"),
    };
    let why = if declared {
        "as its service says"
    } else {
        "then its service is asked again"
    };
    let until = moment(until);
    format!("`{agent}`{account} is at a limit: everybody who shares it waits until {until}, {why}")
}

/// Returns a moment as a clock at the wall shows it, with its date and zone.
fn moment(at: Timestamp) -> String {
    let milliseconds = i64::try_from(at.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(moment) => moment
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S %Z")
            .to_string(),
        Err(_) => "the end of time".to_owned(),
    }
}

/// Whether a letter may stand in a name that other programs take apart.
pub(crate) const fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}
