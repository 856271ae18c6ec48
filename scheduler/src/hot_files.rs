//! The files that most work touches, such as a list of modules or a log of changes.

use std::collections::{BTreeMap, BTreeSet};

/// A file that so many landings touched, and at least half of them, is expected of others, too.
const HOT_FROM: usize = 3;

/// Returns the files that most landings touched, of those of each.
pub fn hot_files<'a>(landings: impl IntoIterator<Item = BTreeSet<&'a str>>) -> BTreeSet<String> {
    let (mut counts, mut all) = (BTreeMap::<&str, usize>::new(), 0);
    for files in landings {
        all += 1;
        for file in files {
            *counts.entry(file).or_default() += 1;
        }
    }
    let hot = counts
        .into_iter()
        .filter(|&(_, count)| count >= HOT_FROM && 2 * count >= all);
    hot.map(|(file, _)| file.to_owned()).collect()
}
