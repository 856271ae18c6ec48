//! Tends all jobs of one process: sends them, sees how they stand, and takes those away that nobody wants.
//!
//! One task does all of it, so the cluster is asked by one at a time, however many jobs there are; two more hear of Jobs
//! and of pods.

use super::KubernetesRequest;
use super::cluster::{Cluster, Trouble};
use super::known::OfCluster;
use super::label::own_project_label;
use super::manifest::Manifest;
use super::names::job_name;
use super::seen::Seen;
use super::standing::has_ended;
use super::watching::watch;
use crate::engine::node::{
    JobDescription, JobFolder, Loss, Standing, Tracked, TrackedJob, not_begun,
};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// So often it is looked how jobs stand, where nothing is heard.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So long a cluster is left alone after it did not answer, and when it has no room.
const PAUSE: Duration = Duration::from_secs(2);
/// So often it is looked whether a job that waited has begun, where no more may wait.
const ROOM_EVERY: Duration = Duration::from_millis(200);
/// So long the end of a process waits until jobs are taken away.
const SETTLED_LIMIT: Duration = Duration::from_secs(20);

/// All jobs that are tended.
#[derive(Debug)]
pub(super) struct Tended {
    request: KubernetesRequest,
    cluster: OnceLock<Cluster>,
    most_waiting: usize,
    pub(super) state: Mutex<State>,
    /// Rung when there is something to do.
    wake: Notify,
    /// Rung when something was done.
    done: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) tracked: Tracked<OfCluster>,
    pub(super) seen: Seen,
    /// Names of Jobs that are to be taken away.
    pub(super) unwanted: BTreeSet<String>,
    is_tended: bool,
}

impl Tended {
    pub(super) fn new(request: KubernetesRequest, most_waiting: usize) -> Self {
        Self {
            request,
            cluster: OnceLock::new(),
            most_waiting,
            state: Mutex::new(State {
                tracked: Tracked::new("Kubernetes"),
                seen: Seen::default(),
                unwanted: BTreeSet::new(),
                is_tended: false,
            }),
            wake: Notify::new(),
            done: Notify::new(),
        }
    }

    pub(super) const fn request(&self) -> &KubernetesRequest {
        &self.request
    }

    /// Returns the cluster; who asks for it the first time sees to it that the project has a label of its own.
    pub(super) fn cluster(&self) -> &Cluster {
        let new = || Cluster::new(self.request.clone(), own_project_label(&self.request));
        self.cluster.get_or_init(new)
    }

