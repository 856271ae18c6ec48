//! One job as it is tended: how far it has come, and how it stands by what was seen of it.

use super::standing::{self, Ran, Told, given_up, patience, running};
use crate::engine::node::{Loss, Standing, TrackedJob};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use std::time::Duration;
use tokio::time::Instant;

/// So long after a pod is gone more is said of why.
const SAID_WITHIN: Duration = Duration::from_secs(1);
/// So often it is asked what happens to a job that waits.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// What is known of a job besides.
#[derive(Clone, Debug)]
pub(super) struct OfCluster {
    pub(super) was_seen: bool,
    pub(super) ran_in: Option<Ran>,
    /// What happened to it, as far as that was asked for, and when it was, or it was first heard of here.
    pub(super) told: Vec<Told>,
    pub(super) asked_at: Instant,
    /// Since when something is in its way that has to pass, and since when it is over.
    pub(super) stuck_since: Option<Instant>,
    pub(super) over_since: Option<Instant>,
}

impl OfCluster {
    pub(super) fn new() -> Self {
        Self {
            was_seen: false,
            ran_in: None,
            told: Vec::new(),
            asked_at: Instant::now(),
            stuck_since: None,
            over_since: None,
        }
    }
}

impl TrackedJob<OfCluster> {
    /// How it stands where the cluster has no such Job.
    pub(super) fn not_there(&self) -> Standing {
        match (&self.more.ran_in, self.more.was_seen) {
            (Some(Ran { pod, node }), _) => lost(&format!(
                "Kubernetes pod `{pod}` on `{node}` was deleted by somebody, with its Job"
            )),
            (None, true) => lost("its Job was deleted by somebody"),
            (None, false) => lost("Kubernetes has no such Job: it was never sent, or is long gone"),
        }
    }

    pub(super) fn standing_of(&self, job: &Job, pods: &[&Pod]) -> Standing {
        standing::standing(&standing::Known {
            job,
            pods: pods.to_vec(),
            told: &self.more.told,
            ran_in: self.more.ran_in.as_ref(),
        })
    }

    /// Takes over what is seen of it. That it is over is believed a little later, when more is said of why.
    pub(super) fn see(&mut self, job: &Job, pods: &[&Pod], now: Instant) {
        self.more.was_seen = true;
        if self.more.ran_in.is_none() {
            self.more.ran_in = running(pods);
        }
        let standing = self.standing_of(job, pods);
        if matches!(standing, Standing::Gone(_)) {
            self.more.over_since.get_or_insert(now);
            return;
        }
        self.more.over_since = None;
        self.standing = standing;
        let stuck = pods.iter().find_map(|pod| Some((pod, patience(pod)?)));
        match stuck {
            Some((pod, limit)) if now >= *self.more.stuck_since.get_or_insert(now) + limit => {
                self.standing = given_up(pod);
            }
            Some(_) => {}
            None => self.more.stuck_since = None,
        }
    }

    /// Whether it is to be asked what happened to it: that it is over was seen a while ago, or it waits.
    pub(super) fn is_to_be_asked(&self, now: Instant) -> bool {
        match (&self.standing, self.more.over_since) {
            (Standing::Gone(_), _) | (Standing::Running, None) => false,
            (_, Some(since)) => {
                now >= since + SAID_WITHIN && self.more.asked_at < since + SAID_WITHIN
            }
            (Standing::Waiting(_), None) => now > self.more.asked_at + ASK_EVERY,
        }
    }

    /// Whether it is over, and was asked about since.
    pub(super) fn is_explained(&self) -> bool {
        let is_told = matches!(self.standing, Standing::Gone(_));
        let since = self.more.over_since.filter(|_| !is_told);
        since.is_some_and(|since| self.more.asked_at >= since + SAID_WITHIN)
    }
}

pub(super) fn lost(words: &str) -> Standing {
    Standing::Gone(Loss::Lost(words.to_owned()))
}
