//! How the fields of a task are spelled, by tm and by strangers, and what a name or a word that is unknown was meant
//! to be.
//!
//! Knows names only; what a field holds is read elsewhere.

use super::SourceKind;
use super::document::{Kind, Value};
use super::fields::is_id;
use std::borrow::Cow;
use tm_scheduler::{Priority, Status};

/// A field that is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Id,
    Title,
    Description,
    Details,
    TestStrategy,
    AcceptanceCriteria,
    Status,
    Priority,
    Complexity,
    Category,
    Dependencies,
    Subtasks,
    Metadata,
}

/// Every name that is read; of several names of one field the first one that is there counts, but for dependencies,
/// which are read from all of them.
const NAMES: [(&str, Field); 22] = [
    ("id", Field::Id),
    ("title", Field::Title),
    ("subject", Field::Title),
    ("description", Field::Description),
    ("details", Field::Details),
    ("testStrategy", Field::TestStrategy),
    ("test_strategy", Field::TestStrategy),
    ("acceptanceCriteria", Field::AcceptanceCriteria),
    ("acceptance_criteria", Field::AcceptanceCriteria),
    ("status", Field::Status),
    ("priority", Field::Priority),
    ("complexity", Field::Complexity),
    ("category", Field::Category),
    ("dependencies", Field::Dependencies),
    ("blockedBy", Field::Dependencies),
    ("blocked_by", Field::Dependencies),
    ("dependsOn", Field::Dependencies),
    ("depends_on", Field::Dependencies),
    ("needs", Field::Dependencies),
    ("deps", Field::Dependencies),
    ("subtasks", Field::Subtasks),
    ("metadata", Field::Metadata),
];

/// Other words for a field, which are not read: they may mean something else.
const OTHER_WORDS: [(&str, &str); 9] = [
    ("name", "title"),
    ("summary", "title"),
    ("state", "status"),
    ("requires", "dependencies"),
    ("prerequisites", "dependencies"),
    ("prereqs", "dependencies"),
    ("after", "dependencies"),
    ("waitsfor", "dependencies"),
    ("children", "subtasks"),
];

const FIELDS: usize = Field::Metadata as usize + 1;

impl Field {
    /// Returns the field of a name and which of its names it is, counted over all.
    #[inline]
    fn named(name: &str) -> Option<(Self, usize)> {
        let rank = NAMES.iter().position(|(known, _)| *known == name)?;
        Some((NAMES[rank].1, rank))
    }

    /// Returns the field that a name is read as.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::named(name).map(|(field, _)| field)
    }
}

/// The members of a task, found in one pass.
#[derive(Debug, Default)]
pub(super) struct Members<'d> {
    /// What is called `id`, null among it.
    id: Option<Value<'d>>,
    found: [Option<(usize, Value<'d>)>; FIELDS],
    /// Every list of dependencies, with its name.
    pub(super) dependencies: Vec<(Cow<'d, str>, Value<'d>)>,
    /// Names that stand twice, of which the last counts.
    pub(super) repeated: Vec<(Cow<'d, str>, Value<'d>)>,
    /// What is not read.
    pub(super) others: Vec<(Cow<'d, str>, Value<'d>)>,
}

impl<'d> Members<'d> {
    pub(super) fn of(task: Value<'d>) -> Self {
        let mut members = Self::default();
        for (name, value) in task.members() {
            if name == "id" {
                members.id = Some(value);
            }
            if value.kind() == Kind::Null {
                continue;
            }
            let Some((field, rank)) = Field::named(&name) else {
                members.others.push((name, value));
                continue;
            };
            let slot = &mut members.found[field as usize];
            let is_repeated = slot.is_some_and(|(before, _)| before == rank);
            if slot.is_none_or(|(before, _)| rank <= before) {
                *slot = Some((rank, value));
            }
            if is_repeated {
                members.repeated.push((name.clone(), value));
            }
            if field == Field::Dependencies {
                members.dependencies.retain(|(known, _)| *known != name);
                members.dependencies.push((name, value));
            }
        }
        members
    }

    /// Returns the id as it is written: `1.10` stays `1.10`.
    #[inline]
    pub(super) fn id(&self) -> Option<Cow<'d, str>> {
        let id = self.id?.text();
        id.filter(|id| is_id(id))
    }

    /// Returns a field that is there and not null.
    #[inline]
    pub(super) fn get(&self, field: Field) -> Option<Value<'d>> {
        self.found[field as usize].map(|(_, value)| value)
    }

    /// Returns a field that is a plain value.
    #[inline]
    pub(super) fn text(&self, field: Field) -> Option<Cow<'d, str>> {
        self.get(field)?.text()
    }

    /// Returns a copy of a field that is a plain value.
    pub(super) fn word(&self, field: Field) -> Option<String> {
        self.text(field).map(Cow::into_owned)
    }
}

