//! Where each id stands in a list: a table for small whole numbers and their REDs, which nearly all ids are, and a map
//! for the rest.
//!
//! Comparing ids as people count is dear; looking one up here rarely compares any.

use crate::TaskId;
use std::collections::BTreeMap;

/// Positions by id; of several with one id the last.
pub(crate) struct Positions<'a> {
    numbers: Vec<u32>,
    others: BTreeMap<&'a str, u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Positions<'a> {
    /// Returns the positions of ids, and those that stand there more than once, in order.
    pub(crate) fn new(ids: impl ExactSizeIterator<Item = &'a TaskId>) -> (Self, Vec<TaskId>) {
        let limit = ids.len() * 8 + 2048;
        let mut positions = Positions {
            numbers: vec![NOWHERE; limit],
            others: BTreeMap::new(),
        };
        let mut duplicates = Vec::new();
        for (position, id) in ids.enumerate() {
            let position = u32::try_from(position).expect("a backlog has fewer than 2^32 tasks");
            let place = match as_small_number(id, limit) {
                Some(number) => &mut positions.numbers[number],
                None => positions.others.entry(id.as_str()).or_insert(NOWHERE),
            };
            if *place != NOWHERE {
                duplicates.push(id.clone());
            }
            *place = position;
        }
        duplicates.sort();
        duplicates.dedup();
        (positions, duplicates)
    }

    /// Returns where an id stands.
    pub(crate) fn get(&self, id: &TaskId) -> Option<usize> {
        let position = match as_small_number(id, self.numbers.len()) {
            Some(number) => self.numbers[number],
            None => *self.others.get(id.as_str())?,
        };
        (position != NOWHERE).then_some(position as usize)
    }
}

/// The place of `<n>` and of `<n>:red` in the table.
fn as_small_number(id: &TaskId, limit: usize) -> Option<usize> {
    let text = id.as_str();
    let (digits, half) = text
        .strip_suffix(":red")
        .map_or((text, 0), |digits| (digits, 1));
    let is_canonical = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    if !is_canonical {
        return None;
    }
    let number: usize = digits.parse().ok()?;
    number
        .checked_mul(2)?
        .checked_add(half)
        .filter(|&place| place < limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_an_id_of_its_own_and_the_last_of_several_counts() {
        let ids: Vec<TaskId> = [
            "1",
            "01",
            "1.1",
            "7",
            "99999999999999999999",
            "x",
            "7",
            "",
            "7:red",
            "07:red",
        ]
        .into_iter()
        .map(TaskId::from)
        .collect();
        let (positions, duplicates) = Positions::new(ids.iter());
        assert_eq!(duplicates, ["7".into()] as [TaskId; 1]);
        let found: Vec<Option<usize>> = ids.iter().map(|id| positions.get(id)).collect();
        assert_eq!(
            found,
            [
                Some(0),
                Some(1),
                Some(2),
                Some(6),
                Some(4),
                Some(5),
                Some(6),
                Some(7),
                Some(8),
                Some(9)
            ]
        );
        assert_eq!(positions.get(&"2".into()), None);
    }
}
