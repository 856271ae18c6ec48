//! Sees how jobs stand: by what was heard of the cluster, by what happened to those that wait or are over, and by what a
//! pod printed whose job did not begin.

use super::known::OfCluster;
use super::standing::{pod_name, terminated};
use super::tending::{State, Tended};
use crate::engine::node::{JobFolder, Loss, Standing, TrackedJob};
use k8s_openapi::api::core::v1::Pod;
use std::collections::BTreeSet;
use tokio::time::Instant;

/// So many jobs are asked about at a time.
const MOST_ASKED: usize = 5;

impl Tended {
    /// Sees how all jobs stand.
    pub(super) async fn look(&self) {
        let away = self.state.lock().seen.away();
        if let Some(words) = away {
            return self.is_away(&words);
        }
        self.state.lock().tracked.is_back();
        for job in self.missing() {
            let name = self.name(&job);
            match self.cluster().job(&name).await {
                Ok(Some(there)) => self.state.lock().seen.found(there),
                Ok(None) => self.change(&job, |known| known.standing = known.not_there()),
                Err(trouble) => return self.is_away(&trouble.words()),
            }
        }
        self.compare();
        for (job, uids) in self.to_be_asked() {
            let told = self.cluster().told_of(uids).await;
            self.change(&job, |known| {
                known.more.told = told;
                known.more.asked_at = Instant::now();
            });
        }
        self.explain().await;
    }

    /// The jobs that were sent, are not over, and that nobody shows.
    fn missing(&self) -> Vec<JobFolder> {
        let state = self.state.lock();
        if !state.seen.is_whole() {
            return Vec::new();
        }
        let is_missing = |(job, known): &(&JobFolder, &TrackedJob<OfCluster>)| {
            known.is_under_way() && state.seen.job(&self.name(job)).is_none()
        };
        let missing = state.tracked.jobs.iter().filter(is_missing);
        missing.map(|(job, _)| job.clone()).collect()
    }

    /// Takes over what is seen.
    fn compare(&self) {
        let mut state = self.state.lock();
        let State {
            tracked,
            seen,
            unwanted,
            ..
        } = &mut *state;
        if !seen.is_whole() {
            return;
        }
        let now = Instant::now();
        let jobs = tracked.jobs.iter_mut();
        for (folder, known) in jobs.filter(|(_, known)| known.is_under_way()) {
            if let Some(job) = seen.job(&self.name(folder)) {
                known.see(job, &seen.pods_of(folder.name()), now);
            }
        }
        let wanted: BTreeSet<String> = tracked
            .jobs
            .keys()
            .map(|folder| self.name(folder))
            .collect();
        unwanted.extend(seen.left_over(&wanted));
    }

    /// The jobs of which more is to be known, with what they consist of.
    fn to_be_asked(&self) -> Vec<(JobFolder, Vec<String>)> {
        let state = self.state.lock();
        let State { tracked, seen, .. } = &*state;
        let now = Instant::now();
        let due = tracked
            .jobs
            .iter()
            .filter(|(_, known)| known.is_to_be_asked(now));
        let mut due: Vec<_> = due.collect();
        due.sort_by_key(|(_, known)| known.more.asked_at);
        let uids = |folder: &JobFolder| seen.uids(&self.name(folder), folder.name());
        due.into_iter()
            .map(|(folder, _)| (folder.clone(), uids(folder)))
            .take(MOST_ASKED)
            .collect()
    }

    /// Says of jobs that are over why, now that it was asked.
    async fn explain(&self) {
        for (job, standing, pod) in self.over() {
            let has_begun = job.has_begun();
            let printed = match pod.filter(|_| !has_begun) {
                Some(pod) => self.printed(&pod).await,
                None => None,
            };
            let standing = match (standing, printed) {
                (Standing::Gone(loss), Some(line)) => Standing::Gone(with_line(loss, &line)),
                (standing, _) => standing,
            };
            self.change(&job, |known| known.standing = standing);
        }
    }

    /// The jobs that are over and of which it was asked why, with how they stand and the pod that ended.
    fn over(&self) -> Vec<(JobFolder, Standing, Option<Pod>)> {
        let state = self.state.lock();
        let over = state
            .tracked
            .jobs
            .iter()
            .filter(|(_, known)| known.is_explained());
        over.filter_map(|(folder, known)| {
            let job = state.seen.job(&self.name(folder))?;
            let pods = state.seen.pods_of(folder.name());
            let standing = known.standing_of(job, &pods);
            let ended = pods.iter().find(|pod| terminated(pod).is_some());
            Some((folder.clone(), standing, ended.map(|pod| (*pod).clone())))
        })
        .collect()
    }

    /// Returns the last line that a pod printed.
    async fn printed(&self, pod: &Pod) -> Option<String> {
        let kept = terminated(pod).and_then(|ended| ended.message.clone());
        let log = match kept {
            Some(kept) => Some(kept),
            None => self.cluster().log(pod_name(pod)).await,
        }?;
        let log = tm_untrusted::clean(&log);
        let last = log.lines().rfind(|line| !line.trim().is_empty())?;
        Some(tm_untrusted::line(last.trim(), 300))
    }
}

/// Adds what a pod printed last.
fn with_line(loss: Loss, line: &str) -> Loss {
    let with = |words: String| format!("{words}; its log ends with: {line}");
    match loss {
        Loss::TimedOut(words) => Loss::TimedOut(with(words)),
        Loss::Refused(words) => Loss::Refused(with(words)),
        Loss::Lost(words) => Loss::Lost(with(words)),
    }
}
