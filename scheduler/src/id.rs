//! Newtypes for everything that is named or counted, so that no two can be mixed up.
//!
//! Ids and titles stand in many places of a plan and a run: short ones, as ids of tasks are, stand in place, and copies of
//! long ones share one text.
//!
//! Knows nothing of where an id is written down: turning one into a file name or a branch name is the business of
//! the crates that write files and branches.

use ecow::EcoString;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(EcoString);

        impl $name {
            /// Wraps the text as it is.
            #[inline]
            pub fn new(text: impl Into<EcoString>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            #[inline]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            #[inline]
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            #[inline]
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

text_id! {
    /// The id of a task as its backlog spells it: `12`, `3.2`, `HAM-1`, or `12:red` for a test task made by pairing.
    ///
    /// Ordered as people count: `2` before `10`, `1.9` before `1.10`, numbers before words.
    TaskId
}
text_id! {
    /// The id of one run; ids of later runs sort after those of earlier ones.
    #[derive(Ord, PartialOrd)]
    RunId
}
text_id! {
    /// The name of a tag, one backlog within a backlog file.
    #[derive(Ord, PartialOrd)]
    Tag
}
text_id! {
    /// The full object id of a commit.
    #[derive(Ord, PartialOrd)]
    CommitId
}
text_id! {
    /// The name of an agent, as the settings have it.
    #[derive(Ord, PartialOrd)]
    AgentName
}
text_id! {
    /// The name of an account behind agents.
    #[derive(Ord, PartialOrd)]
    AccountName
}

text_id! {
    /// The title of a task: one line, empty when the backlog has none.
    #[derive(Default)]
    Title
}

impl Deref for Title {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq<str> for Title {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Title {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TaskId {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        natural_order(&self.0, &other.0)
    }
}

impl TaskId {
    /// Returns a number for the beginning of the id: ids whose numbers differ are ordered as these are.
    pub(crate) fn beginning(&self) -> u128 {
        let mut beginning = Beginning::default();
        let mut rest = self.0.as_bytes();
        while let Some(&byte) = rest.first()
            && beginning.room > 0
        {
            if byte.is_ascii_digit() {
                beginning.push_number(take_digits(&mut rest));
            } else {
                rest = &rest[1..];
                beginning.push(byte);
            }
        }
        beginning.fill();
        beginning.bytes
    }
}

/// The first bytes of an id in a form in which they are ordered as the id is: before the digits of a number stands how
/// many they are.
struct Beginning {
    bytes: u128,
    /// So many more fit.
    room: u32,
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            bytes: 0,
            room: u128::BITS / 8,
        }
    }
}

impl Beginning {
    #[inline]
    fn push(&mut self, byte: u8) {
        if self.room > 0 {
            self.bytes = self.bytes << 8 | u128::from(byte);
            self.room -= 1;
        }
    }

    fn push_number(&mut self, digits: &[u8]) {
        // Where a number stands in one id and a letter in another, any digit is as good as its first.
        self.push(b'0');
        let length = u8::try_from(digits.len()).unwrap_or(u8::MAX);
        self.push(length);
        if length == u8::MAX {
            // Not even the lengths of such numbers can be told apart.
            return self.fill();
        }
        for &digit in digits {
            self.push(digit);
        }
    }

    /// Lets nothing more in.
    fn fill(&mut self) {
        while self.room > 0 {
            self.push(0);
        }
    }
}

/// Compares runs of digits by value and everything else by byte; total, and equal only for equal text.
fn natural_order(left: &str, right: &str) -> Ordering {
    let (mut left_rest, mut right_rest) = (left.as_bytes(), right.as_bytes());
    while let (Some(&left_byte), Some(&right_byte)) = (left_rest.first(), right_rest.first()) {
        let ordering = if left_byte.is_ascii_digit() && right_byte.is_ascii_digit() {
            let (left_number, right_number) =
                (take_digits(&mut left_rest), take_digits(&mut right_rest));
            left_number
                .len()
                .cmp(&right_number.len())
                .then_with(|| left_number.cmp(right_number))
        } else {
            left_rest = &left_rest[1..];
            right_rest = &right_rest[1..];
            left_byte.cmp(&right_byte)
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    left_rest
        .len()
        .cmp(&right_rest.len())
        .then_with(|| left.cmp(right))
}

/// Splits the leading digits off and returns them without leading zeros.
#[inline]
fn take_digits<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    let zeros = digits.iter().take_while(|&&byte| byte == b'0').count();
    &digits[zeros..]
}

/// Returns ids, or other names, as a list in words.
pub fn quoted<T: fmt::Display>(names: impl IntoIterator<Item = T>) -> String {
    joined(names, ", ")
}

/// So many files are named in a line.
const MOST_NAMED: usize = 8;

/// Returns the first of files as a list in words, and how many more there are.
pub fn first_files<T: fmt::Display>(files: &[T]) -> String {
    let named: Vec<String> = files.iter().take(MOST_NAMED).map(T::to_string).collect();
    let named = named.join(", ");
    match files.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The same with each quoted.
pub fn quoted_files<T: fmt::Display>(files: &[T]) -> String {
    let quoted = |file| format!("`{file}`");
    first_files(&files.iter().map(quoted).collect::<Vec<_>>())
}

/// Returns the ids of a cycle in words.
pub fn quoted_cycle(ids: &[TaskId]) -> String {
    joined(ids, " → ")
}

fn joined<T: fmt::Display>(names: impl IntoIterator<Item = T>, between: &str) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(between)
}

/// The number of an attempt at one task within one run, counted from 1.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttemptNumber(pub u32);

impl fmt::Display for AttemptNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Returns how many milliseconds a duration has.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A moment in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the moment `milliseconds` later.
    #[must_use]
    pub const fn plus(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Returns the moment that is so much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        self.plus(milliseconds(duration))
    }

    /// Returns the milliseconds since `earlier`, 0 when the clock went backwards.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_many_files_eight_are_named_and_the_others_counted() {
        let files: Vec<u32> = (1..=12_000).collect();
        assert_eq!(first_files(&files[..2]), "1, 2");
        assert_eq!(first_files(&files[..8]), "1, 2, 3, 4, 5, 6, 7, 8");
        let named = first_files(&files);
        assert_eq!(named, "1, 2, 3, 4, 5, 6, 7, 8 and 11992 more");
        assert_eq!(quoted_files(&files[..1]), "`1`");
    }

    #[test]
    fn ids_are_ordered_as_people_count() {
        let mut ids: Vec<TaskId> = ["10", "2", "1.10", "1.9", "HAM-2", "HAM-10", "2:red", "01"]
            .map(TaskId::from)
            .into();
        ids.sort();
        let sorted: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(
            sorted,
            ["01", "1.9", "1.10", "2", "2:red", "10", "HAM-2", "HAM-10"]
        );
    }

    fn any_id() -> impl Strategy<Value = String> {
        prop_oneof![9 => "[0-9a-c.\\x00]{0,6}", 1 => "a?[19]{254,257}b?", 1 => "[.12]{14,18}"]
    }

    proptest! {
        #[test]
        fn order_is_total(a in any_id(), b in any_id(), c in any_id()) {
            let (a, b, c) = (TaskId::new(a), TaskId::new(b), TaskId::new(c));
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
            let beginnings = a.beginning().cmp(&b.beginning());
            prop_assert!(beginnings.is_eq() || beginnings == a.cmp(&b));
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }
}
