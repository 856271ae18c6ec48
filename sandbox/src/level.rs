//! Which means of the system holds a program, and what stood in the way of a better one.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a program is held.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all.
    #[default]
    None,
    /// By rules for paths and ports and a filter of system calls, in the namespaces of everybody.
    Landlock,
    /// By the system's own profile (macOS).
    Seatbelt,
    /// In namespaces of its own, with rules and a filter besides.
    Bwrap,
}

impl Level {
    /// Returns its name, as in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
            Self::Bwrap => "bwrap",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// Which level is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum Wanted {
    /// The best that works, none where nothing does.
    Auto,
    /// The best that works; none is refused.
    Required,
    /// This one and no other.
    Exactly(Level),
}

/// What works here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// The best level that was asked for and works; `None` where one is asked for and none works.
    pub level: Option<Level>,
    /// What stood in the way of those above it.
    pub refused: Vec<Refused>,
}

/// A level that does not work here.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// The level.
    pub level: Level,
    /// What failed, in the system's words.
    pub why: String,
    /// What somebody can do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, why, remedy } = self;
        write!(formatter, "{level} does not work here: {why}; {remedy}")
    }
}
