//! The closed list of ways in which an attempt fails, each with its policy.
//!
//! Decides from facts what an attempt's end means; measures nothing itself.

use crate::{AgentReport, ClaimStatus, Ended, ResultFile, ServiceRefusal, Timestamp};

words! {
    /// Why an attempt failed.
    pub enum Failure {
        /// The agent, or its worktree, could not be started.
        NotStarted = "not-started",
        /// The service behind the agent refused for now.
        RateLimited = "rate-limited",
        /// The service behind the agent refused the credentials.
        Auth = "auth",
        /// The request is longer than what the model takes in at once.
        ContextTooLong = "context-too-long",
        /// The model, or what stands before it, refuses to work on this.
        RefusedByModel = "refused-by-model",
        /// The service behind the agent answers with errors of its own.
        ServiceError = "service-error",
        /// The connection to the service behind the agent was lost.
        ConnectionLost = "connection-lost",
        /// The attempt's time limit passed.
        TimedOut = "timed-out",
        /// Neither output nor file changes for the stall limit.
        Stalled = "stalled",
        /// The process vanished while no tm watched.
        Lost = "lost",
        /// It ended badly and left no result file.
        NoResult = "no-result",
        /// The result file can't be read.
        MalformedResult = "malformed-result",
        /// The agent itself says that the work is not done.
        ClaimedFail = "claimed-fail",
        /// RED: no new test fails.
        RedPassed = "red-passed",
        /// RED: the tests can't be run, or none are found.
        RedCannotRun = "red-cannot-run",
        /// RED: its GREEN showed that its tests may be wrong.
        RedQuestioned = "red-questioned",
        /// GREEN: tests of its RED still fail.
        GreenFailing = "green-failing",
        /// A test that passed before fails, is gone, or is newly skipped.
        Regression = "regression",
        /// GREEN: test files of its RED were changed.
        TestsTampered = "tests-tampered",
        /// Nothing was changed.
        NothingDone = "nothing-done",
        /// The work can't be merged with what has landed.
        Conflict = "conflict",
        /// The merged tree fails tests that neither side fails alone.
        LandingRegression = "landing-regression",
        /// The agent wrote into the user's checkout.
        Escaped = "escaped",
        /// git refused the commit: a hook, signing, a broken configuration.
        CommitRefused = "commit-refused",
        /// What the agent left can't be taken as work: a repository within the worktree, git's own files changed, a link that
        /// leads out of the tree, or anything else that git refuses.
        WorkRefused = "work-refused",
        /// A gate of the project's own fails, or a reviewer rejects the work.
        GateFailed = "gate-failed",
        /// Somebody stopped the task.
        Stopped = "stopped",
    }
}

impl Failure {
    /// Tells whether the agent's own last words say why: it ended, or was failed by its service, before anything was measured.
    pub(crate) const fn is_told_by_last_words(self) -> bool {
        self.is_of_service() || matches!(self, Self::NoResult)
    }

