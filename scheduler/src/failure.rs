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
    /// Returns what follows from the failure.
    pub const fn policy(self) -> Policy {
        let usual = Policy {
            charged: true,
            pause: Pause::None,
            retried: true,
        };
        match self {
            Self::NotStarted => Policy {
                pause: Pause::Growing { first_ms: 1_000 },
                ..usual
            },
            Self::RateLimited => Policy {
                charged: false,
                pause: Pause::Growing { first_ms: 30_000 },
                ..usual
            },
            Self::Auth => Policy {
                retried: false,
                ..usual
            },
            Self::Stopped => Policy {
                charged: false,
                retried: false,
                ..usual
            },
            Self::Lost => Policy {
                charged: false,
                pause: Pause::Growing { first_ms: 1_000 },
                ..usual
            },
            Self::RedQuestioned => Policy {
                charged: false,
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
            | Self::Conflict
            | Self::LandingRegression
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
    /// How long to wait before the next attempt.
    pub pause: Pause,
    /// Whether there is a next attempt at all.
    pub retried: bool,
}

/// How long to wait before the next attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// Not at all.
    None,
    /// Twice as long each time that the same failure comes again, up to a longest one.
    Growing {
        /// The first pause in milliseconds.
        first_ms: u64,
    },
}

impl Pause {
    /// The longest pause in milliseconds.
    pub const LONGEST_MS: u64 = 600_000;

    /// Returns the pause in milliseconds after `repeats` failures of the same kind in a row, counted from 1.
    pub fn milliseconds(self, repeats: u32) -> u64 {
        self.milliseconds_at_most(repeats, Self::LONGEST_MS)
    }

    /// As `milliseconds`, with a longest pause of one's own.
    pub(crate) fn milliseconds_at_most(self, repeats: u32, longest_ms: u64) -> u64 {
        match self {
            Self::None => 0,
            Self::Growing { first_ms } => {
                let doublings = repeats.saturating_sub(1).min(20);
                first_ms.saturating_mul(1 << doublings).min(longest_ms)
            }
        }
    }
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

/// Judges how an agent ended: a refusal by its service first, then how the process ended, then what it claims.
///
/// Exit codes lie in both directions, so an exit with 0 and no result file is worth proving, and a valid result file
/// outweighs a bad exit code.
pub fn judge_agent(report: &AgentReport) -> AgentVerdict {
    let failed = |failure, evidence: String| AgentVerdict::Failed {
        failure,
        evidence,
        not_before: None,
    };
    if !report.escape.is_empty() {
        let paths = report.escape.join(", ");
        return failed(
            Failure::Escaped,
            format!("the user's checkout changed while the agent ran: {paths}"),
        );
    }
    match (&report.refusal, &report.result) {
        (Some(ServiceRefusal::RateLimited { until }), ResultFile::Missing) => {
            return AgentVerdict::Failed {
                failure: Failure::RateLimited,
                evidence: "the service behind the agent refused: rate or usage limit".to_owned(),
                not_before: *until,
            };
        }
        (Some(ServiceRefusal::Auth), ResultFile::Missing) => {
            return failed(
                Failure::Auth,
                "the service behind the agent refused the credentials".to_owned(),
            );
        }
        (Some(_) | None, _) => {}
    }
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
            failed(Failure::ClaimedFail, claim.issues.join("; "))
        }
        (_, ResultFile::Claimed(_))
        | (Ended::Exited(Some(0)) | Ended::Lingered, ResultFile::Missing) => {
            AgentVerdict::WorthProving
        }
        (Ended::Lost, ResultFile::Missing) => failed(
            Failure::Lost,
            "the process was gone when tm came back".to_owned(),
        ),
        (Ended::Exited(code), ResultFile::Missing) => {
            let how = code.map_or_else(
                || "by a signal".to_owned(),
                |code| format!("with exit code {code}"),
            );
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
