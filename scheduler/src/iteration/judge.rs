//! Decides what an iteration came to, from what was seen alone.

use super::{
    BacklogView, Goal, IterationFailure, IterationStatus, LoopStatus, Marker, StatusShift,
    WorkChanges,
};
use crate::failure::last_line;
use crate::{AgentReport, AgentVerdict, Failure, Status, TaskId, Timestamp, judge_agent};

/// Why a loop through a backlog is complete.
pub(super) const NOTHING_LEFT: &str = "nothing is left to do";
/// The last line of an agent is kept to so many characters.
const LAST_WORDS_CHARACTERS: usize = 200;

/// Everything that was seen of one iteration.
pub(super) struct Seen<'a> {
    pub(super) goal: Goal,
    pub(super) report: &'a AgentReport,
    pub(super) claim: Option<&'a Marker>,
    pub(super) work: &'a WorkChanges,
    pub(super) verified: Option<&'a Result<(), String>>,
    pub(super) shifts: &'a [StatusShift],
    pub(super) after: &'a BacklogView,
}

/// What it came to.
#[derive(Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) status: IterationStatus,
    pub(super) failure: Option<IterationFailure>,
    pub(super) message: String,
    /// How the loop ends because of it, and why.
    pub(super) end: Option<(LoopStatus, String)>,
    /// When the service behind the agent may be asked again.
    pub(super) not_before: Option<Timestamp>,
}

impl Judged {
    const fn of(
        status: IterationStatus,
        message: String,
        end: Option<(LoopStatus, String)>,
    ) -> Self {
        Self {
            status,
            failure: None,
            message,
            end,
            not_before: None,
        }
    }

    fn failed(failure: IterationFailure, message: String) -> Self {
        Self {
            failure: Some(failure),
            ..Self::of(IterationStatus::Error, message, None)
        }
    }

    /// An iteration after which the backlog can't be read: nothing more can be known, so nothing more is started.
    pub(super) fn lost_backlog(self, why: String) -> Self {
        let end = match self.end {
            Some((LoopStatus::AllComplete, _)) | None => (LoopStatus::Error, why.clone()),
            Some(end) => end,
        };
        Self::of(IterationStatus::Error, why, Some(end))
    }
}

/// The agent's end first, then what it says, then what the tests and the backlog say.
///
/// "Blocked" is believed whatever the exit code, since stopping loses nothing; "complete" only when the agent ended
/// well, the tests pass, and the backlog does not contradict.
pub(super) fn judge(seen: &Seen<'_>) -> Judged {
    match (judge_agent(seen.report), seen.claim) {
        (
            AgentVerdict::WorthProving
            | AgentVerdict::Failed {
                failure: Failure::NoResult | Failure::ClaimedFail,
                ..
            },
            Some(Marker::Blocked(reason)),
        ) => {
            let end = (LoopStatus::Blocked, reason.clone());
            let message = format!("blocked: {reason}");
            Judged::of(IterationStatus::Blocked, message, Some(end))
        }
        (AgentVerdict::Interrupted, _) => {
            let stopped = "stopped".to_owned();
            let end = (LoopStatus::Interrupted, stopped.clone());
            Judged::of(IterationStatus::Interrupted, stopped, Some(end))
        }
        (
            AgentVerdict::Failed {
                failure,
                evidence,
                not_before,
            },
            _,
        ) => {
            let message = format!("{failure}: {evidence}{}", last_words(failure, seen.report));
            let end = ends_the_loop(failure).then(|| (LoopStatus::Error, message.clone()));
            Judged {
                end,
                not_before,
                ..Judged::failed(IterationFailure::Attempt(failure), message)
            }
        }
        (AgentVerdict::WorthProving, _) => judge_work(seen),
    }
}

/// What the agent printed last, where nothing else says why it failed.
fn last_words(failure: Failure, report: &AgentReport) -> String {
    let is_told =
        failure.is_told_by_last_words() || matches!(failure, Failure::TimedOut | Failure::Stalled);
    match last_line(report) {
        Some(last) if is_told => {
            let last: String = last.chars().take(LAST_WORDS_CHARACTERS).collect();
            format!("; it said last: {last}")
        }
        _ => String::new(),
    }
}

