//! Jobs on other machines: what tm and a node say to each other by files in a folder that both see, whichever engine finds
//! the node.
//!
//! tm asks an engine for a place, and what runs there is tm itself ([`run_copy`]), which starts the job as on any machine.
//! A job has one lease for good. Whoever takes it, one copy or tm, is the only one who decides what becomes of what the
//! job works on: a second copy ends itself before it has touched anything, and its end is never read.

mod folder;
mod job;
mod order;
mod remote;
mod runner;
#[cfg(test)]
pub(super) mod tests;
mod told;
mod tracked;

pub use folder::{Copy, JobFolder};
pub use remote::RemoteEngine;
pub use runner::{CopyEnd, run_copy};
pub(super) use tracked::{Tracked, TrackedJob, not_begun};

use crate::engine::Pending;
use std::fmt::Debug;
use tm_scheduler::Complexity;

/// The version of this program, which those on nodes are to have, too.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who finds nodes for jobs: it starts `tm node` there, sometime, and knows how that stands.
pub trait Launcher: Debug + Send + Sync {
    /// Returns the name of the engine.
    fn name(&self) -> &'static str;

    /// Returns what the engine calls one start of a job.
    fn noun(&self) -> &'static str {
        "job"
    }

    /// Tells whose variables jobs have besides those that tm says of each.
    fn variables(&self) -> VariablesOf {
        VariablesOf::Tm
    }

    /// Has a job started where and when there is room. What stands in the way is told by how it stands.
    fn submit(&self, job: &JobFolder, about: &JobDescription);

    /// Takes over a job that an earlier process had started.
    fn take_over(&self, job: &JobFolder);

    /// Returns how a job stands with the engine, as far as is known.
    fn standing(&self, job: &JobFolder) -> Standing;

    /// Returns what is in the way of all jobs at the moment; see [`crate::engine::Engine::trouble`].
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Tells whether the engine is sure that nothing is left of a copy of a job, as it is where a kernel has ended all of
    /// it at once. One that it has merely lost sight of is not.
    fn has_ended(&self, _copy: &Copy) -> bool {
        false
    }

    /// Has whatever the engine has of a job taken away, and forgets it.
    fn cancel(&self, job: &JobFolder);

    /// Forgets a job that has ended.
    fn forget(&self, job: &JobFolder);

    /// Waits until what is to be taken away has been.
    fn settled(&self) -> Pending<'_, ()>;
}

/// What a launcher is told of a job.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct JobDescription {
    /// What it is, in a few words for people who look at the engine's queue.
    pub title: String,
    /// How large its task is, where it has one that says.
    pub complexity: Option<Complexity>,
    /// The marks of its command.
    pub env_markers: Vec<(String, String)>,
}

/// Whose variables jobs have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VariablesOf {
    /// Those of the process that orders them.
    Tm,
    /// Those of where they run: what tm itself has goes nowhere.
    Node,
}

/// How a job stands with its engine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    /// It waits for a place; holds why, as the engine says.
    Waiting(String),
    /// The engine runs it.
    Running,
    /// The engine has ended it, or lost it; holds its words.
    Gone(Loss),
}

/// How an engine came to have a job no more.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Loss {
    /// At a limit of time that the engine has.
    TimedOut(String),
    /// Before it began, and another one would fare alike: something about the place has to be changed.
    Refused(String),
    /// In any other way.
    Lost(String),
}