    /// Tells whether it is what the service behind the agent did.
    pub const fn is_of_service(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Auth
                | Self::ContextTooLong
                | Self::RefusedByModel
                | Self::ServiceError
                | Self::ConnectionLost
        )
    }

    /// Returns what follows from the failure.
    pub const fn policy(self) -> Policy {
        let usual = Policy {
            charged: true,
            first_pause_ms: 0,
            retried: Retried::ByAnybody,
            of_surroundings: true,
        };
        match self {
            Self::NotStarted => Policy {
                first_pause_ms: 1_000,
                ..usual
            },
            Self::RateLimited => Policy {
                charged: false,
                first_pause_ms: 30_000,
                of_surroundings: false,
                ..usual
            },
            Self::Auth | Self::ContextTooLong | Self::RefusedByModel => Policy {
                retried: Retried::ByAnother,
                of_surroundings: false,
                ..usual
            },
            Self::ServiceError | Self::ConnectionLost => Policy {
                first_pause_ms: 30_000,
                ..usual
            },
            Self::Stopped => Policy {
                charged: false,
                retried: Retried::ByNobody,
                of_surroundings: false,
                ..usual
            },
            Self::Lost => Policy {
                charged: false,
                first_pause_ms: 1_000,
                ..usual
            },
            Self::RedQuestioned => Policy {
                charged: false,
                of_surroundings: false,
                ..usual
            },
            Self::Conflict | Self::LandingRegression => Policy {
                of_surroundings: false,
                ..usual
            },
            Self::TimedOut
            | Self::Stalled
            | Self::NoResult
            | Self::MalformedResult
            | Self::ClaimedFail
            | Self::RedPassed
            | Self::RedCannotRun
            | Self::GreenFailing
            | Self::Regression
            | Self::TestsTampered
            | Self::NothingDone
            | Self::Escaped
            | Self::CommitRefused
            | Self::WorkRefused
            | Self::GateFailed => usual,
        }
    }
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Policy {
    /// Whether the attempt counts against `--retries`.
    pub charged: bool,
    /// How long to wait before the next attempt, in milliseconds, when this failure comes for the first time in a row.
    pub first_pause_ms: u64,
    /// Who makes the next attempt.
    pub retried: Retried,
    /// Whether such an end may be that of everybody. Limits of services, refused credentials and orders of people have
    /// rules of their own; work that meets other work shows that something passed.
    pub of_surroundings: bool,
}

impl Policy {
    /// The longest pause in milliseconds, where nothing else is said.
    pub(crate) const LONGEST_PAUSE_MS: u64 = 600_000;

    /// Returns how long to wait, in milliseconds, after so many failures of the same kind in a row, counted from 1: twice
    /// as long each time, up to a longest pause.
    pub(crate) fn pause_ms(self, repeats: u32, longest_ms: u64) -> u64 {
        let doublings = repeats.saturating_sub(1).min(20);
        self.first_pause_ms
            .saturating_mul(1 << doublings)
            .min(longest_ms)
    }
}

/// Who may try again after a failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Retried {
    /// Whoever has the turn, the same agent among them.
    ByAnybody,
    /// An agent for whom something is different; such an attempt is not charged.
    ByAnother,
    /// Nobody.
    ByNobody,
}

/// So much of a question is quoted.
const QUESTION_CHARACTERS: usize = 300;

/// What an ended agent process means for its attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentVerdict {
    /// The work is worth proving.
    WorthProving,
    /// tm stopped it because the run stops; no fault of the agent's.
    Interrupted,
    /// The attempt failed.
    Failed {
        /// Why.
        failure: Failure,
        /// One line for people and for the next attempt's prompt.
        evidence: String,
        /// When the service said that it may be asked again.
        not_before: Option<Timestamp>,
    },
}

impl AgentVerdict {
    pub(crate) fn failed(failure: Failure, evidence: impl Into<String>) -> Self {
        Self::Failed {
            failure,
            evidence: evidence.into(),
            not_before: None,
        }
    }
}

/// Judges how an agent ended: what its service failed it by first, then how the process ended, then what it claims.
///
/// Exit codes lie in both directions, so an exit with 0 and no result file is worth proving, and a valid result file
/// outweighs a bad exit code.
pub fn judge_agent(report: &AgentReport) -> AgentVerdict {
    if !report.escape.is_empty() {
        let paths = report.escape.join(", ");
        return AgentVerdict::failed(
            Failure::Escaped,
            format!("the user's checkout changed while the agent ran: {paths}"),
        );
    }
    match (&report.refusal, &report.result) {
        (Some(refusal), ResultFile::Missing) => judge_refusal(refusal),
        (Some(_) | None, _) => judge_end(report),
    }
}

