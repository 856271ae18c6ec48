//! The number by which every process of a held job is known, whatever it makes of its variables, its session and its
//! parents. It is the limit for file locks, which Linux has not gone by since 2.4, which every process has of its parent,
//! and which whoever is held can't change.

use sha2::{Digest as _, Sha256};

/// As a limit, a number above this one may be none.
const LARGEST: u64 = u64::MAX >> 2;

/// Returns the number for a job with these marks; none for a job without marks, which is known by nothing. Whoever takes a
/// job over has the marks and finds the same.
pub(crate) fn stamp_of(env_markers: &[(String, String)]) -> Option<u64> {
    if env_markers.is_empty() {
        return None;
    }
    let mut digest = Sha256::new();
    for text in env_markers.iter().flat_map(|(name, value)| [name, value]) {
        digest.update(text);
        digest.update([0]);
    }
    let digest = digest.finalize();
    let first = digest.iter().take(size_of::<u64>());
    let number = first.fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(number & LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(env_markers: &[(&str, &str)]) -> Option<u64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        stamp_of(&env_markers.iter().map(owned).collect::<Vec<_>>())
    }

    #[test]
    fn other_marks_have_another_number_and_the_same_have_the_same_in_every_version() {
        assert_eq!(stamp(&[]), None);
        let first = stamp(&[("TM_RUN_ID", "r"), ("TM_TASK_ID", "1")]);
        assert_eq!(first, Some(2_497_392_824_295_850_202));
        assert_ne!(first, stamp(&[("TM_RUN_ID", "r"), ("TM_TASK_ID", "2")]));
        assert_ne!(first, stamp(&[("TM_RUN_ID", "rTM_TASK_ID"), ("", "1")]));
        assert!(first < Some(LARGEST));
    }
}
