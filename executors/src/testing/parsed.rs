//! What a parser made of an output, and how much of it is kept: the one place that counts, for all formats.
//!
//! Results that are longer than anybody's are broken, and nothing is kept of them: what an output makes tm hold, compare
//! and write down is a small multiple of these bounds, whatever is in it.

use std::collections::BTreeMap;
use tm_scheduler::TestOutcome;

/// So many tests one run has at the most.
const MOST_TESTS: usize = 200_000;
/// So long a name is at the most.
const NAME_BYTES: usize = 4 * 1024;
/// So much the names of all tests are together, as they are written down.
const NAMES_BYTES: usize = 24 * 1024 * 1024;
/// So much of what one test printed is kept.
pub(super) const MESSAGE_BYTES: usize = 2 * 1024;
/// So much is kept of what all tests printed.
const MESSAGES_BYTES: usize = 16 * 1024 * 1024;

/// What a parser made of an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parsed {
    /// Outcome by test name.
    pub(super) tests: BTreeMap<String, TestOutcome>,
    /// What failed tests printed.
    pub(super) messages: BTreeMap<String, String>,
    /// What is wrong with the results themselves.
    pub(super) broken: Option<String>,
    /// How often each name was given, where it was more than once.
    repeated: BTreeMap<String, u32>,
    room: Room,
    /// Whether there was more than there is room for; nothing is taken in then.
    is_full: bool,
}

/// How much of the room for results is taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Room {
    names: usize,
    name_bytes: usize,
    message_bytes: usize,
}

impl Room {
    /// Returns a name in one piece when there is room for one more, else why not. A name that is put together of long parts
    /// takes no more work than its parts are many.
    pub(super) fn name(&mut self, parts: &[&str]) -> Result<String, String> {
        if parts.iter().map(|part| part.len()).sum::<usize>() > NAME_BYTES {
            return Err(format!(
                "the name of a test is longer than {NAME_BYTES} bytes"
            ));
        }
        let name = parts.concat();
        self.names += 1;
        self.name_bytes += written_bytes(&name);
        if self.names > MOST_TESTS {
            return Err(format!("there are more than {MOST_TESTS} tests"));
        }
        if self.name_bytes > NAMES_BYTES {
            let most = NAMES_BYTES >> 20;
            return Err(format!(
                "the names of the tests take more than {most} MiB together"
            ));
        }
        Ok(name)
    }

    /// Adds a line to what a test printed, when there is room for it.
    pub(super) fn say(&mut self, message: &mut String, line: &str) {
        let bytes = line.len() + 1;
        if message.len() + bytes <= MESSAGE_BYTES && self.message_bytes + bytes <= MESSAGES_BYTES {
            self.message_bytes += bytes;
            message.push_str(line);
            message.push('\n');
        }
    }

    /// Gives the room of a name back.
    pub(super) fn forget_name(&mut self, name: &str) {
        self.names = self.names.saturating_sub(1);
        self.name_bytes = self.name_bytes.saturating_sub(written_bytes(name));
    }

    /// Gives the room of a message back.
    pub(super) fn forget_message(&mut self, message: &str) {
        self.message_bytes = self.message_bytes.saturating_sub(message.len());
    }
}

/// How long a name is in JSON, which writes a control character as `\u0000`.
fn written_bytes(name: &str) -> usize {
    name.bytes()
        .map(|byte| if byte.is_ascii_control() { 6 } else { 1 })
        .sum()
}

impl Parsed {
    /// Returns results that are broken for a reason.
    pub(super) fn broken(why: impl Into<String>) -> Self {
        let mut broken = Self::default();
        broken.breaks(why);
        broken
    }

    /// Adds a test under a name that no other test has, and returns that name.
    pub(super) fn add(&mut self, name: &[&str], outcome: TestOutcome) -> String {
        let is_unnamed = name.iter().all(|part| part.is_empty());
        let Some(name) = self.name(if is_unnamed { &["unnamed"] } else { name }) else {
            return String::new();
        };
        let mut unique = name.clone();
        while self.tests.contains_key(&unique) {
            let number = self.repeated.entry(name.clone()).or_insert(1);
            *number += 1;
            unique = format!("{name} #{number}");
        }
        self.tests.insert(unique.clone(), outcome);
        unique
    }

    /// Adds a test that may be told of again; `decides` tells whether what is told later counts.
    pub(super) fn tell(&mut self, name: &[&str], outcome: TestOutcome, decides: bool) {
        let known = self.tests.get_mut(&*name.concat());
        match known {
            Some(known) if decides => *known = outcome,
            Some(_) => {}
            None => {
                let name = self.name(name);
                self.tests.extend(name.map(|name| (name, outcome)));
            }
        }
    }

    fn name(&mut self, parts: &[&str]) -> Option<String> {
        if self.is_full {
            return None;
        }
        let name = self.room.name(parts);
        name.map_err(|why| self.overflows(why)).ok()
    }

    /// Forgets everything: it is more than is read.
    pub(super) fn overflows(&mut self, why: String) {
        let broken = self.broken.take().unwrap_or(why);
        *self = Self::broken(broken);
        self.is_full = true;
    }

    /// Tells whether there is no use in reading on.
    pub(super) const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Adds a line to what a test printed, within bounds.
    pub(super) fn say(&mut self, name: &str, line: &str) {
        if self.tests.contains_key(name) {
            let message = self.messages.entry(name.to_owned()).or_default();
            self.room.say(message, line);
        }
    }

    /// Adds lines to what a test printed, within bounds.
    pub(super) fn say_all<'a>(&mut self, name: &str, lines: impl IntoIterator<Item = &'a str>) {
        lines.into_iter().for_each(|line| self.say(name, line));
    }

    /// Holds how many tests ran against how many were told of.
    pub(super) fn check_count(&mut self, ran: usize, told: usize) {
        if ran > told {
            self.breaks(format!("{ran} tests ran and {told} were told of"));
        }
    }

    /// Adds what another file of the same run holds.
    pub(super) fn merge(&mut self, other: Self) {
        self.merge_within("", other);
    }

    /// Adds what a part of the same run holds, whose name stands before those of its tests.
    pub(super) fn merge_within(&mut self, part: &str, other: Self) {
        if other.is_full {
            self.overflows(other.broken.unwrap_or_default());
            return;
        }
        for (name, outcome) in other.tests {
            let unique = self.add(&[part, &name], outcome);
            let message = other.messages.get(&name);
            self.say_all(&unique, message.map_or("", String::as_str).lines());
        }
        if let Some(why) = other.broken {
            self.breaks(why);
        }
    }

    /// Remembers the first thing that is wrong.
    pub(super) fn breaks(&mut self, why: impl Into<String>) {
        self.broken.get_or_insert_with(|| {
            let mut why = why.into();
            why.truncate(why.floor_char_boundary(MESSAGE_BYTES));
            why.shrink_to_fit();
            why
        });
    }
}
