//! The jobs that a launcher has, or is to have: which of them have yet to be asked for, and how each stands. The same for
//! every engine; how it is asked, and what it says, is its own.

use super::{JobDescription, JobFolder, Loss, Standing};
use std::collections::BTreeMap;

/// All jobs that a launcher tracks.
#[derive(Debug)]
pub(crate) struct Tracked<More> {
    /// The engine, as people call it.
    engine: &'static str,
    pub(crate) jobs: BTreeMap<JobFolder, TrackedJob<More>>,
    /// Why no job is taken at the moment, or nobody answers.
    trouble: Option<String>,
}

/// One job as it is tracked.
#[derive(Clone, Debug)]
pub(crate) struct TrackedJob<More> {
    /// What it is, as long as the engine is to be asked for it.
    pub(crate) unsent: Option<JobDescription>,
    pub(crate) standing: Standing,
    /// What its engine is known to have of it.
    pub(crate) more: More,
}

impl<More> TrackedJob<More> {
    /// Whether the engine has it, and nothing is known of its end.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.unsent.is_none() && !matches!(self.standing, Standing::Gone(_))
    }

    const fn waits(&self) -> bool {
        matches!(self.standing, Standing::Waiting(_))
    }
}

impl<More> Tracked<More> {
    pub(crate) const fn new(engine: &'static str) -> Self {
        Self {
            engine,
            jobs: BTreeMap::new(),
            trouble: None,
        }
    }

    /// Tracks a job from now on: one that is to be sent, or one that an earlier process has sent.
    pub(crate) fn add(&mut self, job: &JobFolder, about: Option<&JobDescription>, more: More) {
        let tracked = TrackedJob {
            unsent: about.cloned(),
            standing: Standing::Waiting(format!("it is about to be sent to {}", self.engine)),
            more,
        };
        self.jobs.entry(job.clone()).or_insert(tracked);
    }

    pub(crate) fn standing(&self, job: &JobFolder) -> Standing {
        let nobody = || Standing::Gone(Loss::Lost(format!("{} was not asked for it", self.engine)));
        let tracked = self.jobs.get(job);
        tracked.map_or_else(nobody, |tracked| tracked.standing.clone())
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }

    /// Returns the jobs that have yet to be asked for.
    pub(crate) fn unsent(&self) -> impl Iterator<Item = (&JobFolder, &JobDescription, &More)> {
        let jobs = self.jobs.iter();
        jobs.filter_map(|(job, tracked)| Some((job, tracked.unsent.as_ref()?, &tracked.more)))
    }

    pub(crate) fn next_unsent(&self) -> Option<(JobFolder, JobDescription)> {
        let (job, about, _) = self.unsent().next()?;
        Some((job.clone(), about.clone()))
    }

    /// The jobs that wait with the engine, as far as it has said; one that has begun tells so itself before.
    pub(crate) fn waiting(&self) -> Vec<JobFolder> {
        let waits = |(_, tracked): &(&JobFolder, &TrackedJob<More>)| {
            tracked.unsent.is_none() && tracked.waits()
        };
        let waiting = self.jobs.iter().filter(waits);
        waiting.map(|(job, _)| job.clone()).collect()
    }

    /// Says so of all jobs that wait, and that no job is taken.
    pub(crate) fn is_away(&mut self, words: &str) {
        let says = format!("{} says: {words}", self.engine);
        for tracked in self.jobs.values_mut().filter(|tracked| tracked.waits()) {
            tracked.standing = Standing::Waiting(says.clone());
        }
        self.trouble = Some(says);
    }

    /// The engine answers. Where one is still to be sent, it may have been refused for want of room.
    pub(crate) fn is_back(&mut self) {
        if self.next_unsent().is_none() {
            self.trouble = None;
        }
    }

    /// The engine has taken a job.
    pub(crate) fn takes(&mut self) {
        self.trouble = None;
    }
}

/// How many of these jobs have not begun.
pub(crate) fn not_begun(jobs: &[JobFolder]) -> usize {
    jobs.iter().filter(|job| !job.has_begun()).count()
}
