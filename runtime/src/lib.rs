//! Performs the scheduler's effects and feeds it what happened, in one loop.
//!
//! Every `if` about the domain is in the scheduler; here is what touches git, processes, files and the clock.

mod at_work;
mod attestation;
pub mod audit;
pub mod autopilot;
pub mod callers;
mod checkouts;
mod cleaned;
mod clock;
mod conventional;
mod crew;
mod error;
mod evidence;
mod header;
mod home;
mod integration;
mod launch;
mod learnt;
mod looking_ahead;
pub mod loops;
mod main_loop;
mod measurements;
pub mod notices;
mod parts;
mod ports;
pub mod preflight;
pub mod preparation;
mod proving;
mod replay;
mod resolving;
mod setup;
pub mod standing;
mod statuses;
pub mod steering;
mod steps;
mod trouble;

pub use checkouts::Checkouts;
pub use clock::now;
pub use crew::Told;
pub use error::Error;
pub use header::JournalHeader;
pub use home::home;
pub use integration::{Integration, Tip};
pub use main_loop::{Outcome, Run};
pub use measurements::Measurements;
pub use parts::{Parts, WrongParts};
pub use proving::{RedCommit, Work, prove, red_commit};
pub use replay::{Replayed, replay};
pub use setup::{AgentChoice, RunSetup, content_rules, environment, executor, rules, run_hooks, test_command};
pub use trouble::Trouble;
