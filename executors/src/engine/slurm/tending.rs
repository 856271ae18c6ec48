//! Tends the jobs that Slurm has, or is to have: one task sends them, looks how they stand and takes them away, so that
//! Slurm is asked by one at a time, however many jobs there are.

use super::commands::{SCRIPT, Submitted, ask, sbatch, scancel, script, squeue, submitted, words};
use super::departed::state_elsewhere;
use super::queue::{self, QueuedJob};
use super::{SlurmJobs, SlurmRequests};
use crate::engine::node::{
    JobDescription, JobFolder, Loss, Standing, Tracked, TrackedJob, not_begun,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// So often it is looked how jobs stand.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// So long Slurm is left alone after it did not answer, and when it has no room.
const PAUSE: Duration = Duration::from_secs(2);
/// So often it is looked whether a job that waited has begun, where no more may wait.
const ROOM_EVERY: Duration = Duration::from_millis(200);
/// A job that so many looks in a row did not show is looked for elsewhere.
const MOST_MISSED: u32 = 2;
/// So long the end of a process waits until jobs are taken away.
const SETTLED_LIMIT: Duration = Duration::from_secs(20);

/// All jobs that are tended.
#[derive(Debug)]
pub(super) struct Tended {
    jobs: SlurmJobs,
    requests: SlurmRequests,
    most_waiting: usize,
    state: Mutex<State>,
    /// Rung when there is something to do.
    wake: Notify,
    /// Rung when something was done.
    done: Notify,
}

#[derive(Debug)]
struct State {
    tracked: Tracked<OfSlurm>,
    /// Numbers of jobs, and folders of others, that are to be taken away.
    unwanted: BTreeSet<String>,
    unwanted_folders: BTreeSet<String>,
    /// Folders of jobs that are over: Slurm may have more of them than it told, where an answer was lost.
    past: BTreeSet<String>,
    is_tended: bool,
}

/// What is known of a job besides.
#[derive(Clone, Debug, Default)]
struct OfSlurm {
    /// Its number, where that is known.
    id: Option<String>,
    /// Whether Slurm was asked for it before, and nobody knows what it made of that.
    is_doubtful: bool,
    missed: u32,
}

impl Tended {
    pub(super) fn new(jobs: SlurmJobs, requests: SlurmRequests, most_waiting: usize) -> Self {
        Self {
            jobs,
            requests,
            most_waiting,
            state: Mutex::new(State {
                tracked: Tracked::new("Slurm"),
                unwanted: BTreeSet::new(),
                unwanted_folders: BTreeSet::new(),
                past: BTreeSet::new(),
                is_tended: false,
            }),
            wake: Notify::new(),
            done: Notify::new(),
        }
    }

    /// Tends a job from now on: one that is to be sent, or one that an earlier process has sent.
    pub(super) fn add(self: &Arc<Self>, job: &JobFolder, about: Option<&JobDescription>) {
        let mut state = self.state.lock();
        state.tracked.add(job, about, OfSlurm::default());
        if !std::mem::replace(&mut state.is_tended, true) {
            tokio::spawn(tend(Arc::clone(self)));
        }
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn standing(&self, job: &JobFolder) -> Standing {
        self.state.lock().tracked.standing(job)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state.lock().tracked.trouble()
    }

    pub(super) fn forget(&self, job: &JobFolder) {
        let mut state = self.state.lock();
        state.tracked.jobs.remove(job);
        state.past.insert(job.name().to_owned());
    }

    pub(super) fn cancel(&self, job: &JobFolder) {
        let mut state = self.state.lock();
        state.past.insert(job.name().to_owned());
        let tracked = state.tracked.jobs.remove(job);
        if let Some(sent) = tracked.filter(|tracked| tracked.unsent.is_none()) {
            match sent.more.id {
                Some(id) => _ = state.unwanted.insert(id),
                None => _ = state.unwanted_folders.insert(job.name().to_owned()),
            }
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until what is to be taken away has been, whatever Slurm still has of jobs that are over among that.
    pub(super) async fn settled(&self) {
        {
            let mut state = self.state.lock();
            let mut past = std::mem::take(&mut state.past);
            state.unwanted_folders.append(&mut past);
        }
        let is_settled = || {
            let state = self.state.lock();
            state.unwanted.is_empty() && state.unwanted_folders.is_empty()
        };
        let settled = async {
            loop {
                let done = self.done.notified();
                if is_settled() {
                    return;
                }
                self.wake.notify_one();
                done.await;
            }
        };
        // What stays in the queue finds nothing to do when its turn comes.
        let _some_stays = tokio::time::timeout(SETTLED_LIMIT, settled).await;
    }

    /// Sends jobs for as long as there is room in the queue; returns when to try again.
    async fn send(&self) -> Option<Instant> {
        loop {
            let (job, about) = self.state.lock().tracked.next_unsent()?;
            let waiting = self.state.lock().tracked.waiting();
            if not_begun(&waiting) >= self.most_waiting {
                return Some(Instant::now() + ROOM_EVERY);
            }
            if self.is_doubtful(&job) && self.is_found(&job).await {
                continue;
            }
            let words = match self.sent(&job, &about).await {
                Submitted::Job(id) => {
                    self.state.lock().tracked.takes();
                    self.change(&job, |known| known.has(id));
                    continue;
                }
                Submitted::Refused(words) => {
                    let loss = Loss::Lost(format!("Slurm refuses the job: {words}"));
                    self.change(&job, |known| {
                        known.unsent = None;
                        known.standing = Standing::Gone(loss);
                    });
                    continue;
                }
                Submitted::Later(words) => words,
            };
            self.change(&job, |known| known.more.is_doubtful = true);
            self.slurm_is_away(&words);
            return Some(Instant::now() + PAUSE);
        }
    }

    /// Looks whether Slurm took a job although it said nothing of the kind; it is asked for again where it did not, and where
    /// that can't be found out it says so once more.
    async fn is_found(&self, job: &JobFolder) -> bool {
        let Ok(said) = ask(squeue(&self.jobs)).await else {
            return false;
        };
        let mut queued = queue::read(&said.stdout).into_iter();
        let Some(QueuedJob { id, .. }) = queued.find(|queued| queued.folder == job.name()) else {
            return false;
        };
        self.change(job, |known| known.has(id));
        true
    }

    async fn sent(&self, job: &JobFolder, about: &JobDescription) -> Submitted {
        let path = job.path().join(SCRIPT);
        let script = script(&self.jobs.tm_program, job);
        let written = tm_untrusted::remove(&path)
            .and_then(|()| tm_untrusted::create_anew(&path)?.write_all(script.as_bytes()));
        if let Err(error) = written {
            // Whoever ended the job has removed its folder.
            return Submitted::Refused(format!("failed to write `{}`: {error}", path.display()));
        }
        let request = self.requests.of(about.complexity);
        match ask(sbatch(&self.jobs, request, job, &about.title)).await {
            Ok(said) => submitted(&said),
            Err(error) => Submitted::Later(error.with_causes()),
        }
    }

    fn is_doubtful(&self, job: &JobFolder) -> bool {
        let state = self.state.lock();
        let tracked = state.tracked.jobs.get(job);
        tracked.is_some_and(|tracked| tracked.more.is_doubtful)
    }

    /// Does something to a job, unless nobody wants it any more; then it is taken away.
    fn change(&self, job: &JobFolder, change: impl FnOnce(&mut TrackedJob<OfSlurm>)) {
        let mut state = self.state.lock();
        if let Some(known) = state.tracked.jobs.get_mut(job) {
            change(known);
        } else {
            state.unwanted_folders.insert(job.name().to_owned());
        }
    }

    /// Says so of all jobs that wait.
    fn slurm_is_away(&self, words: &str) {
        tracing::warn!(words, "Slurm does not take jobs, or does not answer");
        self.state.lock().tracked.is_away(words);
    }

    /// Looks how all jobs stand.
    async fn look(&self) {
        let said = match ask(squeue(&self.jobs)).await {
            Ok(said) if said.has_succeeded() => said,
            Ok(said) => return self.slurm_is_away(&words(&said)),
            Err(error) => return self.slurm_is_away(&error.with_causes()),
        };
        let queued = queue::read(&said.stdout);
        self.state.lock().tracked.is_back();
        let missing = self.compare(&queued);
        for (job, id) in missing {
            let standing = state_elsewhere(id.as_deref()).await;
            self.change_standing(&job, standing);
        }
    }

    fn change_standing(&self, job: &JobFolder, standing: Standing) {
        if let Some(known) = self.state.lock().tracked.jobs.get_mut(job) {
            known.standing = standing;
        }
    }

    /// Takes over what the queue shows; returns those that it does not show any more.
    fn compare(&self, queued: &[QueuedJob]) -> Vec<(JobFolder, Option<String>)> {
        let mut state = self.state.lock();
        let state = &mut *state;
        for job in queued {
            let is_over = !matches!(
                queue::standing(job, false),
                Standing::Waiting(_) | Standing::Running
            );
            if !is_over && state.unwanted_folders.contains(&job.folder) {
                state.unwanted.insert(job.id.clone());
            }
        }
        state.unwanted_folders.clear();
        let mut missing = Vec::new();
        let jobs = state.tracked.jobs.iter_mut();
        for (folder, known) in jobs.filter(|(_, known)| known.is_under_way()) {
            let OfSlurm { id, missed, .. } = &mut known.more;
            let is_it = |job: &&QueuedJob| match id {
                Some(id) => job.id == *id,
                None => job.folder == folder.name(),
            };
            if let Some(job) = queued.iter().rev().find(is_it) {
                let has_run = known.standing == Standing::Running;
                known.standing = queue::standing(job, has_run);
                *missed = 0;
                *id = Some(job.id.clone());
            } else {
                *missed += 1;
                if *missed >= MOST_MISSED {
                    missing.push((folder.clone(), id.clone()));
                }
            }
        }
        missing
    }

    async fn take_away(&self) {
        let unwanted: Vec<String> = self.state.lock().unwanted.iter().cloned().collect();
        if unwanted.is_empty() {
            return;
        }
        match ask(scancel(&unwanted)).await {
            // One that is over by now makes it complain, and is no trouble.
            Ok(said) if said.has_succeeded() || said.stderr.contains("Invalid job id") => {
                let mut state = self.state.lock();
                state.unwanted.retain(|id| !unwanted.contains(id));
            }
            Ok(said) => tracing::warn!(words = words(&said), "jobs could not be cancelled"),
            Err(error) => {
                tracing::warn!(error = error.with_causes(), "jobs could not be cancelled");
            }
        }
    }

    fn has_jobs(&self) -> bool {
        let state = self.state.lock();
        !state.tracked.jobs.is_empty()
            || !state.unwanted.is_empty()
            || !state.unwanted_folders.is_empty()
    }

    fn has_unknown_to_take_away(&self) -> bool {
        !self.state.lock().unwanted_folders.is_empty()
    }
}

impl TrackedJob<OfSlurm> {
    /// Slurm has it, under this number.
    fn has(&mut self, id: String) {
        self.unsent = None;
        self.more.id = Some(id);
    }
}

/// Tends jobs for as long as the process lives.
async fn tend(tended: Arc<Tended>) {
    let mut look_at = Instant::now();
    loop {
        let again_at = tended.send().await;
        if Instant::now() >= look_at || tended.has_unknown_to_take_away() {
            tended.look().await;
            look_at = Instant::now() + LOOK_EVERY;
        }
        tended.take_away().await;
        tended.done.notify_waiters();
        let next = again_at.map_or(look_at, |again_at| again_at.min(look_at));
        let woken = tended.wake.notified();
        if tended.has_jobs() {
            // Whoever comes meanwhile is sent at once.
            let _is_time = tokio::time::timeout_at(next, woken).await;
        } else {
            woken.await;
        }
    }
}
