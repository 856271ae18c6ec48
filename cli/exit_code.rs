//! Exit codes, as documented in README.md.

/// How a command ends that does not end well.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ExitCode {
    /// An error of tm, its configuration or its surroundings.
    Error,
    /// The command line makes no sense.
    Usage,
    /// The work does not allow the next step.
    Refused,
    /// Something that was checked is wrong.
    Invalid,
    /// Nothing could be planned.
    Unplannable,
    /// Another run is live.
    Busy,
    /// Somebody interrupted it.
    Interrupted,
}

impl ExitCode {
    /// Returns the number.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Error => 1,
            Self::Usage => 2,
            Self::Refused | Self::Invalid => 3,
            Self::Unplannable => 4,
            Self::Busy => 5,
            Self::Interrupted => 130,
        }
    }

    /// Returns the number, or 0 where all is well.
    pub(crate) const fn unless(self, is_well: bool) -> u8 {
        if is_well { 0 } else { self.number() }
    }
}
