//! Finds where the task of an id stands in a list, by the text of the id.
//!
//! Ids that are plain numbers, as nearly all are, are found in a list by that number; all others by their hash. Nothing can
//! be asked but where an id stands, so no order depends on either.

use crate::TaskId;
use foldhash::fast::FixedState;
use indexmap::IndexMap;
use std::collections::BTreeSet;

/// A number may be so many times as high as there are ids.
const SPREAD: usize = 4;
/// Every number up to this one may stand in the list.
const LOW: usize = 1 << 12;
/// The longest number that fits whatever its digits are.
const MOST_DIGITS: usize = 9;
const NOWHERE: u32 = u32::MAX;

/// Where each id of a list stands; of several with one id the last.
#[derive(Debug)]
pub(crate) struct Positions<'t> {
    /// By the number that the id is.
    of_numbers: Vec<u32>,
    /// So high are the numbers in that list, at the most.
    highest: usize,
    of_words: IndexMap<&'t str, u32, FixedState>,
}

impl<'t> Positions<'t> {
    /// Finds out where ids stand, and which stand there more than once, in order.
    pub(crate) fn of(
        ids: impl ExactSizeIterator<Item = &'t TaskId>,
    ) -> (Self, BTreeSet<&'t TaskId>) {
        let mut positions = Self {
            of_numbers: Vec::new(),
            highest: ids.len() * SPREAD + LOW,
            of_words: IndexMap::default(),
        };
        let mut duplicates = BTreeSet::new();
        for (position, id) in ids.enumerate() {
            if positions.insert(id.as_str(), position) {
                duplicates.insert(id);
            }
        }
        (positions, duplicates)
    }

    /// Notes where an id stands; tells whether it stood somewhere already.
    #[inline]
    fn insert(&mut self, id: &'t str, position: usize) -> bool {
        let position =
            u32::try_from(position).expect("a backlog has less than 4,000,000,000 tasks");
        let Some(number) = plain_number(id).filter(|number| *number <= self.highest) else {
            return self.of_words.insert(id, position).is_some();
        };
        if number >= self.of_numbers.len() {
            self.of_numbers.resize(number + 1, NOWHERE);
        }
        std::mem::replace(&mut self.of_numbers[number], position) != NOWHERE
    }

    /// Returns where an id stands.
    #[inline]
    pub(crate) fn get(&self, id: &str) -> Option<usize> {
        let position = match plain_number(id).filter(|number| *number <= self.highest) {
            Some(number) => *self.of_numbers.get(number)?,
            None => *self.of_words.get(id)?,
        };
        (position != NOWHERE).then_some(position as usize)
    }
}

/// The number that an id is and that is written like that.
#[inline]
fn plain_number(id: &str) -> Option<usize> {
    let digits = id.as_bytes();
    if digits.len() > MOST_DIGITS || matches!(digits, [] | [b'0', _, ..]) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + usize::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn ids_are_found_as_in_a_map(
            ids in proptest::collection::vec("0{0,2}[0-9]{0,2}|[0-9]{4,12}|[a-c1:.]{0,4}", 0..40)
        ) {
            let ids: Vec<TaskId> = ids.into_iter().map(TaskId::from).collect();
            let (positions, duplicates) = Positions::of(ids.iter());
            let mut expected = BTreeMap::new();
            let mut repeated = BTreeSet::new();
            for (position, id) in ids.iter().enumerate() {
                if expected.insert(id, position).is_some() {
                    repeated.insert(id);
                }
            }
            for number in 0..200 {
                let id = TaskId::from(number.to_string());
                prop_assert_eq!(positions.get(id.as_str()), expected.get(&id).copied());
            }
            for id in &ids {
                prop_assert_eq!(positions.get(id.as_str()), expected.get(id).copied());
            }
            prop_assert_eq!(duplicates, repeated);
        }
    }
}
