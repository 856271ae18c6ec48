//! The seam for processes: whatever starts an agent, a set-up, a gate or a test asks an [`Executor`], and that an
//! [`Engine`]. Knows neither agents nor tests, and nothing of where processes run; that is the engine's.
//!
//! A further engine is one folder beside `local.rs`. DESIGN.md says what it owes, `contract_tests.rs` tries it on each.

#[cfg(test)]
mod contract_tests;
mod executor;
mod filter;
mod handle;
mod holding;
mod job_proxy;
mod job_record;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod local;
pub mod node;
mod place_finding;
mod secrets;
pub mod slurm;
mod tried_place;

pub use executor::Executor;
pub(crate) use executor::end_all;
pub use filter::{FILTER, end_filters, run_filter};
pub use handle::JobHandle;
pub use holding::{Holding, find_level};
pub(crate) use job_proxy::{JobProxy, ProxyFolder};
pub use local::LocalEngine;
pub use place_finding::{PlaceFinding, Soundness};
pub use secrets::Secret;
pub use tried_place::TriedPlace;

use crate::Error;
use crate::process::TreeCommand;
use std::fmt::{self, Debug};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;
use tm_scheduler::{StopSignal, Timestamp};

/// An answer that comes later.
pub type Pending<'a, Answer> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// Where jobs run: this machine, a sandbox on it, a cluster.
pub trait Engine: Debug + Send + Sync {
    /// Returns its name, which stands in the handles of its jobs.
    fn name(&self) -> &'static str;

    /// Tells one life of the place from another: nothing that was started in an earlier one is left.
    fn epoch(&self) -> String;

    /// Starts a command as a job, which goes on when this process dies.
    ///
    /// # Errors
    /// It could not be started; nothing of it is there.
    fn start<'a>(&'a self, command: &'a TreeCommand) -> Pending<'a, Result<Box<dyn Job>, Error>>;

    /// Takes over a job that an earlier process started; with no handle, whatever has the marks of its command.
    fn adopt<'a>(
        &'a self,
        handle: Option<&'a JobHandle>,
        env_markers: &'a [(String, String)],
    ) -> Pending<'a, Box<dyn Job>>;

    /// Ends whatever is left of jobs, whoever started them: for when none is to go on.
    fn clear(&self) -> Pending<'_, ()> {
        Box::pin(async {})
    }

    /// Tells whether it has jobs that an earlier process may have started, on other machines.
    fn has_jobs(&self) -> bool {
        false
    }

    /// Waits until nothing is left to be taken away of jobs that are over.
    fn settled(&self) -> Pending<'_, ()> {
        Box::pin(async {})
    }

    /// Returns what is in the way of all its jobs at the moment, in words for people: it does not answer, or has no room.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Tells whether the kernel of this machine sees what jobs write, so that it can tell of their files.
    fn writes_here(&self) -> bool;

    /// Gives the room of a part of a log back while a job appends to it; the part reads as zeros from then on.
    ///
    /// # Errors
    /// That can't be done here; the log is shortened once its job is gone.
    fn give_back(&self, log: &Path, part: Range<u64>) -> io::Result<()>;
}

/// A program with everything that it started, wherever that has gone since. Dropping it ends all of it.
pub trait Job: Debug + Send {
    /// Returns who it is, for whoever comes after this process; `None` when it was adopted without a handle.
    fn handle(&self) -> Option<JobHandle>;

    /// Tells whether the program goes on, or has yet to begin.
    fn is_running(&self) -> Pending<'_, bool>;

    /// Waits until the program runs, or never will, and returns since when; `None` where that is when it was started.
    /// Limits count from then on. May be dropped and called again.
    fn begun(&mut self) -> Pending<'_, Option<Timestamp>> {
        Box::pin(async { None })
    }

    /// Waits until the program has ended; what it started may go on. May be dropped and called again.
    ///
    /// # Errors
    /// It can't be watched.
    fn wait(&mut self) -> Pending<'_, Result<JobEnd, Error>>;

    /// Asks the program politely to stop, as a terminal does.
    fn signal(&self, signal: StopSignal);

    /// Ends everything that is left: asks all of it, and kills what is still there after `grace`; at once when that is
    /// zero.
    fn end(&mut self, grace: Duration) -> Pending<'_, Ending>;

    /// Returns where it is, where that is not this machine.
    fn whereabouts(&self) -> Option<Whereabouts> {
        None
    }

    /// Returns what its place has to say of how it went, for people, a sentence each.
    fn told(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Where a job is that does not run on this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Whereabouts {
    /// It waits for a place; holds why.
    Waiting(String),
    /// It runs, or ran, there: a node, and the job as its engine calls it.
    On(String),
}

impl Whereabouts {
    /// Returns where it runs, or ran.
    pub fn place(self) -> Option<String> {
        match self {
            Self::Waiting(_) => None,
            Self::On(place) => Some(place),
        }
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(why) => write!(formatter, "waits for a place: {why}"),
            Self::On(place) => write!(formatter, "runs on {place}"),
        }
    }
}

/// What became of a job that was to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// All of it is gone; so many processes were left besides the program.
    Gone(u32),
    /// Nobody could be reached who knows: some of it may go on, so nobody else may work where it did.
    OutOfReach,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JobEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Killed,
    /// Its place ended it, at a limit that the place has.
    TimedOut,
    /// Nobody can tell any more.
    Unknown,
}

impl JobEnd {
    /// Returns its exit code, where it has one.
    pub const fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Killed | Self::TimedOut | Self::Unknown => None,
        }
    }
}
