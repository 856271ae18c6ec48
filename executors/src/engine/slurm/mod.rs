//! Slurm finds nodes for jobs: `sbatch` for each, one `squeue` for all of them every few seconds, `scancel` for those that
//! nobody wants any more. Knows nothing of what a job is; how one ends is told by its folder, and Slurm is believed on jobs
//! alone of which nothing is told.
//!
//! Where Slurm does not answer, jobs wait: what is to be started stays to be started, and nothing is taken for lost.

mod batch;
mod commands;
mod departed;
mod queue;
mod tending;

use super::Pending;
use super::node::{JobDescription, JobFolder, Launcher, Standing};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tending::Tended;
use tm_scheduler::Complexity;

/// The name in handles.
const NAME: &str = "slurm";

/// What a job asks Slurm for; what is not said is what the site gives.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SlurmRequest {
    /// The partition.
    pub partition: Option<String>,
    /// The account that is charged.
    pub account: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// The longest time, in Slurm's form.
    pub time: Option<String>,
    /// Processors.
    pub cpus: Option<u32>,
    /// Memory, in Slurm's form.
    pub mem: Option<String>,
    /// Generic resources, such as `gpu:1`.
    pub gres: Option<String>,
    /// Further arguments of `sbatch`.
    pub extra: Vec<String>,
}

/// What jobs ask for, by the size of their tasks.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SlurmRequests {
    /// Of jobs that are of no task, or of one for which nothing else is said.
    pub common: SlurmRequest,
    /// Of jobs of tasks of this size, as a whole.
    pub by_complexity: BTreeMap<Complexity, SlurmRequest>,
}

impl SlurmRequests {
    fn of(&self, complexity: Option<Complexity>) -> &SlurmRequest {
        let own = complexity.and_then(|size| self.by_complexity.get(&size));
        own.unwrap_or(&self.common)
    }
}

/// The jobs of one project, as Slurm sees them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SlurmJobs {
    /// The name that all of them have.
    pub name: String,
    /// This program, at the path that it has on the nodes.
    pub tm_program: PathBuf,
}

/// Has Slurm start jobs. Within a tokio runtime it tends them for as long as it is there.
#[derive(Debug)]
pub struct SlurmLauncher(Arc<Tended>);

impl SlurmLauncher {
    /// Has jobs of a project started, and so many at the most waiting in Slurm's queue at once.
    pub fn new(jobs: SlurmJobs, requests: SlurmRequests, most_waiting: usize) -> Self {
        Self(Arc::new(Tended::new(jobs, requests, most_waiting)))
    }
}

impl Launcher for SlurmLauncher {
    fn name(&self) -> &'static str {
        NAME
    }

    fn submit(&self, job: &JobFolder, about: &JobDescription) {
        self.0.add(job, Some(about));
    }

    fn take_over(&self, job: &JobFolder) {
        self.0.add(job, None);
    }

    fn standing(&self, job: &JobFolder) -> Standing {
        self.0.standing(job)
    }

    fn trouble(&self) -> Option<String> {
        self.0.trouble()
    }

    fn cancel(&self, job: &JobFolder) {
        self.0.cancel(job);
    }

    fn forget(&self, job: &JobFolder) {
        self.0.forget(job);
    }

    fn settled(&self) -> Pending<'_, ()> {
        Box::pin(self.0.settled())
    }
}
