//! The trees by what makes their processes known.

use super::ownership::Tree;
use super::registry::TreeId;
use std::collections::{BTreeMap, BTreeSet};

/// The trees by what their processes are stamped with.
pub(super) struct Stamps {
    pub(super) by_stamp: BTreeMap<u64, Vec<TreeId>>,
    /// When the oldest of them began.
    pub(super) started_at: u64,
}

impl Stamps {
    pub(super) fn of(trees: &BTreeMap<TreeId, Tree>) -> Self {
        let (mut by_stamp, mut started_at) = (BTreeMap::<u64, Vec<TreeId>>::new(), u64::MAX);
        for (id, tree) in trees {
            let Some(stamp) = tree.stamp else { continue };
            by_stamp.entry(stamp).or_default().push(*id);
            started_at = started_at.min(tree.started_at());
        }
        Self {
            by_stamp,
            started_at,
        }
    }
}

/// The trees by one mark of each, the one that the fewest trees share.
pub(super) struct Marks<'a> {
    by_mark: BTreeMap<&'a [u8], Vec<TreeId>>,
    /// When the oldest tree with marks began.
    pub(super) started_at: u64,
}

impl<'a> Marks<'a> {
    pub(super) fn of(trees: &'a BTreeMap<TreeId, Tree>) -> Self {
        let mut shared: BTreeMap<&[u8], u32> = BTreeMap::new();
        for mark in trees.values().flat_map(|tree| tree.env_markers.iter()) {
            *shared.entry(mark.as_bytes()).or_default() += 1;
        }
        let (mut by_mark, mut started_at) = (BTreeMap::<&[u8], Vec<TreeId>>::new(), u64::MAX);
        for (id, tree) in trees {
            // A tree without marks has nothing to find by them.
            let Some(rarest) = tree
                .env_markers
                .iter()
                .min_by_key(|mark| shared.get(mark.as_bytes()))
            else {
                continue;
            };
            by_mark.entry(rarest.as_bytes()).or_default().push(*id);
            started_at = started_at.min(tree.started_at());
        }
        Self {
            by_mark,
            started_at,
        }
    }

    /// Returns the trees all of whose marks are in an environment.
    pub(super) fn trees_of(
        &self,
        environment: &[u8],
        trees: &BTreeMap<TreeId, Tree>,
    ) -> BTreeSet<TreeId> {
        let variables: BTreeSet<&[u8]> = environment.split(|&byte| byte == 0).collect();
        let candidates = variables
            .iter()
            .filter_map(|variable| self.by_mark.get(variable))
            .flatten();
        let has_all = |id: &TreeId| trees.get(id).is_some_and(|tree| tree.marks(&variables));
        candidates.copied().filter(has_all).collect()
    }
}
