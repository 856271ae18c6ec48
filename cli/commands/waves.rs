//! `tm waves`.

use super::Perform;
use super::inspect::{ListRuns, LogsArguments, MetricsArguments, ReportArguments, StatusArguments};
use super::landing::LandArguments;
use super::plan::PlanArguments;
use super::run::{ResumeArguments, RunArguments};
use super::steering::{AddToRun, PauseArguments, RetryArguments, SkipArguments, StopArguments};
use crate::failure::Result;
use crate::watch::WatchArguments;

commands! {
    /// Commands on waves.
    Waves {
        /// Show what a run would do, and run nothing.
        Plan(PlanArguments),
        /// Run the backlog.
        Run(Box<RunArguments>),
        /// Let a paused run go on, or take up the last run where it stopped.
        Resume(ResumeArguments),
        /// Show where a run stands.
        Status(StatusArguments),
        /// Watch a run on the whole terminal, and steer it while it is live.
        Watch(WatchArguments),
        /// List the runs of this repository.
        List(ListRuns),
        /// Show the summary of a run.
        Report(ReportArguments),
        /// Show where a run stands, in the text format of Prometheus.
        Metrics(MetricsArguments),
        /// Merge the work of a run into the branch that you are on, after asking.
        Land(LandArguments),
        /// Show what the agent of a task printed.
        Logs(LogsArguments),
        /// Stop the live run, or one of its tasks; twice, or with --now, at once.
        Stop(StopArguments),
        /// Start nothing more in the live run until it is resumed; agents that work go on.
        Pause(PauseArguments),
        /// Give a task of the live run a fresh attempt.
        Retry(RetryArguments),
        /// Leave a task out of the live run.
        Skip(SkipArguments),
        /// Take a task of the backlog into the live run.
        Add(AddToRun),
    }
}