/// What a name that is not read looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Likeness {
    /// It is that name, misspelt.
    Misspelt(&'static str),
    /// It is another word for that one.
    OtherWord(&'static str),
}

impl Likeness {
    /// Returns what a name looks like; nothing for most.
    pub(super) fn of(name: &str) -> Option<Self> {
        let plain = plain(name);
        if let Some((_, meant)) = OTHER_WORDS.iter().find(|(word, _)| *word == plain) {
            return Some(Self::OtherWord(meant));
        }
        let meant = nearest(&plain, NAMES.into_iter())?;
        // Many words are near these.
        let is_short = matches!(meant, "id" | "needs" | "deps") && plain != meant;
        (!is_short).then_some(Self::Misspelt(meant))
    }

    /// Returns the name that it looks like.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Misspelt(name) | Self::OtherWord(name) => name,
        }
    }
}

/// Small letters and digits alone: in every case and with every separator a name is the same.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the candidate from which a word differs in so few letters that it is meant; `None` where two that mean
/// different things are as near.
fn nearest<M: PartialEq>(
    word: &str,
    candidates: impl Iterator<Item = (&'static str, M)>,
) -> Option<&'static str> {
    let mut best: Option<(usize, &'static str, M)> = None;
    let mut is_one = true;
    for (candidate, meaning) in candidates {
        let other = plain(candidate);
        let may_differ = match other.len().min(word.len()) {
            0..=3 => 0,
            4..=7 => 1,
            _ => 2,
        };
        if other.len().abs_diff(word.len()) > may_differ {
            continue;
        }
        let distance = strsim::osa_distance(word, &other);
        if distance > may_differ || best.as_ref().is_some_and(|(least, ..)| distance > *least) {
            continue;
        }
        let rival = best.as_ref().filter(|(least, ..)| distance == *least);
        if let Some((.., known)) = rival {
            is_one &= *known == meaning;
        } else {
            (best, is_one) = (Some((distance, candidate, meaning)), true);
        }
    }
    best.filter(|_| is_one).map(|(_, name, _)| name)
}

/// Returns the status that a misspelt one means, where there is only one.
pub(super) fn meant_status(written: &str, kind: SourceKind) -> Option<Status> {
    let plain = written.trim().to_lowercase().replace(['_', ' '], "-");
    let meant = match plain.as_str() {
        "canceled" => Status::Cancelled,
        "complete" | "finished" => Status::Done,
        "todo" | "to-do" | "not-started" => Status::Pending,
        "inprogress" | "started" => Status::InProgress,
        "in-review" => Status::Review,
        other => match Status::from(other) {
            Status::Other(other) => Status::from(near(&other, STATUSES)?),
            known => known,
        },
    };
    let is_read_already = Status::from(written) == meant && kind == SourceKind::Yaml;
    (!is_read_already && meant.as_str() != written).then_some(meant)
}

/// Returns the priority that a misspelt one means.
pub(super) fn meant_priority(written: &str) -> Option<Priority> {
    let known = || Priority::parse(near(written, ["critical", "high", "medium", "low"])?);
    Priority::parse(written.trim()).or_else(known)
}

const STATUSES: [&str; 8] = [
    "pending",
    "in-progress",
    "done",
    "completed",
    "review",
    "deferred",
    "cancelled",
    "blocked",
];

fn near<const N: usize>(word: &str, words: [&'static str; N]) -> Option<&'static str> {
    let words = words.into_iter();
    nearest(&plain(word), words.map(|word| (word, word)))
}
