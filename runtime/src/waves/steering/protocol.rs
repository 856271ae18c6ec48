//! What is said over the socket of the live run: one JSON object a line, each call answered by one line.
//!
//! Versioned: keys and verbs may be added, never renamed; a call of another version is answered by an error that names
//! the version that is understood.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tm_scheduler::{Dependants, Refusal, Request, RunStatus, Scheduler, State, StopMode, TaskId};
use tm_store::run::{ControlSocket, ProjectDirectory};

/// How long an answer may take; the run answers at once, but for a disk that is slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer in bytes.
const LONGEST: u64 = 1 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody listens: no run is live, or it can't be reached.
    #[error("reach the live run")]
    Nobody,
    /// The connection broke off.
    #[error("hear from the live run")]
    Broken(#[from] io::Error),
    /// The answer is none of this protocol.
    #[error("understand the answer of the live run")]
    Malformed(#[from] serde_json::Error),
}

/// Calls the live run of a project.
///
/// # Errors
/// Nobody listens, or there is no answer that can be understood.
pub fn call(project: &ProjectDirectory, ask: &Ask) -> Result<Reply, CallError> {
    let socket = ControlSocket::of(project).ok_or(CallError::Nobody)?;
    let mut stream = UnixStream::connect(socket).map_err(|_| CallError::Nobody)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(ask.line().as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream.take(LONGEST)).read_line(&mut line)? == 0 {
        return Err(CallError::Broken(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(serde_json::from_str(&line)?)
}

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// A call.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Ask {
    /// Say how the run stands.
    Status,
    /// Start nothing more.
    Pause,
    /// Start things again.
    Resume,
    /// Stop the run.
    Stop {
        /// At once, instead of when the agents under way have ended.
        #[serde(default)]
        now: bool,
    },
    /// Stop one task.
    StopTask {
        /// The task.
        task: TaskId,
        /// At once, instead of within the grace period.
        #[serde(default)]
        now: bool,
    },
    /// Give a task a fresh attempt.
    Retry {
        /// The task.
        task: TaskId,
    },
    /// Leave a task out.
    Skip {
        /// The task.
        task: TaskId,
        /// Whether those that depend on it go on without it.
        #[serde(default)]
        satisfied: bool,
    },
    /// Take in a task of the backlog.
    Add {
        /// The task.
        task: TaskId,
    },
    /// Note that tm refused something to the caller, an agent of the run.
    Refused {
        /// The command.
        what: String,
    },
}

impl Ask {
    /// Returns the command that does this, for what only the run's user may do.
    pub(crate) const fn command_of_user(&self) -> Option<&'static str> {
        match self {
            Self::Status | Self::Refused { .. } => None,
            Self::Pause => Some("tm waves pause"),
            Self::Resume => Some("tm waves resume"),
            Self::Stop { .. } | Self::StopTask { .. } => Some("tm waves stop"),
            Self::Retry { .. } => Some("tm waves retry"),
            Self::Skip { .. } => Some("tm waves skip"),
            Self::Add { .. } => Some("tm waves add"),
        }
    }

    /// Reads a call.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Reply> {
        let refused =
            |reason, why: String| Reply::failed(reason, format!("understand the call: {why}"));
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| refused("malformed", error.to_string()))?;
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(other) => {
                return Err(refused(
                    "version",
                    format!("its version is {other}, this tm understands {VERSION}"),
                ));
            }
            None => {
                return Err(refused(
                    "version",
                    format!("it has no `version`, this tm understands {VERSION}"),
                ));
            }
        }
        serde_json::from_value(value).map_err(|error| refused("malformed", error.to_string()))
    }

    /// Returns the call as a line.
    pub(crate) fn line(&self) -> String {
        line(self)
    }

    /// Returns what the scheduler is to be asked, for the calls that are requests as they stand.
    pub(crate) fn request(&self) -> Option<Request> {
        match self {
            Self::Status | Self::Stop { .. } | Self::Add { .. } | Self::Refused { .. } => None,
            Self::Pause => Some(Request::Pause),
            Self::Resume => Some(Request::Continue),
            Self::StopTask { task, now } => Some(Request::StopTask {
                task: task.clone(),
                order: stop_mode(*now),
            }),
            Self::Retry { task } => Some(Request::Retry(task.clone())),
            Self::Skip { task, satisfied } => {
                let dependants = if *satisfied {
                    Dependants::Released
                } else {
                    Dependants::Blocked
                };
                Some(Request::Skip {
                    task: task.clone(),
                    dependants,
                })
            }
        }
    }
}

/// How soon a run or a task is to stop.
pub(crate) const fn stop_mode(now: bool) -> StopMode {
    if now { StopMode::Now } else { StopMode::Gently }
}

