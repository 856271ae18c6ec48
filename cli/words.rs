//! Events as words. Pure: what happened in, a line out.

use itertools::Itertools as _;
use tm_reports::human_duration;
use tm_runtime::RunEvent;
use tm_scheduler::merging::Resolution;
use tm_scheduler::{
    AccountName, AgentName, Dependants, Event, Phase, StopReason, Strength, TaskId, Timestamp,
};

/// Returns the line for something that happened; `None` for what needs no line.
pub(crate) fn told(run_event: &RunEvent) -> Option<String> {
    match run_event {
        RunEvent::Event(happened) => event(happened),
        RunEvent::Warning(warning) => Some(format!("warning: {warning}")),
        RunEvent::Setup { place, took_ms } => Some(format!(
            "{place} is set up, which took {}",
            human_duration(*took_ms)
        )),
        _ => None,
    }
}

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

fn event(event: &Event) -> Option<String> {
    run_event(event)
        .or_else(|| attempt_event(event))
        .or_else(|| agent_event(event))
        .or_else(|| task_event(event))
}

fn run_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted {
            tasks,
            waves,
            max_parallel,
        } => {
            format!(
                "{tasks} tasks in {waves} waves, at most {max_parallel} agents at the same time"
            )
        }
        Event::RunResumed { landed, under_way } => {
            format!("taken up: {landed} tasks have landed, {under_way} were under way")
        }
        Event::WaveOpened { wave, tasks } => format!("wave {wave} begins, {tasks} tasks"),
        Event::RunPaused { why: None } => {
            "paused; nothing more is started until `tm waves resume`".to_owned()
        }
        Event::RunPaused { why: Some(why) } => {
            format!("paused, nothing more is started until `tm waves resume`: {why}")
        }
        Event::RunContinued => "the run goes on after the pause".to_owned(),
        Event::RunStopping { why } => stopping(*why).to_owned(),
        Event::RunEnded { status, .. } => format!("the run is {}", status.as_str()),
        _ => return None,
    })
}

const fn stopping(why: StopReason) -> &'static str {
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

fn attempt_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::AttemptStarted {
            task,
            attempt,
            phase,
            branch,
            ..
        } => {
            format!("{task}{} attempt {attempt} on {branch}", phase_word(*phase))
        }
        Event::AttemptEnded {
            task,
            attempt,
            failure: Some(failure),
            reason,
        } => {
            format!("{task} attempt {attempt} failed: {failure}: {reason}")
        }
        Event::TestRun {
            task,
            passed,
            failed,
            holds,
            strength,
            ..
        } => {
            format!(
                "{task} tests: {}",
                strength.describe(*passed, *failed, *holds)
            )
        }
        Event::CommitCreated {
            task,
            commit,
            branch,
        } => {
            format!("{task} committed {commit:.10} on {branch}")
        }
        Event::RefactorEnded {
            task,
            dropped: None,
            commit,
        } => {
            format!("{task} improved as {commit:.10}")
        }
        Event::RefactorEnded {
            task,
            dropped: Some(why),
            ..
        } => format!("{task} stays as it was: {why}"),
        _ => return None,
    })
}

fn agent_event(event: &Event) -> Option<String> {
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

fn task_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::TaskWaiting { task, failure, .. } => {
            format!("{task} waits before the next attempt: {failure}")
        }
        Event::TaskOverBudget { task } => {
            format!("{task} has spent its budget; no further attempt is started")
        }
        Event::ConflictAhead { task, files, with } => format!("{task} {}", ahead(files, with)),
        Event::TaskLanded {
            task,
            commit,
            resolution,
        } => {
            let how = resolution.map_or("", resolved);
            format!("{task} landed as {commit:.10}{how}")
        }
        Event::TaskFailed {
            task,
            failure,
            reason,
        } => format!("{task} is given up: {failure}: {reason}"),
        Event::TaskBlocked { task, by } => format!("{task} is blocked by {}", by.iter().join(", ")),
        Event::TaskStopping { task, why } => format!("{task} is ended: {why}"),
        Event::TaskSkipped {
            task,
            dependants: Dependants::Blocked,
        } => format!("{task} is skipped"),
        Event::TaskSkipped {
            task,
            dependants: Dependants::Released,
        } => {
            format!("{task} is skipped; what depends on it goes on without it")
        }
        Event::TaskReopened { task } => format!("{task} is taken in again"),
        Event::TaskUnblocked { task } => format!("{task} is blocked no more"),
        Event::TaskAdded {
            task, wave, title, ..
        } => format!("{task} joins the run in wave {wave}: {title}"),
        _ => return None,
    })
}

/// What work will conflict with.
pub(crate) fn ahead(files: &[String], with: &[TaskId]) -> String {
    let with = match with {
        [] => "what has landed".to_owned(),
        tasks => tasks.iter().join(", "),
    };
    format!("will conflict with {with} in {}", files.join(", "))
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

const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Red => " RED",
        Phase::Green => " GREEN",
        Phase::None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_scheduler::{AttemptNumber, Failure};

    #[test]
    fn events_read_as_lines() {
        let failed = Event::AttemptEnded {
            task: "4".into(),
            attempt: AttemptNumber(1),
            failure: Some(Failure::GreenFailing),
            reason: "1 of RED's 2 tests do not pass:".into(),
        };
        assert_eq!(
            event(&failed).as_deref(),
            Some("4 attempt 1 failed: green-failing: 1 of RED's 2 tests do not pass:")
        );
        let landed = Event::TaskLanded {
            task: "4".into(),
            commit: "0123456789abcdef".into(),
            resolution: None,
        };
        assert_eq!(event(&landed).as_deref(), Some("4 landed as 0123456789"));
    }
}