fn judge_refusal(refusal: &ServiceRefusal) -> AgentVerdict {
    let (failure, evidence) = match refusal {
        ServiceRefusal::RateLimited { .. } => (
            Failure::RateLimited,
            "the service behind the agent refused: rate or usage limit",
        ),
        ServiceRefusal::Auth => (
            Failure::Auth,
            "the service behind the agent refused the credentials",
        ),
        ServiceRefusal::ContextTooLong => (
            Failure::ContextTooLong,
            "the request is longer than what the model takes in at once",
        ),
        ServiceRefusal::RefusedByModel => {
            (Failure::RefusedByModel, "the model refuses to work on this")
        }
        ServiceRefusal::ServiceError => (
            Failure::ServiceError,
            "the service behind the agent answers with errors",
        ),
        ServiceRefusal::ConnectionLost => (
            Failure::ConnectionLost,
            "the connection to the service behind the agent was lost",
        ),
    };
    AgentVerdict::Failed {
        failure,
        evidence: evidence.to_owned(),
        not_before: refusal.until(),
    }
}

/// Judges how the process ended, then what it claims.
fn judge_end(report: &AgentReport) -> AgentVerdict {
    let failed = |failure, evidence: String| AgentVerdict::failed(failure, evidence);
    match (&report.ended, &report.result) {
        (Ended::NotStarted(why), _) => failed(Failure::NotStarted, why.clone()),
        (Ended::Killed, _) => AgentVerdict::Interrupted,
        (Ended::TimedOut, _) => failed(
            Failure::TimedOut,
            format!("the attempt's time limit passed{}", asks(report)),
        ),
        (Ended::Stalled, _) => failed(
            Failure::Stalled,
            format!(
                "neither output nor file changes for the stall limit{}",
                asks(report)
            ),
        ),
        (_, ResultFile::Malformed(why)) => {
            failed(Failure::MalformedResult, format!("the result file: {why}"))
        }
        (_, ResultFile::Claimed(claim)) if claim.status == ClaimStatus::Fail => {
            let why = match claim.issues.join("; ") {
                why if why.trim().is_empty() => {
                    "the result says fail and gives no reason".to_owned()
                }
                why => why,
            };
            failed(Failure::ClaimedFail, why)
        }
        (_, ResultFile::Claimed(_))
        | (Ended::Exited(Some(0)) | Ended::Lingered, ResultFile::Missing) => {
            AgentVerdict::WorthProving
        }
        (Ended::Lost, ResultFile::Missing) => {
            // Whoever had it started elsewhere says what became of it.
            let told = report.noticed.first().map(String::as_str);
            let gone = "the process was gone when tm came back";
            AgentVerdict::failed(Failure::Lost, told.unwrap_or(gone))
        }
        (Ended::Exited(code), ResultFile::Missing) => {
            let how = match code {
                Some(code) => format!("with exit code {code}"),
                None => "by a signal".to_owned(),
            };
            failed(
                Failure::NoResult,
                format!("the agent ended {how} and left no result file"),
            )
        }
    }
}

/// What the agent seems to wait for an answer to, in words; empty when it asked nothing.
fn asks(report: &AgentReport) -> String {
    let last = last_line(report).unwrap_or_default();
    let lower = last.to_lowercase();
    let offers = [
        "y/n",
        "yes/no",
        "press enter",
        "press any key",
        "continue? ",
    ];
    let is_question =
        last.ends_with(['?', '>']) || offers.iter().any(|offer| lower.contains(offer));
    let is_prompt = last.ends_with(':')
        && ["password", "passphrase", "username", "login"]
            .iter()
            .any(|word| lower.contains(word));
    if !is_question && !is_prompt {
        return String::new();
    }
    let question: String = last.chars().take(QUESTION_CHARACTERS).collect();
    format!("; it seems to wait for an answer to: {question}")
}

/// What the agent said last, in one line.
pub(crate) fn last_line(report: &AgentReport) -> Option<&str> {
    report
        .last_words
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
}