    /// Tends a job from now on: one that is to be sent, or one that an earlier process has sent.
    pub(super) fn add(self: &Arc<Self>, job: &JobFolder, about: Option<&JobDescription>) {
        let mut state = self.state.lock();
        state.tracked.add(job, about, OfCluster::new());
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

    /// Tells whether the container of a pod has ended, with all that was in it.
    pub(super) fn has_ended(&self, pod: &str) -> bool {
        let state = self.state.lock();
        state.seen.pod(pod).is_some_and(has_ended)
    }

    /// Forgets a job, and has it taken away.
    pub(super) fn remove(&self, job: &JobFolder) {
        let name = self.name(job);
        let mut state = self.state.lock();
        let tracked = state.tracked.jobs.remove(job);
        if tracked.is_some_and(|tracked| tracked.unsent.is_none()) {
            state.unwanted.insert(name);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until what is to be taken away has been.
    pub(super) async fn settled(&self) {
        let settled = async {
            loop {
                let done = self.done.notified();
                if !self.is_settling() {
                    return;
                }
                self.wake.notify_one();
                done.await;
                tokio::time::sleep(ROOM_EVERY).await;
            }
        };
        // What stays finds nothing to do when its turn comes, and is taken away by the next process.
        let _some_stays = tokio::time::timeout(SETTLED_LIMIT, settled).await;
    }

    pub(super) fn name(&self, job: &JobFolder) -> String {
        job_name(&self.cluster().project, job)
    }

    /// Sends jobs for as long as there is room; returns when to try again.
    async fn send(&self) -> Option<Instant> {
        loop {
            let (job, about) = self.state.lock().tracked.next_unsent()?;
            let waiting = self.state.lock().tracked.waiting();
            if not_begun(&waiting) >= self.most_waiting {
                return Some(Instant::now() + ROOM_EVERY);
            }
            match self.sent(&job, &about).await {
                Ok(made) => self.take_over(&job, made),
                Err(Trouble::Refused(words)) => {
                    self.change(&job, |known| {
                        known.unsent = None;
                        known.standing = Standing::Gone(Loss::Refused(words));
                    });
                }
                Err(trouble) => {
                    self.is_away(&trouble.words());
                    return Some(Instant::now() + PAUSE);
                }
            }
        }
    }

    /// Has a Job made; nothing is returned where an earlier question has had it made, whose answer was lost.
    async fn sent(&self, job: &JobFolder, about: &JobDescription) -> Result<Option<Job>, Trouble> {
        let manifest = Manifest::read(self.request(), &self.cluster().project)
            .and_then(|manifest| manifest.job(job, about))
            .map_err(|error| Trouble::Refused(format!("failed to {}", error.with_causes())))?;
        // Who can't be asked refuses nothing.
        let connected = self.cluster().connection().await;
        connected.map_err(|trouble| Trouble::Away(trouble.words()))?;
        match self.cluster().create(&manifest, false).await {
            Ok(made) => Ok(Some(made)),
            Err(Trouble::Exists) => Ok(None),
            Err(Trouble::Refused(words)) => {
                let words = format!("Kubernetes refuses the job: {words}");
                Err(Trouble::Refused(words))
            }
            Err(trouble) => Err(trouble),
        }
    }

    fn take_over(&self, job: &JobFolder, made: Option<Job>) {
        let name = self.name(job);
        let mut state = self.state.lock();
        let state = &mut *state;
        state.tracked.takes();
        if let Some(made) = made {
            state.seen.found(made);
        }
        match state.tracked.jobs.get_mut(job) {
            Some(tracked) => tracked.unsent = None,
            // Nobody wants it any more.
            None => _ = state.unwanted.insert(name),
        }
    }

    pub(super) fn change(&self, job: &JobFolder, change: impl FnOnce(&mut TrackedJob<OfCluster>)) {
        if let Some(known) = self.state.lock().tracked.jobs.get_mut(job) {
            change(known);
        }
    }

    /// Says so of all jobs that wait.
    pub(super) fn is_away(&self, words: &str) {
        tracing::debug!(words, "Kubernetes does not take jobs, or does not answer");
        self.state.lock().tracked.is_away(words);
    }

    async fn take_away(&self) {
        let unwanted: Vec<String> = self.state.lock().unwanted.iter().cloned().collect();
        for name in unwanted {
            match self.cluster().delete(&name).await {
                Ok(()) => {
                    let mut state = self.state.lock();
                    state.unwanted.remove(&name);
                    state.seen.deleted(&name);
                }
                Err(trouble) => {
                    let words = trouble.words();
                    tracing::warn!(name, words, "a Job could not be deleted");
                    return;
                }
            }
        }
    }

    fn has_jobs(&self) -> bool {
        let state = self.state.lock();
        !state.tracked.jobs.is_empty() || !state.unwanted.is_empty()
    }

    fn is_settling(&self) -> bool {
        !self.state.lock().unwanted.is_empty()
    }
}

/// Tends jobs for as long as the process lives.
async fn tend(tended: Arc<Tended>) {
    let mut listeners = JoinSet::new();
    loop {
        if listeners.is_empty() {
            listen(&tended, &mut listeners);
        }
        let again_at = tended.send().await;
        tended.look().await;
        tended.take_away().await;
        tended.done.notify_waiters();
        let woken = tended.wake.notified();
        if tended.has_jobs() {
            let look_at = Instant::now()
                + if tended.is_settling() {
                    PAUSE
                } else {
                    LOOK_EVERY
                };
            let next = again_at.map_or(look_at, |again_at| again_at.min(look_at));
            // Whoever comes meanwhile is sent at once.
            let _is_time = tokio::time::timeout_at(next, woken).await;
        } else {
            listeners.shutdown().await;
            tended.state.lock().seen = Seen::default();
            woken.await;
        }
    }
}

/// Hears of Jobs and of pods for as long as there are jobs.
fn listen(tended: &Arc<Tended>, listeners: &mut JoinSet<()>) {
    let of_jobs = Arc::clone(tended);
    listeners.spawn(async move {
        let tended = &of_jobs;
        watch::<Job>(tended.cluster(), |heard| {
            tended.state.lock().seen.jobs.hear(heard);
            tended.wake.notify_one();
        })
        .await;
    });
    let of_pods = Arc::clone(tended);
    listeners.spawn(async move {
        let tended = &of_pods;
        watch::<Pod>(tended.cluster(), |heard| {
            tended.state.lock().seen.pods.hear(heard);
            tended.wake.notify_one();
        })
        .await;
    });
}
