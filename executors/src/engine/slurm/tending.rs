//! Tends the jobs that Slurm has, or is to have: one task sends them, looks how they stand and takes them away, so that
//! Slurm is asked by one at a time, however many jobs there are.

use super::commands::{SCRIPT, Submitted, ask, sbatch, scancel, script, squeue, submitted, words};
use super::departed::state_elsewhere;
use super::queue::{self, QueuedJob};
use super::{SlurmJobs, SlurmRequests};
use crate::engine::node::{JobDescription, JobFolder, Loss, Standing};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
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

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<JobFolder, Known>,
    /// Numbers of jobs, and folders of others, that are to be taken away.
    unwanted: BTreeSet<String>,
    unwanted_folders: BTreeSet<String>,
    /// Folders of jobs that are over: Slurm may have more of them than it told, where an answer was lost.
    past: BTreeSet<String>,
    is_tended: bool,
    /// Why no job is taken at the moment, or nobody answers.
    trouble: Option<String>,
}

/// What is known of a job.
#[derive(Clone, Debug)]
struct Known {
    stage: Stage,
    standing: Standing,
    missed: u32,
}

/// How far a job has come here.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Stage {
    /// Slurm is to be asked for it.
    Unsent {
        /// What it is.
        about: JobDescription,
        /// Whether it was asked before, and nobody knows what it made of that.
        is_doubtful: bool,
    },
    /// Slurm has it, under a number where that is known.
    Sent(Option<String>),
}

impl Tended {
    pub(super) fn new(jobs: SlurmJobs, requests: SlurmRequests, most_waiting: usize) -> Self {
        Self {
            jobs,
            requests,
            most_waiting,
            state: Mutex::default(),
            wake: Notify::new(),
            done: Notify::new(),
        }
    }