/// The answer to a call.
#[derive(Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether it was done.
    pub ok: bool,
    /// What was done, or what was not, as a fragment that follows "failed to".
    pub message: String,
    /// Why it was not done, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How the run stands after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunStanding>>,
}

/// How a run stands, in short.
#[derive(Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct RunStanding {
    /// The run.
    pub run_id: String,
    /// `running`, `paused`, `stopping`, or how it ended.
    pub status: String,
    /// Attempts that hold a slot.
    pub running: u32,
    /// Tasks that have landed, or are proven and stay on their branch.
    pub landed: usize,
    /// Tasks that failed or are blocked.
    pub failed: usize,
    /// All tasks.
    pub tasks: usize,
}

impl Reply {
    /// Returns the answer that something was done.
    pub fn done(message: impl Into<String>) -> Self {
        Self {
            ok: true,
            message: message.into(),
            reason: None,
            run: None,
        }
    }

    /// Returns the answer that something was not done.
    pub fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self {
            ok: false,
            message: message.into(),
            reason: Some(reason.to_owned()),
            run: None,
        }
    }

    /// Returns the answer of a refusal.
    pub(crate) fn refused(refusal: &Refusal) -> Self {
        Self::failed(refusal.why.as_str(), refusal.to_string())
    }

    /// Adds how the run stands.
    pub(crate) fn with(mut self, run_id: &str, scheduler: &Scheduler) -> Self {
        self.run = Some(Box::new(RunStanding::of(run_id, scheduler)));
        self
    }

    /// Returns the answer as a line.
    pub fn line(&self) -> String {
        line(self)
    }
}

impl RunStanding {
    fn of(run_id: &str, scheduler: &Scheduler) -> Self {
        let count = |wanted: fn(&State) -> bool| {
            scheduler.tasks().filter(|view| wanted(view.state)).count()
        };
        let status = match (
            scheduler.ended(),
            scheduler.stop_reason(),
            scheduler.is_paused(),
        ) {
            (Some(status), _, _) => RunStatus::as_str(status),
            (None, Some(_), _) => "stopping",
            (None, None, true) => "paused",
            (None, None, false) => "running",
        };
        Self {
            run_id: run_id.to_owned(),
            status: status.to_owned(),
            running: scheduler.slots_in_use(),
            landed: count(|state| matches!(state, State::Landed { .. } | State::Held { .. })),
            failed: count(|state| matches!(state, State::Failed { .. } | State::Blocked { .. })),
            tasks: scheduler.tasks().count(),
        }
    }
}

/// Puts the version before the fields and a line break behind them.
fn line(value: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        version: u32,
        #[serde(flatten)]
        value: &'a T,
    }
    let mut line = serde_json::to_string(&Versioned {
        version: VERSION,
        value,
    })
    .expect("plain values become JSON");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_read_as_they_are_written() {
        let task = TaskId::from("3:red");
        for (ask, text) in [
            (Ask::Pause, r#"{"version":1,"do":"pause"}"#),
            (
                Ask::Stop { now: true },
                r#"{"version":1,"do":"stop","now":true}"#,
            ),
            (
                Ask::StopTask {
                    task: task.clone(),
                    now: false,
                },
                r#"{"version":1,"do":"stop-task","task":"3:red","now":false}"#,
            ),
            (
                Ask::Skip {
                    task,
                    satisfied: true,
                },
                r#"{"version":1,"do":"skip","task":"3:red","satisfied":true}"#,
            ),
        ] {
            assert_eq!(ask.line(), format!("{text}\n"));
            assert_eq!(Ask::parse(text.as_bytes()), Ok(ask));
        }
    }

    #[test]
    fn what_is_left_out_is_the_gentle_way() {
        let parsed = Ask::parse(br#"{"version":1,"do":"stop-task","task":"3","later":"keys"}"#);
        assert_eq!(
            parsed,
            Ok(Ask::StopTask {
                task: "3".into(),
                now: false
            })
        );
    }

    #[test]
    fn garbage_and_other_versions_are_named() {
        for (line, reason) in [
            (&b"\xff\x00"[..], "malformed"),
            (b"[]", "version"),
            (br#"{"do":"pause"}"#, "version"),
            (br#"{"version":2,"do":"pause"}"#, "version"),
            (br#"{"version":1,"do":"format-disk"}"#, "malformed"),
            (br#"{"version":1,"do":"retry"}"#, "malformed"),
        ] {
            let reply = Ask::parse(line).expect_err("a refusal");
            assert_eq!(
                (reply.ok, reply.reason.as_deref()),
                (false, Some(reason)),
                "{reply:?}"
            );
        }
    }
}
