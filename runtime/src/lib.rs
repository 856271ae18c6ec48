//! Performs the scheduler's effects and feeds it what happened: one tenant a folder (`waves`, `loops`, `autopilot`), and
//! beside them what they share.
//!
//! Every `if` about the domain is in the scheduler; here is what touches git, processes, files and the clock.

mod attempt;
pub mod audit;
pub mod autopilot;
pub mod callers;
mod checkouts;
mod clock;
mod conventional;
mod error;
mod holding;
mod hooks;
pub mod kubernetes;
mod launchers;
pub mod loops;
pub mod notices;
pub mod preflight;
mod project_place;
mod proving;
mod run_event;
mod setup;
pub mod standing;
mod step_error;
mod test_queue;
mod trailers;
mod waves;

pub use checkouts::{Checkouts, end_tear_downs, preparation};
pub use clock::now;
pub use error::Error;
pub use holding::{executor, filter_holder, git_around, reach_of_unheld, starting_on};
pub use hooks::HookRules;
pub use project_place::{
    project_place, repository_of_project, repository_of_worktree, shared_folder,
};
pub use proving::{Parts, RedCommit, TestResultCache, Work, prove, red_commit};
pub use run_event::RunEvent;
pub use setup::{
    attempt_limits, content_rules, environment, home, home_of_checkout, never_commit, rules,
    run_hooks, test_command, tests_at_once,
};
pub use step_error::{StepError, threads_that_wait};
pub(crate) use step_error::{blocking, briefly, describe, in_background};
pub use test_queue::{PlaceNews, TestQueue, Turn};
pub use waves::steering;
pub use waves::{
    AgentChoice, Integration, JournalHeader, Outcome, Replayed, Run, RunBacklog, RunSetup, Tip,
    gate_phase, place_asked_for, replay, with_found_out, with_section,
};