/// Trying again does not help where credentials are refused or the program is not there. What a model refuses, or can't hold,
/// may be another task in the next iteration.
const fn ends_the_loop(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::Auth | Failure::Stopped | Failure::NotStarted
    )
}

fn judge_work(seen: &Seen<'_>) -> Judged {
    if let Some(Err(why)) = seen.verified {
        let why = format!("the tests do not pass: {why}");
        return Judged::failed(IterationFailure::Unverified, why);
    }
    if let Some(why) = &seen.work.refused {
        let why = format!("{}: {why}", Failure::WorkRefused);
        return Judged::failed(IterationFailure::Attempt(Failure::WorkRefused), why);
    }
    let (open, happened) = (&seen.after.open, what_happened(seen));
    match (seen.goal, seen.claim) {
        (Goal::Marker, Some(Marker::Complete(reason))) => {
            let end = (LoopStatus::AllComplete, format!("the agent says {reason}"));
            let message = format!("complete: {reason}; {happened}");
            Judged::of(IterationStatus::Complete, message, Some(end))
        }
        (Goal::Backlog, _) if open.is_empty() => {
            let end = (LoopStatus::AllComplete, NOTHING_LEFT.to_owned());
            let message = format!("{happened}; {NOTHING_LEFT}");
            Judged::of(IterationStatus::Complete, message, Some(end))
        }
        (Goal::Backlog, Some(Marker::Complete(_))) => {
            let tasks = count(open.len() as u64, "task is", "tasks are");
            let open = some_of(open);
            let message = format!(
                "the agent says that everything is done, and {tasks} open: {open}; {happened}"
            );
            Judged::failed(IterationFailure::FalseCompletion, message)
        }
        (Goal::Backlog, _) if seen.work.is_empty() && seen.shifts.is_empty() => Judged::failed(
            IterationFailure::Attempt(Failure::NothingDone),
            "nothing-done: neither a file nor a status changed".to_owned(),
        ),
        (Goal::Backlog | Goal::Marker, _) => Judged::of(IterationStatus::Success, happened, None),
    }
}

/// Says what changed, and that nothing else did.
fn what_happened(seen: &Seen<'_>) -> String {
    let done: Vec<TaskId> = seen
        .shifts
        .iter()
        .filter(|shift| shift.is_completion())
        .map(|shift| shift.task.clone())
        .collect();
    let (ids, work) = (some_of(&done), what_changed(seen.work));
    match (done.len(), seen.goal) {
        (0, Goal::Marker) => work,
        (0, Goal::Backlog) => format!("no task was completed; {work}"),
        (1, _) => format!("task {ids} done; {work}"),
        (_, _) => format!("tasks {ids} done; {work}"),
    }
}

fn what_changed(work: &WorkChanges) -> String {
    let files = count(work.files, "file", "files");
    let commits = work.commits.len() as u64;
    match (work.files, commits) {
        _ if work.unseen.is_some() => "what changed could not be seen".to_owned(),
        (0, 0) => "no file changed".to_owned(),
        (_, 0) => format!("{files} changed, not committed"),
        (_, _) => format!("{}, {files} changed", count(commits, "commit", "commits")),
    }
}

/// The task that was worked on: the one that is done now, else the one in progress.
pub(super) fn task_of(shifts: &[StatusShift]) -> Option<TaskId> {
    let with = |status: Status| {
        shifts
            .iter()
            .find(|shift| shift.to.as_ref() == Some(&status))
    };
    let shift = with(Status::Done).or_else(|| with(Status::InProgress));
    Some(shift?.task.clone())
}

pub(super) fn some_of(ids: &[TaskId]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = ids.iter().take(SHOWN).map(TaskId::as_str).collect();
    let shown = shown.join(", ");
    match ids.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
