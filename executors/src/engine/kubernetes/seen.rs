//! What was last heard of Jobs and pods of a project. Knows neither which jobs are wanted nor what they stand for.

use super::manifest::{FOLDER, JOB};
use super::names::label_value;
use super::watching::Heard;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::{Resource, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// All Jobs and pods that are there, as far as was heard.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) jobs: Objects<Job>,
    pub(super) pods: Objects<Pod>,
}

/// All objects of one kind.
#[derive(Debug)]
pub(super) struct Objects<K> {
    by_name: BTreeMap<String, K>,
    is_whole: bool,
    /// What was said instead of an answer the last time.
    away: Option<String>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            is_whole: false,
            away: None,
        }
    }
}

impl<K: Resource> Objects<K> {
    pub(super) fn hear(&mut self, heard: Heard<K>) {
        match heard {
            Heard::All(objects) => {
                let named = objects
                    .into_iter()
                    .map(|object| (object.name_any(), object));
                *self = Self {
                    by_name: named.collect(),
                    is_whole: true,
                    away: None,
                };
            }
            Heard::Is(object) => drop(self.by_name.insert(object.name_any(), *object)),
            Heard::Gone(object) => drop(self.by_name.remove(&object.name_any())),
            Heard::Away(words) => self.away = Some(words),
        }
    }
}

impl Seen {
    /// Whether all there is was heard of.
    pub(super) const fn is_whole(&self) -> bool {
        self.jobs.is_whole && self.pods.is_whole
    }

    /// Returns what was said instead of an answer, where the cluster does not answer.
    pub(super) fn away(&self) -> Option<String> {
        self.jobs.away.clone().or_else(|| self.pods.away.clone())
    }

    pub(super) fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.by_name.get(name)
    }

    pub(super) fn pod(&self, name: &str) -> Option<&Pod> {
        self.pods.by_name.get(name)
    }

    /// Returns the pods of a job, by the name of its folder, the oldest first.
    pub(super) fn pods_of(&self, folder: &str) -> Vec<&Pod> {
        let folder = label_value(folder);
        let is_its = |pod: &&Pod| pod.labels().get(JOB).is_some_and(|label| *label == folder);
        let mut pods: Vec<&Pod> = self.pods.by_name.values().filter(is_its).collect();
        pods.sort_by_key(|pod| pod.creation_timestamp());
        pods
    }

    /// Returns by what the events of a Job and of its pods are found.
    pub(super) fn uids(&self, name: &str, folder: &str) -> Vec<String> {
        let job = self.job(name).and_then(ResourceExt::uid);
        let pods = self.pods_of(folder);
        let of_pods = pods.iter().filter_map(|pod| pod.uid());
        job.into_iter().chain(of_pods).collect()
    }

    /// Takes over a Job that is there although nobody told of it.
    pub(super) fn found(&mut self, job: Job) {
        self.jobs.by_name.entry(job.name_any()).or_insert(job);
    }

    pub(super) fn deleted(&mut self, name: &str) {
        self.jobs.by_name.remove(name);
    }

    /// Returns the names of Jobs besides the wanted ones whose folders are gone: their tm is done with them.
    pub(super) fn left_over(&self, wanted: &BTreeSet<String>) -> Vec<String> {
        let is_left = |job: &&Job| {
            let folder = job.annotations().get(FOLDER);
            let is_going = job.metadata.deletion_timestamp.is_some();
            !is_going && folder.is_some_and(|folder| is_gone(Path::new(folder)))
        };
        let others = self
            .jobs
            .by_name
            .iter()
            .filter(|(name, _)| !wanted.contains(*name));
        let left = others.filter(|(_, job)| is_left(job));
        left.map(|(name, _)| name.clone()).collect()
    }
}

/// Whether a folder is surely not there any more: one that can't be looked at may be.
fn is_gone(folder: &Path) -> bool {
    let is_there = |path: &Path| path.try_exists().unwrap_or(true);
    !is_there(folder) && folder.parent().is_some_and(Path::is_dir)
}