    /// Tends a job from now on: one that is to be sent, or one that an earlier process has sent.
    pub(super) fn add(self: &Arc<Self>, job: &JobFolder, about: Option<&JobDescription>) {
        let stage = about.map_or(Stage::Sent(None), |about| Stage::Unsent {
            about: about.clone(),
            is_doubtful: false,
        });
        let known = Known {
            stage,
            standing: Standing::Waiting("it is about to be sent to Slurm".to_owned()),
            missed: 0,
        };
        let mut state = self.state.lock();
        state.known.entry(job.clone()).or_insert(known);
        if !std::mem::replace(&mut state.is_tended, true) {
            tokio::spawn(tend(Arc::clone(self)));
        }
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn standing(&self, job: &JobFolder) -> Standing {
        let known = self.state.lock().known.get(job).cloned();
        let nobody = || Standing::Gone(Loss::Lost("Slurm was not asked for it".to_owned()));
        known.map_or_else(nobody, |known| known.standing)
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.state.lock().trouble.clone()
    }

    pub(super) fn forget(&self, job: &JobFolder) {
        let mut state = self.state.lock();
        state.known.remove(job);
        state.past.insert(job.name().to_owned());
    }

    pub(super) fn cancel(&self, job: &JobFolder) {
        let mut state = self.state.lock();
        state.past.insert(job.name().to_owned());
        match state.known.remove(job).map(|known| known.stage) {
            Some(Stage::Sent(Some(id))) => _ = state.unwanted.insert(id),
            Some(Stage::Sent(None)) => _ = state.unwanted_folders.insert(job.name().to_owned()),
            Some(Stage::Unsent { .. }) | None => {}
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
            let (job, about, is_doubtful) = self.next_unsent()?;
            if self.waiting() >= self.most_waiting {
                return Some(Instant::now() + ROOM_EVERY);
            }
            if is_doubtful && self.is_found(&job).await {
                continue;
            }
            let words = match self.sent(&job, &about).await {
                Submitted::Job(id) => {
                    self.state.lock().trouble = None;
                    self.change(&job, |known| known.stage = Stage::Sent(Some(id)));
                    continue;
                }
                Submitted::Refused(words) => {
                    let loss = Loss::Lost(format!("Slurm refuses the job: {words}"));
                    self.change(&job, |known| {
                        known.stage = Stage::Sent(None);
                        known.standing = Standing::Gone(loss);
                    });
                    continue;
                }
                Submitted::Later(words) => words,
            };
            let is_doubtful = true;
            self.change(&job, |known| {
                known.stage = Stage::Unsent { about, is_doubtful }
            });
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
        self.change(job, |known| known.stage = Stage::Sent(Some(id)));
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

    fn next_unsent(&self) -> Option<(JobFolder, JobDescription, bool)> {
        let state = self.state.lock();
        state
            .known
            .iter()
            .find_map(|(job, known)| match &known.stage {
                Stage::Unsent { about, is_doubtful } => {
                    Some((job.clone(), about.clone(), *is_doubtful))
                }
                Stage::Sent(_) => None,
            })
    }

    /// How many jobs wait in the queue; one that has begun tells so itself before Slurm is asked again.
    fn waiting(&self) -> usize {
        let state = self.state.lock();
        let waits = |known: &Known| {
            matches!(known.stage, Stage::Sent(_)) && matches!(known.standing, Standing::Waiting(_))
        };
        let sent = state.known.iter().filter(|(_, known)| waits(known));
        let sent: Vec<JobFolder> = sent.map(|(job, _)| job.clone()).collect();
        drop(state);
        sent.iter().filter(|job| !job.has_begun()).count()
    }

    /// Does something to a job, unless nobody wants it any more; then it is taken away.
    fn change(&self, job: &JobFolder, change: impl FnOnce(&mut Known)) {
        let mut state = self.state.lock();
        if let Some(known) = state.known.get_mut(job) {
            change(known);
        } else {
            state.unwanted_folders.insert(job.name().to_owned());
        }
    }

    /// Says so of all jobs that wait.
    fn slurm_is_away(&self, words: &str) {
        tracing::warn!(words, "Slurm does not take jobs, or does not answer");
        let mut state = self.state.lock();
        state.trouble = Some(format!("Slurm says: {words}"));
        for known in state.known.values_mut() {
            if matches!(known.standing, Standing::Waiting(_)) {
                known.standing = Standing::Waiting(format!("Slurm says: {words}"));
            }
        }
    }

    /// Looks how all jobs stand.
    async fn look(&self) {
        let said = match ask(squeue(&self.jobs)).await {
            Ok(said) if said.has_succeeded() => said,
            Ok(said) => return self.slurm_is_away(&words(&said)),
            Err(error) => return self.slurm_is_away(&error.with_causes()),
        };
        let queued = queue::read(&said.stdout);
        if self.next_unsent().is_none() {
            // One that is refused for want of room is still to be sent.
            self.state.lock().trouble = None;
        }
        let missing = self.compare(&queued);
        for (job, id) in missing {
            let standing = state_elsewhere(id.as_deref()).await;
            self.change_standing(&job, standing);
        }
    }

    fn change_standing(&self, job: &JobFolder, standing: Standing) {
        if let Some(known) = self.state.lock().known.get_mut(job) {
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
        for (folder, known) in &mut state.known {
            let Stage::Sent(id) = &mut known.stage else {
                continue;
            };
            let is_it = |job: &&QueuedJob| match id {
                Some(id) => job.id == *id,
                None => job.folder == folder.name(),
            };
            if matches!(known.standing, Standing::Gone(_)) {
                continue;
            }
            if let Some(job) = queued.iter().rev().find(is_it) {
                let has_run = known.standing == Standing::Running;
                known.standing = queue::standing(job, has_run);
                known.missed = 0;
                *id = Some(job.id.clone());
            } else {
                known.missed += 1;
                if known.missed >= MOST_MISSED {
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
        !state.known.is_empty() || !state.unwanted.is_empty() || !state.unwanted_folders.is_empty()
    }

    fn has_unknown_to_take_away(&self) -> bool {
        !self.state.lock().unwanted_folders.is_empty()
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
