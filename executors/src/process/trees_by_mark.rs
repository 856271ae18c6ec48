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

/// Returns the variables of an environment that are marks of trees: others, which may be millions, are nobody's.
pub(super) fn variables_of(environment: &[u8], is_mark: impl Fn(&[u8]) -> bool) -> BTreeSet<&[u8]> {
    let variables = environment.split(|&byte| byte == 0);
    variables.filter(|variable| is_mark(variable)).collect()
}

/// The trees by one mark of each, the one that the fewest trees share.
pub(super) struct Marks<'a> {
    all: BTreeSet<&'a [u8]>,
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
            all: shared.into_keys().collect(),
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
        let variables = variables_of(environment, |variable| self.all.contains(variable));
        let candidates = variables
            .iter()
            .filter_map(|variable| self.by_mark.get(variable))
            .flatten();
        let has_all = |id: &TreeId| trees.get(id).is_some_and(|tree| tree.marks(&variables));
        candidates.copied().filter(has_all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_environment_only_marks_are_kept() {
        let environment = [&b"A=1\0M=1\0"[..], &[0; 1000], b"M=1\0N=2\0B=3"].concat();
        let kept = variables_of(&environment, |variable| {
            [b"M=1", b"N=2"].contains(&variable.try_into().unwrap_or(b"no!"))
        });
        assert_eq!(kept.into_iter().collect::<Vec<_>>(), [b"M=1", b"N=2"]);
    }
}
