//! Tends the jobs that Slurm has, or is to have: one task sends them, looks how they stand and takes them away, so that
//! Slurm is asked by one at a time, however many jobs there are.

use super::batch::{self, Batch, OfSlurm};
use super::commands::{Submitted, ask, scancel, squeue, submitted, words};
use super::departed::state_elsewhere;
use super::queue::{self, QueuedJob};
use super::{SlurmJobs, SlurmRequests};
use crate::engine::node::{
    JobDescription, JobFolder, Loss, Standing, Tracked, TrackedJob, not_begun,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
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
    /// Numbers of jobs, and names of others, that are to be taken away.
    unwanted: BTreeSet<String>,
    unwanted_names: BTreeSet<String>,
    /// Names of jobs that are over: Slurm may have more of them than it told, where an answer was lost.
    past: BTreeSet<String>,
    /// Whether Slurm has refused an array, as where a site allows none.
    refuses_arrays: bool,
    is_tended: bool,
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
                unwanted_names: BTreeSet::new(),
                past: BTreeSet::new(),
                refuses_arrays: false,
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
        let Some(TrackedJob { unsent, more, .. }) = state.tracked.jobs.remove(job) else {
            return;
        };
        state.past.insert(job.name().to_owned());
        if unsent.is_none() {
            if !more.is_taken {
                state.unwanted_names.insert(job.name().to_owned());
            }
            state.unwanted.extend(more.id);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until what is to be taken away has been, whatever Slurm still has of jobs that are over among that.
    pub(super) async fn settled(&self) {
        {
            let mut state = self.state.lock();
            let mut past = std::mem::take(&mut state.past);
            state.unwanted_names.append(&mut past);
        }
        let is_settled = || {
            let state = self.state.lock();
            state.unwanted.is_empty() && state.unwanted_names.is_empty()
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
            // To look how far each has come is for when there is something to send.
            self.state.lock().tracked.unsent().next()?;
            let waiting = self.state.lock().tracked.waiting();
            let room = self.most_waiting.saturating_sub(not_begun(&waiting));
            let batch = {
                let state = self.state.lock();
                let arrays = if state.refuses_arrays { 1 } else { room };
                Batch::next(state.tracked.unsent(), &self.requests, arrays)?
            };
            if room == 0 {
                return Some(Instant::now() + ROOM_EVERY);
            }
            match self.is_found(&batch).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(words) => {
                    self.slurm_is_away(&words);
                    return Some(Instant::now() + PAUSE);
                }
            }
            let words = match self.sent(&batch).await {
                Submitted::Job(id) => {
                    self.state.lock().tracked.takes();
                    self.change(&batch, |index, known| {
                        known.unsent = None;
                        known.more.id = Some(batch.number(&id, index));
                    });
                    continue;
                }
                // Whether it is for what is asked or for how, each one alone tells.
                Submitted::Refused(words) if batch.is_array() => {
                    tracing::info!(words, "Slurm takes no array of these jobs");
                    let mut state = self.state.lock();
                    // One that ended meanwhile has no folder any more, which says nothing of arrays.
                    let is_there = |job| state.tracked.jobs.contains_key(job);
                    state.refuses_arrays |= batch.jobs().all(is_there);
                    continue;
                }
                Submitted::Refused(words) => {
                    let loss = Loss::Lost(format!("Slurm refuses the job: {words}"));
                    self.change(&batch, |_, known| {
                        known.unsent = None;
                        known.standing = Standing::Gone(loss.clone());
                    });
                    continue;
                }
                Submitted::Later(words) => words,
            };
            self.change(&batch, |_, known| known.more.is_doubtful = true);
            self.slurm_is_away(&words);
            return Some(Instant::now() + PAUSE);
        }
    }

    /// Looks whether Slurm took a job although it said nothing of the kind.
    ///
    /// # Errors
    /// That can't be found out now, in words: it is asked for again once it can.
    async fn is_found(&self, batch: &Batch) -> Result<bool, String> {
        let job = batch.first();
        let is_doubtful = {
            let state = self.state.lock();
            let tracked = state.tracked.jobs.get(job);
            tracked.is_some_and(|tracked| tracked.more.is_doubtful)
        };
        if !is_doubtful {
            return Ok(false);
        }
        let mut queued = self.queued().await?.into_iter();
        let Some(QueuedJob { id, .. }) = queued.find(|queued| queued.name == job.name()) else {
            return Ok(false);
        };
        self.change(batch, |_, known| {
            known.unsent = None;
            known.more.id = Some(id.clone());
        });
        Ok(true)
    }

    /// Returns the jobs that Slurm shows.
    ///
    /// # Errors
    /// It does not answer, in words.
    async fn queued(&self) -> Result<Vec<QueuedJob>, String> {
        match ask(squeue(&self.jobs)).await {
            Ok(said) if said.has_succeeded() => Ok(queue::read(&said.stdout)),
            Ok(said) => Err(words(&said)),
            Err(error) => Err(error.with_causes()),
        }
    }

    async fn sent(&self, batch: &Batch) -> Submitted {
        if let Err(error) = batch.write(&self.jobs.tm_program) {
            // Whoever ended a job has removed its folder.
            return Submitted::Refused(format!("failed to write what it is to run: {error}"));
        }
        let request = self.requests.of(batch.complexity());
        if let Some(word) = batch::unfit(&request.extra) {
            return Submitted::Refused(format!("`{word}` is not for `slurm.extra`"));
        }
        match ask(batch.line(&self.jobs, request)).await {
            Ok(said) => match submitted(&said) {
                Submitted::Refused(words) if !request.extra.is_empty() => {
                    let extra = request.extra.join(" ");
                    Submitted::Refused(format!("{words} (`slurm.extra` adds `{extra}`)"))
                }
                submitted => submitted,
            },
            Err(error) => Submitted::Later(error.with_causes()),
        }
    }

    /// Does something to each job of a batch, by its index, unless nobody wants it any more; then it is taken away.
    fn change(&self, batch: &Batch, change: impl Fn(usize, &mut TrackedJob<OfSlurm>)) {
        let mut state = self.state.lock();
        for (index, job) in batch.jobs().enumerate() {
            if let Some(known) = state.tracked.jobs.get_mut(job) {
                change(index, known);
            } else {
                state.unwanted_names.insert(job.name().to_owned());
            }
        }
    }

    /// Says so of all jobs that wait.
    fn slurm_is_away(&self, words: &str) {
        tracing::warn!(words, "Slurm does not take jobs, or does not answer");
        self.state.lock().tracked.is_away(words);
    }

    /// Looks how all jobs stand.
    async fn look(&self) {
        let queued = match self.queued().await {
            Ok(queued) => queued,
            Err(words) => return self.slurm_is_away(&words),
        };
        self.state.lock().tracked.is_back();
        self.learn_who_has_them();
        let missing = self.compare(&queued);
        for (job, id) in missing {
            let standing = state_elsewhere(id.as_deref()).await;
            self.change_standing(&job, standing);
        }
    }

    /// Learns which copies have taken jobs, whichever process sent them: long after Slurm's queue has forgotten one, it is
    /// known by that number. Looked for after Slurm has said how they stand: a second copy of one that is over by then says
    /// nothing of the job.
    fn learn_who_has_them(&self) {
        let open: Vec<JobFolder> = {
            let state = self.state.lock();
            let jobs = state.tracked.jobs.iter();
            jobs.filter(|(_, known)| known.is_under_way() && !known.more.is_taken)
                .map(|(job, _)| job.clone())
                .collect()
        };
        for job in open {
            if let Some(id) = batch::taken_by(&job)
                && let Some(known) = self.state.lock().tracked.jobs.get_mut(&job)
            {
                known.more.id = Some(id);
                known.more.is_taken = true;
            }
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
            if job.goes_on() && state.unwanted_names.contains(&job.name) {
                state.unwanted.insert(job.id.clone());
            }
        }
        state.unwanted_names.clear();
        let mut missing = Vec::new();
        let jobs = state.tracked.jobs.iter_mut();
        for (folder, known) in jobs.filter(|(_, known)| known.is_under_way()) {
            let OfSlurm {
                id,
                is_taken,
                missed,
                ..
            } = &mut known.more;
            if let Some(job) = queue::shown(queued, folder.name(), id.as_deref(), *is_taken) {
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
            || !state.unwanted_names.is_empty()
    }

    fn has_unknown_to_take_away(&self) -> bool {
        !self.state.lock().unwanted_names.is_empty()
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
